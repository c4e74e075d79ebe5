"""What the command line prints of a collection whose queries are of several registers: no figure without what it rests on."""

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from tendril_assets.evaluation.registers import QUERY, WHOLE
from tendril_assets.release.wording import certainty, interval, named, p_value, share, signed, system_name
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_evaluation import ALL


def show_registers(warehouse: Warehouse, spec: CollectionSpec, console: Console) -> None:
    """One table of the headline measure, registers by systems; below it the composition and every system against BM25."""
    measure = spec.evaluation.measures[0]
    wanted = (pl.col("measure") == measure) & (pl.col("unit") == QUERY)
    scores = warehouse.load(spec.collection, "register_scores").filter(wanted)
    if scores.is_empty():
        least = spec.evaluation.min_queries
        console.print(f"no register has {least} annotated queries with a relevant passage: there is nothing to show")
        return
    sure = certainty(spec.evaluation.confidence)
    console.print(f"{spec.collection}: {named(measure)} per register, mean over queries")
    console.print(register_table(scores, spec))
    for line in compositions(scores, spec):
        console.print(line, markup=False)
    compared = warehouse.load(spec.collection, "register_comparisons").filter(wanted, pl.col("part") == WHOLE)
    console.print(f"differences from BM25 with {sure} intervals, p of the sign-flip test and after Holm:")
    for row in compared.sort(pl.col("level") != ALL, "level", "system").iter_rows(named=True):
        ends = interval(row["low"], row["high"], sign=True)
        console.print(
            f"  {_level(row['level'])}, {system_name(row['system'])}: {signed(row['difference'])} {ends}, "
            f"p {p_value(row['p_permutation'])}, {p_value(row['p_holm'])}",
            markup=False,
        )


def register_table(scores: pl.DataFrame, spec: CollectionSpec) -> Table:
    """``scores``: rows of register_scores of one measure and unit."""
    systems = [system for system in spec.systems if system in set(scores["system"])]
    values = {(row["level"], row["part"], row["system"]): row for row in scores.iter_rows(named=True)}
    rows = []
    for level in (*spec.subsets, ALL):
        for part in scores.filter(level=level)["part"].unique().sort(descending=True).to_list():
            found = [values.get((level, part, system)) for system in systems]
            first = next(row for row in found if row)
            label = _level(level) + ("" if part == WHOLE else f" without {_dominant(values, level)}")
            rows.append([label, f"{first['queries']:,}", *(f"{r['value']:.3f}" if r else "-" for r in found)])
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("register", "queries", *systems):
        table.add_column(name, justify="left" if name == "register" else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def compositions(scores: pl.DataFrame, spec: CollectionSpec) -> list[str]:
    """One line for the headline and for each register: what it rests on."""
    lines = []
    for level in (ALL, *spec.subsets):
        own = scores.filter(level=level, part=WHOLE)
        if own.is_empty():
            continue
        row = own.row(0, named=True)
        lines.append(
            f"  {_level(level)}: {row['queries']:,} queries of {row['groups']:,} {spec.group}s, "
            f"{share(row['generated'], 1)} written by a model, {share(row['dominant_share'], 1)} about {row['dominant']}, "
            f"{row['excluded']:,} left out"
        )
    return lines


def _level(level: str) -> str:
    return "all registers" if level == ALL else level


def _dominant(values: dict, level: str) -> str:
    return next(row["dominant"] for (of, part, _), row in values.items() if (of, part) == (level, WHOLE))
