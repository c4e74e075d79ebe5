"""The gateway client: every request asked once, every outcome in the ledger.

See ``gateway_worker`` for how requests are handed out, retried and stopped. The key and the texts are in no log line
and in no exception.
"""

import asyncio
import contextlib
import json
import logging
import signal
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Sized
from dataclasses import replace
from decimal import Decimal
from types import FrameType
from typing import Any

import httpx

from tendril_assets.errors import GatewayError
from tendril_assets.judging.prices import Prices
from tendril_assets.resources.caps import Caps, Spent
from tendril_assets.resources.gateway_run import Endpoint, GatewayRequest, Progress, RunSummary
from tendril_assets.resources.gateway_worker import IteratorFailed, Run
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.replies import read_cost
from tendril_assets.resources.retry import RetryPolicy

__all__ = [
    "Caps",
    "Endpoint",
    "GatewayRequest",
    "Prices",
    "Progress",
    "RetryPolicy",
    "RunSummary",
    "Spent",
    "answer",
    "fetch_prices",
]

_log = logging.getLogger(__name__)


def answer(
    requests: Iterable[GatewayRequest],
    ledger: Ledger,
    *,
    endpoint: Endpoint,
    concurrency: int = 16,
    caps: Caps | None = None,
    retry: RetryPolicy | None = None,
    timeout_s: float = 180.0,
    total: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: threading.Event | None = None,
    run: str | None = None,
    spent: Spent | None = None,
    proven: Collection[str] = (),
) -> RunSummary:
    """Ask every request once and store each outcome in the ledger; returns when all are done, or cannot go on.

    The caller leaves out what ``ledger.answered()`` holds; a key that comes twice in ``requests`` is asked once.
    ``total`` is the number of requests where ``requests`` has no length. ``timeout_s`` bounds one attempt as a whole.
    ``concurrency`` is the most that is in flight; a gateway that refuses for congestion gets fewer for a while.
    ``caps`` hold for a run of several such steps: ``run`` is its name, written into each entry, and ``spent`` what its
    earlier steps used up. Costs the gateway does not name are estimated by ``caps.prices``, or by the package's list.
    ``proven``: ``parameters`` of the bodies that have been answered in an earlier run. What a model refuses with 400 or
    422 once it has answered with the same parameters, then or in this run, is that request's own failure; 20 in a row
    end the run like any other refusal.
    ``on_progress`` is called at most every half second, in this thread. ``stop``, SIGTERM and SIGINT (in the main
    thread) end the run: nothing new is handed out, what is in flight is finished and stored, and a signal is then
    delivered to its former handler; one that comes some seconds later abandons what is in flight, with an entry each,
    for it may have been charged. A cap ends the run in the same order. In both cases the summary says so in ``state``
    and ``n_open``.

    Raises:
        InsufficientCredits: 402; ``n_open`` requests are left.
        GatewayRefused: 400, 401, 403, 404 or another status that asking again does not change.
        GatewayError: the gateway is down (many requests in a row failed after all their attempts), cannot be reached
            at all, or shows a certificate that cannot be verified.
        LedgerError: the ledger cannot be written; what it acknowledged is stored.
        SettingsError: a body without ``max_tokens``, or a money cap for a model without a known price.
    """
    caps = caps or Caps()
    if caps.max_usd is not None and caps.prices is None:
        caps = replace(caps, prices=fetch_prices(endpoint))
    if total is None and isinstance(requests, Sized):
        total = len(requests)
    with ledger.writer() as writer:
        asking = Run(
            requests=iter(requests),
            writer=writer,
            endpoint=endpoint,
            concurrency=concurrency,
            caps=caps,
            policy=retry or RetryPolicy(),
            timeout_s=timeout_s,
            total=total,
            run=run,
            spent=spent,
            proven=proven,
        )
        with _signals(asking) as caught:
            asyncio.run(asking.go(on_progress, stop))
    summary = asking.summary()
    _log.info("%s", summary)
    if asking.failure is not None:
        _raise(asking.failure, summary)
    if caught:
        signal.raise_signal(caught[0])
    return summary


def fetch_prices(endpoint: Endpoint) -> dict[str, Prices]:
    """Prices by model from the gateway's ``/models`` list; models with an unreadable price are left out.

    Raises GatewayError where there is no such list.
    """
    try:
        with httpx.Client(trust_env=not endpoint.is_local, timeout=30.0) as client:
            response = client.get(endpoint.url("models"), headers={"Authorization": f"Bearer {endpoint.api_key}"})
        models = json.loads(response.content, parse_float=Decimal)["data"] if response.status_code == 200 else None
        # Servers of one's own list models without prices.
        rows = [(m["id"], m.get("pricing")) for m in models or []]
    except (httpx.HTTPError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise GatewayError(f"the price list {endpoint.url('models')} cannot be read: {type(error).__name__}") from None
    if models is None:
        raise GatewayError(
            f"the price list {endpoint.url('models')} answered {response.status_code}", status=response.status_code
        )
    prices = {}
    for model, pricing in rows:
        if not (isinstance(model, str) and isinstance(pricing, dict)):
            continue
        # Tokens without a price are not free but unknown; a price per request is named where there is one.
        prompt, completion = _price(pricing.get("prompt")), _price(pricing.get("completion"))
        request = pricing.get("request")
        per_request = Decimal(0) if request is None else _price(request)
        if prompt is not None and completion is not None and per_request is not None:
            # OpenRouter's name for the price of a token read from the provider's cache.
            prices[model] = Prices(prompt, completion, per_request, cached=_price(pricing.get("input_cache_read")))
    return prices


def _price(value: Any) -> Decimal | None:
    """USD of a price, a number or its text; None where it is absent or no price."""
    try:
        return read_cost(Decimal(str(value)))[0]
    except ArithmeticError:
        return None


@contextlib.contextmanager
def _signals(run: Run) -> Generator[list[int]]:
    """While open, SIGTERM and SIGINT end the run in order; yields those that came. Only the main thread can do this."""
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return

    def handle(number: int, _frame: FrameType | None) -> None:
        caught.append(number)
        run.signalled()

    former = {}
    for number in (signal.SIGTERM, signal.SIGINT):
        # An ignored signal stays ignored; a handler set outside Python could not be put back.
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            former[number] = signal.signal(number, handle)
    try:
        yield caught
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _raise(failure: BaseException, summary: RunSummary) -> None:
    if isinstance(failure, IteratorFailed) and failure.__cause__ is not None:
        raise failure.__cause__
    if isinstance(failure, GatewayError):
        message = (
            f"{failure} {summary.answered:,} answers of this run are stored, {summary.n_open:,} requests are open."
        )
        raise type(failure)(message, status=failure.status, n_open=summary.n_open) from None
    raise failure
