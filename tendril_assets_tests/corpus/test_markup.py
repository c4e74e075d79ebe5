import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.extraction import Unreadable
from tendril_assets.corpus.markup import text_blocks

BOUND = 100_000


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", []),
        ("<p><br></p><p>&nbsp;</p>", []),
        (" \n\t ", []),
        (
            "<p>Büro-&nbsp;und Laborbau.</p><p><br></p><p>Zweiter Absatz.</p>",
            ["Büro- und Laborbau.", "Zweiter Absatz."],
        ),
        # Items of a list stay together and are marked; an own number is mark enough.
        ("<p>Zu liefern:</p><ul><li>Holz</li><li>Beton</li></ul>", ["Zu liefern:", "- Holz\n- Beton"]),
        ("<ol><li>1. Holz</li><li>2. Beton</li></ol>", ["1. Holz\n2. Beton"]),
        ("<ul><li>Holz<br>mit Label</li></ul>", ["- Holz mit Label"]),
        ("<table><tr><td>Los</td><td>Menge</td></tr><tr><td>1</td><td>20</td></tr></table>", ["Los | Menge\n1 | 20"]),
        ("erste Zeile<br>zweite Zeile", ["erste Zeile", "zweite Zeile"]),
        # Plain: line breaks count, and what looks like markup is none.
        ("Erste Zeile\nZweite Zeile", ["Erste Zeile", "Zweite Zeile"]),
        ("- Holz\n- Beton\nEnde", ["- Holz\n- Beton", "Ende"]),
        ("Leistung <5 kW & > 3 kW, Name <Firma>", ["Leistung <5 kW & > 3 kW, Name <Firma>"]),
        ("Standard &amp; Poors &#8217; R&D &copy", ["Standard & Poors ’ R&D &copy"]),
        ("a &lt;b&gt; c", ["a <b> c"]),
        ("<p>l’agence «Standard &amp; Poors»</p>", ["l’agence «Standard & Poors»"]),
        ("<script>alert(1)</script><p style='x'>Text</p><!-- weg -->", ["Text"]),
        ("<P>Gross</P>", ["Gross"]),
        ("<p>unzu <b>sammen</b>gehörig", ["unzu sammengehörig"]),
        ("soft\u00adhyphen und \ud800halb", ["softhyphen und \ufffdhalb"]),
    ],
)
def test_blocks_of_a_text(text: str, blocks: list[str]) -> None:
    assert text_blocks(text, BOUND) == blocks


def test_too_much_is_refused() -> None:
    with pytest.raises(Unreadable):
        text_blocks(f"<p>{'x' * 200}</p>", 100)


MARKUP = re.findall(
    r"\S+", "<p> </p> <br> <ul> <li> </li> </ul> <table> <tr> <td> </td> </tr> </table> &nbsp; &amp; &lt; <b"
)
PIECES = st.sampled_from([*MARKUP, "\n", "- ", "1. ", " ", "Holz", "Beton & Stahl", "<5 kW", "\u00ad", "\ud800", "é"])


@settings(max_examples=50, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_mixture_gives_clean_blocks_whose_words_were_there(text: str) -> None:
    blocks = text_blocks(text, BOUND)
    for block in blocks:
        assert block == block.strip()
        assert block
        assert "\n\n" not in block
        assert not re.search(r"</|<p>|<li>|<td>|&nbsp;|\u00ad|[\ud800-\udfff]|  ", block)
    joined = "".join(blocks)
    for word in ("Holz", "Beton"):
        assert joined.count(word) <= text.count(word)
