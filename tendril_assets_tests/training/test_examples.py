"""From accepted grades to training examples and the validation set."""

from collections import Counter

import polars as pl
import pytest

from tendril_assets.errors import TrainingError
from tendril_assets.spec import TrainingSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.examples import balance_levels, build_examples, exchange_set

RECIPE = TrainingSpec()
QUERIES = pl.DataFrame({"query_id": ["qa", "qc"], "level": ["area", "criterion"], "text": ["Holz", "FSC-Label"]})
SPLITS = TABLES["splits"].frame([("g1", "train"), ("g2", "validation"), ("g3", "train")])


def world(*passages: tuple[str, str, str, dict[str, int]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Qrels and corpus from (passage, group, document, grades by query); a passage's text is its id."""
    corpus = TABLES["corpus"].frame([(p, f"Text {p}", group, document, 1) for p, group, document, _ in passages])
    qrels = TABLES["qrels"].frame(
        [(query, p, group, grade) for p, group, _, grades in passages for query, grade in grades.items()]
    )
    return qrels, corpus


FOUR = world(
    ("p", "g1", "d1", {"qa": 2}),
    ("n1", "g1", "d1", {"qa": 0}),
    ("n2", "g1", "d1", {"qa": 0}),
    ("n3", "g1", "d2", {"qa": 0}),
)


def build(data: tuple[pl.DataFrame, pl.DataFrame], leaked: set[str] = frozenset(), **changes) -> pl.DataFrame:
    return build_examples(*data, QUERIES, SPLITS, leaked, RECIPE.model_copy(update=changes), seed=42)


def test_positive_with_three_negatives() -> None:
    (row,) = build(FOUR).rows(named=True)
    assert (row["query_id"], row["level"], row["group_id"], row["positive_id"]) == ("qa", "area", "g1", "p")
    assert sorted(row["negative_ids"]) == ["n1", "n2", "n3"]
    assert (row["used"], row["reason"]) == (True, None)
    assert build(FOUR).schema == TABLES["training_examples"].schema


def test_partial_grades_and_other_queries_are_no_negatives() -> None:
    """n1 becomes grade 1, n2 is judged for the other query only: one negative is left."""
    data = world(
        ("p", "g1", "d1", {"qa": 2}),
        ("n1", "g1", "d1", {"qa": 1}),
        ("n2", "g1", "d1", {"qc": 0}),
        ("n3", "g1", "d2", {"qa": 0}),
    )
    (row,) = build(data).rows(named=True)
    assert (row["negative_ids"], row["used"], row["reason"]) == (["n3"], False, "too_few_negatives")


def test_negatives_come_from_the_same_group() -> None:
    data = world(
        ("p", "g1", "d1", {"qa": 2}),
        *((f"n{k}", "g3", "d9", {"qa": 0}) for k in range(5)),
    )
    (row,) = build(data).rows(named=True)
    assert (row["negative_ids"], row["reason"]) == ([], "too_few_negatives")


def test_validation_groups_give_no_examples() -> None:
    data = world(("p", "g2", "d1", {"qa": 2}), *((f"n{k}", "g2", "d1", {"qa": 0}) for k in range(5)))
    assert build(data).is_empty()


def test_leaked_passages_are_neither_positives_nor_negatives() -> None:
    assert build(FOUR, {"p"}).select("used", "reason").row(0) == (False, "leak")
    assert build(FOUR, {"n2"}).select("used", "reason").row(0) == (False, "too_few_negatives")


def test_result_does_not_depend_on_row_order() -> None:
    data = world(
        *((f"p{k}", "g1", f"d{k % 2}", {"qa": 2}) for k in range(6)),
        *((f"n{k}", "g1", f"d{k % 3}", {"qa": 0}) for k in range(12)),
    )
    qrels, corpus = data
    assert build((qrels.reverse(), corpus.sample(fraction=1, shuffle=True, seed=1))).equals(build(data))


def test_positives_of_a_query_draw_different_negatives() -> None:
    data = world(
        *((f"p{k}", "g1", "d1", {"qa": 2}) for k in range(6)), *((f"n{k}", "g1", "d1", {"qa": 0}) for k in range(20))
    )
    drawn = {tuple(sorted(row)) for row in build(data)["negative_ids"].to_list()}
    assert len(drawn) > 1


def examples(areas: int, criteria: int) -> pl.DataFrame:
    rows = [("qa", "area", "g1", f"a{k}", ["x", "y", "z"], True, None) for k in range(areas)]
    rows += [("qc", "criterion", "g1", f"c{k}", ["x", "y", "z"], True, None) for k in range(criteria)]
    rows += [("qa", "area", "g1", "b", [], False, "leak")]
    return TABLES["training_examples"].frame(rows)


@pytest.mark.parametrize(
    ("areas", "criteria", "cap", "kept"), [(10, 4, None, 4), (4, 10, None, 4), (10, 4, 3, 3), (10, 4, 50, 4)]
)
def test_larger_level_shrinks_to_the_smaller_and_both_to_the_cap(
    areas: int, criteria: int, cap: int | None, kept: int
) -> None:
    table = balance_levels(examples(areas, criteria), cap, seed=42)
    used = table.filter("used")["level"].to_list()
    assert Counter(used) == {"area": kept, "criterion": kept}
    reasons = Counter(table["reason"].to_list())
    assert reasons == Counter({None: 2 * kept, "leak": 1, "balance": areas + criteria - 2 * kept})


def test_balancing_keeps_what_it_kept_when_a_positive_arrives() -> None:
    before = balance_levels(examples(10, 4), None, 42).filter("used")
    after = balance_levels(examples(11, 4), None, 42).filter("used")
    lost = set(before["positive_id"]) - set(after["positive_id"])
    assert len(lost) <= 1


def test_nothing_usable_stays_as_it_is() -> None:
    assert balance_levels(examples(0, 0), None, 42).equals(examples(0, 0))


VALIDATION = (
    ("v1", "g2", "d7", {"qa": 2, "qc": 0}),
    ("v2", "g2", "d7", {"qa": 0, "qc": 1}),
)


def with_validation(data: tuple[pl.DataFrame, pl.DataFrame]) -> tuple[pl.DataFrame, pl.DataFrame]:
    extra = world(*VALIDATION)
    return pl.concat([data[0], extra[0]]), pl.concat([data[1], extra[1]])


def test_exchange_holds_texts_of_training_and_rows_of_validation() -> None:
    qrels, corpus = with_validation(FOUR)
    table = build((qrels, corpus))
    exchange = exchange_set(table, qrels, corpus, QUERIES, SPLITS)
    (row,) = exchange.train.rows(named=True)
    negatives = [f"Text {passage}" for passage in table["negative_ids"][0]]
    assert row == {
        "example": 0,
        "level": "area",
        "query_id": "qa",
        "positive_id": "p",
        "query": "Holz",
        "positive": "Text p",
        "negative_1": negatives[0],
        "negative_2": negatives[1],
        "negative_3": negatives[2],
    }
    assert exchange.corpus.rows() == [("v1", "g2", "Text v1"), ("v2", "g2", "Text v2")]
    assert exchange.queries["query_id"].to_list() == ["qa", "qc"]
    assert sorted(exchange.qrels.select("query_id", "passage_id", "score").rows()) == [
        ("qa", "v1", 2),
        ("qa", "v2", 0),
        ("qc", "v1", 0),
        ("qc", "v2", 1),
    ]


def test_whole_corpus_is_ranked_where_the_scope_says_so() -> None:
    qrels, corpus = with_validation(FOUR)
    exchange = exchange_set(build((qrels, corpus)), qrels, corpus, QUERIES, SPLITS, whole_corpus=True)
    assert exchange.corpus.height == 6


def test_no_usable_example_is_an_error_that_counts_the_reasons() -> None:
    qrels, corpus = with_validation(FOUR)
    with pytest.raises(TrainingError, match=r"leak.*1"):
        exchange_set(build((qrels, corpus), {"p"}), qrels, corpus, QUERIES, SPLITS)
