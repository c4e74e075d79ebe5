"""The stand-in's answers: a deterministic judge and an extractive summariser, both working from the prompt alone.

Guidelines of two questions, and requests to write a question, are answered by ``regulations.stand_in``.

The judge compares what it knows of the area asked for (``stand_in_knowledge``) with the words of the passage, and errs
at a fixed rate by a hash of the pair. It is better than chance and worse than the sample's truth, as a language model
is; it is no stand-in for one on any other collection.
"""

import functools
import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass
from math import log

from tendril_assets.sandbox.stand_in_knowledge import Area, Criterion, knowledge, stems, topics_in
from tendril_assets.sandbox.stand_in_models import USUAL, StandInModel, stand_in_model

SUMMARY_WORDS = 80
_TAG = re.compile(r"<(query|passage|area)>(.*)</\1>", re.DOTALL)
# Key of an answer that guidelines of two questions ask for.
_TWO_QUESTIONS = '"предмет"'
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_])")
_LEVEL_NAMES = re.compile(r"^(?:Basis|Gute Praxis|Vorbild): ", re.MULTILINE)
# Share of a query's telling words that must be an area's own for the area to be recognised.
_RECOGNISED = 0.5


@dataclass(frozen=True)
class Answer:
    """``text`` is the reply's content; ``kind`` is judge, question, summary or other."""

    text: str
    kind: str


def reply_to(
    prompt: str, wordy_share: float = 0.0, model: str = "", effort: str | None = None, repeat: str | None = None
) -> Answer:
    """The answer to a prompt, told by its own delimiters: query and passage, passage alone (a question is wanted), or area.

    ``model`` and ``effort`` decide how good a judge it is (``stand_in_models``); ``repeat``, the label of an answer asked
    for again, makes some answers differ from the first one. Without any of them it is the same on every call.
    ``wordy_share``: share of areas summarised at too great a length when first asked; an instruction after the area,
    as a second request has one, is always obeyed.
    """
    parts: dict[str, str] = {}
    for match in _TAG.finditer(_last_block(prompt)):
        parts[match[1]] = match[2]
    if "query" in parts and "passage" in parts:
        query, passage = parts["query"], parts["passage"]
        if _TWO_QUESTIONS in prompt:
            from tendril_assets.sandbox.regulations.stand_in import reply_pair

            return Answer(reply_pair(query, passage, model, effort, repeat), "judge")
        judging = stand_in_model(model)
        if judging.prose and _share(f"prose {model}", query, passage) < judging.prose:
            return Answer("Die Passage betrifft die Anfrage nur am Rande.", "judge")
        grade = judge(query, passage, judging, effort, prompt.rfind("<query>"), repeat)
        return Answer(_dressed(grade, query, passage), "judge")
    if "area" in parts:
        asked_again = bool(prompt[prompt.rfind("</area>") + len("</area>") :].strip())
        wordy = not asked_again and _share("wordy", parts["area"]) < wordy_share
        return Answer(_wordy(parts["area"]) if wordy else summarise(parts["area"]), "summary")
    if "passage" in parts:
        from tendril_assets.sandbox.regulations.stand_in import ask

        return Answer(ask(parts["passage"], model), "question")
    return Answer("Verstanden.", "other")


def judge(
    query: str,
    passage: str,
    model: StandInModel | None = None,
    effort: str | None = None,
    guideline_characters: int = 0,
    repeat: str | None = None,
) -> int:
    """0, 1 or 2 by a model, the usual one by default; the same on every call with the same arguments."""
    judging = stand_in_model(USUAL) if model is None else model
    own = "slip" if judging.name == USUAL else f"slip {judging.name}"
    grade = _opinion(query, passage)
    draw = 1000 * _share(own, query, passage)
    if int(draw) < judging.slips_with(effort, guideline_characters)[grade]:
        grade = {0: 1, 1: 0 if int(draw) % 2 else 2, 2: 1 if int(draw) % 3 else 0}[grade]
    if repeat is not None and _share(f"repeat {judging.name} {repeat}", query, passage) < judging.unsteady:
        grade = {0: 1, 1: 2, 2: 1}[grade]
    return grade


def summarise(area: str, words: int = SUMMARY_WORDS) -> str:
    """The sentences of the area that carry most of its own vocabulary, in their order, at most ``words`` words."""
    sentences = _sentences(area)
    frequency = Counter(stem for sentence in sentences for stem in stems(sentence))
    weight = [sum(frequency[stem] for stem in stems(sentence)) / (len(sentence.split()) or 1) for sentence in sentences]
    chosen: set[int] = set()
    left = words
    for index in sorted(range(len(sentences)), key=lambda i: (i != 0, -weight[i], i)):
        length = len(sentences[index].split())
        if length <= left:
            chosen.add(index)
            left -= length
    if not chosen:
        return " ".join(area.split()[:words])
    return " ".join(sentences[i] for i in sorted(chosen))


def _wordy(area: str) -> str:
    text = " ".join(_sentences(area))
    return text if len(text.split()) > 120 else " ".join([text] * (120 // max(1, len(text.split())) + 1))


def _opinion(query: str, passage: str) -> int:
    asked, said = _asked(query), _said(passage)
    shared = sum(asked.weight.get(stem, 1.0) for stem in asked.stems & said.stems)
    if asked.area is None:
        return _foreign_grade(len(asked.stems & said.stems), len(asked.stems))
    topics = said.topics[asked.area.name]
    answers = [len(criterion.said & said.stems) for criterion in asked.area.criteria]
    around = len(asked.area.around & said.stems)
    if asked.criterion is None:
        return _area_grade(topics, max(answers, default=0), around, shared)
    own = len(asked.criterion.said & said.stems)
    literal = len(asked.criterion.asked & said.stems)
    return _criterion_grade(topics, own, max(answers, default=0), literal)


def _foreign_grade(shared: int, asked: int) -> int:
    """Of another collection: shared words are all there is. Two of a short query count for as much as four of any."""
    if shared >= 4 or (shared >= 2 and 2 * shared >= asked):
        return 2
    return 1 if shared >= 2 or (shared == 1 and asked <= 3) else 0


def _area_grade(topics: int, answered: int, around: int, shared: float) -> int:
    if (answered >= 3 and answered > around) or (topics >= 2 and shared >= 4):
        return 2
    return 1 if around >= 3 or answered >= 2 or topics >= 2 or (topics and shared >= 3) else 0


def _criterion_grade(topics: int, own: int, best: int, literal: int) -> int:
    if (own >= 3 and own >= best) or literal >= 4:
        return 2
    return 1 if best >= 3 and (topics or best >= 4) else 0


@dataclass(frozen=True)
class _Asked:
    stems: frozenset[str]
    weight: dict[str, float]
    area: Area | None
    criterion: Criterion | None


@dataclass(frozen=True)
class _Said:
    stems: frozenset[str]
    topics: Counter[str]


@functools.lru_cache(maxsize=256)
def _asked(query: str) -> _Asked:
    known = knowledge()
    words = stems(query)

    def likeness(area: Area) -> float:
        return sum(known.weight[stem] for stem in words & area.asked)

    best = max(known.areas, key=likeness)
    total = sum(known.weight.get(stem, log(len(known.areas))) for stem in words)
    if not words or likeness(best) < _RECOGNISED * total:
        return _Asked(words, {}, None, None)
    criterion = None
    if _LEVEL_NAMES.search(query):
        criterion = max(best.criteria, key=lambda c: len(words & c.asked))
    return _Asked(words, known.weight, best, criterion)


@functools.lru_cache(maxsize=8192)
def _said(passage: str) -> _Said:
    return _Said(stems(passage), topics_in(passage))


def _sentences(area: str) -> list[str]:
    """Sentences of the area's text; a title line in front is left out."""
    title, _, text = area.strip().partition("\n")
    body = " ".join((text or title).split())
    return [sentence for sentence in _SENTENCE.split(body) if sentence]


def _last_block(prompt: str) -> str:
    """From the last opening delimiter of a query or area on, else of a passage: a guideline may show delimiters before."""
    start = max(prompt.rfind("<query>"), prompt.rfind("<area>"))
    if start < 0:
        start = prompt.rfind("<passage>")
    return prompt[start:] if start >= 0 else ""


def _dressed(grade: int, *texts: str) -> str:
    """A bare digit mostly; JSON or a code fence in some replies, as models write them."""
    draw = _share("form", *texts)
    if draw < 0.03:
        return json.dumps({"relevanz": grade})
    if draw < 0.05:
        return f'```json\n{{"relevanz": {grade}}}\n```'
    return str(grade)


def _share(purpose: str, *texts: str) -> float:
    """A number in [0, 1) by hash."""
    digest = hashlib.blake2b(digest_size=6, person=b"stand-in")
    for text in (purpose, *texts):
        digest.update(text.encode("utf-8", "replace") + b"\0")
    return int.from_bytes(digest.digest(), "big") / 2**48
