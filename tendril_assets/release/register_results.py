"""What systems measure on a release, register by register: a part of the data card of a collection that holds its own tests."""

from typing import NamedTuple

import polars as pl

from tendril_assets.evaluation.registers import headline
from tendril_assets.release.register_pictures import composed_of, dominant_of, register_name
from tendril_assets.release.wording import certainty, figure, interval, markdown_table, named, plural, system_name
from tendril_assets.spec import CollectionSpec


class MeasuredRows(NamedTuple):
    """``scores``: table register_scores, where it was measured on the rows of the release; else ``reason`` says why there are
    none."""

    scores: pl.DataFrame | None = None
    reason: str = "the systems were not measured yet"


def results(spec: CollectionSpec, measured: MeasuredRows) -> str:
    """The first measure of the specification for every system, per register, each with what it rests on."""
    if measured.scores is None:
        return f"This version has no results: {measured.reason}."
    measure, rules = spec.evaluation.measures[0], spec.evaluation
    shown = headline(measured.scores, measure)
    if not shown.height:
        return f"This version has no results: no register has {plural(rules.min_queries, 'query')} with a relevant passage."
    systems = [system for system in spec.systems if system in set(shown["system"])]
    dominant, rows = dominant_of(measured.scores), []
    for level, part in shown.select("level", "part").unique(maintain_order=True).iter_rows():
        own = {r["system"]: r for r in shown.filter(level=level, part=part).iter_rows(named=True)}
        cells = [_cell(own.get(system)) for system in systems]
        first = next(iter(own.values()))
        rows.append((register_name(level, part, dominant.get(level)), composed_of(first, spec.group), *cells))
    reach = "the whole corpus" if spec.evaluation.scope == "collection" else f"the passages of its own {spec.group}"
    text = (
        f"{named(measure)} of the test queries with a relevant passage, each ranking {reach}: means over queries, with "
        f"{certainty(rules.confidence)} intervals that resample queries."
    )
    if spec.evaluation.scope == "collection":
        text += f" A query of no {spec.group} counts under that of most of its relevant passages."
    if rules.min_queries > 1:
        text += f" Registers with fewer than {plural(rules.min_queries, 'query')} have no row."
    table = markdown_table(("Register", "Rests on", *map(system_name, systems)), rows, figures=False)
    return f"{text}\n\n{table}"


def _cell(row: dict | None) -> str:
    return "-" if row is None else f"{figure(row['value'])} {interval(row['low'], row['high'])}".strip()
