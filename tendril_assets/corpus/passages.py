"""Raw passages as rows, what the filters decide on them, and where each project stands in the end."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

import polars as pl

from tendril_assets.corpus.chunking import PassageText
from tendril_assets.corpus.filters import FILTER_VERSION, decide
from tendril_assets.corpus.identifiers import KeyedHasher, nfc
from tendril_assets.corpus.neardup import NEARDUP_VERSION, find_near_duplicates, similar_across
from tendril_assets.corpus.removals import Removals
from tendril_assets.spec import FilterSpec, NearDuplicateSpec
from tendril_assets.tables import TABLES

RULE_VERSION = f"{FILTER_VERSION}+{NEARDUP_VERSION}"


def passage_rows(
    project: str, document: str, texts: Iterable[PassageText], hasher: KeyedHasher
) -> list[tuple[str, str, str, int, int, str, int]]:
    """Rows of ``passages`` of one document. Equal texts are told apart by their occurrence within the document."""
    seen: Counter[str] = Counter()
    rows = []
    for page, position, text in texts:
        text = nfc(text)
        passage_id = hasher.passage(project, document, text, seen[text])
        seen[text] += 1
        rows.append((passage_id, project, document, page, position, text, len(text)))
    return rows


def without_removed(passages: pl.DataFrame, removals: Removals, spec: NearDuplicateSpec) -> pl.DataFrame:
    """``passages`` without the removed ones and without their near-duplicates in the same project.

    Else the next filter would only put the copy of a removed passage in its place. The guard that keeps texts with
    another number apart does not hold here.
    """
    key = ("project", "document", "page", "position", "passage_id")
    listed = {row[4] for row in passages.select(key).iter_rows() if removals.has_passage(*row)}
    if not listed:
        return passages
    gone = set(listed)
    hit = passages.filter(pl.col("passage_id").is_in(listed))
    for (project,), removed in hit.group_by("project"):
        rest = passages.filter(pl.col("project") == project, ~pl.col("passage_id").is_in(listed))
        pairs = similar_across(removed.select("passage_id", "text"), rest.select("passage_id", "text"), spec)
        gone |= {pair.right_id for pair in pairs}
    return passages.filter(~pl.col("passage_id").is_in(gone))


def decide_passages(passages: pl.DataFrame, documents: pl.DataFrame, spec: FilterSpec) -> pl.DataFrame:
    """Rows of ``passage_decisions``: each passage by itself, then near-duplicates among those that stay.

    ``documents`` has project, document and rank. The older passage of two is the one of the document drawn earlier,
    then the one that comes first in it.
    """
    decisions = {
        passage_id: decide(text, spec) for passage_id, text in passages.select("passage_id", "text").iter_rows()
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
    duplicates = {duplicate.passage_id: duplicate for duplicate in find_near_duplicates(frame, spec.near_duplicate)}
    rows = []
    for passage_id, project in passages.select("passage_id", "project").iter_rows():
        reason, figure = decisions[passage_id]
        cause = None
        if duplicate := duplicates.get(passage_id):
            reason, figure, cause = "near_duplicate", duplicate.similarity, duplicate.cause
        rows.append((passage_id, project, reason is None, reason, figure, cause, RULE_VERSION))
    return TABLES["passage_decisions"].frame(rows)


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


def project_status(
    projects: pl.DataFrame,
    documents: pl.DataFrame,
    status: pl.DataFrame,
    passages: pl.DataFrame,
    restricted: pl.DataFrame,
    corpus: pl.DataFrame,
    with_text: Sequence[str],
) -> pl.DataFrame:
    """Rows of ``project_status``.

    ``documents`` has project, document, rank and sha256; ``with_text`` are the outcomes that count as read. A project
    is restricted, in_corpus, failed (documents, and none of them was read) or empty, in this order.
    """
    outcomes = {
        (project, document): (outcome, message)
        for project, document, outcome, message in status.select(
            "project", "document", "outcome", "message"
        ).iter_rows()
    }
    by_project: dict[str, list[tuple[str, str]]] = {project: [] for project in projects["project"]}
    for project, document, sha256 in (
        documents.sort("project", "rank").select("project", "document", "sha256").iter_rows()
    ):
        by_project[project].append((document, sha256))
    n_passages = dict(passages.group_by("project").len().iter_rows())
    n_kept = dict(corpus.group_by("group_id").len().iter_rows())
    limited = set(restricted["project"])
    rows = []
    for project, group_id in projects.sort("rank").select("project", "group_id").iter_rows():
        files = by_project[project]
        failures = [
            f"{document}: {outcome}" + (f", {message}" if message else "")
            for document, _ in files
            for outcome, message in [outcomes[project, document]]
            if outcome not in with_text
        ]
        kept = n_kept.get(group_id, 0)
        all_failed = bool(files) and len(failures) == len(files)
        state = "restricted" if project in limited else "in_corpus" if kept else "failed" if all_failed else "empty"
        digest = hashlib.sha256(repr(sorted(files)).encode()).hexdigest()
        counts = (len(files), len(failures), n_passages.get(project, 0), kept)
        rows.append((project, group_id, state, digest, *counts, failures[-1] if failures else None))
    return TABLES["project_status"].frame(rows)
