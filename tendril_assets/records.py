"""Record types shared by every stage: columns, tables and the closed vocabularies.

The tables themselves are declared in ``tables``.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import polars as pl

POLARS_TYPES: dict[str, pl.DataType] = {
    "VARCHAR": pl.String(),
    "BOOLEAN": pl.Boolean(),
    "TINYINT": pl.Int8(),
    "INTEGER": pl.Int32(),
    "BIGINT": pl.Int64(),
    "DOUBLE": pl.Float64(),
    "DATE": pl.Date(),
    "TIMESTAMP": pl.Datetime("us"),
    "DECIMAL(18,9)": pl.Decimal(18, 9),
    "VARCHAR[]": pl.List(pl.String()),
    "INTEGER[]": pl.List(pl.Int32()),
}


@dataclass(frozen=True)
class Column:
    """One column; ``private`` ones (raw tender text) are left out of the analysts' snapshot."""

    name: str
    type: str
    comment: str
    nullable: bool = False
    private: bool = False


@dataclass(frozen=True)
class Table:
    """A warehouse table: ``<collection>.<name>`` in DuckDB, ``<collection>/<name>`` as an asset key."""

    name: str
    stage: str
    comment: str
    key: tuple[str, ...]
    columns: tuple[Column, ...] = field(repr=False)

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """Polars schema, in column order."""
        return {c.name: POLARS_TYPES[c.type] for c in self.columns}

    def empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.schema)

    def frame(self, rows: list[dict] | list[tuple]) -> pl.DataFrame:
        """Rows (dicts, or tuples in column order) as a frame of exactly this table's types."""
        return pl.DataFrame(rows, schema=self.schema, orient="row")


def declare(name: str, stage: str, comment: str, key: str, columns: str) -> Table:
    """A table in compact notation: ``name TYPE[?][!] comment`` per line of ``columns``; ``?`` nullable, ``!`` private."""
    parsed = []
    for line in columns.strip().splitlines():
        column, kind, text = line.strip().split(None, 2)
        bare = kind.rstrip("?!")
        parsed.append(Column(column, bare, text, nullable="?" in kind, private="!" in kind))
    return Table(name, stage, comment, tuple(key.split()), tuple(parsed))


TIERS = ("validated_relevant", "unvalidated_relevant", "unsure", "irrelevant")
GRADES = (0, 1, 2)

# Types of publications on SIMAP, calls before decisions.
PubType = Literal[
    "advance_notice",
    "request_for_information",
    "tender",
    "competition",
    "study_contract",
    "selective_offering_phase",
    "participant_selection",
    "award",
    "direct_award",
    "revocation",
    "abandonment",
]
