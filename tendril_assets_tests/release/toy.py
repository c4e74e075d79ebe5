"""A made-up collection, consistent in every table a release or a report reads, small enough to count by hand.

12 projects were sampled: ``P-11`` is restricted, ``P-12`` gave no text, so 10 groups are in the corpus with 2 documents
of 4 passages each: 80 passages. 8 queries: 3 areas, 5 criteria. Project i is judged against the queries i, i+1 and i+2
(mod 8), so 3 x 8 = 24 pairs a group, 240 in all.
"""

import functools
import hashlib
import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl

from tendril_assets.qrels.splits import split_sizes
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

SQL = Path(__file__).parents[2] / "sql"
# The declared judge as tables name it: system, model, effort, guideline.
HUMANS = ("humans", None, None, None)
JUDGE = ("maker/judge-2 default de_short", "maker/judge-2", "default", "de_short")
N_GROUPS, N_DOCUMENTS, N_PASSAGES = 10, 2, 4
SUBJECTS = ("Holz aus nachhaltiger Forstwirtschaft", "Energieverbrauch der Geräte", "Transportwege der Lieferung")


def spec(**changes) -> CollectionSpec:
    body = {
        "collection": "toy",
        "group": "project",
        "subsets": ["area_of_action", "criterion"],
        "queries": {"summary": {"model": "maker/summary-1"}},
        "judge": {"llm": {"model": "maker/judge-2"}},
        "models": {
            "mini": {
                "base": "package:mini_weights",
                "dimensions": 384,
                "max_length": 256,
                "query_prompt": "query: ",
                "licence": "apache-2.0",
            }
        },
        "release": {
            "name": "toy-train",
            "version": "1.0.0",
            "title": "Toy-Train: judged passages",
            "licence_name": "Toy Open RAIL-D License",
        },
    }
    return CollectionSpec.model_validate(body | changes)


def noise(*parts: object) -> float:
    """A number in [0, 1) that depends on its arguments alone."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:8], 16) / 2**32


def group(i: int) -> str:
    return f"g-{i:020x}"


def document(i: int, j: int) -> str:
    return f"d-{i * 16 + j:020x}"


def passage(i: int, j: int, k: int) -> str:
    return f"p-{i * 256 + j * 16 + k:020x}"


def query(n: int) -> str:
    return f"q-area-{n}" if n < 3 else f"q-criterion-{n}"


def level(n: int) -> str:
    return "area_of_action" if n < 3 else "criterion"


def tables() -> dict[str, pl.DataFrame]:
    """Every declared table, filled or empty, by name; the caller may put others in."""
    return dict(_tables())


@functools.cache
def _tables() -> dict[str, pl.DataFrame]:
    rows = {name: [] for name in TABLES}
    _corpus(rows)
    _judging(rows)
    measured(rows)
    _training(rows)
    _evaluation(rows)
    frames = {name: TABLES[name].frame(rows[name]) for name in TABLES}
    levels = ("area_of_action", "criterion")
    return frames | {"split_sizes": split_sizes(frames["splits"], frames["qrels"], frames["queries"], levels)}


def _corpus(rows: dict[str, list]) -> None:
    for i in range(1, 13):
        project, state = f"P-{i}", {11: "restricted", 12: "failed"}.get(i, "in_corpus")
        rows["projects"].append((project, f"Beschaffung {i}", date(2026, 1, i), "de", None))
        rows["sampled_projects"].append((project, group(i), i))
        rows["project_status"].append(
            (project, group(i), state, None, f"{i:016x}", 2, 2, 2 * (i == 12), 10, 8, 2, None)
        )
        for j in range(1, N_DOCUMENTS + 1):
            rows["sampled_documents"].append((project, f"doc{j}.pdf", document(i, j), j))
            outcome = "no_text_layer" if i == 12 else "ok"
            rows["document_status"].append((project, f"doc{j}.pdf", outcome, None, 3, [], [], 900, [300] * 3, 0.2, "1"))
    rows["restricted_projects"].append(
        ("P-11", "doc1.pdf", 1, "de", "offer_only", "Die Unterlagen dienen einzig der Offertstellung.")
    )
    for i in range(1, 12):
        for j in range(1, N_DOCUMENTS + 1):
            for k in range(1, N_PASSAGES + 2):
                pid, project = passage(i, j, k), f"P-{i}"
                text = f"{SUBJECTS[(i + k) % 3]}: Anforderung {i}.{j}.{k} an die Anbieterin <PERSON_1>."
                rows["passages"].append((pid, project, f"doc{j}.pdf", k, k, text, len(text)))
                kept = k <= N_PASSAGES and i <= N_GROUPS
                reason = None if kept else ("near_duplicate" if j == 1 else "too_short")
                reason = reason if i <= N_GROUPS else "restricted_project"
                cause = passage(i, j, 1) if reason == "near_duplicate" else None
                figure = 0.9 if reason in ("near_duplicate", "too_short") else None
                rows["passage_decisions"].append((pid, project, kept, reason, figure, cause, "1"))
                if kept:
                    rows["corpus"].append((pid, text, group(i), document(i, j), k))
        rows["anonymized_entities"].append((f"P-{i}", "doc1.pdf", "PERSON", 7))
    rows["passage_texts"] += [(passage(i, 1, 1), "corpus", group(i), "a clause of two projects") for i in (1, 2)]
    rows["passage_texts"] += [(passage(1, 1, k), "corpus", group(1), f"a text of its own, {k}") for k in (2, 3)]
    for n in range(8):
        rows["queries"].append(
            (query(n), f"{SUBJECTS[n % 3]} bevorzugen ({n})", level(n), f"Catalog_{n % 4}", f"area-{n % 3}")
        )
        rows["test_queries"].append((f"t-{n}", f"Frage {n}", level(n), f"Catalog_{n % 5}", None))
    rows["area_summaries"].extend((f"area-{n}", "ok", "Kurz.", 1, "maker/summary-1", f"s{n}") for n in range(3))
    rows["test_projects"].extend((f"T-{i}",) for i in range(6))
    rows["test_corpus"].append((f"p-{1:020d}t", "Prüftext", f"g-test{0:015d}", None, 1))


def _around(value: float) -> tuple[float, float, float]:
    """A figure and its interval."""
    return value, value - 0.1, value + 0.09


def _judging(rows: dict[str, list]) -> None:
    sequence = 0
    for i in range(1, N_GROUPS + 1):
        rows["splits"].append((group(i), "validation" if i == 10 else "train"))
        for n in sorted({(i + step) % 8 for step in range(3)}):
            rows["project_queries"].append((f"P-{i}", group(i), query(n), level(n)))
            for j in range(1, N_DOCUMENTS + 1):
                for k in range(1, N_PASSAGES + 1):
                    pair = (query(n), passage(i, j, k), group(i))
                    grade, key = grade_of(i, j, k, n), f"k{sequence:063x}"
                    rows["candidates"].append((*pair, key))
                    rows["judgments"].append((*pair, key, "ok", grade, None, "1"))
                    rows["qrels"].append((*pair, grade))
                    rows["judge_calls"].append(_call(key, sequence, "judge", "maker/judge-2", str(grade)))
                    sequence += 1
    for n in range(3):
        call = _call(f"s{n}", sequence, "area_summary", "maker/summary-1", "Kurz.")
        rows["judge_calls"].append((*call[:13], None, *call[14:]))
        sequence += 1
    for lvl, graded, binary, alpha in (
        ("all", 0.52, 0.64, 0.58),
        ("area_of_action", 0.48, 0.62, 0.57),
        ("criterion", 0.53, 0.65, 0.59),
    ):
        for scale, value in (("graded", graded), ("binary", binary)):
            cell, figure, among = (lvl, scale), _around(value), _around(alpha)
            table = "[[41,6,1],[5,14,4],[1,5,13]]" if scale == "graded" else "[[41,7],[6,36]]"
            rows["judge_agreement"].append(
                (
                    *JUDGE,
                    True,
                    *cell,
                    "kappa",
                    "judge_vs_curated",
                    "judge, curated",
                    *figure,
                    90,
                    2,
                    None,
                    table,
                    "queries",
                )
            )
            rows["judge_agreement"].append(
                (*HUMANS, True, *cell, "alpha", "annotators", "ann, bea", *among, 90, 0, None, None, "queries")
            )
    cell, undefined = ("area_of_action", "binary"), (None, None, None, 4, 0, "single_class", None)
    rows["judge_agreement"].append(
        (*JUDGE, True, *cell, "kappa_quadratic", "judge_vs_curated", "judge, curated", *undefined, "queries")
    )


def measured(rows: dict[str, list]) -> None:
    """Two systems: the declared judge, accepted, and a cheaper one that is not."""
    other = ("maker/judge-1 low de_long", "maker/judge-1", "low", "de_long")
    stable = (20, 0.95, 0.85, 1.0, 0.92, 0.8, 1.0, None)
    for system, declared, graded, price in ((JUDGE, True, 88, 0.12), (other, False, 60, 0.03)):
        answers = (90, graded, 90 - graded, 1 - graded / 90, f'{{"parse_error": {90 - graded}}}')
        spent = (110, 112, 110, 0, Decimal("0.0132"), price, price, 0.8, 1.9, 46_200, 28_160, 330, 0)
        stack = ([system[1]], ["provider-a"], [f"{system[1]} by provider-a"], 0)
        row = (*system, "0123456789abcdef", declared, declared, *answers, *spent, *stack, *stable)
        rows["calibration_systems"].append(row)
    accepted = (
        0.50,
        0.4,
        True,
        44.0,
        40.0,
        True,
        0.95,
        0.7,
        True,
        0.022,
        0.05,
        True,
        None,
        None,
        None,
        True,
        True,
        True,
    )
    refused = (0.31, 0.4, False, 30.0, 40.0, False, 0.95, 0.7, True, 0.333, 0.05, False, None, None, None)
    best, worse = (1, 0.505, 0.41, 0.6, 0.0, 0.0, 0.0, 0.12), (2, 0.33, 0.2, 0.45, -0.175, -0.3, -0.05, 0.03)
    reason = "not accepted: 33.3% of the pairs without a grade, at most 5.0% allowed"
    rows["judge_choice"] += [
        (*JUDGE, True, True, *best, *accepted, "chosen: the best of the accepted systems (0.505)"),
        (*other, False, False, *worse, *refused, False, False, False, reason),
    ]


def grade_of(i: int, j: int, k: int, n: int) -> int:
    """Of eight passages a query has in a group, two are relevant: document 1's first fully, document 2's partly."""
    return {(1, 1): 2, (2, 1): 1}.get((j, k), 0)


def _call(key: str, sequence: int, purpose: str, model: str, content: str) -> tuple:
    when = datetime(2026, 10, 5, 8, sequence % 60, sequence // 60)
    return (
        key,
        sequence,
        purpose,
        model,
        model,
        "provider-a",
        "answered",
        200,
        "stop",
        content,
        420,
        3,
        256,
        Decimal("0.000120000"),
        1,
        0.8,
        when,
        0,
        None,
        f"reply-{sequence}",
        None,
        "run-1",
    )


def _training(rows: dict[str, list]) -> None:
    for i in range(1, N_GROUPS):
        for n in sorted({(i + step) % 8 for step in range(3)}):
            negatives = [passage(i, 1, 2), passage(i, 1, 3), passage(i, 2, 2)]
            used = n not in (5, 7)
            reason = None if used else "balance"
            rows["training_examples"].append((query(n), level(n), group(i), passage(i, 1, 1), negatives, used, reason))
    rows["trained_models"].append(trained_model())
    trained_on(rows)
    curve = {0: 0.62, 56: 0.741, 112: 0.802, 168: 0.823, 224: 0.817}
    for step, value in curve.items():
        for measure, shift in (
            ("balanced_ndcg@10", 0.0),
            ("ndcg@10:area_of_action", -0.03),
            ("ndcg@10:criterion", 0.03),
        ):
            rows["learning_curves"].append(("mini", step, measure, value + shift))
    for step in range(4, 225, 4):
        loss = 0.35 + 0.9 / (1 + step / 30) + 0.08 * noise("loss", step)
        rows["learning_curves"].append(("mini", step, "loss", loss))
        rate = 1e-5 * (step / 22 if step < 22 else (224 - step) / 202)
        rows["learning_curves"].append(("mini", step, "learning_rate", rate))


# A model of which an earlier version is still known, and the passage it was trained on that is removed since.
REMOVED = ("p-" + "e" * 20, "d-" + "e" * 20, "g-" + "e" * 20)


def trained_on(rows: dict[str, list]) -> None:
    """Model mini: the examples of groups 1 to 9 hold 4 passages each, group 10 (8 passages) is validated on."""
    weights = trained_model()["weights_sha256"]
    for i in range(1, N_GROUPS):
        for j, k in ((1, 1), (1, 2), (1, 3), (2, 2)):
            rows["trained_passages"].append(("mini", weights, passage(i, j, k), document(i, j), group(i), "train"))
    for j in (1, 2):
        for k in range(1, N_PASSAGES + 1):
            place = (passage(10, j, k), document(10, j), group(10))
            rows["trained_passages"].append(("mini", weights, *place, "validation"))
    rows["trained_passages"].append(("midi", "a" * 64, *REMOVED, "train"))
    rows["erased_ids"].append(("document", REMOVED[1], "P-99/doc1.pdf", datetime(2026, 11, 30, 18, 0)))
    rows["released_passages"] += [("0.9.0", passage(1, 1, k), document(1, 1), group(1)) for k in (1, 2)]
    rows["released_passages"].append(("0.9.0", *REMOVED))


WEIGHTS = b"not really weights"
DATA_HASH = "d" * 64


def trained_model(**changes) -> dict:
    """The row of the model: trained as the specification says, on what the tables hold."""
    described = spec()
    row = {
        "model": "mini",
        "base": "package:mini_weights",
        "revision": None,
        "base_weights": "b" * 64,
        "config_hash": "c" * 64,
        "data_hash": DATA_HASH,
        "path": "models/mini",
        "best_step": 168,
        "best_value": 0.823,
        "base_value": 0.62,
        "best_measured_on": "fp32 on CPU (x86_64)",
        "reproduced_value": 0.823,
        "reproduced_on": "fp32 on CPU (x86_64)",
        "examples": 21,
        "validation": json.dumps(
            {"area_of_action": {"groups": 63, "queries": 120}, "criterion": {"groups": 62, "queries": 118}}
        ),
        "inputs": 84,
        "query_inputs": 8,
        "document_inputs": 76,
        "truncated_inputs": 3,
        "truncated_queries": 0,
        "truncated_documents": 3,
        "steps": 224,
        "stop_reason": "epochs",
        "seconds": 512.0,
        "parameters": 22_713_216,
        "device": "CPU (x86_64)",
        "processes": 1,
        "precision": "fp32",
        "recipe": json.dumps(
            {
                "training": described.training.model_dump(mode="json"),
                "model": described.models["mini"].model_dump(mode="json"),
                "seed": described.seed,
            }
        ),
        "weights_sha256": hashlib.sha256(WEIGHTS).hexdigest(),
        "versions": '{"python": "3.11.7", "sentence-transformers": "6.0.1", "torch": "2.13.0"}',
    }
    return row | changes


SYSTEMS = {"bm25": 0.421, "mini_base": 0.547, "mini_tuned": 0.642}
MEASURES = {"ndcg@10": 0.0, "recall@10": 0.12, "recall@100": 0.35, "mrr@10": 0.02, "p@10": -0.2, "judged@10": 0.3}


def _evaluation(rows: dict[str, list]) -> None:
    for system, centre in SYSTEMS.items():
        weights = {"mini_base": "b" * 64, "mini_tuned": hashlib.sha256(WEIGHTS).hexdigest()}.get(system)
        rows["ranked_systems"].append((system, weights, "e" * 64))
        for measure, shift in MEASURES.items():
            for lvl, offset in (("all", 0.0), ("area_of_action", -0.025), ("criterion", 0.025)):
                values = []
                for g in range(33):
                    wobble = 0.3 * (noise(g, lvl) - 0.5) + 0.16 * (noise(system, g, lvl, measure) - 0.5)
                    value = min(1.0, max(0.0, centre + shift + offset + wobble))
                    values.append(value)
                    rows["group_scores"].append((system, f"g-test{g:015d}", lvl, measure, value, 6))
                mean = sum(values) / len(values)
                ends = (mean - 0.045, mean + 0.043)
                rows["system_scores"].append((system, lvl, measure, mean, *ends, 33, 198, 12, 0, weights, "e" * 64))
        for n in range(5):
            value = centre + 0.1 * (noise("catalog", n) - 0.5) + 0.05 * (noise(system, "catalog", n) - 0.5)
            ends = (value - 0.11, value + 0.09)
            rows["catalog_scores"].append((system, f"Catalog_{n}", "all", "ndcg@10", value, *ends, 20 + n, 60, 4, 1))
        for n in range(8):
            value = noise(system, n)
            rows["query_scores"].append((system, f"t-{n}", f"g-test{0:015d}", level(n), "ndcg@10", value, 3))
    for n in range(5):
        gain, head = 0.05 + 0.1 * noise("gain", n), ("mini_tuned", "mini_base", f"Catalog_{n}", "all", "ndcg@10")
        rows["catalog_comparisons"].append((*head, gain, gain - 0.08, gain + 0.07, 0.04, 0.04, 20 + n, 0.05))
    for baseline, centre in (("mini_base", 0.095), ("bm25", 0.221)):
        for measure in MEASURES:
            for lvl in ("all", "area_of_action", "criterion"):
                low = centre - (0.12 if measure == "p@10" else 0.03)
                p = 0.12 if measure == "p@10" else 0.0004
                rows["comparisons"].append(
                    ("mini_tuned", baseline, lvl, measure, centre, low, centre + 0.035, p, p, 33, p)
                )


def database(frames: dict[str, pl.DataFrame] | None = None) -> duckdb.DuckDBPyConnection:
    """The tables in memory, in schema ``toy``, which is also the search path: as the warehouse serves them."""
    con = duckdb.connect()
    con.execute("CREATE SCHEMA toy; SET schema = 'toy'")
    for name, frame in (tables() if frames is None else frames).items():
        columns = ", ".join(f'"{c.name}" {c.type}' for c in TABLES[name].columns)
        con.execute(f'CREATE TABLE "{name}" ({columns})')
        con.register("incoming", frame)
        con.execute(f'INSERT INTO "{name}" BY NAME SELECT * FROM incoming')
        con.unregister("incoming")
    return con


def reader(con: duckdb.DuckDBPyConnection):
    """``read(name)`` over the files of ``sql/release``; a name with its folder, such as ``views/x``, is of that one."""

    def read(name: str) -> pl.DataFrame:
        path = name if "/" in name else f"release/{name}"
        return con.sql((SQL / f"{path}.sql").read_text(encoding="utf-8")).pl()

    return read
