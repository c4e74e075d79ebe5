"""Queries of several registers, the pool they are judged in, and what qrels hold besides: part of a specification.

A register is a way in which queries came about: asked by people, written to a list, generated. Registers are subsets of
a collection, and are never averaged away.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from tendril_assets.spec_base import FieldPath, LLMSpec, Name, Part, field_errors


class LiveSpec(Part):
    """Questions that people asked: attached to an act by the heading they stand under, else by an act they name.

    ``level``: their register. A question whose clauses are named has its gold from the clauses; one without goes into the
    pool; one whose clause our revision lacks is dropped (``queries.routes``).

    ``references``: the grammar that finds acts and clauses in texts (``queries.references``). ``evidence``: whose clauses
    are gold: those of the topic, which the publisher named, or also those that the question itself names.
    """

    level: Name = "live"
    references: Literal["russian"] = "russian"
    evidence: tuple[Literal["topic", "question"], ...] = Field(("topic",), min_length=1)


class ManualSpec(Part):
    """Queries written by hand to a task sheet: one row per act, ``tasks`` acts of held-out groups over their kinds."""

    level: Name = "manual"
    tasks: int = Field(100, ge=1)


class GeneratedSet(Part):
    """Questions that one model writes over the passages of one split.

    ``family``: the model's family, for test and training must not share one. ``questions``: how many are wanted before the
    filters, drawn over the groups; absent: as many as ``per_group`` allows.
    """

    split: Name
    level: Name
    llm: LLMSpec
    family: Name
    questions: int | None = Field(None, ge=1)


class TeacherSpec(Part):
    """A cross-encoder that reranks BM25's candidates: the gold passage must land in their better part.

    ``reranker``: one of the collection's ``rerankers``. ``keep_rank``: the last rank at which a question stays; the gold
    passage is always among the ``depth`` candidates, so it must be below ``depth`` or the filter would keep everything.
    """

    reranker: Name
    depth: int = Field(30, ge=2)
    keep_rank: int = Field(15, ge=1)

    @model_validator(mode="after")
    def _can_reject(self) -> "TeacherSpec":
        if self.keep_rank >= self.depth:
            told = f"{self.keep_rank} is not below depth {self.depth}: nothing would ever be rejected"
            raise field_errors([(("keep_rank",), told)])
        return self


class GenerationFilterSpec(Part):
    """The five filters, in the order they are applied; see ``queries.screening``."""

    max_verbatim_words: int = Field(5, ge=1, description="longest run of words taken over from the passage")
    min_mean_idf: float = Field(2.0, ge=0, description="mean inverse document frequency of the question's words")
    teacher: TeacherSpec | None = None


class GenerationSpec(Part):
    """Questions by language models: at most ``per_group`` passages of a group are asked about, one question each."""

    prompt: Name = "question_ru"
    per_group: int = Field(12, ge=1)
    min_characters: int = Field(200, ge=0, description="shorter passages are not asked about")
    sets: dict[Name, GeneratedSet] = Field(min_length=1)
    filters: GenerationFilterSpec = GenerationFilterSpec()
    allow_incomplete: bool = Field(False, description="go on with open requests; they are counted and reported")


class RegisterSpec(Part):
    """Which registers there are. ``live`` and ``manual`` come from the landing folder."""

    live: LiveSpec | None = None
    manual: ManualSpec | None = None
    generation: GenerationSpec | None = None

    @property
    def levels(self) -> tuple[str, ...]:
        """Every register, in the order live, manual, generated; each once."""
        found = [part.level for part in (self.live, self.manual) if part]
        if self.generation:
            found += [part.level for part in self.generation.sets.values()]
        return tuple(dict.fromkeys(found))


class CandidateSpec(Part):
    """``exhaustive``: every passage of a group against the group's queries.

    ``pooled``: queries without a gold of their own against the union of the rankings of ``systems``, the first ``depth``
    passages of each, in an order drawn by name: neither the judge nor a person sees where a passage came from.
    """

    policy: Literal["exhaustive", "pooled"] = "exhaustive"
    systems: tuple[Name, ...] = ()
    depth: int = Field(10, ge=1)

    @model_validator(mode="after")
    def _pool_has_systems(self) -> "CandidateSpec":
        if self.policy == "pooled" and not self.systems:
            raise field_errors([(("systems",), "name the systems whose rankings are pooled, bm25 among them")])
        return self


class QrelSpec(Part):
    """``neighbour_overlap``: a passage next to a gold one has grade 1 where it holds at least this share of the gold text;
    absent: no such rule. ``append_only``: a pair once published stays, or the removal list takes it.
    """

    neighbour_overlap: float | None = Field(None, gt=0, le=1)
    append_only: bool = False


class ExamplesSpec(Part):
    """``levels``: the subsets that are trained on and validated by; empty: all. ``negatives``: ``judged``, passages of
    grade 0 for the same query and group; ``mined``, passages that BM25 ranks within ``mined_depth`` and that neither repeat
    nor neighbour a relevant one (``training.mining``).
    """

    levels: tuple[Name, ...] = ()
    negatives: Literal["judged", "mined"] = "judged"
    mined_depth: int = Field(50, ge=2)


def generation_problems(
    generation: GenerationSpec, place: FieldPath, splits: Sequence[str]
) -> list[tuple[FieldPath, str]]:
    """Generated sets of a split there is not, and those that share a model family across training and held-out splits, as
    ``field_errors`` wants them.

    ``splits``: all that the collection has before anything is generated; none where they are made of the grades.
    """
    sets = generation.sets
    trained = {part.family: name for name, part in sets.items() if part.split == "train"}
    mistakes: list[tuple[FieldPath, str]] = [
        (
            (*place, "sets", name, "split"),
            f"{part.split!r} is no split; there are {', '.join(splits)}"
            if splits
            else "questions are generated for splits that are fixed before: set splits.policy to file",
        )
        for name, part in sets.items()
        if part.split not in splits
    ]
    return mistakes + [
        (
            (*place, "sets", name, "family"),
            f"{part.family} writes the training set {trained[part.family]!r} too: a test by the same family measures how well "
            "its style was learnt",
        )
        for name, part in sets.items()
        if part.split != "train" and part.family in trained
    ]
