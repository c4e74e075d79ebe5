import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.filters import KEPT, Decision, decide, nonletter_share, poor_cells
from tendril_assets.spec_corpus import FilterSpec

SPEC = FilterSpec()
PROSE = "Die Anbieterin verwendet Holz aus nachhaltiger Bewirtschaftung."


def test_prose_stays():
    assert decide(PROSE, SPEC) == KEPT


def test_length_is_inclusive_at_both_ends():
    assert decide("a" * 19, SPEC) == Decision("too_short", 19.0)
    assert decide("a" * 20, SPEC) == KEPT
    assert decide("a" * 5000, SPEC) == KEPT
    assert decide("a" * 5001, SPEC) == Decision("too_long", 5001.0)
    assert decide("  " + "a" * 19 + "\n", SPEC) == Decision("too_short", 19.0)
    assert decide("", SPEC) == Decision("too_short", 0.0)


def test_digits_and_symbols():
    # 10 letters of 20 signs: a share of 0.5 does not dominate, one sign more does (11 of 21).
    assert decide("abcdefghij 1234567890", SPEC) == KEPT
    assert decide("abcdefghij 12345678901", SPEC) == Decision("digits_or_symbols", 11 / 21)


@pytest.mark.parametrize(
    "text",
    [
        "Formaldehyd: max. 0.15 mg/m3 (EN 16516), VOC < 1.0 mg/m3, 28 Tage",
        "U-Wert <= 0.15 W/m2K, g-Wert >= 0.50, Rw >= 32 dB, Fenster 3-fach",
        "Schallleistungspegel max. 65 dB(A), NOx < 0.4 g/kWh, PM10 < 0.01 g/kWh (EURO 6d)",
        "Recyclinganteil >= 40 %, Altpapieranteil >= 80 %, Weisse ISO 70-80 %, 80 g/m2, A4, 500 Bl.",
        "La température ne doit pas dépasser 23 °C ± 1 °C à 50 % d'humidité relative",
        "Температура не выше 23 °C, влажность 50 %, ГОСТ 12.1.005-88",
        "SIA 118 Allgemeine Bedingungen für Bauarbeiten, SIA 262 Betonbau, EN 206 Beton",
        "Das Produkt erfüllt die Anforderung " + "." * 110 + " ja / nein",
        "Der Anbieter bestätigt, dass ______________________________ (Firma) die Anforderungen erfüllt.",
    ],
)
def test_requirements_full_of_figures_stay(text: str):
    assert decide(text, SPEC) == KEPT


@pytest.mark.parametrize(
    "text",
    [
        "Name: ............................................",
        "Ort, Datum: ............................ Unterschrift: ............................",
        "Firma / Adresse: ____________________\nName / Vorname: ____________________\nOrt / Datum: ______________________",
        "Tel. 031 322 11 11, Fax 031 322 11 12, 3003 Bern",
        "SIA 118:2013, SIA 118/262:2018, EN 206:2013+A2:2021, SN 505 267",
        "12 34 56 78 90 12 34 56 78 90",
        "- - - - - - - - - - - - - - - - - - - -",
    ],
)
def test_forms_telephones_and_bare_norms_are_dominated_by_digits_or_symbols(text: str):
    assert decide(text, SPEC).reason == "digits_or_symbols"


def test_a_blank_to_fill_in_counts_as_twenty_signs():
    # 4 letters and a colon are a word of mostly letters; 20 of 25 signs are the blank, however wide.
    assert nonletter_share("Name: " + "." * 44) == nonletter_share("Name: " + ". " * 90) == 20 / 25
    assert nonletter_share("Name: ......") == 6 / 11


@pytest.mark.parametrize(
    "text",
    [
        "1 Allgemeines ........ 3\n1.1 Auftraggeberin ............ 4\n2 Eignungskriterien und deren Nachweise .... 12",
        "1.2 Zuschlagskriterien und Gewichtung der Angebote . . . . . . . 12",
        "Inhalt ........................ 5",
        "Vorwort ........ iv\nTable des matières …… 12",
    ],
)
def test_tables_of_contents_are_degenerate_tables(text: str):
    assert decide(text, SPEC) == Decision("degenerate_table", 1.0)


def test_a_leader_without_a_page_or_a_page_without_a_leader_is_no_table_of_contents():
    assert decide("Anzahl der Lernenden im Betrieb der Anbieterin .... Personen", SPEC) == KEPT
    assert decide("Die Anforderungen stehen in Kapitel 5", SPEC) == KEPT
    # One entry of three lines.
    assert decide("Die Anbieterin bestätigt\nalle Anforderungen des Kapitels\nZuschlagskriterien .... 12", SPEC) == KEPT


def test_table_of_figures_has_its_own_reason():
    # 12 cells, of which "Menge", "Preis" hold a word: 10/12 are poor.
    text = "Menge | Preis |  \n10 | 200.50 | \n20 | 310.00 | x\n5 | 99 | 1"
    assert decide(text, SPEC) == Decision("degenerate_table", 10 / 12)
    assert decide("| | | |\n| | | |\n|  |  |  |", SPEC) == Decision("degenerate_table", 1.0)


def test_table_with_words_stays():
    # 4 of 6 cells would be at the limit of 2/3; here 3 of 6 are poor.
    text = "Zuschlagskriterium | Gewicht\nPreis der Leistung | 40\nQualität und Umwelt | 60"
    # 8 words in 3 rows ("der" and "und" are words).
    assert poor_cells(text) == (2 / 6, 8 / 3)
    assert decide(text, SPEC) == KEPT


def test_a_price_list_goes_and_a_bill_of_quantities_stays():
    prices = "\n".join(f"{i} | Leuchte LED | 10 Stk | 45.00 | CHF 450.00 | m²" for i in range(1, 9))
    # One cell of six holds words that are no units.
    assert decide(prices, SPEC) == Decision("degenerate_table", 5 / 6)
    work = (
        "112.101 | Baustelleneinrichtung für sämtliche Arbeiten des Unternehmers | gl | 1 | ........ | ........\n"
        "112.102 | Vorhalten der Baustelleneinrichtung während der Bauzeit | St | 6 | ........ | ........"
    )
    # As many cells are poor, but each row describes the work: 6 words in each.
    assert poor_cells(work) == (5 / 6, 6.0)
    assert decide(work, SPEC) == KEPT


def test_an_empty_form_in_columns_is_degenerate():
    # Twice four cells, and twice two between the outer lines of a framed row; two of the twelve hold a word.
    text = "Name |  |  | \nVorname |  |  | \n |  |  | \n |  |  | "
    assert decide(text, SPEC) == Decision("degenerate_table", 10 / 12)


def test_poor_cell_share_of_framed_rows_tabs_and_rules():
    assert poor_cells("| ab | 1 |\n|----|---|\n| cd | 2 |") == (0.5, 1.0)
    assert poor_cells("ab\t\t1\ncd\t2\t3") == (4 / 6, 1.0)
    assert poor_cells("ein | einzelner Strich") is None
    assert poor_cells(PROSE) is None


def test_nonletter_share_counts_no_blanks_and_separators():
    assert nonletter_share("ab | 12") == 0.5
    assert nonletter_share(" ") == 1.0


@given(st.text(max_size=200))
@settings(max_examples=50, deadline=None)
def test_every_text_gets_a_decision_with_a_figure(text: str):
    decision = decide(text, SPEC)
    assert (decision.reason is None) == (decision.figure is None)
    assert decision.reason in {None, "too_short", "too_long", "degenerate_table", "digits_or_symbols"}


@given(st.text(alphabet="ab1.…_ |\n\tÄ/-", min_size=20, max_size=200))
@settings(max_examples=50, deadline=None)
def test_the_quick_way_for_letters_never_changes_a_decision(text: str):
    decision = decide(text, SPEC)
    if decision.reason in {None, "digits_or_symbols"}:
        assert (decision.reason is None) == (nonletter_share(text.strip()) <= SPEC.max_nonletter_share)


@pytest.mark.parametrize("sign", [".", ". ", "|", "-", "…", "a. ", "_ . ", "| \n", "1 ."])
def test_a_passage_of_one_sign_over_and_over_is_decided_at_once(sign: str):
    begin = time.process_time()
    assert decide((sign * 5000)[:5000].strip() + "x", SPEC) is not None
    assert time.process_time() - begin < 2
