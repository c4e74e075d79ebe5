"""Named identifiers: what they are, and what is refused."""

import pytest

from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.corpus.named_identifiers import (
    NamedIdentifiers,
    identifiers_of,
    named_passage,
    refuse_unnameable,
)
from tendril_assets.corpus.removals import shape_problem
from tendril_assets.errors import MissingHashKey, MixedScriptId, TendrilError

SECRET = b"k" * 32
NAMED = NamedIdentifiers(KeyedHasher(SECRET))


def test_names_are_the_ids() -> None:
    assert NAMED.group("590-П_28062017") == "590-П_28062017"
    assert NAMED.document("590-П_28062017", "act.txt") == "590-П_28062017/act.txt"
    assert NAMED.passage("590-П_28062017", "act.txt", "Текст", 3, 384) == "590-П_28062017#0384"
    assert NAMED.passage("1", "act.txt", "", 0, 12345) == "1#12345"


def test_composed_letters_and_scripts() -> None:
    assert NAMED.group("1-И\u0306") == "1-Й"
    # the Latin Y of a keyboard slip, between Cyrillic letters
    with pytest.raises(MixedScriptId):
        NAMED.group("7092-УY_19062025")


def test_a_secret_is_needed_all_the_same() -> None:
    assert identifiers_of("named", SECRET).trace_key("a") == KeyedHasher(SECRET).trace_key("a")
    assert identifiers_of("named", SECRET).fingerprint == identifiers_of("keyed", SECRET).fingerprint
    with pytest.raises(MissingHashKey):
        identifiers_of("named", b"short")
    with pytest.raises(ValueError, match="unknown policy"):
        identifiers_of("other", SECRET)


@pytest.mark.parametrize("name", ["", "a b", "a#1", "a/b", "a,b", "-a", "a" * 101, "a\nb", "a|b", "<a>", "Ж" * 26])
def test_names_that_cannot_be_ids_are_refused(name: str) -> None:
    with pytest.raises(TendrilError, match="cannot be published ids"):
        refuse_unnameable(["590-П_28062017", name])


def test_names_that_can() -> None:
    refuse_unnameable(["590-П_28062017", "1~2-У_01012020", "a.b"])


def test_passages_are_told_by_their_form() -> None:
    assert named_passage("590-П_28062017#0384") == "590-П_28062017"
    assert [named_passage(one) for one in ("590-П", "a#12", "a/b#0001", "p-" + "0" * 20)] == [None] * 4
    assert shape_problem("passage", "590-П_28062017#0384", named=True) is None
    assert "is no passage" in str(shape_problem("passage", "590-П_28062017#0384"))
    assert "is no passage" in str(shape_problem("passage", "590-П_28062017#38", named=True))
