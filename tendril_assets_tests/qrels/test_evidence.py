"""The evidence is held against its sources: every way to break it is found, and nothing else is."""

import polars as pl
import pytest

from tendril_assets.qrels.evidence import evidence_faults
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.toy_pool import attachment, question

QRELS = [("g", "p1", 2), ("g", "p2", 1), ("l", "p3", 2), ("m", "p4", 0), ("m", "p5", 1)]
EVIDENCE = {
    ("g", "p1"): ("generated", "written from it, request k"),
    ("g", "p2"): ("neighbour", "holds 40 % of p1"),
    ("l", "p3"): ("clauses", "clause 1"),
    ("m", "p4"): ("judge", "request k4"),
    ("m", "p5"): ("published", "version landed"),
}
VERDICTS = [("m", "p4", "g", "k4", "ok", 0, None, "1"), ("m", "p6", "g", "k6", "parse_error", None, None, "1")]
PAIR = {"query_id": pl.String, "passage_id": pl.String}


def faults(
    *, qrels=QRELS, evidence=EVIDENCE, verdicts=VERDICTS, gold=("p3",), generated="p1", published=("p5",), removed=()
):
    found = evidence_faults(
        TABLES["qrels"].frame([(q, p, "g", score) for q, p, score in qrels]),
        TABLES["qrel_evidence"].frame([(*pair, *said, "0" * 16) for pair, said in evidence.items()]),
        TABLES["judgments"].frame(verdicts),
        TABLES["live_attachments"].frame([attachment("l", "clauses", found=["1"], passages=list(gold))]),
        TABLES["generated_questions"].frame([question(generated, status="accepted", query_id="g", text="?")]),
        pl.DataFrame([("m", p) for p in published], PAIR, orient="row"),
        pl.DataFrame(list(removed), PAIR, orient="row"),
    )
    return found.rows()


def changed(pair, *said):
    return {**EVIDENCE, pair: said}


def test_what_rests_on_its_sources_has_no_fault():
    assert faults() == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"qrels": [*QRELS, ("m", "p7", 1)]}, ("qrel_without_evidence", "m", "p7")),
        ({"qrels": QRELS[:-1]}, ("evidence_without_qrel", "m", "p5")),
        ({"qrels": [*QRELS[:3], ("m", "p4", 1), QRELS[4]]}, ("not_the_judges_grade", "m", "p4")),
        ({"verdicts": VERDICTS[1:]}, ("not_the_judges_grade", "m", "p4")),
        ({"verdicts": [*VERDICTS, ("m", "p8", "g", "k8", "ok", 2, None, "1")]}, ("judgment_without_qrel", "m", "p8")),
        ({"gold": ("p3", "p9")}, ("clauses_without_qrel", "l", "p9")),
        ({"gold": (), "evidence": changed(("l", "p3"), "clauses", "clause 1")}, ("clauses_without_source", "l", "p3")),
        ({"qrels": [*QRELS[:2], ("l", "p3", 1), *QRELS[3:]]}, ("clauses_with_another_grade", "l", "p3")),
        ({"qrels": [("g", "p1", 1), *QRELS[1:]]}, ("generated_with_another_grade", "g", "p1")),
        ({"evidence": changed(("g", "p2"), "neighbour", "holds 40 % of p0")}, ("neighbour_of_no_gold", "g", "p2")),
        ({"qrels": [QRELS[0], ("g", "p2", 2), *QRELS[2:]]}, ("neighbour_with_another_grade", "g", "p2")),
        ({"published": ()}, ("published_pair_that_was_not", "m", "p5")),
    ],
)
def test_each_fault_is_found_and_named(given, expected):
    assert faults(**given) == [expected]


def test_a_question_whose_passage_changed_is_found_from_both_sides():
    assert faults(generated="p0") == [("generated_without_qrel", "g", "p0"), ("generated_without_source", "g", "p1")]


def test_a_removed_pair_lacks_nothing():
    assert faults(gold=("p3", "p9"), removed=[("l", "p9")]) == []
    assert faults(verdicts=[*VERDICTS, ("m", "p8", "g", "k8", "ok", 2, None, "1")], removed=[("m", "p8")]) == []
