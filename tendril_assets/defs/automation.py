"""What starts by itself, once somebody switches it on: never a paid step, never a GPU.

Per collection a sensor on its landing folder and removal list, and, where it reads SIMAP, a daily schedule. Both are
off at first; people switch them on in the UI.
"""

import importlib

import dagster as dg

from tendril_assets.defs import collection_files, collection_spec
from tendril_assets.landing_state import SETTLE_S, Tick, tick
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec

INTERVAL_S = 60
TIMEZONE = "Europe/Zurich"
# Not between two and three, which the change of the clocks skips or repeats.
EVERY_MORNING = "30 5 * * *"
# Written by the schedule's own job, which lands it too.
ONLINE = "simap"


@dg.definitions
def automation() -> dg.Definitions:
    profile = Settings.from_env().profile
    specs = [collection_spec(collection, profile) for collection in collection_files()]
    return dg.Definitions(
        sensors=[landing_sensor(spec) for spec in specs],
        schedules=[daily_schedule(spec) for spec in specs if spec.simap is not None],
    )


def landing_sensor(spec: CollectionSpec) -> dg.SensorDefinition:
    """Starts ``<collection>_corpus`` once for each new state of the landing folder."""
    collection = spec.collection

    @dg.sensor(
        name=f"{collection}_landing",
        job_name=f"{collection}_corpus",
        minimum_interval_seconds=INTERVAL_S,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Landing and corpus whenever the landing folder or its removal list holds something new.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        found = look_at_landing(spec, context.cursor)
        if found.run_key is None and found.cursor is None:
            return dg.SkipReason(found.reason)
        if found.run_key is None:
            return dg.SensorResult(skip_reason=found.reason, cursor=found.cursor)
        request = dg.RunRequest(run_key=found.run_key, tags={"tendril/landing_state": str(found.state)})
        return dg.SensorResult(run_requests=[request], cursor=found.cursor)

    return sensor


def look_at_landing(spec: CollectionSpec, cursor: str | None) -> Tick:
    """One look at the collection's landing folder, with its own reading of the files as the check."""
    settings = Settings.from_env()
    folder = settings.landing / spec.collection
    sources = importlib.import_module(f"{__package__}.{spec.collection}.sources")
    return tick(
        folder,
        cursor,
        settings.home / "landing_state" / f"{spec.collection}.json",
        lambda hash_of: sources.landing_tables(folder, spec, hash_of),
        leave_out={ONLINE},
        settle_s=SETTLE_S,
    )


def daily_schedule(spec: CollectionSpec) -> dg.ScheduleDefinition:
    """Starts ``<collection>_simap`` every morning: what is new on SIMAP, then landing and corpus."""
    return dg.ScheduleDefinition(
        name=f"{spec.collection}_simap_daily",
        job_name=f"{spec.collection}_simap",
        cron_schedule=EVERY_MORNING,
        execution_timezone=TIMEZONE,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="New publications on SIMAP, then landing and corpus.",
    )
