"""Hard caps in money and calls, kept with the worst case of everything in flight.

A call may go out only where the money spent, the worst case of all calls in flight and its own worst case fit under the
cap together. What a call really cost replaces its worst case once it is known; where it stays unknown, the worst case
stays. So the cap holds whatever the gateway does, as long as its prices hold.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tendril_assets.errors import SettingsError
from tendril_assets.judging.prices import Prices


@dataclass(frozen=True)
class Caps:
    """Limits of one run, over all its asking steps; None is none.

    ``max_usd`` needs the price of every model asked, by model name in ``prices``. ``source``: where the price of a model
    is from, or why it is unknown.
    """

    max_usd: Decimal | None = None
    max_calls: int | None = None
    prices: Mapping[str, Prices] | None = field(default=None, repr=False)
    source: Callable[[str], str] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Spent:
    """What earlier steps of a run used up of its caps: ``usd``, known costs and estimates of unknown ones, and
    ``calls``, HTTP attempts."""

    usd: Decimal = Decimal(0)
    calls: int = 0


class Purse:
    """The run's money and calls, those of earlier steps (``before``) included.

    ``spent`` is known cost; ``pledged`` the worst case of what is in flight or unknown. Whatever happens,
    ``spent + pledged`` stays under the cap as long as no call costs more than its worst case.
    """

    def __init__(self, caps: Caps, before: Spent | None = None) -> None:
        before = before or Spent()
        self._caps = caps
        self.spent = before.usd
        self.calls = before.calls
        self.pledged = Decimal(0)
        self.in_flight = 0

    def worst(self, body: Mapping[str, Any]) -> Decimal:
        """Worst case of one call; 0 where no money cap is set. Raises SettingsError for a model without a price."""
        if self._caps.max_usd is None:
            return Decimal(0)
        model = str(body.get("model"))
        prices = (self._caps.prices or {}).get(model)
        if prices is None:
            found = "unknown" if self._caps.source is None else self._caps.source(model)
            raise SettingsError(
                f"a cap of {self._caps.max_usd} USD cannot be kept: the price of {model!r} is {found}. Nothing was asked "
                "of it. Set TENDRIL_PRICES to a price table that holds it, or cap the number of calls "
                "(TENDRIL_MAX_CALLS) instead of the money."
            )
        return prices.worst(body)

    def allows(self, worst: Decimal) -> bool | None:
        """True: the call may go out. None: perhaps, once calls in flight are settled. False: a cap is reached."""
        if self._caps.max_calls is not None and self.calls >= self._caps.max_calls:
            return False
        if self._caps.max_usd is None or self.spent + self.pledged + worst <= self._caps.max_usd:
            return True
        return None if self.in_flight else False

    def pledge(self, worst: Decimal) -> None:
        """Book a call that goes out now."""
        self.calls += 1
        self.in_flight += 1
        self.pledged += worst

    def withdraw(self, worst: Decimal) -> None:
        """Take back a pledge whose call never went out."""
        self.calls -= 1
        self.in_flight -= 1
        self.pledged -= worst

    def settle(self, worst: Decimal, cost: Decimal | None, charged: bool) -> None:
        """Book its end. ``charged``: it may have cost something even where ``cost`` is None."""
        self.in_flight -= 1
        if cost is not None:
            self.spent += cost
        if cost is not None or not charged:
            self.pledged -= worst
