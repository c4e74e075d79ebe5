"""The published arithmetic comes out of the rules: 911,540 judgments, 13,390 examples available, 4,500 + 4,500 kept."""

from collections.abc import Callable

import duckdb
import polars as pl
import pytest

from tendril_assets.corpus.duplicates import DuplicateIndex, passage_texts
from tendril_assets.qrels.leakage import find_leakage, leaking, leaks_left
from tendril_assets.qrels.splits import split_sizes
from tendril_assets.resources import sql
from tendril_assets.resources.warehouse import create_statements
from tendril_assets.spec import TrainingSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.examples import by_fate, examples_of, exchange_set, unaccounted, wrong_negatives
from tendril_assets.training.pools import judged_pairs, negatives_by_reason
from tendril_assets_tests.published_labels import FULLY, IRRELEVANT, LEVELS, PARTLY, USABLE, Labels, labels

RECIPE = TrainingSpec()
# Irrelevant passages of a query and group that examples draw from here. Three are needed; with all hundred of them the
# counts are the same and take three times as long.
POOL = 8


class Built:
    def __init__(self, made: Labels) -> None:
        self.made = made
        texts = (frame.select("passage_id", "group_id", "text") for frame in (made.corpus, made.test_corpus))
        # Equal texts alone leak here: the sentences are from few words, and what is similar among them is not planned.
        self.index = DuplicateIndex(passage_texts(*texts).frame, TABLES["similar_texts"].empty())
        self.leakage = find_leakage(self.index, made.splits)
        self.pairs = judged_pairs(
            made.qrels, made.corpus, made.queries, made.splits, leaking(self.leakage), RECIPE.positive_grade
        )
        spare = ~pl.col("is_positive") & pl.col("reason").is_null()
        place = spare.cum_sum().over("query_id", "group_id")
        self.examples = examples_of(self.pairs.filter(~spare | (place <= POOL)), RECIPE, seed=42)


@pytest.fixture(scope="module")
def built() -> Built:
    return Built(labels())


@pytest.fixture(scope="module")
def ask(built: Built) -> Callable[[str], pl.DataFrame]:
    """Runs a file of ``sql/`` on these tables."""
    made = built.made
    connection = duckdb.connect()
    frames = {
        "qrels": made.qrels,
        "queries": made.queries,
        "splits": made.splits,
        "split_sizes": split_sizes(made.splits, made.qrels, made.queries, LEVELS),
        "leakage": built.leakage,
        "passage_texts": built.index.texts,
        "training_examples": built.examples,
    }
    for name, frame in frames.items():
        for statement in create_statements("toy", TABLES[name]):
            connection.execute(statement)
        connection.register("incoming", frame)
        connection.execute(f"INSERT INTO toy.{name} BY NAME SELECT * FROM incoming")
    connection.execute("USE toy")
    return lambda name: connection.sql(sql.query(name)).pl()


def test_the_set_has_the_published_counts(built: Built) -> None:
    grades = dict(built.made.qrels.group_by("score").len().iter_rows())
    assert grades == {0: IRRELEVANT, 1: PARTLY, 2: FULLY}
    assert sum(grades.values()) == 911_540
    assert built.made.qrels["group_id"].n_unique() == 631


def test_available_and_kept(built: Built) -> None:
    """Available: 8,890 of areas and 4,500 of criteria; the larger level shrinks to the smaller, and no cap is set."""
    assert RECIPE.max_examples_per_level is None
    fates = {(level, fate): n for level, fate, n in by_fate(built.examples).iter_rows()}
    available = sum(n for (_, fate), n in fates.items() if fate in ("used", "balance", "cap"))
    assert available == sum(USABLE.values()) == 13_390
    assert {level: fates[level, "used"] for level in LEVELS} == dict.fromkeys(LEVELS, 4_500)
    assert {key for key in fates if key[1] in ("balance", "cap")} == {("area_of_action", "balance")}
    assert built.examples.filter("used").height == 9_000


def test_every_exclusion_is_counted_and_the_sums_add_up(built: Built) -> None:
    fates = {(level, fate): n for level, fate, n in by_fate(built.examples).iter_rows()}
    planned = built.made.expected
    for reason in ("leak", "repeat", "too_few_negatives"):
        assert {level: fates.get((level, reason), 0) for level in LEVELS} == {
            level: planned.get((level, reason), 0) for level in LEVELS
        }
        assert any(planned.get((level, reason)) for level in LEVELS)
    train = built.made.splits.filter(split="train")
    positives = built.made.qrels.filter(score=2).join(train, on="group_id").height
    assert sum(fates.values()) == positives
    assert unaccounted(built.examples, built.pairs).is_empty()
    assert wrong_negatives(built.examples, built.pairs, 3).is_empty()
    assert leaks_left(built.examples, built.leakage).is_empty()


def test_what_cannot_be_a_negative_is_counted_too(built: Built) -> None:
    reasons = {(level, reason): n for level, reason, n in negatives_by_reason(built.pairs).iter_rows()}
    assert {level: reasons[level, "contradiction"] for level in LEVELS} == {
        level: built.made.expected[level, "contradiction"] for level in LEVELS
    }
    train = built.made.splits.filter(split="train")
    others = built.made.qrels.filter(pl.col("score") < 2).join(train, on="group_id")
    assert sum(reasons.values()) == others.height
    assert sum(n for (_, reason), n in reasons.items() if reason == "partial") == others.filter(score=1).height


def test_both_levels_of_the_held_out_groups(ask: Callable[[str], pl.DataFrame]) -> None:
    """Published: 63 projects with area queries, 62 of them with criterion queries."""
    sizes = ask("release/split_sizes").filter(split="validation")
    assert sizes.select("level", "groups", "groups_with_relevant").rows() == [
        ("area_of_action", 63, 63),
        ("criterion", 63, 62),
    ]


def test_the_queries_say_what_the_code_says(built: Built, ask: Callable[[str], pl.DataFrame]) -> None:
    view = ask("views/negatives_by_reason")
    assert sorted(view.select("level", "reason", "pairs").rows()) == negatives_by_reason(built.pairs).rows()
    drawn = built.examples.filter("used").select("query_id", "negative_ids").explode("negative_ids").unique()
    assert view["in_use"].sum() == view.filter(reason="available")["in_use"].sum() == drawn.height
    assert sorted(ask("release/training_use").rows()) == by_fate(built.examples).rows()


def test_each_positive_left_out_says_why(built: Built, ask: Callable[[str], pl.DataFrame]) -> None:
    view = ask("views/unused_positives")
    unused = built.examples.filter(~pl.col("used"))
    assert sorted(view.select("query_id", "positive_id", "reason").rows()) == sorted(
        unused.select("query_id", "positive_id", "reason").rows()
    )
    leaks = view.filter(reason="leak")
    assert set(leaks["cause_set"]) == {"test", "validation"}
    assert leaks["similarity"].unique().to_list() == [1.0]
    repeats = view.filter(reason="repeat")
    # The text's other writing stands right before it, and that passage is the one in use.
    assert {(int(r["positive_id"][-3:]), int(r["cause"][-3:])) for r in repeats.rows(named=True)} == {(18, 17)}
    assert view.filter(pl.col("reason").is_in(["balance", "too_few_negatives"]))["cause"].null_count() == 4_390 + 700
    few = view.filter(reason="too_few_negatives")["negatives_found"]
    assert (few.min(), few.max()) == (2, 2)


def test_the_hand_over_holds_the_kept_examples_and_the_held_out_groups(built: Built) -> None:
    made = built.made
    exchange = exchange_set(built.examples, made.qrels, made.corpus, made.queries, made.splits)
    assert exchange.train.height == 9_000
    assert exchange.train["level"].value_counts().sort("level")["count"].to_list() == [4_500, 4_500]
    held_out = set(made.splits.filter(split="validation")["group_id"])
    assert set(exchange.corpus["group_id"]) == set(exchange.qrels["group_id"]) == held_out
    assert not set(exchange.train["positive"]) & set(exchange.corpus["text"])
