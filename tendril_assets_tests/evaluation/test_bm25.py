import importlib.util
import math

import polars as pl
import pytest

from tendril_assets.errors import SettingsError
from tendril_assets.evaluation.bm25 import Bm25Index, load_stemmer, rank_bm25, tokenise
from tendril_assets.evaluation.ranking import Scope
from tendril_assets.spec import Bm25Spec

PLAIN = Bm25Spec(k1=1.5, b=0.75)


def scope_of(passages: dict[str, str], queries: dict[str, str], group: str = "g") -> Scope:
    ordered = dict(sorted(passages.items(), reverse=True))
    return Scope(
        pl.DataFrame(
            {"passage_id": list(ordered), "text": list(ordered.values())}, schema_overrides={"text": pl.String}
        ),
        pl.DataFrame({"query_id": list(queries), "group_id": group, "text": list(queries.values())}),
    )


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Straße STRASSE", ["straße", "strasse"]),  # ß is kept: lower case, not case-folded
        ("Fla\u0308che", ["fläche"]),  # NFC
        ("Holz_FSC-100 %", ["holz", "fsc", "100"]),
        ("10³ m²", ["10³", "m²"]),  # NFC, not NFKC
        ("", []),
        ("– … !", []),
        ("Закупка №5", ["закупка", "5"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenise(text) == tokens


def test_idf_and_the_whole_formula() -> None:
    # 4 passages of equal length (l = avg l), the term once in 2 of them:
    # idf = ln(1 + (4 - 2 + 0.5) / (2 + 0.5)) = ln 2; tf part = 1 / (1 + 1.5) = 0.4.
    documents = [["holz", "a"], ["holz", "b"], ["c", "d"], ["e", "f"]]
    scores = Bm25Index(documents, PLAIN).scores(["holz"])
    assert scores.tolist() == pytest.approx([0.4 * math.log(2), 0.4 * math.log(2), 0.0, 0.0])
    assert math.log(2) == pytest.approx(0.6931, abs=1e-4)
    # Without saturation (k1 = 0) the tf part is 1 and the score is the idf itself.
    assert Bm25Index(documents, Bm25Spec(k1=0.0)).scores(["holz"])[0] == pytest.approx(math.log(2))


def test_length_normalisation_and_repeated_terms() -> None:
    # avg l = 3; idf(x) = ln(1 + (2 - 2 + .5) / (2 + .5)) = ln 1.2.
    # First: tf 1, l 2: 1 / (1 + 1.5 (0.25 + 0.75 x 2 / 3)) = 1 / 2.125. Second: tf 2, l 4: 2 / (2 + 1.5 x 1.25).
    scores = Bm25Index([["x", "y"], ["x", "x", "z", "z"]], PLAIN).scores(["x", "x"])
    idf = math.log(1.2)
    assert scores.tolist() == pytest.approx([2 * idf / 2.125, 2 * idf * 2 / (2 + 1.5 * 1.25)])  # asked twice, twice


def test_passages_with_the_term_rank_above_those_without_and_ties_go_by_id() -> None:
    scope = scope_of({"a": "Holz eins", "b": "Holz zwei", "c": "Stahl drei", "d": "Stahl vier"}, {"q": "HOLZ"})
    run = rank_bm25([scope], PLAIN, depth=10)
    assert run["passage_id"].to_list() == ["b", "a", "d", "c"]
    assert run["score"].to_list()[2:] == [0.0, 0.0]


@pytest.mark.parametrize("query", ["", "!!!", "unbekannt"])
def test_a_query_without_known_tokens_scores_zero(query: str) -> None:
    run = rank_bm25([scope_of({"a": "Holz", "b": ""}, {"q": query})], PLAIN, depth=10)
    assert run.select("passage_id", "rank", "score").rows() == [("b", 1, 0.0), ("a", 2, 0.0)]


def test_empty_corpora_are_no_exception() -> None:
    assert rank_bm25([], PLAIN, depth=10).is_empty()
    assert rank_bm25([scope_of({}, {"q": "Holz"})], PLAIN, depth=10).is_empty()
    without_tokens = rank_bm25([scope_of({"a": "", "b": "–"}, {"q": "Holz"})], PLAIN, depth=10)
    assert without_tokens["score"].to_list() == [0.0, 0.0]


def test_statistics_are_those_of_the_scope_alone() -> None:
    lone = scope_of({"a": "Holz x", "b": "Stahl y"}, {"q": "Holz"}, "g1")
    other = scope_of({f"p{i}": "Holz z" for i in range(5)}, {"q": "Holz"}, "g2")
    both = rank_bm25([lone, other], PLAIN, depth=10)
    assert both.filter(pl.col("group_id") == "g1").equals(rank_bm25([lone], PLAIN, depth=10))


def test_depth_cuts_each_query() -> None:
    run = rank_bm25([scope_of({c: c for c in "abcdef"}, {"q": "c", "r": "d"})], PLAIN, depth=2)
    assert run.select("query_id", "passage_id").rows() == [("q", "c"), ("q", "f"), ("r", "d"), ("r", "f")]


@pytest.mark.skipif(importlib.util.find_spec("Stemmer") is not None, reason="PyStemmer is installed")
def test_a_stemmer_that_is_not_installed_is_named() -> None:
    with pytest.raises(SettingsError, match="pip install PyStemmer"):
        rank_bm25([], Bm25Spec(stemmer="german"), depth=10)


def test_stemmer_is_applied_to_both_sides() -> None:
    pytest.importorskip("Stemmer", reason="PyStemmer is not installed")
    stem = load_stemmer("german")
    assert tokenise("Häuser", stem) == tokenise("Haus", stem) == ["haus"]
