"""What ``tendril split`` and ``tendril tasks`` do: the first ``split.json`` of a landing folder, and a sheet of acts to write
queries for."""

import codecs
import csv
import hashlib
import importlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.acts import EMPTY, KEPT, LOW_CYRILLIC, NOT_FOUND
from tendril_assets.corpus.first_split import DEV, Act, Places, composition, first_split, tasks, with_new_acts
from tendril_assets.corpus.identifiers import nfc
from tendril_assets.defs import collection_spec
from tendril_assets.errors import SettingsError
from tendril_assets.files import write_atomically
from tendril_assets.queries.attachments import BY_CLAUSES, LATEST
from tendril_assets.queries.live import attachment_rows
from tendril_assets.queries.query_ids import id_problem
from tendril_assets.queries.references import grammar, plain_number
from tendril_assets.resources.landing import MAX_SHOWN
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

FILE = "split.json"
COLUMNS = ("query_id", "act", "split", "kind", "number", "date", "title", "text")

Composition = list[tuple[str, int, int, float, str]]


class Written(NamedTuple):
    """``rows``: split, acts, characters, share of characters, kinds. ``told``: what a person should look at. ``added``: keys that
    an extended file got."""

    path: Path
    rows: Composition
    told: tuple[str, ...]
    added: tuple[str, ...] = ()


class _Landing(NamedTuple):
    folder: Path
    spec: CollectionSpec
    tables: dict[str, pl.DataFrame]

    @property
    def acts(self) -> pl.DataFrame:
        """Rows of ``acts`` that are kept and not on the removal list, by key."""
        removed = self.tables["removals"].filter(kind="project")["id"]
        kept = self.tables["acts"].filter(pl.col("outcome") == KEPT)
        return kept.filter(~pl.col("project").is_in(removed.implode())).sort("project")

    @property
    def left_out(self) -> str | None:
        """How many acts of the list are in no split, by outcome, and the first that has no text for a reason of its own."""
        others = self.tables["acts"].filter(pl.col("outcome") != KEPT)
        if others.is_empty():
            return None
        counted = ", ".join(f"{name} {n:,}" for name, n in others["outcome"].value_counts(sort=True, name="n").rows())
        lost = others.filter(pl.col("outcome").is_in([NOT_FOUND, EMPTY, LOW_CYRILLIC])).sort("place")
        first = "".join(f"; act {n} of the list, {number}: {why}" for n, number, why in
                        lost.select("place", "number", "message").head(1).iter_rows())  # fmt: skip
        return f"{others.height:,} of {self.tables['acts'].height:,} listed acts are in no split ({counted}){first}"

    @property
    def to_place(self) -> list[Act]:
        columns = ("project", "kind", "title", "characters")
        return [Act(k, kind or "-", title, n) for k, kind, title, n in self.acts.select(columns).iter_rows()]

    @property
    def places(self) -> Places:
        rules = self.spec.splits
        return Places.of(rules.test, rules.live, rules.held_out_kinds)


def write_split(
    settings: Settings, collection: str, dev: int | None, unseen: int | None, *, add: bool = False
) -> Written:
    """Write the first ``split.json``, or with ``add`` put the acts it lacks into it.

    Raises:
        SettingsError: the collection's splits are of no file, the file is there already (without ``add``) or not (with it), or
            the sizes do not fit.
        LandingError: the landing folder has mistakes.
    """
    landing = _landing(settings, collection)
    path = landing.folder / FILE
    if path.exists() and not add:
        raise SettingsError(
            f"{path} is there already, and what is held out must not change once anything was made from it. To place acts that "
            "came later use --add; for another first split move the file away"
        )
    if add and not path.exists():
        raise SettingsError(f"{path} is not there yet: leave --add out")
    acts, rules = landing.to_place, landing.spec.splits
    asked = acts_of_live_questions(landing.tables["live_questions"], landing.acts, landing.spec)
    added: tuple[str, ...] = ()
    sizes: dict[str, int | None] = {}
    if add:
        present: dict[str, list[str]] = {}
        for key, name in landing.tables["landed_splits"].iter_rows():
            present.setdefault(name, []).append(key)
        split = with_new_acts(present, acts, asked, rules.held_out_kinds, landing.places)
        placed = {key for keys in present.values() for key in keys}
        added = tuple(sorted(key for keys in split.values() for key in keys if key not in placed))
    else:
        named = set(landing.tables["manual_queries"]["project"].drop_nulls())
        seed = landing.spec.seed
        split = first_split(acts, asked, rules.held_out_kinds, landing.places, seed, dev, unseen, named)
        sizes = {DEV: dev} | ({landing.places.unseen: unseen} if landing.places.unseen else {})
    if added or not add:
        write_atomically(path, (json.dumps(split, ensure_ascii=False, indent=1) + "\n").encode())
    told = [landing.left_out] if landing.left_out else []
    told += [
        f"{name} has {len(split[name])} acts, not {n}: what is left has titles that more acts share than may be drawn"
        for name, n in sizes.items()
        if n is not None and len(split[name]) < n
    ]
    told += [
        f"{name} is empty, and the splits are refused as long as it is" for name, keys in split.items() if not keys
    ]
    return Written(path, composition(split, acts), tuple(told), added)


def acts_of_live_questions(live: pl.DataFrame, acts: pl.DataFrame, spec: CollectionSpec) -> set[str]:
    """Keys of the acts that live questions are about. Of one named without its day, every act of that number.

    ``live``: rows of ``live_questions``; ``acts``: kept rows of ``acts``. Clauses, which could tell revisions of an act
    apart, are not looked at: all of them are held out.
    """
    if spec.registers is None or spec.registers.live is None or live.is_empty():
        return set()
    rules = spec.registers.live
    known = acts.select("project", "number", "date", "kind", group_id="project")
    none = TABLES["passage_clauses"].empty()
    found = attachment_rows(live, known, none, none["passage_id"], rules, grammar(rules.references))
    found = found.filter(pl.col("project").is_not_null())
    numbers = {key: plain_number(number) for key, number in acts.select("project", "number").iter_rows()}
    open_to = {
        numbers[key] for key, basis in found.select("project", "basis").iter_rows() if basis in (BY_CLAUSES, LATEST)
    }
    return set(found["project"]) | {key for key, number in numbers.items() if number in open_to}


def write_tasks(settings: Settings, collection: str, path: Path) -> list[Act]:
    """Write the sheet of acts to write queries for, as tab-separated values; returns its acts.

    One row per act, of test splits only, with an id for its query that depends on the act alone. Acts that have a
    hand-written query already are drawn with the others, so that the draw stays what it was, and left out of the sheet.

    Raises:
        SettingsError: the collection has no hand-written queries or no split yet, or a query stands in the file already.
        LandingError: the landing folder has mistakes.
    """
    refuse_filled(path)
    landing = _landing(settings, collection)
    manual = landing.spec.registers.manual if landing.spec.registers else None
    if manual is None:
        raise SettingsError(f"{collection} has no hand-written queries: its registers have no part manual")
    placed = dict(landing.tables["landed_splits"].iter_rows())
    if not placed:
        raise SettingsError(
            f"{landing.folder / FILE} is missing: which acts are held out is fixed first, see `tendril split`"
        )
    held_out = [act for act in landing.to_place if placed.get(act.key) in landing.spec.splits.test]
    drawn = tasks(held_out, manual.tasks, landing.spec.seed)
    done = set(landing.tables["manual_queries"]["project"].drop_nulls())
    rows = {row["project"]: row for row in landing.acts.iter_rows(named=True)}
    sheet = [act for act in drawn if act.key not in done]
    lines = [
        (
            task_id(act.key),
            act.key,
            placed[act.key],
            act.kind,
            rows[act.key]["number"],
            rows[act.key]["date"],
            act.title,
            "",
        )
        for act in sheet
    ]
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    writer.writerows([COLUMNS, *lines])
    write_atomically(path, buffer.getvalue().encode())
    return sheet


def task_id(key: str) -> str:
    """The id of the query that the sheet asks for an act: the same whenever the sheet is made."""
    return f"man-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def refuse_filled(path: Path) -> None:
    """Raise SettingsError where ``path`` is a sheet with a query in it, or something else than a sheet."""
    if path.exists():
        filled = len(filled_rows(path))
        if filled:
            raise SettingsError(f"{path} holds {filled} queries: name another file, or move this one away")


class FilledRow(NamedTuple):
    """A query of a sheet, all in NFC and without blanks around it; ``line`` is its last one in the file, from 1."""

    line: int
    query_id: str
    act: str
    text: str


def filled_rows(path: Path) -> list[FilledRow]:
    """Rows of a sheet that have a query. Raises SettingsError for a file that is none, or is broken."""
    try:
        data = path.read_bytes()
        # Spreadsheets save tab-separated text with Cyrillic letters in it as UTF-16, under the name Unicode text.
        text = data.decode("utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is no UTF-8: save the sheet as UTF-8, or as Unicode text") from error
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
    try:
        missing = [name for name in ("query_id", "act", "text") if name not in (reader.fieldnames or ())]
        if missing:
            raise SettingsError(
                f"{path} is no sheet of tasks: it has no column {', '.join(missing)} (cells parted by tabs)"
            )
        rows = [
            FilledRow(
                reader.line_num, *(" ".join(nfc(row[name] or "").split()) for name in ("query_id", "act", "text"))
            )
            for row in reader
        ]
    except csv.Error as error:
        told = str(error).replace("'\t'", "a tab")
        raise SettingsError(
            f"{path}: line {reader.line_num + 1}: {told}. A cell that begins with a quotation mark ends with one, and has those "
            "inside it twice"
        ) from error
    return [row for row in rows if row.text]


def take_tasks(settings: Settings, collection: str, path: Path) -> tuple[Path, int]:
    """Append the queries of a filled sheet that ``manual.jsonl`` lacks to it; returns the file and how many.

    Raises SettingsError for what the next landing or the splits would refuse, each query with its line, and nothing is
    written: an id that is none or that is there with another text or act (a published query keeps its text), an act that is
    not held out; and LandingError where the landing folder has mistakes.
    """
    landing = _landing(settings, collection)
    target, test = landing.folder / "manual.jsonl", landing.spec.splits.test
    known = {q: (" ".join(text.split()), act) for q, text, act in landing.tables["manual_queries"].iter_rows()}
    live = set(landing.tables["live_questions"]["query_id"])
    placed = dict(landing.tables["landed_splits"].iter_rows())
    open_to = {key for key in landing.acts["project"] if placed.get(key) in test}
    new: dict[str, dict[str, str]] = {}
    wrong: list[str] = []
    for line, query, act, text in filled_rows(path):
        problem = id_problem(query)
        if problem is None and (query in new or query in live or known.get(query, (text, act)) != (text, act)):
            problem = f"{query} is there already with another text or act; give the query another id"
        if problem is None and act not in open_to:
            where = f"is in {placed[act]}" if act in placed else "is in no split"
            problem = f"{query} is for act {act!r}, which {where}; queries are written for acts of {', '.join(test)}"
        if problem:
            wrong.append(f"line {line}: {problem}")
        elif query not in known:
            new[query] = {"query_id": query, "text": text, "act": act}
    if wrong:
        more = f"; and {len(wrong) - MAX_SHOWN} more" if len(wrong) > MAX_SHOWN else ""
        raise SettingsError(f"{path}: {'; '.join(wrong[:MAX_SHOWN])}{more}. Nothing was added")
    if new:
        former = target.read_bytes() if target.exists() else b""
        lines: Sequence[str] = [json.dumps(row, ensure_ascii=False) for row in new.values()]
        gap = b"" if not former or former.endswith(b"\n") else b"\n"
        write_atomically(target, former + gap + ("\n".join(lines) + "\n").encode())
    return target, len(new)


def _landing(settings: Settings, collection: str) -> _Landing:
    spec = collection_spec(collection, settings.profile)
    if spec.splits.policy != "file":
        raise SettingsError(f"the splits of {collection} are drawn ({spec.splits.policy}), not fixed by a file")
    folder = settings.landing / collection
    sources = importlib.import_module(f"tendril_assets.defs.{collection}.sources")
    return _Landing(folder, spec, sources.landing_tables(folder, spec))
