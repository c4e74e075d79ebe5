"""Scores per register: means by hand, what each rests on, and what is too little to be a row."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tendril_assets.evaluation.collection import JudgedCollection
from tendril_assets.evaluation.registers import RegisterTables, compositions, headline, register_tables
from tendril_assets.spec_evaluation import EvaluationSpec
from tendril_assets.tables import TABLES

# Query -> level, group, generated, nDCG@10 of BM25 and of a better system. Three of four live questions are about group a.
MEASURED = {
    "l1": ("live", "a", False, 0.2, 0.4),
    "l2": ("live", "a", False, 0.4, 0.6),
    "l3": ("live", "a", False, 0.6, 0.5),
    "l4": ("live", "b", False, 0.8, 1.0),
    "u1": ("unseen", "c", True, 0.1, 0.3),
    "u2": ("unseen", "d", True, 0.3, 0.2),
    "m1": ("manual", "a", False, 1.0, 0.0),
}
UNJUDGED = {"l5": ("live", "a"), "l6": ("live", "b"), "m2": ("manual", None)}


def collection() -> JudgedCollection:
    rows = [(name, level, group, made) for name, (level, group, made, *_) in MEASURED.items()]
    rows += [(name, level, group, False) for name, (level, group) in UNJUDGED.items()]
    schema = {"query_id": pl.String, "level": pl.String, "group_id": pl.String, "generated": pl.Boolean}
    return JudgedCollection(
        pl.DataFrame(), pl.DataFrame(rows, schema=schema, orient="row"), pl.DataFrame(), "collection", ""
    )


def by_query(measures: tuple[str, ...] = ("ndcg@10", "judged@10")) -> pl.DataFrame:
    rows = [
        (system, name, group, measure, scores[place], 1, level)
        for place, system in enumerate(("bm25", "better"))
        for name, (level, group, _, *scores) in MEASURED.items()
        for measure in measures
    ]
    names = ["system", "query_id", "group_id", "measure", "value", "relevant", "level"]
    return pl.DataFrame(rows, schema=names, orient="row")


def tables(**rules: object) -> RegisterTables:
    given = EvaluationSpec.model_validate({"resamples": 2000, "without_dominant": ["live"]} | rules)
    return register_tables(by_query(), collection(), ["bm25", "better"], "bm25", given, 42)


def one(frame: pl.DataFrame, **where: str) -> dict:
    return frame.filter(**({"measure": "ndcg@10"} | where)).row(0, named=True)


def test_means_over_queries_and_over_groups_by_hand() -> None:
    scores = tables().scores
    live = {"system": "bm25", "level": "live", "part": "whole"}
    assert one(scores, unit="query", **live)["value"] == pytest.approx((0.2 + 0.4 + 0.6 + 0.8) / 4)
    assert one(scores, unit="group", **live)["value"] == pytest.approx(((0.2 + 0.4 + 0.6) / 3 + 0.8) / 2)
    assert (one(scores, unit="query", **live)["n"], one(scores, unit="group", **live)["n"]) == (4, 2)
    # Without group a one question is left: its mean, and no interval.
    rest = live | {"part": "without_dominant"}
    alone = one(scores, unit="query", **rest)
    assert (alone["value"], alone["low"], alone["n"], alone["queries"]) == (0.8, None, 1, 1)
    everything = one(scores, unit="query", system="bm25", level="all", part="whole")
    assert everything["value"] == pytest.approx((0.2 + 0.4 + 0.6 + 0.8 + 0.1 + 0.3 + 1.0) / 7)
    # The registers that were not named for it, and all together, have no second part.
    assert set(scores.filter(part="without_dominant")["level"]) == {"live"}
    assert TABLES["register_scores"].schema.keys() == set(scores.columns)


def test_what_each_register_rests_on() -> None:
    rows = compositions(by_query(), collection(), ["live"])
    wanted = ["level", "part", "queries", "groups", "excluded", "generated", "dominant", "dominant_share"]
    assert rows.select(wanted).rows() == [
        ("all", "whole", 7, 4, 3, pytest.approx(2 / 7), "a", pytest.approx(4 / 7)),
        ("live", "whole", 4, 2, 2, 0.0, "a", 0.75),
        # Of the unjudged ones l5 is about a as well and leaves with it.
        ("live", "without_dominant", 1, 1, 1, 0.0, "b", 1.0),
        ("manual", "whole", 1, 1, 1, 0.0, "a", 1.0),
        ("unseen", "whole", 2, 2, 0, 1.0, "c", 0.5),
    ]


def test_no_row_rests_on_too_few_queries() -> None:
    found = tables(min_queries=2)
    assert found.too_few.rows() == [("live", "without_dominant", 1), ("manual", "whole", 1)]
    shown = {("all", "whole"), ("live", "whole"), ("unseen", "whole")}
    for table in (found.scores, found.comparisons):
        assert set(table.select("level", "part").unique().iter_rows()) == shown
    # What is not shown by itself still counts among all.
    assert one(found.scores, system="bm25", level="all", part="whole", unit="query")["queries"] == 7
    assert tables(min_queries=100).scores.is_empty()


def test_differences_against_bm25_with_both_tests() -> None:
    compared = tables().comparisons
    assert set(compared.select("system", "baseline").unique().iter_rows()) == {("better", "bm25")}
    assert set(compared["measure"]) == {"ndcg@10"}  # judged@10 is no merit
    row = one(compared, level="live", part="whole", unit="query")
    differences = np.array([0.2, 0.2, -0.1, 0.2])
    assert row["difference"] == pytest.approx(differences.mean())
    peer = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert row["p_permutation"] == pytest.approx(peer.pvalue)
    assert row["n"] == 4
    assert one(compared, level="live", part="whole", unit="group")["difference"] == pytest.approx((0.1 + 0.2) / 2)
    assert one(compared, level="manual", part="whole", unit="query")["p"] is None
    assert set(compared.columns) == TABLES["register_comparisons"].schema.keys()


def test_intervals_are_those_of_a_percentile_bootstrap() -> None:
    row = one(tables(resamples=20_000).scores, system="bm25", level="all", part="whole", unit="query")
    values = np.array([scores[3] for scores in MEASURED.values()])
    peer = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(1))
    assert row["low"] == pytest.approx(peer.confidence_interval.low, abs=0.02)
    assert row["high"] == pytest.approx(peer.confidence_interval.high, abs=0.02)


def test_holm_is_over_the_systems_of_one_register() -> None:
    both = pl.concat([by_query(), by_query().filter(system="better").with_columns(system=pl.lit("same"))])
    rules = EvaluationSpec(resamples=2000)
    two = register_tables(both, collection(), ["bm25", "better", "same"], "bm25", rules, 42).comparisons
    row = one(two, system="better", level="live", part="whole", unit="query")
    assert row["p_holm"] == pytest.approx(min(1.0, 2 * row["p"]))
    alone = one(tables().comparisons, level="live", part="whole", unit="query")
    assert (alone["p"], alone["p_holm"]) == (row["p"], row["p"])


def test_the_headline_comes_with_its_composition() -> None:
    rows = headline(tables().scores, "ndcg@10")
    assert rows.select("level", "part", "system").rows() == [
        ("all", "whole", "bm25"),
        ("all", "whole", "better"),
        ("live", "whole", "better"),
        ("live", "whole", "bm25"),
        ("live", "without_dominant", "better"),
        ("live", "without_dominant", "bm25"),
        ("manual", "whole", "bm25"),
        ("manual", "whole", "better"),
        ("unseen", "whole", "better"),
        ("unseen", "whole", "bm25"),
    ]
    assert {"queries", "groups", "generated", "dominant", "dominant_share"} <= set(rows.columns)


def test_a_query_judged_in_two_groups_counts_in_both() -> None:
    """Where a query ranks the passages of its groups apart, its unit is the query in a group."""
    twice = by_query().filter(query_id="l4").with_columns(group_id=pl.lit("a"), value=pl.lit(0.0))
    found = register_tables(pl.concat([by_query(), twice]), collection(), ["bm25"], "bm25", EvaluationSpec(), 42).scores
    row = one(found, system="bm25", level="live", part="whole", unit="query")
    assert (row["n"], row["value"]) == (5, pytest.approx(2.0 / 5))


def test_nothing_judged_gives_no_rows() -> None:
    nothing = by_query().clear()
    found = register_tables(nothing, collection(), ["bm25"], "bm25", EvaluationSpec(), 42)
    assert found.scores.is_empty()
    assert found.comparisons.is_empty()
    assert set(found.too_few.filter(part="whole")["level"]) == {"all", "live", "manual", "unseen"}
