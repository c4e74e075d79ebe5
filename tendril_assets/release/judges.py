"""The judges that were measured, in the report: a table and a picture."""

import json
from html import escape

import polars as pl

from tendril_assets.release.markup import folded, raw_table
from tendril_assets.release.pictures import Picture
from tendril_assets.release.scatter import Point, scatter
from tendril_assets.release.wording import certainty, figure, interval, named, plural, share
from tendril_assets.spec import CollectionSpec

# The best systems and the one that judges stand open, the rest is folded where it is more than a few.
_AT_ONCE, _FEW = 5, 2


def choice_as_html(choice: pl.DataFrame, systems: pl.DataFrame) -> str:
    """Systems of the calibration, best first: what the rule says of each, its figure, price, failures, stability."""
    facts = {r["system"]: r for r in systems.iter_rows(named=True)}
    best, rest = [], []
    for r in choice.sort("rank").iter_rows(named=True):
        own = facts[r["system"]]
        failures = ", ".join(f"{n:,} {named(s).lower()}" for s, n in json.loads(own["failures"]).items())
        open_row = len(best) < _AT_ONCE or r["chosen"] or r["in_use"] or choice.height <= _AT_ONCE + _FEW
        (best if open_row else rest).append(
            (
                f"{escape(_name(r))}<small>{escape(r['reason'])}</small>",
                f"{figure(r['quality'])}<small>{interval(r['quality_low'], r['quality_high'])}</small>",
                figure(r["price_per_1000"], 4),
                f"{share(own['failed'], own['pairs'])}<small>{escape(failures)}</small>",
                f"{figure(own['repeat_share'])}<small>{escape(plural(own['repeat_n'], 'pair'))}</small>",
                figure(own["seconds_median"], 2),
                {True: "yes", False: "no", None: "-"}[r["accepted"]],
            )
        )
    heads = ("System", "Figure", "USD per 1,000", "Without a grade", "Equal in two runs", "Median s", "Accepted")
    table = raw_table(heads, best, css="reasons")
    if not rest:
        return table
    others = plural(len(rest), "other system")
    return table + folded(f"{others}, in the same order", raw_table(heads, rest, css="reasons"), long=True)


def who_judges(choice: pl.DataFrame) -> str:
    """A sentence on the judge in use and, where it is another one, the judge that the declared rule picks."""
    in_use, picked = (next(iter(choice.filter(pl.col(which))["system"]), None) for which in ("in_use", "chosen"))
    if in_use is None:
        return "None of them judges."
    if picked == in_use:
        return f"{in_use} judges, as the declared rule picks it."
    return f"{in_use} judges, as the specification says; the declared rule picks {picked or 'none'}."


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
            name=_name(r) if r["chosen"] or r["in_use"] else "",
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
    guide = (alpha[0], f"annotators, α {figure(alpha[0], 2)}") if len(alpha) else None
    unknown = choice.height - shown.height
    left_out = f"; {plural(unknown, 'system')} without a figure or a price left out" if unknown else ""
    caption = (
        f"{rule.in_words}, with {certainty(spec.judge.calibration.confidence)} intervals, against USD per 1,000 requests. "
        f"Dots are accepted systems, squares are not; the ring is the rule's choice{left_out}"
    )
    return Picture.drawn(
        caption,
        lambda w: scatter(points, w, "Agreement against cost", x_title="USD per 1,000 requests", guide=guide),
    )


def _name(row: dict) -> str:
    """The system, and in brackets whether the rule picks it and whether it judges."""
    words = [word for word, true in (("chosen", row["chosen"]), ("judges", row["in_use"])) if true]
    return f"{row['system']} ({', '.join(words)})" if words else row["system"]
