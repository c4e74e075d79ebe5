import json
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tendril_assets.errors import LedgerError
from tendril_assets.resources import ledger_parquet
from tendril_assets.resources.ledger import Ledger, LedgerEntry
from tendril_assets.resources.ledger_entry import LINE_FIELDS, STATUSES
from tendril_assets.resources.ledger_files import LINES_PER_SEGMENT
from tendril_assets.resources.ledger_parquet import (
    ROWS,
    entries_of,
    exact_sum,
    read_footer,
    read_groups,
    read_lines,
    write,
)
from tendril_assets_tests.resources.entries import entry

# A line as version 1 wrote it: six fields fewer, and costs as text.
LINE_1 = (
    b'{"v":1,"sequence":1000000001,"request_key":"old","purpose":"judge","model":"toy/model","answered_model":null,'
    b'"provider":null,"status":"answered","http_status":200,"finish_reason":"stop","content":"2","prompt_tokens":5,'
    b'"completion_tokens":1,"cached_tokens":0,"cost":"0.00010","attempts":1,"seconds":0.25,'
    b'"called_at":"2026-11-29T20:00:00.000005","detail":null}\n'
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
counts = st.none() | st.integers(0, 10**12)
costs = st.none() | st.decimals(0, 10**9, places=None, allow_nan=False).filter(lambda cost: cost >= 0)
entries = st.builds(
    LedgerEntry,
    request_key=texts.filter(bool),
    purpose=texts,
    model=texts,
    status=st.sampled_from(STATUSES),
    attempts=st.integers(0, 1000),
    # The smallest are written with an exponent, in another way by each library.
    seconds=st.floats(0, 1e9).map(lambda seconds: round(seconds, 6)) | st.sampled_from([1e-6, 9.5e-05, 1e16]),
    called_at=st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    answered_model=st.none() | texts,
    provider=st.none() | texts,
    http_status=st.none() | st.integers(100, 999),
    finish_reason=st.none() | texts,
    content=st.none() | texts,
    prompt_tokens=counts,
    completion_tokens=counts,
    cached_tokens=counts,
    cost=costs,
    detail=st.none() | texts,
    reasoning_tokens=counts,
    cost_estimate=costs,
    reply_id=st.none() | texts,
    repeat=st.none() | texts,
    run=st.none() | texts,
)


def no_damage(place: int, reason: str) -> None:
    raise AssertionError(f"line {place}: {reason}")


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(entries, min_size=1, max_size=5))
def test_every_field_of_every_line_comes_back_from_parquet(tmp_path: Path, written: list[LedgerEntry]) -> None:
    segment, path = tmp_path / "segment", tmp_path / "file.parquet"
    lines = [one.to_line(number) for number, one in enumerate(written, start=1)]
    segment.write_bytes(b"".join(lines))
    assert write(path, read_lines(segment, no_damage), ["a", "b"]) == len(written)
    read = [one for rows in read_groups(path) for one in entries_of(rows)]
    # The lines are the reference: what the program reads without Parquet.
    assert read == [LedgerEntry.from_line(line) for line in lines]
    # Equal to the text: 0.10 and 0.1 are equal as numbers only.
    assert [one.to_line(one.sequence or 0) for one in read] == lines
    assert read_footer(path) == ledger_parquet.Footer(len(written), ("a", "b"))


def test_lines_of_version_1_keep_their_version_and_read_as_unknown_where_they_say_nothing(tmp_path: Path) -> None:
    segment, path = tmp_path / "segment", tmp_path / "file.parquet"
    segment.write_bytes(LINE_1 + entry("new").to_line(1000000002))
    write(path, read_lines(segment, no_damage), [])
    (rows,) = read_groups(path)
    assert rows["v"].to_list() == [1, 2]
    old, new = entries_of(rows)
    assert old == LedgerEntry.from_line(LINE_1)
    assert (old.run, old.cost_estimate, old.cost, new.request_key) == (None, None, Decimal("0.00010"), "new")


def test_the_columns_are_the_fields_of_a_line() -> None:
    assert tuple(json.loads(entry().to_line(1))) == LINE_FIELDS
    assert set(ROWS) == {"v", *(field.name for field in fields(LedgerEntry))} == set(LINE_FIELDS)


DAMAGED = {
    "another field": LINE_1.replace(b'"detail":null', b'"detail":null,"grade":2'),
    "a number as text": LINE_1.replace(b'"attempts":1', b'"attempts":"1"'),
    "a number with a fraction": LINE_1.replace(b'"prompt_tokens":5', b'"prompt_tokens":5.5'),
    "a number too large": LINE_1.replace(b'"http_status":200', b'"http_status":20000000000'),
    "no purpose": LINE_1.replace(b'"purpose":"judge"', b'"purpose":null'),
    "an unknown status": LINE_1.replace(b'"answered"', b'"done"'),
    "a negative cost": LINE_1.replace(b'"0.00010"', b'"-1"'),
    "a cost that is a number": LINE_1.replace(b'"0.00010"', b"true"),
    "another version": LINE_1.replace(b'{"v":1', b'{"v":9'),
    "no day": LINE_1.replace(b"2026-11-29", b"2026-02-30"),
    "half a line": LINE_1[:50] + b"\n",
    "no UTF-8": LINE_1.replace(b'"2"', b'"\xff"'),
    "nothing": b"\n",
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_a_line_that_is_no_entry_is_named_and_all_others_come_through(tmp_path: Path, damaged: bytes) -> None:
    segment = tmp_path / "segment"
    segment.write_bytes(entry("before").to_line(1) + damaged + entry("after").to_line(3))
    found: list[int] = []
    frames = list(read_lines(segment, lambda place, reason: found.append(place)))
    assert found == [2]
    assert pl.concat(frames).select("request_key", "place").rows() == [("before", 1), ("after", 3)]


def test_blocks_of_any_length_give_the_same_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = tmp_path / "segment"
    lines = [entry(f"k{i}", content="ü" * (50 * i), seconds=(1e-6, 0.5)[i % 2]).to_line(i + 1) for i in range(20)]
    segment.write_bytes(b"".join(lines) + b'{"v":2,')
    for size in (100, 501, 1000, 10**6):
        monkeypatch.setattr(ledger_parquet, "BLOCK_BYTES", size)
        rows = pl.concat(read_lines(segment, no_damage))
        assert [one.to_line(one.sequence or 0) for one in entries_of(rows)] == lines
        assert rows["place"].to_list() == list(range(1, 21))


@pytest.fixture
def compacted(tmp_path: Path) -> Path:
    with Ledger(tmp_path).writer() as writer:
        for i in range(200):
            writer.append(entry(f"k{i}", content=f"answer {i}"))
    Ledger(tmp_path).compact(everything=True)
    (path,) = tmp_path.glob("*.parquet")
    return path


def test_a_byte_that_changed_is_found_by_its_checksum(compacted: Path) -> None:
    data = bytearray(compacted.read_bytes())
    # Behind the magic number and the header of the first page, in its data.
    data[200] ^= 1
    compacted.write_bytes(data)
    (problem, *_) = Ledger(compacted.parent).verify().problems
    assert problem.file == compacted.name
    assert "row group 1 cannot be read" in problem.what


def test_a_file_cut_short_is_an_error_for_readers_and_named_by_verify(compacted: Path) -> None:
    compacted.write_bytes(compacted.read_bytes()[:-20])
    ledger = Ledger(compacted.parent)
    for read in (ledger.answered, ledger.frame, lambda: ledger.spent("r"), lambda: list(ledger.entries())):
        with pytest.raises(LedgerError, match=r"cannot be read .* Restore it from a copy"):
            read()
    assert [problem.file for problem in ledger.verify().problems] == [compacted.name]
    with pytest.raises(LedgerError, match="cannot be read"):
        ledger.compact(everything=True)


def test_a_file_of_a_newer_format_is_refused(compacted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_parquet, "FORMAT", 2)
    rows = list(read_groups(compacted))
    write(compacted.with_name("newer"), rows, [])
    monkeypatch.undo()
    compacted.with_name("newer").replace(compacted)
    with pytest.raises(LedgerError, match="format 2; this program reads format 1"):
        Ledger(compacted.parent).answered()


def test_a_file_that_does_not_read_back_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def corrupting(path: Path) -> list[pl.DataFrame]:
        return [rows.with_columns(content=pl.lit("other")) for rows in read_groups(path)]

    with Ledger(tmp_path).writer() as writer:
        writer.append(entry(content="as it came"))
    monkeypatch.setattr(ledger_parquet, "read_groups", corrupting)
    with pytest.raises(LedgerError, match="does not read back as it was written"):
        Ledger(tmp_path).compact(everything=True)
    monkeypatch.undo()
    assert not list(tmp_path.glob("*.p*"))
    assert [one.content for one in Ledger(tmp_path).entries()] == ["as it came"]


def test_sums_are_exact_whatever_the_length_of_the_amounts() -> None:
    # By hand; 28 digits, the default of Decimal, would round it.
    amounts = pl.Series(["1000000000000000000000", "0.000000000000000000000001", None, "0.1", "0.1"])
    assert exact_sum(amounts) == Decimal("1000000000000000000000.200000000000000000000001")
    assert exact_sum(pl.Series([], dtype=pl.String)) == 0


def test_sequences_stay_readable_as_segment_and_line(compacted: Path) -> None:
    (rows,) = read_groups(compacted)
    assert rows["sequence"].to_list() == [LINES_PER_SEGMENT + line for line in range(1, 201)]
