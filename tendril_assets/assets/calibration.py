"""The judges against people: requests of every system over the calibration pairs, figures, and the choice among them.

Nothing here waits for the judge's own work: the replies are read from the ledger, so that the choice can come before the
first candidate is planned.
"""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from tendril_assets.assets.asking import Replies, ask, data_version, keys_version, open_ledger
from tendril_assets.assets.common import Stage, store, table_assets, table_check, work_asset
from tendril_assets.assets.judging import replies
from tendril_assets.assets.shown import agreement_picture, choice_picture
from tendril_assets.errors import IncompleteJudgments
from tendril_assets.judging.agreement import confusion_counts
from tendril_assets.judging.calibration import (
    ALL,
    HUMANS,
    agreement_table,
    calibration_requests,
    run_labels,
    verdicts_of,
)
from tendril_assets.judging.choice import choose
from tendril_assets.judging.marks import marks_of
from tendril_assets.judging.measured import Measured
from tendril_assets.judging.parse import PARSER_VERSION, latest_calls
from tendril_assets.judging.purposes import CALIBRATION, HAND_OVERS
from tendril_assets.judging.system_facts import choice_table, facts_of, judge_in_use, systems_table
from tendril_assets.judging.systems import system_named, systems_of
from tendril_assets.release.wording import figure, interval, markdown_table
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.ledger import FINAL_STATUSES
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

REQUESTS = HAND_OVERS[CALIBRATION].file
MEASURED = ("judge_agreement", "calibration_systems", "judge_choice")
_ASKED = ["system", "run", "query_id", "passage_id", "request_key"]


def calibration_assets(spec: CollectionSpec) -> Stage:
    """calibration_requests -> calibration_replies -> judge_agreement, calibration_systems, judge_choice."""
    return Stage([*_asking(spec), _measuring(spec)], _checks(spec))


def _asking(spec: CollectionSpec) -> list[dg.AssetsDefinition]:
    collection, calibration = spec.collection, spec.judge.calibration
    systems = systems_of(spec.judge)

    @work_asset(
        spec,
        REQUESTS,
        stage="judging",
        description="Requests that put every judge of the calibration to the pairs people have graded.",
        deps=["calibration_pairs"],
        pool="duckdb",
        kinds={"parquet"},
    )
    def write_calibration_requests(warehouse: Warehouse, artifacts: Artifacts) -> dg.MaterializeResult:
        pairs = warehouse.load(collection, "calibration_pairs")
        requests = calibration_requests(pairs, systems, calibration, spec.seed)
        path = artifacts.write_frame(collection, REQUESTS, requests)
        return dg.MaterializeResult(
            data_version=keys_version(requests["request_key"]),
            metadata={
                "pairs": pairs.height,
                "systems": len(systems),
                "runs": calibration.repeats,
                "asked": requests.height,
                "requests": requests["request_key"].n_unique(),
                "path": dg.MetadataValue.path(str(path)),
            },
        )

    @replies(
        spec,
        "calibration_replies",
        deps=[REQUESTS],
        description="Replies of every judge of the calibration to the calibration pairs, in the ledger.",
    )
    def calibration_replies(context: dg.AssetExecutionContext, artifacts: Artifacts, gateway: Gateway) -> Replies:
        requests, ledger = artifacts.read_frame(collection, REQUESTS), open_ledger()
        asked = {name: system_named(spec.judge, name, REQUESTS) for name in requests["system"].unique()}
        loose = sorted({system.llm.model for system in asked.values() if not system.factory.pinned})
        if loose:
            context.log.info(
                f"no provider is pinned for {', '.join(loose)}: calibration_systems says which ones answered"
            )

        metadata = yield from ask(
            context,
            gateway,
            ledger,
            requests,
            purpose=CALIBRATION,
            factory=lambda row: asked[row["system"]].factory,
            messages=lambda row: asked[row["system"]].messages(row),
            allow_incomplete=spec.judge.allow_incomplete,
        )
        yield dg.MaterializeResult(data_version=data_version(ledger, requests["request_key"]), metadata=metadata)

    return [write_calibration_requests, calibration_replies]


def _measuring(spec: CollectionSpec) -> dg.AssetsDefinition:
    collection, calibration = spec.collection, spec.judge.calibration
    systems = systems_of(spec.judge)
    reading = " ".join([PARSER_VERSION, *sorted({system.guideline.hash for system in systems})])

    @table_assets(
        spec,
        MEASURED,
        deps=["calibration_replies", "calibration_pairs", "calibration_annotations"],
        version=reading,
    )
    def measure_judges(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        requests = artifacts.read_frame(collection, REQUESTS, _ASKED)
        calls = open_ledger().frame(keys=requests["request_key"].unique())
        latest = latest_calls(calls, FINAL_STATUSES)
        verdicts = verdicts_of(requests, latest, systems)
        n_open = verdicts.filter(pl.col("status") == "open")["request_key"].n_unique()
        if n_open and not spec.judge.allow_incomplete:
            raise IncompleteJudgments(
                f"{collection}: {n_open:,} calibration requests are open, so no judge can be measured fairly. Materialise "
                "calibration_replies again; nothing was written.",
                n_open=n_open,
            )
        marks = marks_of(
            warehouse.load(collection, "calibration_pairs"),
            warehouse.load(collection, "calibration_annotations"),
            verdicts,
            [system.name for system in systems],
            run_labels(calibration),
        )
        measured = Measured(marks, calibration, spec.seed)
        counting = latest.select("request_key", "sequence", pl.lit(True).alias("counts"))
        calls = calls.join(counting, on=["request_key", "sequence"], how="left").with_columns(
            pl.col("counts").fill_null(False)
        )
        table = systems_table(systems, verdicts, calls, measured)
        rulings = choose(facts_of(table, measured, calibration, spec.judge.stacks.keys()), calibration)
        in_use = judge_in_use(rulings, calibration)
        tables = {
            "judge_agreement": agreement_table(measured, systems, in_use),
            "calibration_systems": table.with_columns(in_use=pl.col("system") == pl.lit(in_use or "")),
            "judge_choice": choice_table(rulings, systems, calibration),
        }
        metadata = {
            "judge_agreement": {
                **agreement_picture(spec, tables["judge_agreement"]),
                "figures": dg.MetadataValue.md(_agreement_markdown(tables["judge_agreement"])),
                "disagreements": dg.MetadataValue.md(_disagreements_markdown(tables["judge_agreement"])),
            },
            "calibration_systems": {"systems": dg.MetadataValue.md(_systems_markdown(tables["calibration_systems"]))},
            "judge_choice": {
                **choice_picture(spec, tables["judge_choice"], tables["judge_agreement"]),
                "choice": dg.MetadataValue.md(_choice_markdown(tables["judge_choice"])),
                "in_use": in_use or "none",
                "apply": calibration.apply,
            },
        }
        yield from store(context, warehouse, spec, tables, metadata)

    return measure_judges


def _checks(spec: CollectionSpec) -> list[dg.AssetChecksDefinition]:
    collection, calibration = spec.collection, spec.judge.calibration

    @table_check(
        spec,
        "judge_choice",
        "declared_judge_is_accepted",
        description="The judge that judges meets the acceptance declared before the data; refuse makes it blocking, unless "
        "the collection goes on without a judge's labels.",
        blocking=calibration.refuse and calibration.none_accepted == "stop",
    )
    def declared_judge_is_accepted(warehouse: Warehouse) -> dg.AssetCheckResult:
        rows = warehouse.load(collection, "judge_choice").sort("rank")
        judge = rows.filter("in_use")
        declared = calibration.acceptance is not None
        passed = not declared or judge["accepted"].to_list() == [True]
        stops = calibration.decides and calibration.none_accepted == "stop"
        return dg.AssetCheckResult(
            passed=passed,
            severity=dg.AssetCheckSeverity.ERROR if stops else dg.AssetCheckSeverity.WARN,
            metadata={
                "acceptance": calibration.acceptance.model_dump_json() if calibration.acceptance else "none declared",
                "judge": judge["system"][0] if judge.height else "none",
                "reason": judge["reason"][0] if judge.height else "the rule picked none",
                "accepted": rows.filter(pl.col("accepted"))["system"].to_list(),
                "chosen": rows.filter("chosen")["system"].to_list(),
            },
        )

    @table_check(
        spec,
        "calibration_systems",
        "one_inference_stack",
        description="All answers of a system name one model and one route; else its figures mix several stacks.",
        blocking=False,
    )
    def one_inference_stack(warehouse: Warehouse) -> dg.AssetCheckResult:
        rows = warehouse.load(collection, "calibration_systems").filter(pl.col("graded") > 0)
        mixed = rows.filter((pl.col("stacks").list.len() != 1) | (pl.col("unrecorded") > 0))
        return dg.AssetCheckResult(
            passed=mixed.is_empty(),
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"mixed": mixed["system"].to_list()[:20], "systems": rows.height},
        )

    return [declared_judge_is_accepted, one_inference_stack]


def _agreement_markdown(table: pl.DataFrame) -> str:
    """Of the judge in use and of the people; the other systems are compared in judge_choice."""
    shown = table.filter("in_use").sort(pl.col("system") == HUMANS, "scale", "level", descending=[False, True, False])
    rows = [
        (
            *(r[name] for name in ("raters", "who", "level", "scale", "statistic")),
            _cell(r["value"], r["low"], r["high"], r["reason"]),
            f"{r['n']:,}",
            f"{r['missing']:,}",
        )
        for r in shown.iter_rows(named=True)
    ]
    head = ("raters", "who", "level", "scale", "statistic", "value", "n", "missing")
    return markdown_table(head, rows, figures=False)


def _disagreements_markdown(table: pl.DataFrame) -> str:
    """Of every judge over all levels: equal grades, and grades two steps apart, by the side it errs to."""
    shown = table.filter(raters="judge_vs_curated", level=ALL, scale="graded", statistic="kappa").sort("system")
    rows = [
        (system, *(f"{n:,}" for n in confusion_counts(confusion)))
        for system, confusion in shown.select("system", "confusion").drop_nulls().iter_rows()
    ]
    head = ("judge", "pairs", "exact", "two steps apart", "2 for 0", "0 for 2")
    return markdown_table(head, rows)


def _systems_markdown(table: pl.DataFrame) -> str:
    rows = [
        (
            r["system"],
            f"{r['graded']:,} of {r['pairs']:,}",
            r["failures"],
            _cell(r["repeat_share"], r["repeat_share_low"], r["repeat_share_high"], r["repeat_reason"]),
            figure(r["price_per_1000"], 4),
            figure(r["seconds_median"], 2),
            ", ".join(r["stacks"]),
        )
        for r in table.iter_rows(named=True)
    ]
    head = ("system", "graded", "failures", "equal in two runs", "USD per 1,000", "median s", "stack")
    return markdown_table(head, rows, figures=False)


def _choice_markdown(table: pl.DataFrame) -> str:
    """Best first."""
    rows = [
        (
            r["rank"],
            f"**{r['system']}**" if r["chosen"] else r["system"],
            _cell(r["quality"], r["quality_low"], r["quality_high"], None),
            figure(r["price_per_1000"], 4),
            {True: "yes", False: "no", None: "-"}[r["accepted"]],
            "judges" if r["in_use"] else "",
            r["reason"],
        )
        for r in table.sort("rank").iter_rows(named=True)
    ]
    head = ("rank", "system", "figure", "USD per 1,000", "accepted", "in use", "reason")
    return markdown_table(head, rows, figures=False)


def _cell(value: float | None, low: float | None, high: float | None, reason: str | None) -> str:
    if value is None:
        return f"undefined: {reason}" if reason else "-"
    return f"{figure(value)} {interval(low, high)}".strip()
