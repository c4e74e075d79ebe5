"""What disks and people do to a ledger while it is written: full, read-only, moved, deleted, cut.

File systems of a chosen size are mounted where user namespaces allow it; elsewhere these tests are skipped.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tendril_assets.errors import LedgerError
from tendril_assets.resources import ledger_writer
from tendril_assets.resources.ledger import Ledger, LedgerWriter
from tendril_assets.resources.ledger_files import segments
from tendril_assets_tests.resources.entries import entry, write

_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
PRELUDE = """
import os, subprocess, sys
from pathlib import Path
from tendril_assets.errors import TendrilError
from tendril_assets.resources.ledger import Ledger, LedgerWriter
from tendril_assets_tests.resources.entries import entry, write
folder = Path(sys.argv[1]) / "ledger"
"""


def mounted(folder: Path, options: str, code: str) -> list[str]:
    """The lines that ``code`` prints where ``folder`` is a tmpfs with these mount options."""
    if (
        shutil.which("unshare") is None
        or subprocess.run([*_NAMESPACE, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no user namespaces here, so no small file system can be mounted")
    script = f'mount -t tmpfs -o {options} tmpfs "$1" && exec "$2" -c "$3" "$1"'
    command = [*_NAMESPACE, "sh", "-c", script, "sh", str(folder), sys.executable, PRELUDE + code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_without_inodes_for_a_new_segment_the_old_one_grows_and_nothing_is_lost(tmp_path: Path) -> None:
    lines = mounted(
        tmp_path,
        "size=20m,nr_inodes=12",
        """
try:
    with LedgerWriter(folder, segment_bytes=2000) as writer:
        stored = 0
        while stored < 200:
            writer.append(entry(f"k{stored}"))
            stored += 1
except TendrilError as error:
    print(error)
print(stored, len(Ledger(folder).answered()), Ledger(folder).verify().is_sound)
try:
    Ledger(folder).writer()
except TendrilError as error:
    print(error)
try:
    Ledger(folder).compact(everything=True)
except TendrilError as error:
    print(error)
print(len(Ledger(folder).answered()))
""",
    )
    assert "no new ledger segment can be made" in lines[0]
    assert "No space left on device" in lines[0]
    assert lines[1] == "200 200 True"
    assert "nothing was asked" in lines[2]
    assert "cannot compact the ledger" in lines[3]
    assert lines[4] == "200"


def test_a_file_system_that_became_read_only_can_be_read_and_is_refused_for_writing(tmp_path: Path) -> None:
    lines = mounted(
        tmp_path,
        "size=20m",
        """
write(folder, entry("a"))
Ledger(folder).compact(everything=True)
write(folder, entry("b"))
with open(next(folder.glob("segment-*")), "ab") as stream:
    stream.write(b'{"v":2,')
subprocess.run(["mount", "-o", "remount,ro", sys.argv[1]], check=True)
ledger = Ledger(folder)
print(sorted(ledger.answered()), ledger.frame().height, len(list(ledger.entries())))
print([problem.what for problem in ledger.verify().problems])
for work in (ledger.writer, lambda: ledger.compact(everything=True), lambda: ledger.remove(["a"])):
    try:
        work()
    except TendrilError as error:
        print(type(error).__name__, error)
""",
    )
    assert lines[0] == "['a', 'b'] 2 2"
    assert lines[1] == "['ends in half a line of 7 bytes']"
    assert len(lines) == 5
    for line in lines[2:]:
        assert line.startswith("LedgerError")
        assert "cannot be written (Read-only file system)" in line


def test_a_disk_too_full_for_a_compaction_or_removal_keeps_every_answer(tmp_path: Path) -> None:
    lines = mounted(
        tmp_path,
        "size=8m",
        """
with LedgerWriter(folder, reserve_bytes=0) as writer:
    for i in range(60):
        writer.append(entry(f"k{i}", content=os.urandom(50_000).hex()))
files = lambda: {path.name: path.stat().st_size for path in folder.glob("segment*")}
before = files()
for work in (lambda: Ledger(folder).compact(everything=True), lambda: Ledger(folder).remove(["k1"])):
    try:
        work()
    except TendrilError as error:
        print(error)
print(before == files(), [path.name for path in folder.glob(".*partial")] + [*folder.glob("*.parquet")])
print(len(Ledger(folder).answered()), [problem.file for problem in Ledger(folder).verify().problems])
""",
    )
    for line in lines[:2]:
        assert "nothing has changed. Free some space" in line
    # The removal was begun: that much is on record, until it is run again.
    assert lines[2:] == ["True []", "60 ['removals.jsonl']"]


def noticed(writer: LedgerWriter) -> LedgerError:
    """What the writer notices by itself, within a second by promise; a busy machine is given longer."""
    deadline = time.monotonic() + 30
    while writer.trouble is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return writer.trouble


def test_a_folder_that_is_moved_gets_the_answers_in_flight_too(tmp_path: Path) -> None:
    folder, moved = tmp_path / "ledger", tmp_path / "moved"
    writer = Ledger(folder).writer()
    writer.append(entry("a"))
    folder.rename(moved)
    assert f"answers go on to {moved}" in str(noticed(writer))
    writer.append(entry("b"))
    with pytest.raises(LedgerError, match="was moved while it was written"):
        writer.close()
    assert Ledger(moved).answered_keys() == {"a", "b"}
    assert not folder.exists()


def test_a_folder_that_is_deleted_is_written_anew_from_the_first_byte(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    writer = Ledger(folder).writer()
    for i in range(2000):
        writer.append(entry(f"k{i}", content="x" * 1000))
    shutil.rmtree(folder)
    assert "with every answer of this segment" in str(noticed(writer))
    writer.append(entry("in flight"))
    with pytest.raises(LedgerError, match="was deleted while it was written"):
        writer.close()
    ledger = Ledger(folder)
    assert ledger.answered_keys() == {"in flight", *(f"k{i}" for i in range(2000))}
    assert ledger.verify().is_sound


def test_an_answer_right_after_the_deletion_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_writer, "SYNC_SECONDS", 600.0)
    folder = tmp_path / "ledger"
    writer = Ledger(folder).writer()
    writer.append(entry("a"))
    segments(folder)[0].unlink()
    writer.append(entry("b"))
    with pytest.raises(LedgerError, match="It is there again"):
        writer.close()
    assert Ledger(folder).answered_keys() == {"a", "b"}
    # Deleted after the last answer: noticed when the writer closes.
    writer = Ledger(folder).writer()
    writer.append(entry("c"))
    shutil.rmtree(folder)
    with pytest.raises(LedgerError, match="It is there again"):
        writer.close()
    assert Ledger(folder).answered_keys() == {"c"}


def test_where_a_deleted_segment_finds_no_place_its_bytes_can_still_be_had(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    writer = Ledger(folder).writer()
    writer.append(entry("a"))
    shutil.rmtree(folder)
    folder.write_text("in the way")
    trouble = str(noticed(writer))
    assert f"/proc/{os.getpid()}/fd/" in trouble
    rescued = Path(trouble.rpartition(" ")[2].rstrip(".")).read_bytes()
    with pytest.raises(LedgerError, match="could not be written anew"):
        writer.append(entry("b"))
    with pytest.raises(LedgerError):
        writer.close()
    folder.unlink()
    folder.mkdir()
    (folder / "segment-20261130T120000000000Z-1-000001.jsonl").write_bytes(rescued)
    assert Ledger(folder).answered_keys() == {"a"}


@pytest.mark.parametrize("change", ["cut", "cut between lines", "lengthened"])
def test_a_segment_that_another_program_changes_is_left_and_a_new_one_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(ledger_writer, "SYNC_SECONDS", 600.0)
    writer = Ledger(tmp_path).writer()
    writer.append(entry("a"))
    writer.append(entry("b"))
    (path,) = segments(tmp_path)
    data = path.read_bytes()
    if change == "lengthened":
        with path.open("ab") as stream:
            stream.write(b'{"v":2,')
    else:
        os.truncate(path, data.index(b"\n") + 1 + (40 if change == "cut" else 0))
    writer.append(entry("c"))
    assert "another program changes it" in str(writer.trouble)
    with pytest.raises(LedgerError, match="another program changes it"):
        writer.close()
    ledger = Ledger(tmp_path)
    # What was cut off is gone, and its request open; no line was glued to a half one, so nothing else is damaged.
    assert ledger.torn_lines == (0 if change == "cut between lines" else 1)
    assert ledger.answered_keys() == ({"a", "b", "c"} if change == "lengthened" else {"a", "c"})
    assert ledger.verify().is_sound


def test_a_sealed_segment_with_a_hole_is_named_and_keeps_its_other_lines(tmp_path: Path) -> None:
    write(tmp_path, *(entry(f"k{i}", content="x" * 2000) for i in range(10)))
    (path,) = segments(tmp_path)
    data = bytearray(path.read_bytes())
    data[5000:9000] = bytes(4000)  # a block that never reached the disk
    path.write_bytes(data)
    report = Ledger(tmp_path).verify()
    assert not report.is_sound
    damaged = {problem.place for problem in report.problems}
    with pytest.raises(LedgerError, match=rf"line {min(damaged)} is damaged"):
        Ledger(tmp_path).answered()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for number, line in enumerate(lines, start=1) if number not in damaged))
    assert len(Ledger(tmp_path).answered()) == report.entries > 6
