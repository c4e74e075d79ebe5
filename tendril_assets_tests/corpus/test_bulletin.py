"""Cutting an issue: what is a heading, what only looks like one, and where an act ends."""

import json
import os
import re
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.corpus.acts import ListedAct, act_text, kind_of, normal_number
from tendril_assets.corpus.bulletin import Cut, cut_issue

DAY = date(2021, 3, 1)


def act(place: int, number: str, day: date | None = DAY, title: str = "О чем-то") -> ListedAct:
    normal = normal_number(number)
    return ListedAct(place, number, normal, day, title, kind_of(normal, title), "1")


def cut(text: str, *acts: ListedAct) -> tuple[dict[int, str], Cut]:
    issue = act_text(text)
    found = cut_issue(issue, acts)
    return {place: issue[piece.start : piece.end] for place, piece in found.found.items()}, found


REAL = "1 марта 2021 года № 77-П\nПОЛОЖЕНИЕ\nО сроках\n1. Срок равен пяти дням."


@pytest.mark.parametrize(
    "heading",
    [
        "1 марта 2021 года № 77-П\nПОЛОЖЕНИЕ\nО сроках",
        "1 марта 2021 года № 77-П ПОЛОЖЕНИЕ\nО сроках",
        "1 марта 2021 г. № 77 - П\n\nПОЛОЖЕНИЕ\n\nО сроках",
        "ПОЛОЖЕНИЕ\nот 1 марта 2021 года № 77-П\n«О сроках»",
        "ПОЛОЖЕНИЕ\nБАНКА РОССИИ\nот 01.03.2021 № 77-П\nО сроках",
        "П О Л О Ж Е Н И Е\n01.03.21 № 77-П\nО сроках",
        "ПОЛОЖЕНИЕ № 77-П О сроках",
        "ПОЛОЖЕНИЕ\n№ 77-П\nот 1 марта 2021 года\nО сроках",
        "Положение № 77-П от 1 марта 2021 г.\nО сроках",
        "№ 77-П от 1 марта 2021 года\nПОЛОЖЕНИЕ\nО сроках",
        "ПОЛОЖЕНИЕ\n1 марта 2021 года г. Москва № 77-П\nО сроках",
        "Положение Банка России от 1 марта 2021 года № 77-П\nО сроках",
        "1 марта 2021 года\n№ 77-П\nПOЛOЖEНИE\nО сроках",  # Latin O and E
    ],
)
def test_headings(heading: str) -> None:
    texts, _ = cut(f"НОРМАТИВНЫЕ АКТЫ\n\n{heading}\n1. Срок равен пяти дням.", act(1, "77-П"))
    assert texts[1] == act_text(f"{heading}\n1. Срок равен пяти дням.")


@pytest.mark.parametrize(
    "reference",
    [
        "порядок, который установило\nПоложение Банка России от 1 марта 2021 года № 77-П\nв отношении банков",
        "порядок (далее —\nПоложение № 77-П) и сроки",
        "порядок, который установило\nПоложение № 77-П",
        "изменений в\nПоложение Банка России от 1 марта 2021 года\n№ 77-П\n«О сроках»",
        "Утратили силу:\nПоложение от 1 марта 2021 года № 77-П;\nУказание от 2 марта 2021 года № 5-У",
        "Приложение 1\nк Положению\nот 1 марта 2021 года\n№ 77-П\nПОЛОЖЕНИЕ\nо комиссии",
        "Приложение 1\nк Положению\n№ 77-П от 1 марта 2021 года\nПОЛОЖЕНИЕ\nО комиссии",
        "согласно Положению\n№ 77-П\nот 1 марта 2021 года",
        "Положение Банка России от 1 марта 2021 года № 77-П «О сроках» ........ 12",
        "Положение Банка России от 1 марта 2021 года № 77-П\n«О сроках» ...... 12",
        "Положение Банка России от 1 марта 2021 года № 77-П, которое\nдействует",
    ],
)
def test_references_are_no_headings(reference: str) -> None:
    texts, found = cut(
        f"2 марта 2021 года № 5-У\nУКАЗАНИЕ\nО форме\n1. Действует {reference}.",
        act(1, "77-П"),
        act(2, "5-У", date(2021, 3, 2)),
    )
    assert 1 not in texts
    assert "never as the heading" in found.missing[1]
    assert texts[2].endswith(act_text(reference)[-10:] + ".")


def test_a_reference_before_the_act_does_not_take_its_place() -> None:
    issue = (
        "СОДЕРЖАНИЕ\nПоложение от 1 марта 2021 года № 77-П\nО сроках\n\n2 марта 2021 года № 5-У\nУКАЗАНИЕ\nО форме\n"
        f"1. Форма дана.\n\n{REAL}"
    )
    texts, _ = cut(issue, act(1, "77-П"), act(2, "5-У", date(2021, 3, 2)))
    assert texts == {1: REAL, 2: "2 марта 2021 года № 5-У\nУКАЗАНИЕ\nО форме\n1. Форма дана."}


def test_of_equal_headings_the_one_with_a_text_counts() -> None:
    short = "Положение от 1 марта 2021 года № 77-П\nО сроках"
    issue = f"{short}\n\nУказание от 2 марта 2021 года № 5-У\nО форме\n\n{short}\n1. Срок равен пяти дням."
    texts, _ = cut(issue, act(1, "77-П"), act(2, "5-У", date(2021, 3, 2)))
    assert texts[1] == f"{short}\n1. Срок равен пяти дням."


def test_two_acts_with_one_number() -> None:
    other = "5 мая 2021 года № 77-П\nПОЛОЖЕНИЕ\nО форме\n1. Форма дана."
    texts, _ = cut(f"{other}\n\n{REAL}", act(1, "77-П"), act(2, "77-П", date(2021, 5, 5)))
    assert texts == {1: REAL, 2: other}
    texts, found = cut("ПОЛОЖЕНИЕ № 77-П\nО форме\n1. Форма.", act(1, "77-П"), act(2, "77-П", date(2021, 5, 5)))
    assert not texts
    assert "does not tell which" in found.missing[1]


def test_an_act_listed_twice_is_found_twice() -> None:
    texts, _ = cut(REAL, act(1, "77-П"), act(2, "77-П"))
    assert texts == {1: REAL, 2: REAL}


def test_an_act_without_a_listed_day_is_found_by_its_number() -> None:
    assert cut(REAL, act(1, "77-П", None))[0] == {1: REAL}


def test_why_an_act_is_missing() -> None:
    assert cut(REAL, act(1, "77-П", date(2020, 1, 1)), act(2, "8-П"))[1].missing == {
        1: "the issue prints number 77-П with the day 2021-03-01, the list 2020-01-01",
        2: "number 8-П does not occur in the issue",
    }
    assert cut(REAL, ListedAct(3, "77-П", "77-П", DAY, "", "Указание", "1"))[1].missing == {
        3: "the issue prints number 77-П as Положение, the list as Указание",
    }


def test_what_ends_an_act() -> None:
    order = "3 марта 2021 года № ОД-55\nПРИКАЗ\nО графике\nПРИКАЗЫВАЮ: утвердить."
    _, found = cut(f"{REAL}\n\n{order}", act(1, "77-П"))
    assert found.found[1].ended_by == "other document"
    texts, found = cut(f"{REAL}\nПредседатель Банка\nА. А. Я\n\nКРЕДИТНЫЕ ОРГАНИЗАЦИИ\nСписок", act(1, "77-П"))
    assert found.found[1].ended_by == "section"
    assert texts[1].endswith("А. А. Я")
    # The same words inside an act that is not signed yet are a heading of its own.
    texts, _ = cut(f"{REAL}\n\nКРЕДИТНЫЕ ОРГАНИЗАЦИИ\n2. Они платят.", act(1, "77-П"))
    assert texts[1].endswith("2. Они платят.")


def test_an_act_without_an_end_is_told() -> None:
    first = "2 марта 2021 года № 5-У\nУКАЗАНИЕ\nО форме\n1. Форма дана.\nПредседатель Банка"
    _, found = cut(f"{first}\n\n{REAL}", act(1, "77-П"), act(2, "5-У", date(2021, 3, 2)))
    assert found.found[2].note is None
    assert "no signature" in str(found.found[1].note)


def test_a_registration_belongs_to_the_act_below_it() -> None:
    first = "2 марта 2021 года № 5-У\nУКАЗАНИЕ\nО форме\n1. Форма дана."
    registered = "Зарегистрировано Министерством\n30 мая 2021 года\nРегистрационный № 73618"
    texts, _ = cut(f"{first}\n\n{registered}\n\n{REAL}", act(1, "77-П"), act(2, "5-У", date(2021, 3, 2)))
    assert texts[2] == first


def test_what_stands_around_a_heading_may_be_long() -> None:
    long = "1. " + "Срок равен пяти дням, " * 500
    texts, _ = cut(f"{long}\n{REAL}\n{long}", act(1, "77-П"))
    assert texts[1] == act_text(f"{REAL}\n{long}")
    assert not cut(f"{long}\nПоложение от 1 марта 2021 года № 77-П\n{long[3:]}", act(1, "77-П"))[0]


def test_a_number_broken_over_lines() -> None:
    texts, _ = cut("ПОЛОЖЕНИЕ\nот 1 марта 2021 года № 77-\nП\nО сроках\n1. Срок.", act(1, "77-П"))
    assert 1 in texts


@pytest.mark.skipif("TENDRIL_TRIAL_DATA" not in os.environ, reason="TENDRIL_TRIAL_DATA names no trial data")
def test_no_reference_of_real_acts_is_taken_for_a_start() -> None:
    """Fragments of 64 real acts, which name others more than a hundred times, often at the start of a line."""
    path = Path(os.environ["TENDRIL_TRIAL_DATA"]) / "cbr_pairs" / "pairs.jsonl"
    fragments = {row["chunk_id"]: row["text"] for row in map(json.loads, path.read_text("utf-8").splitlines())}
    text = act_text("\n".join(fragments.values()))
    mentions = re.findall(r"№\s*(\d+-[А-ЯЁ]{1,2})(?![А-Яа-яЁё])", text)
    numbers = sorted(set(mentions))
    assert len(mentions) > 100
    assert len(numbers) > 40
    named = [act(place, number, None) for place, number in enumerate(numbers, start=1)]
    assert cut_issue(text, named).found == {}
    # The same text under a heading of its own is found whole, with every one of these numbers on the list.
    issue = act_text(f"{REAL}\n{text}")
    alone = cut_issue(issue, [act(1, "77-П"), *(named[1:])]).found
    assert set(alone) == {1}
    assert (alone[1].start, alone[1].end) == (0, len(issue))


_LINES = st.sampled_from(
    [
        "1 марта 2021 года № 77-П", "ПОЛОЖЕНИЕ", "УКАЗАНИЕ", "О сроках", "№ 5-У", "Положение № 77-П", "текст дела.", "в силу",
        "2 марта 2021 года № 5-У", "Председатель Банка", "", "(далее —", "от 1 марта 2021 года", "к Положению",
    ]
)  # fmt: skip


@given(st.lists(_LINES, max_size=25))
def test_pieces_never_overlap_and_begin_with_kind_and_number(lines: list[str]) -> None:
    text = act_text("\n".join(lines))
    acts = [act(1, "77-П"), act(2, "5-У", date(2021, 3, 2))]
    found = cut_issue(text, acts)
    assert found.found.keys() | found.missing.keys() == {1, 2}
    assert not found.found.keys() & found.missing.keys()
    pieces = sorted(found.found.values())
    assert all(first.end <= second.start for first, second in pairwise(pieces))
    for place, piece in found.found.items():
        head = text[piece.start : piece.end].split("\n\n\n")[0][:120]
        assert acts[place - 1].number in head
        assert str(acts[place - 1].kind).casefold() in head.casefold()
        assert piece.start == 0 or text[piece.start - 1] in "\n "
