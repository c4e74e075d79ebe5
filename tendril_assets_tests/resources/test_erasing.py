"""What is removed leaves caches, hand-over files and the ledger; everything else stays as it was.

Group g-1 has documents d-1 (passages p-1 "Holz.", p-2 "Kies.") and d-2 (p-3 "Lehm."), group g-2 has d-3 (p-4 "Holz.",
which shares the request of p-1, and p-5 "Ton."). An earlier judge asked about p-2 under another key, and d-1 was once cut
otherwise: p-2x was a part of p-2.
"""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from tendril_assets.corpus.erasure import Removed
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.errors import LedgerError, WarehouseError
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.erasing import (
    Erased,
    documents_hit,
    erase_caches,
    erase_first_inputs,
    erase_hand_over,
    erase_texts,
    removed_requests,
)
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.request_passages import note_requests
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES
from tendril_assets_tests.resources.entries import entry, write

HASHER = KeyedHasher(b"k" * 40)
CORPUS = [
    ("p-1", "Holz.", "g-1", "d-1", 1),
    ("p-2", "Kies.", "g-1", "d-1", 1),
    ("p-3", "Lehm.", "g-1", "d-2", 1),
    ("p-4", "Holz.", "g-2", "d-3", 1),
    ("p-5", "Ton.", "g-2", "d-3", 2),
]
ASKED = [
    ("k-holz", "p-1", "d-1", "g-1"),
    ("k-holz", "p-4", "d-3", "g-2"),
    ("k-kies", "p-2", "d-1", "g-1"),
    ("k-kies-before", "p-2", "d-1", "g-1"),
    ("k-kies-cut", "p-2x", "d-1", "g-1"),
    ("k-lehm", "p-3", "d-2", "g-1"),
    ("k-ton", "p-5", "d-3", "g-2"),
]
PRESENT = [("k-holz", "Holz."), ("k-kies", "Kies."), ("k-lehm", "Lehm."), ("k-ton", "Ton.")]
OF_KIES = {"k-kies", "k-kies-before", "k-kies-cut"}
PASSAGE = Removed(frozenset(), frozenset(), frozenset({"p-2"}))
DOCUMENT = Removed(frozenset(), frozenset({"d-1"}), frozenset())
GROUP = Removed(frozenset({"g-1"}), frozenset(), frozenset())
NOTHING = Removed(frozenset(), frozenset(), frozenset())
KINDS = ("extractions", "readings", "masked")


class Home(NamedTuple):
    warehouse: Warehouse
    artifacts: Artifacts
    ledger: Ledger

    def without(self, removed: Removed) -> None:
        """The corpus stage has done its part."""
        left = [row for row in CORPUS if not removed.takes(row[0], row[3], row[2])]
        self.warehouse.replace("toy", {"corpus": TABLES["corpus"].frame(left)}, "test")

    def texts(self) -> pl.Series:
        return self.warehouse.load("toy", "corpus", ["text"])["text"]

    def hit(self, removed: Removed) -> frozenset[str]:
        return documents_hit(self.warehouse, "toy", removed, HASHER)

    def erase(self, removed: Removed) -> list[Erased]:
        return list(erase_texts(self.warehouse, self.artifacts, self.ledger, "toy", removed, HASHER))

    def noted(self) -> set[tuple[str, str]]:
        return set(self.warehouse.load("toy", "request_passages", ["request_key", "passage_id"]).rows())

    def holding(self, marker: str) -> list[str]:
        """Files below the artifacts and the ledger that hold a text; Parquet is decoded."""
        found = []
        for root in (Path(self.artifacts.root), self.ledger.folder):
            for path in sorted(p for p in root.rglob("*") if p.is_file()):
                data = path.read_bytes()
                if path.suffix == ".parquet" and "ledger" not in path.parts:
                    data = pl.read_parquet(path).write_ndjson().encode()
                if marker.encode() in data:
                    found.append(path.name)
        return found


def home_in(folder: Path) -> Home:
    warehouse = Warehouse(database=str(folder / "w.duckdb"), snapshot=str(folder / "s.duckdb"))
    return Home(warehouse, Artifacts(root=str(folder / "artifacts")), Ledger(folder / "ledger"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("erasing")
    warehouse, artifacts, _ = home_in(folder)
    warehouse.replace("toy", {"corpus": TABLES["corpus"].frame(CORPUS)}, "test")
    note_requests(warehouse, "toy", TABLES["request_passages"].frame(ASKED))
    for passage, text, group, document, _ in CORPUS:
        for kind in KINDS:
            artifacts.put(kind, ("toy", group, document), passage, text.encode())
    requests = pl.DataFrame(PRESENT, schema=["request_key", "passage_text"], orient="row")
    artifacts.write_frame("toy", "judge_requests", requests.with_columns(query_text=pl.lit("Was?")))
    write(folder / "ledger", *(entry(key, content=f"reply to {key}") for key in sorted({row[0] for row in ASKED})))
    return folder


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Home:
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return home_in(tmp_path)


CASES = {
    "passage": (PASSAGE, OF_KIES, {("k-kies", "p-2"), ("k-kies-before", "p-2"), ("k-kies-cut", "p-2x")}),
    "document": (
        DOCUMENT,
        OF_KIES,
        {("k-holz", "p-1"), ("k-kies", "p-2"), ("k-kies-before", "p-2"), ("k-kies-cut", "p-2x")},
    ),
    "project": (
        GROUP,
        OF_KIES | {"k-lehm"},
        {("k-holz", "p-1"), ("k-kies", "p-2"), ("k-kies-before", "p-2"), ("k-kies-cut", "p-2x"), ("k-lehm", "p-3")},
    ),
    "nothing": (NOTHING, set(), set()),
}


@pytest.mark.parametrize(("removed", "keys", "rows"), CASES.values(), ids=CASES)
def test_replies_go_unless_a_passage_of_the_corpus_shares_them(
    home: Home, removed: Removed, keys: set[str], rows: set[tuple[str, str]]
) -> None:
    home.without(removed)
    found = removed_requests(home.warehouse, home.artifacts, "toy", removed, home.hit(removed), home.texts())
    assert set(found.keys) == keys
    assert set(found.rows.rows()) == rows
    home.erase(removed)
    assert home.ledger.answered_keys() == {row[0] for row in ASKED} - keys
    assert home.noted() == {row[:2] for row in ASKED} - rows
    left = home.artifacts.read_frame("toy", "judge_requests")
    assert set(left["request_key"]) == {key for key, _ in PRESENT} - keys


def test_caches_of_what_is_removed_go_and_no_others(home: Home) -> None:
    def cached() -> set[tuple[str, str]]:
        return {(each.kind, each.document_id) for each in home.artifacts.cached_documents("toy")}

    home.artifacts.put("masked", ("other", "g-1", "d-1"), "p-1", b"of another collection")
    assert erase_caches(home.artifacts, "toy", set()) == []
    assert len(cached()) == 9
    assert erase_caches(home.artifacts, "toy", {"d-1"}) == [Erased("cache", kind, 2) for kind in sorted(KINDS)]
    assert cached() == {(kind, document) for kind in KINDS for document in ("d-2", "d-3")}
    assert erase_caches(home.artifacts, "toy", {"d-1"}) == []
    assert erase_caches(home.artifacts, "toy", set(), {"g-1"}) == [Erased("cache", kind, 1) for kind in sorted(KINDS)]
    assert cached() == {(kind, "d-3") for kind in KINDS}
    assert home.artifacts.cached("masked", ("other", "g-1", "d-1"), "p-1") == b"of another collection"


def test_no_folder_is_left_that_names_what_is_gone(home: Home) -> None:
    erase_caches(home.artifacts, "toy", set(), {"g-1"})
    assert {path.name for path in Path(home.artifacts.root).glob("cache/*/toy/*")} == {"g-2"}


def test_a_process_that_goes_on_caching_what_is_erased_is_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def erase_while_another_writes(path: Path) -> None:
        path.unlink()
        path.with_name("late").touch()

    with monkeypatch.context() as patch:
        patch.setattr("tendril_assets.resources.erasing.erase", erase_while_another_writes)
        with pytest.raises(WarehouseError, match=r"d-1: another process caches what is being erased there"):
            erase_caches(home.artifacts, "toy", {"d-1"})
    # The next run ends it: one file of this kind had come late.
    assert erase_caches(home.artifacts, "toy", {"d-1"})[0] == Erased("cache", "extractions", 1)
    assert "d-1" not in {each.document_id for each in home.artifacts.cached_documents("toy")}


def test_a_document_is_hit_by_its_names_and_by_what_was_asked(home: Home) -> None:
    assert home.hit(PASSAGE) == {"d-1"}  # known from request_passages alone: it is not landed any more
    taken = ("entry", "p-9", "100", "a.pdf", 1, "listed", [], None, [])
    home.warehouse.replace("toy", {"removed_passages": TABLES["removed_passages"].frame([taken])}, "test")
    assert home.hit(PASSAGE) == {"d-1", HASHER.document("100", "a.pdf")}


def test_a_text_that_goes_on_under_another_id_keeps_its_reply(home: Home) -> None:
    """p-2 is removed and d-1 renamed in the same run: p-1 has another id now, and nothing was asked of that yet."""
    rows = [("p-1n", "Holz im Bau.", "g-1", "d-1n", 1), *CORPUS[2:]]
    home.warehouse.replace("toy", {"corpus": TABLES["corpus"].frame(rows)}, "test")
    asked = ("k-bau", "p-1o", "d-1", "g-1")
    note_requests(home.warehouse, "toy", TABLES["request_passages"].frame([asked]))
    requests = home.artifacts.read_frame("toy", "judge_requests")
    extra = pl.DataFrame({"request_key": ["k-bau"], "passage_text": ["Holz im Bau."], "query_text": ["Was?"]})
    home.artifacts.write_frame("toy", "judge_requests", pl.concat([requests, extra]))
    found = removed_requests(home.warehouse, home.artifacts, "toy", PASSAGE, {"d-1"}, home.texts())
    assert set(found.keys) == OF_KIES
    # The old id is forgotten; the step that plans the candidates notes the new one.
    assert ("k-bau", "p-1o") in found.rows.rows()


def test_a_warehouse_that_noted_nothing_goes_by_its_candidates(tmp_path: Path) -> None:
    warehouse = Warehouse(database=str(tmp_path / "w.duckdb"), snapshot=str(tmp_path / "s.duckdb"))
    artifacts = Artifacts(root=str(tmp_path / "artifacts"))
    none = pl.Series("text", [], pl.String)
    warehouse.replace("toy", {"corpus": TABLES["corpus"].frame(CORPUS[3:])}, "test")
    found = removed_requests(warehouse, artifacts, "toy", GROUP, set(), none)
    assert (found.keys.to_list(), found.rows.height) == ([], 0)
    pairs = [(f"q-{key}", passage, group, key) for key, passage, _, group in ASKED]
    warehouse.replace("toy", {"candidates": TABLES["candidates"].frame(pairs)}, "test")
    found = removed_requests(warehouse, artifacts, "toy", GROUP, set(), none)
    assert (set(found.keys), found.rows.height) == (OF_KIES | {"k-lehm"}, 0)


def test_nothing_removed_writes_nothing(home: Home) -> None:
    def state() -> dict[str, tuple[int, int]]:
        files = (p for p in Path(home.artifacts.root).parent.rglob("*") if p.is_file() and p.suffix != ".lock")
        return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in files}

    before = state()
    assert home.erase(NOTHING) == []
    assert state() == before


def training_files(home: Home) -> None:
    frames = {
        "train": {"positive_id": ["p-3"], "query": ["Was?"], "positive": ["Lehm."], "negative_1": ["Kies."]},
        "corpus": {"passage_id": ["p-5"], "group_id": ["g-2"], "text": ["Ton."]},
        "queries": {"query_id": ["q"], "level": ["area"], "text": ["Was?"]},
        "qrels": {"query_id": ["q"], "passage_id": ["p-5"], "group_id": ["g-2"], "score": [2]},
    }
    for part, columns in frames.items():
        home.artifacts.write_frame("toy", f"training_{part}", pl.DataFrame(columns))


def hand_over(home: Home, removed: Removed) -> dict[str, int]:
    home.without(removed)
    keys = pl.Series("request_key", [], pl.String)
    found = erase_hand_over(home.artifacts, "toy", removed, home.texts(), keys)
    assert {one.place for one in found} <= {"hand_over"}
    assert erase_hand_over(home.artifacts, "toy", removed, home.texts(), keys) == []
    return {one.name: one.items for one in found}


def names(home: Home) -> set[str]:
    return {path.stem for path in home.artifacts.folder("toy", "exchange").iterdir()}


TRAINING = {f"training_{part}": 1 for part in ("train", "corpus", "queries", "qrels")}


def test_training_files_go_together_for_a_negative_that_has_no_id(home: Home) -> None:
    training_files(home)
    assert hand_over(home, Removed.of([("document", "d-9")])) == {}
    assert hand_over(home, PASSAGE) == {"judge_requests": 1, **TRAINING}
    assert names(home) == {"judge_requests"}


@pytest.mark.parametrize("removed", [Removed.of([("passage", "p-5")]), Removed.of([("project", "g-2")])])
def test_training_files_go_for_an_id_of_the_validation_groups(home: Home, removed: Removed) -> None:
    training_files(home)
    found = hand_over(home, removed)
    assert TRAINING.items() <= found.items()
    # "Holz." of the other group is the same request.
    assert home.artifacts.read_frame("toy", "judge_requests")["request_key"].to_list() == ["k-holz", "k-kies", "k-lehm"]


def test_any_other_file_with_a_removed_id_goes_whole_and_what_is_landed_stays(home: Home) -> None:
    for name, ids in {
        "last_guarded": ["p-1", "p-2"],
        "last_decisions": ["p-3"],
        "of_a_later_version": ["x", "p-2"],
    }.items():
        home.artifacts.write_frame("toy", name, pl.DataFrame({"passage_id": ids, "n": range(len(ids))}))
    for name in ("test_corpus", "run_bm25", "calibration_requests", "first_inputs_mini_base"):
        home.artifacts.write_frame("toy", name, pl.DataFrame({"passage_id": ["p-2"], "text": ["Kies."]}))
    found = hand_over(home, PASSAGE)
    assert found == {"judge_requests": 1, "last_guarded": 1, "of_a_later_version": 1}
    assert names(home) == {
        "judge_requests",
        "last_decisions",
        "test_corpus",
        "run_bm25",
        "calibration_requests",
        "first_inputs_mini_base",
    }


def test_repeats_leave_with_the_requests_they_repeat(home: Home) -> None:
    rows = pl.DataFrame(
        {"request_key": ["r-1", "r-2"], "passage_text": ["Kies.", "Ton."], "repeats": ["k-kies", "k-ton"]}
    )
    home.artifacts.write_frame("toy", "drift_requests", rows)
    home.artifacts.write_frame("toy", "drift_repeats", rows.select("request_key"))
    note_requests(home.warehouse, "toy", TABLES["request_passages"].frame([("r-1", "p-2", "d-1", "g-1")]))
    home.without(PASSAGE)
    home.erase(PASSAGE)
    for name in ("drift_requests", "drift_repeats"):
        assert home.artifacts.read_frame("toy", name)["request_key"].to_list() == ["r-2"]


def test_a_file_that_cannot_be_read_is_erased(home: Home) -> None:
    for name in ("judge_requests", "last_guarded"):
        home.artifacts.exchange("toy", name).write_bytes(b"PAR1 Kies. PAR1")
    assert hand_over(home, PASSAGE) == {"judge_requests": 1, "last_guarded": 1}
    assert names(home) == set()


def test_old_bytes_are_overwritten_not_only_let_go(home: Home) -> None:
    paths = [home.artifacts.exchange("toy", "judge_requests"), *Path(home.artifacts.root).glob("cache/*/toy/g-1/d-1/*")]
    assert len(paths) == 1 + 6
    descriptors = [os.open(path, os.O_RDONLY) for path in paths]
    sizes = [path.stat().st_size for path in paths]
    home.without(PASSAGE)
    home.erase(PASSAGE)
    try:
        for descriptor, size in zip(descriptors, sizes, strict=True):
            assert os.pread(descriptor, 2 * size, 0) == bytes(size)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


@pytest.mark.parametrize(
    "at", ["removed_requests", "erase_hand_over", "erase_first_inputs", "erase_replies", "forget_requests"]
)
def test_cut_off_anywhere_it_goes_on_to_the_same_end(home: Home, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    assert home.holding("Kies.")
    assert home.holding("reply to k-kies")
    home.without(PASSAGE)

    def stop(*_: object) -> None:
        raise LedgerError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(f"tendril_assets.resources.erasing.{at}", stop)
        with pytest.raises(LedgerError):
            home.erase(PASSAGE)
    home.erase(PASSAGE)
    assert home.holding("Kies.") == []
    assert home.holding("reply to k-kies") == []
    assert {row[0] for row in home.noted()} == {"k-holz", "k-lehm", "k-ton"}
    assert home.ledger.answered_keys() == {"k-holz", "k-lehm", "k-ton"}
    assert home.erase(PASSAGE) == []


def test_shown_inputs_of_a_training_go_with_their_passage(home: Home) -> None:
    def show(model: str, *texts: str) -> Path:
        path = home.artifacts.folder("toy", "models", model) / "first_inputs.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"column": "query", "sha256": None, "shown": "Was?"}]
        rows += [{"sha256": hashlib.sha256(text.encode()).hexdigest(), "shown": f"passage: {text}"} for text in texts]
        path.write_text(json.dumps(rows), encoding="utf-8")
        return path

    assert erase_first_inputs(home.artifacts, "toy", home.texts()) == []
    kept, gone, damaged = show("one", "Holz.", "Ton."), show("two", "Holz.", "Kies."), show("three")
    damaged.write_text("[{}]", encoding="utf-8")
    home.without(PASSAGE)
    found = erase_first_inputs(home.artifacts, "toy", home.texts())
    assert found == [Erased("training", "three/first_inputs.json", 1), Erased("training", "two/first_inputs.json", 1)]
    assert (kept.exists(), gone.exists(), damaged.exists()) == (True, False, False)
