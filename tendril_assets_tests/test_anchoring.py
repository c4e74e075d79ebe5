"""The sheet of a pool's human anchor: drawn by name and evenly, blind, and back into the landing folder as it was answered."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.cli import main
from tendril_assets.judging.anchor import by_grade, by_rank, draw_anchor
from tendril_assets.judging.annotator import wording
from tendril_assets.judging.prompts import load_guideline
from tendril_assets.resources.annotations import read_annotations
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import TABLES

COLLECTION, NAME = "regulations", "ru_two_questions"
SIZE = 30
KNOWN = pl.DataFrame(schema={"query_id": pl.String, "passage_id": pl.String})
STRATA = st.lists(st.sampled_from("012"), min_size=1, max_size=40)


def pairs(strata: str | list[str]) -> pl.DataFrame:
    rows = [(f"q{n:03}", f"p{n:03}", stratum) for n, stratum in enumerate(strata)]
    return pl.DataFrame(rows, schema=["query_id", "passage_id", "stratum"], orient="row")


def counts(drawn: pl.DataFrame) -> dict[str, int]:
    return dict(drawn["stratum"].value_counts().iter_rows())


@settings(deadline=None)
@given(STRATA, st.integers(1, 45), st.integers(0, 5))
def test_the_draw_is_as_even_as_the_strata_allow(strata, size, seed):
    drawn = draw_anchor(pairs(strata), size, seed, KNOWN)
    assert drawn.height == min(size, len(strata))
    had, got = counts(pairs(strata)), counts(drawn)
    # Whoever gave fewer than another gave all it had, but for one that does not divide.
    for stratum in had:
        if got.get(stratum, 0) < max(got.values()) - 1:
            assert got.get(stratum, 0) == had[stratum]


def test_150_of_a_pool_are_50_of_each_grade():
    drawn = draw_anchor(pairs("0" * 3000 + "1" * 400 + "2" * 90), 150, 42, KNOWN)
    assert counts(drawn) == {"0": 50, "1": 50, "2": 50}
    # Of a grade that is rare all are drawn, and the others give the rest.
    assert counts(draw_anchor(pairs("0" * 3000 + "1" * 400 + "2" * 20), 150, 42, KNOWN)) == {"0": 65, "1": 65, "2": 20}


@settings(deadline=None)
@given(STRATA, st.integers(0, 5))
def test_what_joins_a_stratum_later_only_displaces_by_name(strata, seed):
    """Of a single stratum the draw of a larger pool, cut to the smaller one, is a part of the draw of that."""
    small = pairs(["0"] * len(strata))
    large = pairs(["0"] * (len(strata) + 10))
    drawn = set(draw_anchor(large, 5, seed, KNOWN).select("query_id", "passage_id").rows())
    before = set(draw_anchor(small, 5, seed, KNOWN).select("query_id", "passage_id").rows())
    assert drawn & set(small.select("query_id", "passage_id").rows()) <= before


def test_pairs_that_people_graded_are_not_drawn_again():
    known = KNOWN.vstack(pl.DataFrame([("q000", "p000")], schema=KNOWN.schema, orient="row"))
    assert draw_anchor(pairs("00"), 5, 1, known)["query_id"].to_list() == ["q001"]


def test_the_strata_are_grades_or_bands_of_ranks():
    ranks = [1, 2, 3, 4, 10, 11, 50]
    rows = [("q", f"p{rank}", "g", n, ["bm25"], rank) for n, rank in enumerate(ranks, start=1)]
    pool = TABLES["pool"].frame(rows)
    assert by_rank(pool)["stratum"].to_list() == ["0", "1", "1", "2", "2", "3", "3"]
    verdicts = pl.DataFrame(
        [("q", "p1", 2), ("q", "p2", None), ("q", "p9", 0)], schema=["query_id", "passage_id", "grade"], orient="row"
    )
    assert by_grade(pool, verdicts).rows() == [("q", "p1", "2")]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pool of 60 pairs, of which the judge graded 45 zeros, 10 ones and 5 twos."""
    for name, value in {
        "TENDRIL_HOME": str(tmp_path / "home"),
        "TENDRIL_LANDING": str(tmp_path / "landing"),
        "TENDRIL_PROFILE": "sandbox",
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "landing" / COLLECTION).mkdir(parents=True)
    queries = [(f"l{n}", f"вопрос {n}", "live", "-", "-") for n in range(6)]
    corpus = [(f"1-П_01022020#{n:04}", f"=текст {n}\nвторая строка", "1-П_01022020", "d", 1) for n in range(10)]
    pool = [(q[0], p[0], p[2], n + 1, ["bm25"], n + 1) for q in queries for n, p in enumerate(corpus)]
    grades = [0] * 45 + [1] * 10 + [2] * 5
    judged = [(q, p, g, "k", "ok", grades[n], None, "1") for n, (q, p, g, *_) in enumerate(pool)]
    settings = tmp_path / "home"
    warehouse = Warehouse(database=str(settings / "warehouse.duckdb"), snapshot=str(settings / "snapshot.duckdb"))
    rows = {"queries": queries, "corpus": corpus, "pool": pool, "judgments": judged}
    warehouse.replace(COLLECTION, {name: TABLES[name].frame(own) for name, own in rows.items()}, "test")
    return tmp_path


def tendril(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["guideline", NAME, "--collection", COLLECTION, *map(str, arguments)])


def told(result: Result) -> str:
    return " ".join(result.output.split())


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_the_sheet_shows_texts_and_neither_grade_nor_system(home):
    path = home / "sheet.csv"
    result = tendril("--sheet", path, "--pool", "--pairs", SIZE, "--annotator", "анна")
    assert result.exit_code == 0, result.output
    assert told(result) == f"{SIZE} pairs of the pool to annotate by {NAME}: {path}"
    rows = rows_of(path)
    assert list(rows[0]) == ["query_id", "passage_id", "annotator", "предмет", "ответ", "query_text", "passage_text",
                             "guideline"]  # fmt: skip
    assert len({(r["query_id"], r["passage_id"]) for r in rows}) == SIZE
    assert "bm25" not in path.read_text("utf-8-sig")
    # All 5 twos and all 10 ones were drawn: the judge graded the last 15 pairs of the pool so.
    last = {("l4", n) for n in range(5, 10)} | {("l5", n) for n in range(10)}
    assert last <= {(r["query_id"], int(r["passage_id"][-4:])) for r in rows}
    # Neither the order of the pool nor that of the grades.
    order = [(r["query_id"], r["passage_id"]) for r in rows]
    assert order != sorted(order)
    again = tendril("--sheet", path, "--pool")
    assert again.exit_code == 1
    assert "may hold answers" in told(again)
    tendril("--sheet", home / "second.csv", "--pool", "--pairs", SIZE, "--annotator", "анна")
    assert (home / "second.csv").read_bytes() == path.read_bytes()


def test_a_filled_sheet_becomes_the_anchor_with_the_texts_that_were_shown(home):
    path, anchor = home / "sheet.csv", home / "landing" / COLLECTION / "human_anchor.jsonl"
    tendril("--sheet", path, "--pool", "--pairs", 6, "--annotator", "анна")
    rows = rows_of(path)
    for row, (subject, answer) in zip(
        rows, [("да", "полный"), ("нет", "нет"), ("да", "нет"), ("", "")] * 2, strict=False
    ):
        row |= {"предмет": subject, "ответ": answer}
    fill(path, rows)
    result = tendril("--take", path)
    assert result.exit_code == 0, result.output
    assert "5 annotated pairs added to" in told(result)
    assert "1 rows have no answer yet" in told(result)
    written = [json.loads(line) for line in anchor.read_text("utf-8").splitlines()]
    assert written[0] == {
        "query_id": rows[0]["query_id"],
        "passage_id": rows[0]["passage_id"],
        "level": "live",
        "query_text": f"вопрос {rows[0]['query_id'][1]}",
        "passage_text": f"=текст {int(rows[0]['passage_id'][-4:])}\nвторая строка",
        "annotator": "анна",
        "guideline": wording(load_guideline(NAME)),
        "предмет": "да",
        "ответ": "полный",
    }
    assert read_annotations(anchor, load_guideline(NAME))["grade"].to_list() == [2, 0, 1, 2, 0]

    again = tendril("--take", path)
    assert again.exit_code == 1
    assert "is in human_anchor.jsonl already" in told(again)
    assert len(anchor.read_text("utf-8").splitlines()) == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"предмет": "да", "ответ": "может быть"}, "allowed are"),
        ({"предмет": "нет", "ответ": "полный"}, "exclude each other"),
        ({"предмет": "да", "ответ": "нет", "passage_text": "другой"}, "passage_text is another than the pool has"),
        ({"предмет": "да", "ответ": "нет", "passage_id": "1-П_01022020#0099"}, "is no pair of the pool"),
        ({"предмет": "да", "ответ": "нет", "guideline": "0123456789abcdef"}, "was answered by another wording"),
        ({"предмет": "да", "ответ": "нет", "guideline": ""}, "column guideline is empty"),
        ({}, "no row has an answer yet"),
    ],
)
def test_a_sheet_with_a_mistake_changes_nothing(home, change, message):
    path = home / "sheet.csv"
    tendril("--sheet", path, "--pool", "--pairs", 3, "--annotator", "анна")
    rows = rows_of(path)
    rows[0] |= change
    fill(path, rows)
    result = tendril("--take", path)
    assert result.exit_code == 1
    assert message in told(result)
    assert not (home / "landing" / COLLECTION / "human_anchor.jsonl").exists()


def test_too_few_grades_are_told_and_the_ranks_do_instead(home):
    result = tendril("--sheet", home / "a.csv", "--pool", "--pairs", 61)
    assert result.exit_code == 0  # all 60 there are
    warehouse = Warehouse(database=str(home / "home" / "warehouse.duckdb"), snapshot=str(home / "home" / "s.duckdb"))
    kept = warehouse.load(COLLECTION, "judgments").head(4)
    warehouse.replace(COLLECTION, {"judgments": kept}, "test")
    result = tendril("--sheet", home / "b.csv", "--pool", "--pairs", SIZE)
    assert result.exit_code == 1
    assert "4 of the 60 pairs of the pool have a grade of the judge, too few to draw 30" in told(result)
    assert "--strata rank" in told(result)
    assert tendril("--sheet", home / "b.csv", "--pool", "--pairs", SIZE, "--strata", "rank").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pool",), "is of the sheet: add --sheet FILE"),
        (("--sheet", "x.csv", "--pairs", "3"), "--pairs is of a sheet from the pool"),
        (("--take", "x.csv", "--rule"), "leave --rule out"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(home, arguments, message):
    result = tendril(*arguments)
    assert result.exit_code == 1
    assert message in told(result)


def test_a_collection_without_a_pool_has_no_such_sheet(home):
    result = CliRunner().invoke(main, ["guideline", "de_short", "--sheet", str(home / "x.csv"), "--pool"])
    assert result.exit_code == 1
    assert "tenders pools no candidates" in told(result)
