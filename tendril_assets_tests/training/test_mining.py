"""Mined negatives: what BM25 ranks, and what must not be a negative."""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.ngrams import normalise
from tendril_assets.evaluation.bm25 import rank_bm25
from tendril_assets.evaluation.ranking import Scope
from tendril_assets.spec_corpus import NearDuplicateSpec
from tendril_assets.spec_evaluation import Bm25Spec
from tendril_assets.spec_training import TrainingSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.examples import examples_of, unaccounted, wrong_negatives
from tendril_assets.training.mining import MiningRule, mine_negatives, mined_by_reason, mined_pairs, wrongly_mined
from tendril_assets.training.pools import judged_pairs
from tendril_assets.training.validation_pool import validation_passages

RULE = MiningRule(NearDuplicateSpec(unit="words", n=2, threshold=0.7), share=0.3)
BM25 = Bm25Spec(stemmer="none", stop_words="none")


def ranking(scopes: Sequence[Scope], depth: int) -> pl.DataFrame:
    return rank_bm25(scopes, BM25, depth)


def passages(*rows: tuple[str, str, int | None, str]) -> pl.DataFrame:
    """(passage, act, position, text); an act is one document."""
    return pl.DataFrame(
        [(passage, act, f"{act}/doc", position, text, text) for passage, act, position, text in rows],
        schema={
            "passage_id": pl.String,
            "group_id": pl.String,
            "document_id": pl.String,
            "position": pl.Int32,
            "text": pl.String,
            "compared": pl.String,
        },
        orient="row",
    )


def questions(*rows: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["query_id", "group_id", "text"], orient="row")


def relevant(*rows: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"query_id": pl.String, "passage_id": pl.String}, orient="row")


CORPUS = passages(
    ("a0", "a", 0, "резерв общие положения банка"),
    ("a1", "a", 1, "резерв по ссуде создаёт банк в день выдачи ссуды"),  # the answer
    ("a2", "a", 2, "резерв уточняется каждый месяц"),
    ("a3", "a", 3, "резерв списывается за счёт прибыли"),
    ("b0", "b", 0, "Резерв по ссуде создаёт банк в день выдачи  ссуды"),  # the same text in another act
    (
        "b1",
        "b",
        1,
        "банк обязан: резерв по ссуде создаёт банк в день и хранит документы пять лет подряд",
    ),  # holds most of it
    ("b2", "b", 2, "резерв по иным потерям создаётся отдельно"),
    ("b3", "b", 3, "кассовые операции проводит кассир"),  # shares no word with the question
    ("c0", "c", 0, "резерв на возможные потери банк раскрывает в отчёте"),  # repeats held-out text
    ("c1", "c", 1, "по ссуде создаёт банк"),  # a part of the answer
)
ASKED = questions(("q1", "a", "когда создаётся резерв по ссуде"))
ANSWERS = relevant(("q1", "a1"))


def mined(corpus: pl.DataFrame = CORPUS, depth: int = 50, **changes: pl.DataFrame) -> pl.DataFrame:
    asked, answers = changes.get("asked", ASKED), changes.get("answers", ANSWERS)
    return mine_negatives(asked, answers, corpus, {"c0"}, RULE, ranking, depth)


def test_what_keeps_each_passage_out() -> None:
    found = mined()
    assert found.schema == TABLES["mined_negatives"].schema
    reasons = dict(found.select("passage_id", "reason").iter_rows())
    assert reasons == {
        "a0": "neighbour",
        "a1": "relevant",
        "a2": "neighbour",
        "a3": None,
        "b0": "repeats",
        "b1": "repeats",
        "b2": None,
        "c0": "leak",
        "c1": "repeats",
    }
    causes = dict(
        found.filter(pl.col("reason").is_in(["neighbour", "repeats"])).select("passage_id", "cause").iter_rows()
    )
    assert set(causes.values()) == {"a1"}


def test_shares_are_those_counted_by_hand() -> None:
    """The answer has nine words, so eight pairs of words. b0 is equal to it; of b1 the pairs from "резерв по" to "в день"
    are the answer's, six of eight; c1 has three pairs, all of them the answer's: 3 of 8."""
    shares = dict(mined().drop_nulls("figure").select("passage_id", "figure").iter_rows())
    assert shares == {"b0": 1.0, "b1": pytest.approx(6 / 8), "c1": pytest.approx(3 / 8)}


def test_a_passage_that_shares_no_term_is_not_ranked() -> None:
    found = mined()
    assert "b3" not in set(found["passage_id"])
    assert found["score"].min() > 0
    assert found["rank"].to_list() == list(range(1, found.height + 1))


def test_the_depth_is_per_question() -> None:
    assert mined(depth=3).height == 3
    assert mined(depth=3).rows() == mined().head(3).rows()


def test_neighbours_are_the_next_ones_that_are_left() -> None:
    """The filters dropped a2: what follows the answer now is a3. The end of another act is nobody's neighbour."""
    reasons = dict(mined(CORPUS.filter(pl.col("passage_id") != "a2")).select("passage_id", "reason").iter_rows())
    assert reasons["a3"] == "neighbour"
    unplaced = CORPUS.with_columns(position=pl.lit(None, pl.Int32))
    assert dict(mined(unplaced).select("passage_id", "reason").iter_rows())["a0"] is None


def test_an_answer_of_another_question_of_the_same_wording_is_an_answer() -> None:
    asked = questions(("q1", "a", "когда создаётся резерв по ссуде"), ("q2", "b", "Когда  создаётся резерв по ссуде"))
    found = mined(asked=asked, answers=relevant(("q1", "a1"), ("q2", "b2")))
    for query in ("q1", "q2"):
        reasons = dict(found.filter(query_id=query).select("passage_id", "reason").iter_rows())
        assert (reasons["a1"], reasons["b2"]) == ("relevant", "relevant")
        # b1 stands next to b2, so it is out for that already.
        assert reasons["b1"] == "neighbour"


def test_headings_do_not_make_a_repeat() -> None:
    """All passages of a section begin with one line; what is compared is what stands below it."""
    head = "о порядке формирования резервов глава первая общие положения раздел второй"
    corpus = CORPUS.with_columns(text=pl.lit(f"{head}\n") + pl.col("text"))
    bodies = dict(mined(corpus).select("passage_id", "reason").iter_rows())
    assert bodies["b2"] is None
    whole = corpus.with_columns(compared="text")
    assert dict(mined(whole).select("passage_id", "reason").iter_rows())["b2"] == "repeats"


def test_a_text_without_an_n_gram_repeats_its_equals_alone() -> None:
    corpus = passages(("a", "a", 0, "резерв"), ("b", "b", 0, "Резерв"), ("c", "c", 0, "резерв банка"))
    found = mined(corpus, asked=questions(("q", "a", "резерв")), answers=relevant(("q", "a")))
    assert dict(found.select("passage_id", "reason").iter_rows()) == {"a": "relevant", "b": "repeats", "c": None}


def test_nothing_to_ask_or_to_rank() -> None:
    assert mined(asked=ASKED.clear()).is_empty()
    assert mined(CORPUS.clear()).is_empty()
    assert mined(CORPUS.clear()).schema == TABLES["mined_negatives"].schema


RECIPE = TrainingSpec(n_negatives=2, same_document_negatives=1)


def tables() -> tuple[pl.DataFrame, ...]:
    corpus = CORPUS.select("passage_id", "text", "group_id", "document_id", page=pl.lit(1, pl.Int32))
    qrels = TABLES["qrels"].frame([("q1", "a1", "a", 2), ("q1", "a2", "a", 1)])
    queries = ASKED.select("query_id", "text", level=pl.lit("synthetic"))
    splits = TABLES["splits"].frame([(group, "train") for group in "abc"])
    return corpus, qrels, queries, splits


def pairs_of(found: pl.DataFrame) -> pl.DataFrame:
    corpus, qrels, queries, splits = tables()
    return mined_pairs(judged_pairs(qrels, corpus, queries, splits, {"c0"}, 2), found, corpus)


def test_examples_of_mined_pairs_pass_the_checks_of_judged_ones() -> None:
    _, qrels, *_ = tables()
    found = mined(answers=relevant(("q1", "a1"), ("q1", "a2")))
    # a3 stands next to a2, which is partly relevant; what is left is of other acts.
    assert found.filter(pl.col("reason").is_null())["passage_id"].to_list() == ["b2"]
    pairs = pairs_of(found)
    short = examples_of(pairs, RECIPE, 42)
    assert short.select("positive_id", "used", "reason").rows() == [("a1", False, "too_few_negatives")]

    found = mined()
    pairs = pairs_of(found)
    assert pairs.filter(~pl.col("is_positive")).select("group_id", "passage_id").rows() == [("a", "a3"), ("a", "b2")]
    examples = examples_of(pairs, RECIPE, 42)
    # One from the positive's document, one from another: the own one first.
    assert examples["negative_ids"].to_list() == [["a3", "b2"]]
    assert unaccounted(examples, pairs).is_empty()
    assert wrong_negatives(examples, pairs, 2).is_empty()
    assert wrongly_mined(examples, found, qrels).is_empty()


def test_negatives_that_were_not_mined_or_are_relevant_are_found() -> None:
    _, qrels, *_ = tables()
    found = mined()
    planted = TABLES["training_examples"].frame(
        [
            ("q1", "synthetic", "a", "a1", ["a3", "b0"], True, None),
            ("q1", "synthetic", "a", "a9", ["a0"], False, "leak"),
        ]
    )
    assert wrongly_mined(planted, found, qrels).rows() == [("q1", "a1", "b0", None)]
    graded = pl.concat([qrels, TABLES["qrels"].frame([("q1", "a3", "a", 1)])])
    assert wrongly_mined(planted, found, graded)["passage_id"].to_list() == ["a3", "b0"]
    unmined = found.filter(pl.col("passage_id") != "a3")
    assert wrongly_mined(planted, unmined, qrels)["passage_id"].to_list() == ["a3", "b0"]


def test_counts_by_reason() -> None:
    told = mined_by_reason(mined(), pl.DataFrame({"query_id": ["q1"], "level": ["synthetic"]}))
    assert dict(told.select("reason", "pairs").iter_rows()) == {
        "available": 2,
        "leak": 1,
        "neighbour": 2,
        "relevant": 1,
        "repeats": 3,
    }


WORDS = st.lists(st.sampled_from(["а", "б", "в", "г", "д"]), min_size=0, max_size=7).map(" ".join)


@settings(max_examples=80, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=7), WORDS, st.integers(0, 6))
def test_no_available_passage_is_like_the_answer(texts: list[str], question: str, answer: int) -> None:
    """Against sets of word pairs: what may be a negative is no answer, no neighbour, and below every threshold."""
    rows = [(f"p{n}", f"g{n % 2}", n, text) for n, text in enumerate(texts)]
    gold = f"p{answer % len(texts)}"
    found = mine_negatives(
        questions(("q", "g0", question)), relevant(("q", gold)), passages(*rows), (), RULE, ranking, 50
    )

    def grams(text: str) -> set[tuple[str, ...]]:
        words = normalise(text).split()
        return set(pairwise(words))

    own = grams(texts[answer % len(texts)])
    for passage, reason in found.select("passage_id", "reason").iter_rows():
        number = int(passage[1:])
        other = grams(texts[number])
        common = len(own & other)
        is_alike = normalise(texts[number]) == normalise(texts[answer % len(texts)]) or (
            bool(common)
            and (common / len(own) >= 0.3 or common / len(own | other) >= 0.7 or common / len(other) >= 0.7)
        )
        is_next = abs(number - answer % len(texts)) == 2  # every second one is of the same act
        expected = "relevant" if passage == gold else "neighbour" if is_next else "repeats" if is_alike else None
        assert reason == expected


def test_validation_ranks_its_own_groups_what_was_judged_and_the_rivals() -> None:
    corpus = pl.DataFrame(
        {
            "passage_id": ["v1", "v2", "t1", "t2", "x1", "j1"],
            "group_id": ["v", "v", "t", "t", "x", "t"],
            "text": ["резерв", "касса", "резерв банка", "отчёт", "резерв", "иное"],
        }
    )
    splits = TABLES["splits"].frame([("v", "validation"), ("t", "train"), ("x", "test_live")])
    queries = pl.DataFrame({"query_id": ["q"], "text": ["резерв"]})
    qrels = pl.DataFrame({"query_id": ["q", "q", "other"], "passage_id": ["v1", "j1", "t2"]})
    found = validation_passages(queries, qrels, corpus, splits, ("test_live",), ranking, 3)
    # x1 holds the word too and stands in a test group; t2 was judged for another query and holds no word of this one.
    assert found.to_list() == ["j1", "t1", "v1", "v2"]
    assert validation_passages(queries.clear(), qrels, corpus, splits, (), ranking, 3).to_list() == ["v1", "v2"]
