"""Pictures of a collection of several registers: figures per register, each under a heading that says what it rests on;
what became of generated questions; which stages of the recipe were accepted."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tendril_assets.evaluation.registers import QUERY, WHOLE
from tendril_assets.release.charts import Bar, Dot, bars, dots
from tendril_assets.release.pictures import Picture, levels_of
from tendril_assets.release.results_pictures import dot_of_system
from tendril_assets.release.wording import (
    certainty,
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
    for level, part in blocks(rows):
        block = rows.filter(level=level, part=part).sort("value", "system", descending=[True, False])
        for place, row in enumerate(block.iter_rows(named=True)):
            heading = f"{register_name(level, part, dominant.get(level))}: {composed_of(row, group)}"
            items.append(dot_of_system(row, heading="" if place else heading))
    title = named(measure)
    caption = f"{title} per register, mean over queries, with {certainty(confidence)} intervals"
    return Picture.drawn(caption, lambda w: dots(items, w, f"{title} per register", x_title=title))


def register_differences(
    comparisons: pl.DataFrame, scores: pl.DataFrame, measure: str, confidence: float, group: str
) -> Picture | None:
    """Every system minus BM25, per register and part, over queries. Tables register_comparisons and register_scores: what a
    register rests on stands in the second.
    """
    rows = comparisons.filter((pl.col("measure") == measure) & (pl.col("unit") == QUERY))
    if rows.is_empty():
        return None
    dominant, items = dominant_of(scores), []
    for level, part in blocks(rows):
        of = scores.filter(level=level, part=part).row(0, named=True)
        block = rows.filter(level=level, part=part).sort("difference", "system", descending=[True, False])
        for place, row in enumerate(block.iter_rows(named=True)):
            heading = f"{register_name(level, part, dominant.get(level))}: {composed_of(of, group)}"
            label = f"{system_name(row['system'])} − {system_name(row['baseline'])}"
            items.append(_difference(row, label, row["p_holm"], "" if place else heading))
    title = named(measure)
    caption = (
        f"Difference in {title} per register, over queries, with {certainty(confidence)} intervals and p after Holm's "
        "correction over the systems; right of the line the system is better than its baseline"
    )
    return Picture.drawn(
        caption,
        lambda w: dots(items, w, f"Differences per register in {title}", x_title=f"difference in {title}", zero=True),
    )


def stages(accepted: pl.DataFrame, confidence: float) -> Picture | None:
    """Each stage of the recipe minus the one before it, over the validation groups. ``accepted``: table stage_acceptance."""
    rows = accepted.filter(pl.col("difference").is_not_null())
    if rows.is_empty():
        return None
    items = [
        _difference(row, f"{system_name(row['system'])} − {system_name(row['before'])}", row["p"], "")
        for row in rows.iter_rows(named=True)
    ]
    title = named(rows["measure"][0])
    caption = (
        f"{title} on the validation groups: each stage minus the one before it, with {certainty(confidence)} intervals; "
        "accepted is a stage whose whole interval lies right of the line"
    )
    return Picture.drawn(
        caption, lambda w: dots(items, w, "Stages of the recipe", x_title=f"difference in {title}", zero=True)
    )


def question_fates(fates: pl.DataFrame) -> Picture | None:
    """What became of the questions of each set. ``fates``: question_set, model, status, questions."""
    if fates.is_empty():
        return None
    items = []
    for (name,), rows in fates.sort("question_set").group_by("question_set", maintain_order=True):
        total = int(rows["questions"].sum())
        ordered = rows.sort(pl.col("status") != "accepted", "questions", "status", descending=[False, True, False])
        for place, (status, n) in enumerate(ordered.select("status", "questions").iter_rows()):
            heading = f"{named(str(name))}: {plural(total, 'passage')}, asked of {rows['model'][0]}"
            css = "c-blue" if status == "accepted" else "c-grade0"
            items.append(Bar(named(status), n / total, f"{share(n, total)}  ({n:,})", css, "" if place else heading))
    return Picture.drawn("What became of the generated questions", lambda w: bars(items, w, "Questions by fate"))


def _difference(row: Mapping[str, Any], label: str, p: float | None, heading: str) -> Dot:
    text = f"{signed(row['difference'])} {interval(row['low'], row['high'], sign=True)}".strip()
    told = text if p is None else f"{text}, p {p_value(p)}"
    return Dot(label, row["difference"], row["low"], row["high"], told, heading=heading)


def blocks(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Level and part of each block: all registers first, each whole before the same without its dominant group."""
    there = set(rows.select("level", "part").unique().iter_rows())
    parts = sorted({part for _, part in there}, key=lambda part: part != WHOLE)
    return [(level, part) for level in levels_of(rows["level"]) for part in parts if (level, part) in there]
