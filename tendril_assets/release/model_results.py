"""A model card's results: the table with intervals, per level, and the paired tests in words."""

import polars as pl

from tendril_assets.evaluation.aggregate import ALL
from tendril_assets.evaluation.tables import BASELINE
from tendril_assets.release.model_inputs import CardModel, ModelInputs
from tendril_assets.release.verdict import Change, holm, verdict
from tendril_assets.release.wording import (
    certainty,
    figure,
    interval,
    listed,
    markdown_table,
    named,
    p_value,
    plural,
    signed,
    system_name,
)

_JUDGED = "judged"


def results(known: CardModel, inputs: ModelInputs) -> str:
    """Test collection, the overall table, the paired tests in words; the same per level and every difference below."""
    scores = own_scores(known, inputs)
    if scores.filter(pl.col("system") == known.tuned_system).is_empty():
        return "The model has not been evaluated on the test collection yet."
    parts = [
        _collection(known, inputs, scores),
        _table(known, inputs, scores, ALL),
        _judged(known, scores),
        *_tests(known, inputs),
    ]
    for level in inputs.spec.subsets:
        rows = scores.filter((pl.col("system") == known.tuned_system) & (pl.col("level") == level))
        if rows.height:
            counted = _counted(rows.row(0, named=True), inputs.spec.group)
            parts += [f"### {named(level)}", f"{counted}.", _table(known, inputs, scores, level)]
    differences = _differences(known, inputs)
    parts += ["### Paired differences", differences] if differences else []
    return "\n\n".join(part for part in parts if part)


def own_scores(known: CardModel, inputs: ModelInputs) -> pl.DataFrame:
    """Scores of BM25, the base and the fine-tuned model, in this order."""
    order = [BASELINE, known.base_system, known.tuned_system]
    return pl.concat([inputs.scores.filter(pl.col("system") == system) for system in order])


def reported(inputs: ModelInputs) -> list[str]:
    """The specification's measures but judged@k, which is no merit of a system."""
    return [m for m in inputs.spec.evaluation.measures if not m.startswith(_JUDGED)]


def collection_name(inputs: ModelInputs) -> str:
    """The test collection as a reader finds it: published name and the revision that the specification
    declares; of sample data neither."""
    test = inputs.spec.release.test_collection
    if inputs.sandbox or test is None:
        return "the external test collection"
    return f"`{test.name}`" + (f" (declared revision `{test.revision}`)" if test.revision else "")


def compared(known: CardModel, inputs: ModelInputs, baseline: str, level: str) -> pl.DataFrame:
    """Rows of table comparisons, in the order of the specification's measures."""
    rows = inputs.comparisons.filter(
        (pl.col("system") == known.tuned_system) & (pl.col("baseline") == baseline) & (pl.col("level") == level)
    )
    order = [m for m in reported(inputs) if m in set(rows["measure"])]
    return pl.concat([rows.filter(pl.col("measure") == m) for m in order]) if order else rows.clear()


def _collection(known: CardModel, inputs: ModelInputs, scores: pl.DataFrame) -> str:
    spec = inputs.spec
    row = scores.filter((pl.col("system") == known.tuned_system) & (pl.col("level") == ALL)).row(0, named=True)
    scope = (
        f"Each query ranks the passages of its own {spec.group}."
        if spec.evaluation.scope == "group"
        else "Each query ranks the passages of the whole collection."
    )
    rules = spec.evaluation
    ends = (
        f"{certainty(rules.confidence)} intervals come from {rules.resamples:,} bootstrap resamples of {spec.group}s."
        if row["low"] is not None
        else f"With one {spec.group} there are no intervals."
    )
    return (
        f"Test collection: {collection_name(inputs)}, {_counted(row, spec.group)} (hash of what is ranked "
        f"`{row['test_hash'][:16]}`). {scope} Scores are macro means over {spec.group}s; {ends}"
    )


def _counted(row: dict, group: str) -> str:
    left_out = f"; {row['excluded']:,} without one left out" if row["excluded"] else "; none left out"
    return (
        f"{plural(row['groups'], group)}, {plural(row['queries'], 'pair')} of query and {group} with a relevant "
        f"passage{left_out}"
    )


def _table(known: CardModel, inputs: ModelInputs, scores: pl.DataFrame, level: str) -> str:
    at = scores.filter(pl.col("level") == level)
    measures = [m for m in reported(inputs) if m in set(at["measure"])]
    values = {(r["system"], r["measure"]): r for r in at.iter_rows(named=True)}
    rows = [
        (_system(system, known, inputs), *(_cell(values.get((system, m))) for m in measures))
        for system in at["system"].unique(maintain_order=True)
    ]
    return markdown_table(("Model", *(named(m) for m in measures)), rows)


def _system(system: str, known: CardModel, inputs: ModelInputs) -> str:
    if system == known.tuned_system:
        return f"**{inputs.spec.release.published_model(known.name).title}**"
    return f"{base_name(known)} (base)" if system == known.base_system else system_name(system)


def base_name(known: CardModel) -> str:
    """The base without its owner, folder or package mark."""
    return known.entry.base_title.rpartition("/")[2]


def _cell(row: dict | None) -> str:
    return "-" if row is None else f"{figure(row['value'])} {interval(row['low'], row['high'])}".strip()


def _judged(known: CardModel, scores: pl.DataFrame) -> str:
    rows = scores.filter(
        (pl.col("system") == known.tuned_system) & (pl.col("level") == ALL) & pl.col("measure").str.starts_with(_JUDGED)
    )
    said = listed([f"{named(r['measure'])} {figure(r['value'])}" for r in rows.iter_rows(named=True)])
    return f"Share of the fine-tuned model's first passages that were judged at all: {said}." if said else ""


def _tests(known: CardModel, inputs: ModelInputs) -> list[str]:
    spec = inputs.spec
    said = []
    for baseline, what in ((known.base_system, "the base model"), (BASELINE, system_name(BASELINE))):
        rows = compared(known, inputs, baseline, ALL)
        if rows.is_empty():
            continue
        first = rows.row(0, named=True)
        models = inputs.comparisons.filter(
            pl.col("baseline").str.ends_with("_base") if baseline != BASELINE else pl.col("baseline") == baseline
        )["system"].n_unique()
        tested = {r["measure"]: Change(r["difference"], r["p_holm"]) for r in rows.iter_rows(named=True)}
        ends = interval(first["low"], first["high"], sign=True)
        said.append(
            f"Against {what}: {signed(first['difference'])} {named(first['measure'])}{f' {ends}' if ends else ''} in a "
            f"two-sided paired bootstrap over {spec.group}s. After {holm(models)}, "
            f"{verdict(tested, round(1 - spec.evaluation.confidence, 9))}"
        )
    return said


def _differences(known: CardModel, inputs: ModelInputs) -> str:
    """All measures over all levels, and of each level the first measure."""
    rows = []
    for baseline in (known.base_system, BASELINE):
        for level in (ALL, *inputs.spec.subsets):
            shown = compared(known, inputs, baseline, level)
            for r in (shown if level == ALL else shown.head(1)).iter_rows(named=True):
                ends = interval(r["low"], r["high"], sign=True)
                difference = f"{signed(r['difference'])} {ends}".strip()
                rows.append(
                    (
                        _system(baseline, known, inputs),
                        named(level),
                        named(r["measure"]),
                        difference,
                        p_value(r["p_holm"]),
                    )
                )
    heads = ("Compared with", "Level", "Measure", "Difference", "p, Holm")
    return markdown_table(heads, rows) if rows else ""
