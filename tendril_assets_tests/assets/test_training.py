"""Splits, leakage, examples, a tiny model and its result, through Dagster on a temporary warehouse."""

import json
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets import training_process
from tendril_assets.assets.common import asset_key
from tendril_assets.assets.duplicates import duplicate_assets
from tendril_assets.assets.examples import examples_assets
from tendril_assets.assets.splits import splits_assets
from tendril_assets.assets.training import read_results, training_assets, training_job
from tendril_assets.errors import TrainingError
from tendril_assets.qrels.splits import VALIDATION, assign_splits, groups_of
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec, SplitSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.display import told
from tendril_assets.training.standing import FINISHED, read_standing
from tendril_assets_tests.training.toy import DIMENSIONS, SUBSETS, tiny_encoder

GROUPS = [f"g{number}" for number in range(10)]
# One of the ten is held out. The test plants a repeated passage in the first of the others.
HELD_OUT = groups_of(assign_splits(GROUPS, SplitSpec(policy="exact"), seed=42), VALIDATION)[0]
TRAINED = next(group for group in GROUPS if group != HELD_OUT)
LEAK = "w16 w24 w32 gemeinsamer baustein steht ueberall gleich"
INDEX = ("passage_texts", "similar_texts")
TEST_LEAK = "w17 w25 w33 auch dieser satz steht in der pruefmenge"


def spec_of(encoder: Path | None) -> CollectionSpec:
    model = {
        "base": str(encoder),
        "dimensions": DIMENSIONS,
        "max_length": 32,
        "batch": 4,
        "query_prompt": "query: ",
        "licence": "MIT",
    }
    return CollectionSpec.model_validate(
        {
            "collection": "toy",
            "group": "project",
            "subsets": list(SUBSETS),
            "queries": {"summary": {"model": "toy/writer"}},
            "judge": {"llm": {"model": "toy/judge"}},
            "splits": {"policy": "exact"},
            "training": {"learning_rate": 5e-3, "effective_batch": 8, "evaluate_every": 4, "max_epochs": 1},
            "models": {"tiny": model} if encoder else {},
            "release": {"name": "toy", "version": "0.1.0", "title": "Toy", "licence_name": "none"},
        }
    )


def landed() -> dict[str, pl.DataFrame]:
    """Ten groups of 16 passages in two documents, each judged for four of eight queries; two passages leak."""
    corpus, qrels = [], []
    for index, group in enumerate(GROUPS):
        for topic in range(8):
            for variant in (0, 1):
                passage = f"{group}-{topic}-{variant}"
                text = f"w{16 + topic} w{24 + variant} w{32 + topic} {group} {group}{variant} {group}{topic}"
                if topic == variant == 0 and group in (HELD_OUT, TRAINED):
                    text = LEAK
                if (topic, variant) == (1, 0) and group == TRAINED:
                    text = TEST_LEAK
                corpus.append((passage, text, group, f"{group}-d{variant}", 1))
                for query in ((index + k) % 8 for k in range(4)):
                    qrels.append((f"q{query}", passage, group, 2 if query == topic else 0))
    queries = [(f"q{t}", f"w{t} w{t + 8}", SUBSETS[t % 2], "cat", "area") for t in range(8)]
    rows = {
        "corpus": corpus,
        "qrels": qrels,
        "queries": queries,
        "test_corpus": [("x1", TEST_LEAK, "t1", None, None), ("x2", "w1 w2 w3 w4 w5 w6", "t1", None, None)],
        "sampled_projects": [(f"project-{group}", group, rank) for rank, group in enumerate(GROUPS)],
        "test_projects": [("project-t1",)],
    }
    return {name: TABLES[name].frame(table) for name, table in rows.items()}


class Home:
    def __init__(self, folder: Path, spec: CollectionSpec) -> None:
        self.spec = spec
        self.warehouse = Warehouse(database=str(folder / "w.duckdb"), snapshot=str(folder / "s.duckdb"))
        self.artifacts = Artifacts(root=str(folder / "artifacts"))
        self.warehouse.replace("toy", landed(), purpose="test")

    def materialise(self, *names: str, **options: bool) -> dg.ExecuteInProcessResult:
        stages = [
            duplicate_assets(self.spec),
            splits_assets(self.spec),
            examples_assets(self.spec),
            training_assets(self.spec),
        ]
        chosen = dg.AssetSelection.assets(*(asset_key(self.spec, name) for name in names)) if names else None
        chosen = chosen.required_multi_asset_neighbors() if chosen else None
        return dg.materialize(
            [*(asset for stage in stages for asset in stage.assets), *(c for stage in stages for c in stage.checks)],
            resources={"warehouse": self.warehouse, "artifacts": self.artifacts},
            selection=chosen,
            **options,
        )

    def load(self, table: str) -> pl.DataFrame:
        return self.warehouse.load("toy", table)


def checks_of(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {check.check_name: check.passed for check in result.get_asset_check_evaluations()}


def test_whole_stage_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    home = Home(tmp_path, spec_of(tiny_encoder(tmp_path / "encoder")))
    result = home.materialise()
    assert result.success
    checks = checks_of(result)
    assert {name for name, passed in checks.items() if passed} >= {
        "each_group_in_one_split",
        "every_positive_accounted",
        "kept_weights_give_the_best_value",
        "levels_balanced",
        "no_leak_in_training",
        "no_test_group_in_splits",
        "only_training_groups",
        "trained_on_present_examples",
        "validation_holds_every_level",
        "weights_as_trained",
    }

    assert groups_of(home.load("splits"), VALIDATION) == [HELD_OUT]
    leakage = home.load("leakage")
    assert set(leakage.select("passage_id", "cause", "cause_set").rows()) == {
        (f"{TRAINED}-0-0", f"{HELD_OUT}-0-0", "validation"),
        (f"{TRAINED}-1-0", "x1", "test"),
    }
    examples = home.load("training_examples")
    # 9 groups x 4 queries x 2 positives; the leaking ones count where their topic was asked for.
    assert examples.height == 72
    assert HELD_OUT not in set(examples["group_id"])
    assert not set(examples.filter("used")["positive_id"]) & set(leakage["passage_id"])

    trained = home.load("trained_models").row(0, named=True)
    passages = home.load("trained_passages")
    assert set(passages["weights_sha256"]) == {trained["weights_sha256"]}
    used = examples.filter("used")
    assert set(passages.filter(part="train")["passage_id"]) == {*used["positive_id"], *used["negative_ids"].explode()}
    held_out = home.load("corpus").filter(pl.col("group_id") == HELD_OUT)
    assert set(passages.filter(part="validation")["passage_id"]) == set(held_out["passage_id"])
    assert checks["not_trained_on_removed_passages"]
    curve = home.load("learning_curves")
    balanced = curve.filter(pl.col("measure") == "balanced_ndcg@10").sort("step")
    assert trained["best_value"] == balanced["value"].max()
    assert trained["base_value"] == balanced["value"][0]
    assert trained["examples"] == examples.filter("used").height
    assert json.loads(trained["versions"])["torch"]
    assert (Path(trained["path"]) / "model.safetensors").is_file()
    (event,) = [e for e in result.get_asset_materialization_events() if e.asset_key.path[-2:] == ["models", "tiny"]]
    metadata = event.step_materialization_data.materialization.metadata
    assert metadata["best_step"].value == trained["best_step"]

    # Weights that give another value stop what follows; measured elsewhere, they earn a warning.
    assert trained["reproduced_value"] == trained["best_value"]
    kept = {next(iter(c.check_specs)).name: c for c in training_assets(home.spec).checks}[
        "kept_weights_give_the_best_value"
    ]
    assert next(iter(kept.check_specs)).blocking
    for measured_on, severity in (
        (trained["best_measured_on"], dg.AssetCheckSeverity.ERROR),
        ("another machine", dg.AssetCheckSeverity.WARN),
    ):
        row = trained | {"reproduced_value": trained["best_value"] - 0.3, "best_measured_on": measured_on}
        home.warehouse.replace("toy", {"trained_models": TABLES["trained_models"].frame([row])}, purpose="test")
        found = kept(warehouse=home.warehouse)
        assert (found.passed, found.severity) == (False, severity)
        assert "3.0e-01 apart" in found.metadata["tiny"].value
    home.warehouse.replace("toy", {"trained_models": TABLES["trained_models"].frame([trained])}, purpose="test")

    # The progress file says how it ended.
    folder = home.artifacts.folder("toy", "models", "tiny")
    standing = read_standing(folder)
    assert (standing.state, standing.step, standing.best_step) == (FINISHED, trained["steps"], trained["best_step"])
    assert "toy/models/tiny is trained (" in told(standing, "toy")

    # Nothing changed: the model is found done without another process, its result file untouched.
    before = (folder / "result.json").stat().st_mtime_ns
    with monkeypatch.context() as no_process:
        no_process.setattr(training_process.subprocess, "Popen", None)
        again = home.materialise("models/tiny")
    assert again.success
    (event,) = again.get_asset_materialization_events()
    assert event.step_materialization_data.materialization.metadata["reused"].value is True
    assert (folder / "result.json").stat().st_mtime_ns == before
    assert read_standing(folder) == standing

    # New examples make the old model stale, and the check says so.
    exchange = home.artifacts.read_frame("toy", "training_train")
    home.artifacts.write_frame("toy", "training_train", exchange.head(8))
    stale = home.materialise("trained_models", "learning_curves", raise_on_error=False)
    assert checks_of(stale)["trained_on_present_examples"] is False

    # Weights that are not those of the result are seen as well.
    weights = folder / "kept" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\1")
    harmed = home.materialise("trained_models", "learning_curves", raise_on_error=False)
    assert checks_of(harmed)["weights_as_trained"] is False

    # And the model is not trained again because of them, before somebody says so.
    home.artifacts.write_frame("toy", "training_train", exchange)
    touched = home.materialise("models/tiny", raise_on_error=False)
    assert not touched.success
    (failure,) = [event for event in touched.all_events if event.is_step_failure]
    assert "was changed or is gone since training left it" in str(failure.step_failure_data)


def test_leak_left_in_training_blocks(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of(None))
    assert home.materialise(*INDEX, "splits", "split_sizes", "leakage", "training_examples").success
    used = home.load("training_examples").filter("used")
    planted = [(used["negative_ids"][0][1], "train", "x1", "test", 1.0, 1)]
    home.warehouse.replace("toy", {"leakage": TABLES["leakage"].frame(planted)}, purpose="test")
    checks = {next(iter(check.check_specs)).name: check for check in examples_assets(home.spec).checks}
    check = checks["no_leak_in_training"]
    assert next(iter(check.check_specs)).blocking
    assert check(warehouse=home.warehouse).passed is False


def test_a_collection_without_models_needs_no_validation_set(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of(None))
    assert home.materialise().success
    assert home.load("trained_models").is_empty()
    assert not home.artifacts.exchange("toy", "training_train").exists()


def test_a_level_without_relevant_validation_passage_stops_before_training(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of(tmp_path / "no encoder is needed for this"))
    qrels = home.load("qrels")
    criteria = home.load("queries").filter(pl.col("level") == "criterion")["query_id"].to_list()
    flat = qrels.with_columns(
        score=pl.when((pl.col("group_id") == HELD_OUT) & pl.col("query_id").is_in(criteria))
        .then(pl.lit(0, pl.Int8))
        .otherwise(pl.col("score"))
    )
    home.warehouse.replace("toy", {"qrels": flat}, purpose="test")
    names = (*INDEX, "splits", "split_sizes", "leakage", "training_examples")
    result = home.materialise(*names, raise_on_error=False)
    assert not result.success
    (failed,) = [check for check in result.get_asset_check_evaluations() if not check.passed]
    assert failed.check_name == "validation_holds_every_level"
    assert failed.description is not None
    assert failed.description.startswith("criterion: 0 validation groups have a query with a relevant passage")
    assert not home.warehouse.exists("toy", "training_examples")
    # Materialised by itself, without the checks before it, the step refuses too.
    assert home.materialise("leakage").success
    home.artifacts.write_frame("toy", "training_train", pl.DataFrame({"of": ["former examples"]}))
    with pytest.raises(TrainingError, match="criterion"):
        home.materialise("training_examples")
    # The table that explains is there, and nothing to train on by mistake.
    assert home.load("training_examples").height == 72
    assert not home.artifacts.exchange("toy", "training_train").exists()


def test_a_project_of_the_test_collection_blocks(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of(None))
    listed = TABLES["test_projects"].frame([(f"project-{TRAINED}",)])
    home.warehouse.replace("toy", {"test_projects": listed}, purpose="test")
    result = home.materialise(*INDEX, "splits", "split_sizes", "leakage", raise_on_error=False)
    (failed,) = [check for check in result.get_asset_check_evaluations() if not check.passed]
    assert (failed.check_name, failed.severity) == ("no_test_group_in_splits", dg.AssetCheckSeverity.ERROR)
    assert TRAINED in str(failed.metadata["groups"].value)
    assert not home.warehouse.exists("toy", "leakage")


def test_examples_that_do_not_add_up_block(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of(None))
    assert home.materialise(*INDEX, "splits", "split_sizes", "leakage", "training_examples").success
    checks = {next(iter(check.check_specs)).name: check for check in examples_assets(home.spec).checks}
    accounted = checks["every_positive_accounted"]
    assert next(iter(accounted.check_specs)).blocking
    examples = home.load("training_examples")
    assert accounted(warehouse=home.warehouse).metadata["positives"].value == examples.height
    home.warehouse.replace("toy", {"training_examples": examples[1:]}, purpose="test")
    result = accounted(warehouse=home.warehouse)
    assert result.passed is False
    assert examples["positive_id"][0] in str(result.metadata["unaccounted"].value)


def test_a_grade_that_does_not_fit_its_place_blocks(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of(None))
    assert home.materialise(*INDEX, "splits", "split_sizes", "leakage", "training_examples").success
    check = {next(iter(c.check_specs)).name: c for c in examples_assets(home.spec).checks}["grades_as_judged"]
    assert next(iter(check.check_specs)).blocking
    assert check(warehouse=home.warehouse).passed
    used = home.load("training_examples").filter("used").row(0, named=True)
    negative = (pl.col("query_id") == used["query_id"]) & (pl.col("passage_id") == used["negative_ids"][0])
    home.warehouse.replace("toy", {"qrels": home.load("qrels").filter(~negative)}, purpose="test")
    result = check(warehouse=home.warehouse)
    assert result.passed is False
    assert used["negative_ids"][0] in str(result.metadata["first"].value)


def test_a_missing_result_names_the_asset(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of(tmp_path))
    with pytest.raises(TrainingError, match="toy/models/tiny"):
        read_results(home.spec, home.artifacts)


def test_job_of_a_model_points_at_the_exchange_files(tmp_path: Path) -> None:
    home = Home(tmp_path, spec_of(tmp_path))
    job = training_job(home.spec, home.artifacts, "tiny")
    assert job.folder == tmp_path / "artifacts" / "toy" / "models" / "tiny"
    assert {path.name for path in job.exchange.values()} == {
        "training_train.parquet",
        "training_corpus.parquet",
        "training_queries.parquet",
        "training_qrels.parquet",
    }
    assert (job.subsets, job.seed, job.reach) == (SUBSETS, 42, "group")
