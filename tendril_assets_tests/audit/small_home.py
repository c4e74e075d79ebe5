"""A small data folder: two projects, one of them with a removed document, judged, trained on and released."""

import datetime as dt
from pathlib import Path

import polars as pl

from tendril_assets.assets.keys import HASH_KEY_FINGERPRINT
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import SANDBOX_HASH_KEY
from tendril_assets.tables import TABLES
from tendril_assets_tests.resources.entries import entry

COLLECTION = "tenders"
HASHER = KeyedHasher(SANDBOX_HASH_KEY)
AT, LATER = dt.datetime(2026, 3, 4, 5, 6, 7), dt.datetime(2026, 4, 4)
GROUP = {project: HASHER.group(project) for project in ("101", "202")}
DOCUMENT = {(p, d): HASHER.document(p, d) for p, d in (("101", "a.pdf"), ("101", "b.pdf"), ("202", "a.pdf"))}
KEPT, REMOVED, OTHER = (
    HASHER.passage(p, d, t) for p, d, t in (("101", "a.pdf", "one"), ("101", "b.pdf", "two"), ("202", "a.pdf", "one"))
)
# The first key asks about both passages with the same text.
SHARED, OWN, GONE = "key-shared", "key-own", "key-gone"


def make(home: Path) -> None:
    """Tables, ledger and a release of a folder from which 101/b.pdf is removed; nothing of it was erased in the files."""
    rows = {
        "projects": [("101", "Schulhaus", None, "de", None), ("202", "Strasse", None, "de", None)],
        "documents": [(p, d, f"/landing/{p}/{d}", "0" * 64, 10, False) for p, d in DOCUMENT],
        "project_status": [
            ("101", GROUP["101"], "in_corpus", None, "h", 2, 2, 0, 1, 1, 0, None),
            ("202", GROUP["202"], "in_corpus", None, "h", 1, 1, 0, 1, 1, 0, None),
        ],
        "sampled_projects": [(p, g, i) for i, (p, g) in enumerate(GROUP.items(), 1)],
        "sampled_documents": [
            ("101", "a.pdf", DOCUMENT["101", "a.pdf"], 1),
            ("202", "a.pdf", DOCUMENT["202", "a.pdf"], 1),
        ],
        "passages": [(KEPT, "101", "a.pdf", 1, 0, "one", 3), (OTHER, "202", "a.pdf", 1, 0, "one", 3)],
        "passage_decisions": [(KEPT, "101", True, None, None, None, "v"), (OTHER, "202", True, None, None, None, "v")],
        "corpus": [
            (KEPT, "one", GROUP["101"], DOCUMENT["101", "a.pdf"], 1),
            (OTHER, "one", GROUP["202"], DOCUMENT["202", "a.pdf"], 1),
        ],
        "candidates": [
            ("q", KEPT, GROUP["101"], SHARED),
            ("q", OTHER, GROUP["202"], SHARED),
            ("q2", KEPT, GROUP["101"], OWN),
        ],
        "queries": [("q", "Frage", "criterion", "c", "x"), ("q2", "Frage 2", "criterion", "c", "x")],
        "request_passages": [
            (SHARED, KEPT, DOCUMENT["101", "a.pdf"], GROUP["101"]),
            (SHARED, OTHER, DOCUMENT["202", "a.pdf"], GROUP["202"]),
            (OWN, KEPT, DOCUMENT["101", "a.pdf"], GROUP["101"]),
            (GONE, REMOVED, DOCUMENT["101", "b.pdf"], GROUP["101"]),
        ],
        "removals": [("document", "101/b.pdf", "on request", dt.date(2026, 3, 1))],
        "removal_effects": [("document", "101/b.pdf", "effective", 0, 1, 0, None)],
        "erased_ids": [
            ("document", DOCUMENT["101", "b.pdf"], "101/b.pdf", AT),
            ("passage", REMOVED, "101/b.pdf", AT),
        ],
        "erasures": [(AT, "ledger", "replies", 2), (AT, "cache", "masked", 1), (LATER, "cache", "masked", 7)],
        "trained_passages": [("m", "f" * 64, REMOVED, DOCUMENT["101", "b.pdf"], GROUP["101"], "train")],
        "releases": [("0.1.0", str(home / "release"), "h", "k", True, 2, 1, 3, AT, AT, 1, 2)],
        "released_passages": [("0.1.0", REMOVED, DOCUMENT["101", "b.pdf"], GROUP["101"])],
    }
    warehouse = Warehouse(database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"))
    frames: dict[str, pl.DataFrame] = {name: TABLES[name].frame(values) for name, values in rows.items()}
    warehouse.replace(COLLECTION, frames, "test")
    warehouse.meta_set(COLLECTION, HASH_KEY_FINGERPRINT, HASHER.fingerprint)
    with Ledger(home / "ledger").writer() as writer:
        for key in (SHARED, OWN, OWN, GONE):
            writer.append(entry(key))
