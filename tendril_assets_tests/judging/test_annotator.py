"""One document for human and judge; sheets that give nothing away."""

import re

import polars as pl
import pytest

from tendril_assets.judging.annotator import annotation_sheet, annotator_document, answer_columns, rule_table
from tendril_assets.judging.prompts import guideline_names, load_guideline, render

PAIRS = pl.DataFrame(
    [(f"q{i % 3}", f"p{i}", "criterion", f"Frage {i % 3}", f"Text {i}", i % 3) for i in range(30)],
    schema=["query_id", "passage_id", "level", "query_text", "passage_text", "curated_grade"],
    orient="row",
)


@pytest.mark.parametrize("form", ["text", "markdown"])
@pytest.mark.parametrize("name", guideline_names())
def test_the_annotators_document_is_the_judges_prompt(name, form):
    guideline = load_guideline(name)
    document = annotator_document(guideline, form)
    for message in render(guideline, "{query}", "{passage}"):
        assert document.count(message["content"]) == 1
        document = document.replace(message["content"], "")
    # What is left is labels and the form of the answer, each of it from the file: nothing that instructs otherwise.
    lines = {line.strip("#-~ ") for line in document.splitlines()}
    known = {
        *("", "text", "system", "user", f"answer: {guideline.answer.name}", guideline.name, f"guideline: {guideline.name}"),
        *(f"version: {guideline.version}", f"hash: {guideline.hash}", f"language: {guideline.language}"),
        *guideline.answer.lines(),
    }  # fmt: skip
    assert lines <= known
    assert guideline.hash in document
    assert all(line in document for line in guideline.answer.lines())


@pytest.mark.parametrize("name", guideline_names())
def test_the_judge_is_sent_what_the_document_shows(name):
    """A real pair, put where the document shows its places."""
    guideline = load_guideline(name)
    document = annotator_document(guideline)
    shown = document.split("--- user ---\n\n")[1].split("\n\n--- answer")[0]
    sent = render(guideline, "Frage {passage}", "Text {query}")[1]["content"]
    places = re.fullmatch(re.escape(shown).replace(r"\{query\}", "(.*)").replace(r"\{passage\}", "(.*)"), sent, re.S)
    assert places is not None
    assert places.groups() == ("Frage {passage}", "Text {query}")


def test_a_markdown_fence_is_longer_than_any_in_the_text():
    guideline = load_guideline("de_short")
    tricky = type(guideline)("toy", "1", "de", "a\n~~~~\nb", guideline.user, guideline.answer, "0" * 16)
    assert "~~~~~text\na\n~~~~\nb\n~~~~~\n" in annotator_document(tricky, "markdown")


def test_the_rule_can_be_shown_apart():
    assert rule_table(load_guideline("de_long")) == []
    table = rule_table(load_guideline("ru_two_questions"))
    assert len(table) == 9
    assert "да | полный -> 2" in table
    assert "нет | полный -> impossible" in table


@pytest.mark.parametrize("name", guideline_names())
def test_a_sheet_is_blind_and_holds_every_pair_once(name):
    guideline = load_guideline(name)
    sheet = annotation_sheet(PAIRS, guideline, seed=42, annotator="anna")
    answers = answer_columns(guideline)
    assert sheet.columns == ["query_id", "passage_id", "annotator", *answers, "query_text", "passage_text"]
    assert sorted(sheet["passage_id"]) == sorted(PAIRS["passage_id"])
    assert set(sheet["annotator"]) == {"anna"}
    assert all(set(sheet[column]) == {""} for column in answers)
    both = sheet.join(PAIRS, on="passage_id")
    assert both["query_text"].to_list() == both["query_text_right"].to_list()


def test_the_order_of_a_sheet_does_not_follow_the_rows_and_stays_when_pairs_are_added():
    guideline = load_guideline("de_short")
    order = annotation_sheet(PAIRS, guideline, seed=42)["passage_id"].to_list()
    assert order == annotation_sheet(PAIRS.reverse(), guideline, seed=42)["passage_id"].to_list()
    assert order != PAIRS["passage_id"].to_list()
    assert order != annotation_sheet(PAIRS, guideline, seed=43)["passage_id"].to_list()
    fewer = annotation_sheet(PAIRS.filter(pl.col("passage_id") != "p7"), guideline, seed=42)["passage_id"].to_list()
    assert fewer == [passage for passage in order if passage != "p7"]


@pytest.mark.parametrize("text", ["=1+1", "-1", "+1", "@x", "\t=1"])
def test_a_spreadsheet_is_given_no_formula(text):
    pairs = PAIRS.head(1).with_columns(passage_text=pl.lit(text))
    assert annotation_sheet(pairs, load_guideline("de_short"), seed=1)["passage_text"].item() == "'" + text
