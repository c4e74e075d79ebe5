"""Which prices hold: the gateway's own list where it can be read, else the dated table; and which of them it was."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from tendril_assets.errors import GatewayError
from tendril_assets.judging.prices import OLD_AFTER_DAYS, Prices, PriceTable, load_price_table
from tendril_assets.resources.gateway_client import fetch_prices
from tendril_assets.resources.gateway_run import Endpoint


@dataclass(frozen=True)
class PriceList:
    """The gateway's list wins, model by model. ``trouble``: why there is none, where it could not be read."""

    table: PriceTable
    today: date
    base_url: str
    listed: Mapping[str, Prices] = field(default_factory=dict, repr=False)
    trouble: str | None = None

    def of(self, model: str) -> Prices | None:
        """None where the price is unknown, which is not a price of zero."""
        return self.listed.get(model) or self.table.prices.get(model)

    @property
    def prices(self) -> dict[str, Prices]:
        """All that are known, by model id."""
        return {**self.table.prices, **self.listed}

    def source(self, model: str) -> str:
        """Which list a model's price is from, and of what date; or why it is unknown."""
        if model in self.listed:
            return f"price list of {self.base_url}, read on {self.today}"
        why = self.trouble or f"{self.base_url} does not list it"
        if model not in self.table.prices:
            return f"unknown: {why}, and the price table of {self.table.date} does not hold it"
        return f"{self._table_name()}, since {why}"

    def doubt(self) -> str | None:
        """Why a cap in money that is kept by these prices may not be kept by today's; None where there is no reason."""
        if self.trouble is not None:
            return f"prices are from the {self._table_name()}, since {self.trouble}"
        if self.table.is_old(self.today) and not set(self.table.prices) <= set(self.listed):
            return f"prices of models that {self.base_url} does not list are from the {self._table_name()}"
        return None

    def _table_name(self) -> str:
        old = f", older than {OLD_AFTER_DAYS} days" if self.table.is_old(self.today) else ""
        return f"price table of {self.table.date}{old} ({self.table.source})"


def read_price_list(base_url: str, api_key: str, table: Path | None, today: date) -> PriceList:
    """Prices as of now; ``table`` is another price table than the package's.

    A gateway without a readable list, or without a key yet, is no error here; ``source`` says so. Raises SettingsError
    for a malformed table, address or key.
    """
    known = load_price_table(table)
    if not api_key:
        return PriceList(known, today, base_url, trouble="the gateway's API key is empty (TENDRIL_LLM_API_KEY)")
    try:
        listed = fetch_prices(Endpoint(base_url, api_key))
    except GatewayError as error:
        return PriceList(known, today, base_url, trouble=str(error))
    return PriceList(known, today, base_url, listed)
