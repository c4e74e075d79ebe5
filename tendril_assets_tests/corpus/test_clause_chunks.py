"""Chunks of acts: small ones by hand, and what holds of any text."""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.clause_chunks import Chunk, chunks_of
from tendril_assets.corpus.clause_passages import act_title, bodies, clause_rows, overlapping_removed
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.corpus.named_identifiers import NamedIdentifiers
from tendril_assets.corpus.removals import Removals
from tendril_assets.corpus.removed_passages import take_out
from tendril_assets.corpus.tokens import Pieces
from tendril_assets.spec_corpus import ChunkingSpec, NearDuplicateSpec
from tendril_assets.tables import TABLES

TITLE = "1-П от 01.06.2020 «О залоге»"
SPEC = ChunkingSpec(policy="clauses", max_tokens=40, overlap_tokens=8)
# Nine pieces each: number 2 + dots 2, three words of one piece, one of two.
HASHER = KeyedHasher(b"k" * 32)
CLAUSES = [f"1.{n}. Банк сдает отчет дома." for n in range(1, 9)]


def cut(text: str, spec: ChunkingSpec = SPEC, title: str = "") -> list[Chunk]:
    return chunks_of(text, title, spec, Pieces())


def test_whole_clauses_stand_together_up_to_the_limit() -> None:
    assert Pieces().counts(CLAUSES) == [9] * 8
    chunks = cut("\n".join(CLAUSES), SPEC.model_copy(update={"overlap_tokens": 0}))
    assert [chunk.clauses for chunk in chunks] == [("1.1", "1.2", "1.3", "1.4"), ("1.5", "1.6", "1.7", "1.8")]
    assert [chunk.tokens for chunk in chunks] == [36, 36]
    assert [chunk.text for chunk in chunks] == ["\n".join(CLAUSES[:4]), "\n".join(CLAUSES[4:])]


def test_a_chunk_begins_with_the_last_clause_of_the_one_before_where_it_fits() -> None:
    chunks = cut("\n".join(CLAUSES), SPEC.model_copy(update={"overlap_tokens": 9}))
    assert [chunk.clauses[0] for chunk in chunks] == ["1.1", "1.4", "1.7"]
    # eight tokens do not hold a clause, and half a clause before another one says nothing
    assert [chunk.clauses[0] for chunk in cut("\n".join(CLAUSES))] == ["1.1", "1.5"]


def test_a_long_clause_goes_on_and_says_which_it_is() -> None:
    text = "1.1. " + " ".join("Банк сдает отчет." for _ in range(20)) + "\n1.2. Отчет верен."
    chunks = cut(text)
    assert [chunk.continues for chunk in chunks] == [None, *["1.1"] * (len(chunks) - 1)]
    assert chunks[-1].clauses == ("1.2",)
    assert all(chunk.text.startswith("Банк сдает отчет.") for chunk in chunks[1:])
    assert all(after.starts_at < before.ends_at for before, after in pairwise(chunks))


def test_a_section_begins_a_chunk_and_stands_in_its_first_line_alone() -> None:
    chunks = cut("Глава 1. Отчет\n1.1. Банк.\nГлава 2. Залог\n2.1. Банк.", SPEC, TITLE)
    assert [chunk.section for chunk in chunks] == ["Глава 1. Отчет", "Глава 2. Залог"]
    plain = cut("Глава 1. Отчет\n1.1. Банк.", SPEC.model_copy(update={"heading": False}), TITLE)
    assert [chunk.text for chunk in plain] == ["Глава 1. Отчет\n1.1. Банк."]
    roomy = cut("Глава 1. Отчет\n1.1. Банк.", ChunkingSpec(policy="clauses"), TITLE)
    assert [chunk.text for chunk in roomy] == [f"{TITLE}. Глава 1. Отчет\n1.1. Банк."]


def test_a_long_title_is_cut_behind_a_word_and_leaves_room() -> None:
    [chunk] = cut("1.1. Банк.", SPEC, "Положение " * 50)
    first = chunk.text.partition("\n")[0]
    assert first == "Положение Положение…"  # two pieces each and the sign: of 40 tokens one eighth, which is five
    assert chunk.tokens <= 40


def test_a_heading_without_a_text_is_a_chunk() -> None:
    assert [chunk.text for chunk in cut("Приложение 1")] == ["Приложение 1\nПриложение 1"]
    assert cut(" \n") == []


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        chunks_of("Текст", "а", ChunkingSpec.model_construct(max_tokens=1, overlap_tokens=0, heading=True), _Ones())


class _Ones:
    identity = "ones"

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [1 for _ in texts]


class _Joined:
    """Two texts that stand together count more than each alone, as those of a real tokenizer may."""

    identity = "joined"

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [n + text.count("\n") for n, text in zip(Pieces().counts(texts), texts, strict=True)]


WORDS = st.lists(
    st.sampled_from(["Банк", "отчет.", "1.1. Банк", "Глава 2. Отчет", "а) да;", "длинноеслово" * 9, "\n"]), max_size=60
)


@settings(max_examples=60, deadline=None)
@given(
    WORDS.map(" ".join) | st.text(max_size=300),
    st.integers(16, 60),
    st.booleans(),
    st.sampled_from([Pieces(), _Joined()]),
)
def test_of_any_text(text: str, most: int, heading: bool, counter: Pieces) -> None:
    spec = ChunkingSpec(policy="clauses", max_tokens=most, overlap_tokens=most // 4, heading=heading)
    chunks = chunks_of(text, TITLE, spec, counter)
    covered: set[int] = set()
    for chunk in chunks:
        body = text[chunk.starts_at : chunk.ends_at]
        assert chunk.text == body or chunk.text.endswith(f"\n{body}")
        assert counter.counts([chunk.text]) == [chunk.tokens]
        assert chunk.tokens <= most
        covered.update(range(chunk.starts_at, chunk.ends_at))
    missing = {at for at in range(len(text)) if not text[at].isspace()} - covered
    named = "".join(chunk.text.partition("\n")[0] for chunk in chunks) if heading else ""
    assert all(text[at] in named for at in missing)
    assert chunks == chunks_of(text, TITLE, spec, counter)
    order = [(chunk.starts_at, chunk.ends_at) for chunk in chunks]
    assert order == sorted(order)
    assert len(set(order)) == len(order)


def test_rows_say_where_each_passage_stands() -> None:
    text = "Глава 1. Отчет\n1.1. Банк.\n1.2. Отчет."
    [chunk] = cut(text, ChunkingSpec(policy="clauses"), TITLE)
    rows = clause_rows("1-П_01062020", "act.txt", [chunk], NamedIdentifiers(HASHER))
    assert rows.passages == [("1-П_01062020#0000", "1-П_01062020", "act.txt", 1, 0, chunk.text, len(chunk.text))]
    # sha256 of the lower-case text with its line breaks as blanks, by sha256sum
    check = "a07611c0d534ab89"
    place = ("1-П_01062020#0000", "1-П_01062020", "Глава 1. Отчет", ["1.1", "1.2"], None)
    assert rows.clauses == [(*place, 15, len(text), chunk.tokens, check)]


def test_pages_of_chunks() -> None:
    chunks = [Chunk("a", "", (), None, at, at + 1, 1) for at in (0, 9, 10, 25)]
    rows = clause_rows("p", "d", chunks, NamedIdentifiers(HASHER), [0, 10, 20], [1, 2, 4])
    assert [row[3] for row in rows.passages] == [1, 1, 2, 4]


def tables(text: str, spec: ChunkingSpec, title: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows = clause_rows("p", "d", cut(text, spec, title), NamedIdentifiers(HASHER))
    return TABLES["passages"].frame(rows.passages), TABLES["passage_clauses"].frame(rows.clauses)


def test_passages_that_overlap_a_removed_one_are_told() -> None:
    # ten tokens of heading and six clauses; the second chunk begins with the last of them
    spec = ChunkingSpec(policy="clauses", max_tokens=64, overlap_tokens=9)
    text = "\n".join(["Глава 1. Отчет", *CLAUSES[:7], "Глава 2. Залог", "2.1. Банк."])
    passages, clauses = tables(text, spec, TITLE)
    assert bodies(passages, clauses)["text"].to_list() == [
        "\n".join(CLAUSES[:6]),
        "\n".join(CLAUSES[5:7]),
        "2.1. Банк.",
    ]
    first, second, third = passages["passage_id"]
    assert overlapping_removed(clauses, [first], [second, third]) == [second]
    assert overlapping_removed(clauses, [second, third], [first]) == [first]
    assert overlapping_removed(clauses, [third], [first, second]) == []


def test_a_heading_in_common_makes_no_copy_of_a_removed_passage() -> None:
    title = "1-П от 01.06.2020 «О порядке оценки залога, который принимают организации»"
    passages, clauses = tables("Глава 1\n1.1. Банк.\nГлава 2\n2.1. Нет.", ChunkingSpec(policy="clauses"), title)
    removals = Removals.of([("passage", "p#0000")])

    def left(found: pl.DataFrame) -> list[str]:
        nothing = TABLES["removed_passages"].empty()
        return take_out(found, removals, nothing, NearDuplicateSpec(), HASHER).passages["passage_id"].to_list()

    assert left(bodies(passages, clauses)) == ["p#0001"]
    assert left(passages) == []


def test_titles_of_acts() -> None:
    assert act_title("590-П", "28.06.2017", "О порядке\n резервов") == "590-П от 28.06.2017 «О порядке резервов»"
    assert act_title("590-П", "28.06.2017", "“О порядке”") == "590-П от 28.06.2017 “О порядке”"
    assert act_title("590-П", "28.06.2017", "") == "590-П от 28.06.2017"
