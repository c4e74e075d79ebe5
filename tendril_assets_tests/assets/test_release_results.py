"""A card has results only where they were measured on the very rows that are released."""

from pathlib import Path

import polars as pl
import pytest

from tendril_assets.assets.release_results import measured_rows, result_tables
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.toy_registers import Home, spec_of
from tendril_assets_tests.release import toy

RANKED = ("splits", "evaluation_inputs", "runs/bm25", "retrieval_runs", "register_scores")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """BM25 on the held-out queries of the toy, scored."""
    home = Home(tmp_path_factory.mktemp("measured"), spec_of(None))
    home.write(**{name: TABLES[name].empty() for name in ("trained_models", "trained_passages", "erased_ids")})
    assert home.run(*RANKED).success
    return home


def test_scores_of_the_present_rows_are_those_of_the_table(measured: Home) -> None:
    found = measured_rows(measured.warehouse, measured.spec)
    assert found.scores is not None
    assert found.scores.equals(measured.load("register_scores"))
    assert found.scores.height > 0


@pytest.mark.parametrize(
    ("table", "change", "reason"),
    [
        ("qrels", pl.col("score").cast(pl.Int8).replace(1, 2).alias("score"), "scored with other grades"),
        ("corpus", (pl.col("text") + ".").alias("text"), "bm25 did not rank the passages and queries of this version"),
        ("queries", (pl.col("text") + "?").alias("text"), "bm25 did not rank the passages and queries of this version"),
    ],
)
def test_scores_of_other_rows_are_left_out_with_the_reason(
    measured: Home, table: str, change: pl.Expr, reason: str
) -> None:
    before = measured.load(table)
    measured.write(**{table: before.with_columns(change)})
    try:
        found = measured_rows(measured.warehouse, measured.spec)
    finally:
        measured.write(**{table: before})
    assert found.scores is None
    assert reason in found.reason


def test_without_a_measurement_there_is_none(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of(None))
    found = measured_rows(home.warehouse, home.spec)
    assert (found.scores, found.reason) == (None, "the systems were not measured yet")


def test_an_external_test_collection_has_no_results_in_the_data_card() -> None:
    assert result_tables(toy.spec()) == set()
