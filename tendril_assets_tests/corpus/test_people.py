"""Which mentions are one person: taken apart by hand."""

import pytest

from tendril_assets.corpus.people import Mention, People, joined, mention


@pytest.mark.parametrize(
    ("surface", "expected"),
    [
        ("Anna Muster", Mention(("anna",), "muster")),
        ("Muster Anna", Mention(("anna",), "muster")),
        ("Muster, Anna", Mention(("anna",), "muster")),
        ("MARTIN Sophie", Mention(("sophie",), "martin")),
        ("A. Muster", Mention(("a.",), "muster")),
        ("Muster", Mention((), "muster")),
        ("Ueli von Gunten", Mention(("ueli",), "von gunten")),
        ("von Arx Silvan", Mention(("silvan",), "von arx")),
        ("Xaver Z'graggen", Mention(("xaver",), "z'graggen")),
        ("Jürg Müller", Mention(("juerg",), "mueller")),
        ("Goran Jovanović", Mention(("goran",), "jovanovic")),
        ("Thomas Mei-\nerhans", Mention(("thomas",), "meierhans")),
        ("Anna Meier-\nHuber", Mention(("anna",), "meier-huber")),
    ],
)
def test_names_are_taken_apart(surface, expected):
    assert mention(surface) == expected


def test_a_broken_word_is_joined_and_a_double_name_keeps_its_hyphen():
    assert joined("Mei-\n erhans") == "Meierhans"
    assert joined("Meier-\nHuber") == "Meier-Huber"


def keys(*surfaces: str) -> list[int]:
    people = People()
    people.learn(surfaces)
    return [people.key(surface) for surface in surfaces]


def test_shorter_forms_find_the_full_name_wherever_it_stands():
    assert len(set(keys("Muster", "A. Muster", "Anna Muster", "MUSTER ANNA", "Anna Muster-Keller"))) == 1


def test_what_could_be_two_persons_is_neither():
    anna, beat, either, initial = keys("Anna Muster", "Beat Muster", "Muster", "B. Muster")
    assert len({anna, beat, either}) == 3
    assert initial == beat


def test_other_given_names_are_other_persons():
    assert len(set(keys("Anna Muster", "Andrea Muster", "Anna Huber"))) == 3


def test_a_given_name_alone_is_the_one_person_who_has_it():
    assert len(set(keys("Anna Muster", "Anna"))) == 1


def test_keys_never_change():
    people = People()
    people.learn(["Muster"])
    first = people.key("Muster")
    people.learn(["Anna Muster", "Beat Muster"])
    assert people.key("Muster") == first
