"""``tendril guideline``: what annotators work by, and the sheet they fill in."""

from pathlib import Path

import click

from tendril_assets.defs import DEFAULT_COLLECTION
from tendril_assets.errors import SettingsError
from tendril_assets.files import write_atomically
from tendril_assets.settings import Settings

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(["text", "markdown"]), default="text", show_default=True)
@click.option("--output", type=_FILE, help="Write the document to this file.")
@click.option(
    "--rule", is_flag=True, help="Print the rule that makes grades of two answers; annotators do not need it."
)
@click.option("--sheet", type=_FILE, help="Write a CSV sheet of the calibration pairs, to be filled in.")
@click.option("--annotator", default="", help="Name in the sheet's column annotator; otherwise left to be filled in.")
@click.option("--collection", default=DEFAULT_COLLECTION, show_default=True, help="Whose calibration pairs.")
def guideline(
    name: str | None, form: str, output: Path | None, rule: bool, sheet: Path | None, annotator: str, collection: str
) -> None:
    """The annotator's document of guideline NAME: what the judge gets, letter by letter. Without NAME, the list."""
    from tendril_assets.annotating import document, guideline_list, rule_of, write_sheet

    if name is None:
        if output or sheet or rule:
            raise SettingsError("of which guideline? `tendril guideline` lists them, then: tendril guideline NAME ...")
        click.echo(guideline_list())
        return
    if sheet is not None:
        pairs = write_sheet(Settings.from_env(), collection, name, sheet, annotator)
        click.echo(f"{pairs:,} pairs to annotate by {name}: {sheet}")
    if rule:
        click.echo(rule_of(name))
    if output is not None:
        write_atomically(output, document(name, form).encode())
        click.echo(f"{name}: {output}")
    elif sheet is None and not rule:
        click.echo(document(name, form), nl=False)
