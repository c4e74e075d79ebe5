"""What the command line prints of a collection whose queries are of several registers: no figure without what it rests on."""

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from tendril_assets.evaluation.registers import QUERY, WHOLE, WITHOUT
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
    whole = (pl.col("part") == WHOLE) & (pl.col("level") == ALL)
    compared = warehouse.load(spec.collection, "register_comparisons").filter(wanted, whole)
    console.print(
        f"differences from BM25 over all registers, {sure} intervals, p of the sign-flip test and after Holm:"
    )
    for row in compared.sort("difference", "system", descending=[True, False]).iter_rows(named=True):
        ends = interval(row["low"], row["high"], sign=True)
        console.print(
            f"  {system_name(row['system'])}: {signed(row['difference'])} {ends}, p {p_value(row['p_permutation'])}, "
            f"{p_value(row['p_holm'])}",
            markup=False,
        )
    console.print("per register: view register_results, and the report")


def register_table(scores: pl.DataFrame, spec: CollectionSpec) -> Table:
    """A system a row, a register a column, and above them how many queries each column rests on.

    ``scores``: rows of register_scores of one measure and unit. A register without its dominant group stands beside the
    whole one, under the same name with a star.
    """
    values = {(row["level"], row["part"], row["system"]): row for row in scores.iter_rows(named=True)}
    there = {(level, part): row["queries"] for (level, part, _), row in values.items()}
    columns = [(level, part) for level in (*spec.subsets, ALL) for part in (WHOLE, WITHOUT) if (level, part) in there]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("system", no_wrap=True)
    for level, part in columns:
        table.add_column(level + ("" if part == WHOLE else "*"), justify="right", no_wrap=True)
    table.add_row("queries", *(f"{there[column]:,}" for column in columns))
    for system in spec.systems:
        found = [values.get((*column, system)) for column in columns]
        if any(found):
            table.add_row(system, *(f"{row['value']:.3f}" if row else "-" for row in found))
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
        if not scores.filter(level=level, part=WITHOUT).is_empty():
            lines.append(f"  {level}*: without {row['dominant']}")
    return lines


def _level(level: str) -> str:
    return "all registers" if level == ALL else level
