"""Asking the gateway: what every step on the ``judge_api`` pool does with a frame of requests.

Such a step opens no warehouse. It reads a hand-over file, leaves out what the ledger has answered, streams the rest to
the gateway and reports. A stop of any kind loses nothing: the next run asks only what is open.
"""

import contextlib
import hashlib
from collections.abc import Callable, Generator, Iterator
from decimal import Decimal
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.asking_watch import Watch, tell_complete
from tendril_assets.errors import BudgetReached, DatabaseLocked, GatewayError, LedgerError, SettingsError
from tendril_assets.judging.prefix_order import by_prefix
from tendril_assets.judging.prompts import Message
from tendril_assets.judging.purposes import HAND_OVERS
from tendril_assets.judging.request import RequestFactory, parameters
from tendril_assets.resources.asking_progress import Standing
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.gateway_run import BUDGET, COMPLETE, GatewayRequest, RunSummary
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.lock import exclusive
from tendril_assets.settings import Settings

# What the prompts of rows with equal values here have in common, as far as a frame has these columns.
PREFIX = ("system", "guideline", "query_text")
# Longest wait for another process that asks; it may go on for days, so the step says so and ends.
WAIT_S = 30.0

STOPPED = "stopped"
RESUME = "Every answer is kept. Run again: only what is open is asked."

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
    factory: RequestFactory | Callable[[dict[str, Any]], RequestFactory],
    messages: Callable[[dict[str, Any]], list[Message]],
    allow_incomplete: bool = False,
) -> Generator[dg.AssetObservation, None, dict[str, Any]]:
    """Ask the open requests among the rows of ``requests``; returns the asset's metadata. They go out by query, in the
    order that lets the provider's prompt cache serve what those of one query share (``judging.prefix_order``).

    Before an error it yields an observation: the metadata of a step that fails is lost, what is left to do is not.

    Args:
        requests: ``request_key`` and whatever ``messages`` needs of a row; a key that occurs twice is asked once. Where
            there is a column ``repeat``, it holds the label that the key was made with: an answer asked for once more.
        factory: of all requests, or of each row where they go to several models.
        messages: the chat messages of a row; rendered only when the request goes out.

    Raises:
        SettingsError: a request that the specification makes now is another one than was handed over, so its answer would
            lie under the wrong key. What went out before is kept.
        BudgetReached: a cap of the run was reached and ``allow_incomplete`` is not set. What was answered is kept.
        DatabaseLocked: another process is asking for the same ledger; names it.
        InsufficientCredits, GatewayRefused, GatewayError, LedgerError: as the gateway client raises them.
    """
    # Pools serialise the runs of one Dagster instance; this also keeps another instance on the same ledger from asking
    # (and paying for) the same open requests at the same time.
    with _alone(ledger, purpose):
        asked = requests.unique("request_key", keep="first", maintain_order=True)
        waiting = asked.join(
            ledger.answered().to_frame("request_key"), on="request_key", how="anti", maintain_order="left"
        )
        context.log.info(f"{purpose}: {asked.height:,} requests, {waiting.height:,} open")
        if waiting.height and isinstance(factory, RequestFactory) and not factory.pinned:
            context.log.warning(
                f"{factory.llm.model}: no provider is pinned, so answers may come from different inference stacks; "
                "the route that answered is recorded in judge_calls"
            )
        before = {"requests": asked.height, "answered_before": asked.height - waiting.height}
        collection, *step = context.asset_key.path
        standing = Standing.beginning((collection, "_".join(step)), purpose, context.run.run_id, *before.values())
        if waiting.is_empty():
            tell_complete(context, ledger, standing)
            _compact(context, ledger)
            return {**before, "state": COMPLETE, "open": 0, "calls": 0}
        waiting = by_prefix(waiting, PREFIX, gateway.concurrency)
        rows = waiting.iter_rows(named=True)

        def request(row: dict[str, Any]) -> GatewayRequest:
            own = factory if isinstance(factory, RequestFactory) else factory(row)
            said, repeat = messages(row), row.get("repeat")
            if own.key(said, repeat) != row["request_key"]:
                raise SettingsError(other_request(collection, purpose))
            return GatewayRequest(row["request_key"], purpose, own.body(said), repeat)

        stream = map(request, rows)
        watch = Watch(context, ledger, standing)
        try:
            summary = gateway.answer(
                stream,
                ledger,
                total=waiting.height,
                on_progress=watch,
                run=context.run.run_id,
                spent=ledger.spent(context.run.run_id),
                proven=_proven(factory, asked.height - waiting.height),
            )
        except GatewayError as error:
            watch.end(type(error).__name__)
            yield _observed(context, {**before, "state": type(error).__name__, "open": error.n_open})
            raise
        except BaseException as error:
            # An interrupt, of Python or of Dagster, is no Exception.
            watch.end(type(error).__name__ if isinstance(error, Exception) else STOPPED)
            # Running again mends a stop; what an error needs is in its message.
            what_next = "Every answer is kept." if isinstance(error, Exception) else RESUME
            context.log.info(f"{purpose}: {watch.standing.state}; {watch.standing}. {what_next}")
            raise
        watch.end(summary.state)
        context.log.info(str(summary))
        _compact(context, ledger)
        metadata = {**before, **_figures(summary)}
        if summary.state == BUDGET and not allow_incomplete:
            yield _observed(context, metadata)
            raise BudgetReached(_cap_message(context, gateway, ledger, purpose, summary), n_open=summary.n_open)
        return metadata


@contextlib.contextmanager
def _alone(ledger: Ledger, purpose: str) -> Generator[None]:
    """The one process that asks for this ledger. Raises DatabaseLocked, and LedgerError for a folder it cannot use."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(exclusive(ledger.folder / ".asking", f"ask {purpose}", WAIT_S))
        except OSError as error:
            raise LedgerError(
                f"the ledger folder {ledger.folder} cannot be written ({error.strerror}): replies that are paid for need a "
                "place. Correct its permissions, then run again; nothing was asked."
            ) from error
        yield


def other_request(collection: str, purpose: str) -> str:
    """What is said of requests that were written for another specification than today's."""
    handed = HAND_OVERS[purpose]
    return (
        f"{purpose}: a request in {handed.file} is another one than the specification makes now: a model, a parameter, a "
        f"prompt or a guideline was changed since. Nothing was asked of this one. Materialise {collection}/{handed.step} "
        "again: it writes the requests anew; answers to the former ones are kept."
    )


def _proven(factory: RequestFactory | Callable[[dict[str, Any]], RequestFactory], answered: int) -> tuple[str, ...]:
    """The parameters of the requests, where some of them were answered before."""
    return (parameters(factory.body([])),) if answered and isinstance(factory, RequestFactory) else ()


def _compact(context: dg.AssetExecutionContext, ledger: Ledger) -> None:
    """Segments become Parquet once there is enough of them. The answers are safe either way, so what goes wrong here is
    said and fails no step."""
    try:
        done = ledger.compact()
    except (LedgerError, DatabaseLocked) as error:
        context.log.warning(f"the ledger was not compacted: {error}")
        return
    if done.files:
        context.log.info(
            f"ledger compacted: {done.entries:,} replies, {done.bytes_before:,} bytes became {done.bytes_after:,}"
        )


def _cap_message(
    context: dg.AssetExecutionContext, gateway: Gateway, ledger: Ledger, purpose: str, summary: RunSummary
) -> str:
    """What was spent in this run, where it stopped, what is open and about what that will cost."""
    caps = {"TENDRIL_MAX_USD": gateway.max_usd, "TENDRIL_MAX_CALLS": gateway.max_calls}
    named = " and ".join(f"{name}={cap}" for name, cap in caps.items() if cap is not None)
    spent = ledger.spent(context.run.run_id)
    if summary.cost_known:
        about = summary.cost / summary.cost_known * summary.n_open
        cost = f"about {about:.4f} USD more, going by what this step has paid so far"
    else:
        cost = "an amount that nothing is known of yet: see tendril estimate"
    # With nothing asked at all, running again would end at the same place.
    resume = f"{RESUME} A cap holds for each run anew; raise it to get further in one."
    if not summary.calls:
        resume = "What is left of the cap does not cover the most that one request can cost or needs: raise it, then run again."
    return (
        f"{purpose}: a cap of this run ({named}) was reached in step {context.asset_key.to_user_string()}. The run has "
        f"spent {spent.usd:f} USD (estimates of unnamed costs included) in {spent.calls:,} calls; {summary.n_open:,} of the "
        f"step's requests are open and will cost {cost}. {resume}"
    )


def data_version(ledger: Ledger, keys: pl.Series) -> dg.DataVersion:
    """Hash of those ``keys`` that are answered: a step downstream is stale exactly when an answer came or went."""
    asked = keys.to_frame("request_key")
    return keys_version(asked.join(ledger.answered().to_frame("request_key"), on="request_key", how="semi").to_series())


def keys_version(keys: pl.Series) -> dg.DataVersion:
    """Hash of a set of request keys: equal requests in another order are the same data."""
    return dg.DataVersion(hashlib.sha256("\n".join(keys.unique().sort()).encode()).hexdigest()[:32])


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
        "cost_estimate_usd": format(summary.cost_estimate + Decimal(0), "f"),
        "prompt_tokens": summary.prompt_tokens,
        "completion_tokens": summary.completion_tokens,
        "cached_tokens": summary.cached_tokens,
        "rate_limited": summary.rate_limited,
        "lowest_limit": summary.lowest_limit,
    }
    if summary.cached_share is not None:
        figures["cached_share"] = round(summary.cached_share, 4)
    rows = "\n".join(f"| {status} | {n:,} |" for status, n in summary.by_status.items())
    return {**figures, "by_status": dg.MetadataValue.md(f"| status | requests |\n|---|---:|\n{rows}")}
