"""The gateway as a Dagster resource (key ``gateway``): where requests go, how many at once, and the caps of a run."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Protocol

import dagster as dg
from pydantic import Field, field_validator

from tendril_assets.resources.gateway_client import Caps, Endpoint, GatewayRequest, Prices, Progress, RunSummary, answer
from tendril_assets.resources.ledger import Ledger
from tendril_assets.settings import Settings, amount_in_usd

LOG_SECONDS = 10.0


class _Log(Protocol):
    def info(self, message: str, /) -> object: ...


class Gateway(dg.ConfigurableResource):
    """Nothing here changes an answer, so nothing here is part of a request's key."""

    base_url: str = Field(description="Gateway with OpenRouter's protocol, up to and without /chat/completions.")
    # Kept out of repr, which ends up in logs and error messages.
    api_key: str = Field(repr=False, description="Its key: give it as an EnvVar.")
    concurrency: int = Field(64, ge=1, description="Requests in flight.")
    max_usd: str | None = Field(None, description="Cap of one run in USD, a decimal text; needs known prices.")
    max_calls: int | None = Field(None, ge=1, description="Cap of one run in HTTP calls.")
    timeout_s: float = Field(180.0, gt=0, description="Bound of one attempt, in seconds.")

    @classmethod
    def from_settings(cls, settings: Settings) -> "Gateway":
        """Bound to the environment; the key stays a reference to its variable and is read when a run starts.

        Without a key the resource loads, and only asking fails: a run with nothing open needs none.
        """
        return cls(
            base_url=settings.base_url,
            api_key=dg.EnvVar("TENDRIL_LLM_API_KEY") if settings.api_key else "",
            concurrency=settings.concurrency,
            max_usd=None if settings.max_usd is None else str(settings.max_usd),
            max_calls=settings.max_calls,
        )

    @field_validator("max_usd")
    @classmethod
    def _is_money(cls, value: str | None) -> str | None:
        if value is not None:
            amount_in_usd(value)
        return value

    def answer(
        self,
        requests: Iterable[GatewayRequest],
        ledger: Ledger,
        *,
        total: int | None = None,
        prices: Mapping[str, Prices] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        stop: threading.Event | None = None,
    ) -> RunSummary:
        """Ask every request once into the ledger; see ``gateway_client.answer`` for what it returns and raises.

        Without ``prices`` a cap in money asks the gateway for its price list.
        """
        max_usd = None if self.max_usd is None else Decimal(self.max_usd)
        return answer(
            requests,
            ledger,
            endpoint=Endpoint(self.base_url, self.api_key),
            concurrency=self.concurrency,
            caps=Caps(max_usd, self.max_calls, prices),
            timeout_s=self.timeout_s,
            total=total,
            on_progress=on_progress,
            stop=stop,
        )


def progress_to(log: _Log, every_s: float = LOG_SECONDS) -> Callable[[Progress], None]:
    """A progress callback that writes a line to ``log`` at most every ``every_s`` seconds."""
    last = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= every_s:
            last = time.monotonic()
            log.info(str(progress))

    return report
