"""What the tables of a data folder know of one id: what it names, what was removed of it, and what was made of it.

An id is a published one (``g-``, ``d-``, ``p-``, or ``<group>#<number>`` where passages are named), a raw project,
``project/document``, the place of a passage (``project/document/page/position``), a request key, or a query's id. Raw names
need not be landed any more: their published ids follow from them.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import duckdb

from tendril_assets.corpus.identifiers import Identifiers, nfc
from tendril_assets.corpus.named_identifiers import named_passage
from tendril_assets.corpus.removal_effects import NO_MATCH
from tendril_assets.corpus.removals import PUBLISHED
from tendril_assets.release.wording import plural
from tendril_assets.resources.sql import identifier

_PLACE = re.compile(r"(?P<document>[^/].*/[^/]+)/(?P<page>\d+)/(?P<position>\d+)")
_KINDS = {"g": "project", "d": "document", "p": "passage"}
# Topic of what makes an answer doubtful.
LOOK_OUT = "look out"
# Ids shown of a list of them.
_SHOWN = 5


class Fact(NamedTuple):
    """One thing that is known; ``topic`` is what a reader looks for."""

    topic: str
    text: str


@dataclass
class Known:
    """``ids``: the published ids that are looked for everywhere; ``raw`` (project, document or None): names of what landed;
    ``above``: raw names of what a passage belongs to; ``keys``: requests that asked about nothing but these passages;
    ``shared``: those that asked about others too; ``is_listed``: the removal list names it, or what it belongs to;
    ``unknown``: why nothing can be looked for, or not all of it; ``missed``: entries that name it and hit nothing, each with
    what is to be done; ``is_in_tables``: whether any row names it;
    ``is_named_by_list``: whether the removal list names it itself."""

    id: str
    kind: str
    collection: str
    ids: set[str] = field(default_factory=set)
    raw: set[tuple[str, str | None]] = field(default_factory=set)
    above: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    is_listed: bool = False
    unknown: str | None = None
    missed: list[str] = field(default_factory=list)
    is_in_tables: bool = True
    is_named_by_list: bool = False
    facts: list[Fact] = field(default_factory=list)

    @property
    def own_names(self) -> set[str]:
        """What an entry of the removal list may call it."""
        raw = {project if document is None else f"{project}/{document}" for project, document in self.raw}
        return {self.id, *self.ids, *raw}

    @property
    def names(self) -> set[str]:
        """What an entry of the removal list may call it, or what it belongs to."""
        return {*self.own_names, *self.above, *(project for project, _ in self.raw)}

    def tell(self, topic: str, text: str) -> None:
        self.facts.append(Fact(topic, text))


class Tables:
    """Questions to one collection's tables; a table that is not there has no rows."""

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

    def meta(self, name: str) -> str | None:
        """A value that the pipeline noted of the collection."""
        row = self._connection.execute(
            "SELECT value FROM main.meta WHERE collection = $c AND name = $n", {"c": self.collection, "n": name}
        ).fetchone()
        return row[0] if row else None

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


def known(raw_id: str, tables: Tables, hasher: Identifiers | str) -> Known:
    """All that is known of ``raw_id``; ``hasher`` is why names cannot be hashed where they cannot."""
    it = _identified(nfc(raw_id).strip(), tables, hasher)
    _with_all_below(it, tables)
    _landed(it, tables)
    _removal(it, tables)
    _requests(it, tables)
    _models(it, tables)
    _releases(it, tables)
    if it.kind in ("project", "document", "passage"):
        it.is_in_tables = bool(named_rows(it, tables)) or _is_anywhere(it, tables)
    if not it.is_in_tables:
        it.tell(LOOK_OUT, "no table names it: is it spelt as in the landing folder?")
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


def _identified(text: str, tables: Tables, hasher: Identifiers | str) -> Known:
    it = Known(text, "unknown", tables.collection)
    if published := PUBLISHED.fullmatch(text):
        it.kind, it.ids = _KINDS[published[1]], {text}
        _name_published(it, tables, hasher)
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
    elif tables.rows("removals", "id", "kind = 'pair' AND id = $id", id=text):
        n = len(tables.rows("qrels", "passage_id", "query_id || '/' || passage_id = $id", id=text))
        it.kind, it.unknown = "pair", f"a pair has no text of its own ({plural(n, 'row')} of qrels): audit its passage"
    elif group := named_passage(text):
        it.kind, it.ids = "passage", {text}
        it.above.add(group)
        _name_published(it, tables, hasher)
    elif place := _PLACE.fullmatch(text):
        it.kind = "passage"
        _at_place(it, place, tables)
    elif "/" in text:
        it.kind = "document"
        it.raw = {(text[:i], text[i + 1 :]) for i, c in enumerate(text) if c == "/" and 0 < i < len(text) - 1}
    else:
        it.kind, it.raw = "project", {(text, None)}
    if it.raw and it.kind in ("project", "document"):
        if isinstance(hasher, str):
            it.unknown = f"its published id cannot be made: {hasher}"
        else:
            landed = {row for p, d in it.raw if d is None for row in _landed_documents(p, tables)}
            it.ids |= {hasher.document(p, d) if d is not None else hasher.group(p) for p, d in it.raw | landed}
    return it


def _landed_documents(project: str, tables: Tables) -> list[tuple[str, str]]:
    return tables.rows("documents", "project, document", "project = $p", p=project)


def _name_published(it: Known, tables: Tables, hasher: Identifiers | str) -> None:
    own = {"id": it.id}
    if it.kind == "project":
        for table in ("project_status", "sampled_projects"):
            it.raw |= {(row[0], None) for row in tables.rows(table, "project", "group_id = $id", **own)}
    elif it.kind == "document":
        it.raw |= set(tables.rows("sampled_documents", "project, document", "document_id = $id", **own))
        if not it.raw and not isinstance(hasher, str):
            # A removed one is not sampled any more, but may still be landed.
            landed = tables.rows("documents", "project, document", "true")
            it.raw |= {
                (project, document) for project, document in landed if hasher.document(project, document) == it.id
            }
    else:
        for table in ("passages", "removed_passages"):
            for project, document, page in tables.rows(table, "project, document, page", "passage_id = $id", **own):
                it.above |= {project, f"{project}/{document}"}
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
    it.above |= {place["document"], place["document"].partition("/")[0]}
    if not it.ids:
        it.unknown = (
            f"no table knows which passage stands at that place: audit its document {place['document']}, or the passage's "
            "text with --text"
        )


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
    if it.kind != "request":
        # Once they are erased no other table knows which passages it had.
        where, entries = "kind = 'passage' AND entry IN (SELECT unnest($names))", sorted(it.own_names)
        passages |= {row[0] for row in tables.rows("erased_ids", "id", where, names=entries)}
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
        it.tell("landed", f"{name}: {plural(len(rows), 'document')}" if here else f"{name}: not in the landing folder")
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
    names = it.names
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
    it.is_listed = bool(entries)
    it.is_named_by_list = any(entry in it.own_names for _, entry, *_ in entries)
    if not entries:
        it.tell("removal list", "no entry names it")
    missed = set[str]()
    what = "kind, id, state, projects, documents, passages, suggestion"
    for kind, entry, state, projects, documents, passages, suggestion in tables.rows(
        "removal_effects", what, "id IN (SELECT unnest($names))", **asked
    ):
        if state == NO_MATCH:
            missed.add(entry)
            nearest = f" Did you mean {suggestion}?" if suggestion else ""
            it.missed.append(f"this entry hit nothing: {kind} {entry} of the removal list.{nearest}")
            it.tell("effect", it.missed[-1])
            continue
        hit = f"{plural(projects, 'project')}, {plural(documents, 'document')}, {plural(passages, 'passage')}"
        it.tell("effect", f"{kind} {entry}: {state}, took out {hit}")
    # The id of an entry that hit nothing is on that list too: nothing was ever erased for it.
    where = "id IN (SELECT unnest($ids)) AND entry NOT IN (SELECT unnest($missed::VARCHAR[]))"
    erased = tables.rows("erased_ids", "kind, id, since", where, ids=sorted(it.ids), missed=sorted(missed))
    if erased:
        kinds = Counter(kind for kind, *_ in erased)
        counted = ", ".join(plural(kinds[kind], kind) for kind in _KINDS.values() if kinds[kind])
        runs = sorted({since for *_, since in erased})
        it.tell("erased", f"{counted}, since {runs[0]:%Y-%m-%d %H:%M} UTC")
        for run in runs:
            what = "place, sum(items) OVER (PARTITION BY place)::BIGINT"
            places = tables.rows("erasures", what, "erased_at = $run", run=run)
            told = ", ".join(f"{place} {items:,}" for place, items in places)
            it.tell("erasing run", f"{run:%Y-%m-%d %H:%M} UTC, all that it erased: {told or 'nothing'}")
    elif it.kind != "pair" and any(entry not in missed for _, entry, *_ in entries):
        it.tell("erased", "nothing yet: an entry takes effect in the next tendril run")


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
        if tables.rows("erased_ids", "1", "id IN (SELECT unnest($ids))", ids=sorted(it.ids)) and not it.keys:
            it.tell("requests", "none is known: what an erasing run takes out, it takes off the list of requests too")
            return
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
        it.tell(
            "models", f"{model} (weights {weights[:12]}) {what} {plural(passages, 'passage')} of it: train it again"
        )


def _releases(it: Known, tables: Tables) -> None:
    held = Counter(
        version
        for version, _ in tables.rows(
            "released_passages", "version, passage_id", "passage_id IN (SELECT unnest($ids))", ids=sorted(it.ids)
        )
    )
    # Tables made by older code have no such column.
    since = "withdrawn_at" if "withdrawn_at" in tables.columns.get("releases", ()) else "NULL"
    for version, path, withdrawn in tables.rows("releases", f"version, path, {since}", "true"):
        if n := held[version]:
            state = (
                f"withdrawn on {withdrawn:%Y-%m-%d}; copies and tags made before still hold them" if withdrawn else path
            )
            it.tell("release", f"{version} was written with {plural(n, 'passage')} of it: {state}")


def _some(ids: Iterable[str]) -> str:
    every = sorted(ids)
    more = f" and {len(every) - _SHOWN:,} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
