import pytest

from tendril_assets.corpus.line_ends import flow, is_list_item, join_lines

FRENCH = "Le soumissionnaire indique dans son offre que la commune"


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("die Nach-", "haltigkeit", "die Nachhaltigkeit"),
        ("Baden-", "Württemberg", "Baden-Württemberg"),
        ("ein FSC-", "Zertifikat", "ein FSC-Zertifikat"),
        ("EU-", "weit", "EU-weit"),
        ("CO2-", "neutral", "CO2-neutral"),
        ("CO₂-", "neutral", "CO₂-neutral"),
        ("per E-", "mail", "per E-mail"),
        ("2025-", "2026", "2025-2026"),
        ("10-", "jährig", "10-jährig"),
        ("Ein-", "und Ausfuhr", "Ein- und Ausfuhr"),
        ("Ein-", "bzw. Ausfuhr", "Ein- bzw. Ausfuhr"),
        ("Ein-", "und/oder Ausfuhr", "Ein- und/oder Ausfuhr"),
        ("Ein-", "/Ausfuhr", "Ein-/Ausfuhr"),
        ("weder Vor-", "noch Nachteile", "weder Vor- noch Nachteile"),
        ("den-", "noch", "dennoch"),
        ("sowohl Vor-", "als auch Nachteile", "sowohl Vor- als auch Nachteile"),
        ("des Materi-", "als", "des Materials"),
        ("zwei-", "bis dreimal", "zwei- bis dreimal"),
        ("der Kür-", "bis", "der Kürbis"),
        ("so-", "wie", "sowie"),
        ("in der Werk-", "statt", "in der Werkstatt"),
        ("Vor-, Haupt-", "und Nacharbeiten", "Vor-, Haupt- und Nacharbeiten"),
        ("Nach\u00ad", "haltigkeit", "Nachhaltigkeit"),
        ("Nach\u00ac", "haltigkeit", "Nachhaltigkeit"),
        ("Baden\u00ac", "Württemberg", "Baden-Württemberg"),
        ("Nach\u2010", "haltigkeit", "Nachhaltigkeit"),
        ("öko\u2011", "sozial", "öko\u2011sozial"),
        ("Preis -", "netto", "Preis - netto"),
        ("eine Zeile", "noch eine", "eine Zeile noch eine"),
        ("", "allein", "allein"),
        # A slash, a range and an elision need no blank behind them.
        ("Lieferung/", "Montage", "Lieferung/Montage"),
        ("Lieferung /", "Montage", "Lieferung / Montage"),
        ("2025–", "2026", "2025–2026"),
        ("Umwelt –", "ein Thema", "Umwelt – ein Thema"),
        ("dans l’", "appel d'offres", "dans l’appel d'offres"),
        ("nell'", "ambito", "nell'ambito"),
        ("dell'ammini-", "strazione", "dell'amministrazione"),
        ("die 'Grüne Stadt'", "zählt", "die 'Grüne Stadt' zählt"),
        # French: the hyphen of an inversion or a compound is a real one. In German the same letters end a word.
        ("le prix va-", "t-il", "le prix va-t-il"),
        (f"{FRENCH} doit-", "elle", f"{FRENCH} doit-elle"),
        (f"{FRENCH} et le sous-", "traitant", f"{FRENCH} et le sous-traitant"),
        (f"{FRENCH} et les exi-", "gences", f"{FRENCH} et les exigences"),
        ("die materi-", "elle Hilfe der Stadt", "die materielle Hilfe der Stadt"),
        ("in der Regi-", "on", "in der Region"),
        # Addresses
        ("siehe https://www.bafu.admin.ch/themen-", "wald", "siehe https://www.bafu.admin.ch/themen-wald"),
        ("siehe https://www.simap.ch/", "shabforms", "siehe https://www.simap.ch/shabforms"),
        ("an vergabe@", "kanton.ch", "an vergabe@kanton.ch"),
        ("an info@kanton-", "bern.ch", "an info@kanton-bern.ch"),
        ("siehe www.simap.ch", "und dort", "siehe www.simap.ch und dort"),
    ],
)
def test_line_ends(first: str, second: str, joined: str):
    assert join_lines(first, second) == joined


def test_flow_breaks_after_short_lines_and_before_list_items():
    text = flow(["Titel", "Ein langer Satz, der weiter-", "geht und", "a) eins", "b) zwei"], [False, True, True, True])
    assert text == "Titel\nEin langer Satz, der weitergeht und\na) eins\nb) zwei"


def test_flow_takes_a_date_or_a_quantity_at_the_start_of_a_line_for_no_list():
    text = flow(
        ["Die Offerte ist gültig bis am", "12. März 2026 und um höchstens", "2.5 Prozent teurer."], [True, True]
    )
    assert text == "Die Offerte ist gültig bis am 12. März 2026 und um höchstens 2.5 Prozent teurer."


@pytest.mark.parametrize(
    "line",
    [
        "• Holz",
        "- Holz",
        "1. Holz",
        "2.3 Holz",
        "3.2.1 Holz",
        "a) Holz",
        "iv) Holz",
        "(4) Holz",
        "§ 4 Holz",
        "☒ ja",
        "✓ ja",
    ],
)
def test_list_items(line: str):
    assert is_list_item(line)


@pytest.mark.parametrize(
    "line", ["30 Tage", "Holz", "-haltig", "z.B. Holz", "12. März 2026", "1. août", "2.5 % Skonto"]
)
def test_no_list_items(line: str):
    assert not is_list_item(line)
