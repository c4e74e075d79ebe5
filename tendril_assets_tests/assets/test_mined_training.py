"""From fixed splits over mined negatives and a tiny model to the stages that validation accepts, through Dagster."""

import json
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.qrels.splits import TRAIN, groups_of
from tendril_assets.resources import sql
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.toy_registers import Home, checks_of, passage_id, spec_of
from tendril_assets_tests.training.toy import tiny_encoder

BEFORE_MINING = ("splits", "split_sizes", "passage_texts", "similar_texts", "leakage")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A collection without models, up to its training examples."""
    made = Home(tmp_path_factory.mktemp("mined"), spec_of(None))
    assert made.run(*BEFORE_MINING, "mined_negatives", "training_examples").success
    return made


def mined_of(home: Home, query: str) -> dict[str, str | None]:
    return dict(home.load("mined_negatives").filter(query_id=query).select("passage_id", "reason").iter_rows())


def test_negatives_are_of_training_acts_and_no_answers(home: Home) -> None:
    mined = home.load("mined_negatives")
    assert set(mined["group_id"]) <= set(groups_of(home.load("splits"), TRAIN))
    # 64 questions, less the one whose answer repeats held-out text; each shares a word with all 64 passages.
    assert mined["query_id"].n_unique() == 63
    assert mined.height == 63 * 64
    reasons = mined_of(home, "q-t4-3")
    assert reasons[passage_id("t4-У", 3)] == "relevant"
    assert reasons[passage_id("t4-У", 2)] == reasons[passage_id("t4-У", 4)] == "neighbour"
    assert reasons[passage_id("t0-У", 3)] == "leak"
    assert reasons[passage_id("t3-У", 3)] is None
    # The same rule stands in another training act: it answers the question as well.
    assert mined_of(home, "q-t1-1")[passage_id("t2-У", 6)] == "repeats"
    # Of grade 1 for the first topic's question, so relevant to it, and what follows it is a neighbour.
    first = mined_of(home, "q-t4-0")
    assert (first[passage_id("t4-У", 1)], first[passage_id("t4-У", 2)]) == ("relevant", "neighbour")


def test_examples_hold_only_what_may_be_trained_on(home: Home) -> None:
    examples, mined = home.load("training_examples"), home.load("mined_negatives")
    assert examples.height == 64
    assert examples.filter(~pl.col("used")).select("query_id", "reason").rows() == [("q-t0-3", "leak")]
    assert set(examples["level"]) == {"synthetic"}
    for name in (
        "no_leak_in_training",
        "only_training_groups",
        "every_positive_accounted",
        "grades_as_judged",
        "levels_balanced",
    ):
        assert home.check(name).passed, name
    # Two of the three negatives are of the positive's act, where it has as many.
    used = examples.filter("used").explode("negative_ids").with_columns(act=pl.col("negative_ids").str.head(4))
    near = used.filter(pl.col("act") == pl.col("group_id")).group_by("query_id").len()
    assert set(near["len"]) == {2}
    view = home.warehouse.frame("toy", sql.query("views/mined_by_reason"))
    assert view["pairs"].sum() == mined.height
    assert view.filter(reason="available")["in_use"].item() == 63 * 3
    assert view.filter(pl.col("reason") != "available")["in_use"].sum() == 0
    assert home.warehouse.frame("toy", sql.query("release/foreign_negatives")).is_empty()


def planted(home: Home, negative: str) -> pl.DataFrame:
    """The examples with one negative of the first one in use replaced."""
    rows = home.load("training_examples").to_dicts()
    row = next(row for row in rows if row["used"])
    row["negative_ids"] = [negative, *row["negative_ids"][1:]]
    return TABLES["training_examples"].frame(rows)


@pytest.mark.parametrize(
    ("negative", "checks", "rules"),
    [
        (passage_id("l1-П", 5), {"only_training_groups", "grades_as_judged", "every_positive_accounted"},
         {"held_out_passage_in_training", "negative_not_mined"}),
        (passage_id("t0-У", 3), {"no_leak_in_training", "grades_as_judged", "every_positive_accounted"},
         {"negative_not_mined"}),
        (passage_id("t0-У", 1), {"grades_as_judged", "every_positive_accounted"},
         {"negative_not_mined", "relevant_negative_in_training"}),
    ],
)  # fmt: skip
def test_what_must_not_be_a_negative_blocks(home: Home, negative: str, checks: set[str], rules: set[str]) -> None:
    """A passage of a test act, one that repeats test text, and one of grade 1 for the question."""
    sound = home.load("training_examples")
    assert sound.filter("used")["query_id"][0] == "q-t0-0"
    try:
        home.write(training_examples=planted(home, negative))
        named = ("no_leak_in_training", "only_training_groups", "grades_as_judged", "every_positive_accounted")
        assert {name for name in named if not home.check(name).passed} == checks
        assert all(home.blocks(name) for name in checks)
        found = home.warehouse.frame("toy", sql.query("release/foreign_negatives"))
        assert set(found["rule"]) == rules
    finally:
        home.write(training_examples=sound)


def test_a_second_run_mines_nothing_and_a_changed_grade_mines_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tendril_assets.assets import mining

    before, qrels = home.load("mined_negatives"), home.load("qrels")
    try:
        with monkeypatch.context() as patch:
            patch.setattr(mining, "mine_negatives", None)
            assert home.run("mined_negatives").success
            assert home.load("mined_negatives").equals(before)
            graded = TABLES["qrels"].frame([("q-t4-3", passage_id("t6-У", 3), "t6-У", 1)])
            home.write(qrels=pl.concat([qrels, graded]))
            assert not home.run("mined_negatives").success
        assert mined_of(home, "q-t4-3")[passage_id("t6-У", 3)] is None
        assert home.run("mined_negatives").success
        assert mined_of(home, "q-t4-3")[passage_id("t6-У", 3)] == "relevant"
    finally:
        home.write(qrels=qrels, mined_negatives=before)


def test_whole_recipe_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    home = Home(tmp_path, spec_of(tiny_encoder(tmp_path / "encoder")))
    result = home.run()
    assert result.success
    checks = checks_of(result)
    assert checks["kept_weights_give_the_best_value"]
    assert checks["validation_holds_every_level"]
    assert {name for name, passed in checks.items() if not passed} <= {
        "every_stage_raises_validation",
        "better_than_base",
    }

    # Validated by the trained level alone, over its acts and what BM25 ranks for their questions, without any test act.
    trained = home.load("trained_models").row(0, named=True)
    assert json.loads(trained["validation"]) == {"synthetic": {"groups": 3, "queries": 24}}
    assert trained["examples"] == 63
    validated = home.artifacts.read_frame("toy", "training_corpus")
    assert {act[0] for act in validated["group_id"]} == {"d", "t"}
    assert validated.filter(pl.col("group_id").str.starts_with("d")).height == 24
    assert set(home.artifacts.read_frame("toy", "training_queries")["level"]) == {"synthetic"}
    passages = home.load("trained_passages")
    assert {act[0] for act in passages["group_id"]} == {"d", "t"}
    assert passage_id("t0-У", 3) not in set(passages.filter(part="train")["passage_id"])

    stages = home.load("stage_acceptance")
    assert stages.select("system", "stage").sort("system").rows() == [
        ("hybrid", "hybrid"),
        ("reordered", "reranked"),
        ("tiny_base", "base"),
        ("tiny_tuned", "tuned"),
    ]
    before = dict(stages.select("system", "before").iter_rows())
    values = dict(stages.select("system", "value").iter_rows())
    values["bm25"] = stages.filter(system="tiny_base")["before_value"].item()
    assert (before["tiny_base"], before["tiny_tuned"]) == ("bm25", "tiny_base")
    assert before["hybrid"] == max(("bm25", "tiny_tuned"), key=lambda system: values[system])
    assert before["reordered"] == max(("hybrid", "bm25", "tiny_tuned"), key=lambda system: values[system])
    assert set(stages.select("groups", "queries").rows()) == {(3, 24)}
    for row in stages.iter_rows(named=True):
        assert row["difference"] == pytest.approx(row["value"] - row["before_value"], abs=1e-9)
        assert row["accepted"] == (row["low"] > 0)
    red = stages.filter(~pl.col("accepted"))["system"].to_list()
    assert checks["every_stage_raises_validation"] == (not red)
    assert not home.blocks("every_stage_raises_validation")
    # No test figure is over a validation query, and no stage is accepted by a test query.
    assert not set(home.load("query_scores")["group_id"]) & {"d0-П", "d1-П", "d2-П"}

    # Nothing changed: nothing is trained again.
    weights = trained["weights_sha256"]
    again = home.run("mined_negatives", "training_examples", "models/tiny")
    (event,) = [e for e in again.get_asset_materialization_events() if e.asset_key.path[-2:] == ["models", "tiny"]]
    metadata = event.step_materialization_data.materialization.metadata
    assert metadata["reused"].value is True
    assert home.load("trained_models")["weights_sha256"].item() == weights
