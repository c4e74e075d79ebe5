"""From accepted grades to training examples and the validation set."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import TrainingError
from tendril_assets.spec import TrainingSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.examples import (
    balance_levels,
    build_examples,
    by_fate,
    exchange_set,
    misgraded,
    text_columns,
    unaccounted,
    unequal_levels,
    wrong_negatives,
)
from tendril_assets.training.pools import judged_pairs

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


NEGATIVES = (
    ("n1", "g1", "d1", {"qa": 0}),
    ("n2", "g1", "d1", {"qa": 0}),
    ("n3", "g1", "d2", {"qa": 0}),
)
FOUR = world(("p", "g1", "d1", {"qa": 2}), *NEGATIVES)


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
    capped = 2 * (min(areas, criteria) - kept)
    expected = {None: 2 * kept, "leak": 1, "balance": abs(areas - criteria), "cap": capped}
    assert reasons == Counter({reason: n for reason, n in expected.items() if n})


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.none() | st.integers(1, 30), st.sampled_from(["area", "criterion"]))
def test_a_new_positive_moves_one_other_at_most_in_each_level(
    areas: int, criteria: int, cap: int | None, level
) -> None:
    before = balance_levels(examples(areas, criteria), cap, 42).filter("used")
    grown = examples(areas + (level == "area"), criteria + (level == "criterion"))
    after = balance_levels(grown, cap, 42).filter("used")
    for name in ("area", "criterion"):
        then, now = (set(table.filter(level=name)["positive_id"]) for table in (before, after))
        assert len(then - now) <= 1
        assert len(now - then) <= 1


def test_nothing_usable_stays_as_it_is() -> None:
    assert balance_levels(examples(0, 0), None, 42).equals(examples(0, 0))


def test_levels_of_unequal_numbers_are_told() -> None:
    assert unequal_levels(examples(4, 4), ("area", "criterion")) is None
    told = unequal_levels(balance_levels(examples(4, 0), None, 42), ("area", "criterion"))
    assert told is not None
    assert "area 4, criterion 0" in told
    assert unequal_levels(examples(0, 0), ("area", "criterion")) is not None


def test_equal_positives_are_one_example() -> None:
    qrels, corpus = world(*((f"p{k}", "g1", f"d{k}", {"qa": 2}) for k in range(2)), *NEGATIVES)
    corpus = corpus.with_columns(text=pl.col("text").replace("Text p1", "TEXT\np0"))
    table = build((qrels, corpus))
    assert table.select("positive_id", "used", "reason").rows() == [("p0", True, None), ("p1", False, "repeat")]


# Random worlds: 14 texts in several writings, so that equal texts, contradictions and thin pools are common.
PASSAGES = st.lists(
    st.tuples(
        st.sampled_from(["g1", "g2", "g3"]),
        st.sampled_from(["d1", "d2"]),
        st.integers(0, 13),
        st.booleans(),
        st.dictionaries(st.sampled_from(["qa", "qc"]), st.sampled_from([0, 0, 0, 1, 2]), min_size=0),
    ),
    max_size=40,
)


def random_world(passages: list[tuple]) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows, grades = [], []
    for number, (group, document, text, loud, judged) in enumerate(passages):
        words = f"wort{text} in der Fläche"
        rows.append((f"p{number:02d}", words.upper() if loud else f" {words}", group, f"{group}-{document}", 1))
        grades += [(query, f"p{number:02d}", group, grade) for query, grade in judged.items()]
    return TABLES["qrels"].frame(grades), TABLES["corpus"].frame(rows)


@settings(max_examples=50, deadline=None)
@given(PASSAGES, st.sets(st.integers(0, 39).map("p{:02d}".format), max_size=8), st.randoms())
def test_examples_keep_every_rule(passages: list[tuple], leaked: set[str], random) -> None:
    """Each rule from the definition, over plain dictionaries; then order independence."""
    qrels, corpus = random_world(passages)
    table = build((qrels, corpus), leaked)
    text = {row["passage_id"]: row["text"].casefold().strip() for row in corpus.rows(named=True)}
    group = dict(corpus.select("passage_id", "group_id").iter_rows())
    grade = {(row["query_id"], row["passage_id"]): row["score"] for row in qrels.rows(named=True)}
    training = {(q, p): g for (q, p), g in grade.items() if group[p] != "g2"}
    assert set(table.select("query_id", "positive_id").rows()) == {pair for pair, g in training.items() if g == 2}

    seen: set[tuple] = set()
    for row in table.rows(named=True):
        query, positive = row["query_id"], row["positive_id"]
        relevant = {text[p] for (q, p), g in training.items() if q == query and g >= 1}
        pool = {
            text[p]
            for (q, p), g in training.items()
            if (q, g, group[p]) == (query, 0, group[positive]) and p not in leaked and text[p] not in relevant
        }
        for negative in row["negative_ids"]:
            assert grade[query, negative] == 0
            assert group[negative] == group[positive] == row["group_id"]
            assert negative not in leaked
            assert text[negative] in pool
        assert len({text[p] for p in row["negative_ids"]} | {text[positive]}) == len(row["negative_ids"]) + 1
        own = (query, group[positive], text[positive])
        reason = "leak" if positive in leaked else "repeat" if own in seen else "too_few_negatives"
        if reason != "leak":
            seen.add(own)
        if reason != "too_few_negatives" or len(pool) < 3:
            assert (row["used"], row["reason"]) == (False, reason)
        else:
            assert len(row["negative_ids"]) == 3
            assert row["reason"] in (None, "balance")
    used = Counter(table.filter("used")["level"].to_list())
    assert len(set(used.values())) <= 1

    shuffled = qrels.sample(fraction=1, shuffle=True, seed=random.randint(0, 99)), corpus.reverse()
    assert build(shuffled, leaked).equals(table)
    pairs = judged_pairs(qrels, corpus, QUERIES, SPLITS, leaked, 2)
    assert unaccounted(table, pairs).is_empty()
    assert wrong_negatives(table, pairs, 3).is_empty()
    assert misgraded(table, qrels, 2).is_empty()
    assert by_fate(table)["examples"].sum() == sum(g == 2 for g in training.values())


@settings(max_examples=30, deadline=None)
@given(PASSAGES, st.sampled_from(["g1", "g3"]))
def test_another_group_changes_no_negatives(passages: list[tuple], gone: str) -> None:
    """Without contradictions, which look at all training groups: there a group that leaves gives texts back."""
    passages = [(g, d, t + 100 * (g == gone), loud, judged) for g, d, t, loud, judged in passages]
    kept = [entry if entry[0] != gone else (*entry[:4], {}) for entry in passages]
    columns = ["query_id", "positive_id", "negative_ids"]
    whole = build(random_world(passages)).filter(pl.col("group_id") != gone).select(columns)
    assert whole.equals(build(random_world(kept)).select(columns))


def test_what_does_not_add_up_is_named() -> None:
    table, pairs = build(FOUR), judged_pairs(*FOUR, QUERIES, SPLITS, set(), 2)
    assert unaccounted(table.clear(), pairs).rows() == [("qa", "p")]
    odd = table.with_columns(positive_id=pl.lit("n1"))
    assert unaccounted(odd, pairs).rows() == [("qa", "n1"), ("qa", "p")]
    assert unaccounted(pl.concat([table, table]), pairs).rows() == [("qa", "p")]


@pytest.mark.parametrize(
    ("negatives", "leaked"),
    [
        (["n1", "n2"], set()),  # too few
        (["n1", "n2", "n2"], set()),  # one twice
        (["n1", "n2", "p"], set()),  # the positive itself
        (["n1", "n2", "other"], set()),  # judged for nothing
        (["n1", "n2", "n3"], {"n3"}),  # held-out text
        (["n1", "n2", "n3"], {"p"}),
        (["n1", "n2", "half"], set()),  # partly relevant
        (["n1", "n2", "loud"], set()),  # n1's text again
    ],
)
def test_negatives_that_break_the_rule_are_named(negatives: list[str], leaked: set[str]) -> None:
    qrels, corpus = world(
        ("p", "g1", "d1", {"qa": 2}), *NEGATIVES, ("half", "g1", "d1", {"qa": 1}), ("loud", "g1", "d1", {"qa": 0})
    )
    corpus = corpus.with_columns(text=pl.col("text").replace("Text loud", "TEXT N1"))
    pairs = judged_pairs(qrels, corpus, QUERIES, SPLITS, leaked, 2)
    table = TABLES["training_examples"].frame([("qa", "area", "g1", "p", negatives, True, None)])
    assert wrong_negatives(table, pairs, 3).rows() == [("qa", "p")]
    assert wrong_negatives(table.with_columns(used=False), pairs, 3).is_empty()


@pytest.mark.parametrize(
    ("positive", "negatives", "named"),
    [
        ("p", ["n1", "n2", "n3"], []),
        ("half", ["n1"], [("half", 1)]),  # below the positive grade
        ("p", ["n1", "half"], [("half", 1)]),  # partly relevant
        ("p", ["n1", "else"], [("else", None)]),  # judged for the other query alone
        ("p", ["n1", "far"], [("far", None)]),  # irrelevant, but of another group
        ("p", ["n1", "failed"], [("failed", None)]),  # no accepted grade at all
        ("failed", ["p"], [("failed", None), ("p", 2)]),
    ],
)
def test_grades_are_looked_up_in_the_judgments_themselves(positive: str, negatives: list[str], named: list) -> None:
    qrels, _ = world(
        ("p", "g1", "d1", {"qa": 2}),
        *NEGATIVES,
        ("half", "g1", "d1", {"qa": 1}),
        ("else", "g1", "d1", {"qc": 0}),
        ("far", "g3", "d9", {"qa": 0}),
    )
    table = TABLES["training_examples"].frame([("qa", "area", "g1", positive, negatives, True, None)])
    assert misgraded(table, qrels, 2).select("passage_id", "score").rows() == named
    assert misgraded(table.with_columns(used=False), qrels, 2).is_empty()


def test_grade_one_may_be_a_positive_where_the_recipe_says_so() -> None:
    qrels, _ = world(("half", "g1", "d1", {"qa": 1}), *NEGATIVES)
    table = TABLES["training_examples"].frame([("qa", "area", "g1", "half", ["n1"], True, None)])
    assert misgraded(table, qrels, 1).is_empty()


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


def test_exchange_holds_what_training_reads_and_nothing_more() -> None:
    """No text of an example left out, of a training passage nobody drew, or of a query that validation does not ask."""
    data = with_validation(
        world(
            ("p", "g1", "d1", {"qa": 2}), *NEGATIVES, ("leaks", "g1", "d1", {"qa": 2}), ("half", "g1", "d1", {"qa": 1})
        )
    )
    queries = pl.concat([QUERIES, pl.DataFrame({"query_id": ["qx"], "level": ["area"], "text": ["Nie gefragt"]})])
    exchange = exchange_set(build(data, {"leaks"}), *data, queries, SPLITS)
    assert text_columns(exchange) == ["query", "positive", "negative_1", "negative_2", "negative_3"]
    texts = {value for frame in exchange for row in frame.rows() for value in row if isinstance(value, str)}
    assert {text for text in texts if text.startswith(("Text", "Nie"))} == {
        f"Text {passage}" for passage in ("p", "n1", "n2", "n3", "v1", "v2")
    }


def test_examples_older_than_the_corpus_are_refused() -> None:
    qrels, corpus = with_validation(FOUR)
    table = build((qrels, corpus))
    with pytest.raises(TrainingError, match="1 training examples name a query or passage that is not there"):
        exchange_set(table, qrels, corpus.filter(pl.col("passage_id") != "n2"), QUERIES, SPLITS)


def test_whole_corpus_is_ranked_where_the_scope_says_so() -> None:
    qrels, corpus = with_validation(FOUR)
    exchange = exchange_set(build((qrels, corpus)), qrels, corpus, QUERIES, SPLITS, whole_corpus=True)
    assert exchange.corpus.height == 6


def test_no_usable_example_is_an_error_that_counts_the_reasons() -> None:
    qrels, corpus = with_validation(FOUR)
    with pytest.raises(TrainingError, match=r"leak.*1"):
        exchange_set(build((qrels, corpus), {"p"}), qrels, corpus, QUERIES, SPLITS)
