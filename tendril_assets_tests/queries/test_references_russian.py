"""Acts and clauses in Russian texts. Right values are read off the texts by hand."""

import datetime as dt
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tendril_assets.queries import references_russian as russian
from tendril_assets.queries.references import NamedClause, grammar, plain_number, plain_text


def numbers(text: str) -> list[str]:
    return [clause.number for clause in russian.references(text).clauses]


def bound(text: str) -> list[tuple[str, str | None]]:
    """Number and act of each clause; None where it is of no numbered act."""
    return [(clause.number, clause.act.number if clause.act else None) for clause in russian.references(text).clauses]


def in_heading(text: str) -> list[str]:
    return [clause.number for clause in russian.heading_clauses(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("согласно п. 3.9 Положения", ["3.9"]),
        ("согласно п.3.9.", ["3.9"]),
        ("пп. 3.7.2.2", ["3.7.2.2"]),
        ("П. 3.9 и п.\u00a03.10", ["3.9", "3.10"]),
        ("пунктом 7, пункту 8, пунктах 9 и 10", ["7", "8", "9", "10"]),
        ("п.п. 3.1.3, 3.1.5", ["3.1.3", "3.1.5"]),
        ("п. 1,2 и 3", ["1", "2", "3"]),
        ("подпунктам 2.1.2, 2.1.4 либо 2.1.6", ["2.1.2", "2.1.4", "2.1.6"]),
        ("пп. 3.1-3.4", ["3.1", "3.2", "3.3", "3.4"]),
        ("п.п. 3.3 – 3.5, 3.7", ["3.3", "3.4", "3.5", "3.7"]),
        ("пунктам с 4.2.1 по 4.2.3", ["4.2.1", "4.2.2", "4.2.3"]),
        ("пункты 2 — 4", ["2", "3", "4"]),
        # Of a range across chapters only the ends are written anywhere.
        ("пп. 3.7 – 4.2", ["3.7", "4.2"]),
        # Clauses that were put in later, in the three ways they are written.
        ("п. 3.1-1, п. 3.1¹, п. 3.1(1)", ["3.1-1", "3.1-1", "3.1-1"]),
        ("пп. 5-1 и 3-5", ["5-1", "3", "4", "5"]),
    ],
)
def test_numbers_of_clauses(text: str, expected: list[str]) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "договор от 09.12.2019, до 1.10.2019, с 31.12.20 по 15.01.21",
        "п. 09.12.2019",
        "пункт 12.12.19",
        "повысить на 0,5 процентных пункта 3 раза",
        "на 50 базисных пунктов 2 дня, населённый пункт 4, пограничный пункт 7",
        "и т. п. 3 раза; и т.п. 5",
        "п. 590-П и п. 4892-У",
        "п. 3.5 млн рублей",
        "глава 3, гл. 8, раздел 1, приложение 2, графа 10 раздела 6, строка 3, форма 0409115",
        "№ 353-ФЗ, № 395-1, счёт № 47427, ставка № 2",
        "2020 год, 3.14 %, 100 000 рублей, 10 дней",
        "пункт обмена валюты, этот пункт, в пункте",
        "п. 0.5, п. 03.1",
        "ПОС п 2020",
        "рост на 2.5 п.п. 3 марта 2020 года, п.п. 12 мая",
    ],
)
def test_what_is_no_clause(text: str) -> None:
    assert numbers(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("п. 3.1, 20 % суммы", ["3.1"]),
        ("п. 3.1, 5 млн рублей", ["3.1"]),
        ("п. 3.1 и 2 квартала", ["3.1"]),
        ("п. 3.1, 10 календарных дней", ["3.1"]),
        ("п. 3.1 от 09.12.2019", ["3.1"]),
        ("п. 3.1, 09.12.2019", ["3.1"]),
        ("п. 3.1, 2020 год", ["3.1"]),
        ("п. 3 и 5 марта 2020 г.", ["3"]),
        ("п. 3 и 5 мартовских", ["3", "5"]),
        ("пп. 2.1, 2.4 и 5 заемщиков", ["2.1", "2.4"]),
        ("пп. 2.1, 2.4 и 5 Положения", ["2.1", "2.4", "5"]),
        # Words that only begin like a unit.
        ("п. 3.1, 3.2 части ссуд", ["3.1", "3.2"]),
        ("п. 3.1, 3.2 процентные ставки", ["3.1", "3.2"]),
    ],
)
def test_a_list_ends_before_what_is_counted(text: str, expected: list[str]) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("пунктом 2.9 Положения Банка России от 2 мая 2012 года № 378-П", [("2.9", "378-П")]),
        ("пункт 17.12 главы 17 «Процентные расходы» Положения Банка России № 446-П", [("17.12", "446-П")]),
        ("п. 3.9 Положения № 590-П и п. 1.2 Положения № 611-П", [("3.9", "590-П"), ("1.2", "611-П")]),
        ("пп. 3.9.2 и п.п. 3.3 – 3.4 Положения 590-П", [("3.9.2", "590-П"), ("3.3", "590-П"), ("3.4", "590-П")]),
        ("Положение № 590-П (п. 3.9, 3.10)", [("3.9", "590-П"), ("3.10", "590-П")]),
        ("№ 590-П, п. 3.9", [("3.9", "590-П")]),
        ("по Положению № 590-П; в п. 3.8 данного Положения", [("3.8", "590-П")]),
        (
            "Положение № 590-П и Указание № 4892-У: п. 1.3 этого Указания, п. 2 указанного Положения",
            [("1.3", "4892-У"), ("2", "590-П")],
        ),
        ("пункта 2 приложения 1 к Указанию № 7119-У", [("2", "7119-У")]),
        # Of something that has clauses and is no act of the kind.
        ("пункт 1 части 3 статьи 15 Федерального закона № 161-ФЗ", [("1", None)]),
        ("ст. 5 п. 3", [("3", None)]),
        ("пунктом 2 Порядка составления отчетности к Указанию № 7119-У", [("2", None)]),
        ("п. 4.1 договора", [("4.1", None)]),
        ("п. 1 информационного письма № ИН-01-23/32", [("1", "ИН-01-23/32")]),
        ("п. 3.9", [("3.9", None)]),
    ],
)  # fmt: skip
def test_whose_clauses_they_are(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert bound(text) == expected


def test_how_sure_the_owner_is() -> None:
    def binding(text: str) -> list[tuple[str, str | None]]:
        return [(clause.binding, clause.kind) for clause in russian.references(text).clauses]

    assert binding("п. 3.9 Положения № 590-П") == [("act", "положение")]
    assert binding("п. 3.9 Положения") == [("document", "положение")]
    assert binding("п. 3.9 настоящей Инструкции") == [("document", "инструкция")]
    assert binding("п. 3.9 Закона") == [("other", "закон")]
    assert binding("п. 3.9 ГК РФ") == [("other", None)]
    assert binding("п. 3.9") == [("open", None)]


def test_items_and_paragraphs_within_a_clause() -> None:
    def inside(text: str) -> list[tuple[str, str | None, tuple[int, ...]]]:
        return [(c.number, c.part, c.paragraphs) for c in russian.references(text).clauses]

    assert inside("абз. 5 пп. 3.9.2 Положения") == [("3.9.2", None, (5,))]
    assert inside("абзацем вторым и третьим пункта 2.9") == [("2.9", None, (2, 3))]
    assert inside("абзацами 3–5 пункта 1") == [("1", None, (3, 4, 5))]
    assert inside("подпункт «а» пункта 2.1") == [("2.1", "а", ())]
    assert inside("подпункты 3 и 5 пункта 2.1") == [("2.1", "3", ()), ("2.1", "5", ())]
    # A sub-clause with its full number is named whole, and its clause says nothing more.
    assert inside("подпункта 2.1.2 пункта 2.1 Положения № 421-П") == [("2.1.2", None, ())]


def test_the_members_of_a_range_are_known_from_what_is_written() -> None:
    found = russian.references("пп. 3.1-3.4").clauses
    assert [(clause.number, clause.implied) for clause in found] == [
        ("3.1", False), ("3.2", True), ("3.3", True), ("3.4", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Реструктуризация ссуды (3.7.2.2, 3.10, 3.10.1)", ["3.7.2.2", "3.10", "3.10.1"]),
        ("Факторы (3.9.1–3.9.3)", ["3.9.1", "3.9.2", "3.9.3"]),
        ("Досье (3.1.3; 3.1.5) и обеспечение (6.2)", ["3.1.3", "3.1.5", "6.2"]),
        ("Досье ( 3.1.3 и 3.1.5 ).", ["3.1.3", "3.1.5"]),
        ("Досье (3.1.3, 3.1.5, приложение 2)", ["3.1.3", "3.1.5"]),
        ("Портфели (п. 5)", ["5"]),
        ("Портфели (п. 5.1, абз. 2 п. 5.4)", ["5.1", "5.4"]),
        ("Портфели (5.1, 5.2 Положения № 590-П)", ["5.1", "5.2"]),
        ("Отчетность с 01.10.2019", []),
        ("Отчетность (с 01.10.2019)", []),
        ("Отчетность (09.12.2019)", []),
        ("Отчетность (10.12.19)", []),
        ("Отчетность (3.1.3 от 09.12.2019)", []),
        ("Ставка (4.5 %, 3.2 %)", []),
        ("Сумма (1.5 млн руб.)", []),
        ("Сумма (0,5)", []),
        ("Вопросы 2020 (2020), часть (2)", []),
        ("Форма (0409115)", []),
        ("Положение (590-П)", []),
        ("МСФО (IFRS) 9", []),
        ("Разное", []),
        ("", []),
    ],
)
def test_clauses_in_headings(heading: str, expected: list[str]) -> None:
    assert in_heading(heading) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Положение Банка России от 28.06.2017 № 590-П «О порядке»", [("590-П", "положение", dt.date(2017, 6, 28))]),
        ("Указания Банка России от 2 мая 2012 года № 2814-У", [("2814-У", "указание", dt.date(2012, 5, 2))]),
        ("Инструкцией от 31.08.18 г. № 199-И", [("199-И", "инструкция", dt.date(2018, 8, 31))]),
        ("Положение «О порядке» от 01.06.98 № 31-П", [("31-П", "положение", dt.date(1998, 6, 1))]),
        ("Указание № 4892-У от 31.08.2018", [("4892-У", "указание", dt.date(2018, 8, 31))]),
        ("Методических рекомендаций № 11-МР", [("11-МР", "методические рекомендации", None)]),
        ("590\u2013П, №\u00a0590 - П, N 590-П", [("590-П", None, None)] * 3),
        ("Положений № 590-П и 611-П", [("590-П", "положение", None), ("611-П", None, None)]),
        ("Положения № 18н/4-П", [("18Н/4-П", "положение", None)]),
        ("Федерального закона от 02.12.1990 № 395-1", [("395-1", "закон", dt.date(1990, 12, 2))]),
        ("Постановлением Правительства РФ от 01.08.2011 № 640", [("640", "постановление", dt.date(2011, 8, 1))]),
        ("письму Банка России № 04-45/6370", [("04-45/6370", "письмо", None)]),
        # Latin letters that look like the Cyrillic ones.
        ("Указания № 4892-Y", [("4892-У", "указание", None)]),
        ("Методических рекомендаций № 11-MP", [("11-МР", "методические рекомендации", None)]),
        ("Положение от 31.02.2017 № 590-П", [("590-П", "положение", None)]),
        ("счёт № 47427, форма № 3, ставка № 2, COVID-19, 20-и, 5-й, Ту-154", []),
        ("это положение дел, указание клиента", []),
    ],
)  # fmt: skip
def test_names_of_acts(text: str, expected: list[tuple[str, str | None, dt.date | None]]) -> None:
    assert [(act.number, act.kind, act.date) for act in russian.references(text).acts] == expected


def test_kinds_are_known_in_every_case() -> None:
    assert {russian.kind_of(word) for word in ("Положение", "положениях", "ПОЛОЖЕНИЕМ")} == {"положение"}
    assert russian.kind_of("Методические рекомендации") == "методические рекомендации"
    assert russian.kind_of("Официальное разъяснение") == "официальное разъяснение"
    assert russian.kind_of("Федеральный закон") == "закон"
    assert russian.kind_of("Решение") is None


def test_appendices_by_the_heading_of_a_section() -> None:
    assert russian.appendix_of("Приложение 2 / Глава 1. Общее") == "2"
    assert russian.appendix_of("Приложение") == ""
    assert russian.appendix_of("Глава 1. Общие положения") is None
    assert russian.appendix_of("Глава 4. Требования к приложению") is None
    named = russian.references("п. 2 приложения 1 к Указанию № 7119-У, п. 3 приложения к Указанию № 7119-У").clauses
    assert [clause.appendix for clause in named] == ["1", ""]


def test_numbers_and_texts_in_the_form_they_are_compared_in() -> None:
    assert plain_number(" 590 \u2013 п") == plain_number("590-П") == "590-П"
    assert plain_number("4892-Y") == "4892-У"
    # Latin letters that no Cyrillic one looks like: the number is Latin.
    assert plain_number("ISO-19") == "ISO-19"
    assert plain_text("Верно ли,  что п. 3.9?") == plain_text("верно ли что П 3.9") == "верно ли что п 3 9"
    with pytest.raises(ValueError, match="no grammar of references 'latin'; there are: russian"):
        grammar("latin")


_NUMBER = st.lists(st.integers(1, 30), min_size=2, max_size=4).map(lambda parts: ".".join(map(str, parts)))
_MARKS = st.sampled_from(["п. ", "пп. ", "п.п. ", "п.", "пункта ", "пунктами ", "подпунктах ", "Пункт\u00a0"])
_OWNERS = st.sampled_from(["", " Положения № 590-П", " данного Указания", ".", " (далее", ", КО вправе", "?"])
_NOISE = st.sampled_from(
    ["от 09.12.2019", "до 1.1.2020 г.", "5 млн рублей", "на 20 %", "№ 353-ФЗ", "Положение № 590-П", "в 2019 году", "0,5",
     "10 календарных дней", "форма 0409115", "статьи 7", "главы 3", "и т. п.", "раздел 1"]
)  # fmt: skip


def _is_day(number: str) -> bool:
    parts = number.split(".")
    return len(parts) == 3 and [len(part) for part in parts] == [2, 2, 2] and int(parts[1]) < 13


@given(
    _MARKS, st.lists(_NUMBER, min_size=1, max_size=5, unique=True), st.sampled_from([", ", " и ", "; ", ","]), _OWNERS
)
def test_a_list_is_read_as_it_was_written(mark: str, written: list[str], separator: str, owner: str) -> None:
    assume(not any(_is_day(number) for number in written))
    assert numbers(f"Вопрос: {mark}{separator.join(written)}{owner}") == written


@given(st.lists(_NUMBER.filter(lambda n: not _is_day(n)), min_size=1, max_size=5, unique=True))
def test_a_heading_in_brackets_is_read_as_it_was_written(written: list[str]) -> None:
    assert in_heading(f"О ссудах ({', '.join(written)})") == written


@given(st.lists(_NOISE, max_size=8).map("; ".join))
def test_dates_sums_and_laws_name_no_clause(text: str) -> None:
    assert numbers(text) == []
    assert in_heading(f"Ответы ({text})") == []


@given(st.lists(st.one_of(_NOISE, _MARKS, _NUMBER, st.text(max_size=8)), max_size=30).map(" ".join))
def test_any_text_is_read(text: str) -> None:
    found = russian.references(text)
    for one in (*found.acts, *found.clauses):
        assert 0 <= one.start < one.end <= len(text)
    assert all(isinstance(clause, NamedClause) and clause.number[0] in "123456789" for clause in found.clauses)
    russian.heading_clauses(text)


def test_long_texts_take_no_longer_than_they_are_long() -> None:
    hostile = ["п. 3.1, " * 4000, "Положение " * 4000, "«" * 30000, "пп. 1 п. 2 " * 3000, "3.1." * 9000, "( " * 15000]
    for text in hostile:
        started = time.process_time()
        russian.references(text)
        russian.heading_clauses(text)
        assert time.process_time() - started < 5, text[:20]
