"""What is known of each kind of id, in a data folder made by hand."""

import datetime as dt
import shutil
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.assets.keys import IDENTIFIER_POLICY
from tendril_assets.audit.by_id import NOBODY_KNOWS, IdAudit, audit_ids
from tendril_assets.audit.known import Known
from tendril_assets.errors import AuditError
from tendril_assets.resources.lock import exclusive
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES
from tendril_assets_tests.audit.small_home import (
    AT,
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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("made")
    make(home)
    return home


@pytest.fixture
def settings(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    home = tmp_path / "home"
    shutil.copytree(made, home)
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
    assert facts(known, "effect") == ["document 101/b.pdf: effective, took out 0 projects, 1 document, 0 passages"]
    assert facts(known, "erased") == ["1 document, 1 passage, since 2026-03-04 05:06 UTC"]
    # A later run erased something else.
    assert facts(known, "erasing run") == ["2026-03-04 05:06 UTC, all that it erased: cache 1, ledger 2"]
    assert facts(known, "models") == ["m (weights ffffffffffff) trained on 1 passage of it: train it again"]
    assert facts(known, "release") == [
        "0.1.0 was written with 1 passage of it: withdrawn on 2026-03-04; copies and tags made before still hold them"
    ]
    assert known.is_listed
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
    # A version that never had it is not told of.
    assert facts(known, "release") == []


@pytest.mark.parametrize("name", ["101/a.pdf/1/7", "999/x.pdf/1/0"])
def test_a_place_where_no_passage_is_known_is_not_said_to_be_clean(settings: Settings, name: str) -> None:
    found = audit(settings, name)
    assert found.exit_code == 2
    assert [(u.place, u.file) for u in found.result.unread] == [("ids", name)]
    assert "audit its document" in found.result.unread[0].reason


def test_a_passage_of_a_project_that_is_listed(settings: Settings) -> None:
    (known,) = audit(settings, OTHER).subjects
    assert known.is_listed
    assert facts(known, "removals.csv") == ["project 202, 2026-03-05: not yet landed (not landed yet)"]


def test_a_request_key(settings: Settings) -> None:
    (known,) = audit(settings, SHARED).subjects
    assert (known.kind, known.ids, known.keys) == ("request", {KEPT, OTHER}, {SHARED})


def test_a_query(settings: Settings) -> None:
    found = audit(settings, "q2")
    assert (found.subjects[0].kind, found.subjects[0].keys) == ("query", {OWN})
    assert left(found)["tenders.queries.query_id"] == 1


def test_a_removed_act_is_looked_for_with_its_passages_and_a_pair_is_no_text(settings: Settings) -> None:
    act, passage, pair = "590-П_28062017", "590-П_28062017#0003", "q/590-П_28062017#0384"
    day = dt.date(2026, 3, 1)
    warehouse = Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot))
    rows = {
        "projects": [(act, "О резервах", None, "ru", None)],
        "removals": [("project", act, "withdrawn", day), ("pair", pair, "wrong", day)],
        "erased_ids": [("project", act, act, AT), ("passage", passage, act, AT)],
        # what people graded stays with who landed it, and is told
        "calibration_pairs": [("q", passage, "live", "Вопрос?", "Текст.", 1)],
    }
    warehouse.replace(COLLECTION, {name: TABLES[name].frame(values) for name, values in rows.items()}, "test")
    warehouse.meta_set(COLLECTION, IDENTIFIER_POLICY, "named")
    lines = ["kind,id,reason,date", f"act,{act},withdrawn,{day}", f"pair,{pair},wrong,{day}"]
    (settings.landing / COLLECTION / "removals.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = settings.reports / "left.txt"
    report.parent.mkdir(exist_ok=True)
    report.write_text(f"({act}#0777)", encoding="utf-8")

    known, listed = audit(settings, act, pair).subjects
    assert {act, passage} <= known.ids
    # an act of the folder's list is a project of the table: one entry, and landed
    assert facts(known, "removal list") == [f"project {act}, {day}: withdrawn"]
    assert facts(known, "removals.csv") == []
    found = audit(settings, act)
    assert any(one.file == str(report) for one in found.result.findings)
    assert any("calibration_pairs.passage_id" in one.where for one in found.result.findings)
    assert listed.kind == "pair"
    assert "audit its passage" in str(listed.unknown)
    assert facts(listed, "erased") == []
    assert audit(settings, pair).exit_code == 2


def test_an_entry_that_no_run_has_landed_yet(settings: Settings) -> None:
    (known,) = audit(settings, "202").subjects
    assert facts(known, "removals.csv") == ["project 202, 2026-03-05: not yet landed (not landed yet)"]
    assert facts(known, "removal list") == ["no entry names it"]


@pytest.mark.parametrize("name", ["999", "999/x.pdf", HASHER.group("999")])
def test_what_never_was_here(settings: Settings, name: str) -> None:
    found = audit(settings, name)
    assert (left(found), found.exit_code) == ({}, 2)
    assert found.result.unread == [("ids", name, NOBODY_KNOWS)]
    # One that is known beside it, with files that hold its id, makes it no better known.
    assert ("ids", name, NOBODY_KNOWS) in audit(settings, name, "101/b.pdf").result.unread


def test_what_only_a_file_or_the_landing_folder_s_list_knows_is_known(settings: Settings) -> None:
    (settings.home / "x.txt").write_text(HASHER.group("999"))
    found = audit(settings, "999", "998")
    assert [(u.file, u.reason) for u in found.result.unread] == [("998", NOBODY_KNOWS)]
    assert len(facts(found.subjects[0], "look out")) == 1
    with (settings.landing / COLLECTION / "removals.csv").open("a") as stream:
        stream.write("project,997,again,2026-03-06\n")
    found = audit(settings, "997")
    assert (found.exit_code, found.result.unread) == (0, [])
    # A misspelt document of a listed project is not on the list.
    assert audit(settings, "997/x.pdf").exit_code == 2


def test_an_entry_that_hit_nothing_proves_nothing(settings: Settings) -> None:
    warehouse = Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot))
    at = dt.datetime(2026, 3, 4)
    rows = {
        "removals": [("project", "1O1", "on request", at.date()), ("project", "zzz", "on request", at.date())],
        "removal_effects": [
            ("project", "1O1", "no_match", 0, 0, 0, "101"),
            ("project", "zzz", "no_match", 0, 0, 0, None),
        ],
        # As the erasing step lists what entries name, whether they hit or not.
        "erased_ids": [("project", HASHER.group(name), name, at) for name in ("1O1", "zzz")],
    }
    warehouse.replace(COLLECTION, {name: TABLES[name].frame(values) for name, values in rows.items()}, "test")
    found = audit(settings, "1O1", "zzz")
    assert found.exit_code == 2
    assert [u.reason for u in found.result.unread] == [
        "this entry hit nothing: project 1O1 of the removal list. Did you mean 101?",
        "this entry hit nothing: project zzz of the removal list.",
    ]
    for known in found.subjects:
        assert (facts(known, "erased"), facts(known, "erasing run")) == ([], [])


@pytest.mark.parametrize("name", ["101/b.pdf", DOCUMENT["101", "b.pdf"]])
def test_rows_of_what_is_landed_are_listed_in_warehouse_and_copy_alike(settings: Settings, name: str) -> None:
    shutil.copy(settings.warehouse, settings.snapshot)
    found = audit(settings, name)
    listed = {(f.place, f.where, f.how) for f in found.result.findings if "documents.project" in f.where}
    assert listed == {
        (place, "tenders.documents.project (lists what the landing folder holds)", "record")
        for place in ("warehouse", "snapshot")
    }


def test_a_name_with_slashes_is_read_in_every_way(settings: Settings) -> None:
    (known,) = audit(settings, "a/b/c").subjects
    assert known.ids == {HASHER.document("a", "b/c"), HASHER.document("a/b", "c")}


@pytest.mark.parametrize(
    ("key", "reason"), [({}, "TENDRIL_HASH_KEY is not set"), ({"TENDRIL_HASH_KEY": "o" * 40}, "secret of fingerprint")]
)
def test_without_the_secret_of_the_tables_a_name_is_not_said_to_be_clean(
    settings: Settings, key: dict[str, str], reason: str
) -> None:
    folders = {"TENDRIL_HOME": str(settings.home), "TENDRIL_LANDING": str(settings.landing)}
    found = audit(Settings.from_env(folders | key), "999")
    assert found.exit_code == 2
    assert reason in found.result.unread[0].reason
    # A published id needs no secret.
    assert audit(Settings.from_env(folders | key), REMOVED).result.unread == []


def test_a_collection_that_the_warehouse_does_not_know(settings: Settings) -> None:
    with pytest.raises(AuditError, match="no tables of a collection tender"):
        audit_ids(["101"], settings, "tender", wait_s=1)


def test_ids_are_found_in_files_and_in_names(settings: Settings) -> None:
    folder = settings.home / "artifacts" / "cache" / "masked" / COLLECTION / GROUP["101"] / DOCUMENT["101", "b.pdf"]
    folder.mkdir(parents=True)
    (folder / "0").write_text("[]")
    (settings.home / "dagster").mkdir()
    (settings.home / "dagster" / "event.log").write_text(f'{{"passages": ["{REMOVED}"]}}')
    with (settings.landing / COLLECTION / "removals.csv").open("a") as stream:
        stream.write(f"passage,{REMOVED},again,2026-03-06\n")
    trained = settings.home / "artifacts" / COLLECTION / "trained" / "m.parquet"
    trained.parent.mkdir(parents=True)
    pl.DataFrame({"passage_id": [REMOVED]}).write_parquet(trained)
    found = audit(settings, "101/b.pdf")
    assert left(found)["its name"] == 1
    for place in ("dagster", "training", "source"):
        assert {f.how for f in found.result.findings if f.place == place} == {"record"}, place


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
