"""The BEIR layout: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/train.tsv``.

``_id`` and ``text`` are what BEIR readers ask for; ``title`` is empty, since passages have none; everything else is
``metadata``. The text of these files decides whether two releases hold the same rows.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tendril_assets.release.huggingface import SPLIT, Rows


def write_beir(folder: Path, rows: Rows) -> None:
    """Write the three files below ``folder/beir``; lines are streamed, nothing is built whole in memory."""
    target = folder / "beir"
    (target / "qrels").mkdir(parents=True)
    _write_lines(target / "corpus.jsonl", _documents(rows.corpus, titled=True))
    _write_lines(target / "queries.jsonl", _documents(rows.queries, titled=False))
    rows.qrels.write_csv(target / "qrels" / f"{SPLIT}.tsv", separator="\t", quote_style="never")


def _documents(frame: pl.DataFrame, *, titled: bool) -> Iterable[str]:
    title = {"title": ""} if titled else {}
    for row in frame.iter_rows(named=True):
        metadata = {k: v for k, v in row.items() if k not in ("id", "text")}
        record = {"_id": row["id"], **title, "text": row["text"], "metadata": metadata}
        yield json.dumps(record, ensure_ascii=False)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)
