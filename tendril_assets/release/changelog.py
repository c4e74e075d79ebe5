"""``CHANGELOG.md``: what a version holds that the one before did not, found by comparing the published rows."""

from pathlib import Path

import polars as pl

from tendril_assets.release.huggingface import SHARD, Rows
from tendril_assets.release.wording import plural

_HEAD = "# Changelog\n"


def version_key(version: str) -> tuple[int, ...]:
    """``1.10.0`` comes after ``1.9.0``."""
    return tuple(int(part) for part in version.split("."))


def earlier_version(root: Path, version: str) -> Path | None:
    """The release folder of the highest version below ``version``, or None for the first."""
    found = [p for p in root.glob("[0-9]*.[0-9]*.[0-9]*") if p.is_dir() and version_key(p.name) < version_key(version)]
    return max(found, key=lambda p: version_key(p.name), default=None)


def changelog(version: str, rows: Rows, earlier: Path | None) -> str:
    """This version's entry above those of the version before."""
    if earlier is None:
        sizes = (
            f"{plural(rows.corpus.height, 'passage')}, {plural(rows.queries.height, 'query')}, "
            f"{plural(rows.qrels.height, 'judgment')}"
        )
        return f"{_HEAD}\n## {version}\n\n- First release: {sizes}.\n"
    lines = [
        f"- Passages: {_changes(rows.corpus, _published(earlier, 'corpus'), ['id'], ['text'])}.",
        f"- Queries: {_changes(rows.queries, _published(earlier, 'queries'), ['id'], ['text'])}.",
        f"- Judgments: {_changes(rows.qrels, _published(earlier, 'qrels'), ['query-id', 'corpus-id'], ['score'])}.",
    ]
    former = (earlier / "CHANGELOG.md").read_text(encoding="utf-8").removeprefix(_HEAD)
    return f"{_HEAD}\n## {version}\n\nSince {earlier.name}:\n\n" + "\n".join(lines) + f"\n{former}"


def _published(folder: Path, config: str) -> pl.DataFrame:
    return pl.read_parquet(folder / config / SHARD)


def _changes(now: pl.DataFrame, before: pl.DataFrame, key: list[str], values: list[str]) -> str:
    added = now.join(before, on=key, how="anti").height
    gone = before.join(now, on=key, how="anti").height
    both = now.select(key + values).join(before.select(key + values), on=key, suffix="_before")
    changed = both.filter(pl.any_horizontal(pl.col(v) != pl.col(f"{v}_before") for v in values)).height
    return f"{now.height:,} ({added:,} added, {gone:,} taken out, {changed:,} changed)"
