"""What starts by itself: sensors and schedules as the daemon evaluates them, and what they may start."""

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

# No public way leads from a schedule to its next ticks.
from dagster._utils.schedules import schedule_execution_time_iterator

from tendril_assets.definitions import definitions
from tendril_assets.defs import automation, collection_files, collection_spec
from tendril_assets_tests.assets.toy_landing import Toy, paragraph, prepared

RUN_KEY_TAG = "dagster/run_key"
ZURICH = ZoneInfo("Europe/Zurich")


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toy:
    made = prepared(tmp_path, monkeypatch, "p1", "p2", "tested")
    monkeypatch.setattr(automation, "SETTLE_S", 0.0)
    return made


@pytest.fixture
def production(monkeypatch: pytest.MonkeyPatch) -> dg.Definitions:
    """The code location as it loads without a profile."""
    monkeypatch.setenv("TENDRIL_PROFILE", "none")
    monkeypatch.setenv("TENDRIL_HASH_KEY", "k" * 40)
    return definitions()


class Daemon:
    """The sensor daemon's rules over a real instance: the cursor moves after the runs, a known run key starts none."""

    def __init__(self, location: dg.Definitions, sensor: str, instance: dg.DagsterInstance) -> None:
        self.location, self.instance = location, instance
        self.sensor = location.resolve_sensor_def(sensor)
        self.cursor: str | None = None

    def tick(self) -> str | int:
        """The reason for no run, or the number of runs started; each is run to its end."""
        context = dg.build_sensor_context(instance=self.instance, cursor=self.cursor, definitions=self.location)
        data = self.sensor.evaluate_tick(context)
        started = 0
        for request in data.run_requests or ():
            tags = {RUN_KEY_TAG: str(request.run_key), **request.tags}
            if self.instance.get_runs(filters=dg.RunsFilter(tags={RUN_KEY_TAG: str(request.run_key)})):
                continue
            job = self.location.resolve_job_def(self.sensor.job_name)
            assert job.execute_in_process(instance=self.instance, tags=tags).success
            started += 1
        self.cursor = data.cursor
        return data.skip_message or started


def test_states_a_b_a_are_three_runs_and_a_state_that_stays_is_none(toy: Toy) -> None:
    with dg.instance_for_test() as instance:
        daemon = Daemon(definitions(), "tenders_landing", instance)
        assert daemon.tick() == 1
        assert daemon.tick() == "nothing changed"
        first, cursor = toy.texts(), daemon.cursor
        assert paragraph("p1", 3) in first

        toy.removals("document,p1/b.txt")
        assert daemon.tick() == 1
        assert paragraph("p1", 3) not in toy.texts()
        toy.removals("company,p1")
        assert "removals.csv: row 2: kind is 'company'" in str(daemon.tick())
        assert daemon.cursor != cursor
        (toy.folder / "removals.csv").unlink()
        assert daemon.tick() == 1
        assert toy.texts() == first

        keys = [run.tags[RUN_KEY_TAG] for run in instance.get_runs()]
        assert len(keys) == len({*keys}) == 3
        # A daemon that died between starting the run and noting the cursor asks for the same run again.
        daemon.cursor = cursor
        (toy.folder / "removals.csv").write_text(
            "kind,id,reason,date\ndocument,p1/b.txt,Begehren,2026-05-01\n", "utf-8"
        )
        assert daemon.tick() == 0


def test_a_landing_that_is_missing_or_wrong_is_a_reason(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = collection_spec("tenders", "sandbox")
    path = toy.folder / "evidence.csv"
    path.write_text("project,area,tier\np1,steel,unsure\n", "utf-8")
    found = automation.look_at_landing(spec, None)
    assert "evidence.csv: row 2: area 'steel' is no known area" in str(found.reason)
    assert found.cursor is None
    monkeypatch.setenv("TENDRIL_LANDING", str(toy.root / "nowhere"))
    assert "does not exist" in str(automation.look_at_landing(spec, None).reason)


def test_all_automation_is_off_at_first_and_named_for_its_collection(production: dg.Definitions) -> None:
    repository = production.get_repository_def()
    specs = {name: collection_spec(name, None) for name in collection_files()}
    assert {s.name for s in repository.sensor_defs} == {f"{name}_landing" for name in specs}
    assert {s.name for s in repository.schedule_defs} == {f"{n}_simap_daily" for n, s in specs.items() if s.simap}
    assert {s.default_status for s in repository.sensor_defs} == {dg.DefaultSensorStatus.STOPPED}
    assert {s.default_status for s in repository.schedule_defs} <= {dg.DefaultScheduleStatus.STOPPED}
    assert all(s.minimum_interval_seconds >= 30 for s in repository.sensor_defs)


def test_the_sample_is_watched_and_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENDRIL_PROFILE", "sandbox")
    found = automation.automation()
    assert [s.name for s in found.sensors or ()] == [f"{name}_landing" for name in collection_files()]
    assert not found.schedules


def test_what_automation_starts_is_never_paid_and_needs_no_gpu(production: dg.Definitions) -> None:
    graph = production.resolve_asset_graph()
    repository = production.get_repository_def()
    jobs = {i.job_name for i in (*repository.sensor_defs, *repository.schedule_defs)}
    assert jobs
    for name in jobs:
        selected = production.resolve_job_def(name).asset_layer.executable_asset_keys
        assert dg.AssetKey([name.rsplit("_", 1)[0], "corpus"]) in selected
        pools = {pool for key in selected for pool in graph.get(key).pools or ()}
        assert pools, name
        assert not pools & {"judge_api", "gpu"}, name


@pytest.mark.parametrize("change", [dt.date(2027, 3, 28), dt.date(2027, 10, 31)])
def test_the_schedule_fires_once_a_day_at_one_local_time_when_clocks_change(change: dt.date) -> None:
    spec = collection_spec("tenders", None)
    schedule = automation.daily_schedule(spec)
    start = dt.datetime.combine(change - dt.timedelta(days=2), dt.time(12), ZURICH)
    ticks = schedule_execution_time_iterator(start.timestamp(), schedule.cron_schedule, schedule.execution_timezone)
    local = [next(ticks).astimezone(ZURICH) for _ in range(4)]
    assert [t.date() - change for t in local] == [dt.timedelta(days=d) for d in (-1, 0, 1, 2)]
    assert {t.time() for t in local} == {dt.time(5, 30)}
    assert len({t.utcoffset() for t in local}) == 2
