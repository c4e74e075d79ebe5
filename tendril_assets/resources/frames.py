"""Whether a frame fits a declared table, and the hash of its content."""

import hashlib

import numpy as np
import polars as pl

from tendril_assets.errors import SchemaMismatch
from tendril_assets.records import Table


def conform(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with exactly the table's columns, order and types.

    Raises:
        SchemaMismatch: columns missing or unknown, a value that does not fit its type, an empty value where none is
            allowed, or a key that occurs twice.
    """
    unknown = sorted(set(frame.columns) - set(table.schema))
    missing = sorted(set(table.schema) - set(frame.columns))
    if unknown or missing:
        raise SchemaMismatch(f"table {table.name}: columns missing {missing}, unknown {unknown}")
    try:
        typed = frame.select(list(table.schema)).cast(dict(table.schema), strict=True)
    except (pl.exceptions.InvalidOperationError, pl.exceptions.ComputeError):
        # What polars says quotes the values, and those may be texts of documents: errors are logged for good.
        raise SchemaMismatch(f"table {table.name}: {_misfits(table, frame)}") from None
    for column in table.columns:
        nulls = typed[column.name].null_count()
        if nulls and not column.nullable:
            raise SchemaMismatch(f"table {table.name}: {nulls} empty value(s) in {column.name}, which must be filled")
    repeated = typed.height - typed.select(table.key).n_unique() if typed.height else 0
    if repeated:
        # Raw text in a key is not for a log.
        named = [c.name for c in table.columns if c.name in table.key and not c.private]
        example = typed.filter(pl.struct(table.key).is_duplicated()).select(named).head(1).to_dicts()[0]
        raise SchemaMismatch(f"table {table.name}: {repeated} row(s) repeat a key, for example {example}")
    return typed


def _misfits(table: Table, frame: pl.DataFrame) -> str:
    """How many values do not fit, column by column; the first of them where it is a number."""
    told = []
    for name, kind in table.schema.items():
        found = frame[name]
        try:
            wrong = found.drop_nulls()
            wrong = wrong.filter(wrong.cast(kind, strict=False).is_null())
        except pl.exceptions.PolarsError:
            wrong = found  # no value of this type ever fits
        if len(wrong):
            example = f", such as {wrong[0]}" if wrong.dtype.is_numeric() else ""
            told.append(f"{len(wrong):,} value(s) of {name} are {found.dtype}{example}, and no {kind}")
    return "; ".join(told)


def content_hash(table: Table, frame: pl.DataFrame) -> str:
    """SHA-256 (first 32 hex digits) of the rows in key order: equal rows in another order give the same hash."""
    ordered = frame.select(list(table.schema)).sort(table.key).rechunk()
    digest = hashlib.sha256(repr(list(table.schema.items())).encode())
    for name in table.schema:
        column = ordered[name]
        if column.dtype == pl.List:
            column = column.cast(pl.List(pl.String)).list.join("\x1f", ignore_nulls=False)
        text = column.cast(pl.String)
        lengths = text.str.len_bytes().fill_null(2**32 - 1)
        digest.update(lengths.to_numpy().tobytes())
        digest.update(_joined(text.drop_nulls()))
    return digest.hexdigest()[:32]


def _joined(text: pl.Series) -> memoryview | bytes:
    """The UTF-8 of all values, one behind the other. Arrow's older form of a text column is just that, so none of them
    becomes a Python string."""
    array = text.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, values = array.buffers()
    if not len(array) or values is None:
        return b""
    ends = np.frombuffer(offsets, dtype=np.int64)
    return memoryview(values)[ends[array.offset] : ends[array.offset + len(array)]]
