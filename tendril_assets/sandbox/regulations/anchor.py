"""Pairs that a person graded: the truth of matters, read with slips.

The passages are a cut of their own, some clauses below the heading, and are numbered from ``FIRST``: their grades were given
before anybody cut the corpus, and stand by their texts.
"""

import json
from dataclasses import dataclass
from functools import cache

from tendril_assets.sandbox.draws import Draws
from tendril_assets.sandbox.regulations.clauses import chapters
from tendril_assets.sandbox.regulations.content_files import Act, Matter, acts
from tendril_assets.sandbox.regulations.knowing import organisations
from tendril_assets.sandbox.regulations.questions import Question, live, manual
from tendril_assets.sandbox.regulations.wording import long_date

FIRST = 9_000
CHARACTERS = 1_400
ANNOTATOR = "expert_1"
PAIRS = {0: 58, 1: 54, 2: 38}
# Share of pairs of which the person sees one of the two questions otherwise.
SLIPS = 0.08
SUBJECT, ANSWER = "предмет", "ответ"


@dataclass(frozen=True)
class Passage:
    passage_id: str
    text: str
    matters: frozenset[Matter]


@cache
def passages(act: Act) -> tuple[Passage, ...]:
    """Whole clauses in their order, up to ``CHARACTERS``."""
    found = []
    for chapter in chapters(act):
        held: list = []
        for clause in (*chapter.clauses, None):
            if held and (clause is None or sum(len(c.text) for c in held) + len(clause.text) > CHARACTERS):
                head = f"{act.kind} от {long_date(act.date)} № {act.number} «{act.title}». {chapter.heading}"
                body = "\n".join(c.text for c in held)
                name = f"{act.key}#{FIRST + len(found):04d}"
                found.append(Passage(name, f"{head}\n{body}", frozenset(c.matter for c in held)))
                held = []
            if clause is not None:
                held.append(clause)
    return tuple(found)


def answers(question: Question, passage: Passage) -> tuple[str, str]:
    """The true answers to the two questions of the guideline.

    Other persons are meant where query and passage both name a kind of organisation and share none; who names none is taken
    to mean the same.
    """
    asked = {(m.theme, m.thing, m.facet) for m in question.matters}
    told = {(m.theme, m.thing, m.facet) for m in passage.matters}
    if not {m[:2] for m in asked} & {m[:2] for m in told}:
        return "нет", "нет"
    theirs, own = organisations(passage.text), organisations(question.text)
    hits = len(asked & told)
    subject = "другие лица" if theirs and own and not theirs & own else "да"
    return subject, "полный" if hits == len(asked) else "частичный" if hits else "нет"


def grade(given: tuple[str, str]) -> int:
    """The grade by the guideline's rule."""
    subject, answer = given
    if subject == "да":
        return 2 if answer == "полный" else 1
    return int(subject == "другие лица" and answer != "нет")


@cache
def pairs() -> tuple[tuple[Question, Passage, tuple[str, str]], ...]:
    """Question, passage and what the person answered; stratified by the true grade, drawn by name."""
    draws = Draws("anchor")
    pool: dict[int, list] = {grade_: [] for grade_ in PAIRS}
    seen = set()
    for question in (*live(), *manual()):
        if not question.matters or question.text in seen:
            continue
        seen.add(question.text)
        for act in acts():
            near = act.theme == question.matters[0].theme
            for passage in passages(act):
                # Of what has nothing to do with the question a few are enough; most of the zeros are near misses.
                if near or draws.chance(f"{question.query_id}/{passage.passage_id}", 0.01):
                    pool[grade(answers(question, passage))].append((question, passage))
    found = []
    for true, count in PAIRS.items():
        for question, passage in draws.sample(f"grade {true}", pool[true], count):
            found.append((question, passage, _read(question, passage)))
    return tuple(sorted(found, key=lambda pair: (pair[0].query_id, pair[1].passage_id)))


def _read(question: Question, passage: Passage) -> tuple[str, str]:
    draws, entity = Draws("anchor-slips"), f"{question.query_id}/{passage.passage_id}"
    subject, answer = answers(question, passage)
    if draws.chance(f"{entity}/subject", SLIPS):
        subject = {"да": "другие лица", "другие лица": "да", "нет": "да"}[subject]
    if subject != "нет" and draws.chance(f"{entity}/answer", SLIPS):
        answer = {"полный": "частичный", "частичный": "нет", "нет": "частичный"}[answer]
    return subject, answer


def anchor_lines() -> list[str]:
    """``human_anchor.jsonl``."""
    return [
        json.dumps(
            {
                "query_id": question.query_id,
                "passage_id": passage.passage_id,
                "level": "live" if question in live() else "manual",
                "query_text": question.text,
                "passage_text": passage.text,
                "annotator": ANNOTATOR,
                SUBJECT: given[0],
                ANSWER: given[1],
            },
            ensure_ascii=False,
        )
        for question, passage, given in pairs()
    ]
