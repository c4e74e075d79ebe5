"""Old texts of what is removed, taken out of the caches, the hand-over files and the ledger.

Everything made from now on derives from a corpus without them; what is erased here was made before. Each function may be
killed anywhere and called again: what it goes by (``request_passages``) is taken out last. Bytes are overwritten as
``files.erase`` does.
"""

import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from tendril_assets.corpus.erasure import Removed
from tendril_assets.corpus.identifiers import Identifiers
from tendril_assets.errors import WarehouseError
from tendril_assets.files import erase, overwrite, remove_if_empty, replacing
from tendril_assets.judging.purposes import DRIFT, GENERATION, HAND_OVERS, JUDGE
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.request_passages import NAME as REQUEST_PASSAGES
from tendril_assets.resources.request_passages import forget_requests
from tendril_assets.resources.sql import query
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.training.first_inputs import FILE as FIRST_INPUTS

CACHE, HAND_OVER, LEDGER, TRAINING, WAREHOUSE = "cache", "hand_over", "ledger", "training", "warehouse"

# Columns that hold texts of passages of the corpus, by hand-over file.
_TEXTS = {
    HAND_OVERS[JUDGE].file: re.compile("passage_text"),
    HAND_OVERS[GENERATION].file: re.compile("passage_text"),
    HAND_OVERS[DRIFT].file: re.compile("passage_text"),
    "training_train": re.compile(r"positive|negative_\d+"),
    "training_corpus": re.compile("text"),
}
_NO_TEXT = re.compile("(?!)")
_TRAINING = ("training_train", "training_corpus", "training_queries", "training_qrels")
# Made of what lies in the landing folder: the test collection with its rankings, the calibration, the catalogs.
_OF_LANDING = ("test_", "run_", "first_inputs_", "calibration_", "summary_")


class Erased(NamedTuple):
    """A row of ``erasures`` without its time: ``items`` rows, replies or files of ``name`` in ``place``."""

    place: str
    name: str
    items: int


class Requests(NamedTuple):
    """``keys``: of the replies to take out. ``rows`` (request_key, passage_id): of ``request_passages``, to be forgotten."""

    keys: pl.Series
    rows: pl.DataFrame


def erase_texts(
    warehouse: Warehouse,
    artifacts: Artifacts,
    ledger: Ledger,
    collection: str,
    removed: Removed,
    hasher: Identifiers,
) -> Iterator[Erased]:
    """Everything this module does, told as it is done, in the order that a kill anywhere leaves repeatable. ``corpus`` is
    clean by now.

    Raises:
        LedgerError: another process writes a segment with replies that are to go, or the disk refuses.
        DatabaseLocked: another process has the warehouse or the ledger, for too long.
    """
    hit = documents_hit(warehouse, collection, removed, hasher)
    texts = warehouse.load(collection, "corpus", ["text"])["text"].unique()
    # The step that first took a passage out of a document erased what was cached of it; what is cached since is clean.
    clean = documents_taken_from(warehouse, collection, hasher)
    yield from erase_caches(artifacts, collection, removed.documents | (hit - clean), removed.groups)
    requests = removed_requests(warehouse, artifacts, collection, removed, hit, texts)
    yield from erase_hand_over(artifacts, collection, removed, texts, requests.keys)
    yield from erase_first_inputs(artifacts, collection, texts)
    yield from erase_replies(ledger, requests.keys)
    if forgotten := forget_requests(warehouse, collection, requests.rows):
        yield Erased(WAREHOUSE, REQUEST_PASSAGES, forgotten)


def documents_hit(warehouse: Warehouse, collection: str, removed: Removed, hasher: Identifiers) -> frozenset[str]:
    """Ids of documents that a passage was removed from: their pages hold its text."""
    found = set(documents_taken_from(warehouse, collection, hasher))
    if removed.passages and warehouse.exists(collection, REQUEST_PASSAGES):
        asked = warehouse.load(collection, REQUEST_PASSAGES, ["passage_id", "document_id"])
        found |= set(asked.filter(pl.col("passage_id").is_in(list(removed.passages)))["document_id"].unique())
    return frozenset(found)


def documents_taken_from(warehouse: Warehouse, collection: str, hasher: Identifiers) -> frozenset[str]:
    """Ids of documents that the table ``removed_passages`` names."""
    if not warehouse.exists(collection, "removed_passages"):
        return frozenset()
    places = warehouse.load(collection, "removed_passages", ["project", "document"]).unique()
    return frozenset(hasher.document(project, document) for project, document in places.iter_rows())


def erase_caches(
    artifacts: Artifacts, collection: str, documents: Collection[str], groups: Collection[str] = ()
) -> list[Erased]:
    """Erase all that is cached of these documents, and of all documents of these groups. Items are files.

    Raises WarehouseError where another process goes on to cache what is erased here.
    """
    gone: Counter[str] = Counter()
    if not documents and not groups:
        return []
    for cached in artifacts.cached_documents(collection):
        if cached.document_id in documents or cached.group_id in groups:
            gone[cached.kind] += _erase_folder(cached.folder)
            remove_if_empty(cached.folder.parent)
    return [Erased(CACHE, kind, files) for kind, files in sorted(gone.items()) if files]


def _erase_folder(folder: Path) -> int:
    files = 0
    for path in sorted(folder.glob("*")):
        with contextlib.suppress(FileNotFoundError):  # a file that another process was writing, and has put in place
            erase(path)
            files += 1
    if not remove_if_empty(folder):
        raise WarehouseError(
            f"{folder}: another process caches what is being erased there. Wait until that run has ended, or end it, and "
            "run again"
        )
    return files


def removed_requests(
    warehouse: Warehouse,
    artifacts: Artifacts,
    collection: str,
    removed: Removed,
    hit: Collection[str],
    texts: pl.Series,
) -> Requests:
    """The requests that asked about removed passages, and about no text that the corpus (``texts``) still has.

    ``hit`` as ``documents_hit`` gives it. A warehouse that has not noted yet what was asked answers with those requests of
    its candidates that ask about no passage of the corpus any more.
    """
    rows = pl.DataFrame(schema={"request_key": pl.String(), "passage_id": pl.String()})
    if warehouse.exists(collection, REQUEST_PASSAGES):
        found = warehouse.frame(
            collection,
            query("erasure/requests"),
            "requests of removed passages",
            groups=sorted(removed.groups),
            documents=sorted(removed.documents),
            passages=sorted(removed.passages),
            hit=sorted(hit),
        )
        keys = found.filter(~pl.col("is_shared"))["request_key"].unique()
        kept = _with_text_left(artifacts, collection, keys, texts)
        is_kept = pl.col("request_key").is_in(kept.implode())
        rows = found.filter(pl.col("is_removed") | ~is_kept).select(rows.columns)
    elif warehouse.exists(collection, "candidates"):
        keys = warehouse.frame(collection, query("erasure/orphans"), "requests of no passage")["request_key"]
        kept = _with_text_left(artifacts, collection, keys, texts)
    else:
        return Requests(rows["request_key"], rows)
    return Requests(keys.filter(~keys.is_in(kept.implode())).sort(), rows)


def _with_text_left(artifacts: Artifacts, collection: str, keys: pl.Series, texts: pl.Series) -> pl.Series:
    """Those of ``keys`` whose handed-over text the corpus still has, under an id that was not asked about yet."""
    found = [keys.clear()]
    for purpose in (JUDGE, GENERATION):
        path = artifacts.exchange(collection, HAND_OVERS[purpose].file)
        if keys.is_empty() or not path.exists():
            continue
        rows = pl.scan_parquet(path).filter(pl.col("request_key").is_in(keys.implode()))
        # A damaged file speaks for nobody, and erase_hand_over takes it away.
        with contextlib.suppress(pl.exceptions.PolarsError):
            handed = rows.select("request_key", "passage_text").collect()
            found.append(handed.filter(pl.col("passage_text").is_in(texts.implode()))["request_key"])
    return pl.concat(found).unique()


def erase_hand_over(
    artifacts: Artifacts, collection: str, removed: Removed, texts: pl.Series, keys: pl.Series
) -> list[Erased]:
    """Take removed passages out of the collection's hand-over files.

    Files of requests lose the rows of requests in ``keys``, or with a text that the corpus (``texts``) does not have, and
    stay of use. Any other file that holds such a text, or a removed id, is erased whole, training files all together; so is
    one that cannot be read. The step that wrote it makes it again. Files made of the landing folder alone are left.
    """
    done: list[Erased] = []
    ids = sorted(removed.groups | removed.documents | removed.passages)
    stale: list[Path] = []
    for path in sorted(artifacts.folder(collection, "exchange").glob("*.parquet")):
        if path.stem.startswith(_OF_LANDING):
            continue
        try:
            frame = pl.read_parquet(path)
        except (pl.exceptions.PolarsError, OSError):
            stale.append(path)
            continue
        wrong = frame.select(_wrong(path.stem, frame, ids, texts, keys).alias("wrong"))["wrong"]
        if not wrong.any():
            continue
        if "request_key" in frame.columns:
            _rewrite(path, frame.filter(~wrong))
            done.append(Erased(HAND_OVER, path.stem, int(wrong.sum())))
        else:
            stale.append(path)
    if any(path.stem in _TRAINING for path in stale):
        whole = (artifacts.exchange(collection, name) for name in _TRAINING)
        stale = sorted({*stale, *(path for path in whole if path.exists())})
    for path in stale:
        erase(path)
        done.append(Erased(HAND_OVER, path.stem, 1))
    return done


def _wrong(name: str, frame: pl.DataFrame, ids: list[str], texts: pl.Series, keys: pl.Series) -> pl.Expr:
    """Which rows hold a removed id, a request that goes, or a text that the corpus does not have."""
    parts = [pl.lit(False)]
    parts += [pl.col(column).is_in(ids) for column, kind in frame.schema.items() if kind == pl.String and ids]
    parts += [
        ~pl.col(column).is_in(texts.implode())
        for column in frame.columns
        if _TEXTS.get(name, _NO_TEXT).fullmatch(column)
    ]
    if "request_key" in frame.columns:
        parts.append(pl.col("request_key").is_in(keys.implode()))
    return pl.any_horizontal(*(part.fill_null(False) for part in parts))


def _rewrite(path: Path, frame: pl.DataFrame) -> None:
    """Put ``frame`` in the place of the file, and overwrite what was there."""
    former = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        with replacing(path) as partial:
            frame.write_parquet(partial, statistics=False)
        overwrite(former)
    finally:
        os.close(former)


def erase_first_inputs(artifacts: Artifacts, collection: str, texts: pl.Series) -> list[Erased]:
    """Erase the shown inputs of trainings that hold a text which the corpus (``texts``) does not have."""
    paths = sorted(artifacts.folder(collection, "models").glob(f"*/{FIRST_INPUTS}"))
    if not paths:
        return []
    present = {hashlib.sha256(text.encode()).hexdigest() for text in texts}
    gone = [path for path in paths if not _shown_texts(path) <= present]
    for path in gone:
        erase(path)
    return [Erased(TRAINING, f"{path.parent.name}/{FIRST_INPUTS}", 1) for path in gone]


def _shown_texts(path: Path) -> set[str]:
    """Hashes of the passages in such a file; one that cannot be read holds an unknown text."""
    try:
        return {row["sha256"] for row in json.loads(path.read_bytes()) if row["sha256"]}
    except (ValueError, TypeError, KeyError):
        return {""}


def erase_replies(ledger: Ledger, keys: Iterable[str]) -> list[Erased]:
    """Take all replies to these requests out of the ledger. Raises what ``Ledger.remove`` raises."""
    wanted = list(keys)
    if not wanted:
        return []
    removal = ledger.remove(wanted)
    return [Erased(LEDGER, "replies", removal.entries)] if removal.entries else []
