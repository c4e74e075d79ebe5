"""The sheet of a pool's human anchor, and its way back into the landing folder."""

import json
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tendril_assets.annotating import new_sheet
from tendril_assets.assets.asking import open_ledger
from tendril_assets.defs import collection_spec
from tendril_assets.errors import LandingError, SettingsError
from tendril_assets.files import replacing
from tendril_assets.judging.anchor import PAIR, Strata, by_grade, by_rank, draw_anchor
from tendril_assets.judging.annotator import (
    TEXT_COLUMNS,
    WORDING,
    annotation_sheet,
    answer_columns,
    shown_text,
    wording,
)
from tendril_assets.judging.candidates import plan
from tendril_assets.judging.parse import latest_calls, parse_calls
from tendril_assets.judging.prompts import load_guideline
from tendril_assets.judging.systems import System, declared_system
from tendril_assets.resources.annotations import read_annotations
from tendril_assets.resources.erased_rows import stored
from tendril_assets.resources.landing import Problems, read_rows
from tendril_assets.resources.ledger import FINAL_STATUSES
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec

ANCHOR = "human_anchor.jsonl"


class Taken(NamedTuple):
    """``rows`` annotated rows went into ``path``; ``left_out`` rows of the sheet have no answer yet."""

    path: Path
    rows: int
    left_out: int


def write_anchor_sheet(
    settings: Settings, collection: str, name: str, path: Path, annotator: str, size: int, strata: Strata
) -> int:
    """A CSV sheet of pairs of the collection's pool, drawn by name and blind; returns how many.

    Raises:
        SettingsError: no such guideline or collection, no pool, ``path`` exists, or too few pairs have a grade to draw by.
        WarehouseError: there is no warehouse, or the pool was not made yet.
    """
    guideline, spec = load_guideline(name), _pooled(collection, settings)
    warehouse = Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot))
    pool = warehouse.load(collection, "pool")
    texts = _texts(warehouse, collection, pool)
    pairs = by_rank(pool) if strata == "rank" else by_grade(pool, _verdicts(warehouse, spec, texts))
    known = stored(warehouse, collection, "calibration_pairs")
    wanted = min(size, pool.join(known.select(PAIR), on=PAIR, how="anti").height)
    drawn = draw_anchor(pairs, size, spec.seed, known)
    if drawn.height < wanted:
        raise SettingsError(
            f"{collection}: {pairs.height:,} of the {pool.height:,} pairs of the pool have a grade of the judge, too few to "
            f"draw {wanted:,} by it. A judge that is not accepted grades no pool; draw by rank then: --strata rank"
        )
    sheet = annotation_sheet(drawn.join(texts, on=PAIR), guideline, spec.seed, annotator)
    sheet = sheet.with_columns(pl.lit(wording(guideline)).alias(WORDING))
    new_sheet(path, sheet)
    return sheet.height


def take_anchor_sheet(settings: Settings, collection: str, name: str, path: Path) -> Taken:
    """Append a filled sheet to the landing folder's anchor: the answers as they are, with the texts that were shown.

    Raises:
        SettingsError: no such guideline or collection, or no pool.
        LandingError: answers that ``read_annotations`` refuses (those by another wording of the guideline among them), a
            row without an annotator or without its wording, a pair that the pool does not
            have, a text that is another than the pool's, a row that the anchor has already, or no answer at all.
    """
    guideline, spec = load_guideline(name), _pooled(collection, settings)
    if name != spec.judge.guideline:
        raise SettingsError(
            f"{collection} reads its anchor by guideline {spec.judge.guideline}; answers by {name} are answers to other "
            "questions"
        )
    annotations = read_annotations(path, guideline)
    warehouse = Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot))
    texts = _texts(warehouse, collection, warehouse.load(collection, "pool"))
    shown = {(row["query_id"], row["passage_id"]): row for row in texts.iter_rows(named=True)}
    target = settings.landing / collection / ANCHOR
    before = [row for _, row in read_rows(target)] if target.is_file() else []
    there = {(row.get("query_id"), row.get("passage_id"), row.get("annotator")) for row in before}
    problems, rows = Problems(path), []
    answers = answer_columns(guideline)
    for (number, row), grade in zip(read_rows(path), annotations["grade"], strict=True):
        if grade is None:
            continue
        own, key = (
            shown.get((row["query_id"], row["passage_id"])),
            (row["query_id"], row["passage_id"], row["annotator"]),
        )
        if own is None:
            problems.add(number, f"{row['query_id']} / {row['passage_id']} is no pair of the pool")
        elif changed := [c for c in TEXT_COLUMNS if _flat(row.get(c)) != _flat(shown_text(own[c]))]:
            problems.add(
                number, f"{', '.join(changed)} is another than the pool has: it changed since the sheet was made"
            )
        elif not row.get(WORDING):
            problems.add(number, f"column {WORDING} is empty, which says by which wording it was answered")
        elif key in there:
            problems.add(number, f"{' / '.join(map(str, key))} is in {target.name} already")
        else:
            there.add(key)
            given = {column: str(row[column]).strip() for column in answers}
            rows.append(
                {
                    **{c: own[c] for c in (*PAIR, "level", *TEXT_COLUMNS)},
                    "annotator": row["annotator"],
                    WORDING: row[WORDING],
                    **given,
                }
            )
    problems.raise_if_any()
    if not rows:
        raise LandingError(f"{path}: no row has an answer yet; nothing was changed")
    with replacing(target) as partial:
        partial.write_text(
            "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in (*before, *rows)), encoding="utf-8"
        )
    return Taken(target, len(rows), annotations.height - len(rows))


def _pooled(collection: str, settings: Settings) -> CollectionSpec:
    spec = collection_spec(collection, settings.profile)
    if spec.candidates.policy != "pooled":
        raise SettingsError(f"{collection} pools no candidates: its calibration pairs come from the landing folder")
    return spec


def _texts(warehouse: Warehouse, collection: str, pool: pl.DataFrame) -> pl.DataFrame:
    """query_id, passage_id, level, query_text, passage_text of the pool's pairs."""
    queries = warehouse.load(collection, "queries", ["query_id", "text", "level"]).rename({"text": "query_text"})
    passages = warehouse.load(collection, "corpus", ["passage_id", "text"]).rename({"text": "passage_text"})
    return pool.select(PAIR).join(queries, on="query_id").join(passages, on="passage_id").sort(PAIR)


def _verdicts(warehouse: Warehouse, spec: CollectionSpec, texts: pl.DataFrame) -> pl.DataFrame:
    """The grades of the judge in use; where none is, those that the declared judge gave before, as the ledger has them."""
    judged = stored(warehouse, spec.collection, "judgments").select(*PAIR, "grade")
    return judged if judged.height else _from_ledger(declared_system(spec.judge), texts)


def _from_ledger(judge: System, texts: pl.DataFrame) -> pl.DataFrame:
    queries = texts.select("query_id", text="query_text").unique()
    passages = texts.select("passage_id", text="passage_text").unique()
    asked = plan(texts.select(PAIR), queries, passages, judge.factory, judge.guideline).candidates
    calls = latest_calls(open_ledger().frame(keys=asked["request_key"].unique()), FINAL_STATUSES)
    verdicts = parse_calls(calls, judge.guideline).select("request_key", "grade")
    return asked.join(verdicts, on="request_key").select(*PAIR, "grade")


def _flat(text: object) -> str:
    """Spreadsheets change line ends and trailing blanks."""
    return " ".join(str(text or "").split())
