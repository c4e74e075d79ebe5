"""Invented persons and numbers: check digits against published examples, and by hand."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.sandbox.people import ahv_number, person, plain, swiss_iban


def test_ahv_number_published_example() -> None:
    # 756.9217.0769.85 is the federal office's own specimen.
    assert ahv_number(921_707_698) == "756.9217.0769.85"


def test_iban_published_example() -> None:
    # CH93 0076 2011 6238 5295 7 is the Swiss entry of the SWIFT IBAN registry.
    assert swiss_iban("00762", "011623852957") == "CH93 0076 2011 6238 5295 7"


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 999_999_999))
def test_ahv_numbers_are_ean_13(serial: int) -> None:
    digits = [int(c) for c in ahv_number(serial) if c.isdigit()]
    assert len(digits) == 13
    assert sum(d * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


def test_persons_depend_on_their_name_alone() -> None:
    one = person("7/1", "lindmoos")
    assert one == person("7/1", "lindmoos")
    assert one.email.endswith("@lindmoos.example.ch")
    assert one.email_worded == one.email.replace("@", " (at) ")
    # No subscriber's number begins with 0 after the area code.
    assert one.phone.replace("+41 ", "0").split(" ")[1].startswith("0")


def test_plain() -> None:
    assert plain("Zürcher Élan Bühl") == "zuercher-elan-buehl"
