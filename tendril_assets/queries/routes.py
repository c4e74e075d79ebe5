"""The way in which each live question gets its grades.

``clauses``  its topic names clauses of the act, and all of them stand in our text: the passages they begin in are its gold.
             That is evidence from outside, which no system has found. Where the specification says so, the clauses that the
             question itself names count likewise.
``pool``     it names no clause, or only the question does: candidates are what systems rank, and a judge or a person grades
             them. Whoever asks names the clause that is unclear, which seldom is the one that answers: of 13 passages in
             which a clause so named begins, a checker called 4 an answer (the published pairs of the Russian collection).
``dropped``  a clause it names is not in our text, which has another revision of the act. What systems find for it would look
             plausible and be wrong by construction, so it gets neither gold nor candidates.
``none``     it is attached to no act of the corpus, or repeats the text of another question.

Numbers inside a range that are not written themselves may be missing: acts leave numbers out.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tendril_assets.queries.attachments import NONE as UNATTACHED
from tendril_assets.queries.attachments import Attachment, Question
from tendril_assets.queries.clause_places import ClausePlaces
from tendril_assets.queries.references import plain_text, written

CLAUSES, POOL, DROPPED, NONE = "clauses", "pool", "dropped", "none"
ROUTES = (CLAUSES, POOL, DROPPED, NONE)
# Routes of the questions that are queries of the collection.
IN_THE_SET = (CLAUSES, POOL)


class Route(NamedTuple):
    """``found``: numbers of the named clauses that stand in the act. ``passages``: gold, of route ``clauses`` alone.

    ``verified``: whether any named clause was found; None where none is named.
    """

    route: str
    found: list[str]
    passages: list[str]
    verified: bool | None
    reason: str | None


def route_of(attachment: Attachment, places: ClausePlaces, evidence: Sequence[str]) -> Route:
    """The route of one question that repeats no other.

    Args:
        attachment: what it was attached to.
        places: where clauses stand.
        evidence: whose clauses are gold: topic, question or both.
    """
    act = attachment.act
    if act is None:
        return Route(NONE, [], [], None, attachment.reason)
    if not attachment.clauses:
        return Route(POOL, [], [], None, "names no clause")
    standing = [clause for clause in attachment.clauses if places.stands(act.project, clause)]
    found = written(standing)
    missing = [
        number
        for number in written([clause for clause in attachment.clauses if not clause.implied])
        if number not in found
    ]
    verified = bool(found)
    if missing:
        return Route(DROPPED, found, [], verified, f"not in our revision: {', '.join(missing)}")
    if attachment.named_in not in evidence:
        return Route(POOL, found, [], verified, f"clauses are named in the {attachment.named_in} alone")
    begins = {clause.number: places.passages(act.project, clause) for clause in standing}
    unclear = [number for number, passages in begins.items() if not passages]
    if unclear:
        return Route(POOL, found, [], verified, f"begins at several places: {', '.join(unclear)}")
    gold = list(dict.fromkeys(passage for passages in begins.values() for passage in passages))
    return Route(CLAUSES, found, gold, verified, None)


def repeats(questions: Iterable[tuple[Question, Attachment]]) -> dict[str, str]:
    """Question -> the one whose text it repeats, blanks, case and punctuation aside; of equal texts the attached one with
    the lowest id stays."""
    first: dict[str, str] = {}
    found = {}
    attached = ((question, attachment) for question, attachment in questions if attachment.how != UNATTACHED)
    for question, _ in sorted(attached, key=lambda pair: pair[0].query_id):
        kept = first.setdefault(plain_text(question.text), question.query_id)
        if kept != question.query_id:
            found[question.query_id] = kept
    return found
