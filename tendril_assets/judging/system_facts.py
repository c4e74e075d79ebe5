"""What a calibration says of each system besides its agreement: failures, money, time, tokens, stability, stack."""

import json
from collections.abc import Collection, Sequence

import polars as pl

from tendril_assets.judging.answer_form import OK
from tendril_assets.judging.calibration import FIRST
from tendril_assets.judging.choice import Facts, Ruling
from tendril_assets.judging.measured import Measured, Score
from tendril_assets.judging.systems import System
from tendril_assets.spec_calibration import AcceptanceSpec, CalibrationSpec, StackSpec
from tendril_assets.tables import TABLES

# Up to this share of answers without a cost, the mean of the others stands for them; beyond it the price is unknown.
MAX_UNPRICED_SHARE = 0.05

_PRICED = pl.col("cost").is_not_null() | pl.col("cost_estimate").is_not_null()
# An error status (429, 503) that names neither a cost nor tokens is a refusal, which nobody is charged for. Whatever was
# answered may have been charged, and so may a request that ended without any status: it may have been sent.
_REFUSED = (
    (pl.col("status") == "error") & ~pl.col("http_status").is_between(200, 299) & pl.col("completion_tokens").is_null()
)
_MAY_BE_CHARGED = _PRICED | ~_REFUSED.fill_null(False)


def systems_table(
    systems: Sequence[System], verdicts: pl.DataFrame, calls: pl.DataFrame, measured: Measured
) -> pl.DataFrame:
    """Rows of ``calibration_systems``; which of them is in use is known only after the choice.

    Args:
        verdicts: system, run, request_key, status, grade: one row per system, run and pair.
        calls: every entry of the ledger for these requests, failures among them, with the columns of ``judge_calls``
            and ``counts``: whether it is the call that counts for its request.
    """
    keys = verdicts.group_by("system", "request_key").agg(first=(pl.col("run") == FIRST).any())
    of_system = keys.join(calls, on="request_key").partition_by("system", as_dict=True)
    none = calls.clear().with_columns(first=pl.lit(False))
    asked = verdicts.partition_by("system", as_dict=True)
    rows = []
    for system in systems:
        own, paid = asked.get((system.name,), verdicts.clear()), of_system.get((system.name,), none)
        rows.append(
            {
                **system.columns,
                "guideline_hash": system.guideline.hash,
                "in_use": False,
                "declared": system.declared,
                **_answers(own.filter(pl.col("run") == FIRST)),
                **_money(paid),
                **_effort(paid.filter(pl.col("counts")), system.stack),
                **_stability(measured, system.name),
            }
        )
    return TABLES["calibration_systems"].frame(rows)


def _answers(first: pl.DataFrame) -> dict:
    failed = first.filter(pl.col("status") != OK)["status"].value_counts().sort("status")
    graded = int((first["status"] == OK).sum())
    return {
        "pairs": first.height,
        "graded": graded,
        "failed": first.height - graded,
        "failure_share": 1 - graded / first.height if first.height else None,
        "failures": json.dumps(dict(failed.iter_rows())),
    }


def _money(calls: pl.DataFrame) -> dict:
    """Of every entry that may have been charged: a failure that was is a cost of the system too.

    The prices are those of the first run: a repeat sends the same prompts again, and what the provider's cache serves of
    them makes it cheaper than judging is.
    """
    known = calls.filter(pl.col("cost").is_not_null())
    first = calls.filter(pl.col("first") & _MAY_BE_CHARGED)
    first_known = first.filter(pl.col("cost").is_not_null())
    priced = first.filter(_PRICED)
    amount = float(priced["cost"].fill_null(0).sum()) + float(priced["cost_estimate"].fill_null(0).sum())
    usable = priced.height > 0 and first.height - priced.height <= MAX_UNPRICED_SHARE * first.height
    requests = first["request_key"].n_unique()
    return {
        "requests": calls["request_key"].n_unique(),
        "calls": int(calls["attempts"].sum()),
        "cost_known": known.height,
        "cost_unknown": calls.filter(_MAY_BE_CHARGED).height - known.height,
        "known_cost": known["cost"].sum() or 0,
        "known_cost_per_1000": 1000 * float(first_known["cost"].sum()) / first_known["request_key"].n_unique()
        if first_known.height
        else None,
        "price_per_1000": 1000 * amount / priced.height * first.height / requests if usable else None,
    }


def _effort(counting: pl.DataFrame, stack: StackSpec | None) -> dict:
    """A route is what a router tells of the stack. Of a stack that is declared, the model's name is enough."""
    answered = counting.filter(pl.col("http_status") == 200)
    routed = pl.col("provider").is_not_null() | pl.lit(stack is not None)
    named = answered.filter(pl.col("answered_model").is_not_null() & routed)
    words = [pl.col("answered_model"), pl.format("by {}", "provider")]
    words += [pl.format("({})", pl.lit(stack.in_words))] if stack else []
    return {
        "seconds_median": answered["seconds"].median(),
        "seconds_p95": answered["seconds"].quantile(0.95, "linear"),
        **{
            name: int(answered[name].sum())
            for name in ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
        },
        "answered_models": sorted(answered["answered_model"].drop_nulls().unique()),
        "providers": sorted(answered["provider"].drop_nulls().unique()),
        "stacks": sorted(named.select(pl.concat_str(words, separator=" ", ignore_nulls=True)).to_series().unique()),
        "unrecorded": answered.height - named.height,
    }


def _stability(measured: Measured, system: str) -> dict:
    share, kappa = measured.repeat(system, "share"), measured.repeat(system, "kappa")
    return {
        "repeat_n": share.n,
        "repeat_share": share.value,
        "repeat_share_low": share.low,
        "repeat_share_high": share.high,
        "repeat_kappa": kappa.value,
        "repeat_kappa_low": kappa.low,
        "repeat_kappa_high": kappa.high,
        "repeat_reason": kappa.reason,
    }


def facts_of(
    table: pl.DataFrame, measured: Measured, calibration: CalibrationSpec, stacks: Collection[str] = ()
) -> list[Facts]:
    """What the rule of the choice looks at, from ``calibration_systems`` and the agreement figures.

    ``stacks``: the models whose stacks the specification declares; none at all where it declares none.
    """
    acceptance = calibration.acceptance or AcceptanceSpec()
    return [
        Facts(
            system=row["system"],
            agreement=measured.score(row["system"], acceptance),
            quality=measured.score(row["system"], calibration.choice),
            repeat=_repeat(measured, row["system"], acceptance),
            failures=1.0 if row["failure_share"] is None else row["failure_share"],
            price=row["price_per_1000"],
            stacks=tuple(row["stacks"]),
            unrecorded=row["unrecorded"],
            declared=row["declared"],
            stack_missing=bool(stacks) and row["model"] not in stacks,
        )
        for row in table.iter_rows(named=True)
    ]


def _repeat(measured: Measured, system: str, acceptance: AcceptanceSpec) -> Score | None:
    score = measured.repeat(system, acceptance.repeat)
    return score if score.n else None


def judge_in_use(rulings: Sequence[Ruling], calibration: CalibrationSpec) -> str | None:
    """Name of the system that judges: the declared one, or the one the rule picked; None where it picked none, or where the
    declared one is refused and the specification goes on without a judge."""
    if calibration.apply == "chosen":
        return next((r.facts.system for r in rulings if r.chosen), None)
    without = calibration.refuse and calibration.none_accepted == "without"
    return next((r.facts.system for r in rulings if r.facts.declared and not (without and not r.accepted)), None)


def choice_table(rulings: Sequence[Ruling], systems: Sequence[System], calibration: CalibrationSpec) -> pl.DataFrame:
    """Rows of ``judge_choice``, by rank."""
    named = {system.name: system for system in systems}
    in_use = judge_in_use(rulings, calibration)
    rows = []
    for ruling in rulings:
        facts = ruling.facts
        difference, low, high = ruling.difference
        row = {
            **named[facts.system].columns,
            "declared": facts.declared,
            "in_use": facts.system == in_use,
            "rank": ruling.rank,
            "quality": facts.quality.value,
            "quality_low": facts.quality.low,
            "quality_high": facts.quality.high,
            "difference": difference,
            "difference_low": low,
            "difference_high": high,
            "price_per_1000": facts.price,
            "accepted": ruling.accepted,
            "as_good": ruling.as_good,
            "chosen": ruling.chosen,
            "reason": ruling.reason,
        }
        for name in ("agreement", "pairs", "repeat", "failures", "stack"):
            criterion = ruling.criterion(name)
            row[name] = criterion.figure if criterion else None
            row[f"{name}_threshold"] = criterion.threshold if criterion else None
            row[f"{name}_met"] = criterion.met if criterion else None
        rows.append(row)
    return TABLES["judge_choice"].frame(rows)
