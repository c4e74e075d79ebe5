"""The release stage over toy tables: folder, table, cards, page, snapshot; and what a red check stops."""

import json
import shutil
from pathlib import Path

import dagster as dg
import duckdb
import polars as pl
import pytest

from tendril_assets.assets.examples import exchange_files
from tendril_assets.assets.release import release_assets, release_inputs
from tendril_assets.errors import ExportInvariantError, IncompleteJudgments, WarehouseError
from tendril_assets.judging.systems import declared_system
from tendril_assets.release import verify
from tendril_assets.release.huggingface import read_configs
from tendril_assets.release.manifest import file_hashes, read_manifest
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES
from tendril_assets.training.job import data_hash
from tendril_assets_tests.release import toy, toy_models
from tendril_assets_tests.training.toy import toy_exchange

STEPS = ("releases", "model_cards", "report", "snapshot")


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """A home whose warehouse holds the toy tables, but for the one of releases; copied, never run on."""
    path = tmp_path_factory.mktemp("finished")
    before = {name: frame for name, frame in toy.tables().items() if name != "releases"}
    before["trained_models"] = TABLES["trained_models"].frame([trained(path)])
    _resources(path)["warehouse"].replace("toy", before, "test")
    planned_for(path, declared_system(toy.spec().judge).name)
    return path


def counted(folder: Path) -> dict[str, int]:
    """Stands for loading with ``datasets``, which takes seconds and has tests of its own."""
    rows = {config.name: config.rows for config in read_configs(folder)}
    return rows | {"default": rows["qrels"]}


@pytest.fixture
def home(finished: Path, tmp_path, monkeypatch) -> Path:
    """A sandbox home of its own with what is in ``finished``."""
    for name in ("TENDRIL_LANDING", "TENDRIL_PROFILE", "TENDRIL_HASH_KEY", "GHEIM_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    monkeypatch.setattr(verify, "loaded_rows", counted)
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


def trained(home: Path, **changes) -> dict:
    """A finished training: kept weights, hand-over files, and the row that knows both."""
    artifacts, exchange = _resources(home)["artifacts"], toy_exchange()
    for part, path in exchange_files(toy.spec(), artifacts).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        getattr(exchange, part).write_parquet(path)
    kept = toy_models.weights_folder(artifacts.folder("toy", "models", "mini") / "kept")
    return toy.trained_model(path=str(kept), data_hash=data_hash(exchange)) | changes


def planned_for(home: Path, system: str) -> None:
    """As the step that plans the requests leaves it."""
    _resources(home)["artifacts"].write_frame("toy", "judge_in_use", pl.DataFrame({"system": [system]}))


def _resources(home: Path) -> dict:
    return {
        "warehouse": Warehouse(
            database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"), wait_s=10
        ),
        "artifacts": Artifacts(root=str(home / "artifacts")),
    }


def run(home: Path, *steps: str, spec=None, raise_on_error: bool = True) -> dg.ExecuteInProcessResult:
    chosen = spec or toy.spec()
    stage = release_assets(chosen)
    return dg.materialize(
        [*stage.assets, *stage.checks],
        selection=dg.AssetSelection.assets(*(["toy", s] for s in steps or STEPS)),
        resources=_resources(home),
        instance=dg.DagsterInstance.ephemeral(),
        raise_on_error=raise_on_error,
    )


def add(home: Path, name: str, *rows: tuple) -> None:
    frame = pl.concat([toy.tables()[name], TABLES[name].frame(list(rows))])
    _resources(home)["warehouse"].replace("toy", {name: frame}, "test")


def metadata(result: dg.ExecuteInProcessResult, step: str) -> dict:
    event = next(e for e in result.get_asset_materialization_events() if e.asset_key == dg.AssetKey(["toy", step]))
    return {k: v.value for k, v in event.materialization.metadata.items()}


def test_everything_that_leaves_the_warehouse(home) -> None:
    result = run(home)
    folder = home / "release" / "toy" / "1.0.0"
    assert read_manifest(folder)["sandbox"] is True
    assert metadata(result, "releases")["outcome"] == "written"
    row = _resources(home)["warehouse"].load("toy", "releases").row(0, named=True)
    assert (row["version"], row["path"], row["sandbox"]) == ("1.0.0", str(folder), True)
    assert (row["corpus_rows"], row["query_rows"], row["qrel_rows"]) == (80, 8, 240)
    assert row["content_hash"] == read_manifest(folder)["content_hash"]
    assert (home / "reports" / "toy.html").read_text().startswith("<!doctype html>")
    assert "| mini, fine-tuned |" in metadata(result, "report")["systems"]
    model = home / "release" / "toy" / "models" / "toy-train-mini"
    assert "# toy-train mini" in (model / "README.md").read_text()
    assert (model / "model.safetensors").read_bytes() == toy.WEIGHTS
    assert "| mini | written |" in metadata(result, "model_cards")["models"]
    with duckdb.connect(str(home / "snapshot.duckdb"), read_only=True) as con:
        assert con.sql("SELECT count(*) FROM toy.corpus").fetchone() == (80,)
        assert con.sql("SELECT count(*) FROM toy.drops_by_reason").fetchone() == (3,)
        assert con.sql("SELECT version FROM toy.releases").fetchall() == [("1.0.0",)]
    [check] = result.get_asset_check_evaluations()
    assert check.passed


def test_a_second_run_leaves_the_release_and_its_row_alone(home) -> None:
    run(home, "releases")
    former = _resources(home)["warehouse"].load("toy", "releases")
    result = run(home, "releases")
    assert metadata(result, "releases")["outcome"] == "unchanged"
    assert _resources(home)["warehouse"].load("toy", "releases").equals(former)


def test_a_second_run_leaves_the_models_alone(home) -> None:
    run(home, "model_cards")
    assert "| mini | unchanged |" in metadata(run(home, "model_cards"), "model_cards")["models"]


def test_a_model_of_other_data_gets_no_card(home) -> None:
    row = trained(home, data_hash="f" * 64)
    _resources(home)["warehouse"].replace("toy", {"trained_models": TABLES["trained_models"].frame([row])}, "test")
    with pytest.raises(ExportInvariantError, match="no card for model mini: it was trained on data ffffffffffffffff"):
        run(home, "model_cards")
    assert not (home / "release" / "toy" / "models").exists()


def test_a_refused_card_stops_no_other_model_and_all_refusals_are_named(home) -> None:
    """Of four models two are refused; one was never trained. ``mini`` was published under another name before."""
    run(home, "model_cards")
    entry = toy.spec().models["mini"].model_dump(mode="json")
    names = {"mini": {"name": "renamed", "title": "Renamed"}}
    release = toy.spec().release.model_dump() | {"models": names}
    spec = toy.spec(models=dict.fromkeys(("mini", "first", "last", "later"), entry), release=release)
    refused = [trained(home, model=model, data_hash="f" * 64) for model in ("first", "last")]
    rows = TABLES["trained_models"].frame([*refused, trained(home), trained(home, model="gone")])
    _resources(home)["warehouse"].replace("toy", {"trained_models": rows}, "test")
    with pytest.raises(ExportInvariantError, match=r"no card for model first(.|\n)*no card for model last"):
        run(home, "model_cards", spec=spec)
    assert (home / "release" / "toy" / "models" / "renamed" / "README.md").is_file()

    _resources(home)["warehouse"].replace("toy", {"trained_models": rows[2:]}, "test")
    told = metadata(run(home, "model_cards", spec=spec), "model_cards")
    assert told["not trained"] == "first, last, later"
    assert told["not in the specification"] == "gone"
    assert told["other folders"] == "toy-train-mini"


def test_refused_cards_do_not_keep_the_snapshot_from_analysts(home) -> None:
    row = trained(home, data_hash="f" * 64)
    _resources(home)["warehouse"].replace("toy", {"trained_models": TABLES["trained_models"].frame([row])}, "test")
    assert not run(home, raise_on_error=False).success
    assert (home / "snapshot.duckdb").exists()


def test_a_card_names_the_release_while_it_holds_the_present_data(home) -> None:
    card = home / "release" / "toy" / "models" / "toy-train-mini" / "README.md"
    run(home, "model_cards")
    assert "toy-train, version 1.0.0" not in card.read_text()
    run(home, "releases", "model_cards")
    assert "the LLM-judged data of toy-train, version 1.0.0" in card.read_text()
    other = toy.tables()["corpus"].with_columns(text=pl.col("text") + " Neu.")
    _resources(home)["warehouse"].replace("toy", {"corpus": other}, "test")
    run(home, "model_cards")
    assert "toy-train, version 1.0.0" not in card.read_text()


def test_the_snapshot_names_what_an_earlier_version_wrote(home) -> None:
    with duckdb.connect(str(home / "warehouse.duckdb")) as con:
        con.execute("ALTER TABLE toy.leakage DROP COLUMN split")
    told = metadata(run(home, "snapshot"), "snapshot")
    assert told["tables left out"] == "toy.leakage"
    assert told["views left out"] == "toy.negatives_by_reason, toy.unused_positives"


def test_a_collection_without_models_needs_no_hand_over_files(home) -> None:
    for path in exchange_files(toy.spec(), _resources(home)["artifacts"]).values():
        path.unlink()
    assert metadata(run(home, "model_cards", spec=toy.spec(models={})), "model_cards")["models"] == "none"


REFUSED = {"leakage": "no_leak_in_training", "removals": "removed_passage", "restricted_projects": "restricted"}
RED = {
    "leakage": (toy.passage(2, 1, 2), "train", toy.passage(10, 1, 1), "validation", 0.9, 1),
    "removals": ("passage", toy.passage(3, 1, 1), "asked for", toy.date(2026, 11, 1)),
    "restricted_projects": ("P-2", "doc1.pdf", 1, "de", "offer_only", "Nur für die Offerte."),
}


def test_materialising_the_release_alone_does_not_get_round_a_red_check(home) -> None:
    run(home, "releases")
    folder = home / "release" / "toy" / "1.0.0"
    before = file_hashes(folder)
    for table, row in RED.items():
        add(home, table, row)
        with pytest.raises(ExportInvariantError, match=REFUSED[table]):
            run(home, "releases")
        assert file_hashes(folder) == before
        assert [p.name for p in folder.parent.iterdir()] == ["1.0.0"]
        add(home, table)


def test_residual_personal_data_stops_the_release_without_quoting_it(home) -> None:
    warehouse = _resources(home)["warehouse"]
    first = pl.col("passage_id") == toy.passage(1, 1, 1)
    text = pl.when(first).then(pl.lit("Fragen an anna.muster@example.ch")).otherwise("text").alias("text")
    warehouse.replace("toy", {"corpus": toy.tables()["corpus"].with_columns(text)}, "test")
    with pytest.raises(ExportInvariantError, match="personal_data_private_email") as caught:
        run(home, "releases")
    assert toy.passage(1, 1, 1) in str(caught.value)
    assert "anna" not in str(caught.value)


def test_open_requests_stop_the_release(home) -> None:
    calls = toy.tables()["judge_calls"]
    waiting = calls.with_columns(
        pl.when(pl.col("sequence") < 2).then(pl.lit("error")).otherwise("status").alias("status")
    )
    _resources(home)["warehouse"].replace("toy", {"judge_calls": waiting}, "test")
    with pytest.raises(IncompleteJudgments) as caught:
        run(home, "releases")
    assert caught.value.n_open == 2
    assert not (home / "release").exists()


def test_a_judge_other_than_the_one_that_graded_stops_the_release(home) -> None:
    planned_for(home, "maker/judge-1 low de_long")
    with pytest.raises(ExportInvariantError, match="the requests were planned for maker/judge-1 low de_long"):
        run(home, "releases")
    assert not (home / "release").exists()


def test_a_red_release_does_not_stop_the_report(home) -> None:
    add(home, "leakage", RED["leakage"])
    result = run(home, raise_on_error=False)
    assert not result.success
    done = {e.asset_key.path[-1] for e in result.get_asset_materialization_events()}
    # A card names the release that holds its data, so it waits for one; alone it goes without.
    assert done == {"report"}
    assert run(home, "model_cards").success
    assert not (home / "snapshot.duckdb").exists()


def test_a_changed_release_file_fails_the_check(home) -> None:
    run(home, "releases")
    (home / "release" / "toy" / "1.0.0" / "LICENSE.md").write_text("public domain")
    stage = release_assets(toy.spec())
    [check] = stage.checks
    result = check(_resources(home)["warehouse"])
    assert not result.passed
    assert result.metadata["damaged"].value == {"1.0.0": ["LICENSE.md"]}

    # Neither a manifest that fits other files nor one that cannot be read passes for the one that was written.
    path = home / "release" / "toy" / "1.0.0" / "manifest.json"
    manifest = json.loads(path.read_text()) | {"content_hash": "0" * 64}
    for text, found in ((json.dumps(manifest), ["manifest.json", "LICENSE.md"]), ("{", ["manifest.json"])):
        path.write_text(text)
        assert check(_resources(home)["warehouse"]).metadata["damaged"].value == {"1.0.0": found}


def test_all_of_a_release_is_of_one_state_and_the_warehouse_is_opened_once_for_it(home, monkeypatch) -> None:
    opened = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *args, **options: opened.append(args) or connect(*args, **options))
    resources = _resources(home)
    inputs = release_inputs(*resources.values(), toy.spec(), Settings.from_env())
    assert inputs.breaches == []
    assert len(opened) == 2  # the other one is for personal data, which may take long, before the warehouse is held
    with resources["warehouse"].one_state("test"), pytest.raises(WarehouseError, match="already has"):
        resources["warehouse"].meta_set("toy", "name", "value")
    resources["warehouse"].meta_set("toy", "name", "value")
