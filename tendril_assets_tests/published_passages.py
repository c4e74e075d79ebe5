"""The blocks of invented tender documents: prose, lists, tables, contacts, restricting clauses, repeats.

A project writes its documents one after the other from one named generator. What comes twice is planned: standard
clauses of the buyer, which its other projects have too, and repeats within the project, whole, with a few words or
with a number changed.
"""

import math
import re
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from tendril_assets.sandbox.people import Person, iban, person
from tendril_assets_tests.published_words import generator, item, sentence

MEDIAN_CHARACTERS, SPREAD = 380, 0.95
LONGEST = 4_900
# Share of blocks that repeat one of an earlier document of the project, and how they repeat it.
REPEATED = 0.24
REPEATS = {"whole": 0.5, "other number": 0.2, "longer": 0.3}
BLOCKS = {"clause": 0.03, "contact": 0.08, "list": 0.10, "table": 0.05, "figures": 0.03, "prose": 0.71}

_CONTACTS = {
    "de": (
        "Auskunft gibt {title} {name}, Telefon {phone}, E-Mail {email}.",
        "Kontaktperson: {name}\nTelefon {phone}\n{email}",
        "Rückfragen nimmt {title} {name} unter {phone} entgegen; Bilder stehen auf www.{host}.example.ch.",
        "{title} {name} leitet das Projekt und führt die Begehung.",
        "Rechnungen gehen an {name}, Konto {iban}, Versichertennummer {ahv}.",
        "Freundliche Grüsse\n{name}",
    ),
    "fr": (
        "Les questions sont à adresser à {title} {name}, téléphone {phone}, courriel {email}.",
        "Personne de contact: {name}\n{phone}\n{email}",
        "{title} {name} conduit la visite; les photos se trouvent sur www.{host}.example.ch.",
    ),
    "it": (
        "Per informazioni rivolgersi a {title} {name}, telefono {phone}, posta {email}.",
        "Persona di contatto: {name}\n{phone}\n{email}",
        "{title} {name} guida il sopralluogo; le foto sono su www.{host}.example.ch.",
    ),
}
_TITLES = {"de": ("Herr", "Frau"), "fr": ("Monsieur", "Madame"), "it": ("Signor", "Signora")}

# Clauses by which the documents limit their own use, and some that only look like it.
RESTRICTIONS = {
    "de": (
        "Die Ausschreibungsunterlagen dürfen nur für die Ausarbeitung des Angebots verwendet werden.",
        "Eine Verwendung der Ausschreibungsunterlagen zu anderen Zwecken als zur Erstellung der Offerte ist untersagt.",
        "Die Veröffentlichung der Ausschreibungsunterlagen, auch in Teilen, ist nicht gestattet.",
        "Die Weitergabe der Ausschreibungsunterlagen an Dritte ist verboten.",
    ),
    "fr": (
        "Les documents d'appel d'offres ne peuvent être utilisés que pour l'élaboration de l'offre.",
        "La publication des documents d'appel d'offres est interdite.",
        "La transmission des documents d'appel d'offres à des tiers est interdite.",
    ),
    "it": (
        "La pubblicazione dei documenti di gara è vietata.",
        "La trasmissione dei documenti di gara a terzi è vietata.",
    ),
}
LOOKALIKES = {
    "de": (
        "Die Angebote werden vertraulich behandelt und Dritten nicht gezeigt.",
        "Die Weitergabe von Arbeiten an Dritte ist vor Beginn zu melden.",
        "Die Pläne des Angebots werden nach dem Zuschlag nicht zurückgegeben.",
    ),
    "fr": ("Les offres sont traitées de manière confidentielle.",),
    "it": ("Le offerte sono trattate in modo confidenziale.",),
}
_NUMBER = re.compile(r"\d+")


class Block(NamedTuple):
    """``kind``: heading, text, list (lines), table (``rows``). ``text`` is what a passage of it reads."""

    kind: str
    text: str
    rows: tuple[tuple[str, ...], ...] = ()


class Writing:
    """Writes the blocks of one project; ``office`` names the buyer, whose standard clauses it repeats."""

    def __init__(self, project: str, office: str, host: str, language: str, topics: Sequence[Sequence[str]]) -> None:
        self._rng = generator("blocks", project)
        self._project, self._office, self._host, self._language = project, office, host, language
        self._topics = topics
        self._people = [person(f"{project}/{i}", host) for i in range(4)]
        self._written: list[Block] = []

    def document(self, n: int, clause: str | None) -> list[Block]:
        """``n`` blocks besides the headings, with ``clause`` as the third of them."""
        repeatable = list(self._written)
        blocks: list[Block] = []
        for i in range(n):
            if i % 6 == 0:
                blocks.append(Block("heading", f"{1 + i // 6}.{1 + i % 4} {self._phrase()}"))
            if i == min(2, n - 1) and clause:
                block = Block("text", f"{clause} {self._sentence()}")
            else:
                block = self._block(repeatable)
            blocks.append(block)
        return blocks

    def _block(self, repeatable: list[Block]) -> Block:
        if repeatable and self._rng.random() < REPEATED:
            return self._repeated(self._rng.choice(repeatable))
        block = self._new(self._rng.choices(tuple(BLOCKS), tuple(BLOCKS.values()))[0])
        self._written.append(block)
        return block

    def _new(self, kind: str) -> Block:
        rng = self._rng
        match kind:
            case "clause":
                return Block("text", standard_clause(self._office, rng.randrange(30), self._language))
            case "contact":
                return Block("text", self._contact())
            case "list":
                return Block("list", "\n".join([f"{self._sentence()[:-1]}:", *self._items(rng.randint(3, 9))]))
            case "table":
                return _table(self._words_rows(rng.randint(3, 10)))
            case "figures":
                return _table(self._poor_rows(rng.randint(4, 12))) if rng.random() < 0.6 else self._digits()
        return Block("text", self._prose())

    def _prose(self) -> str:
        target = length(self._rng)
        nouns = self._rng.choice(self._topics) if self._topics and self._rng.random() < 0.15 else ()
        if target < 70:
            return f"{self._phrase()}."
        parts: list[str] = []
        size = 0
        while size < target:
            parts.append(sentence(self._rng, self._language, nouns))
            size += len(parts[-1]) + 1
        return " ".join(parts)

    def _repeated(self, block: Block) -> Block:
        """The block again; a text also with its first number changed, or with a phrase more."""
        how = self._rng.choices(tuple(REPEATS), tuple(REPEATS.values()))[0]
        if block.kind != "text" or how == "whole":
            return block
        if how == "other number":
            changed = _NUMBER.sub(lambda match: str(int(match[0][:6]) + 1), block.text, count=1)
            return block._replace(text=changed)
        return block._replace(text=f"{block.text} {self._phrase()}.") if len(block.text) > 300 else block

    def _contact(self) -> str:
        rng = self._rng
        who: Person = rng.choice(self._people)
        text = rng.choice(_CONTACTS[self._language]).format(
            title=rng.choice(_TITLES[self._language]),
            name=who.name,
            phone=who.phone,
            email=who.email,
            ahv=who.ahv,
            host=self._host,
            iban=iban(f"{self._project}/{who.name}"),
        )
        return text if rng.random() < 0.3 else f"{text} {self._sentence()}"

    def _words_rows(self, n: int) -> list[tuple[str, ...]]:
        head = {"de": ("Pos.", "Leistung", "Menge", "Ort"), "fr": ("Pos.", "Objet", "Quantité", "Lieu")}.get(
            self._language, ("Pos.", "Oggetto", "Quantità", "Luogo")
        )
        return [
            head,
            *((f"{i}.1", self._phrase()[:48], f"{self._rng.randint(1, 99)} St.", "Werkhof") for i in range(1, n)),
        ]

    def _poor_rows(self, n: int) -> list[tuple[str, ...]]:
        return [tuple(str(self._rng.randint(10, 9_999)) for _ in range(4)) for _ in range(n)]

    def _digits(self) -> Block:
        return Block(
            "text", " ".join(f"{self._rng.randint(1000, 9999)}.{self._rng.randint(10, 99)}" for _ in range(12))
        )

    def _items(self, n: int) -> list[str]:
        return [f"- {self._phrase()};" for _ in range(n - 1)] + [f"- {self._phrase()}."]

    def _sentence(self) -> str:
        return sentence(self._rng, self._language)

    def _phrase(self) -> str:
        return item(self._rng, self._language)


def length(rng: Random) -> int:
    """Characters aimed at: log-normal, within 20 and ``LONGEST``."""
    return min(LONGEST, max(20, int(math.exp(rng.gauss(math.log(MEDIAN_CHARACTERS), SPREAD)))))


def standard_clause(office: str, number: int, language: str) -> str:
    """Clause ``number`` of a buyer: the same words in each of its projects."""
    rng = generator("clause", f"{office}/{number}/{language}")
    return " ".join(sentence(rng, language) for _ in range(rng.randint(2, 4)))


def _table(rows: list[tuple[str, ...]]) -> Block:
    return Block("table", "\n".join(" | ".join(row) for row in rows), tuple(rows))
