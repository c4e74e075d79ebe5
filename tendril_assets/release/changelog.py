"""``CHANGELOG.md``: what a version holds that the one before did not, found by comparing the published rows."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from tendril_assets.release.huggingface import Rows, read_rows
from tendril_assets.release.withdrawn import Withdrawal
from tendril_assets.release.wording import plural

CHANGELOG = "CHANGELOG.md"
_HEAD = "# Changelog\n"
_VERSION = "## "
_NOTED = re.compile(r"\A\nWithdrawn on [^\n]*\n")


def version_key(version: str) -> tuple[int, ...]:
    """``1.10.0`` comes after ``1.9.0``."""
    return tuple(int(part) for part in version.split("."))


def earlier_version(root: Path, version: str) -> Path | None:
    """The release folder of the highest version below ``version``, or None for the first."""
    found = [p for p in root.glob("[0-9]*.[0-9]*.[0-9]*") if p.is_dir() and version_key(p.name) < version_key(version)]
    return max(found, key=lambda p: version_key(p.name), default=None)


def changelog(version: str, rows: Rows, earlier: Path | None, withdrawn: Sequence[Withdrawal] = ()) -> str:
    """This version's entry above those of the version before.

    ``withdrawn``: the withdrawn versions. Of such an ``earlier`` the folder holds only what is left; what was taken out
    of it counts as taken out since, and its own entry says so.
    """
    if earlier is None:
        sizes = (
            f"{plural(rows.corpus.height, 'passage')}, {plural(rows.queries.height, 'query')}, "
            f"{plural(rows.qrels.height, 'judgment')}"
        )
        return f"{_HEAD}\n{_VERSION}{version}\n\n- First release: {sizes}.\n"
    before = read_rows(earlier)
    told = {one.version: one for one in withdrawn}
    passages, judgments = _taken(told.get(earlier.name))
    lines = [
        f"- Passages: {_changes(rows.corpus, before.corpus, ['id'], ['text'], passages)}.",
        f"- Queries: {_changes(rows.queries, before.queries, ['id'], ['text'])}.",
        f"- Judgments: {_changes(rows.qrels, before.qrels, ['query-id', 'corpus-id'], ['score'], judgments)}.",
    ]
    former = noted((earlier / CHANGELOG).read_text(encoding="utf-8").removeprefix(_HEAD), told.values())
    return f"{_HEAD}\n{_VERSION}{version}\n\nSince {earlier.name}:\n\n" + "\n".join(lines) + f"\n{former}"


def noted(text: str, withdrawn: Iterable[Withdrawal]) -> str:
    """``text`` with a note below the heading of each withdrawn version; a former note there gives way."""
    notes = {one.version: one for one in withdrawn}
    parts = re.split(rf"^({re.escape(_VERSION)}\S+\n)", text, flags=re.MULTILINE)
    out = [parts[0]]
    for heading, entry in zip(parts[1::2], parts[2::2], strict=True):
        one = notes.get(heading.removeprefix(_VERSION).strip())
        out += [heading, f"\n{_note(one)}{re.sub(_NOTED, '', entry)}" if one else entry]
    return "".join(out)


def _note(one: Withdrawal) -> str:
    said = f"{one.said[:1].upper()}{one.said[1:]}"
    return f"{said}. Copies and the tag `v{one.version}` still hold them.\n"


def _taken(one: Withdrawal | None) -> tuple[int, int]:
    return (len(one.passages), one.judgments) if one else (0, 0)


def _changes(now: pl.DataFrame, before: pl.DataFrame, key: list[str], values: list[str], taken: int = 0) -> str:
    """``taken``: rows that ``before`` was published with and lacks; were they there, they would be gone now."""
    added = now.join(before, on=key, how="anti").height
    gone = before.join(now, on=key, how="anti").height + taken
    both = now.select(key + values).join(before.select(key + values), on=key, suffix="_before")
    changed = both.filter(pl.any_horizontal(pl.col(v) != pl.col(f"{v}_before") for v in values)).height
    return f"{now.height:,} ({added:,} added, {gone:,} taken out, {changed:,} changed)"
