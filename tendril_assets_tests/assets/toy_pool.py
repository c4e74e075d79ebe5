"""A toy collection with registers up to its queries, in a temporary warehouse, and its stages from the pool to the qrels."""

from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.calibration import calibration_assets
from tendril_assets.assets.common import Stage
from tendril_assets.assets.judging import judging_assets
from tendril_assets.assets.pool import pool_assets
from tendril_assets.assets.qrels import qrels_assets
from tendril_assets.corpus.content_check import content_check
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

COLLECTION = "toy"
ACCEPTANCE = {"statistic": "kappa", "levels": "all", "minimum": 0.4, "min_pairs": 4, "stack": "recorded"}
SPEC: dict[str, Any] = {
    "collection": COLLECTION,
    "group": "act",
    "subsets": ["live", "manual", "unseen"],
    "sampling": {"n_projects": None, "documents_per_project": 1},
    "chunking": {"policy": "clauses", "max_tokens": 512, "overlap_tokens": 64},
    "identifiers": {"policy": "named"},
    "registers": {
        "live": {"level": "live"},
        "manual": {"level": "manual"},
        "generation": {
            "sets": {
                "unseen": {"split": "test_unseen", "level": "unseen", "family": "one", "llm": {"model": "toy/writer"}}
            }
        },
    },
    "candidates": {"policy": "pooled", "systems": ["bm25"], "depth": 3},
    "judge": {
        "llm": {"model": "toy/judge", "max_tokens": 64, "require_parameters": False},
        "guideline": "ru_two_questions",
        "calibration": {
            "resample": "pairs",
            "resamples": 100,
            "acceptance": ACCEPTANCE,
            "apply": "chosen",
            "none_accepted": "without",
            "choice": {"levels": "all"},
        },
    },
    "qrels": {"neighbour_overlap": 0.3, "append_only": True},
    "splits": {"policy": "file", "test": ["test_live", "test_unseen"], "live": "test_live"},
    "models": {},
    "evaluation": {"test": "held_out", "scope": "collection"},
    "release": {"name": "toy", "version": "0.1.0", "title": "Toy", "licence_name": "none"},
}

# The second passage of the first act begins with the last 40 of the 78 characters of the first one's body.
_SHARED = "Резерв формируется по каждой ссуде сразу"
TEXTS = {
    "1-П_01022020#0000": f"1-П\nКредитная организация оценивает риск. {_SHARED}",
    "1-П_01022020#0001": f"1-П\n{_SHARED}. Размер резерва устанавливает правление организации ежегодно до января.",
    "1-П_01022020#0002": "1-П\nКассовые операции ведёт кассир банка.",
    "2-У_01022021#0000": "2-У\nОтчётность сдаётся ежемесячно в третий рабочий день.",
    "2-У_01022021#0001": "2-У\nФорма отчётности утверждается советом.",
}
QUERIES = [
    ("l1", "Как оценивается риск по п. 1.1?", "live", "Положение", "1-П_01022020"),
    ("l2", "Кто ведёт кассовые операции?", "live", "Положение", "1-П_01022020"),
    ("m1", "сроки отчётности", "manual", "Указание", "2-У_01022021"),
    ("q-1", "Когда сдаётся отчётность?", "unseen", "Указание", "2-У_01022021"),
]


def group_of(passage_id: str) -> str:
    return passage_id.partition("#")[0]


def attachment(query_id: str, route: str, **more: Any) -> tuple:
    """A row of ``live_attachments``, attached to the first act by its section."""
    act = "1-П_01022020"
    given = {"query_id": query_id, "project": act, "group_id": act, "how": "section", "route": route}
    return _row("live_attachments", {**given, "clauses": [], "found": [], "passages": [], **more})


def question(passage_id: str, **more: Any) -> tuple:
    """A row of ``generated_questions`` of the second act."""
    group = group_of(passage_id)
    given = {
        "question_set": "unseen",
        "passage_id": passage_id,
        "group_id": group,
        "split": "test_unseen",
        "level": "unseen",
    }
    asked = {"model": "toy/writer", "family": "one", "request_key": f"key of {passage_id}", "rejections": []}
    return _row("generated_questions", {**given, **asked, **more})


def _row(table: str, given: dict[str, Any]) -> tuple:
    return tuple(given.get(column) for column in TABLES[table].schema)


def tables(**changes: Any) -> dict[str, list]:
    """Rows of every table before the pool. ``changes`` replace single tables."""
    graded = list(enumerate((0, 1, 2, 2, 0, 1)))
    rows: dict[str, list] = {
        "passages": [
            (p, group_of(p), "act.txt", 1, int(p.partition("#")[2]), text, len(text)) for p, text in TEXTS.items()
        ],
        "corpus": [(p, text, group_of(p), group_of(p), 1) for p, text in TEXTS.items()],
        "passage_clauses": [
            (p, group_of(p), "", [f"1.{n + 1}"], None, 0, 1, 1, content_check(text))
            for n, (p, text) in enumerate(TEXTS.items())
        ],
        "queries": QUERIES,
        "project_queries": [(area, area, query, level) for query, _, level, _, area in QUERIES],
        "live_attachments": [
            attachment("l1", "clauses", clauses=["1.1"], found=["1.1"], passages=["1-П_01022020#0000"], verified=True),
            attachment("l2", "pool"),
            attachment("l3", "dropped", clauses=["9.9"], verified=False, reason="clause 9.9 is not there"),
        ],
        "manual_queries": [("m1", "сроки отчётности", "2-У_01022021")],
        "generated_questions": [
            question("2-У_01022021#0000", status="accepted", query_id="q-1", text="Когда сдаётся отчётность?"),
            question("2-У_01022021#0001", status="verbatim", figure=9.0, text="Форма утверждается советом?"),
        ],
        "landed_qrels": [],
        "removals": [],
        "erased_ids": [],
        "calibration_pairs": [
            (f"c{n}", f"x{n}", "live", f"вопрос {n}", f"ответ {grade}", grade) for n, grade in graded
        ],
        "calibration_annotations": [(f"c{n}", f"x{n}", "анна", grade) for n, grade in graded],
    }
    return {**rows, **changes}


def spec(**changes: Any) -> CollectionSpec:
    return CollectionSpec.model_validate({**SPEC, **changes})


def resources_in(folder: Path, base_url: str, **changes: Any) -> dict[str, Any]:
    """Resources over ``folder``; the first call writes the tables before the pool."""
    path = folder / "warehouse.duckdb"
    fresh = not path.exists()
    warehouse = Warehouse(database=str(path), snapshot=str(folder / "snapshot.duckdb"), wait_s=60)
    if fresh:
        write(warehouse, tables(**changes))
    artifacts = Artifacts(root=str(folder / "artifacts"))
    # What the generation stage hands over: here nothing was asked.
    artifacts.write_frame(COLLECTION, "generation_requests", pl.DataFrame(schema={"request_key": pl.String}))
    gateway = Gateway(base_url=base_url, api_key="test-key", concurrency=2)
    return {"warehouse": warehouse, "artifacts": artifacts, "gateway": gateway}


def write(warehouse: Warehouse, rows: dict[str, list]) -> None:
    warehouse.replace(COLLECTION, {name: TABLES[name].frame(own) for name, own in rows.items()}, "test")


def stages(chosen: CollectionSpec) -> Stage:
    factories = (pool_assets, judging_assets, calibration_assets, qrels_assets)
    parts = [factory(chosen) for factory in factories]
    return Stage([a for s in parts for a in s.assets], [c for s in parts for c in s.checks])


def run(chosen: CollectionSpec, resources: dict[str, Any], selection: str | None = None) -> dg.ExecuteInProcessResult:
    stage = stages(chosen)
    chosen_keys = dg.AssetSelection.assets(*([COLLECTION, name] for name in (selection or "").split()))
    keys = selection and chosen_keys.required_multi_asset_neighbors()
    return dg.materialize(
        [*stage.assets, *stage.checks],
        resources=resources,
        selection=keys,
        instance=dg.DagsterInstance.ephemeral(),
        raise_on_error=False,
    )


def answer(grade: int) -> str:
    """The two answers of which the guideline's rule makes ``grade``."""
    subject, reply = {0: ("нет", "нет"), 1: ("да", "частичный"), 2: ("да", "полный")}[grade]
    return f'{{"предмет": "{subject}", "ответ": "{reply}"}}'


def judge(query: str, passage: str) -> tuple[int, str, str]:
    """The calibration's grades as written in its passages; else 2 for a shared topic and 0 for none."""
    if passage.startswith("ответ "):
        return 200, answer(int(passage[-1])), "stop"
    topics = ("кассов", "отчётност", "риск")
    return 200, answer(2 if any(t in query and t in passage.lower() for t in topics) else 0), "stop"


def hopeless(query: str, passage: str) -> tuple[int, str, str]:
    return 200, answer(0), "stop"
