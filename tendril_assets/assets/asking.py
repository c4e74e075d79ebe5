"""Asking the gateway: what every step on the ``judge_api`` pool does with a frame of requests.

Such a step opens no warehouse. It reads a hand-over file, leaves out what the ledger has answered, streams the rest to
the gateway and reports. A stop of any kind loses nothing: the next run asks only what is open.
"""

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator
from decimal import Decimal
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.errors import BudgetReached, GatewayError
from tendril_assets.judging.prompts import Message
from tendril_assets.judging.request import RequestFactory
from tendril_assets.resources.gateway import Gateway, progress_to
from tendril_assets.resources.gateway_run import BUDGET, GatewayRequest, RunSummary
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.lock import exclusive
from tendril_assets.settings import Settings

LOG_SECONDS = 5.0
# Longest wait for another process that asks; it may go on for days, so the step says so and ends.
WAIT_S = 30.0

# What a replies asset yields: observations on the way to an error, or its result.
Replies = Iterator[dg.AssetObservation | dg.MaterializeResult]


def open_ledger() -> Ledger:
    """The reply ledger of this installation. Raises LedgerError where its folder cannot be used."""
    return Ledger(Settings.from_env().ledger)


def ask(
    context: dg.AssetExecutionContext,
    gateway: Gateway,
    ledger: Ledger,
    requests: pl.DataFrame,
    *,
    purpose: str,
    factory: RequestFactory,
    messages: Callable[[dict[str, Any]], list[Message]],
    allow_incomplete: bool = False,
) -> Generator[dg.AssetObservation, None, dict[str, Any]]:
    """Ask the open requests among the rows of ``requests``, in their order; returns the asset's metadata.

    Before an error it yields an observation: the metadata of a step that fails is lost, what is left to do is not.

    Args:
        requests: ``request_key`` and whatever ``messages`` needs of a row; a key that occurs twice is asked once.
        messages: the chat messages of a row; rendered only when the request goes out.

    Raises:
        BudgetReached: a cap was reached and ``allow_incomplete`` is not set. What was answered is kept.
        DatabaseLocked: another process is asking for the same ledger; names it.
        InsufficientCredits, GatewayRefused, GatewayError, LedgerError: as the gateway client raises them.
    """
    # Pools serialise the runs of one Dagster instance; this also keeps another instance on the same ledger from asking
    # (and paying for) the same open requests at the same time.
    with exclusive(ledger.folder / ".asking", f"ask {purpose}", WAIT_S):
        asked = requests.unique("request_key", keep="first", maintain_order=True)
        answered = pl.DataFrame({"request_key": list(ledger.answered_keys())}, schema={"request_key": pl.String})
        waiting = asked.join(answered, on="request_key", how="anti", maintain_order="left")
        context.log.info(f"{purpose}: {asked.height:,} requests, {waiting.height:,} open")
        if waiting.height and not factory.pinned:
            context.log.warning(
                f"{factory.llm.model}: no provider is pinned, so answers may come from different inference stacks; "
                "the route that answered is recorded in judge_calls"
            )
        before = {"requests": asked.height, "answered_before": asked.height - waiting.height}
        if waiting.is_empty():
            return {**before, "state": "complete", "open": 0, "calls": 0}
        rows = waiting.iter_rows(named=True)
        stream = (GatewayRequest(row["request_key"], purpose, factory.body(messages(row))) for row in rows)
        try:
            summary = gateway.answer(
                stream, ledger, total=waiting.height, on_progress=progress_to(context.log, LOG_SECONDS)
            )
        except GatewayError as error:
            yield _observed(context, {**before, "state": type(error).__name__, "open": error.n_open})
            raise
        context.log.info(str(summary))
        metadata = {**before, **_figures(summary)}
        if summary.state == BUDGET and not allow_incomplete:
            yield _observed(context, metadata)
            raise BudgetReached(
                f"{purpose}: a cap was reached with {summary.n_open:,} of {waiting.height:,} requests open. Answers are "
                "kept; raise TENDRIL_MAX_USD or TENDRIL_MAX_CALLS and run again: only the open requests are asked.",
                n_open=summary.n_open,
            )
        return metadata


def data_version(ledger: Ledger, keys: Iterable[str]) -> dg.DataVersion:
    """Hash of those ``keys`` that are answered: a step downstream is stale exactly when an answer came or went."""
    return keys_version(ledger.answered_keys().intersection(keys))


def keys_version(keys: Iterable[str]) -> dg.DataVersion:
    """Hash of a set of request keys: equal requests in another order are the same data."""
    return dg.DataVersion(hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()[:32])


def _observed(context: dg.AssetExecutionContext, metadata: dict[str, Any]) -> dg.AssetObservation:
    known = {name: value for name, value in metadata.items() if value is not None}
    return dg.AssetObservation(context.asset_key, metadata=known)


def _figures(summary: RunSummary) -> dict[str, Any]:
    """A summary as metadata. Money is text: a float would not add up to the invoice."""
    figures: dict[str, Any] = {
        "state": summary.state,
        "asked": summary.requests,
        "answered": summary.answered,
        "failed": summary.failed,
        "open": summary.n_open,
        "calls": summary.calls,
        "calls_per_s": round(summary.calls / summary.seconds, 2) if summary.seconds else 0.0,
        "seconds": round(summary.seconds, 1),
        "cost_usd": format(summary.cost + Decimal(0), "f"),
        "cost_known": summary.cost_known,
        "cost_unknown": summary.cost_unknown,
        "prompt_tokens": summary.prompt_tokens,
        "completion_tokens": summary.completion_tokens,
        "cached_tokens": summary.cached_tokens,
    }
    rows = "\n".join(f"| {status} | {n:,} |" for status, n in summary.by_status.items())
    return {**figures, "by_status": dg.MetadataValue.md(f"| status | requests |\n|---|---:|\n{rows}")}
