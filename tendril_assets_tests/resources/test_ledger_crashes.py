"""Children that write, compact and remove are killed with SIGKILL; nothing is lost, doubled or paid for twice."""

import itertools
import random
import shutil
import time
from pathlib import Path

import pytest

from tendril_assets.resources.ledger import Ledger, LedgerEntry, LedgerWriter
from tendril_assets.resources.ledger_files import list_files
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets_tests.resources import killed
from tendril_assets_tests.resources.entries import entry, write

MARKER = "Zwölf Boxkämpfer jagen Viktor"
TAKEN_OUT = [f"k{i}" for i in range(0, 40, 4)]


@pytest.fixture
def template(tmp_path: Path) -> Path:
    """A compacted file, two sealed segments and one that ends in half a line; 40 entries."""
    folder = tmp_path / "template"
    for part in range(4):
        write(folder, *(entry(f"k{i}", content=f"{MARKER} {i}") for i in range(10 * part, 10 * part + 10)))
        if part == 1:
            Ledger(folder).compact(everything=True)
    last = list_files(folder).segments[-1].path
    last.write_bytes(last.read_bytes() + b'{"v":2,"sequence":')
    return folder


def entries(folder: Path) -> list[LedgerEntry]:
    return list(Ledger(folder).entries())


def fresh(template: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(template, folder)


def check_compaction(folder: Path, before: list[LedgerEntry]) -> None:
    """What must hold after a kill at any point, and after going on from there."""
    ledger = Ledger(folder)
    assert list(ledger.entries()) == before
    assert ledger.verify().is_sound
    listing = list_files(folder)
    assert not listing.superseded
    assert not listing.partial
    ledger.compact(everything=True)
    assert entries(folder) == before
    assert not list_files(folder).segments


def test_a_compaction_killed_before_any_of_its_changes_loses_and_doubles_nothing(
    tmp_path: Path, template: Path
) -> None:
    shutil.copytree(template, tmp_path / "reference")
    before = entries(tmp_path / "reference")
    assert len(before) == 40
    folder = tmp_path / "ledger"
    for change in itertools.count():
        fresh(template, folder)
        was_killed = killed.killed_before(change, killed.compact, folder)
        check_compaction(folder, before)
        if not was_killed:
            break
    assert change > 15  # or the changes are no longer made by the calls that are counted


def check_removal(folder: Path, before: list[LedgerEntry]) -> None:
    kept = [one for one in before if one.request_key not in TAKEN_OUT]
    ledger = Ledger(folder)
    present = list(ledger.entries())
    assert [one for one in present if one.request_key not in TAKEN_OUT] == kept
    assert [one for one in before if one in present] == present
    report = ledger.verify()
    # Whether it was begun and not finished is on record; nothing else is amiss.
    assert all(problem.file == "removals.jsonl" for problem in report.problems)
    ledger.remove(TAKEN_OUT)
    assert list(ledger.entries()) == kept
    assert ledger.verify().is_sound
    assert ledger.verify().removals == 1
    assert not list_files(folder).superseded


def test_a_removal_killed_before_any_of_its_changes_can_be_finished(tmp_path: Path, template: Path) -> None:
    shutil.copytree(template, tmp_path / "reference")
    before = entries(tmp_path / "reference")
    folder = tmp_path / "ledger"
    for change in itertools.count():
        fresh(template, folder)
        was_killed = killed.killed_before(change, killed.remove, folder, TAKEN_OUT)
        check_removal(folder, before)
        if not was_killed:
            break
    assert change > 25


def test_compactions_and_removals_killed_at_random_moments(tmp_path: Path) -> None:
    template, folder = tmp_path / "template", tmp_path / "ledger"
    with LedgerWriter(template, segment_bytes=500_000) as writer:
        for i in range(300):
            writer.append(entry(f"k{i}", content=f"{MARKER} {i}" * 200))
    before = entries(template)
    draw, kills = random.Random(42), 0
    for work, arguments, check in (
        (killed.compact, (folder,), check_compaction),
        (killed.remove, (folder, TAKEN_OUT), check_removal),
    ):
        fresh(template, folder)
        began = time.monotonic()
        process = killed.begin(work, *arguments)
        process.join(60)
        takes = time.monotonic() - began
        for _ in range(16):
            fresh(template, folder)
            process = killed.begin(work, *arguments)
            moment = draw.uniform(0, takes)
            time.sleep(moment)
            was_killed = killed.kill(process)
            kills += was_killed
            # The first one may have taken long: it starts the server that the others are forked from.
            takes = takes if was_killed else moment
            check(folder, before)
    assert kills >= 20  # of 32; the others had ended already


def test_two_processes_repair_at_once(tmp_path: Path, template: Path) -> None:
    folder = tmp_path / "ledger"
    for _ in range(5):
        fresh(template, folder)
        processes = [killed.begin(killed.repair, folder) for _ in range(4)]
        for process in processes:
            process.join(60)
            assert process.exitcode == 0
        assert Ledger(folder).torn_lines == 0
        assert len(entries(folder)) == 40


KILLS = 32
REQUESTS = 4000


def test_no_answer_that_arrived_is_paid_for_twice_over_many_kills(tmp_path: Path) -> None:
    folder, draw = tmp_path / "ledger", random.Random(42)
    kept: set[str] = set()
    # A state file: the gateway's memory outlives whatever is killed.
    with StandInGateway(latency_s=0.02, state=tmp_path / "state", faults={"html_502": 0.02, "cut": 0.02}) as gateway:
        kills = 0
        while kills < KILLS:
            before = gateway.counters()["answered"]
            process = killed.begin(killed.ask, gateway.base_url, folder, REQUESTS)
            # At any moment: some are killed while they start, compact or read, most while answers come in.
            if draw.random() < 0.8:
                deadline = time.monotonic() + 60
                while gateway.counters()["answered"] == before and process.is_alive():
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
            time.sleep(draw.uniform(0, 0.12))
            kills += killed.kill(process)
            now = Ledger(folder).answered_keys() if folder.exists() else set()
            assert kept <= now  # every answer that was kept once is kept for good
            kept = now
        assert len(kept) < REQUESTS, "the kills came too late to interrupt anything"
        process = killed.begin(killed.ask, gateway.base_url, folder, REQUESTS)
        process.join(300)
        assert process.exitcode == 0
        counted = gateway.counters()
    ledger = Ledger(folder)
    report = ledger.verify()
    assert report.is_sound
    assert report.answered_twice == 0
    assert ledger.answered_keys() == {f"k{i}" for i in range(REQUESTS)}
    assert counted["asked_twice"] == 0
    # What was on its way to a killed child: at most what it had in flight.
    assert counted["lost_on_the_way"] <= KILLS * 8
    assert counted["answered"] == REQUESTS
