"""The drift check: a stable sample of answered requests is asked again, and new grades are held against the old ones.

A model behind a gateway changes without notice: a new checkpoint under the old name, another quantisation, another route.
Each round asks the same requests, so rounds can be compared with one another. The sample holds as many requests of each
grade as there are, for a drift shows first where grades are rare. It is drawn by the former grades, noise among them, so
that taken as it is a steady judge seems to move: what once came out rare by chance comes out common again. Agreement, shift
and kappa therefore weigh each former grade by its share among all graded requests (post-stratification): they estimate the
figures of all requests asked again, of which a steady judge's shift is zero. Their intervals redraw within the grades.

Rounds live in the reply ledger alone. A repeat's key is the hash of the request with the round's label behind it, so the
request it repeats is found by making that key again: ``repeated``.
"""

import json
from collections.abc import Sequence
from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.judging.agreement import confusion_table, kappas, percentile_interval
from tendril_assets.judging.measured import ALL, SCALES, on_scale
from tendril_assets.judging.prompts import Guideline
from tendril_assets.judging.purposes import DRIFT
from tendril_assets.judging.request import RequestFactory
from tendril_assets.records import GRADES
from tendril_assets.spec import DriftSpec
from tendril_assets.tables import TABLES

_STAGE = "judge_drift"
_LABEL = f"{DRIFT} "
# The lowest of all hashes hold the lowest of each grade; grades of one in fifty are found among so many at once.
_FIRST_LOOK = 4_000
_SIDES = ("before", "after")
_CONFIDENCE = 0.95
_SHIFTS = np.subtract.outer(np.arange(len(GRADES)), np.arange(len(GRADES))).T


def label_of(day: date) -> str:
    """The round of a day, as it stands in the ledger: two runs on one day are one round."""
    return f"{_LABEL}{day.isoformat()}"


def round_of(label: str | None) -> str | None:
    """The day in a label, ``2026-11-30``; None for the label of another kind of repeat."""
    return label.removeprefix(_LABEL) if label is not None and label.startswith(_LABEL) else None


def in_draw_order(keys: pl.Series, seed: int) -> pl.DataFrame:
    """``request_key`` and its place in the draw, lowest first: whoever comes or goes moves no other."""
    places = [keyed_order(seed, _STAGE, key) for key in keys]
    return pl.DataFrame({"request_key": keys, "place": pl.Series(places, dtype=pl.Int64)}).sort("place")


def draw_sample(graded: pl.DataFrame, size: int, seed: int) -> pl.DataFrame:
    """The ``size`` requests of a round, ordered by their place in the draw.

    Args:
        graded: request_key (each once), grade (never empty).

    Each grade gives as many as the others, where it has them; what a rare grade cannot give the others do. Within a grade
    those with the lowest keyed hashes are taken, so a request stays in the sample as long as it exists and keeps its
    grade.
    """
    ordered = in_draw_order(graded["request_key"], seed).join(graded, on="request_key", maintain_order="left")
    available = dict(ordered["grade"].value_counts().iter_rows())
    chosen, left = [], size
    for position, (grade, n) in enumerate(sorted(available.items(), key=lambda item: (item[1], item[0]))):
        take = min(n, left // (len(available) - position))
        chosen.append(ordered.filter(pl.col("grade") == grade).head(take))
        left -= take
    return pl.concat(chosen).sort("place") if chosen else ordered


def repeat_requests(
    sample: pl.DataFrame, texts: pl.DataFrame, factory: RequestFactory, guideline: Guideline, label: str
) -> pl.DataFrame:
    """The requests of a round: request_key (of the repeat), repeats, query_text, passage_text; ordered by query.

    Args:
        sample: request_key.
        texts: request_key (each once), query_text, passage_text. A sampled request that is not among them is left out.
    """
    rows = texts.join(sample.select("request_key"), on="request_key", how="semi").sort("query_text", "request_key")
    keys = _repeat_keys(rows, factory, guideline, label)
    return rows.select(pl.Series("request_key", keys, pl.String), "query_text", "passage_text", repeats="request_key")


def repeated(
    keys: pl.Series, label: str, ordered: pl.DataFrame, factory: RequestFactory, guideline: Guideline
) -> pl.DataFrame:
    """Which requests were repeated under ``keys``: request_key (of the repeat), repeats.

    Args:
        keys: keys of one round, from the ledger.
        ordered: request_key, query_text, passage_text in the order of ``in_draw_order``.

    Requests low in the draw are tried first, twice as many each time, so that a round of a large collection costs the
    keys of some thousands. Keys of requests that exist no longer (another guideline, another model) are in no row.
    """
    found = [pl.DataFrame(schema={"request_key": pl.String(), "repeats": pl.String()})]
    wanted, start, step = keys.unique().to_frame("request_key"), 0, _FIRST_LOOK
    while wanted.height and start < ordered.height:
        part = ordered.slice(start, step)
        made = _repeat_keys(part, factory, guideline, label)
        tried = pl.DataFrame({"request_key": pl.Series(made, dtype=pl.String), "repeats": part["request_key"]})
        found.append(tried.join(wanted, on="request_key", how="semi"))
        wanted = wanted.join(tried, on="request_key", how="anti")
        start, step = start + step, 2 * step
    return pl.concat(found)


def _repeat_keys(rows: pl.DataFrame, factory: RequestFactory, guideline: Guideline, label: str) -> list[str]:
    queries, passages = rows["query_text"].to_list(), rows["passage_text"].to_list()
    return factory.pair_keys(guideline, queries, passages, ((i, i) for i in range(rows.height)), repeat=label)


def drift_table(pairs: pl.DataFrame, graded: pl.DataFrame, *, seed: int, resamples: int = 10_000) -> pl.DataFrame:
    """Rows of ``judge_drift``: one per round, level (and all) and scale.

    Args:
        pairs: one row per round, repeated request and level of its queries: round, level, repeats, before and after
            (grades, None where a reply held none), model_before, provider_before, model_after, provider_after, cost
            (Decimal of the repeat, None where unknown).
        graded: one row per graded request of the collection and level of its queries: request_key, level, grade. What
            the sample stands for.

    Under level ``all`` a request counts once, whatever levels it has. A former grade of which no repeat has two grades
    weighs nothing: the others then stand for all.
    """
    rows: list[dict] = []
    for round_ in sorted(pairs["round"].unique()):
        of_round = pairs.filter(pl.col("round") == round_)
        for level in (*sorted(of_round["level"].drop_nulls().unique()), ALL):
            if level == ALL:
                chosen, whole = of_round.unique("repeats"), graded.unique("request_key")
            else:
                chosen, whole = (frame.filter(pl.col("level") == level) for frame in (of_round, graded))
            sizes = np.array([(whole["grade"] == grade).sum() for grade in GRADES])
            draw = keyed_order(seed, _STAGE, f"{round_}/{level}")
            rows += _rows({"round": round_, "level": level}, chosen.sort("repeats"), sizes, draw, resamples)
    return TABLES["judge_drift"].frame(rows)


def _rows(place: dict, chosen: pl.DataFrame, sizes: np.ndarray, seed: int, resamples: int) -> list[dict]:
    """``sizes``: graded requests of each former grade, of which ``chosen`` are a sample."""
    table, missing = confusion_table(*(chosen[name].to_list() for name in _SIDES), GRADES)
    sampled = table.sum(axis=1)
    # No fewer than were sampled, should a request have been graded since.
    weights = (np.maximum(sizes, sampled) / np.maximum(sampled, 1))[:, None]
    rng = np.random.default_rng(seed)
    draws = np.stack(
        [rng.multinomial(n, row / max(n, 1), size=resamples) for n, row in zip(sampled, table, strict=True)], 1
    )
    known = chosen["cost"].drop_nulls()
    shared = {
        **place,
        "n": int(sampled.sum()),
        "missing": missing,
        **{f"{name}s_{side}": _names(chosen[f"{name}_{side}"]) for name in ("model", "provider") for side in _SIDES},
        "cost": Decimal(known.sum() or 0) if known.len() or chosen.is_empty() else None,
        "cost_unknown": chosen.height - known.len(),
    }
    return [{**shared, **_figures(table, weights, draws, scale)} for scale in SCALES]


def _figures(table: np.ndarray, weights: np.ndarray, draws: np.ndarray, scale: str) -> dict:
    told, whole = on_scale(table, scale), on_scale(table * weights, scale)
    figures = {"scale": scale, "confusion": json.dumps(told.tolist()), "reason": None}
    if not told.sum():
        return {**figures, "reason": "no_overlap"}
    k = len(whole)
    figures |= {
        "agreement": float(np.trace(whole) / whole.sum()),
        "mean_shift": float((whole * _SHIFTS[:k, :k]).sum() / whole.sum()),
    }
    kappa = kappas(whole[None], "none")[0]
    if np.isnan(kappa):
        return {**figures, "reason": "single_class"}
    low, high = percentile_interval(kappas(on_scale(draws * weights, scale), "none"), _CONFIDENCE)
    return {**figures, "kappa": float(kappa), "low": low, "high": high}


def _names(column: pl.Series) -> list[str]:
    return sorted(column.drop_nulls().unique())


def drift_reasons(row: dict, limits: DriftSpec) -> list[str]:
    """Why a round (a row of ``judge_drift`` for all levels, graded) speaks against the judge; empty where nothing does.

    A route that changed is no reason by itself, its grades are what counts; ``route_changes`` tells of it.
    """
    size = row["n"] + row["missing"]
    if row["n"] == 0:
        return [f"none of {size} repeated requests has two grades to compare"]
    reasons = []
    if row["missing"] > limits.max_missing_share * size:
        reasons.append(f"{row['missing']} of {size} repeated requests have no two grades to compare")
    if row["agreement"] < limits.min_agreement:
        reasons.append(
            f"{row['agreement']:.1%} of {row['n']} grades are as before, declared were {limits.min_agreement:.1%}"
        )
    if abs(row["mean_shift"]) > limits.max_mean_shift:
        reasons.append(
            f"grades moved by {row['mean_shift']:+.3f} on average, declared were {limits.max_mean_shift:.3f}"
        )
    return reasons


def route_changes(row: dict) -> list[str]:
    """What answered now and did not before, or the other way round."""
    changes = []
    for name in ("models", "providers"):
        before, after = row[f"{name}_before"], row[f"{name}_after"]
        if set(before) != set(after):
            changes.append(f"{name}: {_list(before)} before, {_list(after)} now")
    return changes


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "not named"
