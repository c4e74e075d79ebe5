"""The structure of acts: small acts written for it, with what stands where."""

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.corpus.clauses import clause_starts, structure

ACT = """Положение
О порядке оценки залога

Раздел I. Общая часть
Глава 1. Общие положения и порядок взаимодействия
банков с оценщиками
1.1. Банк оценивает залог в порядке, указанном в пункте
1.2 настоящего Положения, с
31.12.2020 и до
3.5. настоящего порядка.
1.2. Оценка содержит:
1) цену;
2) способ;
а) сравнение;
1.2.1. сведения о заемщике;
1.2.2. сведения о залоге.
* Зарегистрировано в реестре.
Глава 2. Отчет
2.1. Отчет подписывают.
Строка | Сумма
1.1. Всего | 10
Приложение 1
к Положению от 1 июня 2020 года № 1-П
1. Форма заполняется банком.
1.1. В графе 1 указывается сумма.
"""


def test_clauses_are_found_under_their_headings() -> None:
    chapter = "Раздел I. Общая часть / Глава 1. Общие положения и порядок взаимодействия банков с оценщиками"
    assert [(one.number, one.section) for one in clause_starts(ACT)] == [
        ("1.1", chapter),
        ("1.2", chapter),
        ("1.2.1", chapter),
        ("1.2.2", chapter),
        ("2.1", "Раздел I. Общая часть / Глава 2. Отчет"),
        ("1", "Приложение 1"),
        ("1.1", "Приложение 1"),
    ]


def test_starts_point_at_number_and_text() -> None:
    for one in clause_starts(ACT):
        assert ACT[one.start :].startswith(f"{one.number}.")
        assert re.match(r"[А-Яа-я]", ACT[one.text_start])


def test_parts_know_their_kind_and_clause() -> None:
    kinds = {ACT[part.start : part.end].split("\n")[0]: (part.kind, part.number) for part in structure(ACT)}
    assert kinds["1) цену;"] == ("item", "1.2")
    assert kinds["а) сравнение;"] == ("item", "1.2")
    assert kinds["* Зарегистрировано в реестре."] == ("note", "1.2.2")
    assert kinds["1.1. Всего | 10"] == ("row", "2.1")
    assert kinds["Положение"] == ("paragraph", None)
    assert kinds["Глава 2. Отчет"] == ("heading", None)


def test_a_sentence_about_a_chapter_is_no_heading() -> None:
    text = (
        "Банк руководствуется нормами.\nГлава 3 применяется к ссудам.\nПриложение 2 изложить в новой редакции.\nКонец."
    )
    assert [part.kind for part in structure(text)] == ["paragraph"] * 4


def test_a_heading_does_not_swallow_a_paragraph() -> None:
    text = "Глава 1. Отчет\nБанк составляет отчет ежегодно.\nОн подписывает его."
    assert [part.section for part in structure(text)] == ["Глава 1. Отчет"] * 3


def test_a_number_alone_on_its_line_has_the_text_below() -> None:
    text = "Глава 1. Отчет\n1.1.\nБанк оценивает ссуду.\n1.2.\n\nБанк сдает отчет.\nОн верен."
    assert [text[part.start : part.end] for part in structure(text)[1:]] == [
        "1.1.\nБанк оценивает ссуду.",
        "1.2.\n\nБанк сдает отчет.",
        "Он верен.",
    ]
    assert [(one.number, text[one.text_start :][:9]) for one in clause_starts(text)] == [
        ("1.1", "Банк оцен"),
        ("1.2", "Банк сдае"),
    ]


def test_inserted_and_spelt_out_headings() -> None:
    text = "РАЗДЕЛ ВТОРОЙ\nГлава 3¹. Залог\n3¹.1. Банк.\nСтатья 67¹\n1. Банк.\nСтатья 5(1). Отчет\n1. Банк."
    assert [(one.number, one.section) for one in clause_starts(text)] == [
        ("3-1.1", "РАЗДЕЛ ВТОРОЙ / Глава 3¹. Залог"),
        ("1", "РАЗДЕЛ ВТОРОЙ / Глава 3¹. Залог / Статья 67¹"),
        ("1", "РАЗДЕЛ ВТОРОЙ / Глава 3¹. Залог / Статья 5(1). Отчет"),
    ]


PIECES = st.sampled_from(
    [
        "1.1. Банк",
        "1.2. банк;",
        "1.3.",
        "Глава 2. Отчет",
        "Приложение 3",
        "а) да;",
        "* нота",
        "текст",
        "Текст.",
        "",
        "  ",
        "а | б",
    ]
)


@given(st.lists(PIECES | st.text(max_size=30), max_size=30).map("\n".join))
def test_parts_in_order_are_the_text(text: str) -> None:
    parts = structure(text)
    assert "".join("".join(text[p.start : p.end].split()) for p in parts) == "".join(text.split())
    assert all(a.end <= b.start for a, b in pairwise(parts))
    assert all(p.start < p.end for p in parts)
