"""Named draws of the sample: each depends on (seed, stage, entity) alone, so adding a project moves no other one."""

from collections.abc import Sequence
from typing import TypeVar

from tendril_assets.corpus.identifiers import keyed_order

SEED = 42
T = TypeVar("T")


class Draws:
    """Draws of one stage; every call names its entity."""

    def __init__(self, stage: str, seed: int = SEED) -> None:
        self._stage = stage
        self._seed = seed

    def number(self, entity: str, low: int, high: int) -> int:
        """A whole number in [low, high]."""
        return low + keyed_order(self._seed, self._stage, entity) % (high - low + 1)

    def chance(self, entity: str, share: float) -> bool:
        """True for about ``share`` of all entities."""
        return keyed_order(self._seed, self._stage, entity) < share * 2**63

    def pick(self, entity: str, options: Sequence[T]) -> T:
        return options[keyed_order(self._seed, self._stage, entity) % len(options)]

    def shuffled(self, entity: str, items: Sequence[T]) -> list[T]:
        """``items`` in the keyed order of their positions."""
        return [items[i] for i in self._order(entity, len(items))]

    def sample(self, entity: str, items: Sequence[T], n: int) -> list[T]:
        """``n`` different items (all of them where there are fewer), in keyed order."""
        return self.shuffled(entity, items)[:n]

    def _order(self, entity: str, n: int) -> list[int]:
        return sorted(range(n), key=lambda i: keyed_order(self._seed, self._stage, f"{entity}#{i}"))
