"""``tendril guideline``: what annotators work by, and the sheet they fill in."""

from pathlib import Path
from typing import Literal

import click
from click.core import ParameterSource

from tendril_assets.defs import DEFAULT_COLLECTION
from tendril_assets.errors import SettingsError
from tendril_assets.files import write_atomically
from tendril_assets.judging.annotator import FORMATS, Format
from tendril_assets.settings import Settings

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--output", type=_FILE, help="Write the document to this file.")
@click.option(
    "--rule", is_flag=True, help="Print the rule that makes grades of two answers; annotators do not need it."
)
@click.option("--sheet", type=_FILE, help="Write a CSV sheet of the calibration pairs, to be filled in.")
@click.option("--annotator", default="", help="Name in the sheet's column annotator; otherwise left to be filled in.")
@click.option("--collection", default=DEFAULT_COLLECTION, show_default=True, help="Whose calibration pairs, or pool.")
@click.option("--pool", is_flag=True, help="Draw the sheet's pairs from the collection's pool, for its human anchor.")
@click.option("--pairs", type=click.IntRange(min=1), default=150, show_default=True, help="How many pairs of the pool.")
@click.option(
    "--strata",
    type=click.Choice(("grade", "rank")),
    default="grade",
    show_default=True,
    help="What the draw is even over: the judge's grade, or where none is known the best rank. The sheet shows neither.",
)
@click.option("--take", type=_FILE, help="Append this filled sheet of the pool to the landing folder's human anchor.")
@click.pass_context
def guideline(
    context: click.Context,
    name: str | None,
    form: Format,
    output: Path | None,
    rule: bool,
    sheet: Path | None,
    annotator: str,
    collection: str,
    pool: bool,
    pairs: int,
    strata: Literal["grade", "rank"],
    take: Path | None,
) -> None:
    """The annotator's document of guideline NAME: what the judge gets, letter by letter. Without NAME, the list."""
    from tendril_assets.annotating import document, guideline_list, rule_of, write_sheet

    given = {option for option in context.params if context.get_parameter_source(option) is not ParameterSource.DEFAULT}
    if name is None:
        if given:
            raise SettingsError("of which guideline? `tendril guideline` lists them, then: tendril guideline NAME ...")
        click.echo(guideline_list())
        return
    if take is not None:
        _take(collection, name, take, given - {"name", "collection", "take"})
        return
    if sheet is None and (astray := sorted(given & {"annotator", "collection", "pool"})):
        raise SettingsError(f"--{astray[0]} is of the sheet: add --sheet FILE")
    if not pool and (astray := sorted(given & {"pairs", "strata"})):
        raise SettingsError(f"--{astray[0]} is of a sheet from the pool: add --pool")
    prints = output is not None or (sheet is None and not rule)
    if "form" in given and not prints:
        raise SettingsError("--format is of the document, and this prints none: add --output FILE")
    if sheet is not None and pool:
        from tendril_assets.anchoring import write_anchor_sheet

        drawn = write_anchor_sheet(Settings.from_env(), collection, name, sheet, annotator, pairs, strata)
        click.echo(f"{drawn:,} pairs of the pool to annotate by {name}: {sheet}")
    elif sheet is not None:
        written = write_sheet(Settings.from_env(), collection, name, sheet, annotator)
        click.echo(f"{written:,} pairs to annotate by {name}: {sheet}")
    if rule:
        click.echo(rule_of(name))
    if output is not None:
        if output.exists():
            raise SettingsError(f"{output} is there already: name another file, or move this one away")
        write_atomically(output, document(name, form).encode())
        click.echo(f"{name}: {output}")
    elif prints:
        click.echo(document(name, form), nl=False)


def _take(collection: str, name: str, path: Path, others: set[str]) -> None:
    from tendril_assets.anchoring import take_anchor_sheet

    if others:
        raise SettingsError(f"--take reads a filled sheet and nothing else: leave --{min(others)} out")
    taken = take_anchor_sheet(Settings.from_env(), collection, name, path)
    click.echo(f"{taken.rows:,} annotated pairs added to {taken.path}; {taken.left_out:,} rows have no answer yet")
