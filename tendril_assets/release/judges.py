"""The judges that were measured, in the report: a table and a picture."""

import json
from html import escape

import polars as pl

from tendril_assets.release.label_quality import LEVELS, statistic_in_words
from tendril_assets.release.markup import raw_table
from tendril_assets.release.pictures import Picture
from tendril_assets.release.scatter import Point, scatter
from tendril_assets.release.wording import figure, interval, named, plural, share
from tendril_assets.spec import CollectionSpec


def choice_table(choice: pl.DataFrame, systems: pl.DataFrame) -> str:
    """Systems of the calibration, best first: figure, price, failures, stability, and what the rule says."""
    facts = {r["system"]: r for r in systems.iter_rows(named=True)}
    rows = []
    for r in choice.sort("rank").iter_rows(named=True):
        own = facts[r["system"]]
        marks = [word for word, true in (("chosen", r["chosen"]), ("judges", r["in_use"])) if true]
        failures = ", ".join(f"{n:,} {named(s).lower()}" for s, n in json.loads(own["failures"]).items())
        rows.append(
            (
                f"{escape(r['system'])}<small>{escape(', '.join(marks))}</small>" if marks else escape(r["system"]),
                f"{figure(r['quality'])}<small>{interval(r['quality_low'], r['quality_high'])}</small>",
                figure(r["price_per_1000"], 4),
                f"{share(own['failed'], own['pairs'])}<small>{escape(failures)}</small>",
                f"{figure(own['repeat_share'])}<small>n = {own['repeat_n']:,}</small>",
                figure(own["seconds_median"], 2),
                {True: "yes", False: "no", None: "-"}[r["accepted"]],
                f"<span style='white-space:normal'>{escape(r['reason'])}</span>",
            )
        )
    heads = (
        "System",
        "Figure",
        "USD per 1,000",
        "Without a grade",
        "Equal in two runs",
        "Median s",
        "Accepted",
        "Reason",
    )
    return raw_table(heads, rows, left=1)


def quality_and_price(spec: CollectionSpec, choice: pl.DataFrame, agreement: pl.DataFrame) -> Picture | None:
    """Each system's figure with its interval against its price; the annotators' alpha as a line to compare with."""
    shown = choice.filter(pl.col("quality").is_not_null() & pl.col("price_per_1000").is_not_null())
    if shown.height < 2:
        return None
    points = [
        Point(
            x=r["price_per_1000"],
            y=r["quality"],
            low=r["quality_low"],
            high=r["quality_high"],
            hint=f"{r['system']}: {figure(r['quality'])} {interval(r['quality_low'], r['quality_high'])}, "
            f"USD {figure(r['price_per_1000'], 4)} per 1,000",
            name=_mark(r),
            css="c-blue" if r["accepted"] else "open-orange",
            square=not r["accepted"],
            ring=bool(r["chosen"]),
        )
        for r in shown.sort("rank").iter_rows(named=True)
    ]
    rule = spec.judge.calibration.choice
    alpha = agreement.filter(
        (pl.col("raters") == "annotators") & (pl.col("scale") == rule.scale) & (pl.col("level") == "all")
    )["value"].drop_nulls()
    guide = (alpha[0], f"annotators among themselves, α {figure(alpha[0], 2)}") if len(alpha) else None
    unknown = choice.height - shown.height
    left_out = f"; {plural(unknown, 'system')} without a figure or a price left out" if unknown else ""
    caption = (
        f"{statistic_in_words(rule)}, {LEVELS[rule.levels]}, with intervals, against USD per 1,000 requests. Dots are accepted "
        f"systems, squares are not; the ring is the rule's choice{left_out}"
    )
    return Picture.drawn(
        caption,
        lambda w: scatter(points, w, "Agreement against cost", x_title="USD per 1,000 requests", guide=guide),
    )


def _mark(row: dict) -> str:
    words = [word for word, true in (("chosen", row["chosen"]), ("judges", row["in_use"])) if true]
    return f"{row['system']} ({', '.join(words)})" if words else ""
