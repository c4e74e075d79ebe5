"""``tendril estimate`` over hand-over files and a ledger as the steps write them, with prices over real HTTP."""

import io
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from tendril_assets import costing
from tendril_assets.costing import Costing, open_costs
from tendril_assets.costing_report import show_estimate
from tendril_assets.defs import collection_spec
from tendril_assets.errors import SettingsError
from tendril_assets.judging.budget import Estimate
from tendril_assets.judging.calibration import calibration_requests
from tendril_assets.judging.candidates import plan
from tendril_assets.judging.prices import Prices
from tendril_assets.judging.prompts import load_guideline, render
from tendril_assets.judging.request import RequestFactory
from tendril_assets.judging.systems import systems_of
from tendril_assets.queries.generation import load_summary_prompt, summary_requests
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec, JudgeSpec
from tendril_assets_tests.resources.entries import entry, write

COLLECTION = "tenders"
SPEC = collection_spec(COLLECTION, "sandbox")
LLM = SPEC.judge.llm
FACTORY, GUIDELINE = RequestFactory(LLM), load_guideline(SPEC.judge.guideline)
QUERIES = pl.DataFrame({"query_id": ["q1", "q2"], "text": ["Holz aus Wäldern", "Strom"]})
PASSAGES = pl.DataFrame({"passage_id": [f"p{i:02}" for i in range(40)], "text": [f"Käse {i:02}" for i in range(40)]})
AREAS = pl.DataFrame({"area": ["a", "b"], "title": ["Holz", "Strom"], "text": ["Vom Holz.", "Vom Strom."]})

CALIBRATED = pl.DataFrame(
    [(f"c{i}", "x", "Strom", f"Käse {i:02}") for i in range(30)],
    schema=["query_id", "passage_id", "query_text", "passage_text"],
    orient="row",
)


@pytest.fixture(scope="module")
def gateway() -> Iterator[StandInGateway]:
    with StandInGateway(models=(LLM.model,)) as running:
        yield running


class Home:
    """A data folder with the requests of the judge (80) and of the summaries (2, and 2 more if they come too long)."""

    def __init__(self, folder: Path, base_url: str) -> None:
        self.env = {"TENDRIL_HOME": str(folder), "TENDRIL_LLM_BASE_URL": base_url, "TENDRIL_LLM_API_KEY": "k"}
        artifacts = Artifacts(root=str(self.settings().artifacts))
        pairs = (
            QUERIES.select("query_id")
            .join(PASSAGES.select("passage_id"), how="cross")
            .with_columns(group_id=pl.lit("g"))
        )
        self.requests = plan(pairs, QUERIES, PASSAGES, FACTORY, GUIDELINE).requests
        artifacts.write_frame(COLLECTION, "judge_requests", self.requests)
        factory, prompt = RequestFactory(SPEC.queries.summary), load_summary_prompt()
        self.summaries = summary_requests(AREAS, factory, prompt, SPEC.queries.summary_max_words)
        artifacts.write_frame(COLLECTION, "summary_requests", self.summaries)

    def settings(self, **env: str) -> Settings:
        return Settings.from_env({**self.env, **env})

    def answer(self, keys: pl.Series, **fields: Any) -> None:
        write(self.settings().ledger, *(entry(key, **fields) for key in keys))


@pytest.fixture
def home(tmp_path: Path, gateway: StandInGateway) -> Home:
    return Home(tmp_path, gateway.base_url)


def by_step(priced: Costing) -> dict[str, Estimate]:
    return {line.asked.step: line.estimate for line in priced.lines}


def shown(home: Home, *, as_json: bool = False, **env: str) -> str:
    stream = io.StringIO()
    show_estimate(home.settings(**env), COLLECTION, Console(file=stream, width=200), as_json=as_json)
    return stream.getvalue()


def test_sizes_are_those_of_the_rendered_messages(home: Home) -> None:
    judge = next(line for line in open_costs(home.settings(), COLLECTION).lines if line.asked.step == "judge")
    rows = []
    for query, passage in home.requests.select("query_text", "passage_text").iter_rows():
        whole = "".join(message["content"] for message in render(GUIDELINE, query, passage))
        rows.append((len(whole), len(whole.encode()), whole.index(passage)))
    found = judge.asked.open.select("prompt_characters", "prompt_bytes", "prefix_characters").rows()
    assert found == rows
    assert judge.asked.open["prefix"].n_unique() == 2


def test_what_is_open_is_counted_by_step_and_priced_by_whoever_knows(home: Home, gateway: StandInGateway) -> None:
    priced = open_costs(home.settings(), COLLECTION)
    steps = by_step(priced)
    assert {step: figure.requests for step, figure in steps.items()} == {"area_summary": 2, "judge": 80}
    assert priced.missing == {"calibration_requests": "calibration_requests"}
    assert priced.prices.source(LLM.model).startswith(f"price list of {gateway.base_url}")
    assert priced.prices.source(SPEC.queries.summary.model).startswith("price table of ")
    assert priced.prices.of(LLM.model) == Prices(Decimal("1e-7"), Decimal("4e-7"), cached=Decimal("1e-8"))
    judge = steps["judge"]
    assert judge.usd is not None
    assert judge.completion.bound == 80 * LLM.max_tokens
    # With 64 requests in flight 16 of the 80 can find a warm cache; the first query's 40 are all among the cold ones.
    assert 0 < judge.cached < judge.prompt.expected * 16 / 80
    assert judge.usd.expected < judge.usd.uncached


def test_with_few_in_flight_almost_all_find_the_cache_warm(home: Home) -> None:
    few = by_step(open_costs(home.settings(TENDRIL_CONCURRENCY="2"), COLLECTION))["judge"]
    many = by_step(open_costs(home.settings(), COLLECTION))["judge"]
    assert few.cached > 4 * many.cached


def test_answered_requests_cost_nothing_more_and_give_the_rates(home: Home) -> None:
    # 60 answers of 150 tokens in, 3 out and 50 cached. The prompts' characters divided by 150 are the rate.
    answered = home.requests["request_key"].head(60)
    home.answer(answered, model=LLM.model, prompt_tokens=150, completion_tokens=3, cached_tokens=50)
    home.answer(home.requests["request_key"].slice(60, 1), status="error")
    priced = open_costs(home.settings(), COLLECTION)
    line = next(line for line in priced.lines if line.asked.step == "judge")
    assert line.estimate.requests == 20
    texts = home.requests.select("query_text", "passage_text").head(60).rows()
    characters = sum(len(message["content"]) for pair in texts for message in render(GUIDELINE, *pair)) / 60
    assert line.rates.characters.expected == pytest.approx(1000 * characters / 150, abs=1)
    assert line.rates.completion.expected == 3000
    # With 64 in flight 60 replies say nothing of a warm cache; with one they do.
    assert (line.rates.prompt_replies, line.rates.cache_replies) == (60, 0)
    alone = open_costs(home.settings(TENDRIL_CONCURRENCY="1"), COLLECTION).lines
    assert next(line for line in alone if line.asked.step == "judge").rates.cache_replies == 60
    # A writer's replies say nothing of a judge's, nor the other way round.
    assert next(line for line in priced.lines if line.asked.step == "area_summary").rates.prompt_replies == 0


def test_a_summary_that_came_too_long_is_asked_for_once_more(home: Home) -> None:
    first = home.summaries.filter(pl.col("attempt") == 1)["request_key"]
    home.answer(first.head(1), purpose="area_summary", finish_reason="stop", content="Wort " * 500)
    home.answer(first.tail(1), purpose="area_summary", finish_reason="stop", content="Kurz.")
    assert by_step(open_costs(home.settings(), COLLECTION))["area_summary"].requests == 1


def test_each_system_of_the_calibration_has_a_line_and_shared_requests_are_paid_once(home: Home) -> None:
    systems = systems_of(SPEC.judge)
    requests = calibration_requests(
        CALIBRATED, systems, SPEC.judge.calibration.model_copy(update={"repeats": 1}), SPEC.seed
    )
    Artifacts(root=str(home.settings().artifacts)).write_frame(COLLECTION, "calibration_requests", requests)
    priced = open_costs(home.settings(), COLLECTION)
    calibration = [line for line in priced.lines if line.asked.step == "calibration"]
    assert priced.missing == {}
    assert [line.asked.llm for line in calibration] == [system.llm for system in systems]
    assert all(line.estimate.requests == 30 for line in calibration)
    # The declared judge is among the systems, and 30 of its 80 requests are these.
    assert by_step(priced)["judge"].requests == 50


def test_the_table_says_what_it_rests_on_and_where_caps_stop(home: Home) -> None:
    text = shown(home, TENDRIL_MAX_CALLS="42")
    assert "82 open requests" in text
    assert "calibration_requests: not written yet" in text
    assert "price table of 20" in text
    assert "assumed for the language" in text
    # Two calls for the summaries, 40 for the judge.
    assert "TENDRIL_MAX_CALLS=42 would stop the run at about request 40 of 80 of step judge" in text
    assert "TENDRIL_MAX_USD is not set" in text
    assert "TENDRIL_MAX_USD=900 is not expected to stop" in shown(home, TENDRIL_MAX_USD="900")


def test_an_unknown_price_is_said_and_a_cap_in_money_refused(home: Home, tmp_path: Path) -> None:
    table = tmp_path / "prices.yaml"
    table.write_text("date: 2026-01-01\nsource: nobody\nusd_per_million_tokens: {}\n", encoding="utf-8")
    text = shown(home, TENDRIL_PRICES=str(table), TENDRIL_MAX_USD="5")
    assert f"{SPEC.queries.summary.model}: unknown: " in text
    assert "not a price of zero" in text
    assert "TENDRIL_MAX_USD=5 cannot be kept" in text


def test_json_is_one_object_with_exact_money(home: Home) -> None:
    document = json.loads(shown(home, as_json=True, TENDRIL_MAX_CALLS="42"))
    judge = next(step for step in document["steps"] if step["step"] == "judge")
    assert document["total"]["requests"] == 82
    amounts = [Decimal(judge["usd"][name]) for name in ("low", "expected", "high", "bound")]
    assert amounts == sorted(amounts)
    whole = sum(Decimal(step["usd"]["expected"]) for step in document["steps"])
    assert Decimal(document["total"]["usd"]["expected"]) == whole
    assert document["stops"] == [
        {"cap": "calls", "step": "judge", "model": LLM.model, "after_requests": 40, "refused": False}
    ]


def test_nothing_open_costs_nothing(home: Home) -> None:
    home.answer(home.requests["request_key"], model=LLM.model)
    first = home.summaries.filter(pl.col("attempt") == 1)["request_key"]
    home.answer(first, purpose="area_summary", finish_reason="stop", content="Kurz.")
    text = shown(home)
    assert "0 open" in text
    assert "nothing is open" in text


def deciding(monkeypatch: pytest.MonkeyPatch, **calibration: Any) -> CollectionSpec:
    """The collection, with a calibration that decides who judges, or whether anyone does."""
    judge = SPEC.judge.model_dump()
    changed = {**judge, "calibration": {**judge["calibration"], "acceptance": {}, **calibration}}
    chosen = SPEC.model_copy(update={"judge": JudgeSpec.model_validate(changed)})
    monkeypatch.setattr(costing, "collection_spec", lambda name, profile: chosen)
    return chosen


def test_before_the_requests_are_written_it_says_what_to_run(tmp_path: Path) -> None:
    settings = Settings.from_env({"TENDRIL_HOME": str(tmp_path)})
    with pytest.raises(
        SettingsError, match=f"tendril run {COLLECTION}_candidates` first; all it pays for are the summ"
    ):
        open_costs(settings, COLLECTION)


@pytest.mark.parametrize("how", [{"apply": "chosen"}, {"refuse": True}])
def test_where_the_calibration_decides_the_step_named_first_pays_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gateway: StandInGateway, how: dict[str, Any]
) -> None:
    chosen = deciding(monkeypatch, **how)
    env = {"TENDRIL_HOME": str(tmp_path), "TENDRIL_LLM_BASE_URL": gateway.base_url, "TENDRIL_LLM_API_KEY": "k"}
    settings = Settings.from_env(env)
    with pytest.raises(SettingsError, match=f"materialise {COLLECTION}/calibration_requests first") as raised:
        open_costs(settings, COLLECTION)
    assert "all it pays for" not in str(raised.value)
    # With the requests of the calibration alone there is an estimate, before anything is paid.
    requests = calibration_requests(CALIBRATED, systems_of(chosen.judge), chosen.judge.calibration, chosen.seed)
    Artifacts(root=str(settings.artifacts)).write_frame(COLLECTION, "calibration_requests", requests)
    found = open_costs(settings, COLLECTION)
    assert {line.asked.step for line in found.lines} == {"calibration"}
    assert found.missing == {"summary_requests": "summary_requests", "candidates": "judge_requests"}
    stream = io.StringIO()
    show_estimate(settings, COLLECTION, Console(file=stream, width=200))
    assert (
        f"judge_requests: not written yet, so it is in none of the figures ({COLLECTION}/candidates"
        in stream.getvalue()
    )


def test_requests_of_a_system_that_is_gone_name_the_free_step(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = calibration_requests(CALIBRATED, systems_of(SPEC.judge), SPEC.judge.calibration, SPEC.seed)
    Artifacts(root=str(home.settings().artifacts)).write_frame(COLLECTION, "calibration_requests", requests)
    deciding(monkeypatch, models=["other/judge"])
    with pytest.raises(SettingsError, match="materialise calibration_requests again"):
        open_costs(home.settings(), COLLECTION)


@pytest.mark.parametrize("change", [{"max_tokens": 256}, {"temperature": 0.5}, {"model": "sandbox/judge-small"}])
def test_requests_of_another_specification_are_not_estimated(
    home: Home, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """Else what was answered for the former judge would hide that everything is open for the present one."""
    home.answer(home.requests["request_key"], purpose="judge")
    judge = SPEC.judge.model_copy(update={"llm": SPEC.judge.llm.model_copy(update=change)})
    monkeypatch.setattr(costing, "collection_spec", lambda *_: SPEC.model_copy(update={"judge": judge}))
    with pytest.raises(SettingsError, match=f"Materialise {COLLECTION}/candidates again"):
        open_costs(home.settings(), COLLECTION)


def test_no_figure_is_cut_in_a_pipe(home: Home) -> None:
    stream = io.StringIO()
    show_estimate(home.settings(), COLLECTION, Console(file=stream, width=80))
    text = stream.getvalue()
    assert "…" not in text
    assert LLM.model in text
    assert re.search(r"in all: [0-9.]+ USD expected \([0-9.]+ to [0-9.]+\), at most [0-9.]+", text)
