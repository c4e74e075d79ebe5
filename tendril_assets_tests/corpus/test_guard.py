"""What keeps two texts apart that are alike otherwise, and what does not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.guard import difference, marks, without_enumeration


def apart(left: str, right: str) -> str | None:
    found = difference(marks(left), marks(right))
    assert difference(marks(right), marks(left)) == found
    return found


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Der Anteil beträgt 40 %", "Der Anteil beträgt 60 %"),
        ("Die Garantie dauert zwei Jahre", "Die Garantie dauert fünf Jahre"),
        ("La garantie est de deux ans", "La garantie est de cinq ans"),
        ("mindestens 40 % Altpapier", "höchstens 40 % Altpapier"),
        ("Emissionen < 0.4 g/kWh", "Emissionen > 0.4 g/kWh"),
        ("bis am 15. März 2026", "bis am 15. April 2026"),
        ("Der Preis ist 1'000 Franken", "Der Preis ist 1'500 Franken"),
        ("Wärmeleitfähigkeit in W/m2", "Wärmeleitfähigkeit in W/m3"),
    ],
)
def test_another_number_or_bound_keeps_apart(left: str, right: str) -> None:
    assert apart(left, right) == "number"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Der Nachweis ist zwingend", "Der Nachweis ist nicht zwingend"),
        ("Varianten sind zulässig", "Varianten sind unzulässig"),
        ("mit Unterakkordanten", "ohne Unterakkordanten"),
        ("Les variantes sont admises", "Les variantes ne sont pas admises"),
        ("L'offre est recevable", "L'offre est irrecevable"),
        ("Le varianti sono ammesse", "Le varianti non sono ammesse"),
        ("Варианты допустимы", "Варианты недопустимы"),
        ("Es gibt eine Begehung", "Es gibt keine Begehung"),
    ],
)
def test_a_negation_or_the_opposite_keeps_apart(left: str, right: str) -> None:
    assert apart(left, right) == "negation"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (
            "3.2 Zuschlagskriterien\nDie Angebote werden bewertet",
            "4.1 Zuschlagskriterien\nDie Angebote werden bewertet",
        ),
        ("3.2.1 Holz\n3.2.2 Beton", "4.1.1 Holz\n4.1.2 Beton"),
        ("2. Der Anbieter liefert", "7. Der Anbieter liefert"),
        ("3 Preise und Mengen\nDie Preise gelten", "Die Preise gelten"),
        ("Umbau Schulhaus\n2 Öffnung\nDie Offerten", "Umbau Schulhaus\n7 Öffnung\nDie Offerten"),
        ("(3) Der Anbieter liefert", "(4) Der Anbieter liefert"),
        ("- 1) Holz\n- 2) Beton", "- 5) Holz\n- 6) Beton"),
        ("1.2 Critères d'adjudication", "2.2 Critères d'adjudication"),
        ("| 3.2 | Fassade", "| 4.2 | Fassade"),
        ("Text der Seite 3 von 12 ist massgebend", "Text der Seite 4 von 12 ist massgebend"),
        ("Die Garantie dauert zwei Jahre", "Die Garantie dauert 2 Jahre"),
        ("max. 40 % Anteil", "höchstens 40 % Anteil"),
        ("Holz aus der Region", "Beton aus der Region"),
    ],
)
def test_enumeration_pages_and_spelling_do_not(left: str, right: str) -> None:
    assert apart(left, right) is None


@pytest.mark.parametrize(
    "text",
    [
        "2.5 Liter Wasser",
        "3.2 mm Abstand",
        "0.15 Mikrogramm je Liter",
        "12.5 CHF pro Stunde",
        "2. Obergeschoss",
        "3. März 2026",
        "1. Los",
        "12.03.26 Abgabe der Offerte",
        "12.03.2026 Abgabe der Offerte",
        "10 Jahre Garantie",
        "10 Jahre Garantie\nDer Anbieter haftet",
        "2 Bildschirme\n1 Tastatur",
        "2 Bildschirme\nje Arbeitsplatz",
        "2 Bildschirme 27 Zoll\nMarke frei",
        "5 Arbeitstage Frist\nDie Firma liefert",
        "3 Personen sind anwesend.\nDie Firma liefert",
        "Geliefert werden\n3 Tische",
        "112.101 Schalung",
        "1'000 Franken",
        "2.1 kWh",
    ],
)
def test_what_only_looks_like_a_mark_is_content(text: str) -> None:
    assert without_enumeration(text) == text


def test_marks_are_taken_from_the_beginning_of_lines_only() -> None:
    assert without_enumeration("3.2 Holz nach 3.3 Absatz\n  4. Beton").split() == [
        "Holz",
        "nach",
        "3.3",
        "Absatz",
        "Beton",
    ]


@given(st.text(alphabet="12.)( -ab\nÄ|", max_size=40))
@settings(max_examples=50, deadline=None)
def test_a_text_is_not_apart_from_itself_and_keeps_its_letters(text: str) -> None:
    assert apart(text, text) is None
    letters = "".join(c for c in text if c.isalpha())
    assert "".join(c for c in without_enumeration(text) if c.isalpha()) == letters
