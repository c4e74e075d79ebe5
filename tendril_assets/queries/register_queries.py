"""The queries of all registers together, and the group that each belongs to.

Ids are for ever: a live question and a query written by hand keep the one they were landed with, a generated one has a hash
of what it was made from. A query that was published keeps its text, or it would be another query under an old name.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from tendril_assets.errors import LandingError
from tendril_assets.queries.references import plain_text
from tendril_assets.queries.routes import IN_THE_SET
from tendril_assets.spec_registers import RegisterSpec
from tendril_assets.tables import TABLES

# Of a query that belongs to no act: kind and key are never empty.
NO_ACT = "-"
ACCEPTED = "accepted"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SHOWN = 5
_COLUMNS = {"query_id": pl.String, "text": pl.String, "level": pl.String, "project": pl.String}


class Registers(NamedTuple):
    """``left_out``: query_id, level, reason of what was landed or generated and is no query of the collection."""

    queries: pl.DataFrame
    project_queries: pl.DataFrame
    left_out: pl.DataFrame


def build_registers(
    spec: RegisterSpec,
    live: pl.DataFrame,
    attachments: pl.DataFrame,
    manual: pl.DataFrame,
    generated: pl.DataFrame,
    acts: pl.DataFrame,
) -> Registers:
    """Tables ``queries`` and ``project_queries``.

    Args:
        spec: which registers there are, and their levels.
        live: ``live_questions``.
        attachments: ``live_attachments``.
        manual: ``manual_queries``.
        generated: ``generated_questions``.
        acts: project, group_id, kind of the acts of the corpus.

    Raises LandingError for ids that cannot be published, and for one id in two registers.
    """
    parts = []
    if spec.live:
        parts.append(_live(live, attachments, spec.live.level))
    if spec.manual:
        parts.append(_manual(manual, acts, spec.manual.level))
    if spec.generation:
        parts.append(_generated(generated, acts))
    every = pl.concat(parts) if parts else pl.DataFrame(schema={**_COLUMNS, "reason": pl.String})
    left_out = every.filter(pl.col("reason").is_not_null()).select("query_id", "level", "reason")
    kept = every.filter(pl.col("reason").is_null()).drop("reason")
    refuse_ids(kept["query_id"])
    _refuse_shared(kept)
    placed = kept.join(acts.select("project", "group_id", "kind"), on="project", how="left").sort("query_id")
    queries = placed.select(
        "query_id",
        "text",
        "level",
        catalog=pl.when(pl.col("project").is_null()).then(pl.lit(NO_ACT)).otherwise(pl.col("kind").fill_null(NO_ACT)),
        area=pl.col("project").fill_null(NO_ACT),
    )
    of_groups = placed.filter(pl.col("group_id").is_not_null()).select("project", "group_id", "query_id", "level")
    return Registers(
        queries.cast(dict(TABLES["queries"].schema)),
        of_groups.cast(dict(TABLES["project_queries"].schema)).sort("group_id", "query_id"),
        left_out.sort("level", "query_id"),
    )


def refuse_ids(ids: Iterable[str]) -> None:
    """Raise LandingError for query ids that a URL, a run file or a spreadsheet would have to quote."""
    wrong = sorted(one for one in ids if not _PLAIN.fullmatch(one))
    if wrong:
        raise LandingError(
            f"query ids that cannot be published: {', '.join(map(repr, wrong[:_SHOWN]))} ({len(wrong)} in all). They may hold "
            "ASCII letters, digits, '.', '_' and '-' only, begin with a letter or digit, and have at most 100 characters: "
            "rename them in live_questions.jsonl or manual.jsonl"
        )


def changed_texts(queries: pl.DataFrame, published: pl.DataFrame) -> list[str]:
    """Ids whose text is another than was published (query_id, text, version), each with the versions, sorted."""
    both = queries.select("query_id", now="text").join(published, on="query_id")
    changed = both.filter(pl.col("now") != pl.col("text")).group_by("query_id").agg(pl.col("version").unique().sort())
    return [f"{query} (published in {', '.join(versions)})" for query, versions in changed.sort("query_id").iter_rows()]


def _live(live: pl.DataFrame, attachments: pl.DataFrame, level: str) -> pl.DataFrame:
    joined = live.join(attachments.select("query_id", "project", "route", "reason"), on="query_id", how="left")
    in_the_set = pl.col("route").is_in(IN_THE_SET)
    why = pl.format("{}: {}", pl.col("route").fill_null("none"), pl.col("reason").fill_null("not attached yet"))
    return joined.select(
        "query_id",
        "text",
        level=pl.lit(level),
        project="project",
        reason=pl.when(~in_the_set.fill_null(False)).then(why),
    )


def _manual(manual: pl.DataFrame, acts: pl.DataFrame, level: str) -> pl.DataFrame:
    known = pl.col("project").is_in(acts["project"].implode())
    foreign = pl.col("project").is_not_null() & ~known
    leveled = manual.select("query_id", "text", "project", level=pl.lit(level))
    again = repeated_texts(leveled.filter(~foreign)).select("query_id", "repeats")
    why = (
        pl.when(foreign)
        .then(pl.format("its act {} is not in the corpus", pl.col("project")))
        .when(pl.col("repeats").is_not_null())
        .then(pl.format("repeats {}", pl.col("repeats")))
    )
    joined = leveled.join(again, on="query_id", how="left")
    return joined.select("query_id", "text", "level", "project", reason=why)


def _generated(generated: pl.DataFrame, acts: pl.DataFrame) -> pl.DataFrame:
    accepted = generated.filter((pl.col("status") == ACCEPTED) & pl.col("query_id").is_not_null())
    joined = accepted.join(acts.select("project", "group_id"), on="group_id", how="left")
    gone = pl.when(pl.col("project").is_null()).then(pl.lit("its act is not in the corpus"))
    rows = joined.sort("query_id", "passage_id").select("query_id", "text", "level", "project", reason=gone)
    # One question may have been written over two passages of an act: it is one query, with two answers.
    return rows.unique(["query_id", "text", "level", "project"], keep="first", maintain_order=True)


def lengths(queries: pl.DataFrame) -> pl.DataFrame:
    """level, queries, median, shortest, longest: lengths of the queries of each register in characters."""
    characters = pl.col("text").str.len_chars()
    return (
        queries.group_by("level")
        .agg(queries=pl.len(), median=characters.median(), shortest=characters.min(), longest=characters.max())
        .sort("level")
    )


def repeated_texts(queries: pl.DataFrame) -> pl.DataFrame:
    """level, query_id, repeats: queries whose text another one of their register has, blanks, case and punctuation aside,
    with the lowest id that has it."""
    plain = [plain_text(text) for text in queries["text"]]
    known = queries.select("level", "query_id").with_columns(plain=pl.Series(plain, dtype=pl.String))
    first = known.with_columns(repeats=pl.col("query_id").min().over("level", "plain"))
    return first.filter(pl.col("repeats") != pl.col("query_id")).select("level", "query_id", "repeats").sort(pl.all())


def _refuse_shared(kept: pl.DataFrame) -> None:
    shared = kept.filter(pl.col("query_id").is_duplicated()).group_by("query_id").agg(pl.col("level").sort())
    if shared.height:
        told = [f"{query} ({', '.join(levels)})" for query, levels in shared.sort("query_id").head(_SHOWN).iter_rows()]
        raise LandingError(
            f"one id for two queries: {', '.join(told)} ({shared.height} in all). Ids are for ever and name one query each: "
            "rename the one that was never published"
        )
