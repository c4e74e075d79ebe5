"""The calibration: every system put to the pairs that people have graded, and how far each agrees with them.

Per level and over all, on the graded scale (0/1/2) and the binary one (relevant = grade 1 or 2). The pairs bring their
own texts, as the annotators saw them; what has equal texts, system and run shares a request.
"""

import json
from collections.abc import Sequence
from itertools import combinations, product

import polars as pl

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.judging.agreement import Agreement
from tendril_assets.judging.measured import ALL, CURATED, SCALES, Measured
from tendril_assets.judging.parse import parse_calls
from tendril_assets.judging.systems import System
from tendril_assets.spec_calibration import CalibrationSpec
from tendril_assets.tables import TABLES

__all__ = ["ALL", "FIRST", "SCALES", "agreement_table", "calibration_requests", "run_labels", "verdicts_of"]

# Label of the first run, whose requests are those of the judge itself and carry no repeat.
FIRST = "1"
HUMANS = "humans"
STATISTICS = ("kappa", "kappa_quadratic")
REQUEST_COLUMNS = {
    "system": pl.String(),
    "model": pl.String(),
    "effort": pl.String(),
    "guideline": pl.String(),
    "run": pl.String(),
    "repeat": pl.String(),
    "query_id": pl.String(),
    "passage_id": pl.String(),
    "request_key": pl.String(),
    "query_text": pl.String(),
    "passage_text": pl.String(),
}


def run_labels(calibration: CalibrationSpec) -> tuple[str, ...]:
    """``1`` and the labels of the repeats, ``2`` and so on."""
    return tuple(str(run) for run in range(1, calibration.repeats + 1))


def calibration_requests(
    pairs: pl.DataFrame, systems: Sequence[System], calibration: CalibrationSpec, seed: int
) -> pl.DataFrame:
    """One row per system, run and pair, in ``REQUEST_COLUMNS``: by run, system and query.

    ``pairs``: query_id, passage_id, query_text, passage_text. ``repeat`` is None in the first run. Repeats take the first
    ``repeat_pairs`` pairs by keyed hash, the same for all systems.
    """
    ordered = pairs.sort("query_text", "query_id", "passage_id")
    places = [keyed_order(seed, "calibration_repeat", f"{q}\n{p}") for q, p in _ids(ordered)]
    drawn = pl.Series(places, dtype=pl.Int64).rank("ordinal") <= (calibration.repeat_pairs or ordered.height)
    repeated = ordered.filter(drawn)
    return pl.concat(
        _asked(ordered if run == FIRST else repeated, system, run)
        for run, system in product(run_labels(calibration), systems)
    )


def _asked(pairs: pl.DataFrame, system: System, run: str) -> pl.DataFrame:
    repeat = None if run == FIRST else run
    queries, passages = pairs["query_text"].to_list(), pairs["passage_text"].to_list()
    same = ((i, i) for i in range(pairs.height))
    keys = system.factory.pair_keys(system.guideline, queries, passages, same, repeat)
    return pairs.select(
        *(pl.lit(value).alias(name) for name, value in system.columns.items()),
        pl.lit(run).alias("run"),
        pl.lit(repeat, dtype=pl.String).alias("repeat"),
        "query_id",
        "passage_id",
        pl.Series("request_key", keys, pl.String),
        "query_text",
        "passage_text",
    )


def _ids(pairs: pl.DataFrame) -> list[tuple[str, str]]:
    return list(pairs.select("query_id", "passage_id").iter_rows())


def verdicts_of(requests: pl.DataFrame, calls: pl.DataFrame, systems: Sequence[System]) -> pl.DataFrame:
    """``requests`` with status and grade of each: ``open`` where there is no call yet.

    Args:
        requests: at least system, request_key.
        calls: the call that counts for each request: request_key, status, finish_reason, content.
    """
    read = []
    for system in systems:
        own = requests.filter(pl.col("system") == system.name)
        parsed = parse_calls(calls.join(own, on="request_key", how="semi"), system.guideline)
        read.append(own.join(parsed.select("request_key", "status", "grade"), on="request_key", how="left"))
    return pl.concat(read).with_columns(pl.col("status").fill_null("open"))


def agreement_table(measured: Measured, systems: Sequence[System], in_use: str | None) -> pl.DataFrame:
    """Rows of ``judge_agreement``: people among themselves once, and every system against them.

    ``in_use``: name of the system that judges; None where there is none.
    """
    annotators = list(measured.marks.annotated)
    humans = {"system": HUMANS, "model": None, "effort": None, "guideline": None, "in_use": True}
    rows: list[dict] = []
    for level, scale in product((*measured.levels, ALL), SCALES):
        place = {"level": level, "scale": scale}
        for system in systems:
            own = {**system.columns, "in_use": system.name == in_use, **place}
            for statistic in STATISTICS:
                figure = measured.kappa((system.name, CURATED), level, scale, statistic)
                rows.append({**own, **_row(statistic, "judge_vs_curated", "judge, curated", figure)})
            joined = measured.alpha(system.name, level, scale)
            rows.append({**own, **_row("alpha", "annotators_and_judge", ", ".join([*annotators, "judge"]), joined)})
        for statistic in STATISTICS:
            for name in annotators:
                figure = measured.kappa((name, CURATED), level, scale, statistic)
                rows.append({**humans, **place, **_row(statistic, "annotator_vs_curated", f"{name}, curated", figure)})
            for a, b in combinations(annotators, 2):
                figure = measured.kappa((a, b), level, scale, statistic)
                rows.append({**humans, **place, **_row(statistic, "annotator_vs_annotator", f"{a}, {b}", figure)})
        alone = measured.alpha("", level, scale)
        rows.append({**humans, **place, **_row("alpha", "annotators", ", ".join(annotators), alone)})
    return TABLES["judge_agreement"].frame([{**row, "resampled": measured.resampled} for row in rows])


def _row(statistic: str, raters: str, who: str, figure: Agreement) -> dict:
    return {
        "statistic": statistic,
        "raters": raters,
        "who": who,
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "n": figure.n,
        "missing": figure.missing,
        "reason": figure.reason,
        "confusion": None if figure.confusion is None else json.dumps(figure.confusion),
    }
