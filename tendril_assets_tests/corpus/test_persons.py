"""Reasons for a name, and words that look like one."""

import json
from pathlib import Path

import pytest

from tendril_assets.corpus.credentials import find_credentials
from tendril_assets.corpus.names import read_name
from tendril_assets.corpus.personal_patterns import PATTERNS, find_patterns
from tendril_assets.corpus.persons import find_persons
from tendril_assets.corpus.signs import Signs, signs_of

LABELLED = Path(__file__).parents[1] / "labelled_dev"


def persons(text: str, *contacts: str) -> set[str]:
    """Longest spans only: a rule may find a part of what another finds."""
    places = [(text.index(c), text.index(c) + len(c)) for c in contacts]
    spans = find_persons(text, places)
    return {text[a:b] for a, b in spans if not any((c <= a and b <= d) and (a, b) != (c, d) for c, d in spans)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Herrn dipl. Ing. ETH Xaver Zgraggen", {"Xaver Zgraggen"}),
        ("Messieurs Favre, Bovet et Page sont là", {"Favre", "Bovet", "Page"}),
        ("Mme la Préfète Lise-Marie Graden", {"Lise-Marie Graden"}),
        ("M. Favre est là, le dossier aussi", {"Favre"}),
        ("Geprüft von M. Kälin", {"M. Kälin"}),
        ("Expertin ohne Stimmrecht: Zsófia Kovács, Kostenplanerin", {"Zsófia Kovács"}),
        ("Bauleiter\tQuirl Zumofen\nDatum", {"Quirl Zumofen"}),
        ("MARTIN Sophie, ROCHAT Philippe", {"MARTIN Sophie", "ROCHAT Philippe"}),
        ("1. Anderegg Philipp\n2. Cavelti Ursin", {"Anderegg Philipp", "Cavelti Ursin"}),
        ("R. Bucher, M. Felder, T. Zemp", {"R. Bucher", "M. Felder", "T. Zemp"}),
        ("Name: Steinmann\nVorname: Cyrill", {"Steinmann", "Cyrill"}),
        ("Peter und Anna Nötzli wohnen hier", {"Peter", "Anna Nötzli"}),
        (
            "Freundliche Grüsse\nGemeinde X\n\nXenia Arquint      Gion Caduff\nPräsidentin",
            {"Xenia Arquint", "Gion Caduff"},
        ),
        ("wird durch P. Kohli vertreten", {"P. Kohli"}),
        ("Auf Annas Wunsch", {"Annas"}),
        ("Ricardo Pereira da Silva", {"Ricardo Pereira da Silva"}),
        ("Herr Zürcher von der Stadt", {"Zürcher"}),
        ("Anna Muster, B. Hug und Momok Kaijima;", {"Anna Muster", "B. Hug", "Momok Kaijima"}),
    ],
)
def test_a_reason_next_to_a_name_finds_it(text, expected):
    assert persons(text) == expected


def test_a_contact_in_the_line_and_an_address_made_of_the_name_find_it():
    assert persons("Quirlin Zumofen | Amt | 052 267 54 63", "052 267 54 63") == {"Quirlin Zumofen"}
    assert persons("bei Quirlin Zumofen melden, q.zumofen@bsp.ch", "q.zumofen@bsp.ch") == {"Quirlin Zumofen"}
    assert persons("bei Quirlin Zumofen melden") == set()


@pytest.mark.parametrize(
    "text",
    [
        "A. Allgemeines, B. Besondere Bestimmungen, C. Termine",
        "Bauleitung: Termine Kosten Qualität",
        "Projektleiterin Hochbau, Bauleiter Tiefbau, Leiter Technische Dienste",
        "Scuola Carlo Cattaneo, via Stefano Franscini, rue Jean Calvin, Stiftung Hans Keller",
        "Fabrikat Hans Grohe, Typ Luca Weiss, Modell Anna Blau",
        "Peter Meier AG, Hans Wyss + Co., Jean Dupont SA, Kurt Schumacher Holzbau GmbH",
        "Urban Mining, Flora und Fauna, Mark und Franken, Rosa Sandstein, August bis Oktober",
        "Die Anna-Heer-Strasse, Schulhaus St. Anna, San Bernardino",
        "12'500.00 Fr. Honorar und 300 Fr. Spesen",
        "Jacobs Foundation, Jakobs Brücke",
    ],
)
def test_words_firms_and_places_are_no_persons(text):
    assert persons(text) == set()


def test_a_name_ends_where_another_word_begins():
    name = read_name("Frau Anna Maria Muster-Keller Bauleiterin", 5)
    assert name is not None
    assert (name.words, name.firm) == (("Anna", "Maria", "Muster-Keller"), True)
    assert read_name("Tiefbauamt Bern", 0) is None


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


class _Open(frozenset):
    """A set that shares something with every other: no pattern is left out for what a text lacks."""

    def isdisjoint(self, other):
        return False


def test_signs_hide_no_match():
    lines = [
        line
        for name in ("personal_data", "credentials", "credentials_second", "credentials_third")
        for line in _lines(LABELLED / f"{name}.jsonl")
    ]
    texts = [json.loads(line)["text"] for line in lines]
    for text in texts:
        signs = signs_of(text)
        unguarded = Signs(_Open(signs.words), _Open(signs.starts), True)
        assert find_persons(text, (), signs) == find_persons(text, (), unguarded), text
        assert set(find_patterns(text)) == {(a, b, p.label) for p in PATTERNS for a, b in p.find(text)}, text
        assert set(find_credentials(text)) == set(find_credentials(text, unguarded)), text
