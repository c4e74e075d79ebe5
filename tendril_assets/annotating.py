"""What ``tendril guideline`` gives: the list of guidelines, an annotator's document, a sheet to fill in."""

from pathlib import Path

import polars as pl

from tendril_assets.defs import collection_spec
from tendril_assets.errors import SettingsError
from tendril_assets.files import replacing
from tendril_assets.judging.annotator import Format, annotation_sheet, annotator_document, rule_table
from tendril_assets.judging.prompts import guideline_names, load_guideline, render
from tendril_assets.resources.landing import find, read_table
from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES


def guideline_list() -> str:
    """One line per guideline: name, version, hash, language, answer form, characters of a prompt without its texts."""
    rows = [("guideline", "version", "hash", "language", "answer", "characters")]
    for name in guideline_names():
        guideline = load_guideline(name)
        characters = sum(len(message["content"]) for message in render(guideline, "", ""))
        rows.append(
            (name, guideline.version, guideline.hash, guideline.language, guideline.answer.name, f"{characters:,}")
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def document(name: str, form: Format) -> str:
    """The annotator's document of a guideline, as text or markdown."""
    return annotator_document(load_guideline(name), form)


def rule_of(name: str) -> str:
    """The rule of a guideline in words."""
    return "\n".join(rule_table(load_guideline(name)) or [f"{name} has no rule: the answer is the grade"])


def write_sheet(settings: Settings, collection: str, name: str, path: Path, annotator: str) -> int:
    """A CSV sheet of the collection's calibration pairs, from its landing folder; returns the number of pairs.

    Raises:
        SettingsError: no such guideline or collection, or ``path`` exists: it may hold somebody's answers.
        LandingError: no calibration pairs, or wrong ones.
    """
    guideline, spec = load_guideline(name), collection_spec(collection, settings.profile)
    refuse_answers(path)
    source = find(settings.landing / collection / "calibration", "pairs", ("jsonl", "parquet"))
    pairs = read_table(source, TABLES["calibration_pairs"], choices={"level": spec.subsets})
    sheet = annotation_sheet(pairs, guideline, spec.seed, annotator)
    new_sheet(path, sheet)
    return sheet.height


def refuse_answers(path: Path) -> None:
    """Raises SettingsError where ``path`` exists: it may hold somebody's answers."""
    if path.exists():
        raise SettingsError(f"{path} is there already and may hold answers: name another file, or move this one away")


def new_sheet(path: Path, sheet: pl.DataFrame) -> None:
    """Write a sheet to a file that is not there yet. Raises SettingsError as ``refuse_answers`` does."""
    refuse_answers(path)
    with replacing(path) as partial:
        # The byte order mark is what spreadsheets know UTF-8 by; the landing folder takes it back with it.
        sheet.write_csv(partial, include_bom=True)
