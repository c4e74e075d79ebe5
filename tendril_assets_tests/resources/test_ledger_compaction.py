import threading
from decimal import Decimal
from pathlib import Path

import pytest

from tendril_assets.errors import LedgerError
from tendril_assets.resources import ledger_files, ledger_upkeep
from tendril_assets.resources.caps import Spent
from tendril_assets.resources.ledger import Compaction, Ledger, LedgerWriter
from tendril_assets.resources.ledger_files import LINES_PER_SEGMENT, list_files, segments
from tendril_assets_tests.resources.entries import entry, write


def compact(folder: Path) -> Compaction:
    return Ledger(folder).compact(everything=True)


def test_segments_become_one_file_and_everything_reads_as_before(tmp_path: Path) -> None:
    write(tmp_path, entry("a", cost=Decimal("0.10"), run="r1"), entry("b", "error", detail="<html>"))
    write(tmp_path, entry("c", purpose="calibration", cost_estimate=Decimal("1E-12"), attempts=3, run="r1"))
    ledger = Ledger(tmp_path)
    before = list(ledger.entries()), ledger.frame(), ledger.spent("r1"), set(ledger.answered("calibration"))
    done = ledger.compact(everything=True)
    assert (done.segments, done.files, done.entries, done.erased) == (2, 1, 3, True)
    assert not list(tmp_path.glob("*.jsonl"))
    after = Ledger(tmp_path)
    assert (list(after.entries()), after.spent("r1"), set(after.answered("calibration"))) == (before[0], *before[2:])
    assert after.frame().equals(before[1])
    assert before[2] == Spent(Decimal("0.100000000001"), 4)
    assert done.bytes_after == sum(path.stat().st_size for path in tmp_path.glob("*.parquet"))


def test_new_segments_follow_compacted_ones(tmp_path: Path) -> None:
    write(tmp_path, entry("a"))
    write(tmp_path, entry("b"))
    compact(tmp_path)
    write(tmp_path, entry("a", "error"))
    assert Ledger(tmp_path).frame()["sequence"].to_list() == [n * LINES_PER_SEGMENT + 1 for n in (1, 2, 3)]
    compact(tmp_path)
    assert [(part.first, part.last) for part in list_files(tmp_path).compacted] == [(1, 2), (3, 3)]
    assert Ledger(tmp_path).verify().is_sound
    assert compact(tmp_path) == Compaction()


def test_nothing_happens_below_the_threshold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(3):
        write(tmp_path, entry(f"k{n}", content="x" * 1000))
    assert Ledger(tmp_path).compact() == Compaction()
    assert len(segments(tmp_path)) == 3
    size = sum(path.stat().st_size for path in segments(tmp_path))
    assert ledger_upkeep.compact(tmp_path, size + 1, 4) == Compaction()
    assert ledger_upkeep.compact(tmp_path, size, 4).segments == 3
    for n in range(3):
        write(tmp_path, entry(f"m{n}"))
    assert ledger_upkeep.compact(tmp_path, 2**40, 3).segments == 3
    assert Ledger(tmp_path / "none").compact(everything=True) == Compaction()


def test_a_live_segment_stays_and_no_file_reaches_over_it(tmp_path: Path) -> None:
    write(tmp_path, entry("a"))
    with Ledger(tmp_path).writer() as writer:
        writer.append(entry("b"))
        write(tmp_path, entry("c"))
        done = compact(tmp_path)
        assert (done.segments, done.files) == (2, 2)
        writer.append(entry("d"))
        assert Ledger(tmp_path).frame()["request_key"].to_list() == ["a", "b", "d", "c"]
    assert Ledger(tmp_path).verify().is_sound
    compact(tmp_path)
    assert [(part.first, part.last) for part in list_files(tmp_path).parts] == [(1, 1), (2, 2), (3, 3)]
    assert Ledger(tmp_path).frame()["request_key"].to_list() == ["a", "b", "d", "c"]


def test_a_reader_with_an_open_scan_sees_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, *(entry(f"a{i}") for i in range(10)))
    write(tmp_path, *(entry(f"b{i}") for i in range(10)))
    reader = Ledger(tmp_path).entries()
    read = [next(reader).request_key]
    monkeypatch.setattr(ledger_upkeep, "_GLANCE_S", 0.05)
    assert not compact(tmp_path).erased
    # Whoever looks now sees every entry once, though the segments are still there.
    assert len(segments(tmp_path)) == 0
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    assert len(list(Ledger(tmp_path).entries())) == 20
    assert Ledger(tmp_path).verify().left_over == 2
    read += [one.request_key for one in reader]
    assert read == [f"{part}{i}" for part in "ab" for i in range(10)]
    Ledger(tmp_path)
    assert not list(tmp_path.glob("*.jsonl"))
    assert len(list(Ledger(tmp_path).entries())) == 20


def test_a_file_of_another_ledger_is_not_taken_for_a_replaced_one(tmp_path: Path) -> None:
    """Two ledgers copied into one folder: their numbers clash, their names do not, and no answer is thrown away."""
    write(tmp_path / "one", entry("a"))
    compact(tmp_path / "one")
    write(tmp_path / "other", entry("b"))
    (path,) = segments(tmp_path / "other")
    path.rename(tmp_path / "one" / path.name)
    ledger = Ledger(tmp_path / "one")
    assert ledger.answered_keys() == {"a", "b"}
    (problem,) = ledger.verify().problems
    assert "same segment numbers" in problem.what


def test_a_damaged_line_stops_the_compaction_and_nothing_changes(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), entry("b"))
    (path,) = segments(tmp_path)
    data = path.read_bytes().replace(b'"request_key":"b"', b'"request_key":12')
    path.write_bytes(data)
    with pytest.raises(LedgerError, match=r"line 2 is damaged .* the file stays as it is"):
        compact(tmp_path)
    assert path.read_bytes() == data
    assert list(tmp_path.glob(".*partial")) == list(tmp_path.glob("*.parquet")) == []


def test_a_half_line_of_a_killed_writer_is_taken_off_first(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), entry("b"))
    (path,) = segments(tmp_path)
    ledger = Ledger(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"v":2,"sequ')
    assert ledger.compact(everything=True).entries == 2


def test_empty_segments_are_no_reason_to_compact(tmp_path: Path) -> None:
    write(tmp_path, entry("a"))
    path = segments(tmp_path)[0]
    path.with_name(path.name.replace("000001", "000002")).touch()  # begun, and killed before the first answer
    assert compact(tmp_path).segments == 2
    assert Ledger(tmp_path).verify().entries == 1
    path.with_name(path.name.replace("000001", "000003")).touch()
    assert compact(tmp_path) == Compaction()


def test_what_was_replaced_is_overwritten_and_not_only_unlinked(tmp_path: Path) -> None:
    write(tmp_path, entry(content="secret"))
    (path,) = segments(tmp_path)
    with path.open("rb") as still_open:
        compact(tmp_path)
        assert set(still_open.read()) == {0}


def test_answered_is_kept_for_sealed_files_and_read_again_for_live_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, entry("a"))
    compact(tmp_path)
    ledger = Ledger(tmp_path)
    with ledger.writer() as writer:
        writer.append(entry("b"))
        assert set(ledger.answered()) == {"a", "b"}
        writer.append(entry("c"), entry("c", "error"))
        assert set(ledger.answered()) == {"a", "b", "c"}
    assert sorted(ledger.answered()) == ["a", "b", "c"]
    ledger.remove(["a"])
    assert set(ledger.answered()) == {"b", "c"}
    assert ledger.answered("calibration").len() == 0


def test_frames_of_some_keys_and_of_a_purpose(tmp_path: Path) -> None:
    import polars as pl

    for purpose in ("judge", "calibration"):
        write(tmp_path, *(entry(f"{purpose} {i}", purpose=purpose) for i in range(3)))
        if purpose == "judge":
            compact(tmp_path)
    ledger, keys = Ledger(tmp_path), pl.Series(["judge 2", "calibration 0", "none"])
    assert ledger.frame(keys)["request_key"].to_list() == ["judge 2", "calibration 0"]
    assert ledger.frame(keys, "calibration")["request_key"].to_list() == ["calibration 0"]
    assert ledger.frame(purpose="judge").height == 3
    assert ledger.frame(pl.Series([], dtype=pl.String)).schema == ledger.frame().schema
    assert [one.request_key for one in ledger.entries(["judge 1"])] == ["judge 1"]


def test_readers_writers_and_compactions_at_once(tmp_path: Path) -> None:
    """What a reader sees is all that was acknowledged before it looked, once each, while files come and go."""
    acknowledged: list[str] = []
    stopping, looked = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def writing() -> None:
        for part in range(40):
            if part == 20:
                looked.wait(60)  # else a busy machine may have written everything before anybody looks
            with LedgerWriter(tmp_path, segment_bytes=2000) as writer:
                for i in range(20):
                    writer.append(entry(f"{part}-{i}"))
                    acknowledged.append(f"{part}-{i}")
        stopping.set()

    def compacting() -> None:
        while not stopping.is_set():
            compact(tmp_path)

    def guarded(work: object) -> None:
        try:
            work()  # type: ignore[operator]
        except BaseException as error:
            failures.append(error)
            stopping.set()

    write(tmp_path, entry("first"))
    threads = [threading.Thread(target=guarded, args=(work,)) for work in (writing, compacting)]
    for thread in threads:
        thread.start()
    ledger, looks = Ledger(tmp_path), 0
    while not stopping.is_set():
        before = set(acknowledged)
        seen = [one.request_key for one in ledger.entries()]
        assert len(seen) == len(set(seen))
        assert before <= set(seen)
        assert before <= set(Ledger(tmp_path).answered())
        looks += 1
        if looks > 2:
            looked.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert looks > 2
    compact(tmp_path)
    report = Ledger(tmp_path).verify()
    assert (report.entries, report.is_sound, report.answered_twice) == (801, True, 0)


def test_no_room_for_the_new_file_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, entry("a"))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ledger_upkeep.os, "replace", full)
    with pytest.raises(LedgerError, match=r"No space left on device\): nothing has changed"):
        compact(tmp_path)
    monkeypatch.undo()
    assert not list(tmp_path.glob(".*partial"))
    assert Ledger(tmp_path).answered_keys() == {"a"}


def test_a_folder_without_the_lock_of_readers_can_still_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, entry("a"))
    monkeypatch.setattr(ledger_files, "_open_reading_lock", lambda folder: None)
    assert Ledger(tmp_path).answered_keys() == {"a"}
