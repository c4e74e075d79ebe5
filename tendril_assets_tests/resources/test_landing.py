"""Wrong landing files: one clear error with file and row, before anything is written."""

import datetime as dt
import json
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import LandingError
from tendril_assets.records import TIERS
from tendril_assets.resources.delivered import FILE_ROWS
from tendril_assets.resources.landing import find, read_table
from tendril_assets.tables import TABLES

EVIDENCE = TABLES["evidence"]
GOOD = "project,area,tier\n100,wood,unsure\n200,wood,irrelevant\n"


def evidence(path: Path) -> pl.DataFrame:
    return read_table(
        path,
        EVIDENCE,
        choices={"tier": TIERS},
        known={"project": ({"100", "200"}, "project"), "area": ({"wood"}, "area")},
    )


def test_a_good_file_gives_typed_rows(tmp_path: Path) -> None:
    path = tmp_path / "evidence.csv"
    path.write_text("﻿" + GOOD.replace("\n", "\r\n"), encoding="utf-8")
    assert evidence(path).rows() == [("100", "wood", "unsure"), ("200", "wood", "irrelevant")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("project,area\n100,wood\n", "column tier is missing"),
        ("project,area\n", "column tier is missing from the header"),
        ("project;area;tier\n100;wood;unsure\n", r"\(row 2 has project;area;tier\).* separated by commas"),
        ("project,area,tier,area\n100,wood,unsure,x\n", "row 1: column area occurs twice"),
        (GOOD + "100,wood,maybe\n", r"row 4: tier is 'maybe'; allowed are validated_relevant"),
        (GOOD + "100,steel,unsure\n", r"row 4: area 'steel' is no known area"),
        (GOOD + "100,wood,unsure\n", r"row 4: 100, wood occurs already in row 2"),
        (GOOD + ",wood,unsure\n", r"row 4: project is empty"),
        (GOOD + "100,wood\n", r"row 4: 2 cells, but the header has 3"),
        (GOOD + '100,"wood,unsure\n', r"row 4: unexpected end of data"),
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
    ],
)
def test_a_wrong_csv_names_file_and_row(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "evidence.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(LandingError, match=expected) as caught:
        evidence(path)
    assert str(path) in str(caught.value)


def test_another_encoding_is_named_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "evidence.csv"
    path.write_bytes((GOOD + "100,gebäude,unsure\n").encode("cp1252"))
    with pytest.raises(LandingError, match="row 4: byte 0xe4 is not UTF-8"):
        evidence(path)


def test_several_mistakes_are_shown_together(tmp_path: Path) -> None:
    path = tmp_path / "evidence.csv"
    path.write_text("project,area,tier\n" + "999,wood,x\n" * 4, encoding="utf-8")
    with pytest.raises(LandingError, match=r"row 2: .*; row 2: .*; and \d+ more"):
        evidence(path)


def test_ids_are_composed_and_trimmed(tmp_path: Path) -> None:
    path = tmp_path / "test_projects.csv"
    path.write_text("project\n Bu\u0308ro-1 \n", encoding="utf-8")
    assert read_table(path, TABLES["test_projects"])["project"].to_list() == ["B\u00fcro-1"]


def test_json_lines_keep_unicode_line_separators_and_types(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text('{"project":"1","document":"a","page":2,"position":0,"text":"x\u2028y"}\n\n', encoding="utf-8")
    assert read_table(path, FILE_ROWS).row(0) == ("1", "a", 2, 0, "x\u2028y")
    path.write_text('{"project":"1","document":"a","page":2.5,"position":0,"text":"x"}\nnot json\n', encoding="utf-8")
    with pytest.raises(LandingError, match="row 2: not JSON"):
        read_table(path, FILE_ROWS)
    path.write_text('{"project":"1","document":"a","page":2.5,"position":0,"text":["a secret"]}\n', encoding="utf-8")
    with pytest.raises(
        LandingError, match=r"row 1: page is 2.5; expected a whole number; row 1: text is a list;"
    ) as error:
        read_table(path, FILE_ROWS)
    assert "secret" not in str(error.value)  # what is logged cannot be erased


def test_confused_columns_quote_no_text(tmp_path: Path) -> None:
    path = tmp_path / "passages.jsonl"
    marked = "Die Brückenwaage am Güterbahnhof wird jeden Dienstag von Hand geölt."
    row = {"project": marked, "document": "a", "page": marked, "position": 0, "text": "x"}
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(LandingError, match="page is a text of 68 characters; expected a whole number") as error:
        read_table(path, FILE_ROWS, known={"project": (["1"], "project")}, choices={"document": ["b"]})
    assert "project a text of 68 characters is no known project" in str(error.value)
    assert "document is 'a'; allowed are b" in str(error.value)
    assert "Güterbahnhof" not in str(error.value)


def test_dates_and_missing_optional_columns(tmp_path: Path) -> None:
    path = tmp_path / "projects.csv"
    path.write_text("project,title,language\n1,Umbau,de\n", encoding="utf-8")
    assert read_table(path, TABLES["projects"]).row(0) == ("1", "Umbau", None, "de", None)
    path.write_text("project,title,published,language\n1,Umbau,2026-03-31T00:30:00+02:00,de\n", encoding="utf-8")
    assert read_table(path, TABLES["projects"])["published"].to_list() == [dt.date(2026, 3, 31)]
    path.write_text("project,title,published,language\n1,Umbau,2026-03-311,de\n", encoding="utf-8")
    with pytest.raises(LandingError, match="row 2: published is '2026-03-311'"):
        read_table(path, TABLES["projects"])
    path.write_text("project,title,published,language\n1,Umbau,31.03.2026,de\n", encoding="utf-8")
    with pytest.raises(LandingError, match=r"row 2: published is '31\.03\.2026'; expected a date such as 2026-03-31"):
        read_table(path, TABLES["projects"])


def test_a_parquet_file_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "evidence.parquet"
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(LandingError, match="not a readable Parquet file"):
        evidence(path)


def test_exactly_one_file_per_table(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match=r"evidence\.csv or evidence\.parquet is missing"):
        find(tmp_path, "evidence", ("csv", "parquet"))
    for suffix in ("csv", "parquet"):
        (tmp_path / f"evidence.{suffix}").write_text("x", encoding="utf-8")
    with pytest.raises(LandingError, match="keep exactly one"):
        find(tmp_path, "evidence", ("csv", "parquet"))
