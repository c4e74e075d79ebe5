"""Invented persons and numbers with valid check digits. Nobody of these exists.

Telephone numbers begin with 0 after the area code, which no subscriber's number does; mail and web addresses end in
``.example.ch``; the bank clearing numbers are not assigned.
"""

import unicodedata
from dataclasses import dataclass

from tendril_assets.sandbox.draws import Draws

FIRST_NAMES = (
    *("Anna", "Peter", "Sandra", "Thomas", "Monika", "Daniel", "Claudia", "Martin", "Barbara", "Andreas", "Ursula"),
    *("Stefan", "Nicole", "Marco", "Regula", "Beat", "Laura", "Reto", "Simone", "Lukas"),
)
LAST_NAMES = (
    *("Müller", "Meier", "Schmid", "Keller", "Weber", "Huber", "Schneider", "Meyer", "Steiner", "Fischer", "Gerber"),
    *("Brunner", "Baumann", "Frei", "Zimmermann", "Moser", "Widmer", "Wyss", "Graf", "Roth", "Bühler", "Zürcher"),
)
AREA_CODES = ("31", "44", "61", "71", "41", "62", "52", "33")


@dataclass(frozen=True)
class Person:
    name: str
    phone: str
    email: str
    email_worded: str
    ahv: str


def person(entity: str, host: str) -> Person:
    """The invented person named by ``entity`` at the host ``<host>.example.ch``."""
    draws = Draws("person")
    first = draws.pick(f"{entity}/first", FIRST_NAMES)
    last = draws.pick(f"{entity}/last", LAST_NAMES)
    mailbox = f"{plain(first)}.{plain(last)}"
    digits = f"{draws.number(f'{entity}/phone', 0, 999_999):06d}"
    area = draws.pick(f"{entity}/area", AREA_CODES)
    local = f"0{digits[:2]} {digits[2:4]} {digits[4:]}"
    phone = f"+41 {area} {local}" if draws.chance(f"{entity}/form", 0.5) else f"0{area} {local}"
    return Person(
        f"{first} {last}",
        phone,
        f"{mailbox}@{host}.example.ch",
        f"{mailbox} (at) {host}.example.ch",
        ahv_number(draws.number(f"{entity}/ahv", 0, 999_999_999)),
    )


def ahv_number(serial: int) -> str:
    """Swiss social security number 756.dddd.dddd.dC; C is the EAN-13 check digit of the first twelve digits."""
    body = f"756{serial:09d}"
    weighted = sum(int(digit) * (3 if i % 2 else 1) for i, digit in enumerate(body))
    digits = f"{body}{-weighted % 10}"
    return f"{digits[:3]}.{digits[3:7]}.{digits[7:11]}.{digits[11:]}"


def iban(entity: str) -> str:
    """The invented Swiss account named by ``entity``."""
    draws = Draws("iban")
    clearing = f"{draws.number(f'{entity}/clearing', 99_001, 99_989):05d}"
    return swiss_iban(clearing, f"{draws.number(f'{entity}/account', 0, 10**12 - 1):012d}")


def swiss_iban(clearing: str, account: str) -> str:
    """IBAN in groups of four; check digits by ISO 7064 MOD 97-10 over the account and ``CH00`` (C is 12, H is 17)."""
    check = 98 - int(f"{clearing}{account}121700") % 97
    whole = f"CH{check:02d}{clearing}{account}"
    return " ".join(whole[i : i + 4] for i in range(0, len(whole), 4))


def plain(text: str) -> str:
    """ASCII for addresses: ä becomes ae, other accents fall away, blanks become hyphens."""
    text = text.lower()
    for letter, spelt in (("ä", "ae"), ("ö", "oe"), ("ü", "ue")):
        text = text.replace(letter, spelt)
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(c for c in decomposed if c.isascii()).replace(" ", "-")
