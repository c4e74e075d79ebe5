"""Pictures of training and evaluation: which chart shows which figures. Each is None where there is nothing to show yet."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tendril_assets.release.charts import Dot, Line, columns, dots, lines
from tendril_assets.release.pictures import Picture, levels_of
from tendril_assets.release.wording import certainty, figure, interval, named, p_value, plural, signed, system_name

# Whether a comparison is of a fine-tuned model with the weights it started from.
OWN_BASE = pl.col("baseline") == pl.col("system").str.strip_suffix("_tuned") + "_base"
# A running mean takes a twentieth of the run.
_MEANS, _SHORTEST_MEAN = 20, 5
# Neighbours differ in colour and dash, and no two are alike.
_CURVES = (
    *("l-blue", "l-orange dash", "l-green dot", "l-purple dash"),
    *("l-blue dot", "l-orange", "l-green dash", "l-purple dot"),
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
    for level in levels_of(rows["level"]):
        block = rows.filter(pl.col("level") == level).sort("value", descending=True)
        for i, r in enumerate(block.iter_rows(named=True)):
            items.append(dot_of_system(r, heading=named(level) if i == 0 else ""))
    return Picture.drawn(
        f"{named(measure)} with {certainty(confidence)} intervals",
        lambda w: dots(items, w, f"{named(measure)} by system", x_title=named(measure)),
    )


def dot_of_system(row: Mapping[str, Any], *, heading: str) -> Dot:
    """A system's figure with its interval: fine-tuned ones, bases and what is neither differ in colour and shape."""
    return Dot(
        system_name(row["system"]),
        row["value"],
        row["low"],
        row["high"],
        f"{figure(row['value'])} {interval(row['low'], row['high'])}".strip(),
        _system_css(row["system"]),
        square=_is_baseline(row["system"]),
        heading=heading,
    )


def catalogs(
    scores: pl.DataFrame, systems_shown: Sequence[str], measure: str, confidence: float, group: str
) -> Picture | None:
    """One measure of the named systems, per catalog, over all levels. ``scores``: table catalog_scores; ``group``: the
    collection's word for a group."""
    rows = scores.filter(
        (pl.col("measure") == measure) & (pl.col("level") == "all") & pl.col("system").is_in(list(systems_shown))
    )
    if not rows.height:
        return None
    items = []
    for catalog in rows["catalog"].unique().sort():
        block = rows.filter(pl.col("catalog") == catalog).sort("value", "system", descending=[True, False])
        for i, r in enumerate(block.iter_rows(named=True)):
            heading = f"{catalog}, {plural(r['queries'], 'ranking')} in {plural(r['groups'], group)}"
            items.append(dot_of_system(r, heading=heading if i == 0 else ""))
    return Picture.drawn(
        f"{named(measure)} by catalog with {certainty(confidence)} intervals",
        lambda w: dots(items, w, f"{named(measure)} by catalog", x_title=named(measure)),
    )


def catalog_differences(comparisons: pl.DataFrame, measure: str, confidence: float, group: str) -> Picture | None:
    """Fine-tuned model minus its base, per catalog, over all levels. ``comparisons``: table catalog_comparisons;
    ``group``: the collection's word for a group."""
    rows = comparisons.filter((pl.col("measure") == measure) & (pl.col("level") == "all") & OWN_BASE)
    if not rows.height:
        return None
    items = []
    for system in rows["system"].unique().sort():
        block = rows.filter(pl.col("system") == system).sort("difference", "catalog", descending=[True, False])
        for i, r in enumerate(block.iter_rows(named=True)):
            items.append(
                Dot(
                    f"{r['catalog']}, {plural(r['groups'], group)}",
                    r["difference"],
                    r["low"],
                    r["high"],
                    f"{signed(r['difference'])} {interval(r['low'], r['high'], sign=True)}".strip(),
                    heading=f"{system_name(system)} − base" if i == 0 else "",
                )
            )
    return Picture.drawn(
        f"Difference in {named(measure)} by catalog with {certainty(confidence)} intervals, not corrected over catalogs; "
        f"with few {group}s an interval is too narrow",
        lambda w: dots(
            items,
            w,
            f"Paired differences in {named(measure)} by catalog",
            x_title=f"difference in {named(measure)}",
            zero=True,
        ),
    )


def differences(comparisons: pl.DataFrame, measure: str, confidence: float) -> Picture | None:
    """Paired differences of one measure. ``comparisons``: table comparisons."""
    rows = comparisons.filter(pl.col("measure") == measure)
    if not rows.height:
        return None
    items = []
    for level in levels_of(rows["level"]):
        block = rows.filter(pl.col("level") == level).sort("system", ~OWN_BASE, "baseline")
        for i, r in enumerate(block.iter_rows(named=True)):
            items.append(
                Dot(
                    f"{system_name(r['system'])} − {_baseline_name(r)}",
                    r["difference"],
                    r["low"],
                    r["high"],
                    _difference(r),
                    heading=named(level) if i == 0 else "",
                )
            )
    return Picture.drawn(
        f"Difference in {named(measure)} with {certainty(confidence)} intervals and p after Holm's correction; right of the "
        "line the fine-tuned model is better",
        lambda w: dots(
            items, w, f"Paired differences in {named(measure)}", x_title=f"difference in {named(measure)}", zero=True
        ),
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
        lambda w: columns(
            values,
            w,
            f"Difference per {group}, {model}",
            mean=mean,
            mean_text=f"mean {signed(mean)}",
            x_title=f"{group}s, from the largest gain to the largest loss",
        ),
    )


def _baseline_name(row: dict) -> str:
    own = row["baseline"] == row["system"].removesuffix("_tuned") + "_base"
    return "base" if own else system_name(row["baseline"])


def _difference(row: dict) -> str:
    """``+0.049 [+0.018, +0.077], p 0.002``, as far as there is an interval and a p."""
    text = f"{signed(row['difference'])} {interval(row['low'], row['high'], sign=True)}".strip()
    return text if row["p_holm"] is None else f"{text}, p {p_value(row['p_holm'])}"


def _curve_name(measure: str) -> str:
    return "Balanced" if measure.startswith("balanced") else named(measure.partition(":")[2] or measure)


def _is_baseline(system: str) -> bool:
    return not system.endswith(("_base", "_tuned"))


def _system_css(system: str) -> str:
    if system.endswith("_tuned"):
        return "c-blue"
    return "open-orange" if system.endswith("_base") else "c-grade0"
