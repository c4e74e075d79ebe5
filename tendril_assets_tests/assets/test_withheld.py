"""The corpus stage keeps nothing of a removed passage in files, and tells no text to Dagster, whatever goes wrong."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets import reading
from tendril_assets.corpus.anonymize import AnonymizedDocument, Anonymizer
from tendril_assets.corpus.sampling import sample_projects
from tendril_assets_tests.assets.toy_landing import COLLECTION, DRAWN, HASHER, SPEC, Run, Toy, paragraph, prepared

LANDED = ("p1", "p2", "p3")
ONE = sample_projects(LANDED, 1, SPEC.seed)[0]
OTHER, THIRD = (name for name in LANDED if name != ONE)
MARKED = "Die Brückenwaage am Güterbahnhof wird jeden Dienstag von Hand geölt, und der Schlüssel hängt im Büro daneben."
COPY = MARKED.removesuffix("daneben.") + "dahinter."
FRAGMENT = "wird jeden Dienstag von Hand"
# Its place is on the list from the beginning.
NAMED = "Der Turmfalke nistet seit Jahren im Giebel der Zivilschutzanlage, darum ruht dort jeder Umbau bis zum Herbst."
NAMED_FRAGMENT = "nistet seit Jahren im Giebel"
CLAUSE = "Die Ausschreibungsunterlagen duerfen an Dritte nicht weitergegeben werden, ausser mit Zustimmung."
# A detector fails on it, and quotes it.
FAILING = "Das Wasserschloss oberhalb der Staumauer bekommt neue Fenster aus Eichenholz und einen Anstrich aus Leinoel."
# A reader fails, and quotes what it read.
UNREAD = "Im Pumpwerk Sonnenberg lagern zwanzig Paletten Ersatzteile"
READ = ("extractions", "readings")


class First(NamedTuple):
    """The first run, with what each text was found in after it, and every byte that Dagster stored."""

    toy: Toy
    run: Run
    marked: set[str]
    named: set[str]
    told: bytes


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[First]:
    folder, read, mask = tmp_path_factory.mktemp("withheld"), reading.read_documents, Anonymizer.document

    def quoting_reader(*given):
        for job, extraction, seconds in read(*given):
            failed = extraction.outcome == "parse_failed"
            yield job, replace(extraction, message=f"PdfError: near '{UNREAD}'") if failed else extraction, seconds

    def quoting_detector(self: Anonymizer, texts: list[str]) -> AnonymizedDocument:
        if FAILING in texts:
            raise ValueError(f"no span in {texts!r}")
        return mask(self, texts)

    with pytest.MonkeyPatch.context() as patch:
        toy = prepared(folder, patch, *LANDED)
        patch.setattr(reading, "read_documents", quoting_reader)
        patch.setattr(Anonymizer, "document", quoting_detector)
        toy.document(ONE, "a.txt", paragraph(ONE, 1), paragraph(ONE, 2), MARKED)
        toy.document(ONE, "b.txt", paragraph(ONE, 3), COPY)
        toy.document(OTHER, "c.txt", CLAUSE)
        toy.document(OTHER, "broken.pdf", UNREAD)
        toy.document(THIRD, "failing.txt", FAILING)
        toy.document(THIRD, "named.txt", paragraph(THIRD, 5), NAMED)
        toy.document(THIRD, "copy.txt", paragraph(THIRD, 6), NAMED.replace("Herbst", "Winter"))
        toy.removals(f"passage,{THIRD}/named.txt/1/1")
        (folder / "dagster").mkdir()
        with dg.DagsterInstance.local_temp(str(folder / "dagster")) as instance:
            run = toy.run(check=True, instance=instance)
        told = b"".join(path.read_bytes() for path in (folder / "dagster").rglob("*") if path.is_file())
        yield First(toy, run, holding(toy, FRAGMENT), holding(toy, NAMED_FRAGMENT), told)


def holding(toy: Toy, fragment: str) -> set[str]:
    """Kinds of files below the artifacts that hold the passage: Parquet is decoded, everything else is plain UTF-8."""
    root = Path(toy.artifacts.root)
    found = set()
    for path in (p for p in root.rglob("*") if p.is_file()):
        data = pl.read_parquet(path).write_ndjson().encode() if path.suffix == ".parquet" else path.read_bytes()
        if fragment.encode() in data:
            found.add(path.relative_to(root).parts[1])
    return found


def kept(toy: Toy, project: str, *names: str, kinds: tuple[str, ...] = READ) -> set[str]:
    """Which of these documents have a cache of these kinds."""
    ids = {HASHER.document(project, name): name for name in names}
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


def test_no_text_of_any_passage_reaches_dagster(first: First) -> None:
    assert first.run.success
    # The places where it could: each failed as it was told to, and says so.
    failed = first.toy.table("document_status").filter(outcome="parse_failed").row(0, named=True)
    assert (failed["document"], UNREAD in failed["message"]) == ("broken.pdf", True)
    assert f"{OTHER}/broken.pdf: parse_failed, PdfError".encode() in first.told
    assert b"ValueError at test_withheld.py" in first.told
    # SQLite spreads long values over pages, and JSON escapes what is not ASCII: pieces of a few words are looked for.
    texts = [*first.toy.table("passages")["text"], *first.toy.table("corpus")["text"], UNREAD, MARKED, NAMED]
    assert FAILING in texts
    pieces = {piece for text in texts for piece in re.findall(r"[A-Za-z0-9 ,.]{24}", text)}
    assert len(pieces) > 3 * DRAWN
    assert [piece for piece in sorted(pieces) if piece.encode() in first.told] == []
    # The samples that people look at are a table for them.
    samples = first.toy.table("masked_samples")
    assert {"PERSON", "EMAIL"} <= set(samples["label"])
    assert set(samples["passage_id"]) <= set(first.toy.table("corpus")["passage_id"])
    assert samples["context"].str.contains("<", literal=True).all()


def test_a_place_on_the_list_keeps_the_document_from_ever_being_stored(first: First) -> None:
    assert first.toy.table("removal_effects").select("state", "passages").row(0) == ("effective", 2)
    assert first.named == set()
    assert kept(first.toy, THIRD, "named.txt", "copy.txt", "a.txt") == {"a.txt"}


def test_caches_of_a_removed_passage_and_of_its_copy_go_in_the_run_that_takes_them_out(first: First) -> None:
    """Runs after the others: it goes on from the first run."""
    toy = first.toy
    assert first.marked == {*READ, "masked"}
    before = others(toy)
    assert before
    toy.removals(f"passage,{THIRD}/named.txt/1/1", f"passage,{HASHER.passage(ONE, 'a.txt', MARKED)}")
    after = toy.run()
    assert after.success
    assert holding(toy, FRAGMENT) == set()
    assert others(toy) == before
    # What is left of the two documents is masked anew, and that may be kept; what they were read from may not.
    assert kept(toy, ONE, "a.txt", "b.txt") == set()
    assert kept(toy, ONE, "a.txt", "b.txt", kinds=("masked",)) == {"a.txt", "b.txt"}
    again = toy.run()
    assert again.work()["read_now"] == 4
    assert again.versions == after.versions
    assert (holding(toy, FRAGMENT), kept(toy, ONE, "a.txt", "b.txt")) == (set(), set())
