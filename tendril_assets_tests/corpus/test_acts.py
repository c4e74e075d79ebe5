"""Number, day, kind and key of an act, amendments, and the share of Cyrillic letters."""

import json
import os
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.corpus.acts import (
    KIND_OF_LETTERS,
    ListedAct,
    act_key,
    act_text,
    adopted,
    clean_title,
    cyrillic_share,
    in_cyrillic,
    is_amendment,
    kind_of,
    normal_kind,
    normal_number,
    outcome_of,
    read_key,
)


@pytest.mark.parametrize(
    ("printed", "number"),
    [
        ("590-П", "590-П"),
        (" № 590 - П ", "590-П"),
        ("7092\u2011У", "7092-У"),
        ("7092–У", "7092-У"),
        ("7092-Y", "7092-У"),  # Latin Y
        ("590-П ", "590-П"),
        ("18н/4-П", "18н/4-П"),
        ("11-MP", "11-МР"),  # Latin M and P
        ("ИН-03-23/45", "ИН-03-23/45"),
        ("8-И\u0306", "8-Й"),  # decomposed
    ],
)
def test_numbers_in_normal_form(printed: str, number: str) -> None:
    assert normal_number(printed) == number


@pytest.mark.parametrize("printed", ["", "П", "590_П", "590#П", "590~П", "от 5", "590-П; 5-У", "5" * 61, "٠-П"])
def test_what_is_no_number(printed: str) -> None:
    with pytest.raises(ValueError, match="is no number of an act"):
        normal_number(printed)


def test_a_key_is_number_and_day() -> None:
    assert act_key("590-П", date(2017, 6, 28)) == "590-П_28062017"
    assert act_key("207/2-И", date(2023, 3, 20)) == "207~2-И_20032023"
    assert read_key("207~2-И_20032023") == ("207/2-И", date(2023, 3, 20))


@pytest.mark.parametrize(
    "key", ["590-П", "590-П_2806201", "590-П_31022017", "590/П_28062017", "590-П_28062017#0001", ""]
)
def test_what_is_no_key(key: str) -> None:
    with pytest.raises(ValueError, match=r"is no key|there is no day"):
        read_key(key)


@given(
    st.from_regex(r"[0-9]{1,4}(/[0-9]{1,2})?-(П|У|И|МР|ОР|Т)", fullmatch=True),
    st.dates(date(1000, 1, 1), date(9999, 12, 31)),
)
def test_a_key_reads_back(number: str, day: date) -> None:
    key = act_key(normal_number(number), day)
    assert read_key(key) == (number, day)
    assert "/" not in key


@given(st.from_regex(r"[0-9]{1,4}-[ПУИТМРОФЗД]{1,2}", fullmatch=True))
def test_latin_look_alikes_come_back(number: str) -> None:
    latin = number.translate(str.maketrans("УМРОТ", "YMPOT"))
    assert normal_number(latin) == in_cyrillic(latin) == number
    assert ListedAct(1, latin, normal_number(latin), None, "", None).note is None or latin != number


@pytest.mark.parametrize(
    ("raw", "day"),
    [
        ("2017-06-28", date(2017, 6, 28)),
        ("28.06.2017", date(2017, 6, 28)),
        ("2017-06-28T00:00:00", date(2017, 6, 28)),
        ("1.2.2003", date(2003, 2, 1)),
        *(
            (none, None)
            for none in (None, "", " ", "01.01.1900", "1900-01-01", "1899-12-30", "1970-01-01", "0001-01-01")
        ),
    ],
)
def test_days(raw: object, day: date | None) -> None:
    assert adopted(raw) == day


@pytest.mark.parametrize("raw", ["31.02.2017", "2017", "06/28/2017", "gestern", "28.06.17"])
def test_what_is_no_day(raw: str) -> None:
    with pytest.raises(ValueError, match="is no day"):
        adopted(raw)


@pytest.mark.parametrize(
    "title",
    [
        "О внесении изменений в Положение Банка России от 1 марта 2020 года № 7-П",
        "О внесении изменения в пункт 3.1",
        "о  внесении\nизменений и дополнений в отдельные акты",
        "O внесении изменений в Указание",  # Latin O
        "О внесении технических изменений в Инструкцию",
        "О внесении дополнений в Положение",
        "Указание «О внесении изменений в Положение»",
        'Указание Банка России от 01.02.2003 № 5-У "О внесении изменения в Положение"',
        "Об изменениях и дополнениях Положения № 4-П",
        "Изменения в Инструкцию № 8-И",
        "Указание Банка России от 1 февраля 2003 года № 5-У «О внесении изменений в Положение»",
        "Указание от 1 февраля 2003 г. № 5-У О внесении изменений в Положение",
        "Указание № 5-У от 01.02.2003 «О внесении изменений»",
        'Указание ЦБ РФ N 5-У от 1 февраля 2003 г. "О внесении изменения"',
        "Об изменениях, вносимых в Инструкцию № 8-И",
        "Изменения, которые вносятся в Положение № 5-П",
        "О внесении в отдельные нормативные акты Банка России изменений",
    ],
)
def test_amendments(title: str) -> None:
    assert is_amendment(title)


@pytest.mark.parametrize(
    "title",
    [
        "",
        "О порядке внесения изменений в реестр",
        "Об изменении процентной ставки",
        "О внесении записей об изменениях в реестр",
        "О внесении платы за услуги",
        "О порядке расчета, с изменениями",
        "Положение о порядке внесения изменений в устав",
        "О дополнительных требованиях к отчетности",
        "Положение Банка России от 1 марта 2020 года № 7-П «О порядке внесения изменений»",
        "О внесении в реестр сведений об изменении наименования",
        "Об изменениях курса, о которых сообщают",
    ],
)
def test_no_amendments(title: str) -> None:
    assert not is_amendment(title)


def test_kinds() -> None:
    assert kind_of("590-П", "") == "Положение"
    assert kind_of("11-МР", "") == "Методические рекомендации"
    assert kind_of("12", "«Информационное письмо о сроках»") == "Информационное письмо"
    assert kind_of("12", "О сроках") is None
    assert all(kind_of(f"5-{letters}", "") == kind for letters, kind in KIND_OF_LETTERS.items())


@pytest.mark.parametrize(
    ("printed", "kind"),
    [
        ("ИНСТРУКЦИЯ", "Инструкция"),
        ("указание  Банка\u00a0России", "Указание"),
        ("Инcтpукция", "Инструкция"),  # Latin c and p
        ("МЕТОДИЧЕСКИЕ РЕКОМЕНДАЦИИ", "Методические рекомендации"),
        ("Регламент", "Регламент"),
    ],
)
def test_a_kind_has_one_form(printed: str, kind: str) -> None:
    assert normal_kind(printed) == kind


def test_titles() -> None:
    assert clean_title(" «О  сроках\nи порядке» ") == "О сроках и порядке"
    assert clean_title("О форме «А» и форме «Б»") == "О форме «А» и форме «Б»"


def test_the_share_of_cyrillic() -> None:
    assert cyrillic_share("Банк 2020, 5 %") == 1.0
    assert cyrillic_share("абвгдежзи X") == 0.9  # 9 of 10
    assert cyrillic_share("αβ аб") == 0.5
    assert cyrillic_share("12 — 3") is None
    assert outcome_of(0.9) == "kept"
    assert outcome_of(0.8999) == "low_cyrillic"


@given(st.text(alphabet="абвЁёABCxyz 0123.,№-\n×÷"))
def test_the_share_of_cyrillic_counts_letters(text: str) -> None:
    letters = [c for c in text if c.isalpha()]
    expected = sum("\u0400" <= c <= "\u04ff" for c in letters) / len(letters) if letters else None
    assert cyrillic_share(text) == expected


@given(st.text(alphabet="абв \t\r\n\u00ad\u200b1.№"))
def test_the_text_of_an_act_is_in_normal_form(text: str) -> None:
    assert act_text(act_text(text)) == act_text(text)


def test_cells_and_line_breaks_stay() -> None:
    assert act_text("1.1. Срок\r\nпять дней.\n\n\n\nВид\tСрок") == "1.1. Срок\nпять дней.\n\nВид | Срок"


@pytest.mark.skipif("TENDRIL_TRIAL_DATA" not in os.environ, reason="TENDRIL_TRIAL_DATA names no trial data")
def test_a_real_index_and_real_acts() -> None:
    """Nine rows of a bulletin's index: two days that are none, an empty title, an act twice, two amendments."""
    folder = Path(os.environ["TENDRIL_TRIAL_DATA"])
    lines = (folder / "cbr_excerpts" / "vestnik_acts_sample.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    keys = [(normal_number(row["number"]), adopted(row["date"])) for row in rows]
    assert [number for number, day in keys if day is None] == ["177-ФЗ", "2315-У"]
    assert len(set(keys)) == 8
    assert [row["number"] for row in rows if is_amendment(row["title"])] == ["473-У", "493-У"]
    pairs = [
        json.loads(line) for line in (folder / "cbr_pairs" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    real = {pair["chunk_id"].split("#")[0] for pair in pairs}
    assert len(real) == 64
    for key in real:
        number, day = read_key(key)
        assert act_key(normal_number(number), day) == key
        assert kind_of(number, "") is not None
