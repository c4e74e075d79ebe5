"""Terms of use without papers by name: the purpose, a notice, data; and what is set aside."""

import pytest

from tendril_assets.corpus.restriction_words import compiled
from tendril_assets.corpus.restrictions import Restriction, find_restrictions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # only for offering, whatever it is
        ("Das Lärmmodell wird einzig für die Kalkulation der Offerte überlassen.", {"offer_only"}),
        ("Le relevé n'est prêté que pour chiffrer l'offre.", {"offer_only"}),
        ("I rilievi servono solo per calcolare l'offerta.", {"offer_only"}),
        ("Das Lärmmodell wird für die Kalkulation der Offerte überlassen.", set()),
        ("Der Saal wird einzig für die Kalkulation der Offerte überlassen.", set()),
        ("Die Mengen werden einzig für die Kalkulation der Offerte abgegeben.", set()),
        # notices without an object
        ("Nachdruck verboten.", {"no_publication"}),
        ("Riproduzione vietata", {"no_publication"}),
        ("Diffusion à des tiers interdite.", {"no_publication"}),
        ("Weitergabe des Auftrags verboten.", set()),
        ("Nachdruck gestattet.", set()),
        # data, and persons kept out
        ("Die erhaltenen Luftbilder dürfen nicht publiziert werden.", {"no_publication"}),
        ("Die Luftbilder der Patienten dürfen nicht publiziert werden.", set()),
        ("Les schémas reçus ne quittent pas le bureau.", {"no_third_parties"}),
    ],
)
def test_terms_by_purpose_notice_and_data(text: str, expected: set[str]) -> None:
    assert {found.rule for found in find_restrictions(text)} == expected


def test_another_use_is_one_of_what_the_sentence_before_handed_out() -> None:
    first, last = "Die Kubaturen erhalten Sie zum Kalkulieren.", "Jede andere Verwendung ist untersagt."
    assert find_restrictions(f"{first} {last}") == [Restriction("offer_only", "de", f"{first} {last}")]
    assert find_restrictions(last) == []
    assert find_restrictions(f"Das Sitzungszimmer steht zum Kalkulieren offen. {last}") == []


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"\bab|\bcd", "xcd cd", (4, 6)),
        (r"\ba[|)]b|\b(?:c|d)e", "a|b", (0, 3)),
        (r"\b\(x|\bde", "de", (0, 2)),
        (r"ab|\bcd", "xab", (1, 3)),
    ],
)
def test_alternatives_that_share_a_word_boundary_find_the_same(pattern: str, text: str, found: tuple[int, int]) -> None:
    assert compiled({"pattern": pattern})["pattern"].search(text).span() == found
