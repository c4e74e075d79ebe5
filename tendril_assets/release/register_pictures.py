"""Pictures of the figures per register: each register under a heading that says what it rests on."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tendril_assets.evaluation.registers import QUERY, WHOLE
from tendril_assets.release.charts import Dot, dots
from tendril_assets.release.pictures import Picture, levels_of
from tendril_assets.release.wording import (
    certainty,
    figure,
    interval,
    named,
    p_value,
    plural,
    share,
    signed,
    system_name,
)


def register_name(level: str, part: str, dominant: str | None = None) -> str:
    """``Live``, or ``Live without 590-П_28062017``; all of them are "All registers"."""
    name = "All registers" if level == "all" else named(level)
    return name if part == WHOLE else f"{name} without {dominant or 'its dominant group'}"


def composed_of(row: Mapping[str, Any], group: str) -> str:
    """What a row of ``register_scores`` rests on: ``142 queries of 12 acts, 73 % generated, 80 % of one act``."""
    parts = [f"{plural(row['queries'], 'query')} of {plural(row['groups'], group)}"]
    if row["generated"]:
        parts.append(f"{share(row['generated'], 1)} generated")
    if row["groups"] > 1:
        parts.append(f"{share(row['dominant_share'], 1)} of one {group}")
    return ", ".join(parts)


def dominant_of(scores: pl.DataFrame) -> dict[str, str]:
    """Level -> the group that most of its queries belong to, from ``register_scores``."""
    return dict(scores.filter(part=WHOLE).select("level", "dominant").unique().iter_rows())


def register_scores(scores: pl.DataFrame, measure: str, confidence: float, group: str) -> Picture | None:
    """Mean over queries of every system, per register and part. ``scores``: table register_scores."""
    rows = scores.filter((pl.col("measure") == measure) & (pl.col("unit") == QUERY))
    if rows.is_empty():
        return None
    dominant, items = dominant_of(scores), []
    for level, part in _blocks(rows):
        block = rows.filter(level=level, part=part).sort("value", "system", descending=[True, False])
        for place, row in enumerate(block.iter_rows(named=True)):
            heading = f"{register_name(level, part, dominant.get(level))}: {composed_of(row, group)}"
            text = f"{figure(row['value'])} {interval(row['low'], row['high'])}".strip()
            ends = row["value"], row["low"], row["high"]
            items.append(Dot(system_name(row["system"]), *ends, text, heading="" if place else heading))
    title = named(measure)
    caption = f"{title} per register, mean over queries, with {certainty(confidence)} intervals"
    return Picture.drawn(caption, lambda w: dots(items, w, f"{title} per register", x_title=title))


def register_differences(comparisons: pl.DataFrame, measure: str, confidence: float) -> Picture | None:
    """Every system minus BM25, per register and part, over queries. ``comparisons``: table register_comparisons."""
    rows = comparisons.filter((pl.col("measure") == measure) & (pl.col("unit") == QUERY))
    if rows.is_empty():
        return None
    items = []
    for level, part in _blocks(rows):
        block = rows.filter(level=level, part=part).sort("difference", "system", descending=[True, False])
        for place, row in enumerate(block.iter_rows(named=True)):
            text = f"{signed(row['difference'])} {interval(row['low'], row['high'], sign=True)}".strip()
            told = text if row["p_holm"] is None else f"{text}, p {p_value(row['p_holm'])}"
            label = f"{system_name(row['system'])} − {system_name(row['baseline'])}"
            ends = row["difference"], row["low"], row["high"]
            items.append(Dot(label, *ends, told, heading="" if place else register_name(level, part)))
    title = named(measure)
    caption = (
        f"Difference in {title} per register, over queries, with {certainty(confidence)} intervals and p after Holm's "
        "correction over the systems; right of the line the system is better than its baseline"
    )
    return Picture.drawn(
        caption,
        lambda w: dots(items, w, f"Differences per register in {title}", x_title=f"difference in {title}", zero=True),
    )


def _blocks(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Level and part of each block: all registers first, each whole before the same without its dominant group."""
    there = set(rows.select("level", "part").unique().iter_rows())
    parts = sorted({part for _, part in there}, key=lambda part: part != WHOLE)
    return [(level, part) for level in levels_of(rows["level"]) for part in parts if (level, part) in there]
