"""After a removal: the table of releases, and models trained on what is gone, until they are trained again."""

import re
from datetime import datetime

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets import trained_passages
from tendril_assets.assets.released import former_releases
from tendril_assets.assets.stale_models import mark_stale_models, stale_models, stale_models_check, stale_systems
from tendril_assets.corpus.erasure import Removed
from tendril_assets.errors import ExportInvariantError, TrainingError
from tendril_assets.release.model_stale import is_marked, mark
from tendril_assets.release.withdrawing import withdraw
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets import test_release
from tendril_assets_tests.assets.test_release import metadata, run
from tendril_assets_tests.release import toy

NOW = datetime(2026, 11, 30, 18, 0)
GONE = Removed(frozenset([toy.group(10)]), frozenset(), frozenset())
home = test_release.home


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


def test_a_withdrawn_version_in_the_tables(home, monkeypatch) -> None:
    (home / "landing").mkdir()
    monkeypatch.setenv("TENDRIL_LANDING", str(home / "landing"))
    monkeypatch.setenv("TENDRIL_HASH_KEY", "a secret of at least 32 bytes, for tests")
    run(home, "releases", "released_passages")
    first = warehouse(home).load("toy", "releases").row(0, named=True)
    assert (first["sandbox"], first["withdrawn_at"], first["removed_rows"]) == (False, None, None)
    assert warehouse(home).load("toy", "released_passages").height == 80
    withdraw(home / "release" / "toy", GONE, NOW)
    with pytest.raises(ExportInvariantError, match=r"8 passages with 24 judgments .* raise release\.version"):
        run(home, "releases", "released_passages")
    result = run(home, "releases", "released_passages", spec=version("1.1.0"))
    rows = warehouse(home).load("toy", "releases").sort("version").select("version", "withdrawn_at", "removed_rows")
    assert rows.rows() == [("1.0.0", NOW, 8), ("1.1.0", None, None)]
    # What 1.0.0 was published with stays known: copies and its tag hold it.
    published = warehouse(home).load("toy", "released_passages")
    assert dict(published.group_by("version").len().rows()) == {"1.0.0": 80, "1.1.0": 80}
    assert "| 1.0.0 | 2026-11-30 | 8 | 24 |" in metadata(result, "releases")["withdrawn"]
    [intact] = result.get_asset_check_evaluations()
    assert intact.passed
    before = warehouse(home).load("toy", "released_passages")
    run(home, "releases", "released_passages", spec=version("1.1.0"))
    assert warehouse(home).load("toy", "released_passages").equals(before)


def test_a_model_card_names_no_withdrawn_release(home) -> None:
    run(home, "releases", "released_passages")
    withdraw(home / "release" / "toy", GONE, NOW)
    run(home, "model_cards")
    model = home / "release" / "toy" / "models" / "toy-train-mini" / "README.md"
    assert "version 1.0.0" in model.read_text()  # the table was not told yet
    table = former_releases(warehouse(home), "toy")
    gone = table.with_columns(withdrawn_at=NOW).select(table.columns)
    warehouse(home).replace("toy", {"releases": gone}, "test")
    run(home, "model_cards")
    assert "version 1.0.0" not in model.read_text()


def test_the_history_of_releases_survives_an_upgrade(home) -> None:
    old = [name for name in TABLES["releases"].schema if name not in ("withdrawn_at", "removed_rows")]
    with warehouse(home).transaction("toy", "as an earlier version wrote it") as con:
        con.execute(
            f"CREATE TABLE releases AS SELECT {', '.join(old)} FROM (SELECT '0.9.0' AS version, '/gone' AS path, 'h' AS "
            "content_hash, 'k' AS key_fingerprint, false AS sandbox, 1::BIGINT AS corpus_rows, 2::BIGINT AS query_rows, "
            "3::BIGINT AS qrel_rows, TIMESTAMP '2026-01-01' AS created_at)"
        )
    run(home, "releases", "released_passages", raise_on_error=False)  # the old folder is gone, as its check says
    rows = (
        warehouse(home).load("toy", "releases").sort("version").select("version", "corpus_rows", "withdrawn_at").rows()
    )
    assert rows == [("0.9.0", 1, None), ("1.0.0", 80, None)]


def test_a_model_trained_on_removed_passages_is_told_everywhere(home) -> None:
    run(home)
    model = home / "release" / "toy" / "models" / "toy-train-mini"
    fresh = (model / "README.md").read_text()
    assert [one.model for one in stale_models(warehouse(home), "toy")] == ["midi"]
    # Document 1.1 has three passages of its examples; project 10 are the eight that its best step was chosen by.
    erase_ids(home, ("document", toy.document(1, 1)), ("project", toy.group(10)))
    [told] = stale_models(warehouse(home), "toy")
    assert told.reason == "trained on 3 passages and chosen by 8 passages removed since 2026-11-30"
    assert stale_systems(warehouse(home), "toy") == {
        "mini_tuned": "trained on 11 passages removed since 2026-11-30; train it again"
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
    assert "mini, fine-tuned is stale: trained on 11 passages" in (home / "reports" / "toy.html").read_text()
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
    run(home, "model_cards")
    folder = home / "release" / "toy" / "models" / "toy-train-mini"
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
