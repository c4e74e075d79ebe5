"""Requests for the summaries of areas of action, and the summaries read from their replies.

A summary over the set length is asked for once more, by the same prompt with a note appended. Both requests are known
beforehand, so a finished collection can be read from the ledger alone.
"""

import functools
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from tendril_assets.judging.prompts import Message, Template, read_prompt
from tendril_assets.judging.request import RequestFactory
from tendril_assets.queries.wording import Summary, read_summary
from tendril_assets.tables import TABLES

PROMPTS = Path(__file__).parent / "prompts"
AREA_SUMMARY = "area_summary_de"
ATTEMPTS = (1, 2)
OPEN = "open"


@dataclass(frozen=True)
class SummaryPrompt:
    """``hash``: 16 hex digits over the whole prompt file."""

    name: str
    version: str
    system: str = field(repr=False)
    user: Template = field(repr=False)
    retry_note: Template = field(repr=False)
    hash: str

    def messages(self, title: str, text: str, max_words: int, attempt: int = 1) -> list[Message]:
        """Chat messages for one area; from the second attempt on with the note appended."""
        user = self.user.render(title=title, text=text, max_words=str(max_words))
        if attempt > 1:
            user += "\n\n" + self.retry_note.render(max_words=str(max_words))
        return [{"role": "system", "content": self.system}, {"role": "user", "content": user}]


@functools.cache
def load_summary_prompt(name: str = AREA_SUMMARY) -> SummaryPrompt:
    """The prompt ``queries/prompts/<name>.yaml``. Raises SettingsError for a missing or malformed one."""
    content = read_prompt(PROMPTS / f"{name}.yaml", extra=("retry_note",))
    return SummaryPrompt(
        content["name"],
        content["version"],
        content["system"],
        Template.parse(content["user"], ("max_words", "title", "text"), f"prompt {name}: user"),
        Template.parse(content["retry_note"], ("max_words",), f"prompt {name}: retry_note"),
        content["hash"],
    )


def summary_requests(
    areas: pl.DataFrame, factory: RequestFactory, prompt: SummaryPrompt, max_words: int
) -> pl.DataFrame:
    """Two rows per area, ordered by area and attempt: area, attempt, request_key, title, text.

    ``areas``: area, title, text.
    """
    rows = []
    for area, title, text in areas.select("area", "title", "text").sort("area").iter_rows():
        for attempt in ATTEMPTS:
            key = factory.key(prompt.messages(title, text, max_words, attempt))
            rows.append((area, attempt, key, title, text))
    schema = {
        "area": pl.String(),
        "attempt": pl.Int8(),
        "request_key": pl.String(),
        "title": pl.String(),
        "text": pl.String(),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def choose_summaries(requests: pl.DataFrame, calls: pl.DataFrame, model: str, max_words: int) -> pl.DataFrame:
    """Rows of ``area_summaries``: the first attempt's reply, or the second's where the first was too long.

    Args:
        requests: as ``summary_requests`` gives them.
        calls: request_key, status, finish_reason, content, at most one row per key.

    An area whose reply is still missing has the status ``open`` and the key of the request that waits.
    """
    replies = {
        key: (status, reason, content)
        for key, status, reason, content in calls.select(
            "request_key", "status", "finish_reason", "content"
        ).iter_rows()
    }
    keys: dict[str, list[str]] = {}
    for area, key in requests.sort("area", "attempt").select("area", "request_key").iter_rows():
        keys.setdefault(area, []).append(key)
    rows = []
    for area, attempts in keys.items():
        summary, used = Summary(OPEN), attempts[0]
        for key in attempts:
            summary, used = Summary(OPEN), key
            if key in replies:
                status, reason, content = replies[key]
                summary = read_summary(content, reason, max_words, status)
            if summary.status != "too_long":
                break
        rows.append((area, summary.status, summary.text, summary.words, model, used))
    return TABLES["area_summaries"].frame(rows)
