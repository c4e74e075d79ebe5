import json

import polars as pl
import pytest

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.beir import write_beir
from tendril_assets.release.huggingface import SHARD, Config, published_rows, read_configs, require_rows, write_parquet
from tendril_assets_tests.release import toy


@pytest.fixture(scope="module")
def rows():
    tables = toy.tables()
    return published_rows(tables["corpus"], tables["queries"], tables["qrels"], "project")


def test_columns_and_types_are_the_published_ones(tmp_path, rows) -> None:
    write_parquet(tmp_path, rows)
    assert read_configs(tmp_path) == [
        Config(
            "corpus", {"id": "string", "text": "string", "project": "string", "document": "string", "page": "int64"}, 80
        ),
        Config("queries", dict.fromkeys(("id", "text", "level", "catalog", "area"), "string"), 8),
        Config("qrels", {"query-id": "string", "corpus-id": "string", "score": "int64"}, 240),
    ]
    assert pl.read_parquet(tmp_path / "qrels" / SHARD).equals(rows.qrels)


def test_a_second_shard_is_refused(tmp_path, rows) -> None:
    write_parquet(tmp_path, rows)
    rows.corpus.head(1).write_parquet(tmp_path / "corpus" / "train-00001-of-00002.parquet")
    with pytest.raises(ExportInvariantError, match="train-00001-of-00002"):
        read_configs(tmp_path)


def test_a_column_of_another_type_is_refused(tmp_path, rows) -> None:
    write_parquet(tmp_path, rows._replace(corpus=rows.corpus.with_columns(pl.col("page").cast(pl.Float64))))
    with pytest.raises(ExportInvariantError, match="page"):
        read_configs(tmp_path)


def test_row_counts_are_compared(tmp_path, rows) -> None:
    write_parquet(tmp_path, rows)
    configs = read_configs(tmp_path)
    require_rows(configs, {"corpus": 80, "queries": 8, "qrels": 240})
    with pytest.raises(ExportInvariantError, match=r"'queries': \(8, 9\)"):
        require_rows(configs, {"corpus": 80, "queries": 9, "qrels": 240})


def test_beir_layout_holds_the_same_rows(tmp_path, rows) -> None:
    odd = rows.corpus.with_columns(
        text=pl.when(pl.col("page") == 1).then(pl.lit('Zeile 1\nZeile "2"\t€')).otherwise("text")
    )
    write_beir(tmp_path, rows._replace(corpus=odd))
    lines = (tmp_path / "beir" / "corpus.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    records = [json.loads(line) for line in lines]
    assert [r["_id"] for r in records] == odd["id"].to_list()
    assert [r["text"] for r in records] == odd["text"].to_list()
    assert records[0]["title"] == ""
    assert records[0]["metadata"] == {
        "project": odd["project"][0],
        "document": odd["document"][0],
        "page": odd["page"][0],
    }
    tsv = (tmp_path / "beir" / "qrels" / "train.tsv").read_text().splitlines()
    assert tsv[0] == "query-id\tcorpus-id\tscore"
    assert tsv[1].split("\t") == [str(v) for v in rows.qrels.row(0)]
    assert len(tsv) == 1 + 240
