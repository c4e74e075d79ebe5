"""What each entry of the removal list hit: proof for whoever asked for it, and the trap for a misspelt one."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping

import polars as pl

from tendril_assets.corpus.removals import Removals
from tendril_assets.tables import TABLES

# It took something out in this run; it did before and finds nothing now; it never found anything.
EFFECTIVE, ABSENT, NO_MATCH = "effective", "absent", "no_match"
KINDS = ("project", "document", "passage")
MAX_SUGGESTED = 20


def removal_effects(
    entries: Iterable[tuple[str, str]],
    groups: Mapping[str, str],
    documents: Mapping[tuple[str, str], str],
    taken: Mapping[str, int],
    former: pl.DataFrame,
) -> pl.DataFrame:
    """Rows of ``removal_effects``, one per (kind, id) entry of this stage.

    ``groups`` maps each landed project to its published id, ``documents`` each landed (project, document); ``taken``
    counts the passages taken out per passage entry; ``former`` is this table after the last run. For the first
    ``MAX_SUGGESTED`` entries without a match the nearest landed name is suggested.
    """
    worked = {(k, i) for k, i, state in former.select("kind", "id", "state").iter_rows() if state != NO_MATCH}
    by_name = {name: project for project, group in groups.items() for name in (project, group)}
    documents_of = Counter(project for project, _ in documents)
    document_names = {name for (project, document), i in documents.items() for name in (f"{project}/{document}", i)}
    landed = {
        name.casefold(): name for name in (*groups, *(f"{project}/{document}" for project, document in documents))
    }
    rows, unmatched = [], 0
    for kind, entry in sorted(set(entries)):
        if kind not in KINDS:
            continue
        projects = int(kind == "project" and entry in by_name)
        hit = documents_of[by_name[entry]] if projects else int(kind == "document" and entry in document_names)
        passages = taken.get(entry, 0) if kind == "passage" else 0
        state = EFFECTIVE if projects or hit or passages else ABSENT if (kind, entry) in worked else NO_MATCH
        suggestion = None
        if state == NO_MATCH and unmatched < MAX_SUGGESTED:
            unmatched += 1
            # A place in a document that is landed under another name differs in the name alone.
            wanted = entry.rsplit("/", 2)[0] if kind == "passage" else entry
            nearest = difflib.get_close_matches(wanted.casefold(), landed, 1, 0.75)
            suggestion = landed[nearest[0]] if nearest else None
        rows.append((kind, entry, state, projects, hit, passages, suggestion))
    return TABLES["removal_effects"].frame(rows)


def touching(
    removals: Removals, groups: Mapping[str, str], documents: Mapping[tuple[str, str], str], removed: pl.DataFrame
) -> dict[str, set[str]]:
    """Project -> the entries (kind and id) that take something out of it, of all landed projects.

    ``removed`` are rows of ``removed_passages``.
    """
    found: dict[str, set[str]] = {}
    for project, group in groups.items():
        found[project] = {f"project {i}" for i in (project, group) if i in removals.projects}
    for (project, document), document_id in documents.items():
        raw = f"{project}/{document}"
        found[project] |= {f"document {i}" for i in (raw, document_id) if i in removals.documents}
    for project, entry in removed.select("project", "entry").iter_rows():
        if project in found:
            found[project].add(f"passage {entry}")
    return found
