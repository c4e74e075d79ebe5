"""The landing folder of acts: right tables from a right folder, nothing and every mistake from a wrong one."""

import datetime as dt
import hashlib
import json
import unicodedata
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import polars as pl
import pytest

from tendril_assets.assets.landing import landing_assets
from tendril_assets.defs import collection_spec
from tendril_assets.defs.automation import look_at_landing
from tendril_assets.defs.regulations.sources import landing_tables
from tendril_assets.errors import LandingError
from tendril_assets.resources import act_issues
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.tables import ACTS, LANDING
from tendril_assets_tests.acts_landing import ACTS as LISTED
from tendril_assets_tests.acts_landing import BODY, KEYS, lay_out, rows, write

SPEC = collection_spec("regulations", "sandbox")
ANCHOR = {
    "query_id": "a1",
    "passage_id": f"{KEYS[0]}#0000",
    "level": "live",
    "query_text": "Каков срок?",
    "passage_text": "Срок равен пяти годам.",
    "annotator": "anna",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TENDRIL_LANDING", str(tmp_path / "landing"))
    monkeypatch.setenv("TENDRIL_HASH_KEY", "k" * 40)
    return lay_out(tmp_path / "landing" / "regulations")


def tables(folder: Path) -> dict[str, pl.DataFrame]:
    return landing_tables(folder, SPEC)


def refused(folder: Path) -> str:
    with pytest.raises(LandingError) as caught:
        tables(folder)
    return str(caught.value)


def test_a_right_folder(folder: Path) -> None:
    rows(folder / "live_questions.jsonl", {"query_id": "exp1", "text": "Каков срок?", "section": "Раздел", "url": "u"})
    rows(
        folder / "manual.jsonl",
        {"query_id": "man1", "text": "срок хранения", "act": KEYS[0]},
        {"query_id": "man2", "text": "отчет", "act": None},
    )
    write(folder / "split.json", json.dumps({"train": [KEYS[0]], "test_genre": [KEYS[1]], "dev": [KEYS[2]]}))
    write(
        folder / "published_qrels.tsv",
        f"query-id\tcorpus-id\tscore\tcheck\nexp1\t{KEYS[0]}#0001\t2\t0123456789abcdef\nexp1\t{KEYS[0]}#0002\t1\t\n",
    )
    write(
        folder / "removals.csv",
        f"kind,id,reason,date\nact,1-У_01012020,просьба,2026-01-01\npassage,{KEYS[0]}#0007,просьба,2026-01-01\npair,exp1/{KEYS[0]}#0001,просьба,2026-01-01\n",
    )
    found = tables(folder)
    assert set(found) == {table.name for table in (*LANDING, *ACTS)}
    assert found["acts"].select("place", "project", "kind", "issue", "outcome").rows() == [
        (1, KEYS[0], "Положение", None, "kept"),
        (2, KEYS[1], "Инструкция", None, "kept"),
        (3, KEYS[2], "Указание", "b1", "kept"),
        (4, "6410-У_11042023", "Указание", "b1", "amendment"),
    ]
    assert found["projects"].rows()[0] == (KEYS[0], "О сроках хранения документов", dt.date(2017, 6, 28), "ru", None)
    assert found["projects"]["project"].to_list() == list(KEYS)
    assert [Path(path).name for path in found["documents"]["path"]] == ["acts.jsonl", f"{KEYS[1]}.txt", "b1.txt"]
    assert found["documents"]["sha256"][0] == hashlib.sha256(BODY.encode()).hexdigest()
    assert set(found["documents"]["document"]) == {"act.txt"}
    assert found["live_questions"].rows() == [("exp1", "Каков срок?", "Раздел", None, "u")]
    assert found["manual_queries"].rows() == [("man1", "срок хранения", KEYS[0]), ("man2", "отчет", None)]
    assert dict(found["landed_splits"].rows()) == {KEYS[0]: "train", KEYS[1]: "test_genre", KEYS[2]: "dev"}
    assert found["landed_qrels"].rows() == [
        ("exp1", f"{KEYS[0]}#0001", 2, "0123456789abcdef"),
        ("exp1", f"{KEYS[0]}#0002", 1, None),
    ]
    assert found["removals"]["kind"].to_list() == ["project", "passage", "pair"]


def test_only_the_list_and_one_text_are_needed(folder: Path, tmp_path: Path) -> None:
    alone = tmp_path / "landing" / "alone"
    rows(alone / "acts.jsonl", LISTED[0])
    found = tables(alone)
    assert {name for name, frame in found.items() if frame.height} == {"acts", "projects", "documents"}


def test_outcomes_and_messages(folder: Path) -> None:
    rows(
        folder / "acts.jsonl",
        *LISTED,
        {"number": "590-П", "date": "28.06.2017", "title": "Еще раз", "text": BODY},
        {"number": "7-Y", "date": "2020-01-09", "title": "О цифрах", "text": "1. Слово."},
        {"number": "177-ФЗ", "date": "01.01.1900", "title": ""},
        {"number": "8-У", "date": "2020-01-01", "title": "О текcте", "text": "Пopядok yчeтa onepaций c вaлютoй"},
        {"number": "9-У", "date": "2020-01-01", "title": "О пустоте", "text": " 12 - 3 "},
        {"number": "10-У", "date": "2020-01-01", "title": "Об утрате", "issue": "b2"},
        {"number": "11-У", "date": "2020-01-01", "title": "Об утрате", "issue": "b1"},
        {"number": "12-У", "date": "2020-01-01", "title": "Об утрате"},
    )
    acts = tables(folder)["acts"]
    found = {
        place: (key, outcome, message)
        for place, key, outcome, message in acts.select("place", "project", "outcome", "message").iter_rows()
    }
    assert found[5] == (KEYS[0], "repeated", "row 1 of acts.jsonl has the same number and day")
    assert found[6] == ("7-У_09012020", "kept", "the list prints '7-Y', with Latin letters; read as 7-У")
    assert found[7][:2] == (None, "no_date")
    assert found[8][1] == "low_cyrillic"
    assert found[9][1] == "empty"
    assert found[10][1:] == ("not_found", "issues/ has no issue b2")
    assert found[11][1:] == ("not_found", "number 11-У does not occur in the issue")
    assert found[12][1:] == ("not_found", "it has no text, no file acts/12-У_01012020.txt and no issue")
    assert acts["place"].to_list() == list(range(1, 13))


def test_two_texts_of_one_act_are_told(folder: Path) -> None:
    write(folder / "acts" / f"{KEYS[0]}.txt", "1. Другой текст.")
    rows(folder / "acts.jsonl", *LISTED, {**LISTED[0], "text": "1. Третий текст."}, LISTED[0])
    acts = tables(folder)["acts"]
    unread = f"acts/{KEYS[0]}.txt is not read, for the list has its text"
    assert acts["message"].to_list()[0] == unread
    assert acts["message"].to_list()[4:] == [
        "row 1 of acts.jsonl has the same number and day, and another text",
        "row 1 of acts.jsonl has the same number and day",
    ]


def test_a_kind_is_read_as_lists_print_it(folder: Path) -> None:
    """What is held out by its kind must not be trained on because a list prints it in capitals."""
    kinds = ("ПОЛОЖЕНИЕ", "инструкция Банка России", "указание", "Регламент")
    rows(folder / "acts.jsonl", *({**row, "kind": kind} for row, kind in zip(LISTED, kinds, strict=True)))
    acts = tables(folder)["acts"]
    assert acts["kind"].to_list() == ["Положение", "Инструкция", "Указание", "Регламент"]
    assert acts["outcome"].to_list() == ["kept", "kept", "kept", "amendment"]


def test_of_a_repeated_act_the_row_with_a_text_counts(folder: Path) -> None:
    rows(
        folder / "acts.jsonl",
        {"number": "5-У", "date": "2020-01-01", "title": "О"},
        {"number": "5-У", "date": "2020-01-01", "title": "О", "text": BODY},
        *LISTED,
    )
    assert tables(folder)["acts"]["outcome"].to_list()[:2] == ["repeated", "kept"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"date": "2020-01-01"}, "row 5: number is empty or missing"),
        ({"number": "без номера"}, "row 5: 'без номера' is no number of an act"),
        ({"number": "5-У", "date": "2020-13-01"}, "row 5: date: '2020-13-01' is no day"),
        ({"number": "5-У", "issue": "../b1"}, "row 5: issue '../b1' cannot be the stem"),
        ({"number": "5-У", "text": ["a"]}, "row 5: text is no text"),
        ({"number": 5.5}, "row 5: number is no text"),
    ],
)
def test_mistakes_of_the_list(folder: Path, line: dict[str, Any], told: str) -> None:
    rows(folder / "acts.jsonl", *LISTED, line)
    assert told in refused(folder)


def test_several_mistakes_are_told_at_once(folder: Path) -> None:
    rows(folder / "acts.jsonl", {"number": ""}, {"number": "x"})
    rows(folder / "live_questions.jsonl", {"query_id": "q-1", "text": "Текст"})
    told = refused(folder)
    assert "row 1" in told
    assert "row 2" in told
    assert "ids that begin with q- are those of generated questions" in told


def test_files_that_belong_to_no_act(folder: Path) -> None:
    stray = write(folder / "acts" / "590-П_28062018.txt", "Текст")
    assert f"the nearest is {KEYS[0]}.txt" in refused(folder)
    stray.unlink()
    other = write(folder / "issues" / "b1.rtf", "{}")
    assert "ends in one of .txt, .pdf, .docx, .html" in refused(folder)
    other.unlink()
    write(folder / "issues" / "b1.html", "<p>")
    assert "found b1.html, b1.txt; keep exactly one" in refused(folder)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"train": [KEYS[0], KEYS[1]], "dev": [KEYS[0]]}, f"{KEYS[0]} is in train and in dev"),
        ({"train": [KEYS[0], KEYS[0]]}, f"{KEYS[0]} is twice in train"),
        ({"training": [KEYS[0]]}, "'training' is no split of the specification; there are train, dev, test_live"),
        ({"train": ["590-P_28062017"]}, "act 590-P_28062017 is not in the list; the nearest is 590-П_28062017"),
        ({"train": ["6406-Y_10042023"]}, "has Latin letters for Cyrillic ones; the list has 6406-У_10042023"),
        ({"train": ["6410-У_11042023"]}, "its outcome is amendment"),
        ({"train": KEYS[0]}, "train: expected a list of keys"),
        ([KEYS[0]], "expected one JSON object"),
    ],
)
def test_mistakes_of_the_splits(folder: Path, content: object, told: str) -> None:
    write(folder / "split.json", json.dumps(content))
    assert told in refused(folder)


def test_a_split_named_twice_and_broken_json(folder: Path) -> None:
    write(folder / "split.json", '{"train": [], "train": []}')
    assert "'train' occurs twice" in refused(folder)
    write(folder / "split.json", '{"train": [\n,]}')
    assert "row 2: not JSON" in refused(folder)


def test_a_removed_act_may_stay_in_the_splits(folder: Path) -> None:
    write(folder / "split.json", json.dumps({"train": ["1-У_01012020"]}))
    assert "is not in the list" in refused(folder)
    write(folder / "removals.csv", "kind,id,reason,date\nact,1-У_01012020,просьба,2026-01-01\n")
    assert tables(folder)["landed_splits"].rows() == [("1-У_01012020", "train")]
    # A mistake of the list is told alone, and not once more at each act that it takes out.
    write(folder / "removals.csv", "kind,id,reason,date\nact,1-У_01012020,,2026-01-01\n")
    told = refused(folder)
    assert "reason is empty" in told
    assert "split.json" not in told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"document,{KEYS[0]}", "kind is 'document'; allowed are act, passage, pair"),
        ("act,590-П", "'590-П' is no key of an act"),
        ("act,7092-УY_19062025", "mixes Latin and Cyrillic"),
        ("passage,590-П_28062017#12", "is no passage"),
        ("passage,7092-УY_19062025#0001", "mixes Latin and Cyrillic"),
        ("pair,exp1", "is no pair; expected query_id/passage_id"),
    ],
)
def test_mistakes_of_removals(folder: Path, line: str, told: str) -> None:
    write(folder / "removals.csv", f"kind,id,reason,date\n{line},просьба,2026-01-01\n")
    assert f"row 2: {told}" in refused(folder) or told in refused(folder)


def test_mistakes_of_queries(folder: Path) -> None:
    rows(folder / "live_questions.jsonl", {"query_id": "a", "text": "Вопрос"})
    rows(folder / "manual.jsonl", {"query_id": "a", "text": "Вопрос"})
    assert "row 1: a is the id of a live question already" in refused(folder)
    rows(folder / "manual.jsonl", {"query_id": "b", "text": "Вопрос", "act": "6410-У_11042023"})
    assert "row 1: act 6410-У_11042023 is listed, but its outcome is amendment" in refused(folder)
    rows(folder / "manual.jsonl", {"query_id": "б", "text": "Вопрос"})
    assert "should have 1 to 100 ASCII letters" in refused(folder)
    rows(folder / "manual.jsonl", {"query_id": "b", "text": " "})
    assert "row 1: text is empty" in refused(folder)


def test_mistakes_of_published_pairs(folder: Path) -> None:
    write(folder / "published_qrels.tsv", f"query-id\tcorpus-id\tscore\tcheck\na\t{KEYS[0]}#0001\t2\tXYZ\n")
    assert "row 2: check 'XYZ' should be 16 hex digits" in refused(folder)
    write(folder / "published_qrels.tsv", "query-id\tcorpus-id\tscore\na\td9\t2\n")
    assert "row 2: 'd9' is no passage" in refused(folder)
    write(folder / "published_qrels.tsv", f"query-id\tcorpus-id\tscore\na\t{KEYS[0]}#0001\t3\n")
    assert "score is 3; allowed are 0, 1, 2" in refused(folder)


def test_the_human_anchor(folder: Path) -> None:
    """Grade by the guideline's rule of two answers, which ``judging/guidelines`` holds."""
    anchor = folder / "human_anchor.jsonl"
    rows(
        anchor,
        {**ANCHOR, "grade": 2},
        {**ANCHOR, "annotator": "boris", "grade": 1},
        {**ANCHOR, "query_id": "a2", "grade": 0},
    )
    found = tables(folder)
    assert found["calibration_pairs"].select("query_id", "curated_grade").rows() == [("a1", None), ("a2", 0)]
    assert found["calibration_annotations"].height == 3
    rows(anchor, {**ANCHOR, "grade": 2}, {**ANCHOR, "annotator": "boris", "grade": 1, "passage_text": "Другой"})
    assert "row 2: a1 / 590-П_28062017#0000 has another level or text than in a row before" in refused(folder)
    rows(anchor, {**ANCHOR, "level": "dead", "grade": 2})
    assert "row 1: level is 'dead'" in refused(folder)
    rows(anchor, {**ANCHOR, "grade": 5})
    assert "row 1: grade is 5" in refused(folder)


def test_nothing_kept_is_refused(folder: Path, tmp_path: Path) -> None:
    empty = tmp_path / "landing" / "none"
    rows(empty / "acts.jsonl", {"number": "5-У", "title": "О"})
    assert "no act is kept (no_date 1)" in refused(empty)
    assert "acts.jsonl is missing" in refused(tmp_path)
    assert "does not exist" in refused(tmp_path / "nowhere")


def test_decomposed_names_of_files_are_the_same_acts(folder: Path) -> None:
    rows(folder / "acts.jsonl", *LISTED, {"number": "5-Й", "date": "2020-01-01", "title": "О"})
    decomposed = unicodedata.normalize("NFD", "5-Й_01012020")
    write(folder / "acts" / f"{decomposed}.txt", "1. Текст.")
    write(folder / "split.json", json.dumps({"train": [decomposed]}))
    found = tables(folder)
    assert found["acts"]["outcome"][4] == "kept"
    assert found["landed_splits"].rows() == [("5-Й_01012020", "train")]
    write(folder / "acts" / "5-Й_01012020.txt", "1. Другой текст.")
    assert "two files have the name 5-Й_01012020.txt" in refused(folder)


def test_the_step_reports_and_accounts_and_shows_nothing_removed(folder: Path, tmp_path: Path) -> None:
    rows(folder / "acts.jsonl", *LISTED, {"number": "177-ФЗ", "title": "О страховании"})
    write(folder / "removals.csv", f"kind,id,reason,date\nact,{KEYS[0]},просьба,2026-01-01\n")
    home = tmp_path / "home"
    warehouse = Warehouse(database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"))
    stage = landing_assets(SPEC, landing_tables)
    result = dg.materialize(
        [*stage.assets, *stage.checks],
        resources={"warehouse": warehouse},
        instance=dg.DagsterInstance.ephemeral(),
        raise_on_error=False,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )
    assert result.success
    check = next(c for c in result.get_asset_check_evaluations() if c.check_name == "every_act_accounted")
    assert check.passed
    assert {name: check.metadata[name].value for name in ("listed", "kept", "amendment", "no_date", "wrong")} == {
        "listed": 5, "kept": 3, "amendment": 1, "no_date": 1, "wrong": 0,
    }  # fmt: skip
    made = next(
        e for e in result.get_asset_materialization_events() if e.asset_key == dg.AssetKey(["regulations", "acts"])
    )
    metadata = made.step_materialization_data.materialization.metadata
    assert "| kept | 3 |" in str(metadata["by_outcome"].value)
    acts = warehouse.load("regulations", "acts")
    assert dict(acts.select("project", "title").rows())[KEYS[0]] == ""
    warehouse.publish_snapshot()
    with duckdb.connect(warehouse.snapshot, read_only=True) as connection:
        shown = connection.execute("SELECT project, number FROM regulations.acts ORDER BY place").fetchall()
    # An act without a day has no key, and is nobody's who could be removed.
    assert shown == [(KEYS[1], "207/2-И"), (KEYS[2], "6406-У"), ("6410-У_11042023", "6410-У"), (None, "177-ФЗ")]


def test_the_sensor_sees_a_new_issue_and_refuses_a_mistake(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tendril_assets.defs.automation.SETTLE_S", 0.0)
    first = look_at_landing(SPEC, None)
    assert first.run_key is not None
    assert look_at_landing(SPEC, first.cursor).run_key is None
    write(folder / "issues" / "b1.txt", "10 апреля 2023 года № 6406-У\nУКАЗАНИЕ\nО форме отчета\n1. Форма другая.\n")
    second = look_at_landing(SPEC, first.cursor)
    assert second.run_key not in (None, first.run_key)
    rows(folder / "acts.jsonl", {"number": ""})
    third = look_at_landing(SPEC, second.cursor)
    assert third.run_key is None
    assert "row 1: number is empty" in str(third.reason)


def test_an_unchanged_issue_is_cut_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = act_issues.plain_issue

    def counted(path: Path) -> str:
        read.append(path.name)
        return plain(path)

    monkeypatch.setattr(act_issues, "plain_issue", counted)
    first = tables(folder)
    assert read == ["b1.txt"]
    again = tables(folder)
    assert read == ["b1.txt"]
    assert again["acts"].equals(first["acts"])
    assert again["documents"].equals(first["documents"])
    rows(folder / "acts.jsonl", *LISTED[:3])
    # The list is part of what a cut depends on. A heading that is no longer listed still ends the act before it.
    assert tables(folder)["documents"].equals(first["documents"])
    assert read == ["b1.txt"] * 2


def test_what_is_remembered_of_issues_holds_no_text(folder: Path, tmp_path: Path) -> None:
    tables(folder)
    stored = (tmp_path / "home" / "landing_state" / "regulations.issues.json").read_text("utf-8")
    assert "Отчет составляют" not in stored
    assert "О форме" not in stored


def test_a_damaged_memory_costs_reading_again(folder: Path, tmp_path: Path) -> None:
    first = tables(folder)
    write(tmp_path / "home" / "landing_state" / "regulations.issues.json", "{")
    assert tables(folder)["documents"].equals(first["documents"])
