"""Taking removed passages out, with what repeats them, and remembering them without their text.

Out go the passages an entry names and their near-duplicates in the same project, for the next filter would only put the
copy in the place of the removed one. The guard that keeps texts with another number apart does not hold here.

A published passage id depends on the text and on the document's name. When a rule reads the text differently, or the
document is renamed, the id of a removed passage changes, and the list alone would let it back in. So what an entry hit
is remembered as long as the entry is on the list, as keyed hashes that tell nothing without the secret: of each run of
``RUN`` letters and digits, case, spaces and punctuation aside. A passage of the same project goes when it shares at
least ``SHARE`` of the runs of the shorter of the two: the copy under another name, the longer passage that now holds the
text, the piece it was cut into. Shorter texts are compared whole.

An address (``project/document/page/position``) is resolved once: from then on it stands for what it hit, not for
whatever has moved to that place. A named id (``<group>#<number>``) does both: the text it hit is looked for wherever it
has moved, and what has moved under the id stays out too, for a published id never gets another text.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.corpus.identifiers import Identifiers
from tendril_assets.corpus.ngrams import normalise, shingle, similar_pairs
from tendril_assets.corpus.removals import Removals, is_address
from tendril_assets.corpus.restrictions import find_restrictions
from tendril_assets.spec_corpus import NearDuplicateSpec
from tendril_assets.tables import TABLES

REMOVAL_VERSION = "removal-2"
# Found by the list itself; for what it repeats; not found any more, and kept out should it return.
RUN, SHARE = 12, 0.7
LISTED, COPY, REMEMBERED = "listed", "copy", "remembered"


class TakenOut(NamedTuple):
    """``passages``: those that stay. ``removed``: rows of ``removed_passages``."""

    passages: pl.DataFrame
    removed: pl.DataFrame


class _Trace(NamedTuple):
    whole: str
    runs: frozenset[str]

    def repeats(self, other: "_Trace") -> bool:
        fewer = min(len(self.runs), len(other.runs))
        return self.whole == other.whole or (fewer > 0 and len(self.runs & other.runs) / fewer >= SHARE)


def take_out(
    passages: pl.DataFrame,
    removals: Removals,
    remembered: pl.DataFrame,
    spec: NearDuplicateSpec,
    hasher: Identifiers,
) -> TakenOut:
    """``passages`` (rows of that table) without the removed ones and what repeats them in the same project.

    ``remembered`` is what the last run returned as ``removed``; rows of entries no longer on the list are forgotten.
    """
    known = remembered.filter(pl.col("entry").is_in(removals.passages), pl.col("how") != COPY)
    if not removals.passages:
        return TakenOut(passages, known)
    rows: dict[tuple[str, str], tuple[Any, ...]] = {}
    targets: dict[str, list[tuple[str, _Trace]]] = {}
    listed = _listed(passages, removals, known)
    former = {
        (entry, passage): _Trace(whole, frozenset(runs))
        for entry, passage, whole, runs in known.select("entry", "passage_id", "whole", "runs").iter_rows()
    }
    keys = {project: hasher.trace_key(project) for project in {*listed["project"], *known["project"]}}
    is_removed_text = []
    for row in listed.iter_rows(named=True):
        entry, trace = row["entry"], _trace(keys[row["project"]], row["text"])
        before = former.get((entry, row["passage_id"]))
        is_removed_text.append(before is None or before.whole == trace.whole)
        if before is not None and not is_removed_text[-1]:
            # Another text has come under a named id: what was removed is still what stood there first.
            trace = before
        rows[entry, row["passage_id"]] = _row(entry, row, LISTED, trace)
        targets.setdefault(row["project"], []).append((entry, trace))
    for row in known.iter_rows(named=True):
        if (row["entry"], row["passage_id"]) not in rows:
            trace = former[row["entry"], row["passage_id"]]
            rows[row["entry"], row["passage_id"]] = (*tuple(row.values())[:5], REMEMBERED, [], *_stored(trace))
            targets.setdefault(row["project"], []).append((row["entry"], trace))
    gone = set(listed["passage_id"])
    rest = passages.filter(pl.col("project").is_in(list(targets)), ~pl.col("passage_id").is_in(gone))
    near = _near_duplicates(listed.filter(pl.Series(is_removed_text, dtype=pl.Boolean)), rest, spec)
    for row in rest.iter_rows(named=True):
        trace = _trace(keys[row["project"]], row["text"])
        entry = near.get(row["passage_id"]) or next((e for e, t in targets[row["project"]] if trace.repeats(t)), None)
        if entry is not None:
            gone.add(row["passage_id"])
            rows[entry, row["passage_id"]] = _row(entry, row, COPY, None)
    removed = TABLES["removed_passages"].frame([rows[key] for key in sorted(rows)])
    return TakenOut(passages.filter(~pl.col("passage_id").is_in(gone)), removed)


def taken_per_entry(removed: pl.DataFrame) -> dict[str, int]:
    """Passages taken out in this run for each entry, copies included."""
    return dict(removed.filter(pl.col("how") != REMEMBERED).group_by("entry").len().iter_rows())


def withheld_restrictions(removed: pl.DataFrame) -> set[tuple[str, str, int, str, str]]:
    """(project, document, page, language, rule) of restrictions that removed passages state.

    Taking a passage out must not free the project whose use it limits.
    """
    return {
        (project, document, page, *rule.split(":", 1))
        for project, document, page, rules in removed.filter(pl.col("how") != REMEMBERED)
        .select("project", "document", "page", "rules")
        .iter_rows()
        for rule in rules
    }


def _listed(passages: pl.DataFrame, removals: Removals, known: pl.DataFrame) -> pl.DataFrame:
    """``passages`` that an entry names, once per ``entry``."""
    resolved = known.filter(pl.col("entry").map_elements(is_address, pl.Boolean)).select("entry", "passage_id")
    asked = pl.DataFrame({"entry": sorted(removals.without_passages(resolved["entry"]).passages)}, {"entry": pl.String})
    address = pl.format("{}/{}/{}/{}", "project", "document", "page", "position")
    by_id = passages.with_columns(entry="passage_id").join(asked, on="entry", how="semi")
    by_place = passages.with_columns(entry=address).join(asked, on="entry", how="semi")
    # An address that was resolved goes on under the id of the passage it hit, while that is still there.
    found_again = passages.join(resolved, on="passage_id").select(by_id.columns)
    return pl.concat([by_id, by_place, found_again]).unique(["entry", "passage_id"], maintain_order=True)


def _row(entry: str, row: Mapping[str, Any], how: str, trace: _Trace | None) -> tuple[Any, ...]:
    rules = sorted({f"{found.language}:{found.rule}" for found in find_restrictions(row["text"])})
    place = (row["passage_id"], row["project"], row["document"], row["page"])
    return (entry, *place, how, rules, *_stored(trace))


def _stored(trace: _Trace | None) -> tuple[str | None, list[str]]:
    return (trace.whole, sorted(trace.runs)) if trace else (None, [])


def _trace(key: bytes, text: str) -> _Trace:
    # Four bytes a character, so that runs are cut from the bytes.
    letters = "".join(c for c in normalise(text) if c.isalnum()).encode("utf-32-le")
    runs = {letters[i : i + 4 * RUN] for i in range(0, len(letters) - 4 * RUN + 1, 4)}
    return _Trace(_keyed(key, letters), frozenset(_keyed(key, run) for run in runs))


def _keyed(key: bytes, piece: bytes) -> str:
    """16 hex digits. BLAKE2 may be keyed by a prefix; a run and its key fit into one block."""
    return hashlib.blake2b(key + piece, digest_size=8).hexdigest()


def _near_duplicates(listed: pl.DataFrame, rest: pl.DataFrame, spec: NearDuplicateSpec) -> dict[str, str]:
    """Passage of ``rest`` -> the entry whose passage (of ``listed``) it is a near-duplicate of, within each project."""
    both = pl.concat([listed.select("project", "text", "entry"), rest.select("project", "text", entry=pl.lit(None))])
    texts = [normalise(text) for text in both["text"]]
    scopes = both["project"].rank("dense").cast(pl.Int64).to_list()
    sides = [0] * listed.height + [1] * rest.height
    pairs = similar_pairs(shingle(texts, scopes, spec.unit, spec.n), spec.threshold, sides)
    found: dict[str, str] = {}
    for first, second in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True):
        found.setdefault(rest["passage_id"][second - listed.height], listed["entry"][first])
    return found
