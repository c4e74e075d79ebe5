"""The gateway as a Dagster resource (key ``gateway``): where requests go, how many at once, and the caps of a run."""

import logging
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import dagster as dg
from pydantic import Field, field_validator

from tendril_assets.resources.gateway_client import (
    Caps,
    Endpoint,
    GatewayRequest,
    Progress,
    RunSummary,
    Spent,
    answer,
)
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.price_list import read_price_list
from tendril_assets.settings import Settings, amount_in_usd

_log = logging.getLogger(__name__)


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
        on_progress: Callable[[Progress], None] | None = None,
        run: str | None = None,
        spent: Spent | None = None,
        proven: Collection[str] = (),
    ) -> RunSummary:
        """Ask every request once into the ledger; see ``gateway_client.answer`` for what it returns and raises.

        A cap in money goes by ``price_list``: the gateway's own list, else the table, which is logged as a warning. The
        caps are those of the whole ``run``, of which ``spent`` is used up already.
        """
        endpoint = Endpoint(self.base_url, self.api_key)
        return answer(
            requests,
            ledger,
            endpoint=endpoint,
            concurrency=self.concurrency,
            caps=self._caps(),
            timeout_s=self.timeout_s,
            total=total,
            on_progress=on_progress,
            run=run,
            spent=spent,
            proven=proven,
        )

    def _caps(self) -> Caps:
        """Without a cap in money no price is needed, and costs that are not named are estimated by the package's table."""
        if self.max_usd is None and self.price_table is None:
            return Caps(max_calls=self.max_calls)
        table = None if self.price_table is None else Path(self.price_table)
        found = read_price_list(self.base_url, self.api_key, table, datetime.now(UTC).date())
        max_usd = None if self.max_usd is None else Decimal(self.max_usd)
        doubt = found.doubt()
        if max_usd is not None and doubt is not None:
            _log.warning("the cap of %s USD may not hold: %s. TENDRIL_PRICES names a newer table", max_usd, doubt)
        return Caps(max_usd, self.max_calls, found.prices, found.source)
