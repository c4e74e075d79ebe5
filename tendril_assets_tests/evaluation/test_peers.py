"""Measures beside trec_eval's C code, by way of pytrec_eval, on runs with ties, gaps, odd ids and grades of zero."""

import math
from collections import defaultdict

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.evaluation.metrics import score_queries

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")

PEER = {
    **{f"ndcg@{k}": (f"ndcg_cut.{k}", f"ndcg_cut_{k}") for k in (1, 3, 10)},
    **{f"recall@{k}": (f"recall.{k}", f"recall_{k}") for k in (1, 3, 10)},
    **{f"p@{k}": (f"P.{k}", f"P_{k}") for k in (1, 3, 10)},
    "mrr@1000": ("recip_rank", "recip_rank"),
}
COLUMNS = ["query_id", "group_id", "passage_id", "score"]
# Order by code point and by UTF-8 bytes are one, also for ids beyond ASCII, and "p10" is below "p9".
IDS = st.sampled_from(["p1", "p10", "p9", "P1", "ä", "я", "\ufffd", "\U00010000", "7092-У#1", "7092-У#2"])
PAIRS = st.tuples(st.sampled_from(["q1", "q2", "q3"]), IDS)
SCORES = st.sampled_from([0.0, 0.5, 0.5 + 1e-9, 1e-3, -2.0]) | st.floats(-1e3, 1e3, width=32)


def frame(rows: dict[tuple[str, str], float], kind: type[pl.DataType]) -> pl.DataFrame:
    data = [(query, "g", passage, value) for (query, passage), value in rows.items()]
    return pl.DataFrame(data, schema=dict.fromkeys(COLUMNS, pl.String) | {"score": kind}, orient="row")


def nested(rows: dict[tuple[str, str], float]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for (query, passage), value in rows.items():
        found[query][passage] = value
    return dict(found)


def theirs(run: dict, qrels: dict) -> dict[tuple[str, str], float]:
    evaluator = pytrec_eval.RelevanceEvaluator(nested(qrels), {asked for asked, _ in PEER.values()})
    values = evaluator.evaluate(nested(run))
    return {(query, ours): got[name] for query, got in values.items() for ours, (_, name) in PEER.items()}


@settings(max_examples=150, deadline=None)
@given(
    run=st.dictionaries(PAIRS, SCORES, min_size=1, max_size=30),
    qrels=st.dictionaries(PAIRS, st.sampled_from([0, 0, 1, 2]), min_size=1, max_size=25),
)
def test_every_query_has_trec_evals_value(run: dict, qrels: dict) -> None:
    expected = theirs(run, qrels)
    scored = score_queries(frame(run, pl.Float64), frame(qrels, pl.Int8), list(PEER))
    ours = {(query, measure): value for query, _, measure, value, _ in scored.iter_rows()}
    relevant = {query for (query, _), grade in qrels.items() if grade >= 1}
    answered = {query for query, _ in run}
    assert {query for query, _ in ours} == relevant
    for (query, measure), value in ours.items():
        # trec_eval has no line for a query that the run does not answer; with -c it counts it as 0, as we do.
        assert value == pytest.approx(expected[query, measure] if query in answered else 0.0, abs=1e-12)
    # Where nothing is relevant trec_eval gives 0 and lets it into its mean; here the query is left out and counted.
    assert all(value == 0 for (query, _), value in expected.items() if query not in relevant)


def test_means_are_trec_evals_where_every_query_is_answered_and_has_a_relevant_passage() -> None:
    run = {(f"q{q}", f"p{p}"): float((q * 7 + p * 3) % 5) for q in range(1, 4) for p in range(8)}
    qrels = {(f"q{q}", f"p{p}"): (q + p) % 3 for q in range(1, 4) for p in range(0, 8, 2)}
    expected = theirs(run, qrels)
    scored = score_queries(frame(run, pl.Float64), frame(qrels, pl.Int8), list(PEER))
    for (measure,), rows in scored.group_by("measure"):
        mean = math.fsum(value for (_, name), value in expected.items() if name == measure) / 3
        assert rows["value"].mean() == pytest.approx(mean, abs=1e-12)
