"""The judging stage: candidates, replies, judgments.

``candidates`` hands the distinct requests over as a file. ``judge_replies`` works on that file and the ledger alone, so
it can stop and go on anywhere. ``judge_calls`` and ``judgments`` load and read what the ledger holds.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.asking import Replies, ask, data_version, keys_version, open_ledger
from tendril_assets.assets.candidate_checks import candidate_check
from tendril_assets.assets.common import Stage, asset_key, counts, store, table_assets, table_check, work_asset
from tendril_assets.assets.judge_in_use import decide, system_in_use
from tendril_assets.assets.shown import cost_pictures
from tendril_assets.evaluation.model_state import unusable_models
from tendril_assets.judging.applied import why_none
from tendril_assets.judging.candidates import fan_out, nothing_planned, plan
from tendril_assets.judging.parse import PARSER_VERSION, latest_calls, parse_calls
from tendril_assets.judging.purposes import HAND_OVERS, JUDGE, needed
from tendril_assets.judging.systems import declared_system, systems_of
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.ledger import FINAL_STATUSES
from tendril_assets.resources.request_passages import note_requests
from tendril_assets.resources.sql import inputs, query
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES

REQUESTS = HAND_OVERS[JUDGE].file
# Handed over by the drift check, where there was a round: what was asked again was paid for too.
REPEATS = "drift_repeats"
NONE = "none was accepted"


def judging_assets(spec: CollectionSpec) -> Stage:
    """candidates -> judge_replies -> judge_calls -> judgments."""
    return Stage(_judge_assets(spec), _checks(spec))


def _judge_assets(spec: CollectionSpec) -> list[dg.AssetsDefinition]:
    collection = spec.collection
    purposes = needed(spec)
    calls_deps = [f"{purpose}_replies" for purpose in reversed(purposes)]

    # Where the calibration decides who judges, or whether anyone does, it comes first.
    first = ["judge_choice"] if spec.judge.calibration.decides else []
    pairs_of = "judging/pooled_candidates" if spec.candidates.policy == "pooled" else "judging/candidates"
    paired = sorted({*inputs(pairs_of), "corpus", "queries", "project_queries", "erased_ids"})

    @table_assets(spec, ["candidates", "request_passages"], deps=[*paired, *first])
    def candidates(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        judge = decide(warehouse, artifacts, spec)
        if judge is None:
            context.log.warning(_none_judges(warehouse, collection))
            planned = nothing_planned()
        else:
            planned = plan(
                warehouse.frame(collection, query(pairs_of), "pair passages and queries"),
                warehouse.load(collection, "queries", ["query_id", "text"]),
                warehouse.load(collection, "corpus", ["passage_id", "text"]),
                judge.factory,
                judge.guideline,
            )
        # Before any of them can be asked: a reply that nobody can tie to its passages could not be erased with them.
        documents = warehouse.load(collection, "corpus", ["passage_id", "document_id"])
        asked = (
            planned.candidates.select("request_key", "passage_id", "group_id").unique().join(documents, on="passage_id")
        )
        noted = note_requests(warehouse, collection, asked)
        yield dg.MaterializeResult(
            asset_key=asset_key(spec, "request_passages"),
            data_version=dg.DataVersion(noted.version),
            metadata={"dagster/row_count": noted.rows, "new": noted.new},
        )
        path = artifacts.write_frame(collection, REQUESTS, planned.requests)
        metadata = {
            "requests": planned.requests.height,
            "shared": planned.candidates.height - planned.requests.height,
            "model": judge.llm.model if judge else NONE,
            "guideline": judge.guideline.identity if judge else NONE,
            "path": dg.MetadataValue.path(str(path)),
        }
        yield from store(context, warehouse, spec, {"candidates": planned.candidates}, {"candidates": metadata})

    @replies(
        spec,
        "judge_replies",
        deps=["candidates"],
        description="Replies of the judge to the distinct requests of the candidates, in the ledger.",
    )
    def judge_replies(context: dg.AssetExecutionContext, artifacts: Artifacts, gateway: Gateway) -> Replies:
        judge, ledger = system_in_use(artifacts, spec), open_ledger()
        requests = artifacts.read_frame(collection, REQUESTS)
        if judge is None:
            context.log.warning("no judge was accepted, so nothing is asked")
            metadata = {"judge": NONE, "requests": 0}
            yield dg.MaterializeResult(data_version=keys_version(requests["request_key"]), metadata=metadata)
            return
        # Before money is spent on judgments that no training could use.
        if not requests["request_key"].is_in(ledger.answered().implode()).all():
            _tell_models(context, spec)
        metadata = yield from ask(
            context,
            gateway,
            ledger,
            requests,
            purpose=JUDGE,
            factory=judge.factory,
            messages=judge.messages,
            allow_incomplete=spec.judge.allow_incomplete,
        )
        yield dg.MaterializeResult(data_version=data_version(ledger, requests["request_key"]), metadata=metadata)

    @table_assets(spec, ["judge_calls"], deps=calls_deps)
    def judge_calls(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        # Every hand-over file with requests of this collection: what the collection's part of the ledger is.
        of_needed = [HAND_OVERS[purpose].file for purpose in purposes]
        names = [*of_needed, *([REPEATS] if artifacts.exchange(collection, REPEATS).exists() else [])]
        handed_over = [artifacts.read_frame(collection, name, ["request_key"]) for name in names]
        calls = open_ledger().frame(pl.concat(handed_over)["request_key"].unique())
        metadata = {"by_status": counts(calls, "status"), "by_purpose": counts(calls, "purpose"), **_cost(calls)}
        told, shown = {"judge_calls": metadata}, {"judge_calls": cost_pictures}
        yield from store(context, warehouse, spec, {"judge_calls": calls}, told, shown)

    # The guideline holds the rule that makes grades of answers: another rule, other judgments, and the same requests.
    possible = systems_of(spec.judge) if spec.judge.calibration.apply == "chosen" else (declared_system(spec.judge),)
    reading = " ".join([PARSER_VERSION, *sorted({system.guideline.hash for system in possible})])

    @table_assets(spec, ["judgments"], deps=["judge_calls", "candidates"], version=reading)
    def judgments(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        judge = system_in_use(artifacts, spec)
        if judge is None:
            nothing = TABLES["judgments"].empty()
            yield from store(context, warehouse, spec, {"judgments": nothing}, {"judgments": {"judge": NONE}})
            return
        guideline = judge.guideline
        calls = warehouse.load(
            collection, "judge_calls", ["request_key", "sequence", "status", "finish_reason", "content"]
        )
        verdicts = parse_calls(latest_calls(calls, FINAL_STATUSES), guideline)
        judged = fan_out(warehouse.load(collection, "candidates"), verdicts)
        grades = judged.filter(pl.col("grade").is_not_null()).select(pl.col("grade").cast(pl.String))
        metadata = {
            "by_status": counts(judged, "status"),
            "by_grade": counts(grades, "grade"),
            "guideline": guideline.identity,
        }
        yield from store(context, warehouse, spec, {"judgments": judged}, {"judgments": metadata})

    return [candidates, judge_replies, judge_calls, judgments]


def _checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

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

    @table_check(
        spec,
        "judge_calls",
        "one_route_judges",
        description="One model at one provider answered the judge's requests; pin providers where several did.",
        blocking=False,
    )
    def one_route_judges(warehouse: Warehouse) -> dg.AssetCheckResult:
        routes = warehouse.frame(collection, query("judging/routes"))
        named = [f"{model or 'unnamed'} at {provider or 'unnamed'}: {n:,}" for model, provider, n in routes.rows()]
        return dg.AssetCheckResult(
            passed=len(named) <= 1,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"routes": len(named), "entries": named},
        )

    return [candidate_check(spec), judgments_are_the_fan_out, every_request_is_answered, one_route_judges]


def _none_judges(warehouse: Warehouse, collection: str) -> str:
    why = why_none(warehouse.load(collection, "judge_choice"))
    return (
        f"no judge met the acceptance that was declared before the data: nothing is asked, no label is applied. {why}"
    )


def completeness(warehouse: Warehouse, spec: CollectionSpec) -> dict[str, int]:
    """``requests`` and ``n_open`` of the collection's candidates."""
    statement, final = query("judging/completeness"), list(FINAL_STATUSES)
    return warehouse.frame(spec.collection, statement, "count open requests", final=final).row(0, named=True)


def replies(spec: CollectionSpec, name: str, *, deps: list[str], description: str) -> Any:
    return work_asset(spec, name, stage="judging", description=description, deps=deps, pool="judge_api", kinds={"llm"})


def _tell_models(context: dg.AssetExecutionContext, spec: CollectionSpec) -> None:
    """Which models cannot be used. A base that is only not here is no fault: another machine may be the one that trains."""
    for state in unusable_models(spec):
        if state.missing:
            context.log.info(f"{state.told}. Training on this machine would need it; judging does not")
        else:
            context.log.warning(f"{state.told}. Training and ranking will fail on it")


def _cost(calls: pl.DataFrame) -> dict[str, Any]:
    known = calls["cost"].drop_nulls()
    return {
        "cost_usd": format(Decimal(known.sum() or 0), "f"),
        "cost_known": known.len(),
        "cost_unknown": calls.height - known.len(),
    }
