"""The page of a collection of several registers: each with what it rests on, and no section that it has nothing for."""

import re

import polars as pl
import pytest

from tendril_assets.release.figures import REPORT_VIEWS, figure_query, read_figures, report_figures, report_tables
from tendril_assets.release.report import render_report
from tendril_assets.release.report_inputs import ReportInputs
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy, toy_registers


def page(frames: dict[str, pl.DataFrame]) -> str:
    read, spec = toy.reader(toy.database(frames)), toy_registers.spec()
    inputs = ReportInputs(
        spec=spec,
        figures=read_figures(lambda name: read(figure_query(name, spec)), report_figures(spec)),
        tables={name: frames[name] for name in report_tables(spec)},
        views={name: read(f"views/{name}") for name in REPORT_VIEWS},
        sandbox=False,
    )
    return render_report(inputs)


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split()).replace("\u00a0", " ")


def every_table(frames: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return {name: frames.get(name, table.empty()) for name, table in TABLES.items()}


@pytest.fixture(scope="module")
def judged() -> str:
    return words(page(every_table(toy_registers.tables())))


def test_registers_splits_and_routes_stand_on_the_page(judged: str) -> None:
    for told in ("Splits", "test_live", "Generated questions", "By route", "The pool", "Live questions and their acts"):
        assert told in judged, told


def test_what_such_a_collection_has_nothing_of_is_left_out(judged: str) -> None:
    assert "anonymi" not in judged.lower()
    assert "Summaries" not in judged


def test_where_no_judge_was_accepted_the_page_says_so() -> None:
    told = words(page(every_table(toy_registers.tables(judged=False))))
    assert "no judge" in told.lower() or "not accepted" in told.lower()


def test_an_empty_collection_has_a_page() -> None:
    assert "Registers" in words(page({name: table.empty() for name, table in TABLES.items()}))
