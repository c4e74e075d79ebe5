"""A small landing folder of acts on disk, which tests change."""

import json
from pathlib import Path
from typing import Any

TITLE = "О сроках хранения документов"
BODY = "1. Срок хранения документов равен пяти годам.\n2. Документы хранит служба, которая их составила."
ISSUE = """СОДЕРЖАНИЕ
Указание от 10 апреля 2023 года № 6406-У «О форме отчета» ........ 3

10 апреля 2023 года № 6406-У
УКАЗАНИЕ
О форме отчета
1. Отчет составляют по порядку, который установило
Положение Банка России от 28 июня 2017 года № 590-П
в отношении резервов.

11 апреля 2023 года № 6410-У
УКАЗАНИЕ
О внесении изменений в Указание № 6406-У
1. Слова заменить.
"""
ACTS: list[dict[str, Any]] = [
    {"number": "590-П", "date": "2017-06-28", "title": TITLE, "text": BODY},
    {"number": "207/2-И", "date": "2019-03-20", "title": "О проверках"},
    {"number": "6406-У", "date": "2023-04-10", "title": "О форме отчета", "issue": "b1"},
    {"number": "6410-У", "date": "2023-04-11", "title": "О внесении изменений в Указание № 6406-У", "issue": "b1"},
]
KEYS = ("590-П_28062017", "207~2-И_20032019", "6406-У_10042023")


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def rows(path: Path, *lines: dict[str, Any]) -> Path:
    return write(path, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def lay_out(folder: Path) -> Path:
    """Three acts that are kept, one in each way, and an amendment."""
    rows(folder / "acts.jsonl", *ACTS)
    write(folder / "acts" / f"{KEYS[1]}.txt", "1. Проверку начинают по приказу.\n2. Она длится десять дней.")
    write(folder / "issues" / "b1.txt", ISSUE)
    return folder
