"""``tendril split`` and ``tendril tasks`` on a small landing folder."""

import csv
import json
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


def test_a_file_that_is_no_sheet_is_left_alone(folder: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "notes.txt", "Meine Notizen\n")
    code, told = tendril("tasks", "--sheet", str(other))
    assert code == 1
    assert "is no sheet of tasks" in told
    assert other.read_text("utf-8") == "Meine Notizen\n"
    assert tendril("tasks")[0] == 2
