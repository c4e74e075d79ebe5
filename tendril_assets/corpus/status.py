"""Where each landed project stands, and why: the first place to look when somebody asks for one."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.passages import MASKING_FAILED
from tendril_assets.corpus.sampling import Standing, sample_projects
from tendril_assets.tables import TABLES

STATES = ("in_corpus", "restricted", "failed", "empty", "not_sampled", "test_collection", "removed")


class Outcomes(NamedTuple):
    """Tables of this run; ``documents``: every landed project, document, sha256, and rank, empty where not sampled.

    ``status`` are rows of document_status, ``decisions`` of passage_decisions with the ``document`` of the passage.
    """

    documents: pl.DataFrame
    status: pl.DataFrame
    decisions: pl.DataFrame
    restricted: pl.DataFrame
    corpus: pl.DataFrame


def project_status(
    standing: Standing,
    sampled: Sequence[str],
    outcomes: Outcomes,
    *,
    with_text: Collection[str],
    touching: Mapping[str, Collection[str]],
    rules: str,
    seed: int,
) -> pl.DataFrame:
    """Rows of ``project_status``, one per landed project.

    ``sampled`` are the projects drawn, in order; ``with_text`` the outcomes that count as read; ``touching`` the
    entries of the removal list per project; ``rules`` names all rules a result depends on. A sampled project is
    restricted, in_corpus, failed (it has documents, and none was read and masked) or empty, in this order; another one
    removed, test_collection or not_sampled.
    """
    files: dict[str, list[tuple[int | None, str, str]]] = {project: [] for project in standing.groups}
    for project, document, sha256, rank in (
        outcomes.documents.select("project", "document", "sha256", "rank").sort("rank", "document").iter_rows()
    ):
        files[project].append((rank, document, sha256))
    failures = _failures(outcomes, with_text)
    passages = Counter(outcomes.decisions["project"])
    dropped = Counter(outcomes.decisions.filter(~pl.col("kept"))["project"])
    kept = dict(outcomes.corpus.group_by("group_id").len().iter_rows())
    limits = {  # a person's verdict stands on no page
        p: f"{rule} in {d}" + (f", page {page}" if page else "")
        for p, d, page, rule in _restrictions(outcomes.restricted)
    }
    eligible = sample_projects(standing.eligible, len(standing.eligible), seed)
    places = {project: place for place, project in enumerate(eligible, start=1)}
    drawn = set(sampled)
    rows = []
    for project, group in standing.groups.items():
        mine = [file for file in files[project] if file[0] is not None] if project in drawn else []
        errors = [f"{document}: {failures[project, document]}" for _, document, _ in mine
                  if (project, document) in failures]  # fmt: skip
        n_kept = kept.get(group, 0)
        entries = sorted(touching.get(project, ()))
        if project in standing.removed:
            state, reason = "removed", f"on the removal list: {', '.join(entries)}"
        elif project in standing.tested:
            state, reason = "test_collection", "held out for the test collection"
        elif project not in drawn:
            place = f"place {places[project]:,} of {len(places):,} eligible, {len(drawn):,} drawn"
            state, reason = "not_sampled", place
        elif project in limits:
            state, reason = "restricted", limits[project]
        elif n_kept:
            state, reason = "in_corpus", None
        elif mine and len(errors) == len(mine):
            state, reason = "failed", "none of its documents gave text"
        else:
            state, reason = "empty", _why_empty(bool(files[project]), bool(mine), passages[project])
        inputs = [mine or files[project], entries, rules]
        digest = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
        counts = (len(files[project]), len(mine), len(errors), passages[project], n_kept, dropped[project])
        rows.append((project, group, state, reason, digest, *counts, errors[-1] if errors else None))
    return TABLES["project_status"].frame(rows)


def _why_empty(landed: bool, sampled: bool, passages: int) -> str:
    if not landed:
        return "no document was landed"
    if not sampled:
        return "all its documents are on the removal list"
    return "no passage was kept" if passages else "its documents hold no passage"


def _failures(outcomes: Outcomes, with_text: Collection[str]) -> dict[tuple[str, str], str]:
    """(project, document) -> what went wrong while it was read or masked."""
    read = outcomes.status.filter(~pl.col("outcome").is_in(list(with_text)))
    found = {
        (project, document): outcome + (f", {message}" if message else "")
        for project, document, outcome, message in read.select("project", "document", "outcome", "message").iter_rows()
    }
    unmasked = outcomes.decisions.filter(pl.col("reason") == MASKING_FAILED)
    return found | dict.fromkeys(unmasked.select("project", "document").unique().iter_rows(), "it could not be masked")


def _restrictions(restricted: pl.DataFrame) -> Iterable[tuple[str, str, int, str]]:
    """The first restriction of each project, as they are read."""
    columns = ("project", "document", "page", "rule")
    return restricted.select(columns).sort(columns).unique("project", keep="first", maintain_order=True).iter_rows()
