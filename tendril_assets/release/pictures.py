"""Pictures of corpus, labels, judges and cost: which chart shows which figures. Each is None where there is nothing to
show yet. Those of models and measures are in ``results_pictures``."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from tendril_assets.release.charts import Bar, Dot, Stack, bars, dots, stacks
from tendril_assets.release.figures import Figures
from tendril_assets.release.svg import NARROW, WIDE
from tendril_assets.release.wording import certainty, figure, interval, named, plural, share, usd

_GRADE_CSS = {0: "c-grade0", 1: "c-grade1", 2: "c-grade2"}
_GRADE_NAMES = {0: "0 not relevant", 1: "1 partially relevant", 2: "2 relevant"}
# Parts of a stacked bar, told apart by lightness too, not by hue alone.
_PARTS = ("c-blue", "c-orange", "c-grade1", "c-green", "c-purple", "c-grade2")
# A picture with more rows than this is read by nobody: then a row is a month.
_MOST_DAYS = 31


@dataclass(frozen=True)
class Picture:
    """A caption and the same drawing at two widths."""

    caption: str
    wide: str
    narrow: str

    @classmethod
    def drawn(cls, caption: str, draw: Callable[[int], str]) -> "Picture":
        """``draw`` gives the SVG for a width in pixels."""
        return cls(caption, draw(WIDE), draw(NARROW))


def label_distribution(grades: pl.DataFrame) -> Picture | None:
    """Share of each grade per level. ``grades``: level, score, judgments."""
    if not grades.height or not grades["judgments"].sum():
        return None
    items = []
    for level in grades["level"].unique(maintain_order=True):
        rows = grades.filter(pl.col("level") == level)
        total = int(rows["judgments"].sum())
        for score, n in rows.select("score", "judgments").iter_rows():
            heading = f"{named(level)} ({plural(total, 'judgment')})" if score == 0 else ""
            text = f"{share(n, total)}  ({n:,})"
            items.append(Bar(_GRADE_NAMES[score], n / total if total else 0.0, text, _GRADE_CSS[score], heading))
    return Picture.drawn("Judgments by grade and level", lambda w: bars(items, w, "Share of each grade per level"))


def passage_fates(drops: pl.DataFrame) -> Picture | None:
    """Where raw passages went. ``drops``: fate, passages."""
    if not drops.height:
        return None
    total = int(drops["passages"].sum())
    ordered = drops.sort((pl.col("fate") == "in_corpus"), "passages", descending=True)
    items = [
        Bar(named(fate), n, f"{n:,}  ({share(n, total)})", "c-blue" if fate == "in_corpus" else "c-grade0")
        for fate, n in ordered.select("fate", "passages").iter_rows()
    ]
    return Picture.drawn(f"What became of {plural(total, 'raw passage')}", lambda w: bars(items, w, "Passages by fate"))


def positives(by_level: pl.DataFrame) -> Picture | None:
    """Share of relevant judgments per level and catalog, by grade. ``by_level``: the view
    positives_by_catalog_and_level."""
    if not by_level.height:
        return None
    items = []
    for level in levels_of(by_level["level"]):
        block = by_level.filter(pl.col("level") == level).sort("positive_share", "catalog", descending=[True, False])
        for i, r in enumerate(block.iter_rows(named=True)):
            parts = [(r["positives"] - r["fully_relevant"]) / r["judgments"], r["fully_relevant"] / r["judgments"]]
            text = f"{share(r['positives'], r['judgments'])}  ({r['positives']:,} of {r['judgments']:,})"
            items.append(Stack(r["catalog"], parts, text, named(level) if i == 0 else ""))
    legend = [(_GRADE_NAMES[grade], _GRADE_CSS[grade]) for grade in (1, 2)]
    return Picture.drawn(
        "Relevant judgments as a share of all, by catalog and level",
        lambda w: stacks(items, w, "Share of relevant judgments", legend=legend, write=lambda part: share(part, 1)),
    )


def judge_agreement(agreement: pl.DataFrame, confidence: float) -> Picture | None:
    """The judge in use against curated labels beside the annotators among themselves. ``agreement``: judge_agreement."""
    agreement = measured_agreement(agreement).filter(pl.col("raters").is_in(["judge_vs_curated", "annotators"]))
    if not agreement.height:
        return None
    # With two classes, quadratic weights change nothing: those figures stand in the table only.
    twice = (pl.col("scale") == "binary") & (pl.col("statistic") == "kappa_quadratic")
    ordered = agreement.filter(~twice).sort(
        pl.col("scale") == "binary", pl.col("raters") == "annotators", "statistic", pl.col("level") != "all", "level"
    )
    items, former = [], ""
    for r in ordered.iter_rows(named=True):
        human = r["raters"] == "annotators"
        block = f"{'Annotators' if human else 'Judge'}, {named(r['scale'])}: {named(r['statistic'])}"
        items.append(
            Dot(
                named(r["level"]),
                r["value"],
                r["low"],
                r["high"],
                _agreement_text(r),
                "c-orange" if human else "c-blue",
                square=human,
                heading=block if block != former else "",
            )
        )
        former = block
    values = [v for d in items for v in (d.value, d.low) if v is not None]
    floor = min([0.0, *values])
    with_people = " (dots), the annotators among themselves (squares)" if any(d.square for d in items) else ""
    return Picture.drawn(
        f"Agreement with {certainty(confidence)} intervals: the judge against curated labels{with_people}",
        lambda w: dots(
            items,
            w,
            "Agreement of the judge and of the annotators",
            x_title="agreement; 0 is chance, 1 is perfect",
            bounds=(floor, 1.0),
        ),
    )


def measured_agreement(agreement: pl.DataFrame) -> pl.DataFrame:
    """The figures of the judge in use and of the people. Where one person graded alone, that person's grades are the curated
    ones, and agreement among people is none: the rows that would compare them with themselves are left out.
    """
    used = agreement.filter("in_use")
    people = used.filter(pl.col("raters") == "annotators")
    if people.is_empty() or people["value"].null_count() < people.height:
        return used
    return used.filter(pl.col("raters").is_in(["judge_vs_curated"]))


def costs(figures: Figures) -> Picture | None:
    """Known cost per purpose and model. Uses the query calls."""
    calls = figures["calls"]
    if not calls.height:
        return None
    per = calls.group_by("purpose", "model", maintain_order=True).agg(
        pl.col("known_cost").sum(), pl.col("unknown_costs").sum(), pl.col("requests").sum()
    )
    items = []
    for r in per.sort("known_cost", "purpose", "model", descending=[True, False, False]).iter_rows(named=True):
        unknown = f", {r['unknown_costs']:,} unknown" if r["unknown_costs"] else ""
        items.append(
            Bar(f"{named(r['purpose'])}: {r['model']}", float(r["known_cost"]), f"{usd(r['known_cost'])}{unknown}")
        )
    return Picture.drawn("Known cost by purpose and model", lambda w: bars(items, w, "Known cost by purpose and model"))


def costs_over_time(days: pl.DataFrame) -> Picture | None:
    """Known cost per day and model, per month where there are many days; None of a single day, which has no course.

    ``days``: the view cost_by_day.
    """
    if days["day"].n_unique() < 2:
        return None
    by_month = days["day"].n_unique() > _MOST_DAYS
    period = pl.col("day").dt.strftime("%Y-%m") if by_month else pl.col("day").cast(pl.String)
    totals = (
        days.group_by("model").agg(pl.col("known_cost").sum()).sort("known_cost", "model", descending=[True, False])
    )
    models = totals["model"].to_list()
    shown = models if len(models) <= len(_PARTS) else models[: len(_PARTS) - 1]
    names = [*shown, *([f"{len(models) - len(shown)} others"] if len(shown) < len(models) else [])]
    part = pl.when(pl.col("model").is_in(shown)).then("model").otherwise(pl.lit(names[-1])).alias("part")
    sums = days.group_by(period.alias("period"), part).agg(
        pl.col("known_cost").sum().cast(pl.Float64), pl.col("calls").sum(), pl.col("unknown_costs").sum()
    )
    items = []
    for (when,), rows in sums.sort("period").group_by("period", maintain_order=True):
        cost = dict(rows.select("part", "known_cost").iter_rows())
        unknown = int(rows["unknown_costs"].sum())
        text = f"{usd(rows['known_cost'].sum())}, {plural(int(rows['calls'].sum()), 'call')}"
        text += f", {unknown:,} unknown" if unknown else ""
        items.append(Stack(str(when), [cost.get(name, 0.0) for name in names], text))
    legend = list(zip(names, _PARTS, strict=False))
    unit = "month" if by_month else "day (UTC)"
    return Picture.drawn(
        f"Known cost by {unit} and model",
        lambda w: stacks(items, w, f"Known cost by {unit} and model", legend=legend, write=usd),
    )


def _agreement_text(r: dict) -> str:
    if r["value"] is None:
        return "undefined"
    return f"{figure(r['value'], 2)} {interval(r['low'], r['high'], 2)}".strip()


def levels_of(column: pl.Series) -> Iterable[str]:
    """``all`` first, then the others by name."""
    return sorted(column.unique(), key=lambda level: (level != "all", level))
