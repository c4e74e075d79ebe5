import json
import os
import shutil
import threading
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tendril_assets.errors import LedgerError
from tendril_assets.resources import ledger_writer
from tendril_assets.resources.ledger import Ledger, LedgerEntry, LedgerWriter
from tendril_assets.resources.ledger_files import LINES_PER_SEGMENT, segments
from tendril_assets.tables import TABLES
from tendril_assets_tests.resources.entries import MOMENT, entry, write


def test_an_entry_comes_back_with_exactly_the_columns_of_judge_calls(tmp_path: Path) -> None:
    write(
        tmp_path,
        entry(
            answered_model="toy/model-2",
            provider="p",
            http_status=200,
            finish_reason="stop",
            content="2\nmit „Umlauten“ ü",
            prompt_tokens=500,
            completion_tokens=3,
            cached_tokens=100,
            cost=Decimal("0.000123"),
        ),
    )
    frame = Ledger(tmp_path).frame()
    assert frame.schema == pl.Schema(TABLES["judge_calls"].schema)
    row = frame.row(0, named=True)
    assert row["sequence"] == LINES_PER_SEGMENT + 1  # line 1 of segment 1
    assert row["cost"] == Decimal("0.000123")
    assert row["content"] == "2\nmit „Umlauten“ ü"
    assert row["called_at"] == MOMENT.replace(tzinfo=None)
    assert (row["prompt_tokens"], row["completion_tokens"], row["cached_tokens"]) == (500, 3, 100)


def test_unknown_and_free_costs_differ_and_sums_are_exact(tmp_path: Path) -> None:
    write(
        tmp_path,
        entry("a", cost=Decimal("0.1")),
        entry("b", cost=Decimal("0.2")),
        entry("c", cost=Decimal(0)),
        entry("d"),
    )
    frame = Ledger(tmp_path).frame()
    assert frame["cost"].to_list() == [Decimal("0.1"), Decimal("0.2"), Decimal(0), None]
    report = Ledger(tmp_path).verify()
    assert report.known_cost == Decimal("0.3")  # as floats 0.1 + 0.2 is 0.30000000000000004
    assert report.unknown_costs == 1


def test_costs_are_text_in_the_file(tmp_path: Path) -> None:
    write(tmp_path, entry(cost=Decimal("1E-7")))
    (line,) = segments(tmp_path)[0].read_bytes().splitlines()
    assert json.loads(line)["cost"] == "0.0000001"


def test_an_empty_or_missing_folder_is_an_empty_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "none")
    assert ledger.frame().equals(TABLES["judge_calls"].empty())
    assert ledger.answered_keys() == set()
    assert list(ledger.entries()) == []
    assert not (tmp_path / "none").exists()


def test_answered_are_the_final_statuses_of_the_purpose(tmp_path: Path) -> None:
    write(
        tmp_path,
        entry("answered"),
        entry("truncated", "truncated"),
        entry("filtered", "filtered"),
        entry("empty", "empty"),
        entry("error", "error"),
        entry("bad", "bad_body"),
        entry("later", "error"),
        entry("later"),
        entry("summary", purpose="area_summary"),
    )
    ledger = Ledger(tmp_path)
    assert ledger.answered_keys() == {"answered", "truncated", "filtered", "later", "summary"}
    assert ledger.answered_keys("judge") == {"answered", "truncated", "filtered", "later"}
    assert ledger.answered_keys("calibration") == set()


def test_segments_are_numbered_and_sequences_grow_over_them(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), entry("b"))
    write(tmp_path, entry("a", "error"))
    assert [e.sequence - LINES_PER_SEGMENT for e in Ledger(tmp_path).entries()] == [1, 2, LINES_PER_SEGMENT + 1]
    assert Ledger(tmp_path).frame()["request_key"].to_list() == ["a", "b", "a"]


def test_taking_a_line_out_renumbers_nothing(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), entry("b"), entry("c"))
    (path,) = segments(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    assert [e.sequence % LINES_PER_SEGMENT for e in Ledger(tmp_path).entries()] == [1, 3]


def test_a_writer_without_entries_leaves_no_segment(tmp_path: Path) -> None:
    write(tmp_path)
    assert segments(tmp_path) == []


def test_a_full_segment_is_sealed_and_another_begun(tmp_path: Path) -> None:
    with LedgerWriter(tmp_path, segment_bytes=1000) as writer:
        for i in range(10):
            writer.append(entry(f"k{i}"))
    assert len(segments(tmp_path)) > 1
    assert Ledger(tmp_path).frame()["request_key"].to_list() == [f"k{i}" for i in range(10)]


def test_several_entries_go_out_in_one_call_and_the_last_sequence_comes_back(tmp_path: Path) -> None:
    with Ledger(tmp_path).writer() as writer:
        assert writer.append(entry("a"), entry("b"), entry("c")) % LINES_PER_SEGMENT == 3
    assert len(list(Ledger(tmp_path).entries())) == 3


def test_two_writers_at_once_have_a_segment_each(tmp_path: Path) -> None:
    with Ledger(tmp_path).writer() as first, Ledger(tmp_path).writer() as second:
        threads = [
            threading.Thread(target=lambda w=w, n=n: [w.append(entry(f"{n}-{i}")) for i in range(200)])
            for n, w in enumerate((first, second))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(segments(tmp_path)) == 2
    assert Ledger(tmp_path).frame()["sequence"].n_unique() == 400


def test_a_live_segment_can_be_read_and_is_not_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_writer, "SYNC_SECONDS", 600.0)  # the writer looks at its file only when it closes
    with Ledger(tmp_path).writer() as writer:
        writer.append(entry("a"))
        (path,) = segments(tmp_path)
        with path.open("ab") as stream:  # what a reader may see of a line that is just being written
            stream.write(b'{"v":1,"seq')
        reader = Ledger(tmp_path)
        assert reader.torn_lines == 0
        assert reader.answered_keys() == {"a"}
        assert reader.frame().height == 1
        assert Ledger(tmp_path).verify().is_sound
        assert path.read_bytes().endswith(b'{"v":1,"seq')
        os.truncate(path, path.stat().st_size - len(b'{"v":1,"seq'))


def test_a_line_cut_short_is_taken_off_and_counted(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), entry("b"))
    (path,) = segments(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + whole.splitlines(keepends=True)[0][:40])
    assert not _report_without_repair(tmp_path).is_sound
    assert Ledger(tmp_path).torn_lines == 1
    assert path.read_bytes() == whole
    assert Ledger(tmp_path).torn_lines == 0


def _report_without_repair(folder: Path):
    ledger = Ledger(folder / "none")
    ledger.folder = folder
    return ledger.verify()


def test_a_last_line_that_lacks_only_its_newline_is_kept(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), entry("b"))
    (path,) = segments(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    ledger = Ledger(tmp_path)
    assert ledger.torn_lines == 0
    assert ledger.answered_keys() == {"a", "b"}
    assert path.read_bytes().endswith(b"}\n")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 2000))
def test_a_file_cut_at_any_byte_keeps_every_whole_line(tmp_path: Path, cut: int) -> None:
    shutil.rmtree(tmp_path)
    write(tmp_path, *(entry(f"k{i}", content="ü" * i) for i in range(4)))
    (path,) = segments(tmp_path)
    data = path.read_bytes()[:cut]
    path.write_bytes(data)
    tail = data.rpartition(b"\n")[2]
    # A line is whole, too, where only its newline is missing.
    assert Ledger(tmp_path).frame().height == data.count(b"\n") + tail.endswith(b"}")
    write(tmp_path, entry("after"))
    assert "after" in Ledger(tmp_path).answered_keys()
    assert Ledger(tmp_path).verify().is_sound


@pytest.mark.parametrize("damage", [b"not json\n", b"\0\0\0\0\n", b'{"v":1}\n', b"[1]\n", b'{"v":1,"sequence":"x"}\n'])
def test_a_damaged_line_inside_is_an_error_that_names_file_and_line(tmp_path: Path, damage: bytes) -> None:
    write(tmp_path, entry("a"), entry("b"))
    (path,) = segments(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage + lines[1])
    ledger = Ledger(tmp_path)
    assert [(p.file, p.place) for p in ledger.verify().problems] == [(path.name, 2)]
    with pytest.raises(LedgerError, match=f"{path.name}, line 2 is damaged"):
        list(ledger.entries())
    if damage != b'{"v":1}\n':  # a line of nulls can be told from an entry only by reading it in full
        with pytest.raises(LedgerError, match="line 2 is damaged"):
            ledger.frame()


def test_a_line_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    write(tmp_path, entry("a"))
    (path,) = segments(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'{"v":2', b'{"v":3'))
    with pytest.raises(LedgerError, match="schema version 3; this program reads versions up to 2"):
        Ledger(tmp_path).answered_keys()


def test_lone_surrogates_and_nul_reach_no_reader_as_errors(tmp_path: Path) -> None:
    write(tmp_path, entry(content="Holz\ud800 FSC\x00", detail="\udfff"))
    assert Ledger(tmp_path).frame()["content"].to_list() == ["Holz\ufffd FSC\x00"]


def test_details_keep_500_characters(tmp_path: Path) -> None:
    write(tmp_path, entry(status="error", detail="x" * 900))
    (read,) = Ledger(tmp_path).entries()
    assert read.detail == "x" * 500


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "done"},
        {"request_key": ""},
        {"cost": Decimal(-1)},
        {"cost": Decimal("NaN")},
        {"called_at": datetime(2026, 1, 1)},
    ],
)
def test_impossible_entries_are_refused(wrong: dict[str, object]) -> None:
    fields = {"request_key": "k", "purpose": "judge", "model": "m", "status": "answered", "attempts": 1, "seconds": 0.0}
    with pytest.raises(ValueError, match=r"status|key|cost|zone"):
        LedgerEntry(**{**fields, "called_at": MOMENT, **wrong})


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@settings(max_examples=50, deadline=None)
@given(
    content=st.none() | texts,
    cost=st.none() | st.decimals(0, 10**6, places=12),
    seconds=st.floats(0, 1e4),
    moment=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
)
def test_any_entry_survives_its_line(
    content: str | None, cost: Decimal | None, seconds: float, moment: datetime
) -> None:
    before = entry(content=content, cost=cost, seconds=round(seconds, 6), called_at=moment)
    line = before.to_line(7)
    assert line.count(b"\n") == 1
    after = LedgerEntry.from_line(line)
    assert (after.content, after.cost, after.seconds, after.called_at) == (content, cost, before.seconds, moment)
    assert after.sequence == 7


def test_verify_counts(tmp_path: Path) -> None:
    write(tmp_path, entry("a", cost=Decimal("0.5")), entry("a"), entry("b", "error"))
    report = Ledger(tmp_path).verify()
    assert (report.entries, report.answered_twice, report.segments) == (3, 1, 1)
    assert report.by_status == {"answered": 2, "error": 1}
    assert report.bytes == sum(path.stat().st_size for path in segments(tmp_path))
