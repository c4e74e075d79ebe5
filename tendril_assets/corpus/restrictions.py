"""Sentences by which tender documents restrict their own use.

Three rules, each in German, French and Italian: ``offer_only`` (to be used for preparing an offer and nothing else),
``no_publication`` and ``no_third_parties``. A rule asks one sentence for several things at once: the tender documents
as the object, what is limited, and the words that limit it. It is not counted where

* the limit is denied ("nicht verboten", "pas seulement", "non solo") or concerns another verb of the sentence,
* the object is something else: the offer, the bidder's own papers, work passed on to subcontractors,
* it is the bidder's or contractor's duty of confidentiality. Such a sentence counts only where it names the tender
  documents in so many words, not for "documents" or "papers" in general.

The words are those of Swiss public buyers' clauses; they live in ``restriction_words``. The sentence is kept as
evidence.
"""

import re
from dataclasses import dataclass

from tendril_assets.corpus.restriction_words import LANGUAGES, Words, worth_a_look

RULE_VERSION = "1"


@dataclass(frozen=True)
class Restriction:
    """``rule`` is offer_only, no_publication or no_third_parties; ``language`` is de, fr or it."""

    rule: str
    language: str
    sentence: str


def find_restrictions(text: str) -> list[Restriction]:
    """Restricting sentences of ``text`` in reading order; at most one entry per rule and sentence."""
    if not worth_a_look(text):
        return []
    found: dict[tuple[str, str], Restriction] = {}
    for sentence in sentences(text):
        if not worth_a_look(sentence):
            continue
        for language, words in LANGUAGES.items():
            for rule in _rules_broken(sentence, words):
                found.setdefault((rule, sentence), Restriction(rule, language, sentence))
    return list(found.values())


def _rules_broken(sentence: str, words: Words) -> list[str]:
    if words.denied.search(sentence) or not _concerns_tender_documents(sentence, words):
        return []
    rules = []
    limited = words.only_for_offer.search(sentence) and words.use.search(sentence)
    elsewhere = _is_forbidden(sentence, words, words.other_use, words.not_elsewhere)
    if limited or elsewhere:
        rules.append("offer_only")
    if _is_forbidden(sentence, words, words.publication, words.not_publish):
        rules.append("no_publication")
    if words.third.search(sentence) and _is_forbidden(sentence, words, words.passing_on, words.not_pass):
        rules.append("no_third_parties")
    return rules


def _concerns_tender_documents(sentence: str, words: Words) -> bool:
    if words.not_ours.search(sentence):
        return False
    if words.tender_documents.search(sentence):
        return True
    return bool(words.documents.search(sentence)) and not words.duty.search(sentence)


def _is_forbidden(sentence: str, words: Words, act: re.Pattern[str], not_act: re.Pattern[str]) -> bool:
    """Forbidden as a noun or infinitive ("die Weitergabe ist untersagt") or as a verb ("darf nicht weitergegeben")."""
    if act.search(sentence) and words.forbidden.search(sentence):
        return True
    return bool(not_act.search(sentence) and words.modal.search(sentence))


# Sentences -----------------------------------------------------------------------------------------------------------

_BULLET = re.compile(r"(?:[-–—•*▪‣]|\d{1,2}[.)]|[a-z]\))\s")
# "4.2 Preise und Mengen": numbered, short, without a full stop at its end.
_HEADING = re.compile(r"\d{1,2}(?:\.\d{1,2})*\.?\s+[A-ZÄÖÜÀ-Ý][^.:;!?]{0,80}")
_SENTENCE_END = re.compile(r"(?:[.!?](?=\s+[A-ZÄÖÜÀ-Ý«\"„(\d])|;)\s+")
# An abbreviation, an initial or a number in front of the full stop: the sentence goes on.
_ABBREVIATION = re.compile(
    r"(?:\b(?:z\.\s?B|d\.\s?h|u\.\s?a|bzw|resp|inkl|exkl|ca|gem|vgl|Art|Abs|Ziff|Nr|Kap|Bst|lit|Dr|Prof|Hr|Fr|St|usw"
    r"|p\.\s?ex|cf|al|ch|no|let|cpv|art|ecc|es|Mme|Sig|Pos|Tel)|\b[A-Z]|\b\d{1,2})\.$"
)


def sentences(text: str) -> list[str]:
    """Sentences with line breaks taken out. A list after a colon stays one sentence with its introduction."""
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        pieces: list[str] = []
        in_list = False
        for raw in paragraph.split("\n"):
            line = " ".join(raw.split())
            if not line:
                continue
            is_item = _BULLET.match(line) is not None
            in_list = is_item and (in_list or (bool(pieces) and pieces[-1].endswith(":")))
            below_heading = bool(pieces) and _HEADING.fullmatch(pieces[-1]) is not None and line[0].isupper()
            if pieces and (in_list or not is_item) and not below_heading:
                pieces[-1] += f" {line}"
            else:
                pieces.append(line)
        for piece in pieces:
            found += _split(piece)
    return found


def _split(text: str) -> list[str]:
    parts, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        if _ABBREVIATION.search(text[max(start, end.start() - 12) : end.start() + 1]) is None:
            parts.append(text[start : end.start() + 1].strip())
            start = end.end()
    parts.append(text[start:].strip())
    return [part for part in parts if part]
