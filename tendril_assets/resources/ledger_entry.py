"""One line of the reply ledger: its fields, its statuses and its JSON form.

A line is one JSON object. ``v`` is the schema version; the other fields are the columns of ``judge_calls`` and
``detail``. ``sequence`` is stored in the line, so that taking lines out of a segment renumbers nothing. ``cost`` is a
decimal text: a binary float would not add up to the invoice. Times are UTC, without zone, to the microsecond.
"""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

SCHEMA_VERSION = 2
# Version 1 lacked run, repeat, reply_id, reasoning_tokens and cost_estimate; they read as unknown.
READABLE_VERSIONS = (1, 2)

# A final answer was paid for and would come back the same at temperature 0: it is asked again only by name.
# Failures were not answered; they are open again in the next run.
FINAL_STATUSES = ("answered", "truncated", "filtered")
FAILURE_STATUSES = ("empty", "error", "bad_body")
STATUSES = FINAL_STATUSES + FAILURE_STATUSES

DETAIL_CHARACTERS = 500
# In the order in which a line of the present version has them.
LINE_FIELDS = (
    *("v", "sequence", "request_key", "purpose", "model", "answered_model", "provider", "status", "http_status"),
    *("finish_reason", "content", "prompt_tokens", "completion_tokens", "cached_tokens", "cost", "attempts", "seconds"),
    *("called_at", "detail", "reasoning_tokens", "cost_estimate", "reply_id", "repeat", "run"),
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def _text(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)


def _count(value: int | None) -> str:
    return "null" if value is None else str(value)


def _amount(value: Decimal | None) -> str:
    return "null" if value is None else f'"{value:f}"'


def _moment(value: datetime) -> str:
    moment = value if value.tzinfo is UTC else value.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[:26]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """The outcome of one request, after all attempts at it; the fields are explained in table ``judge_calls``.

    ``cost``: USD over all attempts, None where the gateway did not say, 0 where it was free. ``cost_estimate``: USD by
    token prices for the attempts of which it did not say; the worst case where it named no tokens, None where the price
    is unknown or all costs were named. ``repeat`` tells apart the answers of a request that is asked again on purpose.
    ``detail``: of a failure, at most the first 500 characters of the reply body. ``sequence`` is given by the writer.

    Raises ValueError for an unknown status, an empty key, a negative or non-finite cost, or a time without zone.
    """

    request_key: str
    purpose: str
    model: str
    status: str
    attempts: int
    seconds: float
    called_at: datetime
    answered_model: str | None = None
    provider: str | None = None
    http_status: int | None = None
    finish_reason: str | None = None
    content: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost: Decimal | None = None
    detail: str | None = None
    reasoning_tokens: int | None = None
    cost_estimate: Decimal | None = None
    reply_id: str | None = None
    repeat: str | None = None
    run: str | None = None
    sequence: int | None = None

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"unknown status {self.status!r}; a ledger entry has one of {', '.join(STATUSES)}")
        if not self.request_key:
            raise ValueError("a ledger entry needs a request key")
        for cost in (self.cost, self.cost_estimate):
            if cost is not None and not (cost.is_finite() and cost >= 0):
                raise ValueError(f"cost {cost} is no amount of money; an unknown cost is None")
        if self.called_at.tzinfo is None:
            raise ValueError("called_at needs a time zone: use datetime.now(UTC)")

    def to_line(self, sequence: int) -> bytes:
        """The entry as one UTF-8 line with its newline. Lone surrogates become U+FFFD: UTF-8 has no form for them."""
        if not isfinite(self.seconds):
            raise ValueError(f"seconds {self.seconds} is no length of time")
        detail = None if self.detail is None else self.detail[:DETAIL_CHARACTERS]
        # Written out, in the order of LINE_FIELDS: it is half of what an answer costs here, and a general encoder takes
        # twice as long for it.
        text = (
            f'{{"v":{SCHEMA_VERSION},"sequence":{sequence},"request_key":{_text(self.request_key)},'
            f'"purpose":{_text(self.purpose)},"model":{_text(self.model)},"answered_model":{_text(self.answered_model)},'
            f'"provider":{_text(self.provider)},"status":"{self.status}","http_status":{_count(self.http_status)},'
            f'"finish_reason":{_text(self.finish_reason)},"content":{_text(self.content)},'
            f'"prompt_tokens":{_count(self.prompt_tokens)},"completion_tokens":{_count(self.completion_tokens)},'
            f'"cached_tokens":{_count(self.cached_tokens)},"cost":{_amount(self.cost)},"attempts":{self.attempts},'
            f'"seconds":{round(float(self.seconds), 6)!r},"called_at":"{_moment(self.called_at)}","detail":{_text(detail)},'
            f'"reasoning_tokens":{_count(self.reasoning_tokens)},"cost_estimate":{_amount(self.cost_estimate)},'
            f'"reply_id":{_text(self.reply_id)},"repeat":{_text(self.repeat)},"run":{_text(self.run)}}}'
        )
        try:
            return (text + "\n").encode()
        except UnicodeEncodeError:
            return (_SURROGATE.sub("\ufffd", text) + "\n").encode()

    @classmethod
    def from_line(cls, line: bytes) -> "LedgerEntry":
        """Read one line back. Raises ValueError where it is no entry, or one of a newer schema."""
        return cls.from_fields(json.loads(line))

    @classmethod
    def from_fields(cls, fields: Any) -> "LedgerEntry":
        """Read the JSON value of a line. Raises ValueError as ``from_line`` does."""
        if not isinstance(fields, dict):
            raise ValueError("the line is no JSON object")
        fields = dict(fields)
        version = fields.pop("v", None)
        if version not in READABLE_VERSIONS:
            raise ValueError(f"schema version {version!r}; this program reads versions up to {SCHEMA_VERSION}")
        try:
            fields["called_at"] = datetime.fromisoformat(fields["called_at"]).replace(tzinfo=UTC)
            for name in ("cost", "cost_estimate"):
                amount = fields.get(name)
                if not isinstance(amount, str | None):
                    raise ValueError(f"{name} {amount!r} is no decimal text")
                fields[name] = None if amount is None else Decimal(amount)
            return cls(**fields)
        except (KeyError, TypeError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"fields do not fit: {error!r}") from error
