"""What the tables of a data folder know of one id: what it names, what was removed of it, and what was made of it.

An id is a published one (``g-``, ``d-``, ``p-``), a raw project, ``project/document``, the place of a passage
(``project/document/page/position``), a request key, or a query's id. Raw names need not be landed any more: their published
ids follow from them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import duckdb
import polars as pl

from tendril_assets.corpus.identifiers import KeyedHasher, nfc
from tendril_assets.corpus.removals import PUBLISHED
from tendril_assets.resources.sql import identifier

_PLACE = re.compile(r"(?P<document>[^/].*/[^/]+)/(?P<page>\d+)/(?P<position>\d+)")
_KINDS = {"g": "project", "d": "document", "p": "passage"}
# Ids shown of a list of them.
_SHOWN = 5


class Fact(NamedTuple):
    """One thing that is known; ``topic`` is what a reader looks for."""

    topic: str
    text: str


@dataclass
class Known:
    """``ids``: the published ids that are looked for everywhere; ``raw`` (project, document or None): names of what landed;
    ``keys``: requests that asked about nothing but these passages; ``shared``: those that asked about others too."""

    id: str
    kind: str
    collection: str
    ids: set[str] = field(default_factory=set)
    raw: set[tuple[str, str | None]] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    facts: list[Fact] = field(default_factory=list)

    def tell(self, topic: str, text: str) -> None:
        self.facts.append(Fact(topic, text))


class Tables:
    """Questions to one collection's tables; a table or column that is not there has no rows."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, collection: str) -> None:
        self._connection, self.collection = connection, collection
        found = connection.sql(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = $s AND database_name = "
            "current_database()",
            params={"s": collection},
        ).fetchall()
        self.columns: dict[str, set[str]] = {}
        for table, column in found:
            self.columns.setdefault(table, set()).add(column)

    def rows(self, table: str, select: str, where: str, **values: Any) -> list[tuple[Any, ...]]:
        """Different rows of one table."""
        if table not in self.columns:
            return []
        source = f"{identifier(self.collection)}.{identifier(table)}"
        statement = f"SELECT DISTINCT {select} FROM {source} WHERE {where} ORDER BY ALL"
        return self._connection.sql(statement, params=values or None).fetchall()

    def ids(self, table: str, column: str, where: str, **values: Any) -> set[str]:
        wanted = {column, *re.findall(r"\b[a-z]+_(?:id|key)\b", where)}
        if not wanted <= self.columns.get(table, set()):
            return set()
        return {row[0] for row in self.rows(table, column, f"{column} IS NOT NULL AND ({where})", **values)}


def known(raw_id: str, tables: Tables, hasher: KeyedHasher | None) -> Known:
    """All that is known of ``raw_id``; ``hasher`` is None where there is no secret to hash names with."""
    it = _identified(nfc(raw_id).strip(), tables, hasher)
    _with_all_below(it, tables)
    _landed(it, tables)
    _removal(it, tables)
    _requests(it, tables)
    _models(it, tables)
    _releases(it, tables)
    if it.kind in ("project", "document", "passage") and not named_rows(it, tables) and not _is_anywhere(it, tables):
        it.tell("look out", "no table names it: if it ever was here, is it spelt as in the landing folder?")
    return it


def named_rows(it: Known, tables: Tables) -> list[tuple[str, int]]:
    """(table, rows) of the tables that have the raw names; only those with any."""
    found = []
    for table, columns in sorted(tables.columns.items()):
        if "project" not in columns:
            continue
        n = 0
        for project, document in it.raw:
            if document is None:
                n += tables.rows(table, "count(*)", "project = $p", p=project)[0][0]
            elif "document" in columns:
                n += tables.rows(table, "count(*)", "project = $p AND document = $d", p=project, d=document)[0][0]
        if n:
            found.append((table, n))
    return found


def _is_anywhere(it: Known, tables: Tables) -> bool:
    own = sorted(it.ids)
    for table, columns in tables.columns.items():
        for column in columns & {"group_id", "document_id", "passage_id", "id"}:
            if tables.rows(table, "1", f"{column} IN (SELECT unnest($own))", own=own):
                return True
    return False


def _identified(text: str, tables: Tables, hasher: KeyedHasher | None) -> Known:
    it = Known(text, "unknown", tables.collection)
    if published := PUBLISHED.fullmatch(text):
        it.kind, it.ids = _KINDS[published[1]], {text}
        _name_published(it, tables)
    elif tables.rows("projects", "project", "project = $id", id=text):
        it.kind, it.raw = "project", {(text, None)}
    elif found := tables.rows("documents", "project, document", "project || '/' || document = $id", id=text):
        it.kind, it.raw = "document", set(found)
    elif any(tables.ids(t, "request_key", "request_key = $id", id=text) for t in ("candidates", "judge_calls")) or (
        tables.ids("request_passages", "request_key", "request_key = $id", id=text)
    ):
        it.kind = "request"
    elif any(tables.ids(t, "query_id", "query_id = $id", id=text) for t in ("queries", "test_queries")):
        it.kind, it.ids = "query", {text}
    elif place := _PLACE.fullmatch(text):
        it.kind = "passage"
        _at_place(it, place, tables)
    elif "/" in text:
        it.kind = "document"
        it.raw = {(text[:i], text[i + 1 :]) for i, c in enumerate(text) if c == "/" and 0 < i < len(text) - 1}
    else:
        it.kind, it.raw = "project", {(text, None)}
    if it.raw and it.kind in ("project", "document"):
        if hasher is None:
            it.tell(
                "not looked for", "its published id: TENDRIL_HASH_KEY is not set, so names cannot be turned into ids"
            )
        else:
            it.ids |= {hasher.document(p, d) if d is not None else hasher.group(p) for p, d in it.raw}
    return it


def _name_published(it: Known, tables: Tables) -> None:
    own = {"id": it.id}
    if it.kind == "project":
        for table in ("project_status", "sampled_projects"):
            it.raw |= {(row[0], None) for row in tables.rows(table, "project", "group_id = $id", **own)}
    elif it.kind == "document":
        it.raw |= set(tables.rows("sampled_documents", "project, document", "document_id = $id", **own))
    else:
        for table in ("passages", "removed_passages"):
            for project, document, page in tables.rows(table, "project, document, page", "passage_id = $id", **own):
                it.tell("it is", f"a passage on page {page} of {project}/{document} (table {table})")


def _at_place(it: Known, place: re.Match[str], tables: Tables) -> None:
    values = {"d": place["document"], "page": int(place["page"]), "position": int(place["position"])}
    where = "project || '/' || document = $d AND page = $page AND position = $position"
    it.ids |= {row[0] for row in tables.rows("passages", "passage_id", where, **values)}
    # What an entry of the removal list hit there is known by the entry.
    removed = {row[0] for row in tables.rows("removed_passages", "passage_id", "entry = $id", id=it.id)}
    if removed:
        it.tell("it was", f"the removed passage {_some(removed)}; what stands at that place now is another passage")
    it.ids |= removed


def _with_all_below(it: Known, tables: Tables) -> None:
    """The documents and passages of a project, the passages of a document, the passages of a request."""
    if it.kind not in ("project", "document", "request"):
        return
    column = {"project": "group_id", "document": "document_id", "request": "request_key"}[it.kind]
    own = sorted(it.ids) or [it.id]
    documents, passages = set[str](), set[str]()
    for table in tables.columns:
        if table in ("test_corpus", "test_qrels", "retrieval_runs"):
            continue  # the external collection has passages of its own
        where = f"{column} IN (SELECT unnest($own))"
        if it.kind == "project":
            documents |= tables.ids(table, "document_id", where, own=own)
        passages |= tables.ids(table, "passage_id", where, own=own)
    for project, document in it.raw if it.kind != "request" else ():
        where, values = "project = $p", {"p": project}
        if document is not None:
            where, values = f"{where} AND document = $d", {"p": project, "d": document}
        for table in ("passages", "removed_passages"):
            passages |= {row[0] for row in tables.rows(table, "passage_id", where, **values)}
        if it.kind == "project":
            rows = tables.rows("sampled_documents", "document_id", where, **values)
            documents |= {row[0] for row in rows}
    if it.ids:
        it.tell("published id", _some(it.ids))
    if it.kind == "project":
        it.tell("documents", f"{len(documents):,} known by id")
    it.tell("passages", f"{len(passages):,} known by id" + (f": {_some(passages)}" if passages else ""))
    it.ids |= documents | passages


def _landed(it: Known, tables: Tables) -> None:
    for project, document in sorted(it.raw, key=str):
        where, values = "project = $p", {"p": project}
        if document is not None:
            where, values = f"{where} AND document = $d", {"p": project, "d": document}
        rows = tables.rows("documents", "document, path, size_bytes", where, **values)
        name = project if document is None else f"{project}/{document}"
        here = bool(rows) or (document is None and bool(tables.rows("projects", "project", where, **values)))
        if document is not None and len(it.raw) > 1 and not here:
            continue  # one of several ways to read a name with slashes
        it.tell("landed", f"{name}: {len(rows):,} documents" if here else f"{name}: not in the landing folder")
        for title, path, size in rows[:_SHOWN]:
            it.tell("landed file", f"{title}: {path} ({size:,} bytes)")
        for state, reason in tables.rows("project_status", "state, reason", "project = $p", p=project):
            it.tell("stands", f"{project}: {state}" + (f", {reason}" if reason else ""))
    if it.kind == "passage":
        for kept, reason, cause in tables.rows(
            "passage_decisions", "kept, reason, cause", "passage_id IN (SELECT unnest($ids))", ids=sorted(it.ids)
        ):
            it.tell("decided", "kept" if kept else f"dropped: {reason}" + (f", repeats {cause}" if cause else ""))


def _removal(it: Known, tables: Tables) -> None:
    names = {it.id, *it.ids, *(p for p, _ in it.raw), *(f"{p}/{d}" for p, d in it.raw if d is not None)}
    # What takes it out may name its project or document.
    for table in ("erased_ids", "removed_passages"):
        column = "id" if table == "erased_ids" else "passage_id"
        names |= {
            row[0] for row in tables.rows(table, "entry", f"{column} IN (SELECT unnest($ids))", ids=sorted(it.ids))
        }
    asked = {"names": sorted(names)}
    entries = tables.rows("removals", "kind, id, reason, date", "id IN (SELECT unnest($names))", **asked)
    for kind, entry, reason, date in entries:
        it.tell("removal list", f"{kind} {entry}, {date}: {reason}")
    if not entries:
        it.tell("removal list", "no entry names it")
    for kind, entry, state, projects, documents, passages in tables.rows(
        "removal_effects", "kind, id, state, projects, documents, passages", "id IN (SELECT unnest($names))", **asked
    ):
        hit = f"{projects:,} projects, {documents:,} documents, {passages:,} passages"
        it.tell("effect", f"{kind} {entry}: {state}, took out {hit}")
    erased = tables.rows("erased_ids", "kind, id, since", "id IN (SELECT unnest($ids))", ids=sorted(it.ids))
    if erased:
        by_kind = pl.DataFrame(erased, ["kind", "id", "since"], orient="row")["kind"].value_counts(sort=True)
        counted = ", ".join(f"{n:,} of kind {kind}" for kind, n in by_kind.iter_rows())
        first = min(since for *_, since in erased)
        it.tell("erased", f"{counted}, since {first:%Y-%m-%d %H:%M} UTC")
        for at, place, items in tables.rows(
            "erasures",
            "erased_at, place, sum(items) OVER (PARTITION BY erased_at, place)::BIGINT",
            "erased_at >= $first",
            first=first,
        ):
            it.tell(
                "erasing run",
                f"{at:%Y-%m-%d %H:%M} UTC, {place}: {items:,} rows, replies or files of all that it erased",
            )
    elif entries:
        it.tell("erased", "not yet: an entry takes effect in the next tendril run")


def _requests(it: Known, tables: Tables) -> None:
    if it.kind == "request":
        it.keys = {it.id}
    elif it.kind == "query":
        it.keys = tables.ids("candidates", "request_key", "query_id = $id", id=it.id)
    else:
        others: set[str] = set()
        for table in ("request_passages", "candidates"):
            where = "passage_id IN (SELECT unnest($ids))"
            it.keys |= tables.ids(table, "request_key", where, ids=sorted(it.ids))
            others |= tables.ids(
                table,
                "request_key",
                "request_key IN (SELECT unnest($keys)) AND passage_id NOT IN (SELECT unnest($ids))",
                keys=sorted(it.keys),
                ids=sorted(it.ids),
            )
        it.shared, it.keys = it.keys & others, it.keys - others
    shared = f"; {len(it.shared):,} more ask about other passages with the same text too" if it.shared else ""
    it.tell("requests", f"{len(it.keys):,} ask about it{shared}")


def _models(it: Known, tables: Tables) -> None:
    for model, weights, part, passages in tables.rows(
        "trained_passages",
        "model, weights_sha256, part, count(*) OVER (PARTITION BY model, weights_sha256, part)::BIGINT",
        "passage_id IN (SELECT unnest($ids))",
        ids=sorted(it.ids),
    ):
        what = "trained on" if part == "train" else "was chosen by"
        it.tell("models", f"{model} (weights {weights[:12]}) {what} {passages:,} of its passages: train it again")


def _releases(it: Known, tables: Tables) -> None:
    columns = tables.columns.get("releases", set())
    since = "withdrawn_at" if "withdrawn_at" in columns else "NULL"
    for version, path, withdrawn in tables.rows("releases", f"version, path, {since}", "true"):
        state = f"withdrawn on {withdrawn:%Y-%m-%d}; old copies and tags still hold it" if withdrawn else "stands"
        it.tell("release", f"{version} ({state}): {path}")


def _some(ids: Iterable[str]) -> str:
    every = sorted(ids)
    more = f" and {len(every) - _SHOWN:,} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
