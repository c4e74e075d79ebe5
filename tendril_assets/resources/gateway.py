"""The gateway as a Dagster resource (key ``gateway``): where requests go, how many at once, and the caps of a run."""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Protocol

import dagster as dg
from pydantic import Field, field_validator

from tendril_assets.resources.gateway_client import (
    Caps,
    Endpoint,
    GatewayRequest,
    Prices,
    Progress,
    RunSummary,
    Spent,
    answer,
)
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.price_list import read_price_list
from tendril_assets.settings import Settings, amount_in_usd

LOG_SECONDS = 10.0


class _Log(Protocol):
    def info(self, message: str, /) -> object: ...


class Gateway(dg.ConfigurableResource):
    """Nothing here changes an answer, so nothing here is part of a request's key."""

    base_url: str = Field(description="Gateway with OpenRouter's protocol, up to and without /chat/completions.")
    # Kept out of repr, which ends up in logs and error messages.
    api_key: str = Field(repr=False, description="Its key: give it as an EnvVar.")
    concurrency: int = Field(64, ge=1, description="Requests in flight at most; fewer while the gateway refuses.")
    max_usd: str | None = Field(None, description="Cap of one run in USD, a decimal text; needs known prices.")
    max_calls: int | None = Field(None, ge=1, description="Cap of one run in HTTP calls.")
    timeout_s: float = Field(180.0, gt=0, description="Bound of one attempt, in seconds.")
    price_table: str | None = Field(None, description="Price table for models that the gateway's own list leaves out.")

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
            price_table=None if settings.price_table is None else str(settings.price_table),
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
        run: str | None = None,
        spent: Spent | None = None,
        proven: Collection[str] = (),
    ) -> RunSummary:
        """Ask every request once into the ledger; see ``gateway_client.answer`` for what it returns and raises.

        Without ``prices`` a cap in money goes by ``price_list``: the gateway's own list, else the table. The caps are
        those of the whole ``run``, of which ``spent`` is used up already.
        """
        max_usd = None if self.max_usd is None else Decimal(self.max_usd)
        return answer(
            requests,
            ledger,
            endpoint=Endpoint(self.base_url, self.api_key),
            concurrency=self.concurrency,
            caps=Caps(max_usd, self.max_calls, self._known_prices() if prices is None else prices),
            timeout_s=self.timeout_s,
            total=total,
            on_progress=on_progress,
            stop=stop,
            run=run,
            spent=spent,
            proven=proven,
        )

    def _known_prices(self) -> Mapping[str, Prices] | None:
        """None where no price is needed for a cap, and costs that are not named are estimated by the package's table."""
        if self.max_usd is None and self.price_table is None:
            return None
        table = None if self.price_table is None else Path(self.price_table)
        return read_price_list(self.base_url, self.api_key, table, datetime.now(UTC).date()).prices


def progress_to(log: _Log, every_s: float = LOG_SECONDS) -> Callable[[Progress], None]:
    """A progress callback that writes a line to ``log`` at most every ``every_s`` seconds."""
    last = time.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= every_s:
            last = time.monotonic()
            log.info(str(progress))

    return report
