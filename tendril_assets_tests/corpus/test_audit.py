"""The sample of masked contexts: counted by hand."""

from tendril_assets.corpus.audit import TagAudit, audit_of, audit_table

TEXTS = [
    "eins zwei drei vier fünf sechs Frau <PERSON_1>, die Leiterin des Amtes ist da und bleibt",
    "<EMAIL_1>|<PERSON_2>",
    "ohne",
]


def test_tags_are_counted_with_a_few_words_on_either_side():
    email, person = audit_of(TEXTS)
    assert email == TagAudit("EMAIL", 1, 1, ("<EMAIL_1>|<PERSON_2>",))
    assert (person.tag, person.entities, person.passages) == ("PERSON", 2, 2)
    assert set(person.contexts) == {
        "drei vier fünf sechs Frau <PERSON_1>, die Leiterin des Amtes",
        "<EMAIL_1>|<PERSON_2>",
    }


def test_the_sample_does_not_depend_on_the_order_of_texts():
    many = [f"Nummer {i}: <PHONE_{i}>" for i in range(1, 30)]
    assert audit_of(many) == audit_of(reversed(many))
    assert len(audit_of(many)[0].contexts) == 5


def test_the_table_is_markdown_that_shows_placeholders():
    lines = audit_table(audit_of(TEXTS)).splitlines()
    assert lines[2] == "| EMAIL | 1 | 1 | &lt;EMAIL_1>¦&lt;PERSON_2> |"
    assert len(lines) == 5
