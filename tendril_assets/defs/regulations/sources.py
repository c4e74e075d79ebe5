"""What the regulations collection lands: documented tables from files, nothing else.

The engine calls ``landing_tables``; it reads everything, checks everything, and only then is anything written. Texts of acts
are read, cut and hashed here and not kept: ``resources.act_texts`` reads them again.
"""

import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from pathlib import Path

import polars as pl

from tendril_assets.corpus.acts import KEPT, in_cyrillic, read_key
from tendril_assets.corpus.identifiers import checked_id, nfc
from tendril_assets.errors import LandingError, MixedScriptId
from tendril_assets.files import file_hash
from tendril_assets.judging.prompts import load_guideline
from tendril_assets.qrels.fixed_splits import split_names
from tendril_assets.queries.query_ids import id_problem
from tendril_assets.records import GRADES
from tendril_assets.resources.act_landing import landed_acts
from tendril_assets.resources.annotations import read_annotations
from tendril_assets.resources.landing import Faults, Problems, find_optional, read_json_object, read_rows, read_table
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import ACTS, LANDING, TABLES

# Kind of an entry of removals.csv -> kind in the table: an act is what the engine calls a project.
REMOVAL_KINDS = {"act": "project", "passage": "passage", "pair": "pair"}
_PASSAGE = re.compile(r"(?P<key>[^#/\s]+)#[0-9]{4,9}")
_CHECK = re.compile(r"[0-9a-f]{16}")


def landing_tables(
    folder: Path, spec: CollectionSpec, hash_of: Callable[[Path], str] = file_hash
) -> dict[str, pl.DataFrame]:
    """All landing tables of ``folder``; ``hash_of`` gives the SHA-256 of a file's bytes.

    Raises:
        LandingError: every part with mistakes (acts, live questions, splits, ...), each with the rows of its first wrong
            file; nothing is written before all files are read.
    """
    if not folder.is_dir():
        raise LandingError(
            f"landing folder {folder} does not exist. Set TENDRIL_LANDING to its parent, or run `tendril sandbox` for the sample."
        )
    faults = Faults()
    tables = {table.name: table.empty() for table in (*LANDING, *ACTS)}
    acts: pl.DataFrame | None = None
    removals: pl.DataFrame | None = None
    with faults.noted():
        store = Settings.from_env().home / "landing_state" / f"{spec.collection}.issues.json"
        landed = landed_acts(folder, spec.extraction, hash_of, store)
        acts = landed.acts
        tables |= {
            "acts": landed.acts,
            "documents": landed.documents,
            "projects": _projects(landed.acts, spec.release.language),
        }
    with faults.noted():
        removals = tables["removals"] = _removals(folder)
    with faults.noted():
        tables["live_questions"] = _live(folder)
    # What names acts waits until those are right: their own fault would be told once per row.
    if acts is not None:
        with faults.noted():
            tables["manual_queries"] = _manual(folder, acts, set(tables["live_questions"]["query_id"]))
    if acts is not None and removals is not None:
        with faults.noted():
            tables["landed_splits"] = _splits(folder, acts, set(removals["id"]), spec)
    with faults.noted():
        tables["landed_qrels"] = _published(folder)
    with faults.noted():
        tables |= _anchor(folder, spec)
    faults.raise_if_any()
    return tables


def _projects(acts: pl.DataFrame, language: str) -> pl.DataFrame:
    rows = [
        (row["project"], row["title"] or f"{row['kind'] or '-'} № {row['number']}", row["date"], language, None)
        for row in acts.filter(outcome=KEPT).iter_rows(named=True)
    ]
    return TABLES["projects"].frame(rows)


def _live(folder: Path) -> pl.DataFrame:
    path = find_optional(folder, "live_questions", ("jsonl",))
    if path is None:
        return TABLES["live_questions"].empty()
    return read_table(path, TABLES["live_questions"], wrong=lambda row: id_problem(row["query_id"]))


def _manual(folder: Path, acts: pl.DataFrame, live: Collection[str]) -> pl.DataFrame:
    """Hand-written queries; an id of a live question, or an act that is none of ours, is a mistake."""
    path = find_optional(folder, "manual", ("jsonl",))
    if path is None:
        return TABLES["manual_queries"].empty()
    outcomes = _outcomes(acts)

    def wrong(row: Mapping[str, str | None]) -> str | None:
        query, act = str(row["query_id"]), row["project"]
        if query in live:
            return f"{query} is the id of a live question already; ids are unique over both files"
        return id_problem(query) or (_act_problem(act, outcomes) if act is not None else None)

    return read_table(path, TABLES["manual_queries"], names={"project": "act"}, wrong=wrong)


def _splits(folder: Path, acts: pl.DataFrame, removed: Collection[str], spec: CollectionSpec) -> pl.DataFrame:
    """``split.json`` as rows. Without the file there is none, and the step of the splits says what to do."""
    path = find_optional(folder, "split", ("json",))
    if path is None:
        return TABLES["landed_splits"].empty()
    content = read_json_object(path)
    problems, outcomes, known = Problems(path), _outcomes(acts), split_names(spec.splits)
    place: dict[str, str] = {}
    for split, keys in content.items():
        if split not in known:
            problems.add(None, f"{split!r} is no split of the specification; there are {', '.join(known)}")
        elif not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            problems.add(None, f"{split}: expected a list of keys of acts")
        else:
            for key in map(nfc, keys):
                if key in place:
                    problems.add(
                        None,
                        f"{key} is in {place[key]} and in {split}"
                        if place[key] != split
                        else f"{key} is twice in {split}",
                    )
                elif key not in removed and (problem := _act_problem(key, outcomes)):
                    problems.add(None, f"{split}: {problem}")
                place.setdefault(key, split)
    problems.raise_if_any()
    return TABLES["landed_splits"].frame(list(place.items()))


def _published(folder: Path) -> pl.DataFrame:
    """Pairs published before. Whether they still are there is asked where grades are made, not here."""
    path = find_optional(folder, "published_qrels", ("tsv",))
    if path is None:
        return TABLES["landed_qrels"].empty()

    def wrong(row: Mapping[str, str | None]) -> str | None:
        check = row["content_check"]
        if check is not None and not _CHECK.fullmatch(check):
            return f"check {check[:40]!r} should be 16 hex digits"
        return _passage_problem(str(row["passage_id"]))

    names = {"query_id": "query-id", "passage_id": "corpus-id", "content_check": "check"}
    return read_table(path, TABLES["landed_qrels"], names=names, choices={"score": GRADES}, wrong=wrong)


def _removals(folder: Path) -> pl.DataFrame:
    path = find_optional(folder, "removals", ("csv",))
    if path is None:
        return TABLES["removals"].empty()
    read = read_table(path, TABLES["removals"], choices={"kind": REMOVAL_KINDS}, wrong=_removal_problem)
    return read.with_columns(pl.col("kind").replace_strict(REMOVAL_KINDS, return_dtype=pl.String))


def _removal_problem(row: Mapping[str, str]) -> str | None:
    kind, entry = row["kind"], row["id"]
    if kind == "act":
        return _key_problem(entry)
    if kind == "passage":
        return _passage_problem(entry)
    query, _, passage = entry.partition("/")
    return _passage_problem(passage) if query and passage else f"id {entry!r} is no pair; expected query_id/passage_id"


def _anchor(folder: Path, spec: CollectionSpec) -> dict[str, pl.DataFrame]:
    """Pairs that people graded; the grade of a pair is the one that all who graded it gave, else none."""
    path = find_optional(folder, "human_anchor", ("jsonl",))
    if path is None:
        return {}
    annotations = read_annotations(path, load_guideline(spec.judge.guideline))
    pairs = TABLES["calibration_pairs"]
    texts: dict[tuple[str, str], tuple[str, ...]] = {}
    problems = Problems(path)
    columns = ("level", "query_text", "passage_text")
    for number, row in read_rows(path):
        found = tuple(str(row.get(column) or "").strip() for column in columns)
        empty = [column for column, value in zip(columns, found, strict=True) if not value]
        pair = (str(row["query_id"]).strip(), str(row["passage_id"]).strip())
        if empty:
            problems.add(number, f"{', '.join(empty)} is empty")
        elif found[0] not in spec.subsets:
            problems.add(number, f"level is {found[0][:40]!r}; allowed are {', '.join(spec.subsets)}")
        elif texts.setdefault(pair, found) != found:
            problems.add(number, f"{' / '.join(pair)} has another level or text than in a row before")
    problems.raise_if_any()
    given: dict[tuple[str, str], set[int]] = {}
    for query, passage, grade in annotations.select("query_id", "passage_id", "grade").iter_rows():
        if grade is not None:
            given.setdefault((query, passage), set()).add(grade)
    rows = [(*pair, *found, _agreed(given.get(pair, set()))) for pair, found in texts.items()]
    return {"calibration_pairs": pairs.frame(rows), "calibration_annotations": annotations}


def _agreed(grades: set[int]) -> int | None:
    return next(iter(grades)) if len(grades) == 1 else None


def _outcomes(acts: pl.DataFrame) -> dict[str, str]:
    """Key -> outcome of every act of the list that has one; of a key listed twice, the row that is kept."""
    named = acts.filter(pl.col("project").is_not_null()).sort(pl.col("outcome") == KEPT)
    return dict(named.select("project", "outcome").iter_rows())


def _act_problem(key: str, outcomes: Mapping[str, str]) -> str | None:
    """What is wrong with a key that should be an act of the collection, or None."""
    outcome = outcomes.get(key)
    if outcome == KEPT:
        return None
    if outcome is not None:
        return f"act {key} is listed, but its outcome is {outcome}: it is no act of the collection"
    if outcomes.get(in_cyrillic(key)):
        return f"act {key} has Latin letters for Cyrillic ones; the list has {in_cyrillic(key)}"
    nearest = get_close_matches(key, outcomes, 1)
    return _key_problem(key) or f"act {key} is not in the list" + (f"; the nearest is {nearest[0]}" if nearest else "")


def _key_problem(key: str) -> str | None:
    try:
        checked_id(key)
        read_key(key)
    except (MixedScriptId, ValueError) as error:
        return str(error)
    return None


def _passage_problem(passage: str) -> str | None:
    found = _PASSAGE.fullmatch(passage)
    if found is None:
        return f"{passage[:60]!r} is no passage; expected <act>#<number of four digits>, such as 590-П_28062017#0032"
    return _key_problem(found["key"])
