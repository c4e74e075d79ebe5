"""The BEIR layout: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/train.tsv``, or one file for each split of the judgments.

``_id`` and ``text`` are what BEIR readers ask for; ``title`` is empty, since passages have none; everything else is
``metadata``. The text of these files decides whether two releases hold the same rows.

Judgments are plain TSV: one head line, one row per judgment, scores of 0 among them, nothing quoted. Readers differ in
what a quotation mark means, so no quoting would be read alike by all: ``invariants`` refuses ids that would need it.
JSON lines escape the line ends of Unicode too, which ``str.splitlines`` cuts at and JSON does not ask to escape.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.huggingface import DEFAULT_CONFIG, QREL_COLUMNS, SPLIT, Rows, splits_of

BEIR = "beir"
CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels/{}.tsv"
_LINE_ENDS = str.maketrans({c: f"\\u{ord(c):04x}" for c in "\x85\u2028\u2029"})
_CHUNK = 20_000


def write_beir(folder: Path, rows: Rows) -> None:
    """Write the files below ``folder/beir``; rows are streamed, nothing is built whole in memory."""
    target = folder / BEIR
    (target / "qrels").mkdir(parents=True)
    for name, chunks in _files(rows).items():
        with (target / name).open("wb") as file:
            file.writelines(chunks)


def beir_hashes(rows: Rows) -> dict[str, str]:
    """SHA-256 of the files ``write_beir`` would write, by path below the release folder; nothing is written."""
    hashes = {}
    for name, chunks in _files(rows).items():
        digest = hashlib.sha256()
        for chunk in chunks:
            digest.update(chunk)
        hashes[f"{BEIR}/{name}"] = digest.hexdigest()
    return hashes


def read_beir(folder: Path, split: str = SPLIT) -> Rows:
    """A BEIR folder, ours or another's; the columns in ``metadata`` become columns, ids stay the strings they are.

    Raises ExportInvariantError for a line that is no record, with its file and number, and for metadata that fits into no
    column.
    """
    corpus, queries = (_frame(folder / name) for name in (CORPUS, QUERIES))
    return Rows(corpus, queries, _judgments(folder / "qrels" / f"{split}.tsv"))


def _files(rows: Rows) -> dict[str, Iterable[bytes]]:
    return {
        CORPUS: _documents(rows.corpus, titled=True),
        QUERIES: _documents(rows.queries, titled=False),
        **{QRELS.format(split): _table(frame) for split, frame in splits_of(rows)[DEFAULT_CONFIG].items()},
    }


def _documents(frame: pl.DataFrame, *, titled: bool) -> Iterator[bytes]:
    title = {"title": ""} if titled else {}
    for row in frame.iter_rows(named=True):
        metadata = {k: v for k, v in row.items() if k not in ("id", "text")}
        record = {"_id": row["id"], **title, "text": row["text"], "metadata": metadata}
        yield json.dumps(record, ensure_ascii=False).translate(_LINE_ENDS).encode() + b"\n"


def _table(qrels: pl.DataFrame) -> Iterator[bytes]:
    yield ("\t".join(qrels.columns) + "\n").encode()
    line = pl.concat_str([pl.col(c).cast(pl.String) for c in qrels.columns], separator="\t")
    for part in qrels.iter_slices(_CHUNK):
        yield ("\n".join(part.select(line).to_series()) + "\n").encode()


def _frame(path: Path) -> pl.DataFrame:
    records = list(_records(path))
    if not records:
        raise ExportInvariantError(f"{path} has no line: a BEIR folder needs a corpus and queries")
    try:
        return pl.DataFrame(records, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError) as error:
        raise ExportInvariantError(f"{path}: metadata of one name has values of several types ({error})") from error


def _records(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            try:
                record = json.loads(line)
                identifier, text = record["_id"], record["text"]
                title, metadata = record.get("title") or "", record.get("metadata") or {}
                # Ids are numbers in some folders; a text that is none would become the word None.
                if not (isinstance(identifier, str | int) and isinstance(text, str) and isinstance(title, str)):
                    raise TypeError("an id, text or title of another type")
                row = {"id": str(identifier), "text": f"{title} {text}" if title else text}
                row |= {k: v for k, v in metadata.items() if k not in row}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ExportInvariantError(
                    f"{path}, line {number}: no BEIR record with _id and text ({error!r})"
                ) from error
            yield row


def _judgments(path: Path) -> pl.DataFrame:
    """Cut at tabs alone: a TSV reader that knows quotes or infers types would change ids."""
    rows = []
    with path.open(encoding="utf-8", newline="\n") as file:
        head = file.readline().rstrip("\r\n").split("\t")
        if tuple(head) != QREL_COLUMNS:
            raise ExportInvariantError(f"{path}: the head should be {', '.join(QREL_COLUMNS)}, it is {head}")
        for number, line in enumerate(file, start=2):
            cells = line.rstrip("\r\n").split("\t")
            try:
                query, passage, score = cells
                rows.append((query, passage, int(score)))
            except ValueError as error:
                raise ExportInvariantError(f"{path}, line {number}: no row of query, passage and score") from error
    return pl.DataFrame(
        rows, schema=dict(zip(QREL_COLUMNS, (pl.String, pl.String, pl.Int64), strict=True)), orient="row"
    )
