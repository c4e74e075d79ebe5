"""Whether every entry of a ledger can be read and fits the others; damage is reported with its place, not raised."""

import decimal
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import polars as pl

from tendril_assets.errors import LedgerError
from tendril_assets.resources.ledger_entry import FINAL_STATUSES
from tendril_assets.resources.ledger_files import (
    LINES_PER_SEGMENT,
    Compacted,
    Segment,
    is_live,
    reading,
    whole_bytes,
)
from tendril_assets.resources.ledger_parquet import EXACT, UNSOUND, exact_sum, read_groups, read_lines, unsound
from tendril_assets.resources.ledger_upkeep import read_removals

# Places named for each kind of trouble in one file; the count says how many there are.
PLACES = 20


@dataclass(frozen=True)
class Problem:
    """``file``: its name; ``place``: line of a segment, or row of a Parquet file, where there is one."""

    file: str
    place: int | None
    what: str

    def __str__(self) -> str:
        where = "row" if self.file.endswith(".parquet") else "line"
        return f"{self.file}{'' if self.place is None else f', {where} {self.place}'}: {self.what}"


@dataclass(frozen=True)
class Group:
    """Entries of one status and model, and their money in USD. ``unknown_costs``: entries without a known cost;
    ``estimates``: what those cost by token prices, as far as these are known."""

    status: str
    model: str
    entries: int
    known_cost: Decimal
    unknown_costs: int
    estimates: Decimal


@dataclass(frozen=True)
class LedgerReport:
    """What ``Ledger.verify`` found. ``segments`` counts JSONL files, ``live`` those among them that are being written,
    ``compacted`` Parquet files. ``answered_twice``: final entries of a request, with one label of repeat, beyond its
    first; that is money, not damage, and ``twice`` names up to 20 places. ``left_over``: replaced files that could not
    be erased yet."""

    segments: int
    live: int
    compacted: int
    bytes: int
    groups: tuple[Group, ...] = ()
    known_cost: Decimal = Decimal(0)
    answered_twice: int = 0
    twice: tuple[Problem, ...] = ()
    left_over: int = 0
    removals: int = 0
    problems: tuple[Problem, ...] = field(default=())

    @property
    def is_sound(self) -> bool:
        return not self.problems

    @property
    def entries(self) -> int:
        return sum(group.entries for group in self.groups)

    @property
    def by_status(self) -> dict[str, int]:
        statuses = sorted({group.status for group in self.groups})
        return {status: sum(g.entries for g in self.groups if g.status == status) for status in statuses}

    @property
    def unknown_costs(self) -> int:
        return sum(group.unknown_costs for group in self.groups)

    @property
    def estimates(self) -> Decimal:
        return sum((group.estimates for group in self.groups), Decimal(0))


def verify(folder: Path) -> LedgerReport:
    """Read every line and every row; see ``Ledger.verify``."""
    # Sums beyond 28 digits are exact too.
    with reading(folder) as listing, decimal.localcontext(EXACT):
        check = _Check()
        for path, reason in listing.unreadable:
            check.problem(path.name, None, reason)
        last: Segment | Compacted | None = None
        live = size = 0
        for part in listing.parts:
            if last is not None and part.first <= last.last:
                check.problem(part.path.name, None, f"covers the same segment numbers as {last.path.name}")
            last = part
            size += part.path.stat().st_size
            if isinstance(part, Segment):
                live += check.segment(part)
            else:
                check.compacted(part)
        twice = check.answered_twice([part.path.name for part in listing.parts])
        removals = _removals(folder, check)
        groups = check.groups()
        if (total := sum((group.known_cost for group in groups), Decimal(0))) != check.known_cost:
            check.problem("all files", None, f"costs by status and model add up to {total}, not to {check.known_cost}")
        return LedgerReport(
            segments=len(listing.segments),
            live=live,
            compacted=len(listing.compacted),
            bytes=size,
            groups=groups,
            known_cost=check.known_cost,
            answered_twice=twice.height,
            twice=tuple(
                Problem(file, place, "a request that an earlier line has answered")
                for file, place in twice.head(PLACES).iter_rows()
            ),
            left_over=len(listing.superseded) + len(listing.partial),
            removals=removals,
            problems=tuple(check.problems),
        )


class _Check:
    """Running totals over the files in their order."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.known_cost = Decimal(0)
        self._money: defaultdict[tuple[str, str], list[pl.DataFrame]] = defaultdict(list)
        self._finals: list[pl.DataFrame] = []
        self._files = 0

    def problem(self, file: str, place: int | None, what: str) -> None:
        self.problems.append(Problem(file, place, what))

    def segment(self, part: Segment) -> bool:
        """Check a segment; returns whether it is being written."""
        # Liveness first: a segment that was sealed before its length was taken cannot grow any more.
        live, whole, size = is_live(part.path), whole_bytes(part.path), part.path.stat().st_size
        if whole < size and not live:
            self.problem(part.path.name, None, f"ends in half a line of {size - whole} bytes")
        before = part.first * LINES_PER_SEGMENT
        damaged: list[Problem] = []
        for rows in read_lines(part.path, lambda place, why: damaged.append(Problem(part.path.name, place, why))):
            before = self._rows(part, rows, before)
        self.problems += damaged
        self._files += 1
        return live

    def compacted(self, part: Compacted) -> None:
        before, read = part.first * LINES_PER_SEGMENT, 0
        try:
            for rows in read_groups(part.path):
                rows = rows.with_row_index("place", read + 1)
                read += rows.height
                bad = unsound(rows)
                for place in bad["place"].head(PLACES):
                    self.problem(part.path.name, place, UNSOUND)
                before = self._rows(part, rows.join(bad, on="place", how="anti", maintain_order="left"), before)
        except LedgerError as error:
            self.problem(part.path.name, None, str(error))
        else:
            if read != part.footer.rows:
                self.problem(part.path.name, None, f"holds {read:,} rows where its footer says {part.footer.rows:,}")
        self._files += 1

    def _rows(self, part: Segment | Compacted, rows: pl.DataFrame, before: int) -> int:
        """Check sequences and add up; returns the last sequence."""
        if rows.is_empty():
            return before
        earlier = pl.col("sequence").shift(1, fill_value=before)
        number = pl.col("sequence") // LINES_PER_SEGMENT
        wrong = (pl.col("sequence") <= earlier) | ~number.is_between(part.first, part.last)
        for place, sequence in rows.filter(wrong).head(PLACES).select("place", "sequence").iter_rows():
            self.problem(part.path.name, place, f"sequence {sequence} is out of order or of another segment")
        self.known_cost += exact_sum(rows["cost"])
        for (status, model), group in rows.select("status", "model", "cost", "cost_estimate").group_by(
            "status", "model"
        ):
            self._money[status, model].append(group.select("cost", "cost_estimate"))
        final = pl.col("status").is_in(FINAL_STATUSES)
        self._finals.append(
            rows.filter(final).select(
                # A hash instead of the texts: 16 bytes for each final entry of the whole ledger.
                pl.struct("request_key", "repeat").hash(seed=0).alias("a"),
                pl.struct("request_key", "repeat").hash(seed=1).alias("b"),
                pl.lit(self._files, pl.UInt32).alias("file"),
                pl.col("place").cast(pl.UInt32),
            )
        )
        return int(rows["sequence"][-1])

    def answered_twice(self, names: list[str]) -> pl.DataFrame:
        """``file`` and ``place`` of each final entry that is not the first of its request and repeat."""
        if not self._finals:
            return pl.DataFrame(schema={"file": pl.String(), "place": pl.UInt32()})
        finals = pl.concat(self._finals)
        again = finals.filter(~pl.struct("a", "b").is_first_distinct())
        return again.select(pl.col("file").replace_strict(dict(enumerate(names)), return_dtype=pl.String), "place")

    def groups(self) -> tuple[Group, ...]:
        found = []
        for (status, model), parts in sorted(self._money.items()):
            money = pl.concat(parts)
            known, unknown = exact_sum(money["cost"]), money["cost"].null_count()
            found.append(Group(status, model, money.height, known, unknown, exact_sum(money["cost_estimate"])))
        return tuple(found)


def _removals(folder: Path, check: _Check) -> int:
    try:
        records = read_removals(folder)
    except LedgerError as error:
        check.problem("removals.jsonl", None, str(error))
        return 0
    states = {record.get("sha256"): record.get("state") for record in records}
    for state in states.values():
        if state != "done":
            check.problem("removals.jsonl", None, "a removal was begun and not finished: run it again")
    return sum(record.get("state") == "done" for record in records)
