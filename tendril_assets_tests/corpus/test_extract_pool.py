import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tendril_assets.corpus import extract_pool
from tendril_assets.corpus.extract import Extraction, read_document, read_documents
from tendril_assets.errors import ExtractionError
from tendril_assets.spec_corpus import ExtractionSpec
from tendril_assets_tests.corpus import documents
from tendril_assets_tests.corpus.documents import docx, lines, paragraph, pdf

LIMITS = documents.LIMITS._replace(max_bytes=1_000_000)

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and only Linux ends children by signal")

SLOW_PAGES = 800


def child_pids(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread or a child that has just ended
            for child in (task / "children").read_text().split():
                if b"extract_worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(int(child))
    return found


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six documents, of which three give no text."""
    pdf(tmp_path / "a.pdf", [lines(f"Die {word} Seite der Unterlagen.") for word in ("erste", "zweite", "dritte")])
    docx(tmp_path / "b.docx", paragraph("Das Holz stammt aus der Region."))
    (tmp_path / "c.txt").write_text("Die Anbieterin legt ein Umweltkonzept vor.")
    (tmp_path / "d.pdf").write_bytes(b"%PDF-1.4 damaged")
    docx(tmp_path / "e.docx", paragraph("Bombe"), {"word/styles.xml": b" " * 2_000_000})
    (tmp_path / "f.xyz").write_bytes(b"")
    return tmp_path


def outcomes(folder: Path, workers: int) -> dict[str, Extraction]:
    jobs = [(path.name, path) for path in sorted(folder.iterdir())]
    results = list(read_documents(jobs, LIMITS, workers))
    assert len(results) == len(jobs)
    assert all(result.seconds > 0 for result in results)
    return {result.job_id: result.extraction for result in results}


def test_results_are_those_of_one_process_whatever_the_number_of_workers(folder: Path):
    alone = {path.name: read_document(path, LIMITS) for path in folder.iterdir()}
    assert outcomes(folder, 1) == outcomes(folder, 3) == alone
    assert {name: e.outcome for name, e in alone.items()} == {
        "a.pdf": "ok", "b.docx": "ok", "c.txt": "ok",
        "d.pdf": "parse_failed", "e.docx": "too_large", "f.xyz": "unsupported",
    }  # fmt: skip


def test_progress_and_no_jobs(folder: Path):
    seen: list[tuple[int, int]] = []
    jobs = [(str(i), str(folder / "c.txt")) for i in range(3)]
    list(read_documents(jobs, ExtractionSpec(), 2, on_done=lambda done, total: seen.append((done, total))))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert list(read_documents([], LIMITS)) == []


def cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended; what else the machine does is not in it."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def test_hundred_small_documents_in_ten_seconds(tmp_path: Path):
    jobs = [
        (f"{i}.pdf", pdf(tmp_path / f"{i}.pdf", [lines(f"Unterlage {i} zur Beschaffung.")] * 2)) for i in range(100)
    ]
    started = cpu_s()
    results = {result.job_id: result.extraction for result in read_documents(jobs, LIMITS, workers=2)}
    assert cpu_s() - started < 10
    assert all(results[f"{i}.pdf"].pages[1].text == f"Unterlage {i} zur Beschaffung." for i in range(100))


def test_slow_document_is_ended_and_the_others_are_read(folder: Path):
    slow = pdf(folder / "slow.pdf", [lines(*["Eine Zeile mit etlichen Wörtern darin."] * 50)] * SLOW_PAGES)
    # The slow one takes several seconds, the others a moment, for which a busy machine has 1.2 s.
    limits = LIMITS._replace(timeout_s=1.2)
    jobs = [("slow", slow), *((str(i), folder / "c.txt") for i in range(4))]
    results = {result.job_id: result.extraction for result in read_documents(jobs, limits, workers=1)}
    assert results.pop("slow") == Extraction("parse_failed", "took longer than 1.2 s", transient=True)
    assert {extraction.outcome for extraction in results.values()} == {"ok"}


@on_linux
def test_whatever_a_library_does_the_other_documents_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(extract_pool, "_WORKER_MODULE", "tendril_assets_tests.corpus.breaking_worker")
    limits = LIMITS._replace(timeout_s=4, memory_mb=512)
    breaking = ("hang", "hog", "crash", "stop", "noise")
    jobs = []
    for number, name in enumerate(breaking):
        (folder / f"{name}.txt").write_text("Die Anbieterin legt ein Umweltkonzept vor.")
        jobs += [
            (f"before {number}", folder / "c.txt"),
            (name, folder / f"{name}.txt"),
            (f"after {number}", folder / "a.pdf"),
        ]
    results = {result.job_id: result.extraction for result in read_documents(jobs, limits, workers=2)}
    ends = {name: (results[name].outcome, results[name].transient) for name in breaking}
    assert ends == {
        "hang": ("parse_failed", True),
        "hog": ("too_large", False),
        "crash": ("parse_failed", True),
        "stop": ("parse_failed", True),
        "noise": ("ok", False),
    }
    assert results["hang"].message == "took longer than 4 s"
    assert results["hog"].message == "needs more than 512 MB of memory"
    assert f"status {-signal.SIGSEGV}" in str(results["crash"].message)
    assert "status 0" in str(results["stop"].message)
    assert {results[f"{when} {i}"].outcome for when in ("before", "after") for i in range(len(breaking))} == {"ok"}
    assert not child_pids(os.getpid())


@on_linux
def test_memory_limit_is_an_outcome_and_the_others_are_read(folder: Path):
    # 120 MB of text need twice that as characters, over the 256 MB the worker may take in all.
    (folder / "big.txt").write_bytes("Wörter ohne Ende. ".encode() * 6_500_000)
    limits = LIMITS._replace(memory_mb=256, max_bytes=1_000_000_000)
    jobs = [("first", folder / "c.txt"), ("big", folder / "big.txt"), ("last", folder / "a.pdf")]
    results = {result.job_id: result.extraction for result in read_documents(jobs, limits, workers=1)}
    assert results["big"] == Extraction("too_large", "needs more than 256 MB of memory")
    assert (results["first"].outcome, results["last"].outcome) == ("ok", "ok")


@on_linux
def test_killed_worker_costs_no_document(folder: Path):
    jobs = [(str(i), folder / "c.txt") for i in range(6)]
    results = []
    for result in read_documents(jobs, LIMITS, workers=1):
        results.append(result)
        if len(results) == 2:
            [pid] = child_pids(os.getpid())
            os.kill(pid, signal.SIGKILL)
    assert [result.extraction.outcome for result in results] == ["ok"] * 6


@on_linux
def test_workers_end_with_the_iterator(folder: Path):
    reading = read_documents([(str(i), folder / "c.txt") for i in range(50)], LIMITS, workers=2)
    next(reading)
    pids = child_pids(os.getpid())
    assert pids
    reading.close()
    assert not any(is_running(pid) for pid in pids)


_PARENT = """
import sys
from tendril_assets.corpus.extract import read_documents
from tendril_assets.spec_corpus import ExtractionSpec
jobs = [("quick", sys.argv[1]), *((str(i), sys.argv[2]) for i in range(20))]
for result in read_documents(jobs, ExtractionSpec(), 2):
    print(result.job_id, flush=True)
"""


@on_linux
def test_workers_die_with_a_killed_parent(folder: Path):
    slow = pdf(folder / "slow.pdf", [lines(*["Eine Zeile mit etlichen Wörtern darin."] * 50)] * SLOW_PAGES)
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(folder / "c.txt"), str(slow)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"quick\n"
    pids = child_pids(parent.pid)
    assert pids
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 5
    while any(is_running(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in pids)


def test_worker_that_cannot_start_is_an_error_with_its_message(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(extract_pool, "_WORKER_MODULE", "tendril_assets.no_such_module")
    with pytest.raises(ExtractionError, match=r"ended at its start with status 1: .*No module named"):
        list(read_documents([("a", folder / "c.txt")], LIMITS, workers=2))


def test_worker_imports_nothing_heavy():
    code = "import tendril_assets.corpus.extract_worker, sys; print([m for m in sys.modules if '.' not in m])"
    modules = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    assert not any(f"'{name}'" in modules for name in ("polars", "numpy", "dagster", "duckdb", "torch", "pydantic"))
