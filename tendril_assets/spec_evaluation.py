"""How the test collection is ranked and measured: part of a collection's specification."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from tendril_assets.spec_base import FieldPath, Name, Part, field_error
from tendril_assets.spec_training import PACKAGE, is_local_path

Language = Literal["none", "german", "russian", "english"]

ALL = "all"  # the level of all subsets together
_MEASURE = re.compile(r"(ndcg|recall|mrr|p|judged)@([1-9][0-9]{0,5})")


@dataclass(frozen=True)
class Measure:
    """A measure and its cutoff: ``ndcg@10`` is ``Measure("ndcg", 10)``."""

    kind: str
    cutoff: int

    @property
    def name(self) -> str:
        return f"{self.kind}@{self.cutoff}"


def parse_measure(name: str) -> Measure:
    """``ndcg@10`` and the like: ndcg, recall, mrr, p or judged, at a cutoff of 1 to 999,999.

    Raises ValueError for any other name.
    """
    match = _MEASURE.fullmatch(name)
    if match is None:
        raise ValueError(f"unknown measure {name!r}: write ndcg@k, recall@k, mrr@k, p@k or judged@k with k >= 1")
    return Measure(match[1], int(match[2]))


class Bm25Spec(Part):
    """BM25's parameters and its tokens; ``evaluation.bm25`` states formula and tokeniser."""

    k1: float = Field(1.5, ge=0, allow_inf_nan=False)
    b: float = Field(0.75, ge=0, le=1)
    stemmer: Language = Field("none", description="Snowball stemmer; needs the package PyStemmer")
    stop_words: Language = Field("none", description="list of bm25s, taken out before stemming")
    min_token_length: int = Field(1, ge=1, description="shorter tokens are dropped; bm25s itself has 2")


class RerankerSpec(Part):
    """A model that scores a query and a passage together.

    ``base``: ``lexical``, weighted overlap of character n-grams, which needs no model (``evaluation.rerank``); else a hub id,
    local folder or ``package:<import name>`` of a cross-encoder, as in ``models``.
    """

    base: str = Field(min_length=1)
    revision: str | None = Field(None, description="commit of 40 hex digits; a branch or none leaves it unpinned")
    max_length: int = Field(512, ge=8)
    batch: int = Field(16, ge=1)

    @property
    def is_hub_id(self) -> bool:
        return not self.base.startswith(PACKAGE) and not is_local_path(self.base)


class HybridSpec(Part):
    """Reciprocal rank fusion of the systems ``of`` (Cormack et al. 2009): the sum of 1 / (k + rank) over their rankings."""

    of: tuple[Name, ...] = Field(min_length=2)
    k: int = Field(60, ge=1)


class RerankedSpec(Part):
    """The first ``depth`` of system ``of``, ordered anew by a reranker; what is below keeps its order."""

    of: Name
    reranker: Name
    depth: int = Field(50, ge=1)


class EvaluationSpec(Part):
    """``scope`` group: a query ranks its own group's passages; collection: the whole corpus.

    The first of ``measures`` is the headline. ``depth`` is above every cutoff, so that no measure looks at a ranking that
    ends before it, and a tie across the cut is seen.
    """

    scope: Literal["group", "collection"] = "group"
    depth: int = Field(1000, ge=2)
    measures: tuple[str, ...] = Field(
        ("ndcg@10", "recall@10", "recall@100", "mrr@10", "p@10", "judged@10"), min_length=1
    )
    resamples: int = Field(10_000, ge=100)
    confidence: float = Field(0.95, gt=0, lt=1)
    bm25: Bm25Spec = Bm25Spec()
    test: Literal["landed", "held_out"] = Field(
        "landed", description="landed: an external test collection; held_out: the test splits of the collection itself"
    )
    hybrids: dict[Name, HybridSpec] = {}
    reranked: dict[Name, RerankedSpec] = {}
    min_queries: int = Field(1, ge=1, description="no row of a table rests on fewer annotated queries")
    without_dominant: tuple[Name, ...] = Field(
        (), description="subsets that are measured once more without the group that most of their queries belong to"
    )

    def system_problems(self, simple: Sequence[str], rerankers: Sequence[str]) -> list[tuple[FieldPath, str]]:
        """What is wrong with ``hybrids`` and ``reranked``: names taken twice, systems or rerankers there are not.

        ``simple``: BM25 and the models' systems. A hybrid fuses these, a reranked system reorders one of them or a hybrid.
        """
        mistakes: list[tuple[FieldPath, str]] = []
        for name, hybrid in self.hybrids.items():
            if name in simple:
                mistakes.append((("evaluation", "hybrids", name), "is the name of another system"))
            for n, system in enumerate(hybrid.of):
                if system not in simple or system in hybrid.of[:n]:
                    told = f"{system!r} is no system to fuse, or is there twice; there are {', '.join(simple)}"
                    mistakes.append((("evaluation", "hybrids", name, "of", n), told))
        for name, reranked in self.reranked.items():
            if name in simple or name in self.hybrids:
                mistakes.append((("evaluation", "reranked", name), "is the name of another system"))
            if reranked.of not in (*simple, *self.hybrids):
                told = f"{reranked.of!r} is no system to reorder; there are {', '.join((*simple, *self.hybrids))}"
                mistakes.append((("evaluation", "reranked", name, "of"), told))
            if reranked.reranker not in rerankers:
                told = f"{reranked.reranker!r} is no reranker; there are {', '.join(rerankers) or 'none'}"
                mistakes.append((("evaluation", "reranked", name, "reranker"), told))
        return mistakes

    def resting_on(self, systems: Sequence[str]) -> frozenset[str]:
        """``systems``, the hybrids that fuse one of them, and what reorders one of all these."""
        fused = {name for name, hybrid in self.hybrids.items() if set(hybrid.of) & set(systems)}
        found = {*systems, *fused}
        return frozenset(found | {name for name, reranked in self.reranked.items() if reranked.of in found})

    def held_out_problems(self, subsets: Sequence[str], tests: Sequence[str]) -> list[tuple[FieldPath, str]]:
        """What is wrong with the test collection: no split to hold out, or subsets that there are not.

        ``tests``: the test splits of the collection; none where no file fixes its splits.
        """
        mistakes: list[tuple[FieldPath, str]] = []
        if self.test == "held_out" and not tests:
            mistakes.append((("evaluation", "test"), "held_out needs splits of policy file, with test splits named"))
        if self.test != "held_out" and self.without_dominant:
            mistakes.append((("evaluation", "without_dominant"), "is for a test that is held_out"))
        for place, level in enumerate(self.without_dominant):
            if level not in subsets:
                told = f"{level!r} is no subset; there are {', '.join(subsets)}"
                mistakes.append((("evaluation", "without_dominant", place), told))
        return mistakes

    @property
    def cutoffs(self) -> list[int]:
        """The measures' cutoffs, each once, from the smallest."""
        return sorted({parse_measure(name).cutoff for name in self.measures})

    @model_validator(mode="after")
    def _measures_can_be_taken(self) -> "EvaluationSpec":
        """Here, for a misspelt measure would otherwise be found when everything is judged, trained and ranked."""
        for place, name in enumerate(self.measures):
            try:
                parse_measure(name)
            except ValueError as error:
                raise field_error(("measures", place), str(error)) from error
            if name in self.measures[:place]:
                raise field_error(("measures", place), f"{name} is there twice")
        if self.depth <= self.cutoffs[-1]:
            told = f"{self.depth} is not above the largest cutoff of the measures, {self.cutoffs[-1]}"
            raise field_error(("depth",), told)
        return self
