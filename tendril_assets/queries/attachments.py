"""Which act a question that people asked is about, and whether its text bears that out.

The heading that a question stands under comes first, for whoever published the question put it there; then the question's
own topic; then the acts that the question names. Of several acts the one that is named most often is taken, of equal ones
the first; of those in a heading the one that the question names too.

A number without a day may stand for several acts (numbers begin anew, and an act may be replaced under its number). Taken
is the only one of its number; else the one in which all clauses that the question names of it stand; else the latest, for
questions are asked about what is in force. ``basis`` says which, and figures of how often clauses are found leave out those
that were chosen by their clauses.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from tendril_assets.queries.clause_places import ClausePlaces
from tendril_assets.queries.references import Grammar, NamedAct, NamedClause, References, plain_number

SECTION, TOPIC, QUESTION, NONE = "section", "topic", "question", "none"
BY_DATE, BY_NUMBER, BY_CLAUSES, LATEST = "date", "number", "clauses", "latest"
_SHOWN = 3


class KnownAct(NamedTuple):
    """An act of the corpus; ``kind`` in the form of ``Grammar.kind_of``."""

    project: str
    group_id: str
    number: str
    date: dt.date | None
    kind: str | None


class Question(NamedTuple):
    query_id: str
    text: str
    section: str
    topic: str


class Attachment(NamedTuple):
    """``how``: section, topic, question or none. ``basis``: what decided between acts of one number: date, number (there is
    one only), clauses or latest. ``named_in``: topic or question, where its ``clauses`` are named; None where none are.
    ``reason``: why there is no act.
    """

    act: KnownAct | None
    how: str
    basis: str | None
    clauses: tuple[NamedClause, ...]
    named_in: str | None
    reason: str | None


class Acts:
    """The acts of a corpus by their numbers."""

    def __init__(self, acts: Iterable[KnownAct]) -> None:
        self._of_number: dict[str, list[KnownAct]] = {}
        for act in acts:
            self._of_number.setdefault(plain_number(act.number), []).append(act)

    def called(self, named: NamedAct) -> list[KnownAct]:
        """Acts that ``named`` may mean, the earliest first: of its number and, where both are known, of its kind and day."""
        return sorted(
            (
                act
                for act in self._of_number.get(named.number, ())
                if (named.kind is None or act.kind is None or named.kind == act.kind)
                and (named.date is None or act.date is None or named.date == act.date)
            ),
            key=lambda act: (act.date or dt.date.min, act.project),
        )


def attach(question: Question, acts: Acts, places: ClausePlaces, grammar: Grammar) -> Attachment:
    """The act that ``question`` is about, with the clauses that it names of it."""
    asked = grammar.references(question.text)
    heading = grammar.heading_clauses(question.topic)
    unknown: list[NamedAct] = []
    for how, named in (
        (SECTION, grammar.references(question.section).acts),
        (TOPIC, grammar.references(question.topic).acts),
        (QUESTION, asked.acts),
    ):
        full = _with_days(named)
        unknown += [act for act in full if not acts.called(act)]
        meant = _meant([act for act in full if acts.called(act)], () if how == QUESTION else asked.acts)
        if meant is None:
            continue
        clauses, named_in = _clauses_of(meant, how, heading, asked, acts)
        act, basis = _revision(meant, acts.called(meant), clauses, places)
        return Attachment(act, how, basis, clauses, named_in, None)
    return Attachment(None, NONE, None, (), None, _nothing(unknown))


def _with_days(named: Sequence[NamedAct]) -> list[NamedAct]:
    """Acts with the day that another mention of the number gives: "(далее - Положение № 605-П)" leaves it out."""
    days: dict[str, list[dt.date]] = {}
    for act in named:
        if act.date and act.date not in days.setdefault(act.number, []):
            days[act.number].append(act.date)
    return [
        replace(act, date=only[0]) if act.date is None and len(only := days.get(act.number, [])) == 1 else act
        for act in named
    ]


def _meant(known: Sequence[NamedAct], preferred: Sequence[NamedAct]) -> NamedAct | None:
    """The act named most often, of equal ones the first; ``preferred`` ones before all others."""
    if not known:
        return None
    wanted = {act.number for act in preferred}
    chosen = [act for act in known if act.number in wanted] or list(known)
    often = Counter(act.number for act in chosen)
    # max keeps the first of equals; a mention with its day says more than one without.
    number = max(often, key=lambda number: often[number])
    mentions = [act for act in chosen if act.number == number]
    return next((act for act in mentions if act.date), mentions[0])


def _clauses_of(
    meant: NamedAct, how: str, heading: Sequence[NamedClause], asked: References, acts: Acts
) -> tuple[tuple[NamedClause, ...], str | None]:
    """Clauses of ``meant`` that the topic names, else those that the question names; and which of the two."""

    def is_its(clause: NamedClause, alone: bool) -> bool:
        if clause.binding == "act" and clause.act:
            return clause.act.number == meant.number
        if clause.binding == "document":
            return clause.kind is None or meant.kind is None or clause.kind == meant.kind
        return clause.binding == "open" and alone

    of_topic = tuple(clause for clause in heading if is_its(clause, alone=True))
    if of_topic:
        return of_topic, TOPIC
    # A clause that the question leaves without an act is the act's only where the question speaks of no other act of ours.
    others = any(act.number != meant.number and acts.called(act) for act in asked.acts)
    of_text = tuple(clause for clause in asked.clauses if is_its(clause, alone=not others))
    return (of_text, QUESTION) if of_text else ((), None)


def _revision(
    meant: NamedAct, called: Sequence[KnownAct], clauses: Sequence[NamedClause], places: ClausePlaces
) -> tuple[KnownAct, str]:
    if meant.date and any(act.date == meant.date for act in called):
        return next(act for act in called if act.date == meant.date), BY_DATE
    if len(called) == 1:
        return called[0], BY_NUMBER
    written = [clause for clause in clauses if not clause.implied]
    holding = [act for act in called if all(places.stands(act.project, clause) for clause in written)]
    if written and 0 < len(holding) < len(called):
        return holding[-1], BY_CLAUSES
    return called[-1], LATEST


def _nothing(unknown: Sequence[NamedAct]) -> str:
    named = list(dict.fromkeys(f"{act.number} of {act.date}" if act.date else act.number for act in unknown))
    if not named:
        return "names no act"
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f"names {', '.join(named[:_SHOWN])}{more}: not in the corpus"
