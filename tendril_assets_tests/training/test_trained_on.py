"""Passages behind a model's weights: examples in use and the validation set, each passage once."""

import polars as pl

from tendril_assets.tables import TABLES
from tendril_assets.training.trained_on import trained_on


def test_used_examples_and_validation_passages_each_once() -> None:
    corpus = TABLES["corpus"].frame([(f"p{i}", "text", f"g{i // 4}", f"d{i // 2}", 1) for i in range(8)])
    examples = TABLES["training_examples"].frame(
        [
            ("q1", "criterion", "g0", "p0", ["p1", "p2"], True, None),
            ("q2", "criterion", "g0", "p0", ["p1"], True, None),
            ("q3", "criterion", "g0", "p3", ["p2"], False, "balance"),
        ]
    )
    validation = pl.DataFrame({"passage_id": ["p2", "p5", "p6"], "group_id": ["g0", "g1", "g1"], "text": ["t"] * 3})
    assert trained_on(examples, validation, corpus).rows() == [
        ("p0", "d0", "g0", "train"),
        ("p1", "d0", "g0", "train"),
        ("p2", "d1", "g0", "train"),  # ranked in validation too: it is trained on all the same
        ("p5", "d2", "g1", "validation"),
        ("p6", "d3", "g1", "validation"),
    ]


def test_an_example_without_negatives_counts_with_its_positive() -> None:
    corpus = TABLES["corpus"].frame([("p0", "text", "g0", "d0", 1)])
    examples = TABLES["training_examples"].frame([("q1", "criterion", "g0", "p0", [], True, None)])
    validation = pl.DataFrame(schema={"passage_id": pl.String, "group_id": pl.String, "text": pl.String})
    assert trained_on(examples, validation, corpus).rows() == [("p0", "d0", "g0", "train")]
