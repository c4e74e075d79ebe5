"""``tendril split`` and ``tendril tasks`` on a small landing folder."""

import csv
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tendril_assets.cli import main
from tendril_assets.splitting import task_id
from tendril_assets_tests.acts_landing import rows, write

TEXT = "1. Банк хранит документы пять лет.\n2. Срок считают от дня операции."
KINDS = "ПУИ"


def listed(n: int) -> list[dict[str, Any]]:
    return [
        {"number": f"{i}-{KINDS[i % 3]}", "date": "2020-03-01", "title": f"О деле {i}", "text": f"{TEXT}\n3. Дело {i}."}
        for i in range(1, n + 1)
    ]


def key(i: int) -> str:
    return f"{i}-{KINDS[i % 3]}_01032020"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TENDRIL_LANDING", str(tmp_path / "landing"))
    monkeypatch.setenv("TENDRIL_PROFILE", "sandbox")
    root = tmp_path / "landing" / "regulations"
    rows(
        root / "acts.jsonl",
        *listed(30),
        {"number": "30-П", "date": "2012-05-05", "title": "О прежнем деле", "text": TEXT},
    )
    rows(
        root / "live_questions.jsonl",
        {"query_id": "e1", "text": "Равен ли срок пяти годам?", "section": "Хранение (Положение от 01.03.2020 № 3-П)"},
        {"query_id": "e2", "text": "Как применять Положение № 30-П?"},
        {"query_id": "e3", "text": "Каков срок по письму № 999-Т?"},
    )  # fmt: skip
    rows(root / "manual.jsonl", {"query_id": "m1", "text": "срок хранения", "act": key(4)})
    return root


def tendril(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, [*arguments, "--collection", "regulations"])
    return done.exit_code, done.output


def test_the_first_split(folder: Path) -> None:
    code, told = tendril("split", "--dev", "2", "--unseen", "4")
    assert code == 0, told
    split = json.loads((folder / "split.json").read_text("utf-8"))
    # Named with its day: that act alone. Named by its number: every act of that number.
    assert split["test_live"] == sorted([key(3), key(30), "30-П_05052012"])
    assert split["test_genre"] == sorted(key(i) for i in range(2, 31, 3))
    assert key(4) in split["test_unseen"]
    assert (len(split["dev"]), len(split["test_unseen"])) == (2, 4)
    assert sum(map(len, split.values())) == 31
    assert "test_genre" in told
    assert "Инструкция 10" in told
    assert "note" not in told


def test_what_a_person_should_look_at_is_told(folder: Path) -> None:
    """Acts that are in no split, fewer acts drawn than asked for, and splits that stay empty."""
    same = [{**row, "title": "О ставке"} for row in listed(30)]
    rows(
        folder / "acts.jsonl",
        *same,
        {"number": "40-У", "date": "2020-03-01", "title": "О внесении изменений в Указание № 1-У"},
        {"number": "41-У", "date": "2020-03-01", "title": "О форме", "issue": "b7"},
    )
    (folder / "live_questions.jsonl").unlink()
    (folder / "manual.jsonl").unlink()
    code, told = tendril("split", "--dev", "3", "--unseen", "0")
    assert code == 0, told
    assert (
        "note: 2 of 32 listed acts are in no split (amendment 1, not_found 1); act 32 of the list, 41-У: issues/ has no issue b7"
        in told
    )
    assert "note: dev has 0 acts, not 3" in told
    assert "note: test_live is empty, and the splits are refused as long as it is" in told


def test_keys_of_decomposed_letters_are_added_once(folder: Path) -> None:
    rows(folder / "acts.jsonl", {"number": "5-Й", "date": "2020-03-01", "title": "О", "text": TEXT})
    for name in ("live_questions.jsonl", "manual.jsonl"):
        (folder / name).unlink()
    write(folder / "split.json", json.dumps({"train": [unicodedata.normalize("NFD", "5-Й_01032020")]}))
    assert "0 acts added" in tendril("split", "--add")[1]
    rows(
        folder / "acts.jsonl", *({"number": f"{n}-Й", "date": "2020-03-01", "title": "О", "text": TEXT} for n in (5, 6))
    )
    assert "1 acts added" in tendril("split", "--add")[1]
    split = json.loads((folder / "split.json").read_text("utf-8"))
    assert list(split) == ["train", "dev", "test_live", "test_genre", "test_unseen"]
    assert split["train"] == ["5-Й_01032020", "6-Й_01032020"]


def test_a_split_is_never_replaced(folder: Path) -> None:
    write(folder / "split.json", json.dumps({"train": [key(1)]}))
    code, told = tendril("split")
    assert code == 1
    assert "what is held out must not change" in told
    assert json.loads((folder / "split.json").read_text("utf-8")) == {"train": [key(1)]}


def test_later_acts_are_added(folder: Path) -> None:
    assert tendril("split", "--add")[0] == 1
    tendril("split")
    before = json.loads((folder / "split.json").read_text("utf-8"))
    rows(
        folder / "acts.jsonl",
        *listed(32),
        {"number": "30-П", "date": "2012-05-05", "title": "О прежнем деле", "text": TEXT},
    )
    code, told = tendril("split", "--add")
    assert code == 0, told
    assert "2 acts added" in told
    after = json.loads((folder / "split.json").read_text("utf-8"))
    assert {name: sorted(set(after[name]) - set(before[name])) for name in after} == {
        "train": [key(31)], "dev": [], "test_live": [], "test_genre": [key(32)], "test_unseen": [],
    }  # fmt: skip
    assert "0 acts added" in tendril("split", "--add")[1]
    assert tendril("split", "--add", "--dev", "3")[0] == 2


def test_removed_acts_are_in_no_split(folder: Path) -> None:
    write(folder / "removals.csv", f"kind,id,reason,date\nact,{key(1)},просьба,2026-01-01\n")
    tendril("split")
    assert key(1) not in (folder / "split.json").read_text("utf-8")


def test_a_collection_whose_splits_are_drawn(folder: Path) -> None:
    done = CliRunner().invoke(main, ["split", "--collection", "tenders"])
    assert done.exit_code == 1
    assert "are drawn (independent), not fixed by a file" in done.output


def read_sheet(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def test_a_sheet_of_tasks_and_back(folder: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    code, told = tendril("tasks", "--sheet", str(sheet))
    assert code == 1
    assert "split.json is missing" in told
    tendril("split", "--dev", "2", "--unseen", "4")
    code, told = tendril("tasks", "--sheet", str(sheet))
    assert code == 0, told
    split = json.loads((folder / "split.json").read_text("utf-8"))
    held_out = {k for name, keys in split.items() if name.startswith("test_") for k in keys}
    tasks = read_sheet(sheet)
    assert {row["act"] for row in tasks} == held_out - {key(4)}
    assert all(row["query_id"] == task_id(row["act"]) and row["text"] == "" for row in tasks)

    # An empty sheet may be made again, a filled one may not.
    assert tendril("tasks", "--sheet", str(sheet))[0] == 0
    tasks[0]["text"] = "  сколько  хранить "
    with sheet.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(tasks[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(tasks)
    filled = sheet.read_bytes()
    code, told = tendril("tasks", "--sheet", str(sheet))
    assert code == 1
    assert "holds 1 queries" in told
    assert sheet.read_bytes() == filled

    assert "1 queries added" in tendril("tasks", "--take", str(sheet))[1]
    assert "0 queries added" in tendril("tasks", "--take", str(sheet))[1]
    lines = [json.loads(line) for line in (folder / "manual.jsonl").read_text("utf-8").splitlines()]
    assert lines[1] == {"query_id": tasks[0]["query_id"], "text": "сколько хранить", "act": tasks[0]["act"]}

    sheet.write_text(sheet.read_text("utf-8").replace("сколько", "долго ли"), "utf-8")
    code, told = tendril("tasks", "--take", str(sheet))
    assert code == 1
    assert "is there already with another text or act" in told
    again = tmp_path / "again.tsv"
    tendril("tasks", "--sheet", str(again))
    assert tasks[0]["act"] not in {row["act"] for row in read_sheet(again)}


HEAD = "text\tquery_id\tact\n"
GENRE = key(2)


@pytest.fixture
def placed(folder: Path) -> Path:
    split = {"train": [key(1)], "test_genre": [GENRE, key(5)], "test_unseen": [key(4)]}
    write(folder / "split.json", json.dumps(split))
    return folder


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (f"срок\tmanб\t{GENRE}", "line 2: query_id 'manб' should have 1 to 100 ASCII letters"),
        (f"срок\tq-1\t{GENRE}", "line 2: query_id q-1: ids that begin with q- are those of generated questions"),
        (f"срок\te1\t{GENRE}", "line 2: e1 is there already"),
        (f"срок\tm1\t{key(4)}", "line 2: m1 is there already with another text or act"),
        (f"срок\ta\t{GENRE}\nучет\ta\t{GENRE}", "line 3: a is there already"),
        (f"срок\ta\t{key(1)}", f"line 2: a is for act '{key(1)}', which is in train; queries are written for acts of"),
        ("срок\ta\t1-У", "line 2: a is for act '1-У', which is in no split"),
        ("срок", "line 2: query_id '' should have"),
        (f'"срок" хранения\ta\t{GENRE}', "line 2: a tab expected after '\"'. A cell that begins with a quotation mark"),
        (f'"срок\ta\t{GENRE}\nучет\tb\t{GENRE}', "line 2: unexpected end of data"),
    ],
)
def test_what_the_next_landing_would_refuse_is_not_taken(placed: Path, tmp_path: Path, lines: str, told: str) -> None:
    before = (placed / "manual.jsonl").read_bytes()
    sheet = write(tmp_path / "sheet.tsv", f"{HEAD}{lines}\n")
    code, output = tendril("tasks", "--take", str(sheet))
    assert code == 1
    assert told in output
    assert (placed / "manual.jsonl").read_bytes() == before


def test_a_sheet_as_spreadsheets_save_it(placed: Path, tmp_path: Path) -> None:
    """UTF-16 with a mark, quotation marks doubled, letters decomposed; taken twice it is the same query."""
    text = unicodedata.normalize("NFD", 'Какой ""срок""')
    sheet = tmp_path / "sheet.txt"
    sheet.write_text(f'{HEAD}"{text}"\ta\t{GENRE}\n', "utf-16")
    assert "1 queries added" in tendril("tasks", "--take", str(sheet))[1]
    assert "0 queries added" in tendril("tasks", "--take", str(sheet))[1]
    last = json.loads((placed / "manual.jsonl").read_text("utf-8").splitlines()[-1])
    assert last == {"query_id": "a", "text": 'Какой "срок"', "act": GENRE}
    sheet.write_text(HEAD + "срок\tb\t" + GENRE, "cp1251")
    assert "is no UTF-8: save the sheet as UTF-8, or as Unicode text" in tendril("tasks", "--take", str(sheet))[1]


def test_a_file_that_is_no_sheet_is_left_alone(folder: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "notes.txt", "Meine Notizen\n")
    code, told = tendril("tasks", "--sheet", str(other))
    assert code == 1
    assert "is no sheet of tasks" in told
    assert other.read_text("utf-8") == "Meine Notizen\n"
    assert tendril("tasks")[0] == 2
