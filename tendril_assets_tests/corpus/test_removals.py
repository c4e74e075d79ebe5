"""The removal list: forms of entries, what they take out, and what is known again under another id or place."""

import datetime as dt

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.corpus.chunking import PassageText
from tendril_assets.corpus.erasure import ErasedId, erased_ids
from tendril_assets.corpus.identifiers import Identifiers, KeyedHasher
from tendril_assets.corpus.named_identifiers import NamedIdentifiers
from tendril_assets.corpus.passages import passage_rows
from tendril_assets.corpus.removal_effects import removal_effects, touching
from tendril_assets.corpus.removals import Removals, shape_problem
from tendril_assets.corpus.removed_passages import TakenOut, take_out, taken_per_entry, withheld_restrictions
from tendril_assets.spec_corpus import NearDuplicateSpec
from tendril_assets.tables import TABLES

HASHER = KeyedHasher(b"k" * 32)
SPEC = NearDuplicateSpec()
# 14 words, so 10 word 5-grams.
LONG = "Das Holz der Fassade muss aus nachhaltiger Bewirtschaftung stammen und ein anerkanntes Label tragen"
OTHER = "Ganz etwas anderes steht in diesem Absatz über die Heizung."
NOTHING = TABLES["removed_passages"].empty()
PUBLISHED = "0123456789abcdef0123"


def passages(*documents: tuple[str, str, list[str]], identifiers: Identifiers = HASHER) -> pl.DataFrame:
    rows = []
    for project, document, texts in documents:
        found = [PassageText(1, position, text) for position, text in enumerate(texts)]
        rows += passage_rows(project, document, found, identifiers)
    return TABLES["passages"].frame(rows)


def without(frame: pl.DataFrame, entry: str, remembered: pl.DataFrame = NOTHING) -> TakenOut:
    return take_out(frame, Removals.of([("passage", entry)]), remembered, SPEC, HASHER)


def texts(out: TakenOut) -> list[str]:
    return out.passages["text"].to_list()


@pytest.mark.parametrize(
    ("kind", "entry", "expected"),
    [
        ("project", "24112", None),
        ("project", f"g-{PUBLISHED}", None),
        ("project", f"d-{PUBLISHED}", "published id of a document, but kind is 'project'"),
        ("document", "24112/Pflichtenheft Los 1/2.pdf", None),
        ("document", f"d-{PUBLISHED}", None),
        ("document", "Pflichtenheft.pdf", "expected project/document"),
        ("document", "/Pflichtenheft.pdf", "expected project/document"),
        ("document", "24112/", "expected project/document"),
        ("document", f"g-{PUBLISHED}/d-{PUBLISHED}", f"give the published id d-{PUBLISHED} alone"),
        ("document", f"24112/d-{PUBLISHED}", f"give the published id d-{PUBLISHED} alone"),
        ("document", f"g-{PUBLISHED}", "published id of a project, but kind is 'document'"),
        ("passage", f"p-{PUBLISHED}", None),
        ("passage", "24112/a.pdf/3/0", None),
        ("passage", "24112/a.pdf/3", "expected its published id"),
        ("passage", "24112/a.pdf/drei/0", "expected its published id"),
        ("passage", f"p-{PUBLISHED[:-1]}", "expected its published id"),
        ("passage", f"d-{PUBLISHED}", "published id of a document, but kind is 'passage'"),
        ("act", "5512-У", None),
        ("pair", f"q/p-{PUBLISHED}", None),
    ],
)
def test_an_entry_has_the_form_of_its_kind(kind: str, entry: str, expected: str | None) -> None:
    problem = shape_problem(kind, entry)
    assert problem is None if expected is None else expected in str(problem)


def test_copies_go_with_a_removed_passage_even_where_a_number_differs() -> None:
    # A number in front keeps all ten 5-grams and adds one.
    frame = passages(("p", "a", [LONG]), ("p", "b", [f"4 {LONG}", OTHER]), ("q", "c", [LONG]))
    out = without(frame, "p/a/1/0")
    assert texts(out) == [OTHER, LONG]  # LONG in another project stays
    assert sorted(out.removed["how"]) == ["copy", "listed"]
    assert taken_per_entry(out.removed) == {"p/a/1/0": 2}


def test_without_passage_entries_nothing_is_compared() -> None:
    frame = passages(("p", "a", [LONG]))
    out = take_out(frame, Removals.of([("project", "p")]), NOTHING, SPEC, HASHER)
    assert out.passages.equals(frame)
    assert out.removed.is_empty()


def test_the_share_of_the_shorter_text_decides() -> None:
    # 31 letters are 20 runs of 12. A longer text that begins with 25 of them has 14 of the 20, with 24 of them 13.
    removed = "abcdefghijklmnopqrstuvwxyzäöüèé"
    frame = passages(("p", "a", [removed, f"{removed[:25]} {'0123456789' * 3}", f"{removed[:24]} {'9876543210' * 3}"]))
    assert texts(without(frame, "p/a/1/0")) == [f"{removed[:24]} {'9876543210' * 3}"]


def test_short_texts_are_compared_whole() -> None:
    frame = passages(("p", "a", ["Frau Meier"]), ("p", "b", ["frau  meier,", "Frau Maier"]))
    assert texts(without(frame, "p/a/1/0")) == ["Frau Maier"]


@pytest.mark.parametrize("by_place", [False, True])
@pytest.mark.parametrize(
    ("document", "changed", "left"),
    [
        ("z", [LONG], []),  # renamed
        ("a", [f"{OTHER} {LONG}"], []),  # joined with its neighbour
        ("a", [" ".join(LONG.split()[:7]), " ".join(LONG.split()[7:]), OTHER], [OTHER]),  # cut in two
        ("a", [OTHER, LONG], [OTHER]),  # moved down: another passage stands at its place
        ("a", [LONG.replace("Fassade", "Fas- sade").upper()], []),  # read a little differently
        ("a", [OTHER], [OTHER]),  # gone
    ],
)
def test_a_removed_passage_is_known_again(by_place: bool, document: str, changed: list[str], left: list[str]) -> None:
    entry = "p/a/1/0" if by_place else HASHER.passage("p", "a", LONG)
    first = without(passages(("p", "a", [LONG])), entry)
    assert texts(first) == []
    out = without(passages(("p", document, changed)), entry, first.removed)
    assert texts(out) == left
    # The memory is of the passage the entry named, so it neither grows nor drifts.
    again = without(passages(("p", "a", [LONG])), entry, out.removed)
    assert again.removed.equals(first.removed)


def test_a_named_id_stands_for_the_text_it_hit_and_stays_empty() -> None:
    named = NamedIdentifiers(HASHER)
    removals = Removals.of([("passage", "p#0001")])

    def run(found: list[str], remembered: pl.DataFrame) -> TakenOut:
        return take_out(passages(("p", "a", found), identifiers=named), removals, remembered, SPEC, HASHER)

    first = run([OTHER, LONG, "Kurz."], NOTHING)
    assert texts(first) == [OTHER, "Kurz."]
    # A passage comes before it: the removed text has another number now, and what has its number is no copy of anything.
    second = run(["Neu.", OTHER, LONG, f"4 {OTHER}"], first.removed)
    assert texts(second) == ["Neu.", f"4 {OTHER}"]
    assert second.removed.select("entry", "passage_id", "how").rows() == [
        ("p#0001", "p#0001", "listed"),
        ("p#0001", "p#0002", "copy"),
    ]
    again = run(["Neu.", OTHER, LONG, f"4 {OTHER}"], second.removed)
    assert again.removed.equals(second.removed)
    assert again.removed["whole"][0] == first.removed["whole"][0]
    # And back again: nothing but the removed text is out.
    assert texts(run([OTHER, LONG, "Kurz."], again.removed)) == [OTHER, "Kurz."]


def test_a_named_passage_is_erased_by_its_entry_though_its_group_is_landed_no_more() -> None:
    entries = [("passage", "p#0001"), ("project", "q")]
    assert erased_ids(entries, [], NamedIdentifiers(HASHER)) == [
        ErasedId("passage", "p#0001", "p#0001"),
        ErasedId("project", "q", "q"),
    ]
    assert [one.kind for one in erased_ids(entries, [], HASHER)] == ["project"]


def test_what_leaves_the_list_is_forgotten() -> None:
    frame = passages(("p", "a", [LONG]))
    first = without(frame, "p/a/1/0")
    back = take_out(frame, Removals(), first.removed, SPEC, HASHER)
    assert back.passages.equals(frame)
    assert back.removed.is_empty()


def test_the_memory_holds_no_text_and_nothing_without_the_secret() -> None:
    first = without(passages(("p", "a", [LONG])), "p/a/1/0")
    shown = str(first.removed.rows()).casefold()
    assert not any(word in shown for word in LONG.casefold().split() if len(word) > 4)
    # The same text under another secret, or in another project, gives other marks.
    for other in (
        take_out(
            passages(("p", "a", [LONG])), Removals.of([("passage", "p/a/1/0")]), NOTHING, SPEC, KeyedHasher(b"x" * 32)
        ),
        without(passages(("q", "a", [LONG])), "q/a/1/0"),
    ):
        assert other.removed["whole"][0] != first.removed["whole"][0]
        assert not {*other.removed["runs"][0]} & {*first.removed["runs"][0]}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([LONG, f"4 {LONG}", OTHER, "kurz", "Kurz"]), max_size=6), st.integers(0, 5))
def test_a_second_run_takes_out_what_the_first_did(found: list[str], position: int) -> None:
    frame = passages(("p", "a", found), ("q", "a", found))
    first = without(frame, f"p/a/1/{position}")
    second = without(frame, f"p/a/1/{position}", first.removed)
    assert second.passages.equals(first.passages)
    assert second.removed.equals(first.removed)
    assert first.passages.filter(project="q").equals(frame.filter(project="q"))


def test_restrictions_in_removed_passages_are_told_without_the_sentence() -> None:
    sentence = "Die Ausschreibungsunterlagen dürfen nur für die Ausarbeitung des Angebots verwendet werden."
    out = without(passages(("p", "a", [sentence])), "p/a/1/0")
    assert withheld_restrictions(out.removed) == {("p", "a", 1, "de", "offer_only")}
    gone = without(passages(("p", "a", [OTHER])), "p/a/1/0", out.removed)
    assert withheld_restrictions(gone.removed) == set()


GROUPS = {name: HASHER.group(name) for name in ("24112", "24113")}
DOCUMENTS = {(p, d): HASHER.document(p, d) for p in GROUPS for d in ("Pflichtenheft.pdf", "b.pdf")}


def effects(*entries: tuple[str, str], former: pl.DataFrame | None = None, **taken: int) -> dict[str, tuple]:
    known = TABLES["removal_effects"].empty() if former is None else former
    return {row[1]: row[2:] for row in removal_effects(entries, GROUPS, DOCUMENTS, taken, known).iter_rows()}


def test_effects_count_what_each_entry_hits() -> None:
    document = DOCUMENTS["24112", "b.pdf"]
    found = effects(
        ("project", "24112"), ("project", GROUPS["24113"]), ("document", document), ("document", "24113/b.pdf"),
        ("passage", "p-1"), ("pair", "q/p"), **{"p-1": 3},
    )  # fmt: skip
    assert found == {
        "24112": ("effective", 1, 2, 0, None),
        GROUPS["24113"]: ("effective", 1, 2, 0, None),
        document: ("effective", 0, 1, 0, None),
        "24113/b.pdf": ("effective", 0, 1, 0, None),
        "p-1": ("effective", 0, 0, 3, None),
    }


def test_a_misspelt_entry_gets_the_nearest_name() -> None:
    found = effects(
        ("project", "2411"), ("document", "24112/pflichtenhaft.pdf"), ("passage", "24112/Pflichtenhelft.pdf/3/0"),
        ("project", "Muster AG"), ("passage", "p-2"),
    )  # fmt: skip
    assert {entry: row[0] for entry, row in found.items()} == dict.fromkeys(found, "no_match")
    assert found["2411"][-1] in GROUPS
    assert found["24112/pflichtenhaft.pdf"][-1] == "24112/Pflichtenheft.pdf"
    assert found["24112/Pflichtenhelft.pdf/3/0"][-1] == "24112/Pflichtenheft.pdf"
    assert found["Muster AG"][-1] is found["p-2"][-1] is None


def test_an_entry_that_took_effect_before_is_absent() -> None:
    former = TABLES["removal_effects"].frame(
        [("project", "old", "effective", 1, 2, 0, None), ("passage", "p-1", "absent", 0, 0, 0, None),
         ("project", "new", "no_match", 0, 0, 0, None)]
    )  # fmt: skip
    found = effects(("project", "old"), ("passage", "p-1"), ("project", "new"), former=former)
    assert {entry: row[0] for entry, row in found.items()} == {"old": "absent", "p-1": "absent", "new": "no_match"}


def test_what_touches_a_project() -> None:
    removals = Removals.of([("project", GROUPS["24112"]), ("document", "24113/b.pdf"), ("passage", "p-1")])
    removed = pl.DataFrame({"project": ["24113", "elsewhere"], "entry": ["p-1", "p-2"]})
    assert touching(removals, GROUPS, DOCUMENTS, removed) == {
        "24112": {f"project {GROUPS['24112']}"},
        "24113": {"document 24113/b.pdf", "passage p-1"},
    }


def test_a_date_in_the_future_delays_nothing() -> None:
    rows = TABLES["removals"].frame([("project", "24112", "asked", dt.date(2999, 1, 1))])
    assert Removals.of(rows.select("kind", "id").iter_rows()).has_project("24112", GROUPS["24112"])
