"""Raw passages as rows, and what the filters decide on them."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.chunking import PassageText
from tendril_assets.corpus.filters import FILTER_VERSION, decide
from tendril_assets.corpus.identifiers import Identifiers, nfc
from tendril_assets.corpus.neardup import NEARDUP_VERSION, near_duplicates
from tendril_assets.corpus.restrictions import RULE_VERSION as RESTRICTION_RULE
from tendril_assets.spec_corpus import FilterSpec
from tendril_assets.tables import TABLES

MASKING_FAILED = "masking_failed"
RESTRICTED, NEAR_DUPLICATE = "restricted_project", "near_duplicate"
RULE_VERSION = f"{FILTER_VERSION}+{NEARDUP_VERSION}"
RESTRICTION_VERSION = f"restriction-{RESTRICTION_RULE}"


def passage_rows(
    project: str, document: str, texts: Iterable[PassageText], hasher: Identifiers
) -> list[tuple[str, str, str, int, int, str, int]]:
    """Rows of ``passages`` of one document. Equal texts are told apart by their occurrence within the document."""
    seen: Counter[str] = Counter()
    rows = []
    for page, position, text in texts:
        text = nfc(text)
        passage_id = hasher.passage(project, document, text, seen[text], position)
        seen[text] += 1
        rows.append((passage_id, project, document, page, position, text, len(text)))
    return rows


class Decided(NamedTuple):
    """Rows of ``passage_decisions``, in the order of the passages, and of ``guarded_pairs``."""

    decisions: pl.DataFrame
    guarded: pl.DataFrame


def decide_passages(
    passages: pl.DataFrame,
    documents: pl.DataFrame,
    restricted: Collection[str],
    spec: FilterSpec,
    former: pl.DataFrame | None = None,
) -> Decided:
    """One decision per raw passage, so that the kept ones and the reasons add up to all of them.

    Passages of ``restricted`` projects are left out for that alone, whatever else they are. The others are looked at by
    themselves, and then for near-duplicates among those that stay. The older of two is the one that the last run did
    not drop as a repetition (``former``: its ``passage_decisions``), else that of the document drawn earlier, else the
    one that comes first in it: a document added to a project never takes the place of what was published, even where it
    is drawn before the others. ``documents`` has project, document and rank.
    """
    excluded = frozenset(restricted)
    decisions = {
        passage_id: decide(text, spec)
        for passage_id, project, text in passages.select("passage_id", "project", "text").iter_rows()
        if project not in excluded
    }
    staying = [passage_id for passage_id, decision in decisions.items() if decision.reason is None]
    frame = (
        passages.filter(pl.col("passage_id").is_in(staying))
        .join(documents.select("project", "document", "rank"), on=["project", "document"])
        .select(
            "passage_id",
            "text",
            group="project",
            order=pl.col("rank").cast(pl.Int64) * 2**32 + pl.col("position").cast(pl.Int64),
        )
    )
    if not spec.near_duplicate.drop:
        frame = frame.clear()
    found = near_duplicates(frame, spec.near_duplicate, kept_before=_let_stay(former))
    duplicates = {duplicate.passage_id: duplicate for duplicate in found.removed}
    projects = dict(passages.select("passage_id", "project").iter_rows())
    rows = []
    for passage_id, project in projects.items():
        cause, version = None, RULE_VERSION
        if project in excluded:
            reason, figure, version = RESTRICTED, None, RESTRICTION_VERSION
        elif duplicate := duplicates.get(passage_id):
            reason, figure, cause = NEAR_DUPLICATE, duplicate.similarity, duplicate.cause
        else:
            reason, figure = decisions[passage_id]
        rows.append((passage_id, project, reason is None, reason, figure, cause, version))
    pairs = [(pair.passage_id, pair.other, projects[pair.passage_id], *pair[2:]) for pair in found.guarded]
    return Decided(TABLES["passage_decisions"].frame(rows), TABLES["guarded_pairs"].frame(pairs))


def _let_stay(former: pl.DataFrame | None) -> frozenset[str]:
    """Passages the last run did not drop as repetitions; what it dropped for its text is dropped again before."""
    if former is None:
        return frozenset()
    return frozenset(former.filter(pl.col("reason").is_null() | (pl.col("reason") != NEAR_DUPLICATE))["passage_id"])


def bounded_after_masking(decisions: pl.DataFrame, corpus: pl.DataFrame, spec: FilterSpec) -> pl.DataFrame:
    """``decisions`` with the length rule applied to the masked texts too.

    A placeholder may be shorter or longer than what it stands for. The published promise is about the published text,
    so a passage whose masked text leaves the bounds is dropped like one that never kept them.
    """
    lengths = corpus.select("passage_id", length=pl.col("text").str.len_chars())
    low, high = pl.col("length") < spec.min_characters, pl.col("length") > spec.max_characters
    outside = lengths.filter(low | high).with_columns(
        broken=pl.when(low).then(pl.lit("too_short")).otherwise(pl.lit("too_long"))
    )
    joined = decisions.join(outside, on="passage_id", how="left", maintain_order="left")
    return joined.with_columns(
        kept=pl.col("kept") & pl.col("broken").is_null(),
        reason=pl.coalesce("broken", "reason"),
        figure=pl.coalesce(pl.col("length").cast(pl.Float64), "figure"),
    ).select(decisions.columns)


def without_unmasked(decisions: pl.DataFrame, unmasked: pl.DataFrame) -> pl.DataFrame:
    """``decisions`` with the passages of ``unmasked`` (passage_id) dropped, for a document that could not be masked."""
    failed = pl.col("passage_id").is_in(unmasked["passage_id"].to_list())
    return decisions.with_columns(
        kept=pl.col("kept") & ~failed,
        reason=pl.when(failed).then(pl.lit(MASKING_FAILED)).otherwise("reason"),
    )
