"""The agreement table of a calibration set: judge against the curated grades, annotators among themselves.

Per level and over all, on the graded scale (0/1/2) and the binary one (relevant = grade 1 or 2).
"""

import json
from collections.abc import Sequence

import polars as pl

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.judging.agreement import Agreement, Weights, cohen_kappa, krippendorff_alpha
from tendril_assets.judging.prompts import Guideline, render
from tendril_assets.judging.request import RequestFactory
from tendril_assets.records import GRADES
from tendril_assets.tables import TABLES

ALL = "all"
SCALES: dict[str, tuple[int, ...]] = {"graded": GRADES, "binary": (0, 1)}
STATISTICS: dict[str, Weights] = {"kappa": "none", "kappa_quadratic": "quadratic"}


def calibration_requests(pairs: pl.DataFrame, factory: RequestFactory, guideline: Guideline) -> pl.DataFrame:
    """One row per calibration pair: query_id, passage_id and the columns of ``candidates.REQUEST_SCHEMA``.

    The pairs bring their own texts, as the annotators saw them; pairs of equal texts share a ``request_key``.
    """
    ordered = pairs.sort("query_text", "query_id", "passage_id")
    queries, passages = ordered["query_text"].to_list(), ordered["passage_text"].to_list()
    keys = factory.pair_keys(guideline, queries, passages, ((i, i) for i in range(ordered.height)))
    overhead = sum(len(message["content"]) for message in render(guideline, "", ""))
    characters = pl.col("query_text").str.len_chars() + pl.col("passage_text").str.len_chars() + overhead
    return ordered.select(
        "query_id",
        "passage_id",
        pl.Series("request_key", keys, pl.String),
        "query_text",
        "passage_text",
        prompt_characters=characters.cast(pl.Int64),
    )


def agreement_table(
    pairs: pl.DataFrame, annotations: pl.DataFrame, verdicts: pl.DataFrame, *, seed: int, resamples: int = 10_000
) -> pl.DataFrame:
    """Rows of ``judge_agreement``.

    Args:
        pairs: query_id, passage_id, level, curated_grade (None where not settled).
        annotations: query_id, passage_id, annotator, grade (None where not annotated).
        verdicts: query_id, passage_id, grade (None where the judge gave none); pairs not asked may be absent.

    Alpha is ordinal on the graded scale; on the binary scale all metrics are one. Intervals resample pairs.
    """
    key = ["query_id", "passage_id"]
    marked = pairs.join(verdicts.select(*key, judge="grade"), on=key, how="left").join(
        annotations.sort("annotator").group_by(key, maintain_order=True).agg(pl.col("grade").alias("annotated")),
        on=key,
        how="left",
    )
    rows: list[dict] = []
    for level in (*sorted(pairs["level"].unique()), ALL):
        chosen = marked if level == ALL else marked.filter(pl.col("level") == level)
        rows.extend(_rows(level, chosen.sort(key), seed, resamples))
    return TABLES["judge_agreement"].frame(rows)


def _rows(level: str, chosen: pl.DataFrame, seed: int, resamples: int) -> list[dict]:
    curated, judge = chosen["curated_grade"].to_list(), chosen["judge"].to_list()
    annotated = [marks or [] for marks in chosen["annotated"].to_list()]
    rows = []
    for scale, labels in SCALES.items():
        human, machine = _on_scale(curated, scale), _on_scale(judge, scale)
        for statistic, weights in STATISTICS.items():
            draw = keyed_order(seed, "judge_agreement", f"{level}/{scale}/{statistic}")
            figure = cohen_kappa(human, machine, labels, weights, resamples=resamples, seed=draw)
            rows.append(_row(level, scale, statistic, "judge_vs_curated", figure))
        units = [_on_scale(marks, scale) for marks in annotated]
        draw = keyed_order(seed, "judge_agreement", f"{level}/{scale}/alpha")
        figure = krippendorff_alpha(units, "ordinal", labels=labels, resamples=resamples, seed=draw)
        rows.append(_row(level, scale, "alpha", "annotators", figure))
    return rows


def _on_scale(marks: Sequence[int | None], scale: str) -> list[int | None]:
    if scale == "graded":
        return list(marks)
    return [None if mark is None else int(mark > 0) for mark in marks]


def _row(level: str, scale: str, statistic: str, raters: str, figure: Agreement) -> dict:
    return {
        "level": level,
        "scale": scale,
        "statistic": statistic,
        "raters": raters,
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "n": figure.n,
        "missing": figure.missing,
        "reason": figure.reason,
        "confusion": None if figure.confusion is None else json.dumps(figure.confusion),
    }
