"""Clause finding on real fragments of acts: the clauses named beside each fragment are the right value."""

import json
import os
import re
from pathlib import Path

import pytest

from tendril_assets.corpus.clause_chunks import chunks_of
from tendril_assets.corpus.clauses import clause_starts
from tendril_assets.corpus.tokens import Pieces
from tendril_assets.spec_corpus import ChunkingSpec

DATA = os.environ.get("TENDRIL_TRIAL_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="TENDRIL_TRIAL_DATA names no folder of public trial data")


@pytest.fixture(scope="module")
def fragments() -> list[dict[str, str]]:
    lines = (Path(DATA or "") / "cbr_pairs" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    return list({row["chunk_id"]: row for row in map(json.loads, lines)}.values())


def test_the_first_and_the_last_clause_of_each_fragment_are_found(fragments: list[dict[str, str]]) -> None:
    """Beside a fragment stand the first and the last of its clauses, the one it goes on with included. Read off by eye: 23
    fragments begin in a clause and have no other; in the others both stand at the beginning of a line."""
    assert len(fragments) == 144
    silent, wrong = 0, []
    for row in fragments:
        found = [start.number for start in clause_starts(row["text"])]
        ends = [found[0], found[-1]][: len(found)] if found else []
        named = row["clauses"].split("–") if row["clauses"] else []
        at_a_line = any(re.search(rf"(?m)^{re.escape(number)}\. ?\S", row["text"]) for number in named)
        if named and not found and not at_a_line:
            silent += 1
        elif ends != named:
            wrong.append((row["chunk_id"], named, found))
    assert (silent, wrong) == (23, [])


def test_real_text_is_cut_within_the_limit(fragments: list[dict[str, str]]) -> None:
    act = "\n".join(row["text"] for row in fragments)
    chunks = chunks_of(act, "590-П от 28.06.2017", ChunkingSpec(policy="clauses"), Pieces())
    assert max(chunk.tokens for chunk in chunks) <= 512
    assert all(chunk.text.endswith(act[chunk.starts_at : chunk.ends_at]) for chunk in chunks)
    # half of the published chunks have 469 tokens and more, of 512
    assert sorted(chunk.tokens for chunk in chunks)[len(chunks) // 2] >= 420
