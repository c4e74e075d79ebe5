"""Work on documents is done once: stored as it is finished, gone on with after a stop, equal however it is spread."""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import polars as pl
import pytest

from tendril_assets.assets import reading
from tendril_assets.assets.reading import (
    PARAGRAPHS,
    Cutter,
    Reading,
    Rows,
    SampledFile,
    Tally,
    Texts,
    mask_documents,
    read_files,
    residual_in_documents,
    restrictions_in_documents,
    spans_of,
)
from tendril_assets.corpus.anonymize import Anonymizer
from tendril_assets.corpus.chunking import PassageText
from tendril_assets.corpus.extraction import Extraction
from tendril_assets.errors import ChildProcessFailed, TendrilError
from tendril_assets.resources import text_work
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.detector import rule_detector
from tendril_assets.resources.text_work import TextWork, masking_work, residual_search
from tendril_assets.spec_corpus import AnonymizationSpec, ExtractionSpec
from tendril_assets.tables import TABLES
from tendril_assets_tests.test_children import ENVIRONMENT, await_true, on_linux

CONTACT = "Auskunft zu Punkt {} gibt Frau Petra Odermatt, Telefon 031 322 11 11."
DOCUMENTS = {f"document {i}": [CONTACT.format(i), f"Punkt {i} ist kurz zu beschreiben."] for i in range(6)}


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return Artifacts(root=str(tmp_path / "artifacts"))


@pytest.fixture
def spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_work, "SPREAD_FROM_CHARACTERS", 0)


def texts(documents: dict[str, list[str]] = DOCUMENTS) -> Texts:
    return Texts(list(documents), documents.__getitem__, lambda name: ("toy", "g-1", name.replace(" ", "-")))


def rules() -> TextWork:
    return masking_work(Anonymizer(rule_detector({})), AnonymizationSpec())


def masked(artifacts: Artifacts, workers: int, tally: Tally | None = None) -> dict[str, tuple]:
    log: list[str] = []
    found = mask_documents(texts(), rules(), workers, artifacts, log.append, tally or Tally())
    return {name: (document.texts, document.counts) for name, document in found}


@pytest.mark.usefixtures("spread")
def test_masking_in_children_equals_masking_here(tmp_path: Path) -> None:
    here = masked(Artifacts(root=str(tmp_path / "one")), 1)
    assert masked(Artifacts(root=str(tmp_path / "two")), 2) == here
    assert here["document 3"][0][0] == "Auskunft zu Punkt 3 gibt Frau <PERSON_1>, Telefon <PHONE_1>."


@pytest.mark.usefixtures("spread")
def test_what_was_finished_before_a_stop_is_not_done_again(artifacts: Artifacts) -> None:
    found = mask_documents(texts(), rules(), 2, artifacts, lambda _: None, Tally())
    first = {next(found)[0], next(found)[0]}
    found.close()
    tally = Tally()
    assert masked(artifacts, 2, tally).keys() == DOCUMENTS.keys()
    assert tally.before >= len(first)
    assert tally.before + tally.now == len(DOCUMENTS)


MASKING = """
import sys
from tendril_assets.assets.reading import Tally, mask_documents
from tendril_assets.resources import text_work
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets_tests.assets.test_reading import rules, texts
text_work.SPREAD_FROM_CHARACTERS = 0
for name, _ in mask_documents(texts(), rules(), 2, Artifacts(root=sys.argv[1]), lambda _: None, Tally()):
    print(name, flush=True)
    sys.stdin.readline()
"""


@on_linux
def test_a_killed_run_goes_on_where_it_was(artifacts: Artifacts) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", MASKING, artifacts.root],
        env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        assert process.stdin
        assert process.stdout
        try:
            assert process.stdout.readline().startswith("document")
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline().startswith("document")
        finally:
            process.send_signal(signal.SIGKILL)
    assert await_true(lambda: not children_of(artifacts.root), 10)
    tally = Tally()
    found = masked(artifacts, 1, tally)
    assert (tally.before >= 2, tally.before + tally.now) == (True, len(DOCUMENTS))
    assert found == masked(artifacts, 1)


def children_of(root: str) -> list[int]:
    """Processes that work on this folder: the parent names it, and its children end with it."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if root.encode() in command.split(b"\0"):
                found.append(int(folder.name))
    return found


def answering(answer: Callable[[bytes], bytes]) -> TextWork:
    return TextWork("toy@1", answer)


def test_a_document_that_fails_is_left_out_named_and_tried_again(artifacts: Artifacts) -> None:
    def stumble(data: bytes) -> bytes:
        return b'{"failed": "KeyError at toy.py:1"}' if b"Punkt 2" in data else b"[[], {}]"

    log: list[str] = []
    for _ in range(2):
        tally = Tally()
        found = mask_documents(texts(), answering(stumble), 1, artifacts, log.append, tally)
        assert [name for name, _ in found] == [name for name in DOCUMENTS if name != "document 2"]
        assert tally.failed == {"document 2": "KeyError at toy.py:1"}
    assert any("document 2 could not be masked: KeyError at toy.py:1" in line for line in log)


@pytest.mark.usefixtures("spread")
def test_a_child_that_dies_names_its_document_and_keeps_the_rest(artifacts: Artifacts) -> None:
    def none(_: bytes) -> bytes:
        raise AssertionError("done in this process")

    work = TextWork("toy@1", none, "tendril_assets_tests.pool_answers:dying", "Punkt 4")
    with pytest.raises(ChildProcessFailed, match="at work on document 4 ended with status -9"):
        list(mask_documents(texts(), work, 2, artifacts, lambda _: None, Tally()))
    tally = Tally()
    again = mask_documents(texts(), answering(lambda _: b"[[], {}]"), 1, artifacts, lambda _: None, tally)
    assert len(list(again)) == tally.before + tally.now == len(DOCUMENTS)
    assert 2 <= tally.before < len(DOCUMENTS)


def corpus(*passages: tuple[str, str, str]) -> pl.DataFrame:
    rows = pl.DataFrame(passages, schema=["document_id", "passage_id", "text"], orient="row")
    return rows.with_columns(group_id=pl.lit("g-1"))


LEAKY = corpus(("d2", "p3", "Frau Petra Odermatt"), ("d1", "p2", "Holz"), ("d1", "p1", "Telefon 031 322 11 11"))


def test_what_is_left_is_told_per_passage_and_remembered(artifacts: Artifacts) -> None:
    expected = {"p1": {"private_phone"}, "p3": {"private_person"}}
    assert residual_in_documents(LEAKY, residual_search(), artifacts, "toy") == expected

    def none(_: bytes) -> bytes:
        raise AssertionError("looked through again")

    again = TextWork(residual_search().identity, none)
    assert residual_in_documents(LEAKY.reverse(), again, artifacts, "toy") == expected


def test_a_document_that_cannot_be_looked_through_is_an_error(artifacts: Artifacts) -> None:
    failing = answering(lambda _: b'{"failed": "KeyError at toy.py:1"}')
    with pytest.raises(TendrilError, match="could not be checked for personal data; the first is d1: KeyError"):
        residual_in_documents(LEAKY, failing, artifacts, "toy")


@pytest.mark.usefixtures("spread")
def test_restricting_clauses_are_found_by_text(artifacts: Artifacts) -> None:
    clause = "Die Weitergabe der Ausschreibungsunterlagen an Dritte ist verboten."
    rows = [("p", "a", 1, "Holz."), ("p", "a", 4, clause), ("p", "b", 1, "Beton.")]
    frame = pl.DataFrame(rows, schema=["project", "document", "page", "text"], orient="row")
    frame = frame.with_columns(group_id=pl.lit("g-1"), document_id=pl.format("d-{}", "document"))
    documents = Texts.with_pages(frame, spans_of(frame, "project", "document"), "toy")
    found = dict(restrictions_in_documents(documents, 2, artifacts, lambda _: None))
    assert found == {"p/a": [[4, "de", "no_third_parties", clause]], "p/b": []}


def test_progress_tells_what_was_done_before(artifacts: Artifacts) -> None:
    log: list[str] = []
    work = answering(lambda _: b"[[], {}]")
    list(mask_documents(texts(), work, 1, artifacts, log.append, Tally()))
    assert log[0] == "0 of 6 documents were masked before, 6 are left"
    assert log[-1].startswith("masked 6 of 6 documents")
    log.clear()
    list(mask_documents(texts(), work, 1, artifacts, log.append, Tally()))
    assert log == []


def sampled(folder: Path, *names: str) -> list[SampledFile]:
    files = []
    for name in names:
        path = folder / name
        path.write_text(
            f"Der erste Absatz von {name} ist lang genug.\n\nDer zweite Absatz ist es auch, und er endet hier."
        )
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        files.append(SampledFile("p", name, str(path), digest, ("toy", "g-1", f"d-{name}")))
    return files


def read(
    files: list[SampledFile], artifacts: Artifacts, tally: Tally | None = None, cutter: Cutter = PARAGRAPHS
) -> dict[str, Reading]:
    found = read_files(files, ExtractionSpec(), 1, artifacts, lambda _: None, tally or Tally(), cutter)
    return {file.document: reading for file, reading in found}


def test_a_file_is_read_and_cut_once(tmp_path: Path, artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sampled(tmp_path, "a.txt", "b.txt")
    first = read(files, artifacts)
    assert [passage.text for passage in first["a.txt"].passages] == [
        "Der erste Absatz von a.txt ist lang genug.",
        "Der zweite Absatz ist es auch, und er endet hier.",
    ]
    assert first["a.txt"].extraction.outcome == "ok"
    assert sum(first["a.txt"].page_characters) == first["a.txt"].extraction.characters > 0

    def never(*_: object) -> NoReturn:
        raise AssertionError("done again")

    monkeypatch.setattr(reading, "read_documents", lambda jobs, *_: iter([never() for _ in jobs]))
    tally = Tally()
    assert read(files, artifacts, tally, Cutter(PARAGRAPHS.version, never)) == first
    assert (tally.before, tally.now) == (2, 0)
    # another rule of cutting reads no file again
    whole = Cutter("another", lambda pages: [PassageText(1, 0, pages[0].text)])
    [cut] = read(files, artifacts, cutter=whole)["a.txt"].passages
    assert cut.text.startswith("Der erste")
    assert cut.text.endswith("er endet hier.")


def test_what_the_machine_did_not_manage_is_tried_again(
    tmp_path: Path, artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = sampled(tmp_path, "slow.txt")
    late = Extraction("parse_failed", "took longer than 1 s", transient=True)
    monkeypatch.setattr(reading, "read_documents", lambda jobs, *_: iter([("0", late, 1.0)]))
    assert read(files, artifacts)["slow.txt"].extraction == late
    monkeypatch.undo()
    assert read(files, artifacts)["slow.txt"].extraction.outcome == "ok"


def test_rows_of_a_document_are_found_by_its_name() -> None:
    rows = [("a/b", "c"), ("a/b", "c"), ("a", "b/c"), ("d", "e"), ("d", "f")]
    frame = pl.DataFrame(rows, schema=["project", "document"], orient="row").with_columns(text=pl.lit("x"), page=7)
    frame = frame.with_columns(group_id=pl.lit("g-1"), document_id=pl.lit("d-1"))
    spans = spans_of(frame, "project", "document")
    assert spans == {"a/b/c": range(2), "a/b/c +": range(2, 3), "d/e": range(3, 4), "d/f": range(4, 5)}
    texts = Texts.with_pages(frame, spans, "toy")
    assert texts.of_one("a/b/c") == [(7, "x"), (7, "x")]
    assert texts.owner_of("a/b/c") == ("toy", "g-1", "d-1")
    assert spans_of(frame.clear(), "project") == {}


def test_rows_become_one_frame_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "ROWS_AT_ONCE", 3)
    rows = Rows(TABLES["test_projects"])
    assert rows.frame().is_empty()
    for batch in (["a"], ["b", "c", "d"], [], ["e"]):
        rows.add([(project,) for project in batch])
    assert rows.frame()["project"].to_list() == ["a", "b", "c", "d", "e"]
