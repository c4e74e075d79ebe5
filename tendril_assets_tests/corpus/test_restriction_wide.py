"""The wider look by itself: what binds, what is set aside, and which earlier sentence names the papers."""

import re

import pytest

from tendril_assets.corpus.restriction_german import GERMAN
from tendril_assets.corpus.restriction_wide import wide_rules, wide_words
from tendril_assets.corpus.restriction_wide_german import GERMAN_WIDE
from tendril_assets.corpus.restrictions import Restriction, find_restrictions
from tendril_assets.corpus.sentences import fold


def rules(text: str) -> set[str]:
    return wide_rules(
        fold(text), GERMAN_WIDE, GERMAN.elsewhere, lambda part: "papers" if re.search("plan", part) else None
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Pläne sind unter Verschluss zu halten", {"no_third_parties"}),
        ("Die Pläne dürfen in keiner Zeitschrift erscheinen", {"no_publication"}),
        ("Der Einsatz der Pläne für fremde Projekte hat zu unterbleiben", {"offer_only"}),
        # a sense without a bound, and a bound without a sense
        ("Die Pläne erscheinen in einer Zeitschrift", set()),
        ("Die Pläne dürfen nicht nass werden", set()),
        # lifted, and something else that is done with papers
        ("Die Sperrfrist für die Veröffentlichung der Pläne ist aufgehoben", set()),
        ("Die Pläne dürfen nicht geändert und verwendet werden", set()),
        # the act is said of the order, or stands in a part before the papers are named
        ("Die Weitergabe des Auftrags gemäss Plan an Dritte hat zu unterbleiben", set()),
        ("Die Norm darf nicht publiziert werden; Pläne liegen bei", set()),
    ],
)
def test_a_sense_and_a_bound_make_a_restriction(text: str, expected: set[str]) -> None:
    assert rules(text) == expected


def test_papers_of_an_earlier_sentence_are_meant_unless_another_subject_stands_between() -> None:
    first, last = "Die Pläne gehören der Stadt.", "Die Herausgabe an Aussenstehende ist strafbar."
    assert find_restrictions(f"{first} {last}") == [Restriction("no_third_parties", "de", f"{first} {last}")]
    assert find_restrictions(f"{first} Die Muster bleiben hier. {last}") == []
    assert find_restrictions(last) == []


def test_a_class_in_upper_case_is_refused() -> None:
    with pytest.raises(ValueError, match="upper case"):
        wide_words(bound=r"\S")
