"""``tendril guideline``: the list, the document, the sheet and its way back into the landing folder."""

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tendril_assets.cli import main
from tendril_assets.judging.annotator import annotator_document
from tendril_assets.judging.prompts import guideline_names, load_guideline
from tendril_assets.resources.annotations import read_annotations

PAIRS = (
    '{"query_id": "q1", "passage_id": "p1", "level": "criterion", "query_text": "Nur FSC", "passage_text": "FSC\\nverlangt", '
    '"curated_grade": 2}\n'
    '{"query_id": "q2", "passage_id": "p1", "level": "area_of_action", "query_text": "Strom", "passage_text": "FSC"}\n'
)


def tendril(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["guideline", *map(str, arguments)])


@pytest.fixture
def landing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TENDRIL_LANDING", str(tmp_path / "landing"))
    folder = tmp_path / "landing" / "tenders" / "calibration"
    folder.mkdir(parents=True)
    (folder / "pairs.jsonl").write_text(PAIRS, encoding="utf-8")
    return folder


def test_without_a_name_the_guidelines_are_listed():
    lines = tendril().output.splitlines()
    assert lines[0].split() == ["guideline", "version", "hash", "language", "answer", "characters"]
    assert [line.split()[:3] for line in lines[1:]] == [
        [name, load_guideline(name).version, load_guideline(name).hash] for name in guideline_names()
    ]


@pytest.mark.parametrize("name", guideline_names())
def test_the_document_is_printed_and_written_as_it_is(name, tmp_path):
    guideline = load_guideline(name)
    assert tendril(name).output == annotator_document(guideline)
    path = tmp_path / "new" / "document.md"
    assert tendril(name, "--format", "markdown", "--output", path).exit_code == 0
    assert path.read_text("utf-8") == annotator_document(guideline, "markdown")
    again = tendril(name, "--output", path)
    assert again.exit_code == 1
    assert "is there already" in again.output.replace("\n", " ")
    assert path.read_text("utf-8") == annotator_document(guideline, "markdown")


def test_the_rule_is_shown_on_request():
    assert tendril("ru_two_questions", "--rule").output.splitlines()[0] == "да | полный -> 2"
    assert tendril("de_short", "--rule").output == "de_short has no rule: the answer is the grade\n"


@pytest.mark.parametrize(("name", "answers", "grade"), [("de_short", "1", 1), ("ru_two_questions", "да,полный", 2)])
def test_a_sheet_filled_in_is_what_the_landing_folder_takes(landing, tmp_path, name, answers, grade):
    sheet = tmp_path / "sheet.csv"
    assert tendril(name, "--sheet", sheet, "--annotator", "anna").output == f"2 pairs to annotate by {name}: {sheet}\n"
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.reader(stream))
    assert "2" not in {cell for row in rows for cell in row}
    first = answers.split(",")
    rows[1][3 : 3 + len(first)] = first
    with (landing / "annotations.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(rows)
    read = read_annotations(landing / "annotations.csv", load_guideline(name))
    assert read["grade"].to_list() == [grade, None]
    assert set(read["annotator"]) == {"anna"}


def test_a_sheet_that_is_there_is_never_written_over(landing, tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("answers", encoding="utf-8")
    result = tendril("de_short", "--sheet", sheet)
    assert result.exit_code == 1
    assert "may hold answers" in result.output
    assert sheet.read_text("utf-8") == "answers"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["de_tiny"], "has: de_long"),
        (["--rule"], "of which guideline?"),
        (["--annotator", "anna"], "of which guideline?"),
        (["--format", "text"], "of which guideline?"),
        (["--collection", "tenders"], "of which guideline?"),
        (["de_short", "--annotator", "anna"], "--annotator is of the sheet: add --sheet FILE"),
        (["de_short", "--collection", "tenders"], "--collection is of the sheet: add --sheet FILE"),
        (["de_short", "--rule", "--format", "text"], "--format is of the document"),
        (["de_short", "--sheet", "x.csv", "--format", "text"], "--format is of the document"),
        (["de_short", "--sheet", "x.csv", "--collection", "nothing"], "no collection 'nothing'"),
    ],
)
def test_mistakes_are_one_clear_line(landing, arguments, complaint):
    result = tendril(*arguments)
    assert result.exit_code == 1
    assert complaint in result.output.replace("\n", " ")
    assert not Path("x.csv").exists()


def test_a_sheet_needs_calibration_pairs(landing, tmp_path):
    (landing / "pairs.jsonl").unlink()
    result = tendril("de_short", "--sheet", tmp_path / "sheet.csv")
    assert result.exit_code == 1
    assert "pairs.jsonl or pairs.parquet is missing" in result.output.replace("\n", " ")
