"""Which line begins a clause. The lines are of the kinds that acts printed in columns have; the right value stands beside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.corpus.clause_numbers import ClauseReader, clause_number, number_path


@pytest.mark.parametrize(
    ("raw", "number"),
    [
        ("3.9.", "3.9"),
        ("3.9", "3.9"),
        (" 1. ", "1"),
        ("3.9¹.", "3.9-1"),
        ("3.9(1).", "3.9-1"),
        ("3.9–1", "3.9-1"),
        ("3.9-1.2.", "3.9-1.2"),
        ("12.1¹²", "12.1-12"),
    ],
)
def test_numbers_have_one_form(raw: str, number: str) -> None:
    assert clause_number(raw) == number
    assert clause_number(number) == number


def test_numbers_are_ordered_by_their_parts() -> None:
    assert sorted(["3.10", "3.9", "3.9-1", "3.9.1", "10", "3"], key=number_path) == [
        "3",
        "3.9",
        "3.9-1",
        "3.9.1",
        "3.10",
        "10",
    ]


STARTS = [
    ("3.9. Банк оценивает ссуду.", "", "3.9"),
    ("3.9. Банк оценивает ссуду.", "Предыдущий пункт закончен.", "3.9"),
    ("1. Настоящее Положение устанавливает порядок.", "", "1"),
    ("6.2.9. поручительства юридических лиц;", "гарантии банков;", "6.2.9"),
    ("2.5. Резерв", "как указано в настоящем пункте.", "2.5"),
    ("1.1.К отчету прилагается", "", "1.1"),
    ("3.9¹. Банк вправе", "Текст.", "3.9-1"),
    ("1.1-1. Банк вправе", "Текст.", "1.1-1"),
    ("  3.9. Банк", "", "3.9"),
    ("4.8. “Счет доходов” ведется", "Текст;", "4.8"),
    # behind the note of a revision
    ("5.2. Банк", "(Пункт в редакции Указания от 01.06.2020 № 18-У)", "5.2"),
    # the first clause below the inserted clause 3.3-3
    ("3.3-3.1. Банк", "Текст.", "3.3-3.1"),
]
NO_STARTS = [
    # references that go on over the line
    ("3.9. Настоящего Положения", "в порядке, указанном в пункте"),
    ("3.9 Положения Банка России № 590-П", "Текст."),
    ("3.9. Положения", "предусмотренном подп."),
    ("3.9. Банк", "в соответствии с пунктами 3.7 и"),
    ("3.9. Банк", "подпунктами 3.7,"),
    ("3.9. Банк", "статьей"),
    ("3.9. настоящего Положения", "Текст."),
    ("4.1.1-4.1.4) понимается количество дней", "Текст."),
    # dates
    ("09.12.2019 вступает в силу", "Текст."),
    ("31.12.2020 заемщика с заявлением", "Текст."),
    ("9.12.2019. Банк", "Текст."),
    ("01.02.20. Банк", "Текст."),
    ("12.10.19 Банк", "Текст."),
    ("28 июня 2017 года", "Текст."),
    ("2008 года № 2089-У", "Текст."),
    ("2019 г. Банк", "Текст."),
    # decimals, sums, quantities
    ("0,5 процента", "Текст."),
    ("1.5 процента", "Текст."),
    ("3.5 млн рублей", "Текст."),
    ("1.500.000 рублей", "Текст."),
    ("12 месяцев после даты", "Текст."),
    ("10 рабочий день с даты", "Текст."),
    # numbers of laws and acts, of the collection of laws
    ("161-ФЗ “О национальной платежной системе”", "Закона №"),
    ("590-П Банк", "Текст."),
    ("1996, № 17, ст. 1918", "Текст."),
    ("24, ст. 3400; № 27", "Текст."),
    # codes, cells and rows of tables, notes
    ("45401", "форварды"),
    ("29404, 29405.", "Текст"),
    ("4.1.1", "том числе:"),
    ("5.1.", "Текст."),
    ("1 - страхование залога", "Текст:"),
    ("5.1. Всего | 10 | 20", "Текст."),
    ("1 Зарегистрировано Минюстом России", "Текст."),
    ("30.06.20Х1.", "Текст."),
    ("3.1-3.5 Банк", "Текст."),
]


@pytest.mark.parametrize(("line", "before", "number"), STARTS)
def test_a_line_begins_a_clause(line: str, before: str, number: str) -> None:
    found = ClauseReader().number_at(line, before)
    assert found is not None
    assert found.number == number
    assert clause_number(line[found.start : found.end]) == number


@pytest.mark.parametrize(("line", "before"), NO_STARTS)
def test_a_line_only_looks_like_one(line: str, before: str) -> None:
    assert ClauseReader().number_at(line, before) is None


@pytest.mark.parametrize(
    ("after", "line", "starts"),
    [
        # the next one, a first child, a gap where clauses were repealed
        ("3.8", "3.9. Банк", True),
        ("3.8", "3.8.1. Банк", True),
        ("3.8", "3.10. Банк", True),
        ("3.8.4", "3.9. Банк", True),
        # a number that is due nowhere
        ("3.8", "7.2. Банк", False),
        ("3.8", "3.7. Банк", False),
        ("3.8", "3.8.5. Банк", False),
    ],
)
def test_behind_a_line_that_breaks_off_only_the_clause_that_is_due_begins(after: str, line: str, starts: bool) -> None:
    reader = ClauseReader()
    assert reader.number_at(f"{after}. Текст", "")
    assert (reader.number_at(line, "Оценка кредитного риска по ссудам") is not None) is starts


def test_without_a_dot_only_the_clause_that_is_due_begins() -> None:
    reader = ClauseReader()
    assert reader.number_at("3.8. Текст.", "")
    assert reader.number_at("3.12 Ссуды", "Текст.") is None
    assert reader.number_at("3.9 Ссуды", "Текст.")


def test_a_chapter_says_which_number_is_due() -> None:
    reader = ClauseReader()
    reader.enter(4)
    assert reader.number_at("4.1 Банк", "Текст.")
    reader.enter(5)
    assert reader.number_at("4.2 Банк", "Текст.") is None


ALONE = "Банк оценивает ссуду."


@pytest.mark.parametrize(
    ("line", "before", "after", "starts"),
    [
        ("3.9.", "", ALONE, True),
        ("3.9.", "Текст.", ALONE, True),
        ("3.9.", "Текст.", "Отражение в учете", False),  # the row of a table
        ("3.9.", "Текст.", "оценивает ссуду.", False),
        ("3.9.", "Текст.", "", False),
        ("3.9.", "Текст", ALONE, False),
        ("3.9", "Текст.", ALONE, False),
        ("5.1.", "Текст.", ALONE, False),  # not due
    ],
)
def test_a_number_alone_on_its_line(line: str, before: str, after: str, starts: bool) -> None:
    reader = ClauseReader()
    assert reader.number_at("3.8. Текст.", "")
    assert (reader.number_at(line, before, after) is not None) is starts


PATHS = st.lists(st.integers(1, 199), min_size=1, max_size=6)


@given(PATHS)
def test_every_number_with_a_dot_and_a_capital_begins_a_clause(path: list[int]) -> None:
    number = ".".join(map(str, path))
    date = len(path) == 3 and path[0] <= 31 and 10 <= path[1] <= 12 and 10 <= path[2] <= 99
    found = ClauseReader().number_at(f"{number}. Банк оценивает", "")
    assert date or (found is not None and found.number == number)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_line_is_read(line: str, before: str) -> None:
    found = ClauseReader().number_at(line, before)
    assert found is None or 0 <= found.start < found.end <= len(line)
