"""``tendril guideline``: what annotators work by, and the sheet they fill in."""

from pathlib import Path

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
@click.option("--collection", default=DEFAULT_COLLECTION, show_default=True, help="Whose calibration pairs.")
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
) -> None:
    """The annotator's document of guideline NAME: what the judge gets, letter by letter. Without NAME, the list."""
    from tendril_assets.annotating import document, guideline_list, rule_of, write_sheet

    given = {option for option in context.params if context.get_parameter_source(option) is not ParameterSource.DEFAULT}
    if name is None:
        if given:
            raise SettingsError("of which guideline? `tendril guideline` lists them, then: tendril guideline NAME ...")
        click.echo(guideline_list())
        return
    if sheet is None and (astray := sorted(given & {"annotator", "collection"})):
        raise SettingsError(f"--{astray[0]} is of the sheet: add --sheet FILE")
    prints = output is not None or (sheet is None and not rule)
    if "form" in given and not prints:
        raise SettingsError("--format is of the document, and this prints none: add --output FILE")
    if sheet is not None:
        pairs = write_sheet(Settings.from_env(), collection, name, sheet, annotator)
        click.echo(f"{pairs:,} pairs to annotate by {name}: {sheet}")
    if rule:
        click.echo(rule_of(name))
    if output is not None:
        if output.exists():
            raise SettingsError(f"{output} is there already: name another file, or move this one away")
        write_atomically(output, document(name, form).encode())
        click.echo(f"{name}: {output}")
    elif prints:
        click.echo(document(name, form), nl=False)
