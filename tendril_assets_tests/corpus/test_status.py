"""Where a project stands: one row per landed project, whatever happened to it, and a hash of all it depends on."""

from typing import Any

import polars as pl
import pytest

from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.corpus.removals import Removals
from tendril_assets.corpus.sampling import Standing, sample_projects
from tendril_assets.corpus.status import STATES, Outcomes, project_status
from tendril_assets.tables import TABLES

HASHER = KeyedHasher(b"k" * 32)
PROJECTS = ("kept", "limited", "broken", "bare", "void", "cleared", "tested", "gone", "waits")
SAMPLED = PROJECTS[:6]
DOCUMENTS = [
    ("kept", "a", "h1", 1), ("kept", "b", "h2", 2), ("limited", "a", "h3", 1), ("broken", "a", "h4", 1),
    ("broken", "b", "h5", 2), ("void", "a", "h6", 1), ("cleared", "a", "h7", None), ("tested", "a", "h8", None),
    ("gone", "a", "h9", None), ("waits", "a", "h10", None),
]  # fmt: skip
STATUS = [("kept", "a", "ok", None), ("kept", "b", "encrypted", "a password"), ("limited", "a", "ok", None),
          ("broken", "a", "parse_failed", "no PDF"), ("broken", "b", "ok", None), ("void", "a", "ok", None)]  # fmt: skip
DECISIONS = [("kept", "a", True, None), ("kept", "a", False, "too_short"), ("limited", "a", False, "restricted_project"),
             ("broken", "b", False, "masking_failed"), ("void", "a", False, "too_short")]  # fmt: skip
REMOVALS = Removals.of([("project", "gone"), ("document", "cleared/a")])


def rows(columns: str, data: list[tuple]) -> pl.DataFrame:
    return pl.DataFrame(data, schema=columns.split(), orient="row")


def status(**changes: Any) -> dict[str, dict[str, Any]]:
    given = {
        "documents": DOCUMENTS,
        "rules": "v1",
        "touching": {"gone": {"project gone"}, "cleared": {"document cleared/a"}},
    }
    given |= changes
    outcomes = Outcomes(
        documents=rows("project document sha256 rank", given["documents"]),
        status=rows("project document outcome message", STATUS),
        decisions=rows("project document kept reason", DECISIONS),
        restricted=TABLES["restricted_projects"].frame(
            [("limited", "a", page, "de", rule, "Satz") for page, rule in ((7, "offer_only"), (2, "no_publication"))]
        ),
        corpus=pl.DataFrame({"group_id": [HASHER.group("kept")]}),
    )
    frame = project_status(
        Standing.of(PROJECTS, ["tested"], REMOVALS, HASHER),
        SAMPLED,
        outcomes,
        with_text=("ok", "partial"),
        touching=given["touching"],
        rules=given["rules"],
        seed=42,
    )
    return {row["project"]: row for row in frame.iter_rows(named=True)}


def test_every_landed_project_has_one_row_with_a_reason() -> None:
    found = status()
    assert list(found) == list(PROJECTS)
    place = sample_projects(set(PROJECTS) - {"tested", "gone"}, 7, 42).index("waits") + 1
    assert {project: (row["state"], row["reason"]) for project, row in found.items()} == {
        "kept": ("in_corpus", None),
        "limited": ("restricted", "no_publication in a, page 2"),
        "broken": ("failed", "none of its documents gave text"),
        "bare": ("empty", "no document was landed"),
        "void": ("empty", "no passage was kept"),
        "cleared": ("empty", "all its documents are on the removal list"),
        "tested": ("test_collection", "held out for the test collection"),
        "gone": ("removed", "on the removal list: project gone"),
        "waits": ("not_sampled", f"place {place} of 7 eligible, 6 drawn"),
    }
    assert {row["state"] for row in found.values()} == set(STATES)


def test_counts_and_the_last_error() -> None:
    found = status()
    names = ("documents_landed", "documents", "documents_failed", "passages", "passages_kept", "passages_dropped")
    counts = {project: tuple(row[name] for name in names) for project, row in found.items()}
    assert counts["kept"] == (2, 2, 1, 2, 1, 1)
    assert counts["broken"] == (2, 2, 2, 1, 0, 1)
    assert counts["limited"] == (1, 1, 0, 1, 0, 1)
    assert counts["waits"] == counts["gone"] == (1, 0, 0, 0, 0, 0)
    assert found["kept"]["last_error"] == "b: encrypted, a password"
    assert found["broken"]["last_error"] == "b: it could not be masked"
    assert found["void"]["last_error"] is None


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        ({}, set()),
        ({"documents": [*DOCUMENTS[1:], DOCUMENTS[0]]}, set()),
        ({"documents": [("kept", "a", "other", 1), *DOCUMENTS[1:]]}, {"kept"}),
        ({"documents": [*DOCUMENTS, ("kept", "c", "h", None)]}, set()),  # landed, and not sampled
        ({"documents": [*DOCUMENTS, ("waits", "c", "h", None)]}, {"waits"}),
        (
            {"touching": {"gone": {"project gone"}, "cleared": {"document cleared/a"}, "void": {"passage p-1"}}},
            {"void"},
        ),
        ({"rules": "v2"}, set(PROJECTS)),
    ],
)
def test_the_input_hash_moves_with_what_the_project_depends_on(change: dict[str, Any], moved: set[str]) -> None:
    before, after = status(), status(**change)
    assert {p for p in PROJECTS if before[p]["input_hash"] != after[p]["input_hash"]} == moved
