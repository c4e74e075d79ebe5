"""Measures against values worked out by hand and against a slow direct version; peers are in ``test_peers``."""

import math
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.evaluation import metrics
from tendril_assets.evaluation.metrics import excluded, score_queries, ties_at_cut, ties_at_cuts

RUN = {"query_id": pl.String, "group_id": pl.String, "passage_id": pl.String, "score": pl.Float64}
QRELS = {"query_id": pl.String, "group_id": pl.String, "passage_id": pl.String, "score": pl.Int8}


def run_of(*rows: tuple) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=RUN, orient="row")


def qrels_of(*rows: tuple) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=QRELS, orient="row")


def values(scores: pl.DataFrame) -> dict[tuple[str, str, str], float]:
    return {(q, g, m): v for q, g, m, v, _ in scores.iter_rows()}


def test_missing_counts_zero_and_no_relevant_is_left_out() -> None:
    qrels = qrels_of(("q1", "g", "a", 1), ("q2", "g", "a", 0), ("q3", "g", "b", 2))
    run = run_of(("q1", "g", "a", 0.9), ("q1", "g", "b", 0.1), ("q2", "g", "a", 0.9))
    scores = score_queries(run, qrels, ["ndcg@10", "mrr@10"])
    # q1: its only relevant passage at rank 1 gives 1; q3 returned nothing gives 0; q2 has nothing relevant. Mean 1/2.
    assert scores.rows() == [
        ("q1", "g", "ndcg@10", 1.0, 1),
        ("q1", "g", "mrr@10", 1.0, 1),
        ("q3", "g", "ndcg@10", 0.0, 1),
        ("q3", "g", "mrr@10", 0.0, 1),
    ]
    assert scores.filter(pl.col("measure") == "ndcg@10")["value"].mean() == 0.5
    assert excluded(qrels).rows() == [("q2", "g")]


def test_unjudged_has_gain_zero_and_is_reported() -> None:
    qrels = qrels_of(("q", "g", "a", 1))
    run = run_of(("q", "g", "x", 0.9), ("q", "g", "a", 0.5), ("q", "g", "y", 0.4))
    scores = values(score_queries(run, qrels, ["ndcg@10", "judged@10", "judged@1", "judged@2", "p@10"]))
    assert scores["q", "g", "ndcg@10"] == pytest.approx(1 / math.log2(3))  # rank 2 against an ideal of 1
    assert scores["q", "g", "judged@10"] == pytest.approx(1 / 3)  # one of the three that came back
    assert scores["q", "g", "judged@1"] == 0.0
    assert scores["q", "g", "judged@2"] == 0.5
    assert scores["q", "g", "p@10"] == 0.1  # by the cutoff, though only three came back


def test_linear_gain_and_ideal_from_all_judged() -> None:
    # Judged 2, 2, 1 (and 0); returned with grades 1, 2, 0:
    # DCG 1/1 + 2/log2(3) = 2.26186; ideal 2 + 2/log2(3) + 1/2 = 3.76186; ratio 0.60126.
    qrels = qrels_of(("q", "g", "a", 2), ("q", "g", "b", 2), ("q", "g", "c", 1), ("q", "g", "d", 0))
    run = run_of(("q", "g", "c", 3.0), ("q", "g", "a", 2.0), ("q", "g", "d", 1.0))
    value = values(score_queries(run, qrels, ["ndcg@10"]))["q", "g", "ndcg@10"]
    assert value == pytest.approx(0.6013, abs=1e-4)


def test_ideal_is_cut_too() -> None:
    # Only rank 1 counts: DCG 1, ideal 2.
    qrels = qrels_of(("q", "g", "a", 1), ("q", "g", "b", 2))
    run = run_of(("q", "g", "a", 2.0), ("q", "g", "b", 1.0))
    assert values(score_queries(run, qrels, ["ndcg@1"]))["q", "g", "ndcg@1"] == 0.5


def test_ranking_and_ideal_are_per_group() -> None:
    qrels = qrels_of(("q", "g1", "a", 1), ("q", "g1", "b", 0), ("q", "g2", "c", 2), ("q", "g2", "d", 0))
    run = run_of(("q", "g1", "b", 0.9), ("q", "g1", "a", 0.8), ("q", "g2", "c", 0.2), ("q", "g2", "d", 0.1))
    scores = values(score_queries(run, qrels, ["mrr@10", "ndcg@10"]))
    assert scores["q", "g1", "mrr@10"] == 0.5
    assert scores["q", "g2", "mrr@10"] == 1.0  # scores of the other group do not push it down
    assert scores["q", "g2", "ndcg@10"] == 1.0


def test_ties_go_by_passage_id_descending() -> None:
    qrels = qrels_of(("q", "g", "a", 0), ("q", "g", "b", 1))
    tied = run_of(("q", "g", "a", 0.5), ("q", "g", "b", 0.5))
    assert values(score_queries(tied, qrels, ["mrr@10"]))["q", "g", "mrr@10"] == 1.0
    other = qrels_of(("q", "g", "a", 1), ("q", "g", "b", 0))
    assert values(score_queries(tied, other, ["mrr@10"]))["q", "g", "mrr@10"] == 0.5


def test_ties_compare_32_bit_floats_and_zero_has_no_sign() -> None:
    # 1 + 1e-9 and 1 are one 32-bit float, so the ids decide; so they do for 0.0 and -0.0.
    run = run_of(("q", "g", "a", 1.0 + 1e-9), ("q", "g", "b", 1.0), ("r", "g", "a", 0.0), ("r", "g", "b", -0.0))
    qrels = qrels_of(("q", "g", "b", 1), ("r", "g", "b", 1))
    assert score_queries(run, qrels, ["mrr@10"])["value"].to_list() == [1.0, 1.0]


def test_all_scores_zero_is_decided_by_ids_alone_on_every_order() -> None:
    rows = [("q", "g", f"p{i:02d}", 0.0) for i in range(20)]
    qrels = qrels_of(("q", "g", "p05", 1))
    seen = set()
    for seed in range(5):
        shuffled = rows[:]
        random.Random(seed).shuffle(shuffled)
        seen.add(values(score_queries(run_of(*shuffled), qrels, ["mrr@100"]))["q", "g", "mrr@100"])
    assert seen == {1 / 15}  # p19 is first, so p05 is fifteenth


def test_code_point_order_of_ids() -> None:
    # U+10000 is above U+FFFD by code point (but below it in UTF-16), and "z" is below "ä".
    ids = ["\U00010000", "\ufffd", "ä", "z"]
    tied = run_of(*((q, "g", i, 1.0) for q in ids for i in reversed(ids)))
    found = values(score_queries(tied, qrels_of(*((i, "g", i, 1) for i in ids)), ["mrr@4"]))
    assert [found[i, "g", "mrr@4"] for i in ids] == [1, 1 / 2, 1 / 3, 1 / 4]


def test_share_of_ties_at_the_cut() -> None:
    ranked = run_of(("q", "g", "b", 0.5), ("q", "g", "a", 0.5), ("r", "g", "a", 0.5), ("r", "g", "b", 0.4))
    ranked = ranked.with_columns(rank=pl.Series([1, 2, 1, 2], dtype=pl.Int32))
    assert ties_at_cut(ranked, 1) == 0.5
    assert ties_at_cut(ranked, 2) == 0.0
    assert ties_at_cut(ranked.clear(), 1) is None
    runs = pl.concat([ranked.with_columns(system=pl.lit("s")), ranked.head(2).with_columns(system=pl.lit("t"))])
    assert ties_at_cuts(runs, [1, 2]) == {"s": {"@1": 0.5, "@2": 0.0}, "t": {"@1": 1.0, "@2": 0.0}}
    assert ties_at_cuts(runs.clear(), [1]) == {}


@pytest.mark.parametrize("bad", [math.nan, math.inf, None])
def test_scores_without_a_number_are_refused(bad: float | None) -> None:
    with pytest.raises(ValueError, match="1 scores of the run are missing or not finite, the first for query 'q'"):
        score_queries(run_of(("q", "g", "a", bad)), qrels_of(("q", "g", "a", 1)), ["p@1"])


@pytest.mark.parametrize("bad", [None, 0.5, math.nan, math.inf, 32_768])
def test_grades_that_are_no_small_whole_number_are_refused(bad: float | None) -> None:
    qrels = qrels_of(("q", "g", "a", 1)).with_columns(score=pl.lit(bad, pl.Float64))
    with pytest.raises(ValueError, match=r"grades of the qrels are no whole number up to 32767, the first is .* 'q'"):
        score_queries(run_of(("q", "g", "a", 1.0)), qrels, ["p@1"])


def test_grades_from_below_zero_to_the_largest() -> None:
    """A negative grade is judged and no more than 0, also in the ideal ranking; 32,767 is not cut to fewer bits."""
    run = run_of(("q", "g", "a", 3.0), ("q", "g", "b", 2.0), ("q", "g", "c", 1.0))
    qrels = qrels_of(("q", "g", "a", 0), ("q", "g", "b", 0), ("q", "g", "c", 0))
    qrels = qrels.with_columns(score=pl.Series([-2, 32_767, 1], dtype=pl.Int64))
    scored = values(score_queries(run, qrels, ["ndcg@3", "recall@1", "judged@1"]))
    gained, best = 32_767 / math.log2(3) + 1 / 2, 32_767 + 1 / math.log2(3)
    assert scored["q", "g", "ndcg@3"] == pytest.approx(gained / best, abs=1e-12)
    assert (scored["q", "g", "recall@1"], scored["q", "g", "judged@1"]) == (0.0, 1.0)


def test_pairs_given_twice_are_refused() -> None:
    twice = qrels_of(("q", "g", "a", 1), ("q", "g", "a", 2))
    with pytest.raises(ValueError, match="qrels holds query 'q'"):
        score_queries(run_of(("q", "g", "a", 1.0)), twice, ["p@1"])
    with pytest.raises(ValueError, match="run holds query 'q'"):
        score_queries(run_of(("q", "g", "a", 1.0), ("q", "g", "a", 1.0)), qrels_of(("q", "g", "a", 1)), ["p@1"])


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown measure 'map@10'"):
        score_queries(run_of(), qrels_of(("q", "g", "a", 1)), ["map@10"])


def test_empty_inputs_give_empty_frames() -> None:
    scores = score_queries(run_of(), qrels_of(), ["ndcg@10"])
    assert scores.columns == ["query_id", "group_id", "measure", "value", "relevant"]
    assert scores.is_empty()
    only_qrels = score_queries(run_of(), qrels_of(("q", "g", "a", 1)), ["ndcg@10", "judged@10"])
    assert only_qrels["value"].to_list() == [0.0, 0.0]


def slow(run: list[tuple], qrels: list[tuple], kind: str, k: int) -> dict[tuple[str, str], float]:
    """One unit after the other, straight from the definitions."""
    result = {}
    for unit in sorted({(q, g) for q, g, _, _ in qrels}):
        grades = {p: s for q, g, p, s in qrels if (q, g) == unit}
        relevant = sum(s >= 1 for s in grades.values())
        if not relevant:
            continue
        mine = [(s, p) for q, g, p, s in run if (q, g) == unit]
        ranking = [p for _, p in sorted(mine, reverse=True)][:k]
        hits = [grades.get(p, 0) >= 1 for p in ranking]
        if kind == "ndcg":
            gained = sum(grades.get(p, 0) / math.log2(i + 2) for i, p in enumerate(ranking))
            best = sum(s / math.log2(i + 2) for i, s in enumerate(sorted(grades.values(), reverse=True)[:k]))
            result[unit] = gained / best
        elif kind == "recall":
            result[unit] = sum(hits) / relevant
        elif kind == "p":
            result[unit] = sum(hits) / k
        elif kind == "mrr":
            result[unit] = 1 / (hits.index(True) + 1) if any(hits) else 0.0
        else:
            result[unit] = sum(p in grades for p in ranking) / len(ranking) if ranking else 0.0
    return result


KEYS = st.tuples(st.sampled_from(["q1", "q2", "q3"]), st.sampled_from(["g1", "g2"]), st.sampled_from("abcdefgh"))


@pytest.mark.parametrize("key_bits", [64, 40])  # one number for a whole row, and a run too large for that
@settings(max_examples=50, deadline=None)
@given(
    run=st.dictionaries(KEYS, st.sampled_from([-1.5, -0.25, 0.0, 0.25, 0.5, 7.0]), max_size=40),
    qrels=st.dictionaries(KEYS, st.sampled_from([0, 0, 1, 2]), max_size=30),
    kind=st.sampled_from(["ndcg", "recall", "mrr", "p", "judged"]),
    k=st.integers(1, 10),
)
def test_equals_the_slow_direct_version(key_bits: int, run: dict, qrels: dict, kind: str, k: int) -> None:
    run_rows, qrel_rows = [(*key, s) for key, s in run.items()], [(*key, s) for key, s in qrels.items()]
    expected = slow(run_rows, qrel_rows, kind, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_KEY_BITS", key_bits)
        got = values(score_queries(run_of(*run_rows), qrels_of(*qrel_rows), [f"{kind}@{k}"]))
    assert {(q, g): v for (q, g, _), v in got.items()} == pytest.approx(expected)
    assert all(0.0 <= v <= 1.0 for v in got.values())


@settings(max_examples=50, deadline=None)
@given(
    run=st.dictionaries(KEYS, st.sampled_from([0.0, 0.25, 0.5]), max_size=40),
    qrels=st.dictionaries(KEYS, st.sampled_from([1, 2]), min_size=1, max_size=20),
    zeros=st.sets(KEYS, max_size=30),
)
def test_a_grade_of_zero_counts_as_nothing_but_judged(run: dict, qrels: dict, zeros: set) -> None:
    """Judging further passages irrelevant changes no measure, and no count of relevant passages or of excluded units."""
    measures = ["ndcg@5", "recall@5", "mrr@5", "p@5"]
    run_frame = run_of(*((*key, score) for key, score in run.items()))
    judged = qrels_of(*((*key, grade) for key, grade in qrels.items()))
    more = {key: 0 for key in zeros if key not in qrels and any(key[:2] == other[:2] for other in qrels)}
    with_zeros = qrels_of(*((*key, grade) for key, grade in {**qrels, **more}.items()))
    assert score_queries(run_frame, with_zeros, measures).equals(score_queries(run_frame, judged, measures))
    assert excluded(with_zeros).is_empty()
    before, after = (score_queries(run_frame, frame, ["judged@5"])["value"].sum() for frame in (judged, with_zeros))
    assert after >= before
