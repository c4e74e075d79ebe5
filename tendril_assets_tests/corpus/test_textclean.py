import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.textclean import clean, flow, garbled_share, is_list_item, join_lines, mend_hyphens, squeeze


def test_decomposed_umlauts_are_composed_and_superscripts_stay():
    # NFKC would give "103 m"; only the ligature is taken apart.
    assert clean("Fla\u0308che 10³ m, o\ufb03ziell") == "Fläche 10³ m, offiziell"
    assert clean("m² 12½ ﬀ ﬁ ﬂ ﬄ ﬅ ﬆ") == "m² 12½ ff fi fl ffl st st"


def test_controls_surrogates_and_zero_width_marks():
    assert clean("Holz\x00 FSC\ud800\u200b") == "Holz FSC\ufffd"
    assert clean("\ufeffa\ufffeb\uffffc\x9fd\u2060e\ufdd0f") == "abcdef"
    assert clean("a\tb\r\nc\rd") == "a\tb\nc\nd"
    # A pair of surrogates is one character, not two broken ones.
    assert clean("\ud83c\udf33 \udf33\ud83c") == "🌳 \ufffd\ufffd"


def test_line_separators_do_not_glue_words():
    assert clean("eins\u2028zwei\x0bdrei\x85vier") == "eins\nzwei\ndrei\nvier"


def test_soft_hyphens_go_with_the_break_behind_them():
    assert clean("Nach\u00adhaltig\u00ad\nkeit") == "Nachhaltigkeit"


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("die Nach-", "haltigkeit", "die Nachhaltigkeit"),
        ("Baden-", "Württemberg", "Baden-Württemberg"),
        ("ein FSC-", "Zertifikat", "ein FSC-Zertifikat"),
        ("EU-", "weit", "EU-weit"),
        ("CO2-", "neutral", "CO2-neutral"),
        ("per E-", "mail", "per E-mail"),
        ("2025-", "2026", "2025-2026"),
        ("10-", "jährig", "10-jährig"),
        ("Ein-", "und Ausfuhr", "Ein- und Ausfuhr"),
        ("Ein-", "bzw. Ausfuhr", "Ein- bzw. Ausfuhr"),
        ("Ein-", "und/oder Ausfuhr", "Ein- und/oder Ausfuhr"),
        ("Ein-", "/Ausfuhr", "Ein-/Ausfuhr"),
        ("Nach\u00ad", "haltigkeit", "Nachhaltigkeit"),
        ("Preis -", "netto", "Preis - netto"),
        ("eine Zeile", "noch eine", "eine Zeile noch eine"),
        ("", "allein", "allein"),
    ],
)
def test_line_end_hyphens(first: str, second: str, joined: str):
    assert join_lines(first, second) == joined


def test_mend_hyphens_leaves_other_line_breaks():
    text = "Die Nach-\nhaltigkeit zählt\nEin-\nund Ausfuhr\n- Punkt\n"
    assert mend_hyphens(text) == "Die Nachhaltigkeit zählt\nEin- und Ausfuhr\n- Punkt\n"


def test_flow_breaks_after_short_lines_and_before_list_items():
    text = flow(["Titel", "Ein langer Satz, der weiter-", "geht und", "a) eins", "b) zwei"], [False, True, True, True])
    assert text == "Titel\nEin langer Satz, der weitergeht und\na) eins\nb) zwei"


@pytest.mark.parametrize("line", ["• Holz", "- Holz", "1. Holz", "2.3 Holz", "a) Holz", "(4) Holz", "§ 4 Holz"])
def test_list_items(line: str):
    assert is_list_item(line)


@pytest.mark.parametrize("line", ["30 Tage", "Holz", "-haltig", "z.B. Holz"])
def test_no_list_items(line: str):
    assert not is_list_item(line)


def test_squeeze_and_garbled_share():
    assert squeeze(" a\u00a0 b \n\n\n \n c\t d ") == "a b\n\nc d"
    assert garbled_share("ab \ufffd\ufffd") == 0.5  # 2 of 4; blanks do not count
    assert garbled_share("") == 0.0


@given(st.text())
@settings(max_examples=50, deadline=None)
def test_clean_is_idempotent_composed_and_storable(text: str):
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert unicodedata.is_normalized("NFC", cleaned)
    cleaned.encode()
    assert not any(ord(c) < 32 and c not in "\t\n" for c in cleaned)


@given(st.lists(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010)))
@settings(max_examples=50, deadline=None)
def test_clean_survives_any_surrogates(characters: list[str]):
    clean("".join(characters)).encode()
