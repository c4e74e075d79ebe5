"""Two columns written side by side become one after the other; tables and plain text stay."""

from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.corpus.print_columns import columns_apart

LEFT = [
    "1. Банк ведет учет",
    "операций и хранит",
    "документы о них.",
    "2. Срок хранения",
    "равен пяти годам.",
    "3. Отчет подают",
    "в срок.",
]
RIGHT = [
    "4. Форма отчета дана",
    "в приложении.",
    "5. Отчет без",
    "подписи не",
    "принимают.",
    "6. Срок подачи",
    "не продлевают.",
]


def side_by_side(left: list[str], right: list[str], at: int = 30) -> list[str]:
    return [f"{a:<{at}}{b}".rstrip() for a, b in zip(left, right, strict=True)]


def test_the_left_column_comes_first() -> None:
    assert columns_apart(side_by_side(LEFT, RIGHT)) == LEFT + RIGHT


def test_a_title_over_both_columns_keeps_its_place() -> None:
    title = "ПОЛОЖЕНИЕ О ПОРЯДКЕ ВЕДЕНИЯ УЧЕТА ОПЕРАЦИЙ"
    assert columns_apart([title, *side_by_side(LEFT * 2, RIGHT * 2)])[0] == title
    assert columns_apart([title, *side_by_side(LEFT * 2, RIGHT * 2)])[1:] == LEFT * 2 + RIGHT * 2


def test_a_shorter_right_column() -> None:
    right = [*RIGHT[:6], ""]
    assert columns_apart(side_by_side(LEFT, right)) == LEFT + right


def test_plain_text_and_tables_stay() -> None:
    plain = ["Банк ведет учет операций и хранит документы о них весь срок."] * 10
    assert columns_apart(plain) == plain
    table = [f"{n:<12}показатель {n:<12}{n * 3:<12}{n * 7}" for n in range(10)]
    assert columns_apart(table) == [row.rstrip() for row in table]
    assert columns_apart(side_by_side(LEFT[:3], RIGHT[:3])) == side_by_side(LEFT[:3], RIGHT[:3])


def test_a_page_with_an_unbroken_paragraph_has_no_columns() -> None:
    """A line of 400 characters may be print, over very wide columns; a longer one is a paragraph."""
    page = side_by_side(LEFT * 2, RIGHT * 2, at=200)
    assert columns_apart([*page, "х" * 400]) == [*LEFT * 2, *RIGHT * 2, "х" * 400]
    assert columns_apart([*page, "х" * 401]) == [*page, "х" * 401]


@given(st.lists(st.text(alphabet="аб  1.", max_size=60), max_size=20))
def test_no_letter_is_lost(lines: list[str]) -> None:
    before = sorted("".join("".join(lines).split()))
    assert sorted("".join("".join(columns_apart(lines)).split())) == before
