"""What a change of the landing folder costs and moves: only what depends on it."""

import unicodedata
from collections.abc import Iterator
from itertools import count

import polars as pl
import pytest

from tendril_assets.corpus.sampling import sample_projects
from tendril_assets.resources.detector import LocalDetector
from tendril_assets_tests.assets.toy_landing import (
    COLLECTION,
    DRAWN,
    HASHER,
    SPEC,
    Base,
    Run,
    Toy,
    built,
    paragraph,
)

LANDED = ("p1", "p2", "p3", "p4", "tested")
ORDER = sample_projects(LANDED[:-1], len(LANDED) - 1, SPEC.seed)
ONE, LAST, NEXT = ORDER[0], ORDER[DRAWN - 1], ORDER[DRAWN]
ALL_DOCUMENTS = 2 * DRAWN
COMING = next(name for name in (f"n{i}" for i in count()) if sample_projects([name, *ORDER], 1, SPEC.seed) == [name])
ADDED = "Der neue Anhang beschreibt, wie die Anbieterin den Bauschutt trennt und an wen sie ihn nachher abgibt."
# Of 19 words, so 15 word 5-grams; with the last word changed 14 of 16 are shared: 0.875.
ORIGINAL = (
    "Wer den Werkhof abends verlässt, schliesst das Tor und meldet dem Pikett, "
    "welche Maschinen noch laufen und warum sie stehen"
)
NEAR_COPY = ORIGINAL.removesuffix("stehen") + "warten"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Base]:
    yield from built(tmp_path_factory.mktemp("changes"), *LANDED)


@pytest.fixture
def toy(base: Base) -> Toy:
    return base.restored()


def rows(toy: Toy, table: str, **without: str) -> pl.DataFrame:
    frame = toy.table(table)
    for column, value in without.items():
        frame = frame.filter(pl.col(column) != value)
    return frame.sort(frame.columns[0])


def changed(before: Run, after: Run) -> set[str]:
    return {name for name, version in after.versions.items() if before.versions[name] != version}


def work(read: int, masked: int, documents: int = ALL_DOCUMENTS) -> dict[str, int]:
    return {
        "read_now": read,
        "read_before": documents - read,
        "masked_now": masked,
        "masked_before": documents - masked,
    }


def test_the_first_run_and_an_unchanged_one(base: Base) -> None:
    assert base.first.work() == work(ALL_DOCUMENTS, ALL_DOCUMENTS)
    toy = base.restored()
    again = toy.run()
    assert again.work() == work(0, 0)
    assert again.versions == base.first.versions
    assert toy.states() == dict.fromkeys(ORDER[:DRAWN], "in_corpus") | {
        NEXT: "not_sampled",
        "tested": "test_collection",
    }


def test_a_new_document_costs_itself(base: Base, toy: Toy) -> None:
    before = {table: rows(toy, table) for table in ("passages", "corpus")}
    toy.document(ONE, "c.txt", ADDED)
    after = toy.run()
    assert after.work() == work(1, 1, ALL_DOCUMENTS + 1)
    assert rows(toy, "passages", document="c.txt").equals(before["passages"])
    assert rows(toy, "corpus", document_id=HASHER.document(ONE, "c.txt")).equals(before["corpus"])
    assert toy.texts(document_id=HASHER.document(ONE, "c.txt")) == {ADDED}
    assert changed(base.first, after) == {
        "documents", "sampled_documents", "document_status", "passages", "passage_decisions", "corpus", "passage_texts",
        "project_status",
    }  # fmt: skip


def test_a_changed_document_keeps_the_ids_of_its_unchanged_paragraphs(base: Base, toy: Toy) -> None:
    old = HASHER.passage(ONE, "b.txt", paragraph(ONE, 3))
    before = {table: rows(toy, table, passage_id=old) for table in ("passages", "corpus")}
    toy.document(ONE, "b.txt", ADDED, paragraph(ONE, 4))
    after = toy.run()
    new = HASHER.passage(ONE, "b.txt", ADDED)
    assert after.work() == work(1, 1)
    assert rows(toy, "passages", passage_id=new).equals(before["passages"])
    assert rows(toy, "corpus", passage_id=new).equals(before["corpus"])
    assert {new} == set(toy.table("corpus").filter(text=ADDED)["passage_id"])
    assert not {"projects", "sampled_projects", "sampled_documents", "project_areas"} & changed(base.first, after)


def test_a_renamed_document_is_another_one_with_the_same_texts(base: Base, toy: Toy) -> None:
    before = {table: rows(toy, table) for table in ("passages", "corpus")}
    path = toy.folder / "documents" / ONE / "a.txt"
    path.rename(path.with_name("z.txt"))
    after = toy.run()
    # What is kept of a document lies under its id, so that a removal of the document finds it.
    assert after.work() == work(1, 1)
    assert set(rows(toy, "corpus")["text"]) == set(before["corpus"]["text"])
    old, new = (HASHER.document(ONE, name) for name in ("a.txt", "z.txt"))
    assert rows(toy, "corpus", document_id=new).equals(before["corpus"].filter(pl.col("document_id") != old))
    assert "restricted_projects" not in changed(base.first, after)


def test_a_document_that_is_gone_takes_its_passages_with_it(toy: Toy) -> None:
    before = rows(toy, "corpus", document_id=HASHER.document(ONE, "a.txt"))
    (toy.folder / "documents" / ONE / "a.txt").unlink()
    assert toy.run().work() == work(0, 0, ALL_DOCUMENTS - 1)
    assert rows(toy, "corpus").equals(before)


def test_a_removed_project_makes_room_for_the_next_alone(toy: Toy) -> None:
    before = rows(toy, "corpus", group_id=HASHER.group(ONE))
    toy.removals(f"project,{ONE}")
    assert toy.run().work() == work(2, 2)
    assert rows(toy, "corpus", group_id=HASHER.group(NEXT)).equals(before)
    assert toy.states()[ONE] == "removed"
    assert toy.table("removal_effects").row(0) == ("project", ONE, "effective", 1, 2, 0, None)


def test_removed_documents_cost_nothing(toy: Toy) -> None:
    published, decomposed = HASHER.document(ONE, "a.txt"), unicodedata.normalize("NFD", f"{ONE}/Prüfung.txt")
    before = rows(toy, "corpus", document_id=published)
    toy.document(ONE, unicodedata.normalize("NFD", "Prüfung.txt"), ADDED)
    toy.removals(f"document,{published}", f"document,{decomposed}")
    assert toy.run().work() == work(0, 0, ALL_DOCUMENTS - 1)
    assert rows(toy, "corpus").equals(before)
    effects = {row[1]: row for row in toy.table("removal_effects").rows()}
    assert effects[published] == ("document", published, "effective", 0, 1, 0, None)
    assert effects[f"{ONE}/Prüfung.txt"] == ("document", f"{ONE}/Prüfung.txt", "effective", 0, 1, 0, None)


def with_copies(toy: Toy) -> dict[str, str]:
    """A passage in ``a.txt``, its near copy in ``b.txt``, and their ids."""
    toy.document(ONE, "a.txt", paragraph(ONE, 1), ORIGINAL)
    toy.document(ONE, "b.txt", NEAR_COPY, paragraph(ONE, 4))
    return {"a.txt": HASHER.passage(ONE, "a.txt", ORIGINAL), "b.txt": HASHER.passage(ONE, "b.txt", NEAR_COPY)}


def test_a_removed_passage_goes_with_its_copies_and_masks_their_documents_again(toy: Toy) -> None:
    ids = with_copies(toy)
    toy.run()
    assert len(toy.texts() & {ORIGINAL, NEAR_COPY}) == 1
    before = rows(toy, "corpus").filter(~pl.col("passage_id").is_in(list(ids.values())))
    toy.removals(f"passage,{ids['a.txt']}")
    after = toy.run(check=True)
    # Nothing that was kept of the two documents is left: they are masked again, and read again from the next run on.
    assert after.work() == work(0, 2)
    assert rows(toy, "corpus").equals(before)
    assert toy.table("removal_effects").select("state", "passages").row(0) == ("effective", 2)
    out = dict(toy.table("removed_passages").select("passage_id", "how").iter_rows())
    assert out == {ids["a.txt"]: "listed", ids["b.txt"]: "copy"}
    assert after.checks["nothing_removed_is_left"].passed

    # Another name gives it another id, and it stays out all the same.
    path = toy.folder / "documents" / ONE / "a.txt"
    path.rename(path.with_name("z.txt"))
    renamed = toy.run(check=True)
    assert not {ORIGINAL, NEAR_COPY} & {*toy.table("passages")["text"], *toy.texts()}
    assert renamed.work() == work(2, 1)
    assert renamed.checks["nothing_removed_is_left"].passed
    assert toy.table("removal_effects").select("state", "passages").row(0) == ("effective", 2)
    out = toy.table("removed_passages").select("passage_id", "how")
    assert (ids["a.txt"], "remembered") in out.rows()


def test_what_comes_back_comes_back_as_it_was(base: Base, toy: Toy) -> None:
    other = ORDER[1]
    removed_passage = HASHER.passage(LAST, "a.txt", paragraph(LAST, 1))
    toy.removals(f"project,{ONE}", f"document,{other}/a.txt", f"passage,{removed_passage}")
    assert "corpus" in changed(base.first, toy.run())
    assert dict.fromkeys(toy.table("removal_effects")["state"]) == {"effective": None}
    toy.removals()
    back = toy.run()
    # The document that a passage was removed from was not kept; it is now.
    assert back.work() == work(1, 1)
    assert toy.run().work() == work(0, 0)
    assert changed(base.first, back) == {"document_status"}  # it says how long reading took


def test_a_new_project_pushes_only_the_last_one_out(toy: Toy) -> None:
    before = rows(toy, "corpus", group_id=HASHER.group(LAST))
    toy.projects(*LANDED, COMING)
    toy.document(COMING, "a.txt", ADDED)
    assert toy.run().work() == work(1, 1, ALL_DOCUMENTS - 1)
    assert rows(toy, "corpus", group_id=HASHER.group(COMING)).equals(before)
    assert toy.states()[COMING] == "in_corpus"
    assert toy.states()[LAST] == "not_sampled"


def test_a_new_version_of_the_reader_reads_all_and_masks_nothing(
    base: Base, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("reading", "corpus", "status"):
        monkeypatch.setattr(f"tendril_assets.assets.{module}.EXTRACTOR_VERSION", "extract-next")
    after = toy.run()
    assert after.work() == work(ALL_DOCUMENTS, 0)
    assert changed(base.first, after) == {"document_status", "project_status"}


def test_a_new_version_of_the_detector_masks_all_and_reads_nothing(
    base: Base, toy: Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalDetector, "identity", property(lambda _: "another version"))
    after = toy.run()
    assert after.work() == work(0, ALL_DOCUMENTS)
    assert changed(base.first, after) == {"project_status"}


def test_an_entry_that_worked_once_is_absent_and_one_that_never_did_is_named(toy: Toy) -> None:
    entry = HASHER.passage(ONE, "a.txt", paragraph(ONE, 1))
    toy.removals(f"passage,{entry}", f"project,{ONE}1", f"document,{ONE}/A.txt", f"passage,{ONE}/b.text/1/0")
    toy.run()
    toy.document(ONE, "a.txt", ADDED)
    check = toy.run(check=True).checks["every_removal_names_something"]
    states = {
        i: (state, near)
        for i, state, near in toy.table("removal_effects").select("id", "state", "suggestion").iter_rows()
    }
    assert states[entry] == ("absent", None)
    assert states[f"{ONE}/A.txt"] == ("no_match", f"{ONE}/a.txt")
    assert states[f"{ONE}/b.text/1/0"] == ("no_match", f"{ONE}/b.txt")
    assert states[f"{ONE}1"] == ("no_match", ONE)
    assert not check.passed
    assert check.severity.value == "WARN"
    assert check.metadata["without_effect"].value == 3


def test_a_removed_passage_that_restricts_the_project_does_not_free_it(toy: Toy) -> None:
    sentence = "Die Ausschreibungsunterlagen dürfen nur für die Ausarbeitung des Angebots verwendet werden."
    toy.document(ONE, "a.txt", paragraph(ONE, 1), sentence)
    toy.removals(f"passage,{HASHER.passage(ONE, 'a.txt', sentence)}")
    toy.run()
    assert toy.states()[ONE] == "restricted"
    assert toy.texts(group_id=HASHER.group(ONE)) == set()
    evidence = toy.table("restricted_projects").row(0, named=True)
    assert (evidence["project"], evidence["document"], evidence["rule"]) == (ONE, "a.txt", "offer_only")
    assert sentence not in str(toy.warehouse.frame(COLLECTION, "SELECT * FROM restricted_projects").rows())
