import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.textclean import clean, closed_up, garbled_share, squeeze


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


def test_private_characters_are_the_signs_of_word_a_bullet_or_unreadable():
    assert clean("\uf0b7 Holz\n\uf0fc ja\n  \ue123 Papier") == "• Holz\n✓ ja\n  • Papier"
    assert clean("Gefahr \uf0fe 10 \uf0b0C") == "Gefahr ☒ 10 °C"
    assert clean("H\ue001lz \ue002") == "H\ufffdlz \ufffd"


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("Z U S C H L A G", "ZUSCHLAG"),
        ("Z U S C H L A G   U N D   P R E I S", "ZUSCHLAG UND PREIS"),
        ("1 Z u s c h l a g\nText", "1 Zuschlag\nText"),
        ("Lose A B C D E F", "Lose A B C D E F"),
        ("A B C D", "A B C D"),
        ("Typ X Y oder Z", "Typ X Y oder Z"),
    ],
)
def test_words_set_letter_by_letter(text: str, closed: str):
    assert closed_up(text) == closed


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
