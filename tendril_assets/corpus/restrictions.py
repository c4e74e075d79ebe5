"""Sentences by which tender documents restrict their own use.

Three rules: ``offer_only`` (to be used for preparing an offer, or within the procedure, and nothing else),
``no_publication`` and ``no_third_parties`` (neither passed on nor told; papers declared confidential are that too).
A sentence breaks a rule where three things meet in one clause:

* its **object** is the tender documents or what stands in them. Named in so many words ("Ausschreibungsunterlagen",
  "cahier des charges"), or as papers in general where neither the offer, the bidder's own papers, the contract's
  performance nor the buyer's own promise is spoken of. A mere reference ("gemäss Pflichtenheft") is no object;
  "sie", "ils", "essi" stand for the papers of the sentence before,
* a **limit**: only for the offer, no other use, an act of publishing, passing on or telling,
* its **polarity**: forbidden, not permitted, permitted with consent only, negated under a modal verb; and not denied
  ("nicht untersagt", "pas seulement", "liberamente").

A duty to return or destroy papers, to keep them, or not to alter or copy them is none of the three; nor is what a system
to be bought must do with documents, unless it names those of the tender. The grammar is the
same for all languages; their words are in ``restriction_german``, ``restriction_french`` and ``restriction_italian``.
What this finds nothing in is looked at once more, more widely and as a whole: ``restriction_wide``; and what names no
papers, as terms of use by their purpose: ``restriction_terms``.
The sentence is kept as evidence, with the one before it where it needs that to be understood.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.restriction_french import FRENCH
from tendril_assets.corpus.restriction_german import GERMAN
from tendril_assets.corpus.restriction_hints import may_limit, names_papers, speaks_of_terms, worth_a_look
from tendril_assets.corpus.restriction_italian import ITALIAN
from tendril_assets.corpus.restriction_terms import term_rules
from tendril_assets.corpus.restriction_terms_french import FRENCH_TERMS
from tendril_assets.corpus.restriction_terms_german import GERMAN_TERMS
from tendril_assets.corpus.restriction_terms_italian import ITALIAN_TERMS
from tendril_assets.corpus.restriction_wide import WideWords, wide_rules
from tendril_assets.corpus.restriction_wide_french import FRENCH_WIDE
from tendril_assets.corpus.restriction_wide_german import GERMAN_WIDE
from tendril_assets.corpus.restriction_wide_italian import ITALIAN_WIDE
from tendril_assets.corpus.restriction_words import Words
from tendril_assets.corpus.sentences import Sentence, fold, is_open, sentences

RULE_VERSION = "5"
LANGUAGES = {"de": GERMAN, "fr": FRENCH, "it": ITALIAN}
WIDE = {"de": GERMAN_WIDE, "fr": FRENCH_WIDE, "it": ITALIAN_WIDE}
TERMS = {"de": GERMAN_TERMS, "fr": FRENCH_TERMS, "it": ITALIAN_TERMS}

# Who acts is the thing to be bought: "the application lets nobody unauthorised read documents".
_SYSTEM = lazy_pattern(
    r"^.{0,40}?\b(?:(?:das|die|der|eine?)\s+(?:\w+\s+){0,2}?\w*(?:system|software|anwendung|applikation|losung|plattform"
    r"|portal|archiv|server|datenbank|schnittstelle|app)|(?:l['’]\s?|l[ae]\s+|une?\s+)(?:\w+\s+)?(?:systeme|logiciel"
    r"|application|solution|plateforme|portail|serveur)|(?:l['’]\s?|il\s+|lo\s+|la\s+|una?\s+)(?:\w+\s+)?(?:sistema"
    r"|software|applicazione|applicativo|soluzione|piattaforma|portale|server))\b"
    r"|\b(?:berechtigung(?:en|skonzept)?|benutzerrollen?|zugriffsrechte?|droits? d.acces|diritt[oi] d.accesso)\b"
)
_REACH = 160
_LOOK_BACK = 3


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
    return _of_sentences(sentences(text))


def document_restrictions(passages: Iterable[tuple[int, str]]) -> list[tuple[int, Restriction]]:
    """Restricting sentences of one document, each with the page it begins on.

    ``passages`` are (page, text) in reading order. A sentence that one passage leaves open is read with what follows in
    the next; so are the first item of a list and the text below a heading.
    """
    found: dict[tuple[str, str], tuple[int, Restriction]] = {}
    last_page, last_text = 0, ""
    for page, text in passages:
        here = find_restrictions(text)
        known = {restriction.rule for restriction in here}
        for restriction in _across(last_text, text) if last_text.strip() else []:
            if restriction.rule not in known:
                found.setdefault((restriction.rule, restriction.sentence), (last_page, restriction))
        for restriction in here:
            found.setdefault((restriction.rule, restriction.sentence), (page, restriction))
        last_page, last_text = page, text
    return list(found.values())


def _across(before: str, after: str) -> list[Restriction]:
    """What a sentence says that ends the passage ``before`` and goes on in ``after``."""
    if not (after.strip() and is_open(before)):
        return []
    tail, head = before[-_REACH * 2 :], after[: _REACH * 4]
    if not worth_a_look(f"{tail} {head}"):
        return []
    opening, first = sentences(before)[-1].whole, sentences(after)[0].text
    if first.endswith(":"):  # it begins something of its own
        return []
    if first[0].islower():
        return _of_sentences([Sentence(f"{opening} {first}")])
    return _of_sentences([Sentence(first, opening)]) if len(opening) <= _REACH or opening.endswith((":", ",")) else []


def _of_sentences(parts: Sequence[Sentence]) -> list[Restriction]:
    found: dict[tuple[str, str], Restriction] = {}
    folded = [fold(part.whole if part.is_introduced else part.text) for part in parts]
    is_named = {language: [names_papers(text, language) for text in folded] for language in LANGUAGES}
    for i, part in enumerate(parts):
        if not (part.opening or may_limit(folded[i])):
            continue
        known = len(found)
        if _SYSTEM.search(folded[i]) and not any(words.tender.search(folded[i]) for words in LANGUAGES.values()):
            continue
        for language, words in LANGUAGES.items():
            if not part.opening and not any(is_named[language][max(0, i - _LOOK_BACK) : i + 1]):
                continue
            evidence = part.whole if part.is_introduced else part.text
            whole = _object(folded[i], words) if is_named[language][i] else None
            rules: set[str] = set()
            if whole:
                rules = _rules(folded[i], words, whole, None)
            elif (anchor := _anchor(folded, i, words)) is not None:
                evidence = f"{parts[anchor].text} {evidence}"
                rules = _rules(folded[i], words, None, _object(folded[anchor], words))
            elif part.opening:
                evidence = part.whole
                joined = fold(evidence)
                rules = _rules(joined, words, _object(joined, words), None) - {"secret"}
            if not rules:
                rules, before = _wide(folded, i, whole, is_named[language], words, WIDE[language])
                evidence = f"{parts[before].text} {parts[i].text}" if before is not None else evidence
            for rule in sorted({"no_third_parties" if rule == "secret" else rule for rule in rules}):
                # What an introduction says by itself is not said again by each item below it.
                if not (part.is_introduced and (rule, part.opening) in found):
                    found.setdefault((rule, evidence), Restriction(rule, language, evidence))
        if len(found) == known:
            for rule, language, evidence in _by_terms(parts, folded, i):
                if not (part.is_introduced and (rule, part.opening) in found):
                    found.setdefault((rule, evidence), Restriction(rule, language, evidence))
    return list(found.values())


def _by_terms(parts: Sequence[Sentence], folded: Sequence[str], i: int) -> Iterator[tuple[str, str, str]]:
    """(rule, language, evidence) of the first language in which the sentence reads as terms of use."""
    before = fold(parts[i].opening) if parts[i].opening else folded[i - 1] if i else ""
    for language, terms in TERMS.items():
        if speaks_of_terms(folded[i], before, language):
            rules = term_rules(folded[i], before, terms, LANGUAGES[language], WIDE[language])
            if rules:
                needs_before = before and not parts[i].opening
                evidence = f"{parts[i - 1].text} {parts[i].text}" if needs_before else parts[i].whole
                for rule in sorted(rules):
                    yield rule, language, evidence
                return


def _wide(
    folded: Sequence[str], i: int, whole: str | None, is_named: Sequence[bool], words: Words, wide: WideWords
) -> tuple[set[str], int | None]:
    """The rules by the wider look, and the earlier sentence that names the papers where this one does not."""
    text = folded[i]
    before = None
    if whole is None and not (is_named[i] and _in_tender(text, words, wide)):
        if not any(is_named[max(0, i - _LOOK_BACK) : i]):
            return set(), None
        if not (wide.act.match(text) or wide.takes_up.search(text)):
            return set(), None
        # It names papers of its own, of another kind, or speaks of the contract.
        if words.documents.search(text) or _of_others(text, words):
            return set(), None
        if words.performance.search(text) and not wide.tendering.search(text):
            return set(), None
        before = _named_before(folded, i, is_named, words, wide)
        if before is None:
            return set(), None

    def names(part: str) -> str | None:
        if _meant(part, words, words.tender):
            return "named"
        return "papers" if before is not None or _meant(part, words, words.documents) else None

    return wide_rules(text, wide, words.elsewhere, names), before


def _named_before(folded: Sequence[str], i: int, is_named: Sequence[bool], words: Words, wide: WideWords) -> int | None:
    """The nearest sentence before that names the papers; none beyond one that has a subject of another kind."""
    for earlier in range(i - 1, max(-1, i - 1 - _LOOK_BACK), -1):
        if wide.rivals.search(folded[earlier]):
            return None
        if is_named[earlier] and _object(folded[earlier], words):
            return earlier
    return None


def _in_tender(folded: str, words: Words, wide: WideWords) -> bool:
    """Papers that a bidder has for the tender, though the sentence uses a word of performance ("Unternehmer") too."""
    if _of_others(folded, words) or not wide.tendering.search(folded):
        return False
    return _meant(folded, words, words.documents)


def _of_others(folded: str, words: Words) -> bool:
    return words.foreign.search(folded) is not None or words.promise.search(folded) is not None


def _anchor(folded: Sequence[str], i: int, words: Words) -> int | None:
    """The sentence before that names the papers "sie" or "ils" stands for, over at most one that says "sie" too."""
    for earlier in (i - 1, i - 2):
        if earlier < 0 or not words.pronoun.search(folded[earlier + 1]):
            return None
        if _object(folded[earlier], words):
            return earlier
    return None


def _object(folded: str, words: Words) -> str | None:
    """ "named" for the tender documents in so many words, "papers" for others that may be them, None without."""
    if not (words.documents.search(folded) or words.tender.search(folded)):
        return None
    if _meant(folded, words, words.tender):
        return "named"
    if _of_others(folded, words) or words.performance.search(folded):
        return None
    return "papers" if _meant(folded, words, words.documents) else None


def _meant(folded: str, words: Words, pattern: re.Pattern[str]) -> bool:
    """True where ``pattern`` is found outside a mere reference."""
    pointed_at = [] if words.content.search(folded) else [m.span() for m in words.reference.finditer(folded)]
    return any(not any(a <= m.start() < b for a, b in pointed_at) for m in pattern.finditer(folded))


def _rules(folded: str, words: Words, whole: str | None, subject: str | None) -> set[str]:
    """What ``folded`` limits, clause by clause: the rules, and "secret" where it only declares the papers that.

    ``whole`` is the object of the sentence, ``subject`` that of an earlier one. A clause without an object of its own
    speaks of the last one named; papers in general are judged by the whole sentence, for who receives them under a
    contract may stand in another clause.
    """
    if whole is None and subject is None:
        return set()
    rules: set[str] = set()
    for clause, has_subject in _clauses(folded, words):
        own = whole if clause == folded else _object(clause, words)
        own = None if own == "papers" and whole is None else own
        subject = own or (None if has_subject and not words.pronoun.search(clause) else subject)
        if subject:
            # What must be ensured, "dass" it happens, is ordered by the verb outside.
            ordered = words.modal.search(folded if has_subject else clause) or words.bidder.search(clause)
            limits = _limits(clause, words, subject == "named", ordered is not None)
            if limits and not words.denied.search(clause):
                rules |= limits
    return rules


def _clauses(folded: str, words: Words) -> Iterator[tuple[str, bool]]:
    """Clauses, and whether each has a subject of its own ("..., dass Fotos ...")."""
    for part in words.breaks.split(folded):
        first, *inner = words.inner.split(part)
        yield first, False
        for clause in inner:
            yield clause, True


def _limits(clause: str, words: Words, named: bool, ordered: bool) -> set[str]:
    rules = set()
    forbidden = cache(lambda: _is_forbidden(clause, words))  # dear, and seldom asked
    ordered_third = ordered or (named and words.future.search(clause) is not None)

    def act(nouns: re.Pattern[str], verbs: re.Pattern[str], is_ordered: bool) -> bool:
        by_noun = [m for m in nouns.finditer(clause) if not words.elsewhere.match(clause, m.end())]
        if by_noun and (forbidden() or any(_ruled_out(clause, m, words) for m in by_noun)):
            return True
        return is_ordered and any(_negated(clause, m, words) for m in verbs.finditer(clause))

    other_use = words.use.search(clause) is not None and act(words.other_use, words.other_use, ordered)
    if other_use or _only_for_offer(clause, words):
        rules.add("offer_only")
    if act(words.publication, words.published, ordered):
        rules.add("no_publication")
    told = words.third.search(clause) is not None and act(words.handing, words.handed_over, ordered_third)
    if told or act(words.passing, words.passed, ordered) or _only_to_some(clause, words, named):
        rules.add("no_third_parties")
    if _is_secret(clause, words):
        rules.add("secret")
    return rules


# Limits --------------------------------------------------------------------------------------------------------------


def _only_for_offer(clause: str, words: Words) -> bool:
    use, handed = words.use.search(clause), words.handed.search(clause)
    if words.confined.search(clause) and use:
        return True
    for only in words.only.finditer(clause):
        if (use or handed) and _reaches(clause, only.end(), words.offer, words):
            return True
        if use and _reaches(clause, only.end(), words.procedure, words):
            return True
    return False


def _reaches(clause: str, start: int, purpose: re.Pattern[str], words: Words) -> bool:
    """The purpose follows, and "only" belongs to it: not to papers named, or a condition made, in between."""
    found = purpose.search(clause, start, start + _REACH)
    if found is None:
        return False
    between = clause[start : found.start()]
    return not (words.documents.search(between) or words.tender.search(between) or words.condition.search(between))


def _only_to_some(clause: str, words: Words, named: bool) -> bool:
    """Passed on "only to ..."; or "meant only for bidders", said of the tender documents by name."""
    for only in words.only_to.finditer(clause):
        before = clause[max(0, only.start() - _REACH) : only.start()]
        told = words.passed.search(clause, only.end(), only.end() + _REACH) or words.handed_over.search(before)
        if (told and words.modal.search(clause)) or words.passing.search(before):
            return True
    return any(
        words.meant.search(clause, only.end(), only.end() + _REACH // 2)
        for only in words.only.finditer(clause)
        if named or words.use.search(clause)
    )


def _is_secret(clause: str, words: Words) -> bool:
    if words.secret.search(clause):
        return True
    return words.undertaking.search(clause) is not None and words.release.search(clause) is not None


# Polarity ------------------------------------------------------------------------------------------------------------


def _is_forbidden(clause: str, words: Words) -> bool:
    """A word of forbidding, or "not permitted", "only permitted"."""
    if words.forbidden.search(clause) or words.consented.search(clause):
        return True
    for permitted in words.permitted.finditer(clause):
        before = clause[max(0, permitted.start() - 60) : permitted.start()]
        after = clause[permitted.end() : permitted.end() + 6]
        if words.negation.search(before) or words.only.search(before) or words.only.match(after.lstrip()):
            return True
    return False


def _negated(clause: str, act: re.Match[str], words: Words) -> bool:
    """A negation in front of the verb and meant for it, or "only with consent" anywhere."""
    if words.consented.search(clause):
        return True
    start = max(0, act.start() - _REACH)
    before = [m for m in words.negation.finditer(clause, start, act.end()) if m.start() < act.end()]
    return bool(before) and not words.screen.search(clause, before[-1].end(), act.start())


def _ruled_out(clause: str, act: re.Match[str], words: Words) -> bool:
    """ "Keine Veröffentlichung", "ne pas diffuser": the negation stands right before the noun or infinitive."""
    return words.ruling_out.search(clause[max(0, act.start() - 40) : act.start()]) is not None
