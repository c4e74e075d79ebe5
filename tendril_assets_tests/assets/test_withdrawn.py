"""After a removal: the table of releases, and models trained on what is gone, until they are trained again."""

import re
import shutil
from datetime import datetime
from functools import partial

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets import model_cards, release, trained_passages
from tendril_assets.assets.released import (
    former_releases,
    known_withdrawals,
    passages_of_releases,
    with_release,
)
from tendril_assets.assets.stale_models import mark_stale_models, stale_models, stale_models_check, stale_systems
from tendril_assets.corpus.erasure import Removed
from tendril_assets.errors import ExportInvariantError, TrainingError
from tendril_assets.release.model_stale import is_marked, mark
from tendril_assets.release.publish import Release, write_release
from tendril_assets.release.withdrawing import withdraw
from tendril_assets.release.withdrawn import Withdrawal
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets import test_release
from tendril_assets_tests.assets.test_release import metadata, run
from tendril_assets_tests.release import toy

NOW = datetime(2026, 11, 30, 18, 0)
GONE = Removed(frozenset([toy.group(10)]), frozenset(), frozenset())
finished, home = test_release.finished, test_release.home


def warehouse(home):
    return test_release._resources(home)["warehouse"]


def version(number: str):
    return toy.spec(release=toy.spec().release.model_dump() | {"version": number})


def erase_ids(home, *ids: tuple[str, str]) -> None:
    """As the erasing step notes them."""
    rows = [(kind, i, "an entry of the list", datetime(2026, 11, 30, 18, 0)) for kind, i in ids]
    warehouse(home).replace("toy", {"erased_ids": TABLES["erased_ids"].frame(rows)}, "test")


def check(home):
    return stale_models_check(toy.spec(), trained_passages.TABLE)(warehouse=warehouse(home))


@pytest.fixture(autouse=True)
def no_checks_of_others(monkeypatch) -> None:
    """Without loading each release with ``datasets``, and without the checks of the stages before: they have own tests."""
    monkeypatch.setattr(release, "red_checks", lambda *_: [])
    monkeypatch.setattr(release, "write_release", partial(write_release, load_check=lambda folder, rows: None))


def test_a_withdrawn_version_in_the_tables_and_in_later_cards(home, monkeypatch) -> None:
    (home / "landing").mkdir()
    monkeypatch.setenv("TENDRIL_LANDING", str(home / "landing"))
    monkeypatch.setenv("TENDRIL_HASH_KEY", "a secret of at least 32 bytes, for tests")
    root, steps = home / "release" / "toy", ("releases", "released_passages")
    run(home, *steps)
    first = warehouse(home).load("toy", "releases").row(0, named=True)
    assert (first["sandbox"], first["withdrawn_at"], first["removed_rows"]) == (False, None, None)
    assert warehouse(home).load("toy", "released_passages").height == 80
    erase_ids(home, ("project", toy.group(10)))
    withdraw(root, GONE, NOW)
    refused = r"8 passages with 24 judgments .* raise release\.version"
    with pytest.raises(ExportInvariantError, match=refused):
        run(home, "releases")
    result = run(home, *steps, spec=version("1.1.0"))
    figures = ("version", "withdrawn_at", "removed_rows", "removed_judgments")
    rows = warehouse(home).load("toy", "releases").sort("version").select(figures)
    assert rows.rows() == [("1.0.0", NOW, 8, 24), ("1.1.0", None, None, None)]
    # What 1.0.0 was published with stays known: copies and its tag hold it.
    published = warehouse(home).load("toy", "released_passages")
    assert dict(published.group_by("version").len().rows()) == {"1.0.0": 80, "1.1.0": 80}
    assert "| 1.0.0 | 2026-11-30 | 8 | 24 |" in metadata(result, "releases")["withdrawn"]
    [intact] = result.get_asset_check_evaluations()
    assert intact.passed
    assert passages_of_releases(warehouse(home), "toy").equals(published)
    # Whoever deletes the withdrawn folder loses nothing of that, and the version stays used.
    shutil.rmtree(root / "1.0.0")
    held = tuple(sorted(toy.passage(10, j, k) for j in (1, 2) for k in (1, 2, 3, 4)))
    assert known_withdrawals(warehouse(home), "toy", root) == [Withdrawal("1.0.0", root / "1.0.0", NOW, held, 24)]
    with pytest.raises(ExportInvariantError, match=refused):
        run(home, "releases")
    result = run(home, *steps, spec=version("1.2.0"))
    [intact] = result.get_asset_check_evaluations()
    assert intact.passed
    assert "| 1.0.0 (tag `v1.0.0`) | 2026-11-30 | 8 | 24 |" in (root / "1.2.0" / "README.md").read_text()
    assert warehouse(home).load("toy", "releases").sort("version").head(2).select(figures).equals(rows)
    # Nor does a version whose files are damaged.
    (root / "1.1.0" / "corpus" / "train-00000-of-00001.parquet").write_bytes(b"PAR1")
    now = passages_of_releases(warehouse(home), "toy")
    assert dict(now.group_by("version").len().rows()) == {"1.0.0": 80, "1.1.0": 80, "1.2.0": 80}


def test_a_model_card_names_no_withdrawn_release(home) -> None:
    run(home, "releases")
    assert model_cards._is_released(warehouse(home), toy.spec())
    table = former_releases(warehouse(home), "toy")
    gone = table.with_columns(withdrawn_at=NOW).select(table.columns)
    warehouse(home).replace("toy", {"releases": gone}, "test")
    assert not model_cards._is_released(warehouse(home), toy.spec())


def test_the_history_of_releases_survives_an_upgrade(home) -> None:
    old = [
        name for name in TABLES["releases"].schema if name not in ("withdrawn_at", "removed_rows", "removed_judgments")
    ]
    with warehouse(home).transaction("toy", "as an earlier version wrote it") as con:
        con.execute(
            f"CREATE TABLE releases AS SELECT {', '.join(old)} FROM (SELECT '0.9.0' AS version, '/gone' AS path, 'h' AS "
            "content_hash, 'k' AS key_fingerprint, false AS sandbox, 1::BIGINT AS corpus_rows, 2::BIGINT AS query_rows, "
            "3::BIGINT AS qrel_rows, TIMESTAMP '2026-01-01' AS created_at)"
        )
    rows = {"corpus": 80, "queries": 8, "qrels": 240}
    manifest = {"content_hash": "i", "key_fingerprint": "k", "sandbox": False, "rows": rows}
    written = Release(home / "release" / "toy" / "1.0.0", "written", manifest)
    table = with_release(warehouse(home), toy.spec(), home / "release" / "toy", written)
    warehouse(home).replace("toy", {"releases": table}, "test")
    found = warehouse(home).load("toy", "releases").sort("version").select("version", "corpus_rows", "withdrawn_at")
    assert found.rows() == [("0.9.0", 1, None), ("1.0.0", 80, None)]


def test_a_model_trained_on_removed_passages_is_told_everywhere(home) -> None:
    run(home, "model_cards")
    model = home / "release" / "toy" / "models" / "toy-train-mini"
    fresh = (model / "README.md").read_text()
    assert [one.model for one in stale_models(warehouse(home), "toy")] == ["midi"]
    # Document 1.1 has three passages of its examples; project 10 are the eight that its best step was chosen by.
    erase_ids(home, ("document", toy.document(1, 1)), ("project", toy.group(10)))
    [told] = stale_models(warehouse(home), "toy")
    assert told.reason == "trained on 3 passages and chosen by 8 passages removed since 2026-11-30"
    assert stale_systems(warehouse(home), "toy") == {
        "mini_tuned": "trained on 3 passages and chosen by 8 passages removed since 2026-11-30; train it again"
    }
    found = check(home)
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert found.description == f"mini was {told.reason}: train it again"
    with pytest.raises(
        ExportInvariantError, match="no card for model mini: it was trained on 3 passages and chosen by 8"
    ):
        run(home, "model_cards")
    assert is_marked(model)
    text = (model / "README.md").read_text()
    assert text.startswith("---\n")
    assert re.search(
        r"\n---\n\n> \*\*Stale\.\*\* This model was trained on 3 passages[^\n]*Do not use or publish it", text
    )
    result = run(home, "report")
    assert (
        "mini, fine-tuned is stale: trained on 3 passages and chosen by 8 passages"
        in (home / "reports" / "toy.html").read_text()
    )
    assert "| mini, fine-tuned (stale) |" in metadata(result, "report")["systems"]
    # Trained again, on what is left: all of it goes.
    trained = TABLES["trained_passages"].frame(
        [("mini", toy.trained_model()["weights_sha256"], "p-1", "d-1", "g-1", "train")]
    )
    warehouse(home).replace("toy", {"trained_passages": trained}, "test")
    assert check(home).passed
    run(home, "model_cards", "report")
    assert (model / "README.md").read_text() == fresh
    assert "is stale" not in (home / "reports" / "toy.html").read_text()


def test_the_notice_is_set_once_and_changes_with_the_reason(home) -> None:
    folder = home / "release" / "toy" / "models" / "toy-train-mini"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n\n# toy-train mini\n")
    erase_ids(home, ("passage", toy.passage(1, 1, 1)))
    mark_stale_models(warehouse(home), toy.spec(), Settings.from_env())
    first = (folder / "README.md").read_text()
    assert not mark(folder, "trained on 1 passage removed since 2026-11-30: train it again")
    assert mark(folder, "trained on 2 passages removed since 2026-11-30: train it again")
    assert (folder / "README.md").read_text() == first.replace("on 1 passage ", "on 2 passages ")
    assert (folder / "README.md").stat().st_mode & 0o777 == 0o644
    assert not mark(home / "nothing here", "trained on what is removed")


def test_nothing_is_stale_before_anything_was_erased_or_trained(tmp_path) -> None:
    resources = test_release._resources(tmp_path)
    assert stale_models(resources["warehouse"], "toy") == []
    assert stale_systems(resources["warehouse"], "toy") == {}


def test_a_model_that_left_the_specification_is_told_as_long_as_its_weights_are_there(home) -> None:
    artifacts = test_release._resources(home)["artifacts"]
    without = toy.spec(models={})
    known = warehouse(home).load("toy", trained_passages.TABLE).filter(model="mini")
    assert trained_passages.table(artifacts, warehouse(home), without, {}).equals(known)
    erase_ids(home, ("document", toy.document(1, 1)))
    found = stale_models_check(without, trained_passages.TABLE)(warehouse=warehouse(home))
    assert "mini was trained on 3 passages removed since 2026-11-30: delete its weights" in found.description
    shutil.rmtree(artifacts.folder("toy", "models", "mini"))
    assert trained_passages.table(artifacts, warehouse(home), without, {}).is_empty()


def test_what_a_model_was_trained_on_stays_with_its_weights(home) -> None:
    artifacts = test_release._resources(home)["artifacts"]
    corpus = toy.tables()["corpus"].select("passage_id", "document_id", "group_id")
    parts = corpus.with_columns(part=pl.lit("train"))
    result = {"mini": {"weights_sha256": "w" * 64, "data_hash": "first"}}
    with pytest.raises(TrainingError, match="nothing says which passages mini was trained on"):
        trained_passages.table(artifacts, warehouse(home), toy.spec(), result)
    trained_passages.hand_over(artifacts, "toy", parts, "first")
    trained_passages.keep(artifacts, "toy", "mini", "first")
    # The examples change, and the model is not trained again yet.
    trained_passages.hand_over(artifacts, "toy", parts.head(3), "second")
    trained_passages.keep(artifacts, "toy", "mini", "first")
    table = trained_passages.table(artifacts, warehouse(home), toy.spec(), result)
    assert table.drop("model", "weights_sha256").equals(parts)
    assert set(table["weights_sha256"]) == {"w" * 64}
    trained_passages.keep(artifacts, "toy", "mini", "second")
    again = {"mini": {"weights_sha256": "v" * 64, "data_hash": "second"}}
    assert trained_passages.table(artifacts, warehouse(home), toy.spec(), again).height == 3
    # Without its file the table's own rows of the same weights count.
    (artifacts.folder("toy", "trained") / "mini.parquet").unlink()
    weights = toy.trained_model()["weights_sha256"]
    known = trained_passages.table(
        artifacts, warehouse(home), toy.spec(), {"mini": {"weights_sha256": weights, "data_hash": "second"}}
    )
    assert known.height == 44  # 9 groups x 4 passages, and 8 validated on
