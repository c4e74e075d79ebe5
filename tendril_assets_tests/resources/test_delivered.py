"""Delivered passages stay in their file, and are what was landed when they are read again."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.errors import LandingError
from tendril_assets.resources.delivered import FILE_ROWS, landed_rows, read_again, read_delivered

ROWS = [
    ("p1", "a.pdf", 1, "Holz."),
    ("p2", "b.pdf", 2, "Kies."),
    ("p1", "a.pdf", 1, "Holz."),
    ("p1", "a.pdf", 3, "Ton."),
]


def write(path: Path, rows: list[tuple]) -> Path:
    lines = (json.dumps(dict(zip(("project", "document", "page", "text"), row, strict=True))) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def landed(path: Path) -> tuple[pl.DataFrame, list[tuple[str, str, str, str]]]:
    kept, documents = landed_rows(read_delivered(path), path)
    return kept, [row[:4] for row in documents]


def test_the_warehouse_keeps_places_and_hashes_alone(tmp_path: Path) -> None:
    kept, documents = landed(write(tmp_path / "passages.jsonl", ROWS))
    assert kept.columns == ["project", "document", "page", "position", "characters"]
    assert kept.rows() == [
        ("p1", "a.pdf", 1, 0, 5),
        ("p2", "b.pdf", 2, 0, 5),
        ("p1", "a.pdf", 1, 1, 5),
        ("p1", "a.pdf", 3, 2, 4),
    ]
    assert [row[:3] for row in documents] == [
        ("p1", "a.pdf", str(tmp_path / "passages.jsonl")),
        ("p2", "b.pdf", str(tmp_path / "passages.jsonl")),
    ]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_what_is_asked_for_is_read_again(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / "passages.jsonl", ROWS)
    if kind == "parquet":
        path = tmp_path / "passages.parquet"
        pl.DataFrame(ROWS, schema=["project", "document", "page", "text"], orient="row").write_parquet(path)
    _, documents = landed(path)
    assert read_again([documents[0]]).rows() == [
        ("p1", "a.pdf", 1, 0, "Holz."),
        ("p1", "a.pdf", 1, 1, "Holz."),
        ("p1", "a.pdf", 3, 2, "Ton."),
    ]
    assert read_again(documents).height == len(ROWS)
    assert read_again([]).schema == FILE_ROWS.schema


CHANGED = {
    "another text": [*ROWS[:3], ("p1", "a.pdf", 3, "Tor.")],
    "another page": [*ROWS[:3], ("p1", "a.pdf", 4, "Ton.")],
    "another order": [ROWS[3], *ROWS[:3]],
    "a passage less": ROWS[:3],
    "a passage more": [*ROWS, ("p1", "a.pdf", 9, "Glas.")],
    "the document is gone": [ROWS[1]],
}


@pytest.mark.parametrize("rows", CHANGED.values(), ids=CHANGED)
def test_what_changed_since_it_was_landed_is_refused(tmp_path: Path, rows: list[tuple]) -> None:
    path = write(tmp_path / "passages.jsonl", ROWS)
    _, documents = landed(path)
    write(path, rows)
    with pytest.raises(
        LandingError, match=r"1 document\(s\) changed since they were landed, the first is p1/a\.pdf"
    ) as error:
        read_again(documents)
    assert "materialise the landing assets again" in str(error.value)
    assert read_again([documents[1]]).height == 1  # the other document is what it was
    path.unlink()
    with pytest.raises(LandingError, match="gone since they were landed"):
        read_again(documents)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.text(min_size=1).filter(lambda t: t.strip())), min_size=1
    )
)
def test_whatever_is_landed_can_be_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, str]]
) -> None:
    """Spaces, decomposed letters, lone surrogates: what both readings make of them is the same."""
    path = tmp_path_factory.mktemp("any") / "passages.jsonl"
    write(path, [("p", document, page, text) for document, page, text in rows])
    kept, documents = landed(path)
    again = read_again(documents)
    assert again.height == kept.height == len(rows)
    assert (
        again.sort(FILE_ROWS.key)["text"].str.len_chars().to_list() == kept.sort(FILE_ROWS.key)["characters"].to_list()
    )
