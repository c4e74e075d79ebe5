"""What the open requests of a collection will cost: the lines of ``tendril estimate``. Reads only, asks nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from tendril_assets.assets.asking import other_request
from tendril_assets.assets.judge_in_use import system_in_use
from tendril_assets.defs import collection_spec
from tendril_assets.errors import SettingsError
from tendril_assets.judging.budget import SIZES, Estimate, estimate
from tendril_assets.judging.parse import latest_calls
from tendril_assets.judging.prompts import Guideline, render
from tendril_assets.judging.purposes import AREA_SUMMARY, CALIBRATION, GENERATION, HAND_OVERS, JUDGE, needed
from tendril_assets.judging.request import RequestFactory
from tendril_assets.judging.systems import System, system_named
from tendril_assets.judging.token_rates import OBSERVED, Rates, cache_rule, rates
from tendril_assets.queries.generation import OPEN, choose_summaries, load_summary_prompt
from tendril_assets.queries.questions import factory_of, load_question_prompt
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.ledger import FINAL_STATUSES, Ledger
from tendril_assets.resources.price_list import PriceList, read_price_list
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_base import LLMSpec

# A private-use character stands for a text while a prompt is taken apart; no prompt may contain one.
_MARK = "\ue000"


@dataclass(frozen=True)
class Asked:
    """What one step asks of one model: ``sizes`` holds ``request_key`` and ``SIZES`` of all its requests, ``open`` those
    without an answer. ``kind``: prompts of one kind have replies of one kind."""

    step: str
    kind: str
    llm: LLMSpec
    language: str
    sizes: pl.DataFrame = field(repr=False)
    open: pl.DataFrame = field(repr=False)
    guideline: str | None = None


@dataclass(frozen=True)
class Line:
    """One line of the estimate, and what it rests on."""

    asked: Asked
    estimate: Estimate
    rates: Rates


@dataclass(frozen=True)
class Costing:
    """``missing``: hand-over files that are not written yet, by the step that writes each. ``lines`` are in the order in
    which a run asks."""

    collection: str
    lines: tuple[Line, ...]
    missing: dict[str, str]
    prices: PriceList


def open_costs(settings: Settings, collection: str) -> Costing:
    """The estimate of everything the collection's steps have still to ask.

    Raises:
        SettingsError: no step has written its requests yet, some are of another specification than today's, or the price
            table is malformed.
        LedgerError: the ledger holds a damaged line.
    """
    spec = collection_spec(collection, settings.profile)
    artifacts = Artifacts(root=str(settings.artifacts))
    paths = {purpose: artifacts.exchange(collection, HAND_OVERS[purpose].file) for purpose in needed(spec)}
    written = {purpose: path for purpose, path in paths.items() if path.is_file()}
    if not written:
        raise SettingsError(f"no requests of {collection} yet: {_first_step(spec)}")
    missing = {HAND_OVERS[purpose].step: HAND_OVERS[purpose].file for purpose in paths if purpose not in written}
    keys = pl.concat([pl.scan_parquet(path).select("request_key") for path in written.values()])
    calls = _answers(settings.ledger, keys.collect()["request_key"].unique())
    asked = _once(part for purpose, path in written.items() for part in _asked(spec, artifacts, purpose, path, calls))
    observed = [_observed(part, calls) for part in asked]
    prices = read_price_list(settings.base_url, settings.api_key, settings.price_table, datetime.now(UTC).date())
    lines = tuple(_line(part, asked, observed, prices, settings.concurrency) for part in asked if part.open.height)
    return Costing(collection, lines, missing, prices)


def _first_step(spec: CollectionSpec) -> str:
    """What writes the first requests, and what that costs."""
    job = f"`tendril run {spec.collection}_candidates`"
    worded = "the summaries the queries are worded with" if spec.queries else "the questions that models write"
    if not spec.judge.calibration.decides:
        return f"run {job} first; all it pays for are {worded}"
    return (
        f"materialise {spec.collection}/{HAND_OVERS[CALIBRATION].step} first, which pays for nothing. The calibration "
        f"decides who judges, so {job} pays for it, and for {worded}"
    )


def _once(parts: Iterable[Asked]) -> list[Asked]:
    """A request that several steps need is asked, and paid for, by the first of them."""
    chosen: list[Asked] = []
    for part in parts:
        waiting = part.open
        for before in chosen:
            waiting = waiting.join(before.open, on="request_key", how="anti", maintain_order="left")
        chosen.append(replace(part, open=waiting))
    return chosen


def _answers(ledger: Path, keys: pl.Series) -> pl.DataFrame:
    """The latest final answer to each of the requests; a ledger that does not exist yet is an empty one."""
    calls = Ledger(ledger).frame(keys=keys).filter(pl.col("status").is_in(list(FINAL_STATUSES)))
    return latest_calls(calls, FINAL_STATUSES)


def _asked(
    spec: CollectionSpec, artifacts: Artifacts, purpose: str, path: Path, calls: pl.DataFrame
) -> Iterator[Asked]:
    if purpose == AREA_SUMMARY:
        yield _summaries(spec, pl.read_parquet(path), calls)
        return
    if purpose == GENERATION:
        yield from _questions(spec, pl.read_parquet(path), calls)
        return
    scan = pl.scan_parquet(path)
    if purpose == JUDGE:
        judge = system_in_use(artifacts, spec)
        parts = [(judge, scan)] if judge else []
    else:
        names, step = scan.select("system").unique().collect()["system"].sort(), HAND_OVERS[purpose].step
        parts = [(system_named(spec.judge, name, step), scan.filter(pl.col("system") == name)) for name in names]
    for system, rows in parts:
        _require_current(spec, purpose, system, rows)
        sizes = _judged_sizes(rows, system.guideline)
        waiting = sizes.join(calls.select("request_key"), on="request_key", how="anti", maintain_order="left")
        yield Asked(purpose, "verdict", system.llm, system.guideline.language, sizes, waiting, system.guideline.name)


def _require_current(spec: CollectionSpec, purpose: str, system: System, rows: pl.LazyFrame) -> None:
    """One request stands for those of its system: all are made with the same model, parameters and guideline."""
    for row in rows.head(1).collect().iter_rows(named=True):
        if system.factory.key(system.messages(row), row.get("repeat")) != row["request_key"]:
            raise SettingsError(other_request(spec.collection, purpose))


def _judged_sizes(rows: pl.LazyFrame, guideline: Guideline) -> pl.DataFrame:
    """``request_key`` and ``SIZES`` of pairs, from the lengths of their texts and of the prompt around them."""
    around = "".join(message["content"] for message in render(guideline, "", _MARK))
    tail = len(around) - around.index(_MARK) - 1
    query, passage = pl.col("query_text").str, pl.col("passage_text").str
    before = query.len_chars().cast(pl.Int64) + (len(around) - 1 - tail)
    sizes = rows.select(
        "request_key",
        prompt_characters=before + passage.len_chars() + tail,
        prompt_bytes=query.len_bytes().cast(pl.Int64) + passage.len_bytes() + len(around.replace(_MARK, "").encode()),
        prefix=pl.col("query_text").hash(),
        prefix_characters=before,
    )
    return sizes.unique("request_key", keep="first", maintain_order=True).collect()


def _summaries(spec: CollectionSpec, requests: pl.DataFrame, calls: pl.DataFrame) -> Asked:
    """Open are the first requests of areas without a reply, and second ones where the first reply was too long."""
    prompt, llm, max_words = load_summary_prompt(), spec.wording.summary, spec.wording.summary_max_words
    factory = RequestFactory(llm)
    for row in requests.head(1).iter_rows(named=True):
        if factory.key(prompt.messages(row["title"], row["text"], max_words, row["attempt"])) != row["request_key"]:
            raise SettingsError(other_request(spec.collection, AREA_SUMMARY))
    prefix = "".join(m["content"] for m in prompt.messages(_MARK, _MARK, max_words)).index(_MARK)
    rows = []
    for key, title, text, attempt in requests.select("request_key", "title", "text", "attempt").iter_rows():
        whole = "".join(m["content"] for m in prompt.messages(title, text, max_words, attempt))
        rows.append((key, len(whole), len(whole.encode("utf-8", "replace")), 0, prefix))
    sizes = pl.DataFrame(rows, schema={"request_key": pl.String(), **SIZES}, orient="row")
    chosen = choose_summaries(requests, calls, llm.model, max_words).filter(pl.col("status") == OPEN)
    waiting = sizes.join(chosen, on="request_key", how="semi", maintain_order="left")
    return Asked(AREA_SUMMARY, "summary", llm, spec.release.language, sizes, waiting)


def _questions(spec: CollectionSpec, requests: pl.DataFrame, calls: pl.DataFrame) -> Iterator[Asked]:
    """One part for each model that writes questions, whatever the sets it writes."""
    generation = spec.registers.generation if spec.registers else None
    if generation is None or not set(requests["question_set"]) <= generation.sets.keys():
        raise SettingsError(other_request(spec.collection, GENERATION))
    factory, prompt = factory_of(generation), load_question_prompt(generation.prompt)
    around = "".join(message["content"] for message in prompt.messages(_MARK))
    passage = pl.col("passage_text").str
    for llm in dict.fromkeys(part.llm for part in generation.sets.values()):
        rows = requests.filter(
            pl.col("question_set").is_in([n for n, part in generation.sets.items() if part.llm == llm])
        )
        for row in rows.unique("question_set", keep="first").iter_rows(named=True):
            if factory(row).key(prompt.messages(row["passage_text"])) != row["request_key"]:
                raise SettingsError(other_request(spec.collection, GENERATION))
        sizes = rows.select(
            "request_key",
            prompt_characters=passage.len_chars().cast(pl.Int64) + (len(around) - 1),
            prompt_bytes=passage.len_bytes().cast(pl.Int64) + len(around.replace(_MARK, "").encode()),
            prefix=pl.lit(0, pl.UInt64),
            prefix_characters=pl.lit(around.index(_MARK), pl.Int64),
        ).unique("request_key", keep="first", maintain_order=True)
        waiting = sizes.join(calls.select("request_key"), on="request_key", how="anti", maintain_order="left")
        yield Asked(GENERATION, "question", llm, prompt.language, sizes, waiting)


def _observed(part: Asked, calls: pl.DataFrame) -> pl.DataFrame:
    return part.sizes.join(calls, on="request_key", how="inner").select(OBSERVED)


def _line(part: Asked, asked: list[Asked], observed: list[pl.DataFrame], prices: PriceList, in_flight: int) -> Line:
    def where(*, effort: bool = False, step: bool = False) -> pl.DataFrame:
        chosen = [
            frame
            for other, frame in zip(asked, observed, strict=True)
            if (other.kind, other.llm.model) == (part.kind, part.llm.model)
            and (not effort or other.llm.reasoning_effort == part.llm.reasoning_effort)
            and (not step or other.step == part.step)
        ]
        return pl.concat(chosen)

    measured = rates(
        part.language, part.llm.reasoning_effort, where(), where(effort=True), where(effort=True, step=True), in_flight
    )
    figure = estimate(
        part.open,
        part.llm.max_tokens,
        prices.of(part.llm.model),
        measured,
        cache_rule(part.llm.model),
        in_flight,
    )
    return Line(part, figure, measured)
