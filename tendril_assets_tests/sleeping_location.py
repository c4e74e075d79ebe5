"""A code location of one step that says so and sleeps: ``python -m tendril_assets_tests.sleeping_location COMMAND`` is
``tendril COMMAND`` on it. Its job has the name of the default collection."""

import sys
import time

import dagster as dg

from tendril_assets.defs import DEFAULT_COLLECTION

ASLEEP = "the step is asleep"


@dg.asset(pool="duckdb")
def sleeper(context: dg.AssetExecutionContext) -> None:
    context.log.info(ASLEEP)
    while True:
        time.sleep(0.1)


def location() -> dg.Definitions:
    return dg.Definitions(assets=[sleeper], jobs=[dg.define_asset_job(DEFAULT_COLLECTION, selection="*")])


if __name__ == "__main__":
    import tendril_assets.definitions
    from tendril_assets.cli import main

    tendril_assets.definitions.definitions = location
    main(sys.argv[1:])
