"""The judging stage: candidates, replies, judgments; and the judge against human grades.

``candidates`` hands the distinct requests over as a file. ``judge_replies`` works on that file and the ledger alone, so
it can stop and go on anywhere. ``judge_calls`` and ``judgments`` load and read what the ledger holds.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.asking import Replies, ask, data_version, keys_version, open_ledger
from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check, work_asset
from tendril_assets.judging.calibration import agreement_table, calibration_requests
from tendril_assets.judging.candidates import fan_out, plan
from tendril_assets.judging.parse import PARSER_VERSION, latest_calls, parse_calls
from tendril_assets.judging.prompts import Message, load_guideline, render
from tendril_assets.judging.request import RequestFactory
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.ledger import FINAL_STATUSES
from tendril_assets.resources.sql import query
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

REQUESTS = "judge_requests"
CALIBRATION = "calibration_requests"
# Every hand-over file with requests of this collection: what the collection's part of the ledger is.
HANDED_OVER = (REQUESTS, CALIBRATION, "summary_requests")


def judging_assets(spec: CollectionSpec) -> Stage:
    """candidates -> judge_replies -> judge_calls -> judgments; calibration_requests -> ... -> judge_agreement."""
    return Stage([*_judge_assets(spec), *_calibration_assets(spec)], _checks(spec))


def _judge_assets(spec: CollectionSpec) -> list[dg.AssetsDefinition]:
    collection = spec.collection
    factory, guideline = RequestFactory(spec.judge.llm), load_guideline(spec.judge.guideline)
    calls_deps = ["judge_replies", "calibration_replies", "area_summary_replies"]

    @table_assets(spec, ["candidates"], deps=["corpus", "queries", "project_queries"])
    def candidates(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        planned = plan(
            warehouse.frame(collection, query("judging/candidates"), "pair passages and queries"),
            warehouse.load(collection, "queries", ["query_id", "text"]),
            warehouse.load(collection, "corpus", ["passage_id", "text"]),
            factory,
            guideline,
        )
        path = artifacts.write_frame(collection, REQUESTS, planned.requests)
        metadata = {
            "requests": planned.requests.height,
            "shared": planned.candidates.height - planned.requests.height,
            "model": spec.judge.llm.model,
            "guideline": f"{guideline.name} {guideline.version} ({guideline.hash})",
            "path": dg.MetadataValue.path(str(path)),
        }
        yield from store(context, warehouse, spec, {"candidates": planned.candidates}, {"candidates": metadata})

    @_replies(
        spec,
        "judge_replies",
        deps=["candidates"],
        description="Replies of the judge to the distinct requests of the candidates, in the ledger.",
    )
    def judge_replies(context: dg.AssetExecutionContext, artifacts: Artifacts, gateway: Gateway) -> Replies:
        yield from _ask_judge(context, spec, artifacts, gateway, REQUESTS, "judge")

    @table_assets(spec, ["judge_calls"], deps=calls_deps)
    def judge_calls(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        handed_over = [artifacts.read_frame(collection, name, ["request_key"]) for name in HANDED_OVER]
        ours = pl.concat(handed_over).unique()
        calls = open_ledger().frame().join(ours, on="request_key", how="semi", maintain_order="left")
        metadata = {"by_status": counts(calls, "status"), "by_purpose": counts(calls, "purpose"), **_cost(calls)}
        yield from store(context, warehouse, spec, {"judge_calls": calls}, {"judge_calls": metadata})

    @table_assets(spec, ["judgments"], deps=["judge_calls", "candidates"], version=PARSER_VERSION)
    def judgments(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        calls = warehouse.load(
            collection, "judge_calls", ["request_key", "sequence", "status", "finish_reason", "content"]
        )
        verdicts = parse_calls(latest_calls(calls, FINAL_STATUSES))
        judged = fan_out(warehouse.load(collection, "candidates"), verdicts)
        grades = judged.filter(pl.col("grade").is_not_null()).select(pl.col("grade").cast(pl.String))
        metadata = {"by_status": counts(judged, "status"), "by_grade": counts(grades, "grade")}
        yield from store(context, warehouse, spec, {"judgments": judged}, {"judgments": metadata})

    return [candidates, judge_replies, judge_calls, judgments]


def _calibration_assets(spec: CollectionSpec) -> list[dg.AssetsDefinition]:
    collection = spec.collection
    factory, guideline = RequestFactory(spec.judge.llm), load_guideline(spec.judge.guideline)

    @work_asset(
        spec,
        CALIBRATION,
        stage="judging",
        description="Requests that put the judge to the pairs humans have graded.",
        deps=["calibration_pairs"],
        pool="duckdb",
        kinds={"parquet"},
    )
    def write_calibration_requests(warehouse: Warehouse, artifacts: Artifacts) -> dg.MaterializeResult:
        requests = calibration_requests(warehouse.load(collection, "calibration_pairs"), factory, guideline)
        path = artifacts.write_frame(collection, CALIBRATION, requests)
        return dg.MaterializeResult(
            data_version=keys_version(requests["request_key"]),
            metadata={"pairs": requests.height, "path": dg.MetadataValue.path(str(path))},
        )

    @_replies(
        spec,
        "calibration_replies",
        deps=[CALIBRATION],
        description="Replies of the judge to the calibration pairs, in the ledger.",
    )
    def calibration_replies(context: dg.AssetExecutionContext, artifacts: Artifacts, gateway: Gateway) -> Replies:
        yield from _ask_judge(context, spec, artifacts, gateway, CALIBRATION, "calibration")

    @table_assets(spec, ["judge_agreement"], deps=["judge_calls", "calibration_pairs", "calibration_annotations"])
    def judge_agreement(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        requests = artifacts.read_frame(collection, CALIBRATION, ["query_id", "passage_id", "request_key"])
        calls = warehouse.load(
            collection, "judge_calls", ["request_key", "sequence", "status", "finish_reason", "content"]
        ).join(requests, on="request_key", how="semi")
        verdicts = requests.join(parse_calls(latest_calls(calls, FINAL_STATUSES)), on="request_key", how="left")
        table = agreement_table(
            warehouse.load(collection, "calibration_pairs"),
            warehouse.load(collection, "calibration_annotations"),
            verdicts,
            seed=spec.seed,
        )
        metadata = {"figures": dg.MetadataValue.md(_agreement_markdown(table))}
        yield from store(context, warehouse, spec, {"judge_agreement": table}, {"judge_agreement": metadata})

    return [write_calibration_requests, calibration_replies, judge_agreement]


def _checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

    @table_check(
        spec,
        "candidates",
        "every_pair_of_a_group",
        description="Candidates are as many as passages times queries, summed over the groups.",
    )
    def every_pair_of_a_group(warehouse: Warehouse) -> dg.AssetCheckResult:
        row = warehouse.frame(collection, query("judging/expected_candidates")).row(0, named=True)
        return dg.AssetCheckResult(passed=row["candidates"] == row["expected"], metadata=row)

    @table_check(
        spec,
        "judgments",
        "judgments_are_the_fan_out",
        description="Judgments are as many as the pairs that share an answered request, and none is a stray.",
    )
    def judgments_are_the_fan_out(warehouse: Warehouse) -> dg.AssetCheckResult:
        row = warehouse.frame(collection, query("judging/fan_out")).row(0, named=True)
        return dg.AssetCheckResult(passed=row["judged"] == row["expected"] and row["strays"] == 0, metadata=row)

    @table_check(
        spec,
        "judgments",
        "every_request_is_answered",
        description="No request waits for its answer; judge.allow_incomplete lets the rest of the graph go on.",
        blocking=not spec.judge.allow_incomplete,
    )
    def every_request_is_answered(warehouse: Warehouse) -> dg.AssetCheckResult:
        row = completeness(warehouse, spec)
        severity = dg.AssetCheckSeverity.WARN if spec.judge.allow_incomplete else dg.AssetCheckSeverity.ERROR
        return dg.AssetCheckResult(passed=row["n_open"] == 0, severity=severity, metadata=row)

    return [every_pair_of_a_group, judgments_are_the_fan_out, every_request_is_answered]


def completeness(warehouse: Warehouse, spec: CollectionSpec) -> dict[str, int]:
    """``requests`` and ``n_open`` of the collection's candidates."""
    statement, final = query("judging/completeness"), list(FINAL_STATUSES)
    return warehouse.frame(spec.collection, statement, "count open requests", final=final).row(0, named=True)


def _replies(spec: CollectionSpec, name: str, *, deps: list[str], description: str) -> Any:
    return work_asset(spec, name, stage="judging", description=description, deps=deps, pool="judge_api", kinds={"llm"})


def _ask_judge(
    context: dg.AssetExecutionContext,
    spec: CollectionSpec,
    artifacts: Artifacts,
    gateway: Gateway,
    name: str,
    purpose: str,
) -> Replies:
    guideline, ledger = load_guideline(spec.judge.guideline), open_ledger()
    requests = artifacts.read_frame(spec.collection, name)

    def messages(row: dict[str, Any]) -> list[Message]:
        return render(guideline, row["query_text"], row["passage_text"])

    metadata = yield from ask(
        context,
        gateway,
        ledger,
        requests,
        purpose=purpose,
        factory=RequestFactory(spec.judge.llm),
        messages=messages,
        allow_incomplete=spec.judge.allow_incomplete,
    )
    yield dg.MaterializeResult(data_version=data_version(ledger, requests["request_key"]), metadata=metadata)


def _cost(calls: pl.DataFrame) -> dict[str, Any]:
    known = calls["cost"].drop_nulls()
    return {
        "cost_usd": format(Decimal(known.sum() or 0), "f"),
        "cost_known": known.len(),
        "cost_unknown": calls.height - known.len(),
    }


def _agreement_markdown(table: pl.DataFrame) -> str:
    def cell(row: dict[str, Any]) -> str:
        if row["value"] is None:
            return f"undefined: {row['reason']}"
        interval = "" if row["low"] is None else f" [{row['low']:.3f}, {row['high']:.3f}]"
        return f"{row['value']:.3f}{interval}"

    rows = [
        f"| {r['level']} | {r['scale']} | {r['statistic']} | {r['raters']} | {cell(r)} | {r['n']} | {r['missing']} |"
        for r in table.iter_rows(named=True)
    ]
    head = "| level | scale | statistic | raters | value | n | missing |\n|---|---|---|---|---|---:|---:|"
    return "\n".join([head, *rows])
