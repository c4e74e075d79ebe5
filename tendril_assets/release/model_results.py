"""A model card's results: the table with intervals, per level, and the paired tests in words."""

import polars as pl

from tendril_assets.evaluation.aggregate import ALL
from tendril_assets.evaluation.registers import GROUP, WHOLE, WITHOUT
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
    share,
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
        _composition(known, inputs, scores),
        _table(known, inputs, scores, ALL),
        _judged(known, scores),
        *_tests(known, inputs),
    ]
    for level in shown_levels(known, inputs):
        rows = scores.filter((pl.col("system") == known.tuned_system) & (pl.col("level") == level))
        counted = _counted(rows.row(0, named=True), inputs.spec.group)
        parts += [f"### {named(level)}", f"{counted}.", _table(known, inputs, scores, level)]
        parts += _without_dominant(known, inputs, level)
    differences = _differences(known, inputs)
    parts += ["### Paired differences", differences] if differences else []
    return "\n\n".join(part for part in parts if part)


def own_scores(known: CardModel, inputs: ModelInputs) -> pl.DataFrame:
    """Scores of BM25, the base and the fine-tuned model, in this order."""
    order = [BASELINE, known.base_system, known.tuned_system]
    return pl.concat([inputs.scores.filter(pl.col("system") == system) for system in order])


def shown_levels(known: CardModel, inputs: ModelInputs) -> list[str]:
    """The subsets that the model has scores of, in their order."""
    there = set(inputs.scores.filter(pl.col("system") == known.tuned_system)["level"])
    return [level for level in inputs.spec.subsets if level in there]


def _composition(known: CardModel, inputs: ModelInputs, scores: pl.DataFrame) -> str:
    """What the figures over all registers are made of: they stand nowhere without it."""
    if not inputs.holds_tests:
        return ""
    spec = inputs.spec
    own = scores.filter(pl.col("system") == known.tuned_system)
    queries = dict(own.select("level", "queries").unique().iter_rows())
    counts = [(level, queries[level]) for level in shown_levels(known, inputs)]
    few = queries[ALL] - sum(n for _, n in counts)
    generation = spec.registers.generation if spec.registers else None
    by_model = {one.level for one in generation.sets.values()} if generation else set()
    written = sum(n for level, n in counts if level in by_model)
    composed = [f"{n:,} {spec.release.plurals.get(level, named(level).lower())}" for level, n in counts]
    composed += [f"{few:,} of registers with too few for a table of their own"] if few else []
    return (
        f"The first table is over all registers: {listed(composed)}. A language model wrote "
        f"{share(written, queries[ALL])} of these queries; registers differ in length and in wording, so see each "
        "by itself below."
    )


def _without_dominant(known: CardModel, inputs: ModelInputs, level: str) -> list[str]:
    """The level once more without the group that most of its queries belong to, where the specification asks for it."""
    if level not in inputs.spec.evaluation.without_dominant:
        return []
    rows = inputs.registers.filter(level=level, unit=GROUP)
    whole, rest = rows.filter(part=WHOLE), rows.filter(part=WITHOUT)
    if not rest.height:
        return []
    order = [BASELINE, known.base_system, known.tuned_system]
    table = _table(known, inputs, pl.concat([rest.filter(system=system) for system in order]), level)
    first, group = rest.row(0, named=True), inputs.spec.group
    return [
        f"Without `{whole['dominant'][0]}`, the {group} of {share(whole['dominant_share'][0], 1)} of these queries: "
        f"{plural(first['groups'], group)}, {plural(first['queries'], 'query')}.",
        table,
    ]


def reported(inputs: ModelInputs) -> list[str]:
    """The specification's measures but judged@k, which is no merit of a system."""
    return [m for m in inputs.spec.evaluation.measures if not m.startswith(_JUDGED)]


def collection_name(inputs: ModelInputs) -> str:
    """The test collection as a reader finds it: published name and the revision that the specification
    declares, of sample data neither; or that the tests are held out of the collection itself."""
    test = inputs.spec.release.test_collection
    if inputs.holds_tests:
        return f"the held-out {inputs.spec.group}s of the collection"
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
    rules, kind = spec.evaluation, "Tests" if inputs.holds_tests else "Test collection"
    ends = (
        f"{certainty(rules.confidence)} intervals come from {rules.resamples:,} bootstrap resamples of {spec.group}s."
        if row["low"] is not None
        else f"With one {spec.group} there are no intervals."
    )
    return (
        f"{kind}: {collection_name(inputs)}, {_counted(row, spec.group)} (hash of what is ranked "
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
        for level in (ALL, *shown_levels(known, inputs)):
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
