"""Templates of the sample: choices, slots, masked fillings and the health of the written sources."""

import re

import pytest

from tendril_assets.sandbox.wording import Slots, areas, catalog_sources, expand, foreign, general

SLOTS = Slots({"ort": "Lindmoos", "person": "Anna Frei"}, {"person": "<PERSON_1>"})
KNOWN_SLOTS = {
    "ort",
    "amt",
    "gebaeude",
    "stichtag",
    "person",
    "person2",
    "telefon",
    "email",
    "email_worded",
    "ahv",
    "iban",
    "passwort",
    "url",
    "postkonto",
    "ziffer",
    "anlage",
}


def test_choice_and_slots() -> None:
    text = expand("[Frau|Herr] {person} in {ort}", "a", SLOTS)
    assert text.raw in ("Frau Anna Frei in Lindmoos", "Herr Anna Frei in Lindmoos")
    assert text.masked == text.raw.replace("Anna Frei", "<PERSON_1>")


def test_an_empty_choice_leaves_no_double_blank() -> None:
    found = {expand("mit EC1 [Plus|] geprüft", str(i), SLOTS).raw for i in range(20)}
    assert found == {"mit EC1 Plus geprüft", "mit EC1 geprüft"}


def test_same_entity_same_text_and_all_choices_occur() -> None:
    texts = [expand("[a|b|c]-[d|e]", str(i), SLOTS).raw for i in range(200)]
    assert texts == [expand("[a|b|c]-[d|e]", str(i), SLOTS).raw for i in range(200)]
    assert set(texts) == {f"{x}-{y}" for x in "abc" for y in "de"}


def test_unknown_slot_is_an_error() -> None:
    with pytest.raises(KeyError, match="ohne"):
        expand("{ohne}", "a", SLOTS)


def _templates(node: object) -> list[str]:
    if isinstance(node, str):
        return [node]
    if isinstance(node, dict):
        return [t for value in node.values() for t in _templates(value)]
    if isinstance(node, (list, tuple)):
        return [t for value in node for t in _templates(value)]
    return []


def test_sources_are_well_formed() -> None:
    templates = _templates([general(), foreign(), catalog_sources()])
    assert len(templates) > 900
    for template in templates:
        assert template.count("[") == template.count("]"), template
        assert set(re.findall(r"\{(\w+)\}", template)) <= KNOWN_SLOTS, template
        # Swiss spelling knows no sharp s.
        assert "ß" not in template


def test_every_area_has_its_pools() -> None:
    for area in areas().values():
        assert len(area["partial"]) >= 3
        assert len(area["distractors"]) == 4
        for criterion in area["criteria"]:
            assert len(criterion["relevant"]) >= 2
            assert len(criterion["held_out"]) == 2


def test_no_sentence_is_used_twice() -> None:
    cores = [t for a in areas().values() for c in a["criteria"] for t in (*c["relevant"], *c["held_out"])]
    cores += [t for a in areas().values() for t in (*a["partial"], *a["distractors"])]
    assert len(cores) == len(set(cores))
