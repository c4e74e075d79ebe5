"""The drift check: a sample of the judge's answered requests asked again, round after round.

These steps are in the job ``<collection>_drift`` alone. They pay for answers that are there already, so no other job, no
sensor and no schedule starts them; in a run of everything ``drift_replies`` gives nothing and what follows is skipped.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.asking import Replies, ask, data_version, keys_version, open_ledger
from tendril_assets.assets.common import Stage, asset_key, counts, store, table_assets, table_check, work_asset
from tendril_assets.assets.judge_in_use import system_in_use
from tendril_assets.assets.judging import REPEATS, REQUESTS
from tendril_assets.errors import NoJudgeAccepted
from tendril_assets.judging.calibration import ALL
from tendril_assets.judging.drift import (
    draw_sample,
    drift_reasons,
    drift_table,
    in_draw_order,
    label_of,
    repeat_requests,
    repeated,
    round_of,
    route_changes,
)
from tendril_assets.judging.parse import latest_calls, parse_calls
from tendril_assets.judging.prompts import Guideline
from tendril_assets.judging.purposes import DRIFT, HAND_OVERS
from tendril_assets.judging.systems import System
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.ledger import FINAL_STATUSES, Ledger
from tendril_assets.resources.request_passages import note_requests
from tendril_assets.resources.sql import query
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

REPEATED = HAND_OVERS[DRIFT].file
ASSETS = (REPEATED, "drift_replies", "judge_drift")
# Carried by the runs of the drift job; without it nothing is asked again.
ASK_TAG = "tendril/ask_again"
_TEXTS = ["request_key", "query_text", "passage_text"]


def drift_job_name(spec: CollectionSpec) -> str:
    return f"{spec.collection}_drift"


def drift_job(spec: CollectionSpec) -> Any:
    """The one job that asks the sample again."""
    return dg.define_asset_job(
        drift_job_name(spec),
        selection=dg.AssetSelection.assets(*(asset_key(spec, name) for name in ASSETS)),
        tags={ASK_TAG: "true"},
        description="Ask a sample of answered requests again, and compare: paid, a round a day at most.",
    )


def drift_assets(spec: CollectionSpec) -> Stage:
    """drift_requests -> drift_replies -> judge_drift, where the specification has a drift check."""
    limits = spec.judge.drift
    if limits is None:
        return Stage([], [])
    collection = spec.collection

    @work_asset(
        spec,
        REPEATED,
        stage="drift",
        description="The sample of answered requests that today's round asks again.",
        deps=["judgments"],
        pool="duckdb",
        kinds={"parquet"},
    )
    def write_drift_requests(warehouse: Warehouse, artifacts: Artifacts) -> dg.MaterializeResult:
        graded = graded_requests(warehouse, collection)
        sample = draw_sample(graded, limits.sample, spec.seed)
        label = label_of(datetime.now(UTC).date())
        texts = artifacts.read_frame(collection, REQUESTS, _TEXTS)
        judge = _judge(artifacts, spec)
        requests = repeat_requests(sample, texts, judge.factory, judge.guideline, label)
        requests = requests.with_columns(repeat=pl.lit(label))
        # A repeat is about the passages of what it repeats, and its reply goes when they are removed.
        asked = warehouse.frame(collection, query("drift/request_passages"), "passages of the requests")
        note_requests(
            warehouse,
            collection,
            requests.select("repeats", "request_key")
            .join(asked, on="repeats")
            .select("request_key", "passage_id", "document_id", "group_id")
            .unique(),
        )
        path = artifacts.write_frame(collection, REPEATED, requests)
        return dg.MaterializeResult(
            data_version=keys_version(requests["request_key"]),
            metadata={
                "round": label,
                "judge": judge.name,
                "requests": requests.height,
                "drawn_from": graded.height,
                "by_grade": counts(sample.with_columns(pl.col("grade").cast(pl.String)), "grade"),
                "path": dg.MetadataValue.path(str(path)),
            },
        )

    @work_asset(
        spec,
        "drift_replies",
        stage="drift",
        description="Replies to today's sample, in the ledger; only runs of the drift job ask for them.",
        deps=[REPEATED],
        pool="judge_api",
        kinds={"llm"},
        required=False,
    )
    def drift_replies(context: dg.AssetExecutionContext, artifacts: Artifacts, gateway: Gateway) -> Replies:
        if ASK_TAG not in context.run.tags:
            context.log.warning(
                f"nothing was asked again: this costs money, so only the job {drift_job_name(spec)} does it (or a run "
                f"with the tag {ASK_TAG}); judge_drift is left as it is"
            )
            return
        requests, ledger = artifacts.read_frame(collection, REPEATED), open_ledger()
        judge = _judge(artifacts, spec)
        metadata = yield from ask(
            context,
            gateway,
            ledger,
            requests,
            purpose=DRIFT,
            factory=judge.factory,
            messages=judge.messages,
        )
        yield dg.MaterializeResult(data_version=data_version(ledger, requests["request_key"]), metadata=metadata)

    @table_assets(spec, ["judge_drift"], deps=["drift_replies", "judgments", "candidates", "queries"])
    def judge_drift(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        levels = warehouse.frame(collection, query("drift/request_levels"), "levels of the requests")
        texts = artifacts.read_frame(collection, REQUESTS, _TEXTS)
        ordered = in_draw_order(texts["request_key"], spec.seed).join(texts, on="request_key", maintain_order="left")
        pairs, lost = compared_pairs(open_ledger(), ordered, levels, _judge(artifacts, spec))
        artifacts.write_frame(collection, REPEATS, pairs.select("request_key").unique().sort("request_key"))
        graded = levels.join(graded_requests(warehouse, collection), on="request_key")
        table = drift_table(pairs, graded, seed=spec.seed)
        latest = _latest(table)
        metadata = {
            "rounds": table["round"].n_unique(),
            "repeats_of_requests_no_longer_asked": lost,
            "figures": dg.MetadataValue.md(_markdown(table)),
            **({} if latest is None else _numbers(latest)),
        }
        yield from store(context, warehouse, spec, {"judge_drift": table}, {"judge_drift": metadata})

    @table_check(
        spec,
        "judge_drift",
        "judge_has_not_drifted",
        description="The judge gives the grades it gave at first, within the agreement and shift declared for it.",
        blocking=False,
    )
    def judge_has_not_drifted(warehouse: Warehouse) -> dg.AssetCheckResult:
        latest = _latest(warehouse.load(collection, "judge_drift"))
        if latest is None:
            return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, description="no round yet")
        reasons, routes = drift_reasons(latest, limits), route_changes(latest)
        said = "; ".join([*reasons, *(f"answered by others: {change}" for change in routes)])
        return dg.AssetCheckResult(
            passed=not reasons,
            severity=dg.AssetCheckSeverity.ERROR if reasons else dg.AssetCheckSeverity.WARN,
            description=f"round of {latest['round']}: {said or 'grades as before, by the same route'}",
            metadata={"round": latest["round"], "entries": [*reasons, *routes], **_numbers(latest)},
        )

    return Stage([write_drift_requests, drift_replies, judge_drift], [judge_has_not_drifted])


def _judge(artifacts: Artifacts, spec: CollectionSpec) -> System:
    """The judge that is compared with itself. Raises NoJudgeAccepted where none is in use."""
    judge = system_in_use(artifacts, spec)
    if judge is None:
        raise NoJudgeAccepted(
            f"{spec.collection}: no judge was accepted, so none has graded and nothing can be asked again"
        )
    return judge


def graded_requests(warehouse: Warehouse, collection: str) -> pl.DataFrame:
    """request_key (each once), grade."""
    return warehouse.load(collection, "judgments", ["request_key", "grade"]).drop_nulls().unique("request_key")


def compared_pairs(
    ledger: Ledger, ordered: pl.DataFrame, levels: pl.DataFrame, judge: System
) -> tuple[pl.DataFrame, int]:
    """What ``drift_table`` is given, from the ledger; and how many repeats are of requests that exist no longer.

    ``ordered``: as for ``repeated``. ``levels``: request_key, level.
    """
    calls = latest_calls(ledger.frame(purpose=DRIFT), FINAL_STATUSES).filter(pl.col("repeat").is_not_null())
    found = [
        repeated(of_label["request_key"], label, ordered, judge.factory, judge.guideline).with_columns(
            round=pl.lit(round_of(label))
        )
        for (label,), of_label in calls.group_by("repeat", maintain_order=True)
        if round_of(label) is not None
    ]
    empty = pl.DataFrame(schema={name: pl.String() for name in ("request_key", "repeats", "round")})
    repeats = pl.concat([empty, *found])
    first = latest_calls(ledger.frame(keys=repeats["repeats"].unique()), FINAL_STATUSES)
    pairs = (
        repeats.join(_side(calls, "after", judge.guideline, "cost"), on="request_key")
        .join(_side(first, "before", judge.guideline).rename({"request_key": "repeats"}), on="repeats", how="left")
        .join(levels.rename({"request_key": "repeats"}), on="repeats", how="left")
    )
    return pairs, calls.height - repeats.height


def _side(calls: pl.DataFrame, side: str, guideline: Guideline, *more: str) -> pl.DataFrame:
    """request_key, the grade under the name of the side, and who answered."""
    grades = parse_calls(calls, guideline).select("request_key", pl.col("grade").alias(side))
    route = calls.select(
        "request_key",
        *more,
        pl.coalesce("answered_model", "model").alias(f"model_{side}"),
        pl.col("provider").alias(f"provider_{side}"),
    )
    return grades.join(route, on="request_key", validate="1:1")


def _latest(table: pl.DataFrame) -> dict[str, Any] | None:
    """The row of the last round that speaks for the whole sample."""
    rows = table.filter(pl.col("level") == ALL, pl.col("scale") == "graded").sort("round")
    return rows.row(-1, named=True) if rows.height else None


def _numbers(row: dict[str, Any]) -> dict[str, Any]:
    figures = {name: row[name] for name in ("n", "missing", "agreement", "kappa", "mean_shift", "cost_unknown")}
    money = {"cost_usd": None if row["cost"] is None else format(Decimal(row["cost"]), "f")}
    return {name: value for name, value in {**figures, **money}.items() if value is not None}


def _markdown(table: pl.DataFrame) -> str:
    def figure(value: float | None, form: str = ".3f") -> str:
        return "-" if value is None else format(value, form)

    rows = [
        f"| {r['round']} | {r['level']} | {r['scale']} | {r['n']} | {r['missing']} | {figure(r['agreement'])} | "
        f"{figure(r['kappa'])} | {figure(r['mean_shift'], '+.3f')} | {_names(r['models_after'])} | "
        f"{_names(r['providers_after'])} |"
        for r in table.sort("round", descending=True).iter_rows(named=True)
    ]
    head = "| round | level | scale | n | missing | equal | kappa | shift | models | providers |"
    return "\n".join([head, "|---|---|---|---:|---:|---:|---:|---:|---|---|", *rows])


def _names(names: Sequence[str]) -> str:
    return ", ".join(names).replace("|", "/")
