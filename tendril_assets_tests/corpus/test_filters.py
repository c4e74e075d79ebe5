import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.filters import KEPT, Decision, decide, nonletter_share, poor_cell_share
from tendril_assets.spec import FilterSpec

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
    assert decide("Inhalt ........................ 5", SPEC).reason == "digits_or_symbols"


def test_table_of_figures_has_its_own_reason():
    # 12 cells, of which "Menge", "Preis" hold a word: 10/12 are poor.
    text = "Menge | Preis |  \n10 | 200.50 | \n20 | 310.00 | x\n5 | 99 | 1"
    assert decide(text, SPEC) == Decision("degenerate_table", 10 / 12)
    assert decide("| | | |\n| | | |\n|  |  |  |", SPEC) == Decision("degenerate_table", 1.0)


def test_table_with_words_stays():
    # 4 of 6 cells would be at the limit of 2/3; here 3 of 6 are poor.
    text = "Zuschlagskriterium | Gewicht\nPreis der Leistung | 40\nQualität und Umwelt | 60"
    assert poor_cell_share(text) == pytest.approx(2 / 6)
    assert decide(text, SPEC) == KEPT


def test_poor_cell_share_of_framed_rows_tabs_and_rules():
    assert poor_cell_share("| ab | 1 |\n|----|---|\n| cd | 2 |") == 0.5
    assert poor_cell_share("ab\t\t1\ncd\t2\t3") == pytest.approx(4 / 6)
    assert poor_cell_share("ein | einzelner Strich") is None
    assert poor_cell_share(PROSE) is None


def test_nonletter_share_counts_no_blanks_and_separators():
    assert nonletter_share("ab | 12") == 0.5
    assert nonletter_share(" ") == 1.0


@given(st.text(max_size=200))
@settings(max_examples=50, deadline=None)
def test_every_text_gets_a_decision_with_a_figure(text: str):
    decision = decide(text, SPEC)
    assert (decision.reason is None) == (decision.figure is None)
    assert decision.reason in {None, "too_short", "too_long", "degenerate_table", "digits_or_symbols"}
