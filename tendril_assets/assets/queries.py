"""The query stage: summaries of the selected areas of action, then the queries and who gets which."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from tendril_assets.assets.asking import Replies, ask, data_version, keys_version, open_ledger
from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check, work_asset
from tendril_assets.errors import IncompleteJudgments
from tendril_assets.judging.answer_form import OK
from tendril_assets.judging.parse import latest_calls
from tendril_assets.judging.purposes import AREA_SUMMARY, HAND_OVERS
from tendril_assets.judging.request import RequestFactory
from tendril_assets.queries.catalogs import build_project_queries, build_queries, selected_areas
from tendril_assets.queries.generation import ATTEMPTS, OPEN, choose_summaries, load_summary_prompt, summary_requests
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.ledger import FINAL_STATUSES, Ledger
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec

REQUESTS = HAND_OVERS[AREA_SUMMARY].file


def queries_assets(spec: CollectionSpec) -> Stage:
    """areas -> summary_requests -> area_summary_replies -> area_summaries -> queries, project_queries."""
    collection, max_words = spec.collection, spec.wording.summary_max_words
    factory = RequestFactory(spec.wording.summary)
    prompt = load_summary_prompt()

    def chosen(requests: pl.DataFrame, ledger: Ledger) -> pl.DataFrame:
        calls = ledger.frame(keys=requests["request_key"])
        return choose_summaries(requests, latest_calls(calls, FINAL_STATUSES), factory.llm.model, max_words)

    @work_asset(
        spec,
        REQUESTS,
        stage="queries",
        description="Requests for the summaries of the areas of action that some project was given.",
        deps=["areas", "project_areas"],
        pool="duckdb",
        kinds={"parquet"},
    )
    def write_summary_requests(warehouse: Warehouse, artifacts: Artifacts) -> dg.MaterializeResult:
        areas = selected_areas(warehouse.load(collection, "areas"), warehouse.load(collection, "project_areas"))
        requests = summary_requests(areas, factory, prompt, max_words)
        path = artifacts.write_frame(collection, REQUESTS, requests)
        return dg.MaterializeResult(
            data_version=keys_version(requests["request_key"]),
            metadata={
                "areas": areas.height,
                "model": factory.llm.model,
                "prompt": f"{prompt.name} {prompt.version} ({prompt.hash})",
                "path": dg.MetadataValue.path(str(path)),
            },
        )

    @work_asset(
        spec,
        "area_summary_replies",
        stage="queries",
        description="Replies with the summaries, in the ledger; one over the set length is asked for once more.",
        deps=[REQUESTS],
        pool="judge_api",
        kinds={"llm"},
    )
    def area_summary_replies(context: dg.AssetExecutionContext, artifacts: Artifacts, gateway: Gateway) -> Replies:
        requests, ledger = artifacts.read_frame(collection, REQUESTS), open_ledger()
        metadata = {}
        for attempt in ATTEMPTS:
            # The request that counts for each area is the second one exactly where the first reply was too long.
            counting = chosen(requests, ledger)
            wanted = requests.filter(pl.col("attempt") == attempt).join(counting, on="request_key", how="semi")
            metadata[f"attempt_{attempt}"] = yield from ask(
                context,
                gateway,
                ledger,
                wanted,
                purpose=AREA_SUMMARY,
                factory=factory,
                messages=lambda row: prompt.messages(row["title"], row["text"], max_words, row["attempt"]),
            )
        yield dg.MaterializeResult(
            data_version=data_version(ledger, requests["request_key"]),
            metadata={f"{attempt}_{k}": v for attempt, figures in metadata.items() for k, v in figures.items()},
        )

    @table_assets(spec, ["area_summaries"], deps=["area_summary_replies"])
    def area_summaries(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        summaries = chosen(artifacts.read_frame(collection, REQUESTS), open_ledger())
        n_open = summaries.filter(pl.col("status") == OPEN).height
        if n_open:
            raise IncompleteJudgments(
                f"{collection}: {n_open} area summaries were not answered. Materialise area_summary_replies again; "
                "nothing was written.",
                n_open=n_open,
            )
        metadata = {"area_summaries": {"by_status": counts(summaries, "status")}}
        yield from store(context, warehouse, spec, {"area_summaries": summaries}, metadata)

    @table_assets(
        spec,
        ["queries", "project_queries"],
        deps=["areas", "criteria", "area_summaries", "project_areas", "sampled_projects"],
    )
    def write_queries(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        project_areas = warehouse.load(collection, "project_areas")
        queries = build_queries(
            warehouse.load(collection, "areas"),
            warehouse.load(collection, "criteria"),
            warehouse.load(collection, "area_summaries"),
            project_areas,
        )
        of_projects = build_project_queries(project_areas, warehouse.load(collection, "sampled_projects"), queries)
        metadata = {
            "queries": {"by_level": counts(queries, "level")},
            "project_queries": {"by_level": counts(of_projects, "level")},
        }
        yield from store(context, warehouse, spec, {"queries": queries, "project_queries": of_projects}, metadata)

    @table_check(
        spec,
        "area_summaries",
        "every_area_has_a_summary",
        description="An area without an accepted summary has no query.",
        blocking=False,
    )
    def every_area_has_a_summary(warehouse: Warehouse) -> dg.AssetCheckResult:
        without = warehouse.load(collection, "area_summaries", ["area", "status"]).filter(pl.col("status") != OK)
        return dg.AssetCheckResult(
            passed=without.is_empty(),
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"without": without.height, "areas": dict(without.sort("area").head(20).iter_rows())},
        )

    @table_check(
        spec, "queries", "every_subset_has_queries", description="A subset without any query could not be judged."
    )
    def every_subset_has_queries(warehouse: Warehouse) -> dg.AssetCheckResult:
        present = set(warehouse.load(collection, "queries", ["level"])["level"])
        return dg.AssetCheckResult(
            passed=present == set(spec.subsets),
            metadata={"expected": list(spec.subsets), "present": sorted(present)},
        )

    return Stage(
        [write_summary_requests, area_summary_replies, area_summaries, write_queries],
        [every_area_has_a_summary, every_subset_has_queries],
    )
