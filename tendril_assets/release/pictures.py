"""The report's pictures: which chart shows which figures. Each returns None where there is nothing to show yet."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl

from tendril_assets.release.charts import Bar, Dot, Line, bars, columns, dots, lines
from tendril_assets.release.figures import Figures
from tendril_assets.release.svg import NARROW, WIDE
from tendril_assets.release.wording import certainty, figure, interval, named, plural, share, signed, system_name, usd

_GRADE_CSS = {0: "c-grade0", 1: "c-grade1", 2: "c-grade2"}
_GRADE_NAMES = {0: "0 not relevant", 1: "1 partially relevant", 2: "2 relevant"}
# A running mean takes a twentieth of the run.
_MEANS, _SHORTEST_MEAN = 20, 5
_CURVES = ("l-blue", "l-orange dash", "l-green dot", "l-purple dash")


@dataclass(frozen=True)
class Picture:
    """A caption and the same drawing at two widths."""

    caption: str
    wide: str
    narrow: str

    @classmethod
    def drawn(cls, caption: str, draw: Callable[[int], str]) -> "Picture":
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


def judge_agreement(agreement: pl.DataFrame, confidence: float) -> Picture | None:
    """The judge in use against curated labels beside the annotators among themselves. ``agreement``: judge_agreement."""
    agreement = agreement.filter(pl.col("in_use") & pl.col("raters").is_in(["judge_vs_curated", "annotators"]))
    if not agreement.height:
        return None
    # With two classes, quadratic weights change nothing: those figures stand in the table only.
    twice = (pl.col("scale") == "binary") & (pl.col("statistic") == "kappa_quadratic")
    items = []
    for scale in ("graded", "binary"):
        rows = agreement.filter((pl.col("scale") == scale) & ~twice).sort(
            pl.col("raters") == "annotators", "statistic", "level"
        )
        for i, r in enumerate(rows.iter_rows(named=True)):
            human = r["raters"] == "annotators"
            items.append(
                Dot(
                    f"{named(r['level'])}, {_statistic(r['statistic'])}",
                    r["value"],
                    r["low"],
                    r["high"],
                    _agreement_text(r),
                    "c-orange" if human else "c-blue",
                    square=human,
                    heading=f"Scale: {named(scale)}" if i == 0 else "",
                )
            )
    values = [v for d in items for v in (d.value, d.low) if v is not None]
    floor = min([0.0, *values])
    return Picture.drawn(
        f"Agreement with {certainty(confidence)} intervals: the judge against curated labels (dots), the annotators among "
        "themselves (squares)",
        lambda w: dots(items, w, "Agreement of the judge and of the annotators", bounds=(floor, 1.0)),
    )


def learning_curve(model: str, curves: pl.DataFrame, best_step: int, best_value: float) -> Picture | None:
    """Validation nDCG@10 by step, balanced and per level. ``curves``: table learning_curves of one model."""
    series = []
    measured = curves.filter(pl.col("measure").str.contains("ndcg")).sort("step")
    for i, measure in enumerate(measured["measure"].unique().sort().to_list()):
        points = measured.filter(pl.col("measure") == measure).select("step", "value").rows()
        series.append(Line(_curve_name(measure), points, _CURVES[i % len(_CURVES)]))
    if not series:
        return None
    last = float(curves.select(pl.col("step").max()).item())
    ring = (best_step, best_value, f"kept: step {best_step}, {figure(best_value)}")
    return Picture.drawn(
        f"{model}: nDCG@10 on the validation groups; step 0 is the base model",
        lambda w: lines(
            series,
            w,
            f"Validation nDCG@10 of {model} by step",
            x_title="optimiser step",
            ring=ring,
            x_range=(0.0, last),
        ),
    )


def loss_curve(model: str, curves: pl.DataFrame, best_step: int) -> Picture | None:
    """Training loss by step, below the validation curve on the same axis. ``curves``: table learning_curves of one model.

    A long run's loss is noise from step to step: its running mean is drawn over it.
    """
    loss = curves.filter(pl.col("measure") == "loss").sort("step")
    if loss.is_empty():
        return None
    points = loss.select("step", "value").rows()
    window = len(points) // _MEANS
    smooth = window >= _SHORTEST_MEAN
    series = [Line("loss", points, "l-blue thin" if smooth else "l-blue")]
    if smooth:
        mean = loss.select("step", pl.col("value").rolling_mean(window, min_samples=1, center=True)).rows()
        series.append(Line(f"mean of {window} steps", mean, "l-orange"))
    measured = curves.filter(pl.col("measure").str.contains("ndcg"))["measure"].unique()
    room = max((_curve_name(m) for m in measured), key=len, default="")
    last = max(float(points[-1][0]), float(best_step))
    return Picture.drawn(
        f"{model}: training loss; the dotted line is the step whose weights were kept",
        lambda w: lines(
            series,
            w,
            f"Training loss of {model} by step",
            x_title="optimiser step",
            guide=best_step,
            x_range=(0.0, last),
            room=room,
            height=130,
        ),
    )


def systems(scores: pl.DataFrame, measure: str, confidence: float) -> Picture | None:
    """One measure of every system, per level. ``scores``: table system_scores."""
    rows = scores.filter(pl.col("measure") == measure)
    if not rows.height:
        return None
    items = []
    for level in _levels(rows["level"]):
        block = rows.filter(pl.col("level") == level).sort("value", descending=True)
        for i, r in enumerate(block.iter_rows(named=True)):
            text = f"{figure(r['value'])} {interval(r['low'], r['high'])}".strip()
            items.append(
                Dot(
                    system_name(r["system"]),
                    r["value"],
                    r["low"],
                    r["high"],
                    text,
                    _system_css(r["system"]),
                    square=_is_baseline(r["system"]),
                    heading=named(level) if i == 0 else "",
                )
            )
    return Picture.drawn(
        f"{named(measure)} with {certainty(confidence)} intervals",
        lambda w: dots(items, w, f"{named(measure)} by system"),
    )


def differences(comparisons: pl.DataFrame, measure: str, confidence: float) -> Picture | None:
    """Paired differences of one measure. ``comparisons``: table comparisons."""
    rows = comparisons.filter(pl.col("measure") == measure)
    if not rows.height:
        return None
    items = []
    for level in _levels(rows["level"]):
        block = rows.filter(pl.col("level") == level).sort("system", "baseline", descending=[False, True])
        for i, r in enumerate(block.iter_rows(named=True)):
            items.append(
                Dot(
                    f"{system_name(r['system'])} − {system_name(r['baseline'])}",
                    r["difference"],
                    r["low"],
                    r["high"],
                    f"{signed(r['difference'])} {interval(r['low'], r['high'], sign=True)}".strip(),
                    heading=named(level) if i == 0 else "",
                )
            )
    return Picture.drawn(
        f"Difference in {named(measure)} with {certainty(confidence)} intervals; right of the line the fine-tuned model is "
        "better",
        lambda w: dots(items, w, f"Paired differences in {named(measure)}", zero=True),
    )


def group_differences(model: str, rows: pl.DataFrame, measure: str, group: str) -> Picture | None:
    """Fine-tuned minus base per group, largest gain first.

    ``rows``: the view group_differences at one model, measure and level.
    """
    if not rows.height:
        return None
    values = rows.sort("difference", "group_id", descending=[True, False]).select("group_id", "difference").rows()
    numbers = rows["difference"]
    better, worse = int((numbers > 0).sum()), int((numbers < 0).sum())
    mean = rows.select(pl.col("difference").mean()).item()
    caption = (
        f"{model}: {named(measure)} after fine-tuning minus before, one column per {group} of the test collection: "
        f"{better} better, {worse} worse, {rows.height - better - worse} equal"
    )
    return Picture.drawn(
        caption,
        lambda w: columns(values, w, f"Difference per {group}, {model}", mean=mean, mean_text=f"mean {signed(mean)}"),
    )


def costs(figures: Figures) -> Picture | None:
    """Known cost per purpose and model. Uses the query calls."""
    calls = figures["calls"]
    if not calls.height:
        return None
    per = calls.group_by("purpose", "model", maintain_order=True).agg(
        pl.col("known_cost").sum(), pl.col("unknown_costs").sum(), pl.col("requests").sum()
    )
    items = []
    for r in per.sort("known_cost", descending=True).iter_rows(named=True):
        unknown = f", {r['unknown_costs']:,} unknown" if r["unknown_costs"] else ""
        items.append(
            Bar(f"{named(r['purpose'])}: {r['model']}", float(r["known_cost"]), f"{usd(r['known_cost'])}{unknown}")
        )
    return Picture.drawn("Known cost by purpose and model", lambda w: bars(items, w, "Known cost by purpose and model"))


def _statistic(key: str) -> str:
    return {"kappa": "κ", "kappa_quadratic": "κ quadratic", "alpha": "α"}.get(key, key)


def _agreement_text(r: dict) -> str:
    if r["value"] is None:
        return "undefined"
    return f"{figure(r['value'], 2)} {interval(r['low'], r['high'], 2)}".strip()


def _curve_name(measure: str) -> str:
    return "balanced" if measure.startswith("balanced") else named(measure.partition(":")[2] or measure)


def _levels(column: pl.Series) -> Iterable[str]:
    """``all`` first, then the others by name."""
    return sorted(column.unique(), key=lambda level: (level != "all", level))


def _is_baseline(system: str) -> bool:
    return not system.endswith(("_base", "_tuned"))


def _system_css(system: str) -> str:
    if system.endswith("_tuned"):
        return "c-blue"
    return "open-orange" if system.endswith("_base") else "c-grade0"
