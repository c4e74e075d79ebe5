"""SQL texts from ``sql/<stage>/<table>.sql``: one SELECT each, values bound as ``$name``, names resolved per collection."""

import functools
import re
from pathlib import Path

from tendril_assets.errors import WarehouseError

_NAME = re.compile(r"[a-z][a-z0-9_]*/[a-z][a-z0-9_]*")


@functools.cache
def folder() -> Path:
    """``sql/`` of the checkout, or its copy inside the installed package."""
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "_sql", package.parent / "sql"):
        if candidate.is_dir():
            return candidate
    raise WarehouseError("the sql/ folder is missing from this installation: install the package again")


@functools.cache
def query(name: str) -> str:
    """Text of ``sql/<name>.sql`` (for example ``judging/candidates``).

    Raises:
        WarehouseError: no such file, or a name that is not ``stage/table``.
    """
    path = folder() / f"{name}.sql"
    if not _NAME.fullmatch(name) or not path.is_file():
        raise WarehouseError(f"no SQL file {name!r} under {folder()}")
    return path.read_text(encoding="utf-8")


def _header(name: str) -> str:
    lines = []
    for line in query(name).splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return " ".join(lines)


def inputs(name: str) -> tuple[str, ...]:
    """Tables a query reads, from the line ``-- Inputs: a, b.`` of its header.

    Raises:
        WarehouseError: the header names no inputs.
    """
    found = re.search(r"Inputs: ([a-z0-9_, ]+)", _header(name))
    if found is None:
        raise WarehouseError(f"sql/{name}.sql: its header names no inputs (-- Inputs: table, table.)")
    return tuple(part.strip() for part in found.group(1).split(",") if part.strip())


def grain(name: str) -> str:
    """What one row of a query is, from ``-- Grain: ...`` of its header; empty where it says nothing."""
    found = re.search(r"Grain: (.*?)(?: Inputs:|$)", _header(name))
    return found.group(1).strip() if found else ""


def columns(name: str) -> dict[str, str]:
    """Column -> what it is, with its unit, from the lines ``-- column: ...`` that end the header, below its inputs.

    Raises:
        WarehouseError: the header names a column twice.
    """
    found: dict[str, str] = {}
    _, _, below = query(name).partition("\n-- Inputs: ")
    for line in below.splitlines()[1:]:
        described = re.fullmatch(r"-- ([a-z][a-z0-9_]*): (.+)", line)
        if described is None:
            break
        column, comment = described.groups()
        if column in found:
            raise WarehouseError(f"sql/{name}.sql: its header names the column {column} twice")
        found[column] = comment.strip()
    return found


def names(stage: str) -> tuple[str, ...]:
    """All names below one stage folder, sorted."""
    return tuple(sorted(f"{stage}/{path.stem}" for path in (folder() / stage).glob("*.sql")))


def identifier(name: str) -> str:
    """``name`` quoted, if it is a plain lower-case identifier; never a value from a file or a person."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name):
        raise WarehouseError(f"{name!r} is no identifier: lower-case letters, digits and underscores only")
    return f'"{name}"'


def text(value: str) -> str:
    """An SQL string literal, for statements such as COMMENT that cannot bind values."""
    return "'" + value.replace("'", "''") + "'"
