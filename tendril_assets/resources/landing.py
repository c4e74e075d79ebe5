"""Reading landing files: every mistake names the file and the row, and what is expected there.

Rows are counted as a person sees them in an editor: the header of a CSV or TSV file is row 1.
"""

import csv
import datetime as dt
import io
import json
import unicodedata
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import yaml
from pydantic import BaseModel, ValidationError

from tendril_assets.corpus.removals import shape_problem
from tendril_assets.errors import LandingError
from tendril_assets.records import Column, Table
from tendril_assets.strict_yaml import StrictLoader, yaml_problem
from tendril_assets.tables import TABLES

MAX_SHOWN = 5
_LONGEST_SHOWN, _MOST_WORDS_SHOWN = 40, 3
ModelT = TypeVar("ModelT", bound=BaseModel)


class Problems:
    """Collects mistakes of one file, so that one run shows several of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: list[str] = []

    def add(self, row: int | None, text: str) -> None:
        self.found.append(f"row {row}: {text}" if row else text)

    def raise_if_any(self) -> None:
        if self.found:
            shown = "; ".join(self.found[:MAX_SHOWN])
            more = f"; and {len(self.found) - MAX_SHOWN} more" if len(self.found) > MAX_SHOWN else ""
            raise LandingError(
                f"{self.path}: {shown}{more}. Correct the file and materialise again; nothing was changed."
            )


class Faults:
    """Collects the errors of independent readings, so that one run shows every file with mistakes."""

    def __init__(self) -> None:
        self.found: list[LandingError] = []

    @contextmanager
    def noted(self) -> Generator[None]:
        """A LandingError of the block is kept for ``raise_if_any``, and what stands below the block runs."""
        try:
            yield
        except LandingError as error:
            self.found.append(error)

    def raise_if_any(self) -> None:
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            raise LandingError("\n".join([f"{len(self.found)} parts have mistakes:", *(f"- {e}" for e in self.found)]))


def find_optional(folder: Path, stem: str, suffixes: Collection[str]) -> Path | None:
    """The one file ``folder/stem.<suffix>``, or None.

    Raises LandingError where there is more than one, or only one of another type.
    """
    present = [p for s in sorted(suffixes) if (p := folder / f"{stem}.{s}").is_file()]
    if len(present) > 1:
        raise LandingError(f"{folder}: found {', '.join(p.name for p in present)}; keep exactly one of them")
    if not present and (others := sorted(p.name for p in folder.glob(f"{stem}.*"))):
        # Not read, an optional file such as the removals would have no effect, and nobody would know.
        wanted = " or ".join(f"{stem}.{s}" for s in sorted(suffixes))
        raise LandingError(f"{folder}: found {', '.join(others)}; expected {wanted}")
    return present[0] if present else None


def find(folder: Path, stem: str, suffixes: Collection[str]) -> Path:
    """The one file ``folder/stem.<suffix>``. Raises LandingError where there is none, or more than one."""
    path = find_optional(folder, stem, suffixes)
    if path is None:
        raise LandingError(f"{folder}: {' or '.join(f'{stem}.{s}' for s in sorted(suffixes))} is missing")
    return path


def read_text(path: Path) -> str:
    """UTF-8 text (a byte order mark is dropped). Raises LandingError with the row of the first undecodable byte."""
    data = path.read_bytes()
    if not data.strip():
        raise LandingError(f"{path}: the file is empty; it needs at least its header or one line")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise LandingError(
            f"{path}: row {row}: byte 0x{data[error.start]:02x} is not UTF-8 (it looks like another encoding, such as "
            "Windows-1252). Save the file as UTF-8; nothing was changed."
        ) from error


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a CSV, TSV, JSON Lines or Parquet file with their row numbers."""
    if path.suffix == ".parquet":
        try:
            frame = pl.read_parquet(path)
        except pl.exceptions.PolarsError as error:
            raise LandingError(f"{path}: not a readable Parquet file: {error}") from error
        yield from enumerate(frame.iter_rows(named=True), start=1)
        return
    text = read_text(path)
    if path.suffix == ".jsonl":
        yield from _json_rows(path, text)
        return
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(path), strict=True)
    try:
        header = [name.strip() for name in next(reader)]
        if twice := sorted({name for name in header if name and header.count(name) > 1}):
            raise LandingError(f"{path}: row 1: column {', '.join(twice)} occurs twice")
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise LandingError(
                    f"{path}: row {reader.line_num}: {len(cells)} cells, but the header has {len(header)}"
                )
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise LandingError(f"{path}: row {reader.line_num}: {error}") from error


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix == ".tsv" else ","


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    # splitlines() would also split at U+2028, which JSON allows inside strings.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise LandingError(f"{path}: row {number}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise LandingError(f"{path}: row {number}: expected one JSON object per line")
        yield number, row


def read_table(
    path: Path,
    table: Table,
    *,
    names: Mapping[str, str] | None = None,
    choices: Mapping[str, Collection[Any]] | None = None,
    known: Mapping[str, tuple[Collection[str], str]] | None = None,
    skip: Collection[str] = (),
    wrong: Callable[[dict[str, Any]], str | None] | None = None,
) -> pl.DataFrame:
    """One landing file as rows of a declared table.

    Args:
        names: table column -> file column, where they differ.
        choices: table column -> allowed values.
        known: table column -> (existing identifiers, what they are), checked as a foreign key.
        skip: columns the caller fills itself; left out of the result.
        wrong: what is wrong with a row of whole and allowed values, or None.

    Raises:
        LandingError: missing column, empty or ill-typed value, value outside the choices, unknown identifier,
            repeated key; up to five of them, each with its row.
    """
    problems = Problems(path)
    columns = [c for c in table.columns if c.name not in skip]
    source = {c.name: (names or {}).get(c.name, c.name) for c in columns}
    rows: list[tuple[Any, ...]] = []
    seen: dict[tuple[Any, ...], int] = {}
    header_checked = False
    for number, raw in read_rows(path):
        if not header_checked:
            missing = [source[c.name] for c in columns if not c.nullable and source[c.name] not in raw]
            if missing:
                hint = ""
                if path.suffix in (".csv", ".tsv") and len(raw) == 1:
                    hint = f" Cells are separated by {'tabs' if path.suffix == '.tsv' else 'commas'}."
                raise LandingError(
                    f"{path}: column {', '.join(missing)} is missing (row {number} has {', '.join(raw) or 'none'}); "
                    f"nothing was changed.{hint}"
                )
            header_checked = True
        already = len(problems.found)
        values = {c.name: _value(c, raw.get(source[c.name]), number, problems, source[c.name]) for c in columns}
        for name, allowed in (choices or {}).items():
            if values[name] is not None and values[name] not in allowed:
                shown = ", ".join(str(a) for a in allowed)
                problems.add(number, f"{source[name]} is {_quoted(values[name])}; allowed are {shown}")
        for name, (existing, what) in (known or {}).items():
            if values[name] is not None and values[name] not in existing:
                problems.add(number, f"{source[name]} {_quoted(values[name])} is no known {what}")
        if wrong and len(problems.found) == already and (text := wrong(values)):
            problems.add(number, text)
        if not set(table.key) & set(skip):
            key = tuple(values[k] for k in table.key)
            if key in seen:
                problems.add(number, f"{', '.join(str(k) for k in key)} occurs already in row {seen[key]}")
            seen.setdefault(key, number)
        rows.append(tuple(values.values()))
    if not header_checked and path.suffix in (".csv", ".tsv"):
        header = next(csv.reader([read_text(path).split("\n")[0]], delimiter=_delimiter(path)))
        missing = [source[c.name] for c in columns if not c.nullable and source[c.name] not in header]
        if missing:
            raise LandingError(f"{path}: column {', '.join(missing)} is missing from the header; nothing was changed")
    problems.raise_if_any()
    return pl.DataFrame(rows, schema={c.name: table.schema[c.name] for c in columns}, orient="row")


def read_removals(folder: Path, kinds: Collection[str] | None, *, named: bool = False) -> pl.DataFrame:
    """Rows of ``removals`` from ``removals.csv``; none where there is no such file.

    ``kinds`` are those the collection knows, None: any; ``named``: its passages are named ``<group>#<number>``. A date in
    the future is allowed: it is the day of the request, and delays nothing. Raises LandingError as ``read_table`` does, also
    for an id that cannot be one of its kind.
    """
    path = find_optional(folder, "removals", ("csv",))
    if path is None:
        return TABLES["removals"].empty()
    return read_table(
        path,
        TABLES["removals"],
        choices={} if kinds is None else {"kind": kinds},
        wrong=lambda row: shape_problem(row["kind"], row["id"], named=named),
    )


def listed_removals(folder: Path) -> pl.DataFrame:
    """``read_removals`` for who looks at the list of any collection, outside its landing, which alone knows its kinds.

    ``kind`` is as the list has it; ``table_kind`` as the table has it: a group goes by its collection's own word in the list.
    """
    read = read_removals(folder, None, named=True)
    is_own_word = ~pl.col("kind").is_in(["document", "passage", "pair"])
    return read.with_columns(pl.when(is_own_word).then(pl.lit("project")).otherwise("kind").alias("table_kind"))


def _value(column: Column, value: Any, row: int, problems: Problems, name: str) -> Any:
    """One cell as the column's Python type; problems are noted and None returned."""
    if isinstance(value, str):
        # Line ends and decomposed letters differ between the systems files come from; identifiers must not.
        value = value.strip() if value.isascii() else unicodedata.normalize("NFC", value).strip()
    if value is None or value == "":
        if not column.nullable:
            problems.add(row, f"{name} is empty")
        return None
    try:
        if column.type == "DATE":
            if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
                return value
            return (value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(str(value))).date()
        if column.type in ("TINYINT", "INTEGER", "BIGINT"):
            number = float(value) if isinstance(value, float) else int(str(value))
            if number != int(number) or isinstance(value, bool):
                raise ValueError(value)
            return int(number)
        if column.type == "VARCHAR":
            if isinstance(value, dict | list | bool):
                raise ValueError(value)
            text = str(value)
            return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    except ValueError:
        expected = {"DATE": "a date such as 2026-03-31", "VARCHAR": "text"}.get(column.type, "a whole number")
        # Errors are logged, and what is logged outlives a removal: texts of documents are not quoted.
        shown = f"a {type(value).__name__}" if column.private else _quoted(value)
        problems.add(row, f"{name} is {shown}; expected {expected}")
        return None
    raise LandingError(f"landing tables hold no {column.type} columns ({column.name})")


def _quoted(value: Any) -> str:
    """A value as an error shows it. A longer text of several words is no identifier, date or number: where columns were
    confused it is the text of a document."""
    is_text = isinstance(value, str) and len(value) > _LONGEST_SHOWN and len(value.split()) > _MOST_WORDS_SHOWN
    return f"a text of {len(value):,} characters" if is_text else repr(value)


def read_json_object(path: Path) -> dict[str, Any]:
    """A JSON file that is one object. Raises LandingError with the row where it is no JSON, or names a key twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise LandingError(f"{path}: {', '.join(map(_quoted, twice))} occurs twice")
        return dict(pairs)

    try:
        content = json.loads(read_text(path), object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise LandingError(f"{path}: row {error.lineno}: not JSON: {error.msg}; nothing was changed") from error
    if not isinstance(content, dict):
        raise LandingError(f"{path}: expected one JSON object")
    return content


def read_yaml(path: Path, model: type[ModelT]) -> ModelT:
    """A YAML file as a pydantic model. Raises LandingError with the line (syntax) or the path inside the file."""
    text = read_text(path)
    try:
        data = yaml.load(text, StrictLoader)
    except yaml.YAMLError as error:
        raise LandingError(f"{path}: {yaml_problem(error, text)}") from error
    try:
        return model.model_validate(data)
    except ValidationError as error:
        shown = [
            f"{'.'.join(str(p) for p in e['loc']) or 'file'}: {e['msg']}"
            + (f", not {e['input']!r}: put it in quotes" if e["type"] == "string_type" else "")
            for e in error.errors()[:MAX_SHOWN]
        ]
        raise LandingError(f"{path}: {'; '.join(shown)}") from error
