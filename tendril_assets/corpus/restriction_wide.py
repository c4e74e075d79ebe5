"""A second, wider look at what the clause grammar of ``restrictions`` leaves: a sentence as a whole.

A missed restriction is published, a false one costs one project and can be reviewed. So a sentence that speaks of the
tender papers counts where a **sense** (use, publishing, others who get or see something) meets a **bound** (a word of
forbidding, abstaining, consent or penalty; a negation under a verb of duty), or where one phrase says both ("unter
Verschluss"). How the two are joined does not matter, except that a finite act ("..., sie werden publiziert") takes the
bound of its own part of the sentence only, and that ``lifted`` bans do not count.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tendril_assets.corpus.restriction_words import compiled


@dataclass(frozen=True)
class WideWords:
    """Patterns of one language over folded text.

    ``bound`` binds by itself, ``negation`` together with ``duty`` or a ``bidder`` as subject; ``lifted`` takes it
    back.
    Senses: ``use`` with an ``other`` purpose, or with ``only`` before a ``purpose`` and no ``rival`` of the papers in
    between; ``publish`` and ``done`` (finite acts of publishing); ``third`` with ``reach`` or ``reached`` (finite).
    ``closed`` and ``unpublic`` say all in one phrase. Where the part is not about something ``aside`` (altering, handing
    in, downloading papers), ``limited`` use and ``passing`` count without another purpose or third party named, and so
    does ``reserved`` ("nur für Ihren Betrieb bestimmt"); ``banned`` says of papers named in so many words that something
    about them is forbidden, copying left aside.

    ``takes_up`` points back to papers of an earlier sentence, as does a sentence that begins with an ``act`` and names
    nothing of its own, but not past a sentence about ``rivals`` ("Die Angebote ..."). ``tendering`` tells papers of the
    tender from those of the contract. ``breaks`` ends a part.
    """

    bound: re.Pattern[str]
    negation: re.Pattern[str]
    duty: re.Pattern[str]
    bidder: re.Pattern[str]
    lifted: re.Pattern[str]
    use: re.Pattern[str]
    other: re.Pattern[str]
    only: re.Pattern[str]
    purpose: re.Pattern[str]
    rival: re.Pattern[str]
    publish: re.Pattern[str]
    done: re.Pattern[str]
    third: re.Pattern[str]
    reach: re.Pattern[str]
    reached: re.Pattern[str]
    closed: re.Pattern[str]
    unpublic: re.Pattern[str]
    takes_up: re.Pattern[str]
    act: re.Pattern[str]
    rivals: re.Pattern[str]
    tendering: re.Pattern[str]
    limited: re.Pattern[str]
    passing: re.Pattern[str]
    reserved: re.Pattern[str]
    aside: re.Pattern[str]
    banned: re.Pattern[str]
    breaks: re.Pattern[str]


def wide_words(**patterns: str) -> WideWords:
    """Compile a language. Raises ValueError for an escape in upper case, which folding would turn into its opposite."""
    return WideWords(**compiled(patterns))


def wide_rules(
    folded: str, words: WideWords, elsewhere: re.Pattern[str], names: Callable[[str], str | None]
) -> set[str]:
    """The rules that ``folded`` breaks as a whole, from the part on that ``names`` the papers ("named", or "papers").

    ``elsewhere`` right after an act is what else is passed on or published ("des Auftrags").
    """
    rules: set[str] = set()
    named: str | None = None
    parts = words.breaks.split(folded)
    for part in parts:
        named = names(part) or named
        if named:
            rules |= _of_part(part, words, elsewhere, named == "named")
    return set() if rules and words.lifted.search(folded) else rules


def _of_part(part: str, words: WideWords, elsewhere: re.Pattern[str], is_named: bool) -> set[str]:
    rules: set[str] = set()
    if words.closed.search(part):
        rules.add("no_third_parties")
    if words.use.search(part) and any(_purpose_follows(part, only.end(), words) for only in words.only.finditer(part)):
        rules.add("offer_only")
    aside = words.aside.search(part) is not None
    if is_named and not aside and words.banned.search(part) and not _of_else(part, words, elsewhere):
        rules.add("offer_only")
    if not aside and words.unpublic.search(part):
        rules.add("no_publication")
    if not aside and words.reserved.search(part):
        rules.add("offer_only")
    if not _binds(part, words):
        return rules

    def act(nouns: re.Pattern[str], finite: re.Pattern[str]) -> bool:
        if any(not elsewhere.match(part, noun.end()) for noun in nouns.finditer(part)):
            return True
        return _in_bound_clause(part, finite, words)

    if (words.other.search(part) and words.use.search(part)) or (not aside and words.limited.search(part)):
        rules.add("offer_only")
    if not aside and act(words.publish, words.done):
        rules.add("no_publication")
    if words.third.search(part) and act(words.reach, words.reached):
        rules.add("no_third_parties")
    if not aside and any(not elsewhere.match(part, passing.end()) for passing in words.passing.finditer(part)):
        rules.add("no_third_parties")
    return rules


def _of_else(part: str, words: WideWords, elsewhere: re.Pattern[str]) -> bool:
    """True where what is passed on or published is said to be something else."""
    acts = (*words.reach.finditer(part), *words.publish.finditer(part))
    return any(elsewhere.match(part, act.end()) for act in acts)


def _binds(text: str, words: WideWords) -> bool:
    if words.bound.search(text):
        return True
    ordered = words.duty.search(text) or words.bidder.search(text)
    return ordered is not None and words.negation.search(text) is not None


def _in_bound_clause(part: str, acts: re.Pattern[str], words: WideWords) -> bool:
    """A finite act between commas that hold a bound too."""
    for act in acts.finditer(part):
        start, end = part.rfind(",", 0, act.start()) + 1, part.find(",", act.end())
        if _binds(part[start : end if end >= 0 else len(part)], words):
            return True
    return False


def _purpose_follows(part: str, start: int, words: WideWords) -> bool:
    found = words.purpose.search(part, start, start + 120)
    return found is not None and not words.rival.search(part, start, found.end())
