"""Counting tokens: by hand, and by a tokenizer file made here."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.corpus.tokens import Pieces, token_counter
from tendril_assets.errors import TendrilError


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("Банк", 1),
        ("банка", 1),
        ("ссудам", 2),
        ("1.15.", 4),
        ("31.12.2020", 6),
        ("№ 590-П", 5),
        ("ссуды_и\nзаймы", 4),
        ("e\u0301", 2),
    ],
)
def test_pieces_by_hand(text: str, tokens: int) -> None:
    assert Pieces().counts([text]) == [tokens]


@given(st.text(max_size=80), st.text(max_size=80))
def test_pieces_add_up_over_white_space(left: str, right: str) -> None:
    together, alone = Pieces().counts([f"{left} {right}"]), Pieces().counts([left, right])
    assert together == [sum(alone)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    vocabulary = {"[UNK]": 0, "банк": 1, "отчет": 2}
    content = {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return tmp_path


def test_a_tokenizer_file_counts_all_that_its_model_would_see(folder: Path) -> None:
    pytest.importorskip("tokenizers")
    counter = token_counter(str(folder))
    # the file's own limit of one token is for its model, not for counting
    assert counter.counts(["Банк сдает отчет", ""]) == [3, 0]
    before = counter.identity
    assert token_counter(str(folder / "tokenizer.json")).identity == before
    path = folder / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert token_counter(f"{folder}/").identity != before


def test_a_tokenizer_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(TendrilError, match="is no file"):
        token_counter(str(tmp_path / "none.json"))
    pytest.importorskip("tokenizers")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(TendrilError, match="cannot be read as a tokenizer"):
        token_counter(str(tmp_path))
