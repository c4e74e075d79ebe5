"""``CHANGELOG.md``: what a version holds that the one before did not, found by comparing the published rows."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.folders import version_folders, version_key
from tendril_assets.release.huggingface import PART_COLUMN, Rows, read_rows
from tendril_assets.release.manifest import read_manifest
from tendril_assets.release.withdrawn import WITHDRAWN, Withdrawal, is_withdrawn
from tendril_assets.release.wording import plural

CHANGELOG = "CHANGELOG.md"
_HEAD = "# Changelog\n"
_VERSION = "## "
_NOTED = re.compile(r"\A\nWithdrawn on [^\n]*\n")


def earlier_version(root: Path, version: str) -> Path | None:
    """The release folder of the highest version below ``version``, or None for the first."""
    lower = [p for p in version_folders(root) if version_key(p.name) < version_key(version)]
    return lower[-1] if lower else None


def changelog(version: str, rows: Rows, earlier: Path | None, withdrawn: Sequence[Withdrawal] = ()) -> str:
    """This version's entry above those of the version before.

    ``withdrawn``: the withdrawn versions. Of such an ``earlier`` the folder holds only what is left; what was taken out
    of it counts as taken out since, and its own entry says so.

    Raises ExportInvariantError where ``earlier`` cannot be read.
    """
    if earlier is None:
        sizes = (
            f"{plural(rows.corpus.height, 'passage')}, {plural(rows.queries.height, 'query')}, "
            f"{plural(rows.qrels.height, 'judgment')}"
        )
        return f"{_HEAD}\n{_VERSION}{version}\n\n- First release: {sizes}.\n"
    before = read_rows(earlier)
    parted = [PART_COLUMN] if all(PART_COLUMN in one.qrels.columns for one in (rows, before)) else []
    told = {one.version: one for one in withdrawn}
    passages, judgments = _taken(told.get(earlier.name))
    queries = _queries_taken(earlier, before) if earlier.name in told else 0
    lines = [
        f"- Passages: {_changes(rows.corpus, before.corpus, ['id'], ['text'], passages)}.",
        f"- Queries: {_changes(rows.queries, before.queries, ['id'], ['text'], queries)}.",
        f"- Judgments: {_changes(rows.qrels, before.qrels, ['query-id', 'corpus-id'], ['score', *parted], judgments)}.",
    ]
    former = noted(history(earlier).removeprefix(_HEAD), told.values())
    return f"{_HEAD}\n{_VERSION}{version}\n\nSince {earlier.name}:\n\n" + "\n".join(lines) + f"\n{former}"


def history(folder: Path) -> str:
    """The changelog of a written version. Raises ExportInvariantError where it cannot be read."""
    try:
        return (folder / CHANGELOG).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExportInvariantError(
            f"{folder / CHANGELOG} cannot be read ({error}), and every later version goes on from it: put it back from a copy "
            "or from the tag of that version"
        ) from error


def bare(version: str) -> str:
    """A changelog of which nothing but the version is known."""
    return f"{_HEAD}\n{_VERSION}{version}\n"


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


def _queries_taken(earlier: Path, before: Rows) -> int:
    """Queries that a withdrawn version was published with and lacks since: those written from removed passages."""
    manifest = read_manifest(earlier)
    return manifest[WITHDRAWN]["published"]["rows"]["queries"] - before.queries.height if is_withdrawn(manifest) else 0


def _changes(now: pl.DataFrame, before: pl.DataFrame, key: list[str], values: list[str], taken: int = 0) -> str:
    """``taken``: rows that ``before`` was published with and lacks since it was withdrawn. One that came back, its entry
    struck off the removal list, counts as taken out and as added."""
    added = now.join(before, on=key, how="anti").height
    gone = before.join(now, on=key, how="anti").height + taken
    both = now.select(key + values).join(before.select(key + values), on=key, suffix="_before")
    changed = both.filter(pl.any_horizontal(pl.col(v) != pl.col(f"{v}_before") for v in values)).height
    return f"{now.height:,} ({added:,} added, {gone:,} taken out, {changed:,} changed)"
