"""Questions that language models write over passages, and the filters they pass.

The passages are drawn from the splits, which are fixed before. ``generation_requests`` hands the requests over, and notes
them first, so that a removal finds their replies. ``generation_replies`` works on that file and the ledger alone.
``generated_questions`` reads the replies and filters them; the teacher scores no pair twice.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg
import polars as pl

from tendril_assets.assets.asking import Replies, ask, data_version, keys_version, open_ledger
from tendril_assets.assets.common import Stage, asset_key, counts, store, table_assets, table_check, work_asset
from tendril_assets.assets.register_shown import question_pictures
from tendril_assets.assets.routed_qrels import published_pairs
from tendril_assets.errors import IncompleteJudgments
from tendril_assets.evaluation.rerank import LEXICAL, KeptScores, load_reranker
from tendril_assets.judging.parse import latest_calls
from tendril_assets.judging.purposes import GENERATION, HAND_OVERS
from tendril_assets.qrels.routes import GOLD_GRADE
from tendril_assets.qrels.splits import TRAIN
from tendril_assets.queries.families import Writer, misnamed, shared_families
from tendril_assets.queries.generated import Question, Screening, question_rows, read_questions, shares, without_repeats
from tendril_assets.queries.generation import OPEN
from tendril_assets.queries.languages import language_rules
from tendril_assets.queries.questions import (
    PREFIX,
    draw_passages,
    factory_of,
    load_question_prompt,
    question_requests,
)
from tendril_assets.queries.screening import ACCEPTED, SCREENING_VERSION
from tendril_assets.release.wording import markdown_table
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.gateway import Gateway
from tendril_assets.resources.ledger import FINAL_STATUSES
from tendril_assets.resources.request_passages import note_requests
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_registers import GenerationSpec, TeacherSpec

REQUESTS = HAND_OVERS[GENERATION].file
REPLIES = "generation_replies"
SCORES = "scores"
_TOLD_SECONDS = 10.0
_SHOWN = 20


def generation_assets(spec: CollectionSpec) -> Stage:
    """corpus, splits, live_attachments -> generation_requests -> generation_replies -> generated_questions."""
    generation = spec.registers.generation if spec.registers else None
    if generation is None:
        return Stage([], [])
    assets = [_requests(spec, generation), _replies(spec, generation), _questions(spec, generation)]
    return Stage(assets, _checks(spec, generation))


def _requests(spec: CollectionSpec, generation: GenerationSpec) -> dg.AssetsDefinition:
    collection, prompt = spec.collection, load_question_prompt(generation.prompt)
    language_rules(prompt.language)  # before anything is paid for

    @work_asset(
        spec,
        REQUESTS,
        stage="queries",
        description="Requests for one question over each passage that was drawn.",
        # Of live_attachments nothing is read: its check, that no asked question is about a training group, has to block
        # before anything is paid for.
        deps=["corpus", "splits", "live_attachments", "erased_ids", *_history_deps(spec)],
        pool="duckdb",
        kinds={"parquet"},
    )
    def write_requests(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> dg.MaterializeResult:
        columns = ["passage_id", "document_id", "group_id", "text"]
        passages = warehouse.load(collection, "corpus", columns).join(
            warehouse.load(collection, "splits"), on="group_id"
        )
        sources = _published(warehouse, spec)["passage_id"].unique()
        drawn = draw_passages(passages, generation, spec.seed, sources.to_list())
        requests = question_requests(drawn, generation, prompt)
        # Before any of them can be asked: a reply that nobody can tie to its passage could not be erased with it.
        noted = note_requests(
            warehouse, collection, requests.select("request_key", "passage_id", "document_id", "group_id").unique()
        )
        path = artifacts.write_frame(collection, REQUESTS, requests)
        for name in generation.sets.keys() - set(requests["question_set"]):
            context.log.warning(f"{name}: no passage of split {generation.sets[name].split} can be asked about")
        return dg.MaterializeResult(
            data_version=keys_version(requests["request_key"]),
            metadata={
                "passages": requests.height,
                "by_set": counts(requests, "question_set"),
                "groups": requests["group_id"].n_unique(),
                "published_before": requests.filter(pl.col("passage_id").is_in(sources.to_list())).height,
                "newly_noted": noted.new,
                "prompt": prompt.identity,
                "path": dg.MetadataValue.path(str(path)),
            },
        )

    return write_requests


def _replies(spec: CollectionSpec, generation: GenerationSpec) -> dg.AssetsDefinition:
    collection, prompt = spec.collection, load_question_prompt(generation.prompt)

    @work_asset(
        spec,
        REPLIES,
        stage="queries",
        description="Replies with the questions, in the ledger.",
        deps=[REQUESTS],
        pool="judge_api",
        kinds={"llm"},
    )
    def generation_replies(context: dg.AssetExecutionContext, artifacts: Artifacts, gateway: Gateway) -> Replies:
        requests, ledger = artifacts.read_frame(collection, REQUESTS), open_ledger()
        metadata = yield from ask(
            context,
            gateway,
            ledger,
            requests,
            purpose=GENERATION,
            factory=factory_of(generation),
            messages=lambda row: prompt.messages(row["passage_text"]),
            allow_incomplete=generation.allow_incomplete,
        )
        yield dg.MaterializeResult(data_version=data_version(ledger, requests["request_key"]), metadata=metadata)

    return generation_replies


def _questions(spec: CollectionSpec, generation: GenerationSpec) -> dg.AssetsDefinition:
    collection, prompt = spec.collection, load_question_prompt(generation.prompt)
    language, teacher = language_rules(prompt.language), generation.filters.teacher
    needs_model = teacher is not None and spec.rerankers[teacher.reranker].base != LEXICAL

    @table_assets(
        spec,
        ["generated_questions"],
        deps=[REPLIES, "corpus"],
        pool="gpu" if needs_model else "cpu",
        version=SCREENING_VERSION,
    )
    def generated_questions(
        context: dg.AssetExecutionContext, warehouse: Warehouse, artifacts: Artifacts
    ) -> Iterator[dg.MaterializeResult]:
        requests = artifacts.read_frame(collection, REQUESTS)
        calls = latest_calls(open_ledger().frame(keys=requests["request_key"].unique()), FINAL_STATUSES)
        calls = calls.filter(pl.col("status").is_in(list(FINAL_STATUSES)))
        published = set(_published(warehouse, spec)["query_id"])
        questions = read_questions(requests, calls, prompt, language, published)
        n_open = sum(one.reply.status == OPEN for one in questions)
        if n_open and not generation.allow_incomplete:
            raise IncompleteJudgments(
                f"{collection}: {n_open:,} questions were not answered. Materialise {REPLIES} again, or set "
                "registers.generation.allow_incomplete; nothing was written.",
                n_open=n_open,
            )
        corpus = warehouse.load(collection, "corpus", ["passage_id", "text"])
        screening = Screening(corpus, spec.evaluation.bm25, generation.filters, language)
        screening.require(requests)
        screened = without_repeats(screening.alone(questions))
        told: dict[str, Any] = {}
        if teacher is not None:
            screened, told = _taught(context, artifacts, spec, teacher, screening, screened)
        rows = question_rows(screened)
        table = shares(rows)
        metadata = {
            "open": n_open,
            "accepted": rows.filter(status=ACCEPTED).height,
            "by_set_and_outcome": dg.MetadataValue.md(_markdown(table)),
            **_acceptance(rows),
            **question_pictures(rows),
            **told,
        }
        yield from store(context, warehouse, spec, {"generated_questions": rows}, {"generated_questions": metadata})

    return generated_questions


def _taught(
    context: dg.AssetExecutionContext,
    artifacts: Artifacts,
    spec: CollectionSpec,
    teacher: TeacherSpec,
    screening: Screening,
    questions: list[Question],
) -> tuple[list[Question], dict[str, Any]]:
    """Questions with the teacher's ranks, and what is told of it."""
    folder = artifacts.folder(spec.collection, SCORES, f"teacher_{teacher.reranker}")
    kept = KeptScores(load_reranker(spec.rerankers[teacher.reranker]), folder)
    if kept.identity is None:
        context.log.warning(f"reranker {teacher.reranker} has no pinned revision: its scores are not kept")
    taught = screening.taught(questions, kept, teacher, _paced(context))
    dropped = kept.keep_only_asked()
    ranks = pl.Series([one.teacher_rank for one in taught if one.teacher_rank is not None], dtype=pl.Int64)
    median = ranks.median()
    return taught, {
        "teacher": f"{teacher.reranker} ({spec.rerankers[teacher.reranker].base})",
        "teacher_rank_kept": f"{teacher.keep_rank} of {teacher.depth}",
        **({"median_teacher_rank": median} if median is not None else {}),
        "pairs_scored": kept.scored,
        "pairs_scored_before": kept.reused,
        "scores_dropped": dropped,
        "truncated_pairs": kept.truncated,
    }


def _paced(context: dg.AssetExecutionContext) -> Callable[[int, int], None]:
    told_at = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told_at
        if done == total or time.monotonic() - told_at >= _TOLD_SECONDS:
            context.log.info(f"teacher: {done:,} of {total:,} questions ranked")
            told_at = time.monotonic()

    return tell


def _history_deps(spec: CollectionSpec) -> list[str]:
    return ["landed_qrels"] if spec.qrels.append_only else []


def _published(warehouse: Warehouse, spec: CollectionSpec) -> pl.DataFrame:
    """query_id and passage_id of the gold pairs of generated questions that were ever published; none where the
    collection's pairs may come and go."""
    if not spec.qrels.append_only:
        return pl.DataFrame(schema={"query_id": pl.String(), "passage_id": pl.String()})
    pairs = published_pairs(warehouse, spec.collection)
    is_gold = pl.col("query_id").str.starts_with(PREFIX) & (pl.col("score") == GOLD_GRADE)
    return pairs.filter(is_gold).select("query_id", "passage_id")


def _markdown(table: pl.DataFrame) -> str:
    shown = [(name, status, n, f"{share:.1%}", alone) for name, status, n, share, alone in table.iter_rows()]
    return markdown_table(table.columns, shown)


def _acceptance(rows: pl.DataFrame) -> dict[str, float]:
    """``accepted_share_<set>``: as numbers, which the UI plots over the runs."""
    by_set = rows.group_by("question_set").agg(share=(pl.col("status") == ACCEPTED).mean()).sort("question_set")
    return {f"accepted_share_{name}": round(share, 4) for name, share in by_set.iter_rows()}


def _checks(spec: CollectionSpec, generation: GenerationSpec) -> list[dg.AssetChecksDefinition]:
    collection = spec.collection

    @dg.asset_check(
        asset=asset_key(spec, REQUESTS),
        name="generator_families_differ",
        description="No model family is asked for questions of the training set and of a held-out set, by what is declared "
        "and by what the models' names tell. Blocks before anything is paid for.",
        blocking=True,
        pool="duckdb",
    )
    def generator_families_differ(artifacts: Artifacts) -> dg.AssetCheckResult:
        asked = artifacts.read_frame(collection, REQUESTS, ["question_set", "split", "family", "model"]).unique()
        return _families(asked)

    @table_check(
        spec,
        "generated_questions",
        "answering_families_differ",
        description="The same of the models that answered, as the gateway named them: a router may send a request to "
        "another model than was asked.",
    )
    def answering_families_differ(warehouse: Warehouse) -> dg.AssetCheckResult:
        columns = ["question_set", "split", "family", "request_key"]
        rows = warehouse.load(collection, "generated_questions", columns)
        named = open_ledger().frame(keys=rows["request_key"].unique(), columns=("request_key", "answered_model"))
        answered = rows.join(named.drop_nulls(), on="request_key")
        return _families(answered.select("question_set", "split", "family", model="answered_model").unique())

    @table_check(
        spec,
        "generated_questions",
        "every_set_has_questions",
        description="A set of which no question is accepted is a register without queries.",
        blocking=False,
    )
    def every_set_has_questions(warehouse: Warehouse) -> dg.AssetCheckResult:
        rows = warehouse.load(collection, "generated_questions", ["question_set", "status"])
        empty = sorted(generation.sets.keys() - set(rows.filter(status=ACCEPTED)["question_set"]))
        return dg.AssetCheckResult(
            passed=not empty, severity=dg.AssetCheckSeverity.WARN, metadata={"without_questions": str(empty)}
        )

    @table_check(
        spec,
        "generated_questions",
        "no_group_is_asked_too_often",
        description=f"At most {generation.per_group} passages of a group are asked about, each of them once, and all of them "
        "are of the split that their set is for.",
    )
    def no_group_is_asked_too_often(warehouse: Warehouse) -> dg.AssetCheckResult:
        rows = warehouse.load(collection, "generated_questions", ["question_set", "passage_id", "group_id", "split"])
        most = rows.group_by("group_id").len().filter(pl.col("len") > generation.per_group)["group_id"].sort()
        twice = rows.filter(rows["passage_id"].is_duplicated())["passage_id"].unique().sort()
        now = rows.join(warehouse.load(collection, "splits"), on="group_id", how="left", suffix="_now")
        moved = now.filter(pl.col("split_now").ne_missing(pl.col("split")))["group_id"].unique().sort()
        return dg.AssetCheckResult(
            passed=most.is_empty() and twice.is_empty() and moved.is_empty(),
            metadata={
                "groups_above_the_limit": str(most.head(_SHOWN).to_list()),
                "passages_asked_twice": str(twice.head(_SHOWN).to_list()),
                "groups_of_another_split_now": str(moved.head(_SHOWN).to_list()),
            },
        )

    return [generator_families_differ, answering_families_differ, every_set_has_questions, no_group_is_asked_too_often]


def _families(asked: pl.DataFrame) -> dg.AssetCheckResult:
    """``asked``: question_set, split, family and model, a row for each model of a set."""
    rows = asked.select("question_set", "split", "family", "model").iter_rows()
    writers = [Writer(name, split == TRAIN, family, model) for name, split, family, model in rows]
    shared, wrong = shared_families(writers), misnamed(writers)
    lines = [f"{one.family} writes {one.train} and {one.held_out}" for one in shared]
    return dg.AssetCheckResult(
        passed=not shared and not wrong,
        metadata={
            "models": str(sorted({f"{w.question_set}: {w.model} ({w.family})" for w in writers})),
            "shared": str(lines[:_SHOWN]),
            "misnamed": str(wrong[:_SHOWN]),
        },
    )
