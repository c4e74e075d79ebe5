"""The BEIR layout comes back as it went in, whoever reads it: ours, the csv module, a reader that splits at tabs."""

import csv
import hashlib
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.beir import beir_hashes, read_beir, write_beir
from tendril_assets.release.huggingface import Rows
from tendril_assets.release.invariants import published_breaches
from tendril_assets_tests.release.test_invariants import corpus, qrels, queries

# Everything a text may hold; surrogates are no characters of a string in Parquet or JSON.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
ODD = 'Zeile 1\nZeile "2"\t\x00\x0b\x1c\x85\u2028\u2029\\N €\ufeff \U0001f332'


def rows(text: str = "Holz", passage: str = "p-1", query: str = "q-1", score: int = 0) -> Rows:
    return Rows(corpus(passage, text=text), queries(query), qrels((query, passage, score)))


@given(text=TEXTS)
@settings(max_examples=150, deadline=None)
def test_any_text_comes_back(text: str) -> None:
    with TemporaryDirectory() as place:
        write_beir(Path(place), rows(text))
        assert read_beir(Path(place) / "beir").corpus.equals(rows(text).corpus)


def test_one_record_is_one_line_for_every_reader(tmp_path) -> None:
    write_beir(tmp_path, rows(ODD))
    text = (tmp_path / "beir" / "corpus.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 1  # cuts at the line ends of Unicode too
    assert json.loads(text)["text"] == ODD
    assert pl.read_ndjson(tmp_path / "beir" / "corpus.jsonl")["text"].to_list() == [ODD]


# Of ids that pass the rules: characters with a meaning in some reader, leading zeros and hashes, other scripts.
IDS = ["p-007", "p-'x'", "p-#1", "7092-У_19062025#0384", "p-1,5;2|3", "p-\\t", "d=1", "0x1F", "1.2.3"]


@pytest.mark.parametrize("odd", IDS)
def test_judgments_are_read_alike_by_all_readers(tmp_path, odd: str) -> None:
    """Zeros stay, as scores and at the head of ids; what the csv module reads is what a split at tabs reads."""
    made = rows(passage=odd)
    assert published_breaches(*made) == []
    write_beir(tmp_path, made)
    path = tmp_path / "beir" / "qrels" / "train.tsv"
    wanted = [["query-id", "corpus-id", "score"], ["q-1", odd, "0"]]
    assert [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()] == wanted
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL)) == wanted  # as BEIR's loader does
    typed = pl.read_csv(path, separator="\t")
    assert typed.rows() == [("q-1", odd, 0)]
    assert read_beir(tmp_path / "beir").qrels.equals(made.qrels)


@given(number=st.from_regex(r"\A(0{0,3}[0-9]{1,6}|-?[0-9]+\.[0-9]*|[0-9]e[0-9]|NA|nan|null|None|TRUE)\Z"))
@settings(max_examples=60, deadline=None)
def test_an_id_that_readers_turn_into_a_value_is_refused(number: str) -> None:
    found = {breach.rule for breach in published_breaches(corpus(number), queries("q1"), qrels(("q1", number, 1)))}
    assert found == {"id_read_as_another_value_in_corpus"}


def test_every_word_that_pandas_takes_for_no_value_is_refused() -> None:
    """Its own list; the one with a space in it is refused for that, the empty one for being empty."""
    from pandas._libs.parsers import STR_NA_VALUES

    rules = {word: {b.rule for b in published_breaches(*rows(passage=word))} for word in STR_NA_VALUES}
    assert len(rules) > 15
    assert all(rules.values()), rules


@pytest.mark.parametrize(
    ("odd", "rule"),
    [
        ("", "empty_id"),
        ("a\tb", "id_with_whitespace"),
        ("a\nb", "id_with_whitespace"),
        ("a\u00a0b", "id_with_whitespace"),
        ('"a', "id_with_unsafe_character"),
        ('a"b', "id_with_unsafe_character"),
        ("a\x00b", "id_with_unsafe_character"),
        ("\ufeffa", "id_with_unsafe_character"),
        ("a\u200bb", "id_with_unsafe_character"),
    ],
)
def test_an_id_that_some_reader_would_change_is_refused(odd: str, rule: str) -> None:
    found = published_breaches(corpus(odd), queries("q1"), qrels(("q1", odd, 1)))
    assert {breach.rule for breach in found} == {f"{rule}_in_corpus"}


def test_hashes_are_those_of_the_written_files(tmp_path) -> None:
    made = rows(ODD)
    write_beir(tmp_path, made)
    files = {p.relative_to(tmp_path).as_posix(): p for p in tmp_path.rglob("*") if p.is_file()}
    assert beir_hashes(made) == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}


def test_a_foreign_folder_is_read_with_its_titles(tmp_path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "007", "title": "Wald", "text": "Holz"}\n{"_id": "8", "text": "Glas"}\n'
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "Holz?", "metadata": {"level": "l"}}\n')
    (tmp_path / "qrels" / "test.tsv").write_bytes(b"query-id\tcorpus-id\tscore\r\nq\t007\t1\r\n")
    found = read_beir(tmp_path, "test")
    assert found.corpus.rows() == [("007", "Wald Holz"), ("8", "Glas")]
    assert found.qrels.rows() == [("q", "007", 1)]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("corpus.jsonl", '{"_id": "a", "text": "x"}\n{"text": "y"}\n', r"corpus\.jsonl, line 2"),
        ("corpus.jsonl", "", r"corpus\.jsonl has no line"),
        ("corpus.jsonl", '{"_id": "a", "text": null}\n', r"corpus\.jsonl, line 1"),
        ("corpus.jsonl", '{"_id": null, "text": "x"}\n', r"corpus\.jsonl, line 1"),
        ("corpus.jsonl", '{"_id": "a", "text": "x", "metadata": [1]}\n', r"corpus\.jsonl, line 1"),
        (
            "corpus.jsonl",
            '{"_id": "a", "text": "x", "metadata": {"m": [1]}}\n{"_id": "b", "text": "x", "metadata": {"m": {"n": 1}}}\n',
            r"corpus\.jsonl: metadata of one name",
        ),
        ("qrels/train.tsv", "q\ta\t1\n", "the head should be query-id, corpus-id, score"),
        ("qrels/train.tsv", "query-id\tcorpus-id\tscore\nq\ta\n", r"train\.tsv, line 2"),
        ("qrels/train.tsv", "query-id\tcorpus-id\tscore\nq\ta\tone\n", r"train\.tsv, line 2"),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path, name: str, content: str, said: str) -> None:
    write_beir(tmp_path, rows())
    (tmp_path / "beir" / name).write_text(content)
    with pytest.raises(ExportInvariantError, match=said):
        read_beir(tmp_path / "beir")


def test_no_rows_are_a_head_line_alone(tmp_path) -> None:
    write_beir(tmp_path, rows()._replace(qrels=qrels()))
    assert io.StringIO((tmp_path / "beir" / "qrels" / "train.tsv").read_text()).readlines() == [
        "query-id\tcorpus-id\tscore\n"
    ]
