"""The corpus stage keeps nothing of a removed passage in files, and tells no text to Dagster."""

import re
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from tendril_assets.corpus.sampling import sample_projects
from tendril_assets_tests.assets.toy_landing import COLLECTION, DRAWN, HASHER, SPEC, Base, Toy, built, paragraph

LANDED = ("p1", "p2", "p3")
ONE = sample_projects(LANDED, 1, SPEC.seed)[0]
MARKED = "Die Brückenwaage am Güterbahnhof wird jeden Dienstag von Hand geölt, und der Schlüssel hängt im Büro daneben."
COPY = MARKED.removesuffix("daneben.") + "dahinter."
FRAGMENT = "wird jeden Dienstag von Hand"
READ = ("extractions", "readings")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Base]:
    yield from built(tmp_path_factory.mktemp("withheld"), *LANDED)


@pytest.fixture
def toy(base: Base) -> Toy:
    toy = base.restored()
    toy.document(ONE, "a.txt", paragraph(ONE, 1), paragraph(ONE, 2), MARKED)
    toy.document(ONE, "b.txt", paragraph(ONE, 3), COPY)
    return toy


def holding(toy: Toy) -> set[str]:
    """Kinds of files below the artifacts that hold the passage: Parquet is decoded, everything else is plain UTF-8."""
    root = Path(toy.artifacts.root)
    found = set()
    for path in (p for p in root.rglob("*") if p.is_file()):
        data = pl.read_parquet(path).write_ndjson().encode() if path.suffix == ".parquet" else path.read_bytes()
        if FRAGMENT.encode() in data:
            found.add(path.relative_to(root).parts[1])
    return found


def kept(toy: Toy, *names: str, kinds: tuple[str, ...] = READ) -> set[str]:
    """Which documents of the project have a cache of these kinds."""
    ids = {HASHER.document(ONE, name): name for name in names}
    return {
        ids[c.document_id]
        for c in toy.artifacts.cached_documents(COLLECTION)
        if c.document_id in ids and c.kind in kinds
    }


def others(toy: Toy) -> dict[Path, int]:
    gone = {HASHER.document(ONE, name) for name in ("a.txt", "b.txt")}
    return {
        path: path.stat().st_mtime_ns
        for cached in toy.artifacts.cached_documents(COLLECTION)
        if cached.document_id not in gone
        for path in cached.folder.iterdir()
    }


def test_caches_of_a_removed_passage_and_of_its_copy_go_in_the_run_that_takes_them_out(toy: Toy) -> None:
    toy.run()
    assert holding(toy) == {*READ, "masked"}
    before = others(toy)
    assert before
    toy.removals(f"passage,{HASHER.passage(ONE, 'a.txt', MARKED)}")
    after = toy.run()
    assert after.success
    assert holding(toy) == set()
    assert others(toy) == before
    # What is left of the two documents is masked anew, and that may be kept; what they were read from may not.
    assert kept(toy, "a.txt", "b.txt") == set()
    assert kept(toy, "a.txt", "b.txt", kinds=("masked",)) == {"a.txt", "b.txt"}
    again = toy.run()
    assert again.work()["read_now"] == 2
    assert again.versions == after.versions
    assert (holding(toy), kept(toy, "a.txt", "b.txt")) == (set(), set())


def test_a_place_on_the_list_keeps_the_document_from_ever_being_stored(toy: Toy) -> None:
    toy.removals(f"passage,{ONE}/a.txt/1/2")
    toy.run()
    assert toy.table("removal_effects").select("state", "passages").row(0) == ("effective", 2)
    assert holding(toy) == set()
    assert kept(toy, "a.txt", "b.txt") == set()


def test_no_text_of_any_passage_reaches_dagster(toy: Toy, tmp_path: Path) -> None:
    clause = "Die Ausschreibungsunterlagen duerfen an Dritte nicht weitergegeben werden, ausser mit Zustimmung."
    other = next(name for name in LANDED if name != ONE)
    toy.document(other, "c.txt", clause)
    toy.document(other, "broken.pdf", "no PDF, yet it says something")
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        run = toy.run(check=True, instance=instance)
        stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert run.success
    # SQLite spreads long values over pages, and JSON escapes what is not ASCII: pieces of a few words are looked for.
    texts = [*toy.table("passages")["text"], *toy.table("corpus")["text"]]
    pieces = {piece for text in texts for piece in re.findall(r"[A-Za-z0-9 ,.]{24}", text)}
    assert len(pieces) > 3 * DRAWN
    assert [piece for piece in sorted(pieces) if piece.encode() in stored] == []
    # The samples that people look at are a table for them.
    samples = toy.table("masked_samples")
    assert {"PERSON", "EMAIL"} <= set(samples["label"])
    assert set(samples["passage_id"]) <= set(toy.table("corpus")["passage_id"])
    assert samples["context"].str.contains("<", literal=True).all()
