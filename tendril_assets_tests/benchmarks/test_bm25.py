"""The BM25 benchmark at a tiny size."""

import pytest

from tendril_assets_tests.benchmarks.bm25 import RUSSIAN, measure, plain, russian_scope, scopes


def test_figures_are_those_of_one_run() -> None:
    figures = measure(scopes(2, 30, 5), 1)
    assert (figures["passages"], figures["queries"]) == (60.0, 10.0)
    assert figures["ratio_bm25s"] == pytest.approx(figures["ours_cpu_s"] / figures["bm25s_cpu_s"])
    assert figures["largest_difference"] < 1e-5


def test_queries_find_something_and_groups_differ() -> None:
    first, second = scopes(2, 30, 5)
    assert first.passages["text"].to_list() != second.passages["text"].to_list()
    assert first.queries["text"].to_list() == second.queries["text"].to_list()
    assert sum(bool(scores) for scores in plain(first)) >= 3


def test_russian_passages_are_ranked_by_their_stems() -> None:
    pytest.importorskip("Stemmer", reason="PyStemmer is not installed")
    scope = russian_scope(200, 5)
    figures = measure([scope], 1, RUSSIAN)
    assert (figures["passages"], figures["queries"]) == (200.0, 5.0)
    # Another ending is another word without the stemmer: fewer passages share one with the query.
    unstemmed = RUSSIAN.model_copy(update={"stemmer": "none"})
    stemmed, plainly = (sum(map(len, plain(scope, rules))) for rules in (RUSSIAN, unstemmed))
    assert stemmed > plainly
