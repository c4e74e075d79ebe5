import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.chunking import MAX_CHARACTERS, MIN_CHARACTERS, PassageText, passages_of
from tendril_assets.corpus.extraction import PageText

FIRST = "Die Anbieterin legt ein Umweltkonzept vor."
SECOND = "Das Holz stammt aus nachhaltiger Bewirtschaftung."


def test_paragraphs_are_passages_and_page_numbers_stay_true():
    pages = [PageText(2, f"{FIRST}\n\n{SECOND}"), PageText(5, FIRST)]
    assert passages_of(pages) == [
        PassageText(2, 0, FIRST),
        PassageText(2, 1, SECOND),
        PassageText(5, 2, FIRST),
    ]


def test_headings_and_announcements_go_with_what_follows():
    text = f"3 Zuschlagskriterien\n\nEs gelten folgende Kriterien:\n\n{SECOND}\n\n{FIRST}"
    assert [p.text for p in passages_of([PageText(1, text)])] == [
        f"3 Zuschlagskriterien\nEs gelten folgende Kriterien:\n{SECOND}",
        FIRST,
    ]


@pytest.mark.parametrize(
    "heading",
    [
        "3.2 Zuschlagskriterien",
        "3.2.1. Gewichtung der Kriterien.",
        "A. Allgemeines",
        "§ 4 Vergabe",
        "2 Was ist verlangt?",
    ],
)
def test_numbered_headings_are_kept_with_what_they_head(heading: str):
    assert [p.text for p in passages_of([PageText(1, f"{FIRST}\n\n{heading}\n\n{SECOND}")])] == [
        FIRST,
        f"{heading}\n{SECOND}",
    ]


@pytest.mark.parametrize(
    "line", ["Was ist verlangt und was geschieht danach?", "2 Sätze. Danach folgt noch ein weiterer."]
)
def test_sentences_are_no_headings(line: str):
    assert len(passages_of([PageText(1, f"{line}\n\n{SECOND}")])) == 2


@pytest.mark.parametrize("heading", ["3.2 Zuschlagskriterien", "Eignung", "Es gelten folgende Kriterien:"])
def test_a_heading_at_the_end_of_a_page_goes_with_the_text_of_the_next(heading: str):
    pages = [PageText(3, f"{FIRST}\n\n{heading}"), PageText(4, f"{SECOND}\n\n{FIRST}")]
    assert passages_of(pages) == [
        PassageText(3, 0, FIRST),
        PassageText(3, 1, f"{heading}\n{SECOND}"),
        PassageText(4, 2, FIRST),
    ]
    # Not over a page without text, for what was there is unknown.
    assert len(passages_of([pages[0], pages[1]._replace(number=5)])) == 3 + (len(heading) >= MIN_CHARACTERS)


@pytest.mark.parametrize("number", ["Seite 3 von 12", "- 3 -", "3/12", "Ende."])
def test_a_page_number_or_a_scrap_goes_with_nothing_over_a_page_break(number: str):
    pages = [PageText(3, f"{FIRST}\n\n{number}"), PageText(4, SECOND)]
    assert [p.text for p in passages_of(pages)] == [f"{FIRST}\n{number}", SECOND]


def test_a_long_announcement_goes_with_its_list_too():
    announcement = f"{SECOND} " * 6 + "Verlangt werden:"
    assert len(announcement) > 300
    items = "- Label\n- Herkunft des Holzes\n- Prüfbericht"
    assert [p.text for p in passages_of([PageText(1, f"{announcement}\n\n{items}\n\n{FIRST}")])] == [
        f"{announcement}\n{items}",
        FIRST,
    ]


def test_short_blocks_join_their_neighbour():
    assert [p.text for p in passages_of([PageText(1, f"Kurz.\n\n{FIRST}\n\nEnde.")])] == [f"Kurz.\n{FIRST}\nEnde."]


def test_a_page_with_too_little_text_is_left_to_the_filter():
    assert passages_of([PageText(1, "Seite leer")]) == [PassageText(1, 0, "Seite leer")]
    assert passages_of([]) == []


def test_sentence_over_a_page_break_is_one_passage_of_the_first_page():
    pages = [PageText(1, "Die Anbieterin beachtet die Nachhal-"), PageText(2, f"tigkeit der Lieferkette.\n\n{SECOND}")]
    assert passages_of(pages) == [
        PassageText(1, 0, "Die Anbieterin beachtet die Nachhaltigkeit der Lieferkette."),
        PassageText(2, 1, SECOND),
    ]


def test_noun_behind_a_page_break_continues_a_long_sentence_only():
    long = f"{SECOND} {FIRST} Die Anbieterin beachtet dabei die Vorgaben der"
    assert len(long) > 100
    assert passages_of([PageText(1, long), PageText(2, FIRST)]) == [PassageText(1, 0, f"{long} {FIRST}")]
    assert passages_of([PageText(1, "3 Eignungskriterien der Anbieterin"), PageText(2, FIRST)]) == [
        PassageText(1, 0, f"3 Eignungskriterien der Anbieterin\n{FIRST}")
    ]
    assert len(passages_of([PageText(1, f"{long}\n\n{FIRST}")])) == 2


def test_no_sentence_goes_on_over_a_missing_page_or_in_a_table():
    cut = "Die Anbieterin beachtet die"
    assert len(passages_of([PageText(1, cut), PageText(3, "tigkeit der ganzen Lieferkette.")])) == 2
    assert len(passages_of([PageText(1, f"Art | {cut}"), PageText(2, "alle Angebote sind gültig.")])) == 2


def test_long_blocks_are_cut_at_sentence_ends():
    sentence = "Das ist ein Satz von genau fünfzig Zeichen Länge. "
    assert len(sentence) == 50
    parts = passages_of([PageText(1, (sentence * 220).strip())])
    # 5,000 characters hold 100 sentences of 50 with the blank behind them; 220 = 100 + 100 + 20.
    assert [len(p.text) for p in parts] == [4999, 4999, 999]


def test_a_cut_leaves_enough_for_the_rest():
    parts = passages_of([PageText(1, "a" * (MAX_CHARACTERS + 5))])
    assert [len(p.text) for p in parts] == [MAX_CHARACTERS + 5 - MIN_CHARACTERS, MIN_CHARACTERS]


_words = st.text(alphabet="abÄ-. 1|\n", max_size=400)


@given(st.lists(_words, max_size=4), st.integers(1, 200))
@settings(max_examples=50, deadline=None)
def test_bounds_and_order(texts: list[str], repeat: int):
    pages = [PageText(number, text * repeat) for number, text in enumerate(texts, start=1)]
    passages = passages_of(pages)
    assert [p.position for p in passages] == list(range(len(passages)))
    assert [p.page for p in passages] == sorted(p.page for p in passages)
    assert all(0 < len(p.text) <= MAX_CHARACTERS for p in passages)
    # Nothing is lost or repeated; only a hyphen at a page break may go.
    kept = "".join("".join(p.text.split()) for p in passages).replace("-", "")
    assert kept == "".join("".join(p.text.split()) for p in pages).replace("-", "")
    for page in pages:
        own = [p.text for p in passages if p.page == page.number]
        assert len(own) <= 1 or all(len(text) >= MIN_CHARACTERS for text in own)
