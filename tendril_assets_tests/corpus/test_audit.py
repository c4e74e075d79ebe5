"""The sample of masked contexts: counted by hand."""

from tendril_assets.corpus.audit import TagAudit, audit_of, audit_table

TEXTS = [
    ("p-3", "eins zwei drei vier fünf sechs Frau <PERSON_1>, die Leiterin des Amtes ist da und bleibt"),
    ("p-2", "<EMAIL_1>|<PERSON_2>"),
    ("p-1", "ohne"),
]


def test_tags_are_counted_with_a_few_words_on_either_side():
    email, person = audit_of(TEXTS)
    assert email == TagAudit("EMAIL", 1, 1, (("p-2", "<EMAIL_1>|<PERSON_2>"),))
    assert (person.tag, person.entities, person.passages) == ("PERSON", 2, 2)
    assert set(person.samples) == {
        ("p-3", "drei vier fünf sechs Frau <PERSON_1>, die Leiterin des Amtes"),
        ("p-2", "<EMAIL_1>|<PERSON_2>"),
    }


def test_the_sample_does_not_depend_on_the_order_of_texts():
    many = [(f"p-{i}", f"Nummer {i}: <PHONE_{i}>") for i in range(1, 30)]
    assert audit_of(many) == audit_of(reversed(many))
    assert len(audit_of(many)[0].samples) == 5


def test_of_equal_contexts_the_lowest_passage_stands_for_all():
    equal = [(f"p-{i}", "Tel. <PHONE_1>") for i in (4, 2, 3)]
    assert audit_of(equal) == [TagAudit("PHONE", 3, 3, (("p-2", "Tel. <PHONE_1>"),))]


def test_the_table_counts_and_quotes_nothing():
    lines = audit_table(audit_of(TEXTS)).splitlines()
    assert lines[2:] == ["| EMAIL | 1 | 1 |", "| PERSON | 2 | 2 |"]
