"""The Russian side of the stand-in models: two answers about a pair, and a question about a passage.

A judge compares what it reads in the query with what it reads in the passage (``knowing``), and slips at a fixed rate by a
hash of the pair. One that is good enough for the sample's declared acceptance is ``sandbox/judge``; ``sandbox/judge-small``
is not. Two families of models write questions, each with habits and with faults that filters are there for.
"""

import functools
import hashlib
import json
import re
from importlib import resources
from typing import Any

import yaml

from tendril_assets.sandbox.regulations.content_files import acts, themes
from tendril_assets.sandbox.regulations.knowing import Said, asked_facets, organisations, said_in, thing_of
from tendril_assets.sandbox.regulations.wording import capital, values_for
from tendril_assets.sandbox.stand_in_models import USUAL, StandInModel, stand_in_model

SUBJECT, ANSWER = "предмет", "ответ"
DECLINED = "ПРОПУСК"
# Share of pairs of which a model sees one answer otherwise, and how much an effort leaves of it.
SLIPS = {USUAL: 0.20, "sandbox/judge-large": 0.05, "sandbox/judge-small": 0.50}
EFFORT_SHARE = 0.7
# Of the replies of a model that answers in prose now and then, as many contradict themselves.
CONTRADICTION = {SUBJECT: "нет", ANSWER: "полный"}
# Shares of questions with each fault, by family: those are what the filters of a collection look for.
FAULTS = {
    "asker_a": {"verbatim": 0.14, "pointing": 0.06, "vague": 0.05, "elsewhere": 0.04, "foreign": 0.0},
    "asker_b": {"verbatim": 0.09, "pointing": 0.04, "vague": 0.06, "elsewhere": 0.04, "foreign": 0.06},
}
_SECOND = re.compile(r"(?:-b|_b|mistral|vikhr)\b", re.IGNORECASE)
_WORDS = re.compile(r"[\w-]+")


def reply_pair(query: str, passage: str, model: str = "", effort: str | None = None, repeat: str | None = None) -> str:
    """The content of a judge's reply in the form of two questions: one JSON object, in some replies inside a code fence."""
    judging = stand_in_model(model)
    if judging.prose and _draw(f"prose {model}", query, passage) < judging.prose:
        if _draw("contradiction", query, passage) < 0.5:
            return json.dumps(CONTRADICTION, ensure_ascii=False)
        return "Фрагмент лишь отчасти связан с запросом."
    subject, answer = judge_pair(query, passage, judging, effort, repeat)
    text = json.dumps({SUBJECT: subject, ANSWER: answer}, ensure_ascii=False)
    return f"```json\n{text}\n```" if _draw("form", query, passage) < 0.04 else text


def judge_pair(
    query: str, passage: str, model: StandInModel | None = None, effort: str | None = None, repeat: str | None = None
) -> tuple[str, str]:
    """The two answers; the same on every call with the same arguments, and never a pair that cannot be."""
    judging = stand_in_model(USUAL) if model is None else model
    slips = SLIPS.get(judging.name, SLIPS[USUAL]) * (1.0 if effort in (None, "none") else EFFORT_SHARE)
    opinion = _opinion(query, passage)
    if _draw(f"slip {judging.name}", query, passage) < slips:
        opinion = _slipped(opinion, _draw(f"way {judging.name}", query, passage))
    if repeat is not None and _draw(f"repeat {judging.name} {repeat}", query, passage) < judging.unsteady:
        opinion = _slipped(opinion, _draw(f"way {repeat}", query, passage))
    return opinion


def ask(passage: str, model: str = "") -> str:
    """A question about a passage, ``DECLINED`` where there is nothing to ask; the same on every call."""
    family = "asker_b" if _SECOND.search(model) else "asker_a"
    said = _said(passage)
    if not said.clauses:
        return DECLINED
    draw = _draw(f"fault {family}", passage)
    place = int(_draw(f"clause {family}", passage) * len(said.clauses))
    (theme, thing), told, clause = said.clauses[place]
    facet = sorted(told)[int(_draw("facet", passage) * len(told))]
    for fault, share in FAULTS[family].items():
        draw -= share
        if draw < 0:
            return _faulty(fault, family, (theme, thing), facet, clause, passage)
    return _filled(_pick(asks()[family][facet], passage), (theme, thing), passage)


@functools.cache
def asks() -> dict[str, Any]:
    """The models' ways to ask."""
    source = resources.files("tendril_assets.sandbox.regulations") / "content" / "asks.yaml"
    return yaml.safe_load(source.read_text(encoding="utf-8"))


def _opinion(query: str, passage: str) -> tuple[str, str]:
    asked, facets, who = _asked(query)
    told = _said(passage).facets
    if asked is None or asked not in told:
        return "нет", "нет"
    other = bool(who) and bool(_organisations(passage)) and not who & _organisations(passage)
    hits = len(facets & told[asked])
    answer = "нет" if not hits else "полный" if hits == len(facets) else "частичный"
    return ("другие лица" if other else "да"), answer


def _slipped(opinion: tuple[str, str], draw: float) -> tuple[str, str]:
    """Another pair of answers near the given one; models are more often too generous than too strict."""
    subject, answer = opinion
    if subject == "нет":
        return ("да", "частичный") if draw < 0.4 else ("да", "нет")
    if draw < 0.25:
        return {"да": ("другие лица", answer), "другие лица": ("да", answer)}[subject]
    if answer == "нет":
        return (subject, "частичный") if draw < 0.7 else (subject, "полный")
    return subject, {"полный": "частичный", "частичный": "полный"}[answer]


def _faulty(fault: str, family: str, thing: tuple[str, str], facet: str, clause: str, passage: str) -> str:
    if fault == "verbatim":
        words = _WORDS.findall(clause.partition(" ")[2])[:9]
        return f"Верно ли, что {' '.join(words).lower()}?"
    if fault == "elsewhere":
        others = [(theme, name) for theme in themes() for name in themes()[theme]["objects"] if theme != thing[0]]
        return _filled(
            _pick(asks()[family][facet], passage), others[int(_draw("other", passage) * len(others))], passage
        )
    return _filled(_pick(asks()[fault], passage), thing, passage)


def _filled(template: str, thing: tuple[str, str], passage: str) -> str:
    who = sorted(_organisations(passage))
    usual = next(act.who for act in acts() if act.theme == thing[0])
    return capital(values_for(template, who[0] if who else usual, *thing))


def _pick(options: list[str], passage: str) -> str:
    return options[int(_draw("wording", passage) * len(options))]


@functools.lru_cache(maxsize=1024)
def _asked(query: str) -> tuple[tuple[str, str] | None, frozenset[str], frozenset[str]]:
    return thing_of(query), asked_facets(query), organisations(query)


@functools.lru_cache(maxsize=8192)
def _said(passage: str) -> Said:
    return said_in(passage)


@functools.lru_cache(maxsize=8192)
def _organisations(passage: str) -> frozenset[str]:
    return organisations(passage)


def _draw(purpose: str, *texts: str) -> float:
    """A number in [0, 1) by hash."""
    digest = hashlib.blake2b(digest_size=6, person=b"stand-in-ru")
    for text in (purpose, *texts):
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return int.from_bytes(digest.digest(), "big") / 2**48
