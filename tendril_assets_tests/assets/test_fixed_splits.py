"""Splits fixed by file, through Dagster: each promise is a check that blocks and names what breaks it."""

from datetime import date

import duckdb
import polars as pl
import pytest

from tendril_assets.assets.fixed_splits import corpus_groups
from tendril_assets.qrels.fixed_splits import fixed_splits
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.toy_registers import ACTS, Home, checks_of, passage_id, spec_of, tables

OF_THE_FILE = (
    "each_group_in_one_split",
    "splits_are_the_corpus",
    "splits_are_those_named",
    "held_out_kinds_are_held_out",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("splits"), spec_of(None))


@pytest.fixture
def home(made: Home) -> Home:
    """The toy collection as it was landed, and nothing that a test before made of it."""
    made.write(**{name: TABLES[name].empty() for name in ("splits", "split_sizes", "leakage")}, **tables())
    return made


def landed(**changes: str | None) -> pl.DataFrame:
    """The file with acts elsewhere, or nowhere; an underscore stands for the hyphen of the act."""
    named = {act.replace("_", "-"): split for act, split in changes.items()}
    return TABLES["landed_splits"].frame([(act, split) for act, split in (ACTS | named).items() if split])


def put(home: Home, **changes: str | None) -> None:
    """The file with these changes and its splits, as the step writes them."""
    file = landed(**changes)
    groups = corpus_groups(home.warehouse, "toy")
    home.write(landed_splits=file, splits=fixed_splits(file, groups, home.spec.splits))


def test_a_sound_file_becomes_the_splits_before_anything_is_graded(home: Home) -> None:
    home.write(**{name: TABLES[name].empty() for name in ("qrels", "queries", "project_queries")})
    result = home.run("splits")
    assert result.success
    assert {name: checks_of(result)[name] for name in OF_THE_FILE} == dict.fromkeys(OF_THE_FILE, True)
    assert home.load("splits")["split"].value_counts().sort("split").rows() == [
        ("test_genre", 1),
        ("test_live", 2),
        ("test_unseen", 1),
        ("train", 8),
        ("validation", 3),
    ]
    (event,) = result.get_asset_materialization_events()
    metadata = event.step_materialization_data.materialization.metadata
    assert "| validation | 3 | 24 | 0.2 | Положение 3 |" in metadata["composition"].value


@pytest.mark.parametrize(
    ("check", "change", "told"),
    [
        ("splits_are_the_corpus", {"t1_У": None}, "the splits are not the corpus: t1-У is in no split"),
        ("splits_are_the_corpus", {"x9_У": "train"}, "the splits are not the corpus: x9-У is not in the corpus"),
        ("splits_are_those_named", {"u0_У": "train"}, "test_unseen is empty"),
        ("splits_are_those_named", {"t1_У": "spare"}, "spare (1 groups) is unknown"),
        ("held_out_kinds_are_held_out", {"g0_И": "train", "l1_П": "test_genre"}, "g0-И: Инструкция in train"),
        ("held_out_kinds_are_held_out", {"g0_И": "dev", "l1_П": "test_genre"}, "g0-И: Инструкция in validation"),
    ],
)
def test_a_broken_promise_is_told_with_the_name(home: Home, check: str, change: dict[str, str], told: str) -> None:
    put(home, **change)
    found = home.check(check)
    assert (found.passed, home.blocks(check)) == (False, True)
    assert told in (found.description or "")


def test_nothing_is_made_of_splits_that_break_a_promise(home: Home) -> None:
    home.write(landed_splits=landed(t1_У=None))
    result = home.run("splits", "passage_texts", "similar_texts", "leakage")
    assert not result.success
    assert [name for name, passed in checks_of(result).items() if not passed] == ["splits_are_the_corpus"]
    assert home.load("leakage").is_empty()


def test_an_act_in_two_places_is_red(home: Home) -> None:
    """The landing refuses such a file and the warehouse such a row: this is for tables that neither of them wrote."""
    put(home)
    with duckdb.connect(home.warehouse.database) as connection:
        connection.execute("INSERT INTO toy.splits VALUES ('t0-У', 'test_live')")
        connection.execute("INSERT INTO toy.landed_splits VALUES ('t1-У', 'dev')")
    found = home.check("each_group_in_one_split")
    assert (found.passed, home.blocks("each_group_in_one_split")) == (False, True)
    assert found.description == "more than once: t1-У: dev, train; t0-У in the table"


def test_without_a_file_the_step_says_what_to_do(home: Home) -> None:
    before = TABLES["splits"].frame([("t0-У", "train")])
    home.write(landed_splits=TABLES["landed_splits"].empty(), splits=before)
    result = home.run("splits")
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "the landing folder has no split.json" in str(failure.step_failure_data)
    assert home.load("splits").equals(before)


def test_a_removed_act_may_stay_in_the_file(home: Home) -> None:
    home.write(corpus=home.load("corpus").filter(pl.col("group_id") != "t7-У"))
    put(home)
    assert not home.check("splits_are_the_corpus").passed
    home.write(removals=TABLES["removals"].frame([("project", "t7-У", "asked for", date(2026, 1, 1))]))
    assert home.check("splits_are_the_corpus").passed
    assert "t7-У" not in set(home.load("splits")["group_id"])


def test_a_table_that_is_not_of_the_present_file_is_red(home: Home) -> None:
    put(home)
    home.write(corpus=home.load("corpus").filter(pl.col("group_id") != "d1-П"))
    found = home.check("splits_are_the_corpus")
    assert not found.passed
    assert "d1-П is not in the corpus" in (found.description or "")


def test_acts_of_live_questions_are_in_the_live_split(home: Home) -> None:
    put(home)
    assert home.check("live_groups_are_held_out").passed
    assert home.blocks("live_groups_are_held_out")
    put(home, l1_П="train")
    found = home.check("live_groups_are_held_out")
    assert (found.passed, found.description) == (False, "not in test_live: l1-П: train, 8 questions")


def test_no_answer_of_a_held_out_query_is_trained_on(home: Home) -> None:
    put(home)
    assert home.check("no_held_out_gold_in_training").passed
    stray = ("q-u0-1", passage_id("t5-У", 4), "t5-У", 2)
    home.write(qrels=pl.concat([home.load("qrels"), TABLES["qrels"].frame([stray])]))
    found = home.check("no_held_out_gold_in_training")
    assert (found.passed, home.blocks("no_held_out_gold_in_training")) == (False, True)
    assert found.description == "answers that are trained on: q-u0-1 in t5-У#0004"
    # Found by a judge in the pool besides, it is told and blocks nothing.
    judged = TABLES["qrel_evidence"].frame([(*stray[:2], "judge", "r", "c")])
    home.write(qrel_evidence=pl.concat([home.load("qrel_evidence"), judged]))
    assert home.check("no_held_out_gold_in_training").passed
    assert not home.check("judged_relevant_in_training").passed
    assert not home.blocks("judged_relevant_in_training")


def test_sizes_are_of_every_split_and_leaks_know_the_tests_inside(home: Home) -> None:
    assert home.run("splits", "split_sizes", "passage_texts", "similar_texts", "leakage").success
    sizes = home.load("split_sizes")
    assert sizes.height == 5 * 3
    queries = {(split, level): n for split, level, n in sizes.select("split", "level", "queries").iter_rows() if n}
    assert queries == {
        ("train", "synthetic"): 64,
        ("validation", "synthetic"): 24,
        ("test_live", "live"): 16,
        ("test_genre", "unseen"): 8,
        ("test_unseen", "unseen"): 8,
    }
    # Of train what repeats a test leaves; of validation it is counted. Two training acts may repeat each other.
    assert home.load("leakage").select("passage_id", "split", "cause", "cause_set").rows() == [
        ("d0-П#0002", "validation", "u0-У#0002", "test_unseen"),
        ("t0-У#0003", "train", "l0-П#0003", "test_live"),
    ]
