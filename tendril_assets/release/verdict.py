"""What paired tests say, in words that follow from their numbers."""

from collections.abc import Mapping
from typing import NamedTuple

from tendril_assets.release.wording import listed, named, p_value, plural

# The levels that readers know, strictest first; the collection's own confidence bounds them and is the last.
_USUAL = (0.001, 0.01, 0.05)


class Change(NamedTuple):
    """One measure's paired difference and its p; p is None where there was nothing to resample."""

    difference: float
    p: float | None


def verdict(tested: Mapping[str, Change], alpha: float) -> str:
    """Goes on from "After the correction, ": which measures changed, in which direction, and below which level.

    Args:
        tested: each reported measure, in the order they are said.
        alpha: a change is significant where p < alpha (for intervals of 95 %: 0.05).
    """
    known = {m: t for m, t in tested.items() if t.p is not None}
    if not known:
        return "nothing can be said: with one group there is no test."
    left = listed([named(m) for m in tested if m not in known])
    untested = f" {left} could not be tested." if left else ""
    bounds = [*(b for b in _USUAL if b < alpha), alpha]
    gains = _below(known, bounds, 1)
    losses = _below(known, bounds, -1)
    smallest = min(t.p for t in known.values() if t.p is not None)
    if not gains and not losses:
        if len(known) == 1:
            return f"{named(next(iter(known)))} does not change significantly (p {relation(smallest)}).{untested}"
        return f"no reported measure changes significantly (smallest p {relation(smallest)}).{untested}"
    sentences = [
        f"the {word} is significant {_extent(found, known)} (p < {_bound(known, found, bounds):g})"
        for word, found in (("gain", gains), ("loss", losses))
        if found
    ]
    return f"{listed(sentences)}.{untested}"


def holm(n_models: int) -> str:
    """What the correction was over."""
    if n_models == 1:
        return "Holm's correction (over one fine-tuned model, so it changes nothing)"
    return f"Holm's correction over the {plural(n_models, 'fine-tuned model')}"


def relation(p: float | None) -> str:
    """``= 0.012``, ``< 0.001``, or that there is none."""
    text = p_value(p)
    if p is None:
        return "undefined"
    return text if text.startswith("<") else f"= {text}"


def _below(known: Mapping[str, Change], bounds: list[float], sign: int) -> list[str]:
    return [m for m, t in known.items() if t.p is not None and t.p < bounds[-1] and t.difference * sign > 0]


def _bound(known: Mapping[str, Change], found: list[str], bounds: list[float]) -> float:
    """The strictest level that all of them are below."""
    largest = max(p for m in found if (p := known[m].p) is not None)
    return next(b for b in bounds if largest < b)


def _extent(found: list[str], known: Mapping[str, Change]) -> str:
    if len(found) == len(known):
        return "for all reported measures" if len(known) > 1 else f"for {named(found[0])}"
    if 2 * len(found) > len(known):
        return f"for all reported measures but {listed([named(m) for m in known if m not in found])}"
    return f"only for {listed([named(m) for m in found])}"
