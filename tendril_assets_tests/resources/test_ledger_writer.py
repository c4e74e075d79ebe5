import contextlib
import errno
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tendril_assets.errors import LedgerError
from tendril_assets.resources import ledger_writer
from tendril_assets.resources.ledger import Ledger, LedgerWriter
from tendril_assets.resources.ledger_files import is_live, segments
from tendril_assets_tests.resources.entries import entry, write

APPEND = """
import sys, datetime
from pathlib import Path
from tendril_assets.resources.ledger import Ledger, LedgerEntry
with Ledger(Path(sys.argv[1])).writer() as writer:
    i = 0
    while True:
        key = f"{sys.argv[2]}-{i}"
        now = datetime.datetime.now(datetime.UTC)
        writer.append(LedgerEntry(key, "judge", "m", "answered", 1, 0.1, now, content="1" * (i % 300)))
        print(key, flush=True)
        i += 1
"""


def test_every_acknowledged_entry_survives_kill_9(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    draw = random.Random(42)
    folder = tmp_path / "ledger"
    for attempt in range(10):
        said = tmp_path / "said"
        with said.open("wb") as stream:
            process = subprocess.Popen([sys.executable, "-c", APPEND, str(folder), str(attempt)], stdout=stream)
        while said.stat().st_size == 0:
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(draw.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        # The last word may be cut short: only whole lines were acknowledged.
        acknowledged.update(said.read_text().split("\n")[:-1])
    ledger = Ledger(folder)
    assert len(acknowledged) > 10
    assert acknowledged <= ledger.answered_keys()
    assert ledger.verify().is_sound
    assert len(segments(folder)) == 10
    # The space set aside for a full disk has no name, so nothing of it is left behind.
    assert {path.suffix for path in folder.iterdir()} == {".jsonl", ""}


def test_entries_are_fsynced_within_a_second_without_further_appends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = threading.Event()
    real = os.fsync

    def watched(descriptor: int) -> None:
        real(descriptor)
        synced.set()

    with Ledger(tmp_path).writer() as writer:
        monkeypatch.setattr(os, "fsync", watched)
        writer.append(entry())
        assert synced.wait(60)
    # How soon a thread gets its turn, and how long a disk takes, is the machine's; that it is asked for is ours.
    assert ledger_writer.SYNC_SECONDS <= 1


def test_a_failing_fsync_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(ledger_writer, "SYNC_SECONDS", 600.0)  # else the line may be on disk before fsync fails
    writer = Ledger(tmp_path).writer()
    writer.append(entry())
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(LedgerError, match="fsync"):
        writer.close()


FILL = """
import sys, datetime
from pathlib import Path
from tendril_assets.errors import LedgerError
from tendril_assets.resources.ledger import Ledger, LedgerEntry
folder = Path(sys.argv[1])
stored, warned = 0, None
try:
    with Ledger(folder).writer() as writer:
        while stored < 100_000:
            now = datetime.datetime.now(datetime.UTC)
            writer.append(LedgerEntry(f"k{stored}", "judge", "m", "answered", 1, 0.1, now, content="x" * 5000))
            stored += 1
            if writer.trouble and warned is None:
                warned = stored
except LedgerError as error:
    print(error)
report = Ledger(folder).verify()
print("RESULT", stored, warned, report.entries, report.is_sound)
"""


def test_a_full_disk_leaves_room_for_the_answers_in_flight_and_loses_nothing(tmp_path: Path) -> None:
    mount = ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here, so no small file system can be mounted")
    script = 'mount -t tmpfs -o size=6m tmpfs "$1" && exec "$2" -c "$3" "$1"'
    command = [*mount, "sh", "-c", script, "sh", str(tmp_path), sys.executable, FILL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "earlier lines are intact" in done.stdout, done.stderr
    stored, warned, entries, sound = done.stdout.split("RESULT ")[1].split()
    # 6 MiB less the 2 set aside hold about 760 entries of 5.4 kB; after the warning the reserve takes about 380 more.
    assert 300 < int(stored) - int(warned) < 420
    assert stored == entries
    assert sound == "True"


def test_an_entry_that_does_not_fit_is_an_error_and_the_earlier_ones_stay(tmp_path: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (3 * 2**20, 3 * 2**20))"
    done = subprocess.run(
        [sys.executable, "-c", limit + FILL, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert "File too large" in done.stdout, done.stderr
    stored, _, entries, sound = done.stdout.split("RESULT ")[1].split()
    assert int(stored) > 300
    assert (stored, sound) == (entries, "True")


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="the ledger needs a folder"):
        Ledger(tmp_path / "file")
    with pytest.raises(LedgerError, match="nothing was asked"):
        Ledger(tmp_path / "file" / "below").writer()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write read-only folders")
def test_a_read_only_folder_can_be_read_and_not_written(tmp_path: Path) -> None:
    write(tmp_path, entry("a"))
    tmp_path.chmod(0o555)
    try:
        assert Ledger(tmp_path).answered_keys() == {"a"}
        with pytest.raises(LedgerError, match="cannot be written"):
            Ledger(tmp_path).writer()
    finally:
        tmp_path.chmod(0o755)


def test_a_closed_writer_takes_nothing_more(tmp_path: Path) -> None:
    writer = Ledger(tmp_path).writer()
    writer.close()
    writer.close()
    with pytest.raises(LedgerError, match="closed"):
        writer.append(entry())


def failing_fsync(monkeypatch: pytest.MonkeyPatch, *, folders: bool) -> None:
    """From now on fsync fails: of folders, or of files."""
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) is folders:
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)


def descriptors(folder: Path) -> list[str]:
    """Names of the files below ``folder`` that this process has open."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(link))
    return sorted(Path(name).name for name in found if name.startswith(f"{folder}/"))


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only ``append`` looks at the folder."""
    monkeypatch.setattr(ledger_writer, "SYNC_SECONDS", 600.0)


@pytest.mark.usefixtures("unwatched")
def test_a_former_segment_that_cannot_be_synced_is_sealed_and_said_for_what_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LedgerWriter(tmp_path, segment_bytes=1, reserve_bytes=0)
    writer.append(entry("a"))
    (former,) = segments(tmp_path)
    with monkeypatch.context() as patch:
        failing_fsync(patch, folders=False)
        writer.append(entry("b"))
    assert f"fsync of {former} failed" in str(writer.trouble)
    assert not is_live(former), "its lock is given back"
    assert former.name not in descriptors(tmp_path)
    with pytest.raises(LedgerError, match="fsync"):
        writer.close()
    assert len(segments(tmp_path)) == 2
    assert Ledger(tmp_path).answered_keys() == {"a", "b"}


@pytest.mark.usefixtures("unwatched")
def test_a_segment_another_program_changes_is_left_for_a_new_one_even_where_it_cannot_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LedgerWriter(tmp_path, reserve_bytes=0)
    writer.append(entry("a"))
    (former,) = segments(tmp_path)
    with former.open("ab") as stream:
        stream.write(b'{"v":2,')
    with monkeypatch.context() as patch:
        failing_fsync(patch, folders=False)
        writer.append(entry("b"))
    writer.append(entry("c"))
    assert not is_live(former)
    with pytest.raises(LedgerError, match="another program changes it"):
        writer.close()
    assert Ledger(tmp_path).answered_keys() == {"a", "b", "c"}


@pytest.mark.usefixtures("unwatched")
def test_an_empty_segment_another_program_wrote_to_is_left_as_it_is(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, reserve_bytes=0)
    (former,) = segments(tmp_path)
    former.write_bytes(b"theirs")
    writer.append(entry("a"))
    with pytest.raises(LedgerError, match="another program changes it"):
        writer.close()
    assert former.read_bytes() == b"theirs"


@pytest.mark.usefixtures("unwatched")
def test_where_no_segment_can_be_begun_nothing_of_it_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LedgerWriter(tmp_path, segment_bytes=1, reserve_bytes=0)
    writer.append(entry("a"))
    (first,) = segments(tmp_path)
    with monkeypatch.context() as patch:
        failing_fsync(patch, folders=True)
        writer.append(entry("b"))
        assert "no new ledger segment can be made" in str(writer.trouble)
        assert segments(tmp_path) == [first]
        assert [name for name in descriptors(tmp_path) if name.startswith("segment-")] == [first.name]
        with pytest.raises(LedgerError, match="nothing was asked"):
            LedgerWriter(tmp_path, reserve_bytes=4096)
        assert len(descriptors(tmp_path)) == 2, "the writer's segment and its empty reserve"
    with pytest.raises(LedgerError, match="no new ledger segment"):
        writer.close()
    assert descriptors(tmp_path) == []
    assert Ledger(tmp_path).answered_keys() == {"a", "b"}


@pytest.mark.usefixtures("unwatched")
def test_an_empty_segment_that_cannot_be_removed_is_a_ledger_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_path: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    writer = LedgerWriter(tmp_path, reserve_bytes=0)
    monkeypatch.setattr(ledger_writer, "remove_empty", refused)
    with pytest.raises(LedgerError, match="could not be sealed"):
        writer.close()
    assert descriptors(tmp_path) == []


@pytest.mark.usefixtures("unwatched")
def test_a_segment_written_anew_takes_the_answers_whatever_closing_the_deleted_one_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LedgerWriter(tmp_path, reserve_bytes=0)
    writer.append(entry("a"))
    segments(tmp_path)[0].unlink()
    real = os.close

    def close(descriptor: int) -> None:
        is_deleted = os.fstat(descriptor).st_nlink == 0
        real(descriptor)
        if is_deleted:
            raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", close)
        writer.append(entry("b"))
    with pytest.raises(LedgerError, match="It is there again"):
        writer.close()
    assert Ledger(tmp_path).answered_keys() == {"a", "b"}
