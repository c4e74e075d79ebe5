"""The erasing step: when it works and when it costs nothing, what it notes, and what it says where it cannot."""

import hashlib
import os
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from tendril_assets.assets.erasure import erasure_assets
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.errors import ExportInvariantError
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.erasing import Erased
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.toy_judging import spec

KEY = "k" * 40
HASHER = KeyedHasher(KEY.encode())
GROUP, OTHER = HASHER.group("one"), HASHER.group("two")
DOCUMENT = HASHER.document("one", "a.pdf")


class Step:
    """A warehouse as it is after the corpus stage, and the erasing step over it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.warehouse = Warehouse(database=str(root / "warehouse.duckdb"), snapshot=str(root / "snapshot.duckdb"))
        self.put(
            corpus=[("p-two", "Holz.", OTHER, "d-two", 1)],
            documents=[("two", "b.pdf", "/b.pdf", "sha", 1, False)],
            removals=[],
            removed_passages=[],
            candidates=[("q", "p-one", GROUP, "k-one"), ("q", "p-two", OTHER, "k-two")],
            request_passages=[("k-one", "p-one", DOCUMENT, GROUP), ("k-two", "p-two", "d-two", OTHER)],
            qrels=[("q", "p-one", GROUP, 2), ("q", "p-two", OTHER, 0)],
        )

    def put(self, **tables: list[tuple[Any, ...]]) -> None:
        self.warehouse.replace("toy", {name: TABLES[name].frame(rows) for name, rows in tables.items()}, "test")

    def remove(self, *entries: tuple[str, str]) -> None:
        self.put(removals=[(kind, i, "Begehren", date(2026, 5, 1)) for kind, i in entries])

    def run(self) -> tuple[bool, dict[str, dg.AssetCheckEvaluation], list[str]]:
        """Success, checks, and what was logged or raised."""
        stage = erasure_assets(spec())
        with dg.DagsterInstance.ephemeral() as instance:
            result = dg.materialize(
                [*stage.assets, *stage.checks],
                resources={
                    "warehouse": self.warehouse,
                    "artifacts": Artifacts(root=str(self.root / "artifacts")),
                },
                instance=instance,
                raise_on_error=False,
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            )
            records = instance.all_logs(result.run_id)
        said = [record.user_message for record in records]
        for event in result.get_step_failure_events():
            error = event.step_failure_data.error
            while error is not None:
                said.append(error.message)
                error = error.cause
        return result.success, {e.check_name: e for e in result.get_asset_check_evaluations()}, said

    def ids(self) -> dict[str, str]:
        return dict(self.warehouse.load("toy", "erased_ids").select("id", "entry").iter_rows())

    def digest(self) -> str:
        return hashlib.sha256(Path(self.warehouse.database).read_bytes()).hexdigest()


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Step:
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    monkeypatch.setenv("TENDRIL_LANDING", str(tmp_path / "landing"))
    monkeypatch.setenv("TENDRIL_HASH_KEY", KEY)
    return Step(tmp_path)


def test_without_removals_nothing_is_erased_noted_or_written_anew(step: Step) -> None:
    ok, checks, _ = step.run()
    assert ok
    assert checks["nothing_erased_is_left"].passed
    assert step.ids() == {}
    assert step.warehouse.load("toy", "erasures").is_empty()
    assert step.warehouse.meta_get("toy", "erased_ids") is None
    inode, before = Path(step.warehouse.database).stat().st_ino, step.digest()
    assert step.run()[0]
    assert Path(step.warehouse.database).stat().st_ino == inode
    assert step.digest() == before, "a run in which nothing changed writes no byte"


def test_what_is_new_on_the_list_is_erased_once(step: Step) -> None:
    step.remove(("document", "one/a.pdf"))
    ok, checks, _ = step.run()
    assert ok
    assert checks["nothing_erased_is_left"].passed
    # The passage is known from the requests alone: nothing lists it.
    assert step.ids() == {DOCUMENT: "one/a.pdf", "p-one": "one/a.pdf"}
    for table in ("candidates", "request_passages", "qrels"):
        assert step.warehouse.load("toy", table)["passage_id"].to_list() == ["p-two"], table
    told = {tuple(row[1:]) for row in step.warehouse.load("toy", "erasures").iter_rows()}
    assert told == {("warehouse", "qrels", 1), ("warehouse", "candidates", 1), ("warehouse", "request_passages", 1),
                    ("warehouse", "file", 1)}  # fmt: skip
    since = step.warehouse.load("toy", "erased_ids")["since"]
    before = step.digest()
    assert step.run()[0]
    assert step.digest() == before
    # A further entry is erased in its turn; of the first one everything stays as it was told.
    step.remove(("document", "one/a.pdf"), ("project", "three"))
    assert step.run()[0]
    assert set(step.ids()) == {DOCUMENT, "p-one", HASHER.group("three")}
    first = step.warehouse.load("toy", "erased_ids").sort("since")["since"].to_list()[:2]
    assert first == since.to_list()
    # Nothing is new, so a row that comes back is not erased, and turns the check red.
    step.put(qrels=[("q", "p-one", GROUP, 2)])
    ok, checks, _ = step.run()
    found = checks["nothing_erased_is_left"]
    assert not ok
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert found.metadata["entries"].value == ["qrels.passage_id: 1 row"]


def test_a_report_made_before_an_erasure_is_marked(step: Step) -> None:
    report = step.root / "reports" / "toy.html"
    report.parent.mkdir()
    report.write_text("<header><h1>", encoding="utf-8")
    assert step.run()[0]
    assert report.read_text(encoding="utf-8") == "<header><h1>", "nothing is removed"
    step.remove(("project", "one"))
    assert step.run()[0]
    marked = report.read_text(encoding="utf-8")
    assert "Made before a removal of 20" in marked
    # The next report stands as it is: nothing new is removed.
    report.write_text("<header><h1>", encoding="utf-8")
    assert step.run()[0]
    assert report.read_text(encoding="utf-8") == "<header><h1>"


def test_an_entry_taken_off_the_list_is_forgotten_and_costs_no_rewrite(step: Step) -> None:
    step.remove(("project", "one"), ("project", "three"))
    step.run()
    assert set(step.ids()) == {GROUP, "p-one", HASHER.group("three")}
    inode = Path(step.warehouse.database).stat().st_ino
    step.remove(("project", "three"))
    assert step.run()[0]
    assert set(step.ids()) == {HASHER.group("three")}
    assert Path(step.warehouse.database).stat().st_ino == inode
    # On it again, it is erased again: what came back in between goes.
    step.put(qrels=[("q", "p-one", GROUP, 2)])
    step.remove(("project", "one"), ("project", "three"))
    assert step.run()[0]
    assert step.warehouse.load("toy", "qrels").is_empty()


def test_parts_that_fail_are_named_keep_no_other_from_its_work_and_are_done_in_the_next_run(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(error: Exception) -> Callable[..., None]:
        def fail(*_: object, **__: object) -> None:
            raise error

        return fail

    step.remove(("project", "one"))
    with monkeypatch.context() as patch:
        patch.setattr("tendril_assets.resources.erasing.erase_replies", failing(OSError(28, "No space left on device")))
        patch.setattr(
            "tendril_assets.assets.erasure.withdraw", failing(ExportInvariantError("0.1.0 was changed by hand"))
        )
        patch.setattr(Warehouse, "rewrite", failing(duckdb.IOException("Could not write all bytes")))
        ok, _, said = step.run()
    assert not ok
    told = "\n".join(said)
    assert "ErasureIncomplete" in told
    assert "files and replies: [Errno 28] No space left on device" in told
    assert "releases: 0.1.0 was changed by hand" in told
    assert "database: Could not write all bytes" in told
    assert "run again" in told
    assert step.warehouse.load("toy", "qrels")["passage_id"].to_list() == ["p-two"]
    # Replies that could not be erased can still be found.
    assert set(step.warehouse.load("toy", "request_passages")["request_key"]) == {"k-one", "k-two"}
    assert step.warehouse.meta_get("toy", "erased_ids") is None
    # What keeps bytes alive that are erased here is named.
    os.link(step.warehouse.database, step.root / "backup.duckdb")
    ok, _, said = step.run()
    assert ok
    assert "the former file of the warehouse has another name (a hard link" in "\n".join(said)
    assert set(step.warehouse.load("toy", "request_passages")["request_key"]) == {"k-two"}
    assert step.warehouse.meta_get("toy", "erased_ids") is not None


def test_ids_in_the_landed_test_collection_are_a_warning(step: Step) -> None:
    tables = ("test_corpus", "calibration_pairs")
    graded = ("q", GROUP, "criterion", "Frage", "Text", 1)
    step.put(
        test_corpus=[("t", "Text", GROUP, None, 1)],
        group_scores=[("bm25", GROUP, "all", "ndcg@10", 1.0, 1)],
        calibration_pairs=[graded],
    )
    step.remove(("project", "one"))
    ok, checks, _ = step.run()
    found = checks["nothing_erased_is_left"]
    assert ok
    assert not found.passed
    assert found.severity == dg.AssetCheckSeverity.WARN
    told = [f"{one}: the landing folder itself holds 1 of the ids, such as {GROUP}" for one in tables]
    assert sorted(found.metadata["entries"].value, reverse=True) == told
    assert step.warehouse.load("toy", "group_scores").height == 1


def test_an_erasure_that_was_cut_off_goes_on_under_the_time_it_began(
    step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    step.remove(("project", "one"))

    noted: list[tuple[str, str, int]] = []

    def texts(*_: object, **__: object) -> Iterator[Erased]:
        yield Erased("cache", "pages", 3)
        noted.extend(step.warehouse.load("toy", "erasures").select("place", "name", "items").rows())
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tendril_assets.assets.erasure.erase_texts", texts)
        assert not step.run()[0]
    assert ("cache", "pages", 3) in noted, "each is noted at once, not at the end of its part"
    assert step.run()[0]
    told = step.warehouse.load("toy", "erasures")
    assert told["erased_at"].unique().to_list() == step.warehouse.load("toy", "erased_ids")["since"].unique().to_list()
    items = {(place, name): n for _, place, name, n in told.iter_rows()}
    assert items["cache", "pages"] == 3
    assert items["warehouse", "qrels"] == 1
    # The next entry is an erasure of its own.
    step.remove(("project", "one"), ("project", "three"))
    assert step.run()[0]
    assert step.warehouse.load("toy", "erasures")["erased_at"].n_unique() == 2


def test_what_is_struck_off_the_list_is_told(step: Step) -> None:
    step.remove(("project", "one"), ("project", "three"))
    assert "struck off" not in "\n".join(step.run()[2])
    step.remove(("project", "three"))
    told = "\n".join(step.run()[2])
    assert f"struck off the removal list, so no longer erased: {GROUP}, p-one. What the landing folder still" in told
    assert "struck off" not in "\n".join(step.run()[2])
