"""The toy collection as a code location of its own, for runs in other processes: 1,000 requests of 250 passages.

``python -m tendril_assets_tests.assets.toy_location JOB`` is ``tendril run JOB`` on it. The gateway and the data folder
come from the environment, as everywhere.
"""

import sys
from pathlib import Path
from typing import Any

import dagster as dg

from tendril_assets.settings import Settings
from tendril_assets.tables import TABLES
from tendril_assets_tests.assets.toy_judging import resources_in, run, spec, stages

PAIRS, PASSAGES = 1000, 250
JOB = "toy_replies"
_UP_TO_REQUESTS = "summary_requests area_summary_replies area_summaries queries project_queries candidates"


def resources(home: Path, base_url: str, **gateway: Any) -> dict[str, Any]:
    return resources_in(home, base_url, **{"concurrency": 8, **gateway})


def prepare(home: Path, base_url: str) -> dict[str, Any]:
    """A data folder in which nothing but the judge's 1,000 requests is open: 4 queries of one group.

    The resources it returns ask four times as many at once as the location does: for what a stopped run has left.
    """
    given = resources(home, base_url, concurrency=32)
    passages = [(f"p-{i}", f"Abschnitt {i}: es wird FSC verlangt.", "g-1", "d-1", i) for i in range(PASSAGES)]
    given["warehouse"].replace("toy", {"corpus": TABLES["corpus"].frame(passages)}, "test")
    run(spec(), given, _UP_TO_REQUESTS, raise_on_error=True)
    return given


@dg.definitions
def location() -> dg.Definitions:
    settings, stage = Settings.from_env(), stages(spec())
    return dg.Definitions(
        assets=stage.assets,
        asset_checks=stage.checks,
        resources=resources(settings.home, settings.base_url),
        jobs=[dg.define_asset_job(JOB, selection=[dg.AssetKey(["toy", "judge_replies"])])],
    )


if __name__ == "__main__":
    import tendril_assets.definitions
    from tendril_assets.cli import main

    tendril_assets.definitions.definitions = location
    main(["run", *sys.argv[1:]])
