"""The small real collection: its size, and BM25's figures again by bm25s and trec_eval."""

import os
from pathlib import Path

import bm25s
import polars as pl
import pytest

from tendril_assets.evaluation.bm25 import load_stemmer, load_stop_words, rank_bm25
from tendril_assets.evaluation.collection import JudgedCollection
from tendril_assets.evaluation.metrics import score_queries
from tendril_assets.evaluation.registers import register_tables
from tendril_assets.spec_evaluation import Bm25Spec
from tendril_assets_tests.benchmarks.real_pairs import DEPTH, MEASURES, RULES, RUSSIAN, collection_of, pairs_of

pytestmark = pytest.mark.skipif("TENDRIL_TRIAL_DATA" not in os.environ, reason="TENDRIL_TRIAL_DATA names no trial data")


@pytest.fixture(scope="module")
def test() -> JudgedCollection:
    return collection_of(pairs_of(Path(os.environ["TENDRIL_TRIAL_DATA"])), headed=False)


def test_the_collection_is_the_150_pairs(test: JudgedCollection) -> None:
    assert (test.corpus.height, test.queries.height, test.qrels.height) == (144, 108, 150)
    grades = test.qrels["score"].value_counts().sort("score").rows()
    assert grades == [(0, 48), (1, 74), (2, 28)]
    assert test.qrels.filter(pl.col("score") >= 1)["query_id"].n_unique() == 76
    assert [scope.passages.height for scope in test.scopes] == [144]


def by_peers(test: JudgedCollection, rules: Bm25Spec) -> float:
    """nDCG@10 over the questions with a relevant fragment: bm25s ranks, trec_eval measures."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    (scope,) = test.scopes
    reads = {"stopwords": list(load_stop_words(rules.stop_words)), "stemmer": load_stemmer(rules.stemmer)}
    reads |= {"token_pattern": r"(?u)\b\w+\b", "show_progress": False}
    index = bm25s.BM25(k1=rules.k1, b=rules.b, method="lucene")
    index.index(bm25s.tokenize(scope.passages["text"].to_list(), **reads), show_progress=False)
    ids = scope.passages["passage_id"].to_list()
    asked = bm25s.tokenize(scope.queries["text"].to_list(), **reads)
    found, scores = index.retrieve(asked, k=len(ids), n_threads=1, show_progress=False)
    run = {
        query: {ids[place]: float(score) for place, score in zip(row, values, strict=True)}
        for query, row, values in zip(scope.queries["query_id"], found, scores, strict=True)
    }
    qrels: dict[str, dict[str, int]] = {}
    for query, passage, _, score in test.qrels.iter_rows():
        qrels.setdefault(query, {})[passage] = score
    qrels = {query: graded for query, graded in qrels.items() if max(graded.values()) >= 1}
    measured = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(run)
    assert len(measured) == 76
    return sum(row["ndcg_cut_10"] for row in measured.values()) / len(measured)


@pytest.mark.parametrize(("rules", "figure"), [(Bm25Spec(), 0.7178), (RUSSIAN, 0.7829)], ids=["plain", "russian"])
def test_bm25_equals_bm25s_measured_by_trec_eval(test: JudgedCollection, rules: Bm25Spec, figure: float) -> None:
    pytest.importorskip("Stemmer", reason="PyStemmer is not installed")
    scored = score_queries(rank_bm25(test.scopes, rules, DEPTH), test.qrels, ["ndcg@10"])
    ours = scored["value"].mean()
    assert ours == pytest.approx(figure, abs=5e-5)
    assert ours == pytest.approx(
        by_peers(test, rules), abs=0.002
    )  # bm25s has scores of 32 bits, and breaks ties otherwise


def test_registers_of_too_few_questions_are_left_out(test: JudgedCollection) -> None:
    scored = score_queries(rank_bm25(test.scopes, Bm25Spec(), DEPTH), test.qrels, MEASURES)
    levels = test.queries.select("query_id", "level")
    by_query = scored.join(levels, on="query_id").with_columns(system=pl.lit("bm25"))
    found = register_tables(by_query, test, ["bm25"], "bm25", RULES, 42)
    assert found.too_few.rows() == [("manual", "whole", 4)]
    rows = found.scores.filter(unit="query", measure="ndcg@10").select("level", "part", "queries", "excluded").rows()
    assert sorted(rows) == [("all", "whole", 76, 32), ("live", "whole", 72, 28), ("live", "without_dominant", 60, 25)]
