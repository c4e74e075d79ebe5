"""Sentences out of passages as they come: broken lines and words, lists, headings, tables, abbreviations."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.sentences import Sentence, fold, is_open, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # abbreviations, numbers and initials do not end a sentence
        ("Gemäss Art. 5 Abs. 2 gilt das. Danach nicht.", ["Gemäss Art. 5 Abs. 2 gilt das.", "Danach nicht."]),
        (
            "Die Unterlagen (z.B. Pläne, inkl. Beilagen) bleiben.",
            ["Die Unterlagen (z.B. Pläne, inkl. Beilagen) bleiben."],
        ),
        ("Frist am 3. Mai um 12 Uhr. Ende.", ["Frist am 3. Mai um 12 Uhr.", "Ende."]),
        ("Les pièces, p. ex. les plans. Le dossier.", ["Les pièces, p. ex. les plans.", "Le dossier."]),
        # lines and words broken
        ("Die Ausschreibungs-\nunterlagen bleiben\nhier.", ["Die Ausschreibungsunterlagen bleiben hier."]),
        ("Ausschreibungs- und\nVergabeunterlagen", ["Ausschreibungs- und Vergabeunterlagen"]),
        ("Ausschreibungs-\nund Vergabeunterlagen", ["Ausschreibungs- und Vergabeunterlagen"]),
        # a semicolon does not end the sentence: what follows is about the same papers
        ("Die Pläne bleiben hier; sie sind geheim.", ["Die Pläne bleiben hier; sie sind geheim."]),
    ],
)
def test_sentences_end_where_they_end(text, expected):
    assert [s.text for s in sentences(text)] == expected


def test_items_of_an_open_list_are_read_with_its_introduction():
    text = "Es ist untersagt,\n- die Unterlagen weiter-\nzugeben\n- Kopien zu erstellen\nDie Frist läuft."
    found = sentences(text)
    assert [(s.text, s.is_introduced) for s in found] == [
        ("Es ist untersagt,", False),
        ("die Unterlagen weiterzugeben", True),
        ("Kopien zu erstellen Die Frist läuft.", True),
    ]
    assert found[1].whole == "Es ist untersagt, die Unterlagen weiterzugeben"


def test_items_below_a_plain_line_stand_for_themselves_and_know_that_line():
    assert sentences("Anforderungen\n- Holz aus\nder Region\n- Beton") == [
        Sentence("Anforderungen"),
        Sentence("Holz aus der Region", "Anforderungen"),
        Sentence("Beton", "Anforderungen"),
    ]
    # after a full stop there is nothing to know
    assert sentences("Es gilt das Folgende.\n- Beton")[1] == Sentence("- Beton")


def test_text_below_a_numbered_heading_knows_the_heading():
    assert sentences("4.2 Verwendung der Pläne\nNur für die Offerte.") == [
        Sentence("4.2 Verwendung der Pläne"),
        Sentence("Nur für die Offerte.", "4.2 Verwendung der Pläne"),
    ]


def test_rows_of_a_table_stay_apart():
    assert [s.text for s in sentences("Pläne | nicht weitergeben\nDevis | frei\nDas gilt\nimmer.")] == [
        "Pläne | nicht weitergeben",
        "Devis | frei",
        "Das gilt immer.",
    ]


def test_folding_takes_spelling_out_of_the_way():
    assert (
        fold("AUSSCHLIEẞLICH für l’oﬀre\u00a0– Un\u00adter\u00adlagen, ÉTABLIES")
        == "ausschliesslich fur l'offre - unterlagen, etablies"
    )
    assert fold("u\u0308ber") == fold("über") == "uber"
    assert fold("Plain ASCII's") == "plain ascii's"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Es ist untersagt:", True), ("die Pläne", True), ("Ende.", False), ("Ende.» ", False), ("Wirklich?", False)],
)
def test_a_text_is_open_until_it_ends(text, expected):
    assert is_open(text) is expected


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet="aZ .:;,-\n|•1", max_size=80))
def test_no_letter_is_lost(text):
    def letters(value):
        return sorted(c for c in value if c.isalpha())

    # but for the letters of bullets such as "a)"
    read, given = letters("".join(s.text for s in sentences(text))), letters(text)
    assert len(read) == len(given)
