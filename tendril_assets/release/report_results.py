"""The report's sections on models and measures: training, retrieval quality, what fine-tuning changed."""

from html import escape

import polars as pl

from tendril_assets.release import report_register_results, results_pictures
from tendril_assets.release.markup import block, folded, page_table, picture
from tendril_assets.release.model_training import fates
from tendril_assets.release.report_inputs import ReportInputs, headline_measure
from tendril_assets.release.report_tables import (
    comparison_table,
    curve_table,
    differences_table,
    metric_table,
    queries_table,
    stale_warnings,
    training_table,
)
from tendril_assets.release.wording import plural, system_name

# Rows of the table of the hardest queries.
_HARDEST = 10


def training(inputs: ReportInputs) -> str:
    trained, curves = inputs.tables["trained_models"].sort("model"), inputs.tables["learning_curves"]
    parts = [f"<h3>Models</h3>{training_table(trained, inputs.spec.models)}"] if trained.height else []
    for r in trained.iter_rows(named=True):
        own = curves.filter(pl.col("model") == r["model"])
        curve = results_pictures.learning_curve(r["model"], own, r["best_step"], r["best_value"])
        loss = results_pictures.loss_curve(r["model"], own, r["best_step"])
        parts.append(
            f"<h3>{escape(r['model'])}</h3>"
            + picture(curve, "This model reported no validation measure.", details=curve_table(own, r["best_step"]))
            + picture(loss, "This model reported no loss.")
        )
    use = inputs.figures["training_use"]
    examples = page_table(*fates(use, inputs.spec.trained_subsets)) if use.height else ""
    lead = (
        f"The weights with the best balanced nDCG@10 on the held-out {inputs.spec.group}s are kept; balanced is the mean "
        "over levels. The table gives it for the base and for the weights that were kept."
    )
    return block(
        lead if parts else "No model has been trained yet.",
        stale_warnings(inputs.stale),
        *parts,
        f"<h3>Possible training examples</h3>{examples}" if examples else "",
        report_register_results.stages(inputs) if inputs.spec.evaluation.test == "held_out" else "",
    )


def quality(inputs: ReportInputs) -> str:
    scores, spec = inputs.tables["system_scores"], inputs.spec
    measure = headline_measure(spec)
    overall = scores.filter((pl.col("measure") == measure) & (pl.col("level") == "all"))
    text = ""
    if overall.height:
        r = overall.row(0, named=True)
        without = f"{r['excluded']:,} more without one left out" if r["excluded"] else "none left out"
        text = (
            f"External test collection: {plural(r['groups'], spec.group)}, {plural(r['queries'], 'ranking')} with a "
            f"relevant passage, {without}. Macro means over {spec.group}s; intervals from "
            f"{spec.evaluation.resamples:,} resamples of {spec.group}s."
        )
    return block(
        text,
        stale_warnings(inputs.stale),
        picture(
            results_pictures.systems(scores, measure, spec.evaluation.confidence),
            "No system has been evaluated yet.",
        ),
        f"<h3>All measures</h3>{metric_table(scores, spec.evaluation.measures, spec.group)}" if scores.height else "",
        _by_catalog(inputs),
        _hardest(inputs),
    )


def _ranked(inputs: ReportInputs) -> list[str]:
    """Systems by the headline measure over all levels, best first."""
    scores, measure = inputs.tables["system_scores"], headline_measure(inputs.spec)
    overall = scores.filter((pl.col("measure") == measure) & (pl.col("level") == "all"))
    return overall.sort("value", "system", descending=[True, False])["system"].to_list()


def _by_catalog(inputs: ReportInputs) -> str:
    """The best fine-tuned model, its base and the systems without training, per catalog; all of them in the table."""
    spec, scores = inputs.spec, inputs.tables["catalog_scores"].filter(pl.col("level") == "all")
    if scores.is_empty():
        return ""
    ranked = _ranked(inputs)
    best = next((s.removesuffix("_tuned") for s in ranked if s.endswith("_tuned")), None)
    shown = [s for s in ranked if s in (f"{best}_tuned", f"{best}_base") or not s.endswith(("_tuned", "_base"))]
    measure, rules = headline_measure(spec), spec.evaluation
    lead = (
        f"Rankings of the queries of one catalog. A {spec.group} counts for each catalog it has such queries of, so catalogs "
        "overlap in their groups; their queries add up."
    )
    return f"<h3>By catalog</h3><p>{escape(lead)}</p>" + picture(
        results_pictures.catalogs(scores, shown, measure, rules.confidence, spec.group),
        "",
        details=metric_table(scores, rules.measures, spec.group, by="catalog"),
        long=True,
    )


def _hardest(inputs: ReportInputs) -> str:
    """The queries that the best system ranks worst, folded."""
    worst, ranked = inputs.views["worst_queries"], _ranked(inputs)
    own = worst.filter(pl.col("system") == ranked[0]).head(_HARDEST) if ranked else worst.clear()
    if own.is_empty():
        return ""
    return folded(f"The hardest queries of {system_name(ranked[0])}", queries_table(own, inputs.spec.group), long=True)


def differences(inputs: ReportInputs) -> str:
    measure, spec = headline_measure(inputs.spec), inputs.spec
    comparisons, confidence = inputs.tables["comparisons"], spec.evaluation.confidence
    shown = inputs.views["group_differences"].filter((pl.col("measure") == measure) & (pl.col("level") == "all"))
    columns = []
    for model in shown["model"].unique().sort():
        own = shown.filter(pl.col("model") == model)
        drawn = results_pictures.group_differences(model, own, measure, spec.group)
        columns.append(picture(drawn, "", details=differences_table(own, spec.group)))
    return block(
        "Paired bootstrap with the same resamples for both systems; Holm's correction is over the fine-tuned models, per "
        "measure. The permuted p is that of a sign-flip test, without correction: trust it where groups are few.",
        stale_warnings(inputs.stale),
        picture(
            results_pictures.differences(comparisons, measure, confidence),
            "No fine-tuned model has been compared yet.",
        ),
        *columns,
        picture(
            results_pictures.catalog_differences(inputs.tables["catalog_comparisons"], measure, confidence, spec.group),
            "",
        ),
        "<h3>All comparisons</h3>"
        + folded("Every level and measure", comparison_table(comparisons, confidence, spec.evaluation.measures))
        if comparisons.height
        else "",
    )
