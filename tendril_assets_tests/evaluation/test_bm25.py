import math
import sys
from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import SettingsError
from tendril_assets.evaluation import bm25
from tendril_assets.evaluation.bm25 import Bm25Index, Tokeniser, rank_bm25, split
from tendril_assets.evaluation.ranking import Scope
from tendril_assets.spec_evaluation import Bm25Spec

PLAIN = Bm25Spec(k1=1.5, b=0.75)


def scope_of(passages: dict[str, str], queries: dict[str, str], group: str = "g") -> Scope:
    ordered = dict(sorted(passages.items(), reverse=True))
    return Scope(
        pl.DataFrame(
            {"passage_id": list(ordered), "text": list(ordered.values())}, schema_overrides={"text": pl.String}
        ),
        pl.DataFrame({"query_id": list(queries), "group_id": group, "text": list(queries.values())}),
    )


def words(spec: Bm25Spec, *texts: str) -> list[str]:
    """The terms of the last text as they are written, by a tokeniser that saw the others before."""
    tokenise = Tokeniser(spec)
    terms = [tokenise(text) for text in texts][-1]
    written = list(tokenise._terms)
    return [written[term] for term in terms]


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
        ("за\u0301мок замо\u0301к", ["замок", "замок"]),  # stress marks do not part a word
        ("Й й Ё и\u0306", ["й", "й", "ё", "й"]),  # letters of their own stay what they are
        ("Nach\u00adhaltig\u200bkeit \ufeffHolz", ["nachhaltigkeit", "holz"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert split(text) == tokens
    assert words(PLAIN, text) == tokens


def index_of(documents: list[list[str]], spec: Bm25Spec) -> tuple[Bm25Index, Callable[[str], list[int]]]:
    tokenise = Tokeniser(spec)
    return Bm25Index([tokenise(" ".join(words)) for words in documents], spec), tokenise


def test_idf_and_the_whole_formula() -> None:
    # 4 passages of equal length (l = avg l), the term once in 2 of them:
    # idf = ln(1 + (4 - 2 + 0.5) / (2 + 0.5)) = ln 2; tf part = 1 / (1 + 1.5) = 0.4.
    documents = [["holz", "a"], ["holz", "b"], ["c", "d"], ["e", "f"]]
    index, tokenise = index_of(documents, PLAIN)
    scores = index.scores(tokenise("holz"))
    assert scores.tolist() == pytest.approx([0.4 * math.log(2), 0.4 * math.log(2), 0.0, 0.0])
    assert math.log(2) == pytest.approx(0.6931, abs=1e-4)
    # Without saturation (k1 = 0) the tf part is 1 and the score is the idf itself.
    assert index_of(documents, Bm25Spec(k1=0.0))[0].scores(tokenise("holz"))[0] == pytest.approx(math.log(2))


def test_length_normalisation_and_repeated_terms() -> None:
    # avg l = 3; idf(x) = ln(1 + (2 - 2 + .5) / (2 + .5)) = ln 1.2.
    # First: tf 1, l 2: 1 / (1 + 1.5 (0.25 + 0.75 x 2 / 3)) = 1 / 2.125. Second: tf 2, l 4: 2 / (2 + 1.5 x 1.25).
    index, tokenise = index_of([["x", "y"], ["x", "x", "z", "z"]], PLAIN)
    scores = index.scores(tokenise("x x"))
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


def test_a_stemmer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Stemmer", None)  # importing it raises ImportError
    with pytest.raises(SettingsError, match="pip install PyStemmer"):
        rank_bm25([], Bm25Spec(stemmer="german"), depth=10)


def test_stemmer_is_applied_to_both_sides() -> None:
    pytest.importorskip("Stemmer", reason="PyStemmer is not installed")
    german = Bm25Spec(stemmer="german")
    assert words(german, "Häuser") == words(german, "Haus") == ["haus"]
    run = rank_bm25([scope_of({"a": "Die Häuser", "b": "Der Garten"}, {"q": "Haus"})], Bm25Spec(stemmer="german"), 10)
    assert run.select("passage_id", pl.col("score") > 0).rows() == [("a", True), ("b", False)]


@pytest.mark.parametrize(
    ("forms", "stem"),
    [
        ("нормативный нормативных нормативного", "нормативн"),
        ("Закупка закупки ЗАКУПКОЙ", "закупк"),
        ("отчётность отчетность отчётности", "отчетн"),  # ё is е, as in print
        ("за\u0301купка", "закупк"),
    ],
)
def test_russian_forms_have_one_stem(forms: str, stem: str) -> None:
    """Endings by Snowball's rules: of adjectives -ый, -ых, -ого; of nouns -а, -и, -ой; then -ость, where R2 allows it."""
    pytest.importorskip("Stemmer", reason="PyStemmer is not installed")
    assert set(words(Bm25Spec(stemmer="russian"), forms)) == {stem}


def test_stop_words_and_short_tokens_leave_before_stemming() -> None:
    text = "The use of wood is required, A to Z"
    assert words(Bm25Spec(stop_words="english"), text) == ["use", "wood", "required", "z"]
    assert words(Bm25Spec(stop_words="english", min_token_length=2), text) == ["use", "wood", "required"]
    assert words(Bm25Spec(stop_words="german"), "Das Holz und der Stahl") == ["holz", "stahl"]
    assert words(Bm25Spec(stop_words="russian"), "Банк и его отчёт") == ["банк", "отчёт"]
    everything = rank_bm25([scope_of({"a": "und", "b": "Holz"}, {"q": "und"})], Bm25Spec(stop_words="german"), 10)
    assert everything["score"].to_list() == [0.0, 0.0]


def test_terms_are_those_of_the_text_whatever_came_before() -> None:
    spec = Bm25Spec(min_token_length=2)
    texts = ("a bb ccc", "ccc a dd", "", "bb bb")
    for seen in range(1, len(texts) + 1):
        assert words(spec, *texts[:seen]) == words(spec, texts[seen - 1])


WORDS = st.lists(st.sampled_from(["holz", "stahl", "glas", "beton", "x1", "Ü"]), max_size=12).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    groups=st.lists(st.lists(WORDS, min_size=1, max_size=6), min_size=1, max_size=3),
    queries=st.lists(WORDS, min_size=1, max_size=4),
    k1=st.sampled_from([0.0, 0.9, 1.5]),
    b=st.sampled_from([0.0, 0.75, 1.0]),
)
def test_scores_are_those_of_the_formula(groups: list[list[str]], queries: list[str], k1: float, b: float) -> None:
    """Straight from the formula of the module, in each scope by itself; the tokeniser is shared by the scopes."""
    scopes = [
        scope_of({f"p{i}": text for i, text in enumerate(texts)}, {f"q{i}": q for i, q in enumerate(queries)}, f"g{g}")
        for g, texts in enumerate(groups)
    ]
    run = rank_bm25(scopes, Bm25Spec(k1=k1, b=b), depth=10)
    got = {(g, q, p): s for q, p, g, _, s in run.iter_rows()}
    for g, texts in enumerate(groups):
        documents = [text.lower().split() for text in texts]
        mean = sum(map(len, documents)) / len(documents)
        for q, query in enumerate(queries):
            for p, document in enumerate(documents):
                score = 0.0
                for token in query.lower().split():
                    n, tf = sum(token in d for d in documents), document.count(token)
                    idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
                    score += idf * tf / (tf + k1 * (1 - b + b * len(document) / mean)) if tf else 0.0
                assert got[f"g{g}", f"q{q}", f"p{p}"] == pytest.approx(score, abs=2e-6)


def test_queries_of_a_large_scope_are_scored_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    scope = scope_of({f"p{i}": f"w{i % 3} w{i}" for i in range(9)}, {f"q{i}": f"w{i}" for i in range(5)})
    whole = rank_bm25([scope], PLAIN, depth=4)
    monkeypatch.setattr(bm25, "_SCORES_TOGETHER", 18)  # two queries at a time
    assert rank_bm25([scope], PLAIN, depth=4).equals(whole)
