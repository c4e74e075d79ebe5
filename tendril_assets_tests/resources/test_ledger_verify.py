from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import LedgerError
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.ledger_files import LINES_PER_SEGMENT, list_files, segments
from tendril_assets.resources.ledger_parquet import read_groups
from tendril_assets.resources.ledger_parquet import write as write_parquet
from tendril_assets.resources.ledger_verify import Group, Problem
from tendril_assets_tests.resources.entries import entry, write

FIRST = LINES_PER_SEGMENT + 1


@pytest.mark.parametrize("compacted", [False, True])
def test_money_is_added_up_by_status_and_model(tmp_path: Path, compacted: bool) -> None:
    write(
        tmp_path,
        entry("a", cost=Decimal("0.1")),
        entry("b", cost=Decimal("0.2"), cost_estimate=Decimal("0.05")),
        entry("c", "error", cost_estimate=Decimal("0.01")),
        entry("d", "error"),
        entry("e", model="other/model", cost=Decimal(0)),
    )
    if compacted:
        Ledger(tmp_path).compact(everything=True)
    report = Ledger(tmp_path).verify()
    assert report.groups == (
        Group("answered", "other/model", 1, Decimal(0), 0, Decimal(0)),
        Group("answered", "toy/model", 2, Decimal("0.3"), 0, Decimal("0.05")),
        Group("error", "toy/model", 2, Decimal(0), 2, Decimal("0.01")),
    )
    assert (report.known_cost, report.unknown_costs, report.estimates) == (Decimal("0.3"), 2, Decimal("0.06"))
    assert report.by_status == {"answered": 3, "error": 2}
    assert (report.segments, report.compacted) == ((0, 1) if compacted else (1, 0))


@pytest.mark.parametrize("compacted", [False, True])
def test_a_request_that_was_answered_twice_is_named_and_a_repeat_is_not(tmp_path: Path, compacted: bool) -> None:
    write(tmp_path, entry("a"), entry("b", "error"), entry("b"), entry("a", repeat="2"))
    write(tmp_path, entry("c"), entry("a", "truncated"))
    if compacted:
        Ledger(tmp_path).compact(everything=True)
    report = Ledger(tmp_path).verify()
    assert report.answered_twice == 1
    (again,) = report.twice
    assert again.place == (6 if compacted else 2)
    assert again.file == list_files(tmp_path).parts[-1].path.name
    assert report.is_sound  # money was lost, but nothing is damaged


def rewritten(folder: Path, change: dict[str, pl.Expr]) -> str:
    """Compact a ledger of four entries and change the second row; the name of its file."""
    write(folder, *(entry(f"k{i}", cost=Decimal("0.1")) for i in range(4)))
    Ledger(folder).compact(everything=True)
    (path,) = folder.glob("*.parquet")
    (rows,) = read_groups(path)
    second = pl.col("sequence") == FIRST + 1
    changed = rows.with_columns(**{n: pl.when(second).then(v).otherwise(n) for n, v in change.items()})
    write_parquet(path, [changed], [])
    return path.name


@pytest.mark.parametrize(
    "change",
    [
        {"status": pl.lit("done")},
        {"v": pl.lit(7)},
        {"v": pl.lit(None)},
        {"cost": pl.lit("-1")},
        {"cost": pl.lit("NaN")},
        {"request_key": pl.lit("")},
        {"model": pl.lit(None)},
    ],
    ids=str,
)
def test_a_row_that_no_line_could_have_been_is_named(tmp_path: Path, change: dict[str, pl.Expr]) -> None:
    name = rewritten(tmp_path, change)
    (problem,) = Ledger(tmp_path).verify().problems
    assert (problem.file, problem.place) == (name, 2)
    assert str(problem).startswith(f"{name}, row 2: ")


@pytest.mark.parametrize("sequence", [FIRST, FIRST + 2, 5 * LINES_PER_SEGMENT])
def test_a_row_out_of_sequence_is_named(tmp_path: Path, sequence: int) -> None:
    rewritten(tmp_path, {"sequence": pl.lit(sequence)})
    assert {problem.place for problem in Ledger(tmp_path).verify().problems} <= {2, 3}
    assert not Ledger(tmp_path).verify().is_sound


def test_lines_out_of_sequence_are_named(tmp_path: Path) -> None:
    write(tmp_path, *(entry(f"k{i}") for i in range(4)))
    (path,) = segments(tmp_path)
    first, second, third, fourth = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(second + first + fourth + fourth + third)
    problems = Ledger(tmp_path).verify().problems
    assert [problem.place for problem in problems] == [2, 4, 5]
    assert "out of order" in problems[0].what


def test_a_copy_of_a_segment_doubles_its_numbers_and_its_answers(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), entry("b"))
    (path,) = segments(tmp_path)
    copy = path.with_name(path.name.replace("segment-2", "segment-3"))
    copy.write_bytes(path.read_bytes())
    report = Ledger(tmp_path).verify()
    assert [problem.file for problem in report.problems] == [copy.name]
    assert report.answered_twice == 2


def test_a_footer_that_counts_other_rows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tendril_assets.resources import ledger_parquet

    write(tmp_path, entry("a"), entry("b"))
    Ledger(tmp_path).compact(everything=True)
    (path,) = tmp_path.glob("*.parquet")
    found = ledger_parquet.Footer(3, ())
    monkeypatch.setattr(ledger_parquet, "_read_footer", lambda *_: found)
    (problem,) = Ledger(tmp_path).verify().problems
    assert problem == Problem(path.name, None, "holds 2 rows where its footer says 3")


def test_half_a_line_is_damage_in_a_sealed_segment_only(tmp_path: Path) -> None:
    write(tmp_path, entry("a"))
    with Ledger(tmp_path).writer() as writer:
        writer.append(entry("b"))
        report = Ledger(tmp_path).verify()
        assert (report.segments, report.live, report.entries, report.is_sound) == (2, 1, 2, True)


def test_many_places_are_named_and_all_are_counted(tmp_path: Path) -> None:
    write(tmp_path, *(entry("a") for _ in range(30)))
    report = Ledger(tmp_path).verify()
    assert report.answered_twice == 29
    assert len(report.twice) == 20


def test_a_cost_that_cannot_be_added_up_is_an_error_of_the_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    with ledger.writer() as writer:
        for key, cost in (("a", "1"), ("b", "1e-5000")):
            writer.append(entry(key, cost=Decimal(cost), run="r1"))
    with pytest.raises(LedgerError, match="cannot be added up"):
        ledger.spent("r1")
    with pytest.raises(LedgerError, match="cannot be added up"):
        ledger.verify()


@pytest.mark.parametrize(
    "name",
    ["compacted-000001-000002-20261130T120000000000Z.parquet", "segment-20261130T120000000000Z-1-000009.jsonl"],
)
def test_a_link_to_a_file_that_is_gone_is_told_as_damage(tmp_path: Path, name: str) -> None:
    write(tmp_path, entry("a"))
    (tmp_path / name).symlink_to(tmp_path / "gone")
    problems = Ledger(tmp_path).verify().problems
    assert [(problem.file, problem.what) for problem in problems] == [(name, "it is a link to a file that is gone")]
    for read in (Ledger(tmp_path).answered, Ledger(tmp_path).frame, lambda: Ledger(tmp_path).compact(everything=True)):
        with pytest.raises(LedgerError, match=f"{name} cannot be read"):
            read()
