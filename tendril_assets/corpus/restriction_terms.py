"""A third look, for terms of use whose object is no paper by name, or is not named at all.

Buyers hand out data, models, photographs and say "nur zum Rechnen der Offerte"; or they print "Weitergabe an Dritte nicht
gestattet." by itself. In tender papers such a sentence speaks of what the bidder was given, unless it names something
that is no paper. So here the **purpose** carries the sentence, and the object is only looked at to set it aside:

* use or hand-over *only* for offering, whatever is used; or a ban of any *other* use near papers or that purpose,
* a **notice** that begins with an act and forbids it ("Reproduction interdite"), or declares secrecy ("Vertraulich -"),
* persons **outside** ("nul autre", "kein Aussenstehender") kept from papers or data,
* **data** taken for papers in the wider look (``restriction_wide``).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tendril_assets.corpus.restriction_wide import WideWords, wide_rules
from tendril_assets.corpus.restriction_words import Words, compiled

_REACH = 60


@dataclass(frozen=True)
class TermWords:
    """Patterns of one language over folded text.

    ``only`` before a ``purpose`` of offering with a ``use``, or with a ``handed`` verb where papers, ``data`` or a
    ``pronoun`` are there; ``exclusive`` says "only" after the purpose. A
    short line without a ``finite`` verb needs no use. ``other`` is another use (``beyond`` one outside
    the tender), ``no_other`` one that is ruled out in the same words. ``aside`` are things that are no papers, ``subject``
    (matched at the beginning) papers, figures and persons that are limited in another sense, ``matter`` what a notice
    may be about instead; ``persons`` whom data may be about.

    ``notice`` is an act without object at the beginning of a sentence or after a dash, ``secret`` a mark of secrecy;
    ``publishing`` tells the acts that publish. ``shut_out`` keeps someone from the papers in one phrase; ``given`` tells
    data handed out from those of a contract.
    """

    only: re.Pattern[str]
    purpose: re.Pattern[str]
    use: re.Pattern[str]
    handed: re.Pattern[str]
    pronoun: re.Pattern[str]
    finite: re.Pattern[str]
    exclusive: re.Pattern[str]
    other: re.Pattern[str]
    beyond: re.Pattern[str]
    no_other: re.Pattern[str]
    data: re.Pattern[str]
    aside: re.Pattern[str]
    subject: re.Pattern[str]
    matter: re.Pattern[str]
    persons: re.Pattern[str]
    notice: re.Pattern[str]
    publishing: re.Pattern[str]
    secret: re.Pattern[str]
    shut_out: re.Pattern[str]
    given: re.Pattern[str]


def term_words(**patterns: str) -> TermWords:
    """Compile a language. Raises ValueError for an escape in upper case, which folding would turn into its opposite."""
    return TermWords(**compiled(patterns))


def term_rules(folded: str, before: str, terms: TermWords, words: Words, wide: WideWords) -> set[str]:
    """The rules that ``folded`` breaks by its purpose, as a notice or as terms of data.

    ``before`` is what stands in front of it and may name what it speaks of: the sentence before, or a heading.
    """
    near = f"{before} {folded}"
    papers = cache(lambda: _papers(folded, terms, words))
    rules: set[str] = set()
    if (
        _only_for_offer(folded, before, terms, words, wide, papers)
        or _no_other_use(folded, before, terms, words, wide, papers)
    ) and not (terms.aside.search(folded) or terms.subject.match(folded)):
        rules.add("offer_only")
    rules |= _by_notice(folded, terms, words, wide)
    if terms.shut_out.search(folded) and (papers() or _papers(before, terms, words)):
        rules.add("no_third_parties")
    has_data = terms.data.search(folded) is not None
    if has_data and words.secret.search(folded) and _are_given(folded, near, terms, words, wide):
        rules.add("no_third_parties")
    if rules - {"offer_only"} and terms.matter.search(near):
        rules &= {"offer_only"}
    rules = rules or _of_data(folded, before, has_data, terms, words, wide)
    if not rules or words.foreign.search(folded) or words.promise.search(folded) or wide.lifted.search(folded):
        return set()
    return rules & {"offer_only"} if terms.persons.search(near) else rules


def _papers(text: str, terms: TermWords, words: Words) -> bool:
    return any(pattern.search(text) for pattern in (words.documents, words.tender, terms.data))


def _only_for_offer(
    folded: str, before: str, terms: TermWords, words: Words, wide: WideWords, papers: Callable[[], bool]
) -> bool:
    if not any(_leads_to_purpose(folded, only.end(), terms, wide) for only in terms.only.finditer(folded)):
        return False
    if terms.use.search(folded):
        return True
    if papers() and not words.reference.search(folded):
        return terms.handed.search(folded) is not None or (len(folded) < _REACH * 2 and not terms.finite.search(folded))
    meant = terms.pronoun.search(folded) is not None and _papers(before, terms, words)
    return meant and terms.handed.search(folded) is not None


def _leads_to_purpose(folded: str, start: int, terms: TermWords, wide: WideWords) -> bool:
    found = terms.purpose.search(folded, start, start + _REACH * 3)
    if found is None or found.start() - start > _REACH:
        return False
    between = folded[start : found.start()]
    return wide.rival.search(between) is None and terms.subject.match(between.lstrip()) is None


def _no_other_use(
    folded: str, before: str, terms: TermWords, words: Words, wide: WideWords, papers: Callable[[], bool]
) -> bool:
    """Nothing but the purpose, or another use ruled out, said of papers or near a purpose of offering."""
    said = terms.exclusive.search(folded) or terms.no_other.search(folded)
    beyond = None if said else terms.beyond.search(folded)
    if not (said or beyond or terms.other.search(folded)):
        return False
    if words.performance.search(folded) and not (wide.tendering.search(folded) or terms.purpose.search(folded)):
        return False
    if not (said or wide.bound.search(folded) or (wide.negation.search(folded) and wide.duty.search(folded))):
        return False
    if beyond or papers() or terms.purpose.search(folded):
        return True
    if terms.aside.search(before) or terms.subject.match(before):
        return False
    return _papers(before, terms, words) or terms.purpose.search(before) is not None


def _by_notice(folded: str, terms: TermWords, words: Words, wide: WideWords) -> set[str]:
    if terms.secret.search(folded):
        return {"no_third_parties"}
    act = terms.notice.search(folded)
    if act is None or words.elsewhere.match(folded, act.end()):
        return set()
    until = folded[act.end() : act.end() + _REACH * 2]
    if not (wide.bound.search(f"{act[0]}{until}") or words.negation.search(act[0])):
        return set()
    return {"no_publication" if terms.publishing.search(act[0]) else "no_third_parties"}


def _of_data(folded: str, before: str, here: bool, terms: TermWords, words: Words, wide: WideWords) -> set[str]:
    if not here:
        if not (terms.data.search(before) and (wide.takes_up.search(folded) or wide.act.match(folded))):
            return set()
        if words.documents.search(folded):
            return set()
    if words.tender.search(folded):  # judged by the looks before
        return set()
    if not _are_given(folded, f"{before} {folded}", terms, words, wide):
        return set()
    rules = wide_rules(
        folded, wide, words.elsewhere, lambda part: "papers" if not here or terms.data.search(part) else None
    )
    if terms.subject.match(folded):
        rules -= {"offer_only"}
    return rules - {"no_third_parties"} if terms.matter.search(folded) else rules


def _are_given(folded: str, near: str, terms: TermWords, words: Words, wide: WideWords) -> bool:
    """The data are those of a tender: handed out, or bidders are spoken of; not those of a contract."""
    if words.performance.search(folded) and not wide.tendering.search(near):
        return False
    return terms.given.search(near) is not None or wide.tendering.search(near) is not None
