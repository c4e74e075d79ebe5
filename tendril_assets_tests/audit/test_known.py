"""What is known of each kind of id, in a data folder made by hand."""

from pathlib import Path

import pytest

from tendril_assets.audit.by_id import IdAudit, audit_ids
from tendril_assets.audit.known import Known
from tendril_assets.resources.lock import exclusive
from tendril_assets.settings import Settings
from tendril_assets_tests.audit.small_home import (
    COLLECTION,
    DOCUMENT,
    GONE,
    GROUP,
    HASHER,
    KEPT,
    OTHER,
    OWN,
    REMOVED,
    SHARED,
    make,
)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    home = tmp_path / "home"
    home.mkdir()
    make(home)
    landing = tmp_path / "landing" / COLLECTION
    landing.mkdir(parents=True)
    (landing / "removals.csv").write_text(
        "kind,id,reason,date\ndocument,101/b.pdf,on request,2026-03-01\nproject,202,not yet landed,2026-03-05\n"
    )
    return Settings.from_env(
        {"TENDRIL_HOME": str(home), "TENDRIL_LANDING": str(landing.parent), "TENDRIL_PROFILE": "sandbox"}
    )


def audit(settings: Settings, *ids: str) -> IdAudit:
    return audit_ids(list(ids), settings, COLLECTION, wait_s=1)


def facts(known: Known, topic: str) -> list[str]:
    return [fact.text for fact in known.facts if fact.topic == topic]


def left(found: IdAudit) -> dict[str, int]:
    return {f.where: f.n for f in found.result.findings if f.how != "record"}


def test_a_project_with_all_that_is_below_it(settings: Settings) -> None:
    found = audit(settings, "101")
    (known,) = found.subjects
    assert (known.kind, known.raw) == ("project", {("101", None)})
    assert known.ids == {GROUP["101"], DOCUMENT["101", "a.pdf"], DOCUMENT["101", "b.pdf"], KEPT, REMOVED}
    assert (known.keys, known.shared) == ({OWN, GONE}, {SHARED})
    assert facts(known, "landed") == ["101: 2 documents"]
    assert facts(known, "stands") == ["101: in_corpus"]
    assert facts(known, "removal list") == ["document 101/b.pdf, 2026-03-01: on request"]
    assert facts(known, "replies") == ["3 to its own requests, 1 to shared ones"]
    assert left(found) == {
        "replies, judge answered": 3,
        "tenders.candidates.group_id": 2,
        "tenders.candidates.passage_id": 2,
        "tenders.corpus.document_id": 1,
        "tenders.corpus.group_id": 1,
        "tenders.corpus.passage_id": 1,
        "tenders.passage_decisions.passage_id": 1,
        "tenders.passage_decisions.project": 1,
        "tenders.passages.passage_id": 1,
        "tenders.passages.project": 1,
        "tenders.request_passages.document_id": 3,
        "tenders.request_passages.group_id": 3,
        "tenders.request_passages.passage_id": 3,
        "tenders.sampled_documents.document_id": 1,
        "tenders.sampled_documents.project": 1,
        "tenders.sampled_projects.group_id": 1,
        "tenders.sampled_projects.project": 1,
    }
    assert found.exit_code == 1


@pytest.mark.parametrize("name", ["101/b.pdf", DOCUMENT["101", "b.pdf"]])
def test_a_removed_document_by_its_name_and_its_id(settings: Settings, name: str) -> None:
    found = audit(settings, name)
    (known,) = found.subjects
    assert known.kind == "document"
    assert known.ids == {DOCUMENT["101", "b.pdf"], REMOVED}
    assert facts(known, "removal list") == ["document 101/b.pdf, 2026-03-01: on request"]
    assert facts(known, "effect") == ["document 101/b.pdf: effective, took out 0 projects, 1 documents, 0 passages"]
    assert facts(known, "erased") == ["1 of kind document, 1 of kind passage, since 2026-03-04 05:06 UTC"] or facts(
        known, "erased"
    ) == ["1 of kind passage, 1 of kind document, since 2026-03-04 05:06 UTC"]
    assert facts(known, "erasing run") == [
        "2026-03-04 05:06 UTC, cache: 1 rows, replies or files of all that it erased",
        "2026-03-04 05:06 UTC, ledger: 2 rows, replies or files of all that it erased",
    ]
    assert facts(known, "models") == ["m (weights ffffffffffff) trained on 1 of its passages: train it again"]
    assert "withdrawn on 2026-03-04" in facts(known, "release")[0]
    # The folder was made with two leftovers; the tables that name what is removed are no leftovers.
    assert left(found) == {
        "replies, judge answered": 1,
        "tenders.request_passages.document_id": 1,
        "tenders.request_passages.passage_id": 1,
    }
    records = {f.where.split(" ")[0] for f in found.result.findings if f.how == "record"}
    assert {"tenders.erased_ids.id", "tenders.trained_passages.passage_id"} <= records


def test_the_place_of_a_passage(settings: Settings) -> None:
    (known,) = audit(settings, "101/a.pdf/1/0").subjects
    assert (known.kind, known.ids) == ("passage", {KEPT})
    assert facts(known, "decided") == ["kept"]
    assert facts(known, "removal list") == ["no entry names it"]


def test_a_request_key(settings: Settings) -> None:
    (known,) = audit(settings, SHARED).subjects
    assert (known.kind, known.ids, known.keys) == ("request", {KEPT, OTHER}, {SHARED})


def test_a_query(settings: Settings) -> None:
    found = audit(settings, "q2")
    assert (found.subjects[0].kind, found.subjects[0].keys) == ("query", {OWN})
    assert left(found)["tenders.queries.query_id"] == 1


def test_an_entry_that_no_run_has_landed_yet(settings: Settings) -> None:
    (known,) = audit(settings, "202").subjects
    assert facts(known, "removals.csv") == ["project 202, 2026-03-05: not yet landed"]
    assert facts(known, "removal list") == ["no entry names it"]


@pytest.mark.parametrize("name", ["999", "999/x.pdf", "999/x.pdf/1/0", HASHER.group("999")])
def test_what_never_was_here(settings: Settings, name: str) -> None:
    found = audit(settings, name)
    assert (left(found), found.exit_code) == ({}, 0)
    assert len(facts(found.subjects[0], "look out")) == 1


def test_a_name_with_slashes_is_read_in_every_way(settings: Settings) -> None:
    (known,) = audit(settings, "a/b/c").subjects
    assert known.ids == {HASHER.document("a", "b/c"), HASHER.document("a/b", "c")}


def test_without_a_secret_names_are_not_turned_into_ids(settings: Settings) -> None:
    bare = Settings.from_env({"TENDRIL_HOME": str(settings.home), "TENDRIL_LANDING": str(settings.landing)})
    (known,) = audit(bare, "999").subjects
    assert "TENDRIL_HASH_KEY is not set" in facts(known, "not looked for")[0]


def test_ids_are_found_in_files_and_in_names(settings: Settings) -> None:
    folder = settings.home / "artifacts" / "cache" / "masked" / COLLECTION / GROUP["101"] / DOCUMENT["101", "b.pdf"]
    folder.mkdir(parents=True)
    (folder / "0").write_text("[]")
    (settings.home / "dagster").mkdir()
    (settings.home / "dagster" / "event.log").write_text(f'{{"passages": ["{REMOVED}"]}}')
    found = audit(settings, "101/b.pdf")
    assert left(found)["its name"] == 1
    assert [f.how for f in found.result.findings if f.place == "dagster"] == ["record"]


def test_a_warehouse_in_use_is_named_and_files_are_searched_all_the_same(settings: Settings) -> None:
    (settings.home / "x.txt").write_text(KEPT)
    code = exclusive(Path(f"{settings.warehouse}.lock"), "a step", 5)
    with code:
        import threading

        result: list[IdAudit] = []
        thread = threading.Thread(target=lambda: result.append(audit_ids([KEPT], settings, COLLECTION, wait_s=0.1)))
        thread.start()
        thread.join(60)
    (found,) = result
    assert {u.place for u in found.result.unread} == {"warehouse"}
    assert left(found) == {"byte 0": 1}


def test_without_a_warehouse(tmp_path: Path) -> None:
    settings = Settings.from_env({"TENDRIL_HOME": str(tmp_path), "TENDRIL_PROFILE": "sandbox"})
    found = audit(settings, KEPT)
    assert "there is no warehouse" in found.result.unread[0].reason
    assert found.exit_code == 2
