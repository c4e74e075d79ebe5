"""``tendril publish`` over a finished toy home and a hub on 127.0.0.1: what it tells, sends and refuses."""

import json
import shutil
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from tendril_assets import cli_publish
from tendril_assets.assets import release as stage
from tendril_assets.assets import release_checks
from tendril_assets.assets.examples import exchange_files
from tendril_assets.assets.model_cards import model_inputs
from tendril_assets.assets.qrels import qrels_assets
from tendril_assets.assets.release import release_inputs
from tendril_assets.assets.release_checks import red_checks
from tendril_assets.cli import main
from tendril_assets.errors import DatabaseLocked
from tendril_assets.judging.systems import declared_system
from tendril_assets.release.manifest import read_manifest
from tendril_assets.release.model_folder import write_model
from tendril_assets.release.publish import ReleaseInputs, write_release
from tendril_assets.release.weights import read_weights_folder
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.job import data_hash
from tendril_assets_tests.release import outgoing_toy, toy, toy_models
from tendril_assets_tests.release.test_publish import unchecked
from tendril_assets_tests.resources import test_hub
from tendril_assets_tests.resources.hub_server import TOKEN
from tendril_assets_tests.resources.hub_server import Hub as Server
from tendril_assets_tests.resources.test_hub import published, tree_of
from tendril_assets_tests.training.toy import toy_exchange

client = test_hub.client
KEY = "a secret that is long enough for identifiers"


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        yield made


def resources(home: Path) -> tuple[Warehouse, Artifacts]:
    warehouse = Warehouse(database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"), wait_s=10)
    return warehouse, Artifacts(root=str(home / "artifacts"))


def settings(home: Path) -> Settings:
    landing = str(home.parent / "landing")
    return Settings.from_env(
        {"TENDRIL_HOME": str(home), "TENDRIL_LANDING": landing, "TENDRIL_HASH_KEY": KEY, "TENDRIL_WORKERS": "1"}
    )


def trained(home: Path, **changes) -> pl.DataFrame:
    """A finished training: kept weights, hand-over files, and the row that knows both."""
    _, artifacts = resources(home)
    exchange = toy_exchange()
    for part, path in exchange_files(toy.spec(), artifacts).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        getattr(exchange, part).write_parquet(path)
    kept = toy_models.weights_folder(artifacts.folder("toy", "models", "mini") / "kept")
    row = toy.trained_model(path=str(kept), data_hash=data_hash(exchange)) | changes
    return TABLES["trained_models"].frame([row])


def write_cards(home: Path, spec: CollectionSpec) -> None:
    inputs = model_inputs(*resources(home), spec, settings(home))
    kept = read_weights_folder(Path(inputs.trained["path"][0]))
    write_model(settings(home).release / "toy" / "models", "mini", inputs, kept)


def change(home: Path, **tables: pl.DataFrame) -> None:
    resources(home)[0].replace("toy", tables, "test")


@pytest.fixture(autouse=True, scope="module")
def few_checks() -> Iterator[None]:
    """Without the blocking checks of the graph, which take seconds and are looked at once; the others stay."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (stage, release_checks):
            patch.setattr(module, "red_checks", lambda *_: [])
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of one's own (no sandbox) with a finished release and model."""
    home = tmp_path_factory.mktemp("finished") / "home"
    home.mkdir()
    tables = {name: frame for name, frame in toy.tables().items() if name != "releases"}
    change(home, **(tables | {"trained_models": trained(home)}))
    warehouse, artifacts = resources(home)
    artifacts.write_frame("toy", "judge_in_use", pl.DataFrame({"system": [declared_system(toy.spec().judge).name]}))
    spec, made = outgoing_toy.spec(), settings(home)
    write_release(made.release / "toy", release_inputs(warehouse, artifacts, spec, made), unchecked)
    write_cards(home, spec)
    return home


@pytest.fixture
def home(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Path:
    """A copy of it, and a token for the hub."""
    from huggingface_hub import constants

    home = Path(shutil.copytree(finished, tmp_path / "home"))
    (tmp_path / "landing" / "toy").mkdir(parents=True)
    for name in ("TENDRIL_PROFILE", "GHEIM_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TENDRIL_HOME", str(home))
    monkeypatch.setenv("TENDRIL_LANDING", str(tmp_path / "landing"))
    monkeypatch.setenv("TENDRIL_HASH_KEY", KEY)
    monkeypatch.setenv("TENDRIL_WORKERS", "1")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(cli_publish, "collection_spec", lambda *_: outgoing_toy.spec())
    return home


@pytest.fixture(scope="module")
def known(finished: Path) -> ReleaseInputs:
    return release_inputs(*resources(finished), outgoing_toy.spec(), settings(finished))


@pytest.fixture
def read_once(known: ReleaseInputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of the release are not read again, where a test is about what comes after them."""
    monkeypatch.setattr(stage, "release_inputs", lambda *_: known)


def run(*options: str, code: int = 0) -> str:
    """What is printed; ``collection`` is never looked up."""
    result = result_of(*options)
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def result_of(*options: str) -> Result:
    return CliRunner().invoke(main, ["publish", *options], catch_exceptions=False)


@pytest.fixture(autouse=True)
def one_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich keeps the stream it was made with; the runner gives another one each time."""
    from rich.console import Console

    from tendril_assets import cli

    for module in (cli, cli_publish):
        monkeypatch.setattr(module, "console", Console(highlight=False, soft_wrap=True, width=300))


def test_a_dry_run_tells_everything_and_changes_nothing(home: Path, server: Server) -> None:
    before = {p: p.stat().st_mtime_ns for p in home.rglob("*") if p.is_file() and "release" in p.parts}
    text = run()
    folder = home / "release" / "toy" / "1.0.0"
    assert f"dataset {server.url}/datasets/Maker/toy-train" in text
    assert f"folder {folder}" in text
    assert "hub not there, or not to be seen with this token: it is made, private until all is there" in text
    assert "visibility public access gated: granted by itself once the conditions are accepted" in text
    assert "tag v1.0.0, to be set last" in text
    assert "never sent artifacts/, release/toy/models/, warehouse.duckdb" in text
    for name, sha256 in read_manifest(folder)["files"].items():
        assert f"+ new {name} {(folder / name).stat().st_size:,} {sha256}" in text
    assert "+ new manifest.json" in text
    assert text.endswith("Nothing was sent. Add --yes to send it.")
    assert {r.method for r in server.asked} == {"GET"}
    assert server.repos == {}
    assert {p: p.stat().st_mtime_ns for p in before} == before


def test_yes_sends_it_and_again_is_nothing(home: Path, server: Server) -> None:
    text = run("--yes")
    assert f"published {server.url}/datasets/Maker/toy-train/tree/v1.0.0" in text
    assert published(server, "v1.0.0") == tree_of(home / "release" / "toy" / "1.0.0")
    text = run("--yes")
    assert "tag v1.0.0, there, with this content: only settings are looked after" in text
    assert "the token may write" in text
    assert len(server.repo("Maker/toy-train").history()) == 2
    assert TOKEN not in text
    assert KEY not in text


@pytest.mark.usefixtures("read_once")
def test_for_machines(home: Path, server: Server) -> None:
    [told] = json.loads(result_of("--json").stdout)
    assert (told["repository"], told["tag"], told["sent"], told["refused"]) == ("Maker/toy-train", "v1.0.0", None, [])
    assert told["hub"] == {
        "exists": False,
        "commit": None,
        "private": None,
        "gate": None,
        "tags": {},
        "may_write": None,
    }
    assert {f["what"] for f in told["files"]} == {"new"}
    [told] = json.loads(result_of("--json", "--yes", "--private", "--gate", "manual").stdout)
    repo = server.repo("Maker/toy-train")
    assert (repo.private, repo.gate) == (True, "manual")
    assert told["sent"]["commit"] == repo.tags["v1.0.0"]


def test_models(home: Path, server: Server) -> None:
    text = run("--models", "--yes")
    assert published(server, "v1.0.0", "model", "Maker/Toy-mini") == tree_of(home / "release/toy/models/Toy-mini")
    assert "access open to everybody who sees the repository" in text
    assert "never sent artifacts/, release/toy/1.0.0/, warehouse.duckdb" in text
    assert list(server.repos) == [("model", "Maker/Toy-mini")]
    assert run("--model", "mini") != ""
    assert "there is no model maxi; there are: mini" in run("--model", "maxi", code=1)


def test_a_model_whose_folder_is_not_what_would_be_written(home: Path, server: Server) -> None:
    card = home / "release/toy/models/Toy-mini/README.md"
    card.write_text(card.read_text() + "\nBest model ever.\n")
    text = run("--models", "--yes", code=1)
    assert (
        "refused the folder is not what would be written now (README.md differs): materialise toy/model_cards" in text
    )
    assert text.endswith("not published model Maker/Toy-mini v1.0.0")
    assert text.count("README.md differs") == 1
    change(home, trained_models=trained(home, data_hash="f" * 64))
    assert "it was trained on data ffffffffffffffff" in run("--models", code=1)
    change(home, trained_models=TABLES["trained_models"].empty())
    assert "mini is not trained: materialise toy/trained_models" in run("--models", code=1)
    assert server.repos == {}


def test_a_model_trained_on_removed_passages_is_refused_by_name(home: Path, server: Server) -> None:
    rows = [("project", toy.group(10), "P-10", datetime(2026, 11, 30, 18))]
    change(home, erased_ids=TABLES["erased_ids"].frame(rows))
    text = run("--models", "--yes", code=1)
    assert (
        "refused mini was chosen by 8 passages removed since 2026-11-30: materialise toy/models/mini again, then "
        "toy/model_cards not published model Maker/Toy-mini v1.0.0" in text
    )
    assert text.count("refused") == 1
    # The erasing step took the hand-over files away: the removal is still the reason.
    for path in exchange_files(toy.spec(), resources(home)[1]).values():
        path.unlink()
    text = run("--models", code=1)
    assert (text.count("refused"), "refused mini was chosen by 8 passages removed since" in text) == (1, True)
    change(home, trained_models=trained(home))
    # As an earlier version of this product kept it: then nobody could tell.
    change(home, trained_passages=TABLES["trained_passages"].empty())
    assert "refused nothing says which passages mini was trained on" in run("--models", code=1)
    assert server.repos == {}


def test_red_checks_of_the_training_are_repeated_for_models(home: Path, server: Server, monkeypatch) -> None:
    monkeypatch.setattr(release_checks, "red_checks", red_checks)
    monkeypatch.setattr(release_checks, "checked_stages", lambda _: ())
    monkeypatch.setattr("tendril_assets.assets.training.read_results", lambda *_: {})
    change(home, trained_models=trained(home, reproduced_value=0.5))
    text = run("--models", "--yes", code=1)
    assert "refused a check is red: trained_models.kept_weights_give_the_best_value" in text
    assert server.repos == {}


def test_a_removal_that_no_run_has_carried_out(home: Path, server: Server) -> None:
    """It stands in the landing folder only, and what it names is still in the release and behind the model."""
    listed = home.parent / "landing" / "toy" / "removals.csv"
    listed.write_text(f"kind,id,reason,date\npassage,{toy.passage(1, 1, 1)},asked for,2026-11-30\n")
    for option in ((), ("--models",)):
        text = run("--yes", *option, code=1)
        assert f"refused {listed} has 1 new entry that no run has carried out (passage {toy.passage(1, 1, 1)})" in text
        assert "run tendril run toy_corpus, then make the release again" in text
    # A list may call a group by its collection's own word, and name pairs.
    listed.write_text("kind,id,reason,date\ncircular,17-a,asked for,2026-11-30\npair,q/p-1,asked for,2026-11-30\n")
    assert "has 2 new entries that no run has carried out (circular 17-a, pair q/p-1)" in run(code=1)
    with resources(home)[0].transaction("toy", "as a run lands it") as con:
        con.execute(
            "INSERT INTO removals VALUES ('project', '17-a', 'x', '2026-11-30'), ('pair', 'q/p-1', 'x', '2026-11-30')"
        )
    assert "Nothing was sent. Add --yes to send it." in run()
    with resources(home)[0].transaction("toy", "as it was") as con:
        con.execute("DELETE FROM removals WHERE id IN ('17-a', 'q/p-1')")
    listed.write_text("kind,id\n")
    assert "refused the checks cannot be repeated:" in run(code=1)
    shutil.rmtree(listed.parent)
    assert "so nobody can tell whether its removal list has new entries: set TENDRIL_LANDING" in run(code=1)
    assert server.repos == {}


def test_a_home_made_by_an_earlier_version(home: Path, server: Server) -> None:
    """A table that it did not write yet, and one with fewer columns."""
    with resources(home)[0].transaction("toy", "as an earlier version left it") as con:
        con.execute("DROP TABLE trained_passages")
        con.execute("ALTER TABLE qrels DROP COLUMN score")
    text = run(code=1)
    assert "refused the checks cannot be repeated: table qrels was written by an earlier version" in text
    text = run("--models", code=1)
    assert "refused the checks cannot be repeated:" in text
    assert server.repos == {}


def test_tags_of_models_hold_no_passages() -> None:
    result = result_of("--models", "--delete-tags", "--yes")
    assert (result.exit_code, "tags of models hold no passages" in result.output) == (2, True)


def test_a_licence_text_that_must_go_along_and_is_missing(home: Path, server: Server, monkeypatch) -> None:
    spec = outgoing_toy.spec()
    entry = spec.models["mini"].model_dump(mode="json") | {"licence": "MIT"}
    changed = spec.model_copy(update={"models": {"mini": type(spec.models["mini"]).model_validate(entry)}})
    monkeypatch.setattr(cli_publish, "collection_spec", lambda *_: changed)
    write_cards(home, changed)
    assert "refused the text of MIT is missing: put it" in run("--models", code=1)


def test_red_checks_are_repeated(home: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the graph, by name: grades that are no longer as they were judged. That all stages are asked is
    ``assets.test_release_checks``' matter."""
    monkeypatch.setattr(stage, "red_checks", lambda *given: red_checks(*given, stages=(qrels_assets,)))
    graded = toy.tables()["judgments"].with_columns(pl.lit(0, pl.Int8).alias("grade"))
    change(home, judgments=graded)
    text = run("--yes", code=1)
    assert "refused a check is red:" in text
    assert "blocking_check: " in text
    assert server.repos == {}


def test_a_removed_passage_in_the_corpus_is_a_red_check(home: Path, server: Server) -> None:
    entry = [("passage", toy.passage(1, 1, 1), "asked for", date(2026, 11, 30))]
    change(home, removals=TABLES["removals"].frame(entry))
    text = run("--yes", code=1)
    assert f"removed_passage: {toy.passage(1, 1, 1)}" in text
    assert server.repos == {}


def test_personal_data_in_the_corpus_is_a_red_check(home: Path, server: Server) -> None:
    corpus = toy.tables()["corpus"]
    text = (
        pl.when(pl.col("passage_id") == toy.passage(1, 1, 1))
        .then(pl.lit("Fragen an anna.muster@bsp.ch"))
        .otherwise("text")
    )
    change(home, corpus=corpus.with_columns(text.alias("text")))
    told = run(code=1)
    assert "a check is red:" in told
    assert "personal_data_" in told
    assert "anna.muster" not in told


def test_tables_that_moved_on_cannot_be_checked_for_an_old_release(home: Path, server: Server) -> None:
    queries = toy.tables()["queries"]
    other = pl.when(pl.col("query_id") == toy.query(0)).then(pl.lit("Eine andere Frage")).otherwise("text")
    change(home, queries=queries.with_columns(other.alias("text")))
    assert "refused the tables hold other rows than" in run("--yes", code=1)
    assert server.repos == {}


def test_another_secret_than_the_release_s(home: Path, server: Server, monkeypatch) -> None:
    monkeypatch.setenv("TENDRIL_HASH_KEY", "another secret that is long enough, too")
    assert "refused a check is red: " in run("--yes", code=1)
    monkeypatch.delenv("TENDRIL_HASH_KEY")
    assert "TENDRIL_HASH_KEY is not set" in run("--yes", code=1)
    assert server.repos == {}


@pytest.mark.usefixtures("read_once")
def test_the_sandbox_is_refused_by_its_settings_too(home: Path, server: Server, monkeypatch) -> None:
    monkeypatch.setenv("TENDRIL_PROFILE", "sandbox")
    for option in ("--yes", "--models"):
        text = run(option, code=1)
        assert "refused sandbox: the settings are those of the sample" in text
    assert server.repos == {}


@pytest.mark.usefixtures("read_once")
def test_without_a_token_nothing_is_sent_and_a_dry_run_says_what_it_can(
    home: Path, server: Server, monkeypatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(cli_publish, "stored_token", lambda: None)
    monkeypatch.setattr("tendril_assets.resources.hub.stored_token", lambda: None)
    assert "it is made, private until all is there" in run()
    assert "SettingsError: there is no token for the hub" in run("--yes", code=1)
    assert all(r.authorization is None for r in server.asked)


@pytest.mark.usefixtures("read_once")
def test_a_hub_that_cannot_be_asked(home: Path, server: Server, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    server.add("Maker/toy-train", {})
    for options in ((), ("--yes",)):
        text = run(*options, code=1)
        assert "hub not asked" in text
        assert "refused the hub could not be asked: look at dataset Maker/toy-train: the hub answered 401" in text
        assert "? unknown README.md" in text
    [told] = json.loads(result_of("--json", "--yes").stdout)
    assert (told["hub"], told["sent"]) == (None, None)
    assert {f["what"] for f in told["files"]} == {"unknown"}
    assert (told["is_published"], told["bytes_to_send"], told["tags_with_removed_passages"]) == (None, None, None)
    assert "401" in told["refused"][0]


@pytest.mark.usefixtures("read_once")
def test_without_an_organisation_there_is_no_address(home: Path, server: Server, monkeypatch) -> None:
    spec = outgoing_toy.spec()
    release = spec.release.model_copy(update={"organisation": None})
    monkeypatch.setattr(cli_publish, "collection_spec", lambda *_: spec.model_copy(update={"release": release}))
    [told] = json.loads(result_of("--json").stdout)
    assert (told["url"], told["hub"], told["repository"]) == (None, None, "toy-train")
    assert {f["what"] for f in told["files"]} == {"unknown"}
    assert f"{server.url}/datasets" not in run(code=1)


def test_a_withdrawn_version_is_refused_as_that_alone(home: Path, server: Server) -> None:
    """With its tables moved on, as an erasing run leaves them."""
    from tendril_assets.corpus.erasure import Removed
    from tendril_assets.release.withdrawing import withdraw

    gone = Removed(passages=frozenset({toy.passage(1, 1, 1)}), documents=frozenset(), groups=frozenset())
    withdraw(home / "release" / "toy", gone, datetime(2026, 11, 30, 12))
    text = run("--yes", code=1)
    assert "refused it was withdrawn on 2026-11-30" in text
    assert text.count("refused") == 1
    assert server.repos == {}


@pytest.mark.usefixtures("read_once")
def test_offline_is_told(home: Path, monkeypatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "the hub could not be asked: look at dataset Maker/toy-train" in run(code=1)


def test_a_warehouse_in_use_is_told_and_nothing_sent(home: Path, server: Server, monkeypatch) -> None:
    def locked(*_: object) -> None:
        raise DatabaseLocked("the warehouse is held by process 7", pid=7)

    monkeypatch.setattr("tendril_assets.assets.release.release_inputs", locked)
    assert "DatabaseLocked: the warehouse is held by process 7" in run("--yes", code=1)
    assert server.repos == {}


def test_no_warehouse_no_publishing(home: Path, server: Server) -> None:
    (home / "warehouse.duckdb").unlink()
    for option in ("--yes", "--models"):
        assert "so no check can be repeated: publish where it was made" in run(option, code=1)
    assert server.repos == {}


@pytest.mark.usefixtures("read_once")
def test_tags_of_withdrawn_versions(home: Path, server: Server) -> None:
    """They go with --yes alone, even where the new version cannot be sent yet."""
    from tendril_assets.corpus.erasure import Removed
    from tendril_assets.release.withdrawing import withdraw

    run("--yes")
    gone = Removed(passages=frozenset({toy.passage(1, 1, 1)}), documents=frozenset(), groups=frozenset())
    withdraw(home / "release" / "toy", gone, datetime(2026, 11, 30, 12))
    text = run("--delete-tags", code=1)
    assert "old tag v1.0.0 still holds 1 removed passage: to be taken off with --yes" in text
    assert "main, which everybody gets who names no version, is still 1.0.0: until a later version is sent" in text
    assert "its commit stays in the history of main" in text
    assert "refused it was withdrawn on 2026-11-30" in text
    # Not that its notice has no front matter, nor that its tag has what was published.
    assert text.count("refused") == 1
    assert "kept; --delete-tags takes it off" in run("--yes", code=1)
    assert list(server.repo("Maker/toy-train").tags) == ["v1.0.0"]
    assert "tag v1.0.0 taken off Maker/toy-train" in run("--yes", "--delete-tags", code=1)
    assert server.repo("Maker/toy-train").tags == {}
