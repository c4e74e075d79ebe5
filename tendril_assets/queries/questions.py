"""Questions that language models write over passages: which passages are asked about, the requests, the replies.

A passage is asked about once, whatever the number of sets. Of each group at most ``per_group`` passages are drawn, by name
(``identifiers.keyed_order``), so a new group or passage never reshuffles the others. A set with a number of questions takes
them round by round: first one passage of each group, then a second one, so that no long act crowds out short ones.
"""

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.identifiers import keyed_orders, nfc
from tendril_assets.errors import SettingsError
from tendril_assets.judging.answer_form import OK, PARSE_ERROR
from tendril_assets.judging.parse import parse_finish, without_thinking
from tendril_assets.judging.prompts import Message, Template, read_prompt
from tendril_assets.judging.request import RequestFactory
from tendril_assets.queries.generation import PROMPTS
from tendril_assets.queries.languages import LanguageRules
from tendril_assets.spec_registers import GeneratedSet, GenerationSpec

DECLINED, SEVERAL, TOO_LONG, EMPTY = "declined", "several", "too_long", "empty"
NO_QUESTION = "no_question"
# A search query of more words is an essay; the longest the prompts ask for is 40.
MAX_WORDS = 60
PREFIX = "q-"
_HEX_DIGITS = 20
_QUOTES = {'"': '"', "'": "'", "„": "“", "“": "”", "«": "»", "`": "`"}
_FENCE = re.compile(r"\A(```|~~~)\w*[ \t]*\n(.*?)\n?\1\Z", re.DOTALL)
# A list mark; not the number of a clause, which goes on in digits.
_MARK = re.compile(r"(?:[-*•–—]|\(?[0-9]{1,2}[.)])\s+")
_ASKS = re.compile(r"\?(?=\s|$)")
_MARKUP = ("{", "[", "<")
REQUESTED = {
    "request_key": pl.String(),
    "question_set": pl.String(),
    "passage_id": pl.String(),
    "document_id": pl.String(),
    "group_id": pl.String(),
    "split": pl.String(),
    "level": pl.String(),
    "model": pl.String(),
    "family": pl.String(),
    "passage_text": pl.String(),
}


@dataclass(frozen=True)
class QuestionPrompt:
    """``declined``: the word by which a model says that a passage holds nothing to ask. ``hash``: 16 hex digits of the file."""

    name: str
    version: str
    language: str
    system: str = field(repr=False)
    user: Template = field(repr=False)
    declined: str
    hash: str

    @property
    def identity(self) -> str:
        return f"{self.name} {self.version} ({self.hash})"

    def messages(self, passage: str) -> list[Message]:
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.user.render(passage=passage)},
        ]


@functools.cache
def load_question_prompt(name: str) -> QuestionPrompt:
    """The prompt ``queries/prompts/<name>.yaml``. Raises SettingsError for a missing or malformed one."""
    content = read_prompt(PROMPTS / f"{name}.yaml", extra=("declined",))
    user = Template.parse(content["user"], ("passage",), f"prompt {name}: user")
    named = (content[part] for part in ("name", "version", "language", "system"))
    return QuestionPrompt(*named, user, content["declined"].strip(), content["hash"])


def draw_passages(
    passages: pl.DataFrame, generation: GenerationSpec, seed: int, published: Collection[str] = ()
) -> pl.DataFrame:
    """The passages that are asked about: ``question_set`` beside the columns of ``passages``, ordered by set and draw.

    ``passages``: passage_id, document_id, group_id, split, text. Left out are those with fewer than ``min_characters``,
    and of equal texts of a split all but the first drawn: one answer would serve them all. Sets of one split share the
    limit of a group, in the order of the specification. ``published``: passages that a published question was written
    from; they come first everywhere, so that new passages and acts push none of them out.
    """
    long_enough = passages.filter(pl.col("text").str.len_chars() >= generation.min_characters)
    order = pl.Series(keyed_orders(seed, "questions", long_enough["passage_id"]), dtype=pl.Int64)
    is_new = ~pl.col("passage_id").is_in(sorted(published))
    drawn = long_enough.with_columns(order=order, is_new=is_new).sort("is_new", "order", "passage_id")
    drawn = drawn.unique(["split", "text"], keep="first", maintain_order=True)
    taken: dict[str, int] = {}
    asked: set[str] = set()
    parts = []
    for name, part in generation.sets.items():
        room = {group: generation.per_group - taken.get(group, 0) for group in set(drawn["group_id"])}
        free = drawn.filter(split=part.split).filter(~pl.col("passage_id").is_in(sorted(asked)))
        ranked = free.with_columns(round=pl.int_range(pl.len(), dtype=pl.Int64).over("group_id"))
        ranked = ranked.filter(
            pl.col("round") < pl.col("group_id").replace_strict(room, default=0, return_dtype=pl.Int64)
        )
        chosen = ranked.sort("is_new", "round", "order", "passage_id").head(part.questions or ranked.height)
        asked.update(chosen["passage_id"])
        for group, n in Counter(chosen["group_id"]).items():
            taken[group] = taken.get(group, 0) + n
        parts.append(chosen.select(pl.lit(name).alias("question_set"), *passages.columns))
    return pl.concat(parts)


def question_requests(drawn: pl.DataFrame, generation: GenerationSpec, prompt: QuestionPrompt) -> pl.DataFrame:
    """One row per drawn passage, in the order of ``drawn`` (``draw_passages``), with the columns of ``REQUESTED``."""
    makers = _makers(generation)
    keys = [makers[name].key(prompt.messages(text)) for name, text in drawn.select("question_set", "text").iter_rows()]

    def of_set(value: Callable[[GeneratedSet], str]) -> pl.Expr:
        values = {name: value(part) for name, part in generation.sets.items()}
        return pl.col("question_set").replace_strict(values, return_dtype=pl.String)

    rows = drawn.with_columns(
        request_key=pl.Series(keys, dtype=pl.String),
        level=of_set(lambda part: part.level),
        model=of_set(lambda part: part.llm.model),
        family=of_set(lambda part: part.family),
        passage_text="text",
    )
    return rows.select(*REQUESTED)


def factory_of(generation: GenerationSpec) -> Callable[[dict], RequestFactory]:
    """What makes the request of a row: its set's model. It raises SettingsError for a set that ``generation`` lacks."""
    makers = _makers(generation)

    def factory(row: dict) -> RequestFactory:
        if (name := row["question_set"]) not in makers:
            raise SettingsError(
                f"the requests hold set {name!r}, which the specification does not name (registers.generation.sets: "
                f"{', '.join(makers)}): materialise generation_requests again; nothing was asked of this one"
            )
        return makers[name]

    return factory


def _makers(generation: GenerationSpec) -> dict[str, RequestFactory]:
    return {name: RequestFactory(part.llm) for name, part in generation.sets.items()}


class Reply(NamedTuple):
    """``text`` is None unless ``status`` is ``ok``, ``several``, ``too_long`` or ``no_question``."""

    status: str
    text: str | None = None


def read_question(
    content: str | None, finish_reason: str | None, call_status: str, declined: str, language: LanguageRules
) -> Reply:
    """A reply as one question in one line.

    Think blocks, one code fence, emphasis, a list mark, a label (as in ``Question: ...``) and outer quotes are taken off,
    and a first line that only announces the question. Statuses: ``ok``; ``declined``, where it is the prompt's word for
    that; ``several`` where more than one line is left, or more than one question mark ends a sentence; ``too_long`` above
    ``MAX_WORDS`` words; ``no_question`` for markup and for a text that neither ends in a question mark nor asks by its
    words (a refusal, an answer); ``empty``; ``parse_error`` for an unclosed think block; otherwise the failure of the call.
    Never raises on any text.
    """
    failure = parse_finish(content, finish_reason, call_status)
    if failure is not None:
        return Reply(failure)
    answer = without_thinking(content or "")
    if answer is None:
        return Reply(PARSE_ERROR)
    fenced = _FENCE.match(answer)
    lines = [line for raw in (fenced[2] if fenced else answer).splitlines() if (line := _line(raw))]
    if len(lines) > 1 and lines[0].strip("*_ ").endswith(":"):
        lines = lines[1:]
    text = _bare(" ".join(lines), language.label)
    if not text:
        return Reply(EMPTY)
    if len(lines) > 1 or len(_ASKS.findall(text)) > 1:
        return Reply(SEVERAL, text)
    if text.strip(".!? ").casefold() == nfc(declined).casefold():
        return Reply(DECLINED)
    if len(text.split()) > MAX_WORDS:
        return Reply(TOO_LONG, text)
    asks = _ASKS.search(text) or language.asks.search(text)
    return Reply(OK if asks and not text.startswith(_MARKUP) else NO_QUESTION, text)


def _bare(line: str, label: re.Pattern[str]) -> str:
    text = line
    while True:
        before = text
        text = text.strip("*_ ").strip()
        if mark := _MARK.match(text):
            text = text[mark.end() :]
        if said := label.match(text):
            text = text[said.end() :]
        if len(text) >= 2 and _QUOTES.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
            text = text[1:-1].strip()
        if text == before:
            return text


def _line(text: str) -> str:
    """NFC, all white space runs as one blank."""
    return re.sub(r"\s+", " ", nfc(text)).strip()


def question_id(passage_id: str, text: str) -> str:
    """``q-`` id of a question: of the passage and the wording alone, so no id ever changes its text."""
    parts = (nfc(passage_id).encode(), nfc(text).encode())
    framed = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return PREFIX + hashlib.sha256(framed).hexdigest()[:_HEX_DIGITS]
