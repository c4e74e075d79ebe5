"""Clause finding on real fragments of acts: the clauses named beside each fragment are the right value."""

import json
import os
import re
from pathlib import Path

import pytest

from tendril_assets.corpus.clause_chunks import chunks_of
from tendril_assets.corpus.clauses import clause_starts, structure
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


# Numbers set high, which the parsed law has as digits of the number; read off the page by eye.
RAISED = {f"Статья {n}1": f"Статья {n}¹" for n in (67, 75, 79, 92, 103)}
RAISED_PARTS = {
    ("Статья 67", "21"): "2¹",
    ("Статья 81", "31"): "3¹",
    ("Статья 117", "41"): "4¹",
    ("Статья 125", "51"): "5¹",
    ("Статья 131", "11"): "1¹",
}


def test_every_part_of_every_article_of_a_law_is_found() -> None:
    """142 articles, nine chapters and two sections; the parts of an article are those lines that begin with a number
    in the parsed law: 345 of them, of which nine stand in the second section, which has no articles."""
    law = json.loads((Path(DATA or "") / "russian_law" / "102027595.json").read_text(encoding="utf-8"))
    lines, expected, place = list(law["preamble"]), [], ""
    for section in law["sections"]:
        lines.append(section["title"])
        place = section["title"]
        for article in (one for chapter in section["chapters"] for one in chapter["articles"]):
            if article["title"]:
                place = RAISED.get(article["title"], article["title"])
                lines.append(place)
            for line in article["clauses"]:
                if found := re.match(r"(\d{1,2})(?=\.\s)", line):
                    number = RAISED_PARTS.get((place, found[1]), found[1])
                    line = number + line[found.end() :]
                    expected.append((place, number.replace("¹", "-1")))
                lines.append(line)
    text = "\n".join(lines)
    headings = [part.section.split(" / ")[-1] for part in structure(text) if part.kind == "heading"]
    counted = {word: sum(one.startswith(word) for one in headings) for word in ("Статья", "ГЛАВА", "РАЗДЕЛ")}
    assert counted == {"Статья": 142, "ГЛАВА": 9, "РАЗДЕЛ": 2}
    assert len(expected) == 345
    assert [(one.section.split(" / ")[-1], one.number) for one in clause_starts(text)] == expected


def test_clauses_of_published_chunks_are_found() -> None:
    """``punkty`` names the first and the last clause of each of the six chunks."""
    lines = (Path(DATA or "") / "cbr_excerpts" / "act_chunks_sample.jsonl").read_text(encoding="utf-8").splitlines()
    chunks = [json.loads(line) for line in lines]
    found = [[start.number for start in clause_starts(chunk["text"])] for chunk in chunks]
    assert found == [["5.2"], ["1.3"], ["15.5", "15.6", "15.7"], ["15.7"], ["15.5", "15.6", "15.7"], []]
    assert ["–".join(dict.fromkeys([*one[:1], *one[-1:]])) for one in found] == [chunk["punkty"] for chunk in chunks]
