import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tendril_assets.errors import DatabaseLocked, LedgerError
from tendril_assets.resources import ledger_upkeep
from tendril_assets.resources.ledger import Ledger, Removal
from tendril_assets.resources.ledger_files import list_files, segments
from tendril_assets.resources.ledger_parquet import read_groups
from tendril_assets.resources.lock import exclusive
from tendril_assets_tests.resources.entries import entry, write

# No compression hides it: the bytes of a text this short and irregular go into a Parquet page as they are.
MARKER = "Qz7#vX9!kJ4@wL2"


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def texts_of(folder: Path) -> str:
    """Every value of every file, compressed or not."""
    rows = [str(rows.rows()) for part in list_files(folder).compacted for rows in read_groups(part.path)]
    return "".join([*rows, *(path.read_text() for path in folder.glob("*.jsonl"))])


@pytest.mark.parametrize("compacted", [False, True])
def test_no_byte_of_a_removed_reply_is_left_and_all_others_are_as_they_were(tmp_path: Path, compacted: bool) -> None:
    write(tmp_path, entry("a", content="one"), entry("secret key", content=f"2 {MARKER}"), entry("b"))
    write(tmp_path, entry("secret key", "error", detail=MARKER), entry("c"))
    write(tmp_path, entry("d"))
    if compacted:
        Ledger(tmp_path).compact(everything=True)
    assert MARKER.encode() in bytes_of(tmp_path)
    ledger = Ledger(tmp_path)
    others = [one for one in ledger.entries() if one.request_key != "secret key"]
    untouched = segments(tmp_path)[2:]
    done = ledger.remove(["secret key", "never asked"])
    assert done == Removal(keys=2, entries=2, files=1 if compacted else 2, linked_elsewhere=False)
    assert list(ledger.entries()) == others
    for trace in (MARKER, "secret"):
        assert trace.encode() not in bytes_of(tmp_path)
        assert trace not in texts_of(tmp_path)
    assert all(path.exists() for path in untouched)
    assert ledger.verify().is_sound


@pytest.mark.parametrize("compacted", [False, True])
def test_the_old_bytes_are_overwritten_on_the_disk_too(tmp_path: Path, compacted: bool) -> None:
    write(tmp_path, entry("a", content=MARKER), entry("b"))
    if compacted:
        Ledger(tmp_path).compact(everything=True)
    (old,) = [part.path for part in list_files(tmp_path).parts]
    size = old.stat().st_size
    with old.open("rb") as still_open:
        Ledger(tmp_path).remove(["a"])
        assert not old.exists()
        assert still_open.read() == bytes(size)


def test_the_record_names_no_key_and_repeating_adds_nothing(tmp_path: Path) -> None:
    write(tmp_path, entry("k2"), entry("k1"), entry("k3"))
    moment = datetime(2026, 11, 30, 12, tzinfo=UTC)
    ledger_upkeep.remove(tmp_path, ["k2", "k1", "k2"], moment)
    ledger = Ledger(tmp_path)
    assert ledger.remove(["k1", "k2"]) == Removal(2, 0, 0, False)
    lines = (tmp_path / "removals.jsonl").read_text().splitlines()
    digest = hashlib.sha256(b"k1\nk2").hexdigest()
    common = {"time": "2026-11-30T12:00:00+00:00", "keys": 2, "sha256": digest}
    assert [json.loads(line) for line in lines] == [
        {**common, "state": "begun"},
        {**common, "state": "done", "entries": 2, "files": 1},
    ]
    assert ledger.verify().removals == 1
    assert ledger.answered_keys() == {"k3"}


def test_removed_requests_can_be_asked_and_removed_again(tmp_path: Path) -> None:
    write(tmp_path, entry("a", content=MARKER))
    ledger = Ledger(tmp_path)
    ledger.remove(["a"])
    assert ledger.answered_keys() == set()
    write(tmp_path, entry("a", content=f"again {MARKER}"))
    assert Ledger(tmp_path).frame()["sequence"].to_list() == [2_000_000_001]  # numbers are never used a second time
    assert ledger.remove(["a"]).entries == 1
    assert ledger.verify().removals == 2
    assert MARKER.encode() not in bytes_of(tmp_path)


def test_a_live_writer_of_such_an_entry_is_not_disturbed(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), entry("b"))
    before = segments(tmp_path)
    with Ledger(tmp_path).writer() as writer:
        writer.append(entry("c"))
        writer.append(entry("a", "error"))
        with pytest.raises(LedgerError, match=r"being written and has entries to be removed\. Nothing was changed"):
            Ledger(tmp_path).remove(["a"])
        assert segments(tmp_path)[:1] == before
        assert not (tmp_path / "removals.jsonl").exists()
        # One that holds none of them may go on.
        assert Ledger(tmp_path).remove(["b"]).entries == 1
        writer.append(entry("d"))
    ledger = Ledger(tmp_path)
    assert ledger.remove(["a"]).entries == 2
    assert ledger.answered_keys() == {"c", "d"}


def test_a_reader_keeps_the_old_file_and_the_removal_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, entry("a", content=MARKER), entry("b"))
    monkeypatch.setattr(ledger_upkeep, "READERS_S", 0.1)
    ledger = Ledger(tmp_path)
    reader = Ledger(tmp_path).entries()
    assert next(reader).request_key == "a"
    with pytest.raises(LedgerError, match=r"are being read .* run the removal again"):
        ledger.remove(["a"])
    assert ledger.answered_keys() == {"b"}
    (problem,) = ledger.verify().problems
    assert "begun and not finished" in problem.what
    assert [one.request_key for one in reader] == ["b"]
    ledger.remove(["a"])
    assert MARKER.encode() not in bytes_of(tmp_path)
    assert ledger.verify().is_sound


def test_a_hard_link_elsewhere_keeps_its_bytes_and_is_reported(tmp_path: Path) -> None:
    folder, backup = tmp_path / "ledger", tmp_path / "backup"
    write(folder, entry("a", content=MARKER), entry("b"))
    (path,) = segments(folder)
    os.link(path, backup)
    before = backup.read_bytes()
    assert Ledger(folder).remove(["a"]).linked_elsewhere
    assert backup.read_bytes() == before  # other replies are in it; it is for its owner to decide
    assert MARKER.encode() not in bytes_of(folder)


def test_a_damaged_segment_is_not_passed_over(tmp_path: Path) -> None:
    """What cannot be read may hold the reply."""
    write(tmp_path, entry("a"), entry("b"))
    (path,) = segments(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'{"v":2', b'{"v":2;', 1))
    with pytest.raises(LedgerError, match="line 1 is damaged"):
        Ledger(tmp_path).remove(["a"])


def test_only_one_process_removes_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, entry("a"))
    monkeypatch.setattr(ledger_upkeep, "UPKEEP_S", 0.1)
    with exclusive(tmp_path / ".upkeep", "another removal", 1):
        import threading

        found: list[BaseException] = []

        def remove() -> None:
            try:
                Ledger(tmp_path).remove(["a"])
            except DatabaseLocked as error:
                found.append(error)

        thread = threading.Thread(target=remove)
        thread.start()
        thread.join()
    assert "another removal" in str(found[0])
    assert Ledger(tmp_path).answered_keys() == {"a"}


def test_nothing_to_remove_from(tmp_path: Path) -> None:
    assert Ledger(tmp_path / "none").remove(["a"]) == Removal(1, 0, 0, False)
    assert not (tmp_path / "none").exists()
    write(tmp_path, entry("a"))
    with pytest.raises(LedgerError, match="empty request key"):
        Ledger(tmp_path).remove(["a", ""])


def test_half_a_line_of_the_record_is_written_anew(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), entry("b"))
    (tmp_path / "removals.jsonl").write_text('{"time": "2026-11-')
    Ledger(tmp_path).remove(["a"])
    assert len((tmp_path / "removals.jsonl").read_text().splitlines()) == 2
    (tmp_path / "removals.jsonl").write_text("no record\n")
    assert [problem.file for problem in Ledger(tmp_path).verify().problems] == ["removals.jsonl"]
