"""Balanced nDCG@10 by hand."""

import math

import numpy as np
import polars as pl
import pytest

from tendril_assets.errors import TrainingError
from tendril_assets.training.examples import ExchangeSet
from tendril_assets.training.validation import Validation

SUBSETS = ("area", "criterion")


def exchange(qrels: list[tuple[str, str, str, int]], levels: dict[str, str]) -> ExchangeSet:
    passages = [(p, g, f"text {p}") for p, g in sorted({(passage, group) for _, passage, group, _ in qrels})]
    queries = [(query, level, f"text {query}") for query, level in levels.items()]
    return ExchangeSet(
        train=pl.DataFrame(),
        corpus=pl.DataFrame(passages, schema=["passage_id", "group_id", "text"], orient="row"),
        queries=pl.DataFrame(queries, schema=["query_id", "level", "text"], orient="row"),
        qrels=pl.DataFrame(qrels, schema=["query_id", "passage_id", "group_id", "score"], orient="row"),
    )


def run(*rows: tuple[str, str, str, float]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query_id", "passage_id", "group_id", "score"], orient="row")


WORLD = exchange(
    [
        ("a1", "p1", "g1", 2), ("a1", "p2", "g1", 0),
        ("a2", "p1", "g1", 0), ("a2", "p2", "g1", 2),
        ("a1", "p3", "g2", 2), ("a1", "p4", "g2", 0),
        ("c1", "p3", "g2", 0), ("c1", "p4", "g2", 1),
    ],
    {"a1": "area", "a2": "area", "c1": "criterion"},
)  # fmt: skip


def test_mean_of_the_levels_each_macro_over_groups() -> None:
    """a1 in g1: hit at rank 1 = 1. a2 in g1: hit at rank 2 = 1/log2(3) = 0.63093. a1 in g2: 1. c1 in g2: 0.63093.

    area: g1 (1 + 0.63093) / 2 = 0.815465, g2 1, macro 0.907732. criterion: 0.63093. Balanced: 0.769331.
    """
    second = 1 / math.log2(3)
    scored = Validation(WORLD, SUBSETS).measure(
        run(
            ("a1", "p1", "g1", 0.9), ("a1", "p2", "g1", 0.1),
            ("a2", "p1", "g1", 0.9), ("a2", "p2", "g1", 0.1),
            ("a1", "p3", "g2", 0.9), ("a1", "p4", "g2", 0.1),
            ("c1", "p3", "g2", 0.9), ("c1", "p4", "g2", 0.1),
        )
    )  # fmt: skip
    area = ((1 + second) / 2 + 1) / 2
    assert scored == pytest.approx(
        {"balanced_ndcg@10": (area + second) / 2, "ndcg@10:area": area, "ndcg@10:criterion": second}
    )
    assert scored["balanced_ndcg@10"] == pytest.approx(0.769331, abs=1e-6)


class Recorder:
    """An encoder that puts passages p1 and p4 nearest to every query, and keeps nothing."""

    stores = False

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def encode(self, texts, kind, on_progress=None) -> np.ndarray:
        self.seen += [(kind, text) for text in texts]
        near = {"text p1", "text p4"}
        return np.array([[1.0, 0.0] if kind == "query" or text in near else [0.0, 1.0] for text in texts])


def test_a_query_ranks_the_passages_of_its_group_only() -> None:
    encoder = Recorder()
    scored = Validation(WORLD, SUBSETS).score(encoder)
    # p1 is above p2 and p4 above p3: a1 in g1 right, a2 in g1 wrong, a1 in g2 wrong, c1 in g2 right.
    second = 1 / math.log2(3)
    assert scored["ndcg@10:area"] == pytest.approx(((1 + second) / 2 + second) / 2)
    assert scored["ndcg@10:criterion"] == pytest.approx(1)
    assert {kind for kind, text in encoder.seen if text.startswith("text p")} == {"document"}
    assert {kind for kind, text in encoder.seen if text[5] in "ac"} == {"query"}


def test_a_level_without_relevant_passage_is_refused() -> None:
    only_area = exchange([("a1", "p1", "g1", 2), ("c1", "p1", "g1", 0)], {"a1": "area", "c1": "criterion"})
    with pytest.raises(TrainingError, match="criterion"):
        Validation(only_area, SUBSETS)
