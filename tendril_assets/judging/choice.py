"""Which judge is accepted, and which of the accepted ones judges: a declared rule over measured systems.

The rule looks at nothing but the facts of the systems: it does not depend on their order, and never picks a system that
misses a criterion. Of the accepted systems as good as the best one it takes the cheapest; an unknown cost is dearer than
any known one; what is still tied goes by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tendril_assets.judging.agreement import percentile_interval
from tendril_assets.judging.measured import Score
from tendril_assets.spec_calibration import AcceptanceSpec, CalibrationSpec, ChoiceSpec

# Figures are sums of products: a tolerance that is met on paper must not fail by the last bit.
_EPSILON = 1e-12


@dataclass(frozen=True)
class Facts:
    """What the rule knows of one system.

    ``agreement``: the figure of the acceptance; ``quality``: the figure of the choice; ``repeat``: agreement of two runs,
    None where nothing was asked twice. ``failures``: share of the pairs asked that have no grade. ``price``: USD per
    1,000 requests, None where unknown. ``stacks``: the different pairs of model and route that answers name;
    ``unrecorded``: answers that do not name both. ``stack_missing``: the specification declares stacks, and none for this
    system's model.
    """

    system: str
    agreement: Score
    quality: Score
    repeat: Score | None
    failures: float
    price: float | None
    stacks: tuple[str, ...]
    unrecorded: int
    declared: bool = False
    stack_missing: bool = False


@dataclass(frozen=True)
class Criterion:
    """One declared demand: its figure, what was demanded, and whether it is met.

    ``threshold`` is None where no number is demanded: answers must name their stacks, however many these are.
    """

    name: str
    figure: float | None
    threshold: float | None
    met: bool
    shortfall: str


@dataclass(frozen=True)
class Ruling:
    """What the rule says of one system. ``accepted`` is None where no acceptance is declared.

    ``difference``: the system's quality minus the best accepted system's (of all, where none is accepted), with the
    interval of the paired difference.
    """

    facts: Facts
    criteria: tuple[Criterion, ...]
    accepted: bool | None
    rank: int
    difference: tuple[float | None, float | None, float | None]
    as_good: bool
    chosen: bool
    reason: str

    def criterion(self, name: str) -> Criterion | None:
        return next((c for c in self.criteria if c.name == name), None)


def choose(systems: Sequence[Facts], calibration: CalibrationSpec) -> list[Ruling]:
    """Rulings ordered by rank: the best figure first, undefined ones last."""
    acceptance, rule = calibration.acceptance, calibration.choice
    ordered = sorted(systems, key=_order)
    criteria = {f.system: () if acceptance is None else _criteria(f, acceptance) for f in ordered}
    accepted = [f for f in ordered if acceptance is not None and all(c.met for c in criteria[f.system])]
    accepted = [f for f in accepted if f.quality.value is not None]
    best = next(iter(accepted or ordered), None)
    if best is None:
        return []
    gaps = {f.system: _difference(f.quality, best.quality, calibration.confidence) for f in ordered}
    as_good = [f for f in accepted if _as_good(f, best, gaps[f.system], rule)]
    chosen = min(as_good, key=_cheapness, default=None)
    return [
        Ruling(
            facts=f,
            criteria=criteria[f.system],
            accepted=None if acceptance is None else f in accepted,
            rank=rank,
            difference=gaps[f.system],
            as_good=f in as_good,
            chosen=f is chosen,
            reason=_reason(f, criteria[f.system], best, chosen, as_good, acceptance),
        )
        for rank, f in enumerate(ordered, start=1)
    ]


def _order(facts: Facts) -> tuple[float, bool, float, str]:
    value = facts.quality.value
    return (-value if value is not None else np.inf, *_cheapness(facts))


def _cheapness(facts: Facts) -> tuple[bool, float, str]:
    return (facts.price is None, facts.price or 0.0, facts.system)


def _criteria(facts: Facts, acceptance: AcceptanceSpec) -> tuple[Criterion, ...]:
    agreement = facts.agreement
    held = agreement.value if acceptance.bound == "value" else agreement.low
    criteria = [
        _least("agreement", held, acceptance.minimum, acceptance.in_words, agreement),
        _least("pairs", float(agreement.n), float(acceptance.min_pairs), "pairs with both grades", agreement),
    ]
    if acceptance.min_repeat is not None:
        repeat = facts.repeat or Score(None, "no_overlap", 0)
        what = "share of equal grades in two runs" if acceptance.repeat == "share" else "kappa of two runs"
        criteria.append(_least("repeat", repeat.value, acceptance.min_repeat, what, repeat))
    if acceptance.max_failures is not None:
        met = facts.failures <= acceptance.max_failures + _EPSILON
        text = f"{facts.failures:.1%} of the pairs without a grade, at most {acceptance.max_failures:.1%} allowed"
        criteria.append(Criterion("failures", facts.failures, acceptance.max_failures, met, text))
    if acceptance.stack != "any":
        stacks = len(facts.stacks)
        recorded = facts.unrecorded == 0 and stacks > 0 and not facts.stack_missing
        met = recorded and (stacks == 1 or acceptance.stack == "recorded")
        text = (
            f"answers of {stacks} inference stacks: {', '.join(facts.stacks)}"
            if recorded
            else "judge.stacks declares no quantisation, libraries and hardware for its model"
            if facts.stack_missing
            else f"{facts.unrecorded:,} answers name no route or no model"
            if stacks
            else "no answer names its route and its model"
        )
        criteria.append(Criterion("stack", float(stacks), 1.0 if acceptance.stack == "one" else None, met, text))
    return tuple(criteria)


def _least(name: str, figure: float | None, threshold: float, what: str, score: Score) -> Criterion:
    if figure is None:
        why = score.reason or "no interval"
        return Criterion(name, None, threshold, False, f"{what} undefined ({why})")
    text = f"{what} {figure:,.0f}, {threshold:,.0f} needed" if name == "pairs" else ""
    return Criterion(
        name, figure, threshold, figure >= threshold - _EPSILON, text or f"{what} {figure:.3f} under {threshold:.3f}"
    )


def _difference(one: Score, other: Score, confidence: float) -> tuple[float | None, float | None, float | None]:
    if one.value is None or other.value is None:
        return None, None, None
    return (one.value - other.value, *percentile_interval(one.draws - other.draws, confidence))


def _as_good(facts: Facts, best: Facts, gap: tuple[float | None, float | None, float | None], rule: ChoiceSpec) -> bool:
    """Whether an accepted system counts as good as the best; an interval that is missing leaves it worse."""
    if facts is best:
        return True
    difference, _, high = gap
    if difference is None:
        return False
    if rule.as_good == "tolerance":
        return difference >= -rule.tolerance - _EPSILON
    if rule.as_good == "difference":
        return high is not None and high >= 0
    own, top = facts.quality.high, best.quality.low
    return own is not None and top is not None and own >= top


def _reason(
    facts: Facts,
    criteria: Sequence[Criterion],
    best: Facts,
    chosen: Facts | None,
    as_good: Sequence[Facts],
    acceptance: AcceptanceSpec | None,
) -> str:
    if acceptance is None:
        return "no acceptance is declared: nothing is accepted and nothing is chosen"
    missed = [c.shortfall for c in criteria if not c.met]
    if missed:
        return "not accepted: " + "; ".join(missed)
    if facts.quality.value is None or best.quality.value is None or chosen is None:
        return f"not accepted: the figure of the choice is undefined ({facts.quality.reason})"
    if facts is chosen:
        if facts is best:
            return (
                f"chosen: the best of the accepted systems ({facts.quality.value:.3f}){_of_the_as_good(facts, as_good)}"
            )
        return (
            f"chosen: as good as the best ({facts.quality.value:.3f}; {best.system} {best.quality.value:.3f})"
            f"{_of_the_as_good(facts, as_good)}; {_money(facts.price)}"
        )
    if facts in as_good:
        return f"accepted, and as good as the best; {_money(facts.price)}, the chosen system {_money(chosen.price)}"
    return f"accepted, but {best.quality.value - facts.quality.value:.3f} below the best"


def _of_the_as_good(chosen: Facts, as_good: Sequence[Facts]) -> str:
    """What the chosen system has over those as good: a lower cost, or only its place by name."""
    equal = sum(f.price == chosen.price for f in as_good)
    dearer = len(as_good) - equal
    cheaper = f", and cheaper than {dearer} as good" if dearer else ""
    return cheaper + (f", and first by name of {equal} as good at the same cost" if equal > 1 else "")


def _money(price: float | None) -> str:
    return "cost unknown" if price is None else f"USD {price:.4f} per 1,000"
