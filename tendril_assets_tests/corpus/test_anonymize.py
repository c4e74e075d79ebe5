"""Masking with the rule detector: what must go, what must stay, numbering, idempotence."""

import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.anonymize import PLACEHOLDER, Anonymizer, Span, prepare, residual
from tendril_assets.corpus.personal_patterns import PATTERNS, find_patterns
from tendril_assets.errors import RemoteDetectorRefused
from tendril_assets.resources.detector import build_detector, rule_detector
from tendril_assets.spec_corpus import AnonymizationSpec

DETECTOR = rule_detector({})
ANONYMIZER = Anonymizer(DETECTOR)


GAPS = (
    "Passwort: Sommer2024! Kennwort: Gast$77 für Fragen an anna.muster (at) bsp.ch, siehe www.bsp.ch/x oder\n"
    "PC-Konto 80-2-2, Kopie an anna.mus-\nter@bsp.ch. Es gelten SN 640 480a, NPK 111.222.333 und BKP 271.1."
)


def masked(text: str) -> str:
    return ANONYMIZER.document([text]).texts[0]


def test_gaps_of_the_checksum_rules_are_closed_and_norm_numbers_stay():
    assert masked(GAPS) == (
        "Passwort: <SECRET_1> Kennwort: <SECRET_2> für Fragen an <EMAIL_1>, siehe <URL_1> oder\n"
        "PC-Konto <ACCOUNT_1>, Kopie an <EMAIL_2>. Es gelten SN 640 480a, NPK 111.222.333 und BKP 271.1."
    )


MASKED_CASES = [
    ("Tel. 031 322 11 11 oder +41 31 322 11 12", "Tel. <PHONE_1> oder <PHONE_2>"),
    ("Telefon: +49 30 1234567", "Telefon: <PHONE_1>"),
    ("anna.muster@bsp.ch, Anna.Muster@bsp.ch", "<EMAIL_1>, <EMAIL_1>"),
    ("anna.muster [at] bsp [punkt] ch", "<EMAIL_1>"),
    ("anna.muster @ bsp.ch", "<EMAIL_1>"),
    ("anna.muster@\nbsp.ch", "<EMAIL_1>"),
    ("https://www.bsp.ch/eingabe.", "<URL_1>."),
    ("Unterlagen unter bsp.ch/eingabe abrufbar", "Unterlagen unter <URL_1> abrufbar"),
    # CH93 0076 2011 6238 5295 7 is the example of the Swiss IBAN registry entry
    ("IBAN CH93 0076 2011 6238 5295 7", "IBAN <ACCOUNT_1>"),
    ("DE89 3704 0044 0532 0130 00", "<ACCOUNT_1>"),  # the registry's German example
    ("AHV-Nr. 756.9217.0769.85", "AHV-Nr. <ACCOUNT_1>"),
    ("geboren am 3. Mai 1970", "geboren am <DATE_1>"),
    ("Benutzername: gast01, Passwort = geheim", "Benutzername: <SECRET_1>, Passwort = <SECRET_2>"),
    ("Das Passwort lautet Ziegel#9.", "Das Passwort lautet <SECRET_1>."),
    ("Herr Anton Zgraggen", "Herr <PERSON_1>"),
    ("Frau Dr. iur. Elisabeth von Allmen, Bern", "Frau Dr. iur. <PERSON_1>, Bern"),
    ("Frau Projektleiterin Zgraggen", "Frau Projektleiterin <PERSON_1>"),
    ("Mme Odile Perrin et M. Jean Favre", "Mme <PERSON_1> et M. <PERSON_2>"),
    ("Sig.ra Lucia Bernasconi", "Sig.ra <PERSON_1>"),
    ("Herren Meier und Zbinden", "Herren <PERSON_1> und <PERSON_2>"),
    ("Kontaktperson: Xaver Zgraggen, Tiefbauamt", "Kontaktperson: <PERSON_1>, Tiefbauamt"),
    ("Kontakt: R. Zgraggen", "Kontakt: <PERSON_1>"),
    (
        "Freundliche Grüsse\nGemeinde Musterwil\nXaver Zgraggen\nBauverwalter",
        "Freundliche Grüsse\nGemeinde Musterwil\n<PERSON_1>\nBauverwalter",
    ),
    ("Die Begehung führt Peter Zgraggen durch.", "Die Begehung führt <PERSON_1> durch."),
    ("gez. Xaver Zgraggen", "gez. <PERSON_1>"),
    ("Name, Vorname: Brändli, Urs", "Name, Vorname: <PERSON_1>"),
    ("Responsabile del progetto: ing. Gianluca Pedrazzini", "Responsabile del progetto: ing. <PERSON_1>"),
    ("Unterschrift: .......... H. Kaufmann", "Unterschrift: .......... <PERSON_1>"),
    ("Hr. von Gunten und Fr. Dr. Liechti", "Hr. <PERSON_1> und Fr. Dr. <PERSON_2>"),
    ("Stv. Mirjam Z'graggen", "Stv. <PERSON_1>"),
    ("Kontonummer 16 1.123.456.78", "Kontonummer <ACCOUNT_1>"),
]


@pytest.mark.parametrize(("text", "expected"), MASKED_CASES)
def test_personal_data_is_masked(text, expected):
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Eingabe bis 12.03.2025, 16:00 Uhr; Angebotsöffnung am 14.03.2025.",
        "CPV 09310000-5, Pos. 012.345.67.89, SIA 118, SN EN 206:2013, DIN 276, ISO 14001, Art. 23 VöB",
        "CHE-115.023.765 (Prüfziffer falsch)",
        "Das Passwort ist alle 90 Tage zu ändern. Anforderungen an das Passwort: mindestens zwölf Zeichen.",
        "Kontakt: Tiefbauamt des Kantons, Abteilung Nationalstrassen",
        "Kontakt: Holzbau Alpina AG",
        "Sehr geehrte Damen und Herren, der Herr Bauleiter entscheidet.",
        "Projektleiter: Erfahrung im Hochbau, Bauleiter: mindestens fünf Jahre",
        "Der Schreiner liefert Muster. Holz, Stein und Beton aus der Region; Berg und Tal.",
        "Die Anna-Heer-Strasse und die Peter-Schule liegen im Perimeter.",
        "Max. Menge 3 m³, Ernst Gefahr, Rosa Farbe, z.B. Linden",
        "Die Herren Architekten reichen Modelle ein. Prof. Dr. Die Anforderungen gelten.",
        "Die Benutzer:innen melden sich an.",
        "Konto 3110 Mobiliar, BKP 271.1 Gipserarbeiten 12'500.00 Fr.",
        "Umweltzeichen wie FSC, PEFC oder Blauer Engel gelten als gleichwertig.",
    ],
)
def test_content_of_tenders_is_left_alone(text):
    assert masked(text) == text


def test_numbers_count_through_a_document_and_start_again_in_the_next():
    document = ANONYMIZER.document(
        [
            "Frau Zgraggen leitet das Projekt.",
            "Xenia Zgraggen, Tel. 031 322 11 11",
            "Herr Odermatt; Zgraggen unterschreibt.",
        ]
    )
    assert document.texts[0] == "Frau <PERSON_1> leitet das Projekt."
    assert document.texts[2] == "Herr <PERSON_2>; <PERSON_1> unterschreibt."
    assert ANONYMIZER.document(["Herr Odermatt"]).texts == ("Herr <PERSON_1>",)


def test_a_last_name_is_the_person_whose_full_name_occurs_later():
    document = ANONYMIZER.document(["Frau Odermatt ist zuständig.", "Auskunft gibt Petra Odermatt."])
    assert document.texts == ("Frau <PERSON_1> ist zuständig.", "Auskunft gibt <PERSON_1>.")
    assert document.counts == {"PERSON": 2}


def test_last_names_that_are_words_are_not_masked_elsewhere():
    document = ANONYMIZER.document(["Herr Peter Holz leitet die Arbeiten.", "Holz aus der Schweiz; Peter Holz prüft."])
    assert document.texts[1] == "Holz aus der Schweiz; <PERSON_1> prüft."


def test_placeholders_in_the_text_are_kept_and_not_issued_again():
    assert masked("<PERSON_3> und Herr Odermatt") == "<PERSON_3> und Herr <PERSON_4>"


def test_preparation_composes_letters_and_drops_soft_hyphens():
    assert prepare("Fla\u0308che Aus\u00adschreibung 10³") == "Fläche Ausschreibung 10³"
    assert prepare("Aus-\nschreibung") == "Aus-\nschreibung"


class _Everything:
    identity = "everything"

    def detect(self, texts):
        return [[Span(0, len(text), "private_person"), Span(0, 2, "unknown_label")] for text in texts]


def test_a_span_that_covers_placeholders_is_cut_around_them():
    document = Anonymizer(_Everything()).document(["Odermatt <EMAIL_1> Zgraggen"])
    assert document.texts == ("<PERSON_1><EMAIL_1><PERSON_2>",)


@pytest.mark.parametrize("spec", [AnonymizationSpec(), AnonymizationSpec(detector="model", model="some/model")])
def test_the_remote_detector_is_refused_without_a_socket(spec, monkeypatch):
    def no_socket(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_socket)
    monkeypatch.setenv("GHEIM_API_KEY", "x")
    with pytest.raises(RemoteDetectorRefused, match="GHEIM_API_KEY"):
        build_detector(spec)
    with pytest.raises(RemoteDetectorRefused):
        rule_detector()


PIECES = st.sampled_from(
    [
        *("Herr Odermatt", "Frau Dr. Anna Meier", "Kontaktperson:", "Herren Meier und", "anna.muster@bsp.ch"),
        *("anna.mus-\nter@bsp.ch", "www.bsp.ch/x", "https://bsp.ch/a", "031 322 11 11", "Passwort: Sommer2024!"),
        *("PC-Konto 80-2-2", "CH93 0076", "SN 640 480a", "<PERSON_1>", "<URL_7>", "Holz", "Beton.", "Tel.", "@", "-"),
        *("\u0338", "\u0308", "\n", " "),
    ]
)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=8).map(" ".join) | st.text(max_size=60), min_size=1, max_size=4))
def test_masking_a_masked_document_changes_nothing(texts):
    once = ANONYMIZER.document(texts)
    assert ANONYMIZER.document(once.texts).texts == once.texts
    assert ANONYMIZER.document(once.texts).counts == {}
    assert [residual(text, DETECTOR) for text in once.texts] == [[] for _ in texts]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["Odermatt", "Zgraggen", "Allenbach"]), min_size=1, max_size=6))
def test_equal_names_share_a_placeholder_and_different_ones_do_not(names):
    document = ANONYMIZER.document([f"Herr {name} kommt." for name in names])
    issued = [PLACEHOLDER.search(text)[0] for text in document.texts]
    first_seen = {name: f"<PERSON_{i}>" for i, name in enumerate(dict.fromkeys(names), start=1)}
    assert issued == [first_seen[name] for name in names]


def test_hints_hide_no_match_of_a_pattern():
    for text in (*(case[0] for case in MASKED_CASES), GAPS):
        without_hints = [(start, end, p.label) for p in PATTERNS for start, end in p.find(text)]
        assert list(find_patterns(text)) == without_hints
