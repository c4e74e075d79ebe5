import json
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.beir import write_beir
from tendril_assets.release.huggingface import (
    Config,
    Rows,
    plain_bytes,
    published_rows,
    read_configs,
    read_rows,
    require_rows,
    shard_files,
    shard_names,
    write_parquet,
)
from tendril_assets_tests.release import toy


@pytest.fixture(scope="module")
def rows():
    tables = toy.tables()
    return published_rows(tables["corpus"], tables["queries"], tables["qrels"], "project")


def new_folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_columns_and_types_are_the_published_ones(tmp_path, rows) -> None:
    write_parquet(tmp_path, rows)
    assert read_configs(tmp_path) == [
        Config(
            "corpus",
            {"id": "string", "text": "string", "project": "string", "document": "string", "page": "int64"},
            {"train": 80},
        ),
        Config("queries", dict.fromkeys(("id", "text", "level", "catalog", "area"), "string"), {"train": 8}),
        Config("qrels", {"query-id": "string", "corpus-id": "string", "score": "int64"}, {"train": 240}),
    ]
    assert pl.read_parquet(tmp_path / "qrels" / "train-00000-of-00001.parquet").equals(rows.qrels)


def test_a_second_shard_is_refused(tmp_path, rows) -> None:
    write_parquet(tmp_path, rows)
    rows.corpus.head(1).write_parquet(tmp_path / "corpus" / "train-00001-of-00002.parquet")
    with pytest.raises(ExportInvariantError, match="train-00001-of-00002"):
        read_configs(tmp_path)


def test_a_column_of_another_type_is_refused(tmp_path, rows) -> None:
    odd = rows.corpus.with_columns(pl.col("page").cast(pl.Float64))
    with pytest.raises(ExportInvariantError, match=r"config corpus.*'page': 'Float64'"):
        write_parquet(new_folder(tmp_path / "written"), rows._replace(corpus=odd))
    write_parquet(tmp_path, rows)
    odd.write_parquet(tmp_path / "corpus" / "train-00000-of-00001.parquet")
    with pytest.raises(ExportInvariantError, match=r"config corpus.*'page': 'double'"):
        read_configs(tmp_path)


def test_a_column_that_only_a_later_shard_has_is_refused(tmp_path, rows) -> None:
    write_parquet(tmp_path, rows, shard_bytes=plain_bytes(rows.corpus) // 2 + 1)
    _, second = shard_files(tmp_path, "corpus")
    pl.read_parquet(second).with_columns(colour=pl.lit("red")).write_parquet(second)
    with pytest.raises(ExportInvariantError, match=r"train-00001-of-00002\.parquet differ"):
        read_configs(tmp_path)


def test_three_shards_and_then_two(tmp_path, rows) -> None:
    """80 passages at a third of their bytes each, then at half: every row once, in order, and no old shard to match."""
    size = plain_bytes(rows.corpus)
    for shards in (3, 2):
        folder = new_folder(tmp_path / str(shards))
        write_parquet(folder, rows, shard_bytes=-(-size // shards))
        assert [f.name for f in sorted((folder / "corpus").glob("train-*"))] == shard_names(shards)
        assert all(one.equals(other) for one, other in zip(read_rows(folder), rows, strict=True))
        assert [c.rows for c in read_configs(folder)] == [80, 8, 240]
    (tmp_path / "3" / "corpus" / shard_names(3)[0]).rename(tmp_path / "2" / "corpus" / shard_names(3)[0])
    with pytest.raises(ExportInvariantError, match="of one writing"):
        read_configs(tmp_path / "2")
    (tmp_path / "2" / "corpus" / shard_names(3)[0]).unlink()
    (tmp_path / "2" / "corpus" / shard_names(2)[1]).unlink()
    with pytest.raises(ExportInvariantError, match="of one writing"):
        read_rows(tmp_path / "2")


def test_bytes_are_counted_from_the_rows() -> None:
    """Two texts of 4 and 5 bytes in UTF-8 with an offset of 4 each, two integers of 8: 9 + 8 + 16."""
    assert plain_bytes(pl.DataFrame({"text": ["Holz", "Büro"], "page": [1, 2]})) == 33
    assert plain_bytes(pl.DataFrame(schema={"text": pl.String})) == 0


def test_no_row_is_one_empty_shard_with_its_types(tmp_path, rows) -> None:
    write_parquet(tmp_path, Rows(*(frame.clear() for frame in rows)))
    assert all(one.equals(other.clear()) for one, other in zip(read_rows(tmp_path), rows, strict=True))


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
