"""What the training benchmarks compare: our trainer and a plain sentence-transformers one, on the same made-up data.

Queries, positives and negatives have the lengths of the published ones: areas with a summary, criteria with their
ambition levels, passages of 20 to 5,000 characters, most of them short. The plain trainer is the stock one with the
stock collator and dataloader, and the loss one would write for these columns: a pass per column, mean over the batch.
"""

import functools
import time
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from torch import Tensor, nn
from transformers import PrinterCallback, TrainerCallback
from transformers.trainer_utils import IntervalStrategy

from tendril_assets.evaluation.encoding import token_lengths
from tendril_assets.spec import ModelSpec, TrainingSpec
from tendril_assets.training.checkpoints import Progress, RunFolder
from tendril_assets.training.devices import Group
from tendril_assets.training.examples import ExchangeSet, text_columns
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.trainer import BalancedEvaluator, Training, own_trainer
from tendril_assets.training.validation import Validation
from tendril_assets_tests.benchmarks.neardup import made_up
from tendril_assets_tests.published_catalogs import Area, areas

LEVELS = ("area", "criterion")
VALIDATION_PASSAGES = 12
ARMS = ("ours", "plain")


class Timed(NamedTuple):
    """One arm: seconds, CPU seconds, tokens and padded tokens per step after the warm-up, and the loss of each step."""

    wall_s: float
    cpu_s: float
    padded_tokens: float
    real_tokens: float
    losses: list[float]


def made_up_exchange(examples: int) -> ExchangeSet:
    """``examples`` rows in turn of both levels, negatives of the same project, and one small validation group."""
    known = _areas()
    passages = made_up(4 * examples + VALIDATION_PASSAGES).select("passage_id", "text")
    train = []
    for number, row in enumerate(passages.head(4 * examples).iter_slices(4)):
        texts = row["text"].to_list()
        train.append(
            {
                "example": number,
                "level": LEVELS[number % 2],
                "query_id": f"q{number}",
                "positive_id": row["passage_id"][0],
            }
            | {"query": _query(known[number % len(known)], LEVELS[number % 2]), "positive": texts[0]}
            | {f"negative_{k}": texts[k] for k in (1, 2, 3)}
        )
    corpus = (
        passages.tail(VALIDATION_PASSAGES).with_columns(group_id=pl.lit("g")).select("passage_id", "group_id", "text")
    )
    queries = pl.DataFrame(
        [(f"v{level}", level, _query(known[0], level)) for level in LEVELS],
        schema=["query_id", "level", "text"],
        orient="row",
    )
    qrels = queries.select("query_id").join(corpus.select("passage_id", "group_id"), how="cross")
    graded = qrels.with_columns(score=pl.when(pl.col("passage_id") == corpus["passage_id"][0]).then(2).otherwise(0))
    frame = pl.DataFrame(train, schema_overrides={"example": pl.UInt32})
    return ExchangeSet(train=frame, corpus=corpus, queries=queries, qrels=graded)


@functools.cache
def _areas() -> list[Area]:
    return areas(0.2)


def _query(area: Area, level: str) -> str:
    """As the warehouse words them: an area's summary of at most 100 words, a criterion and its ambition levels."""
    if level == "area":
        return " ".join(f"{area.title}: {area.text}".split()[:100])
    criterion = area.criteria[0]
    return " ".join([criterion["text"], *criterion["levels"].values()])


def written_job(folder: Path, exchange: ExchangeSet, spec: ModelSpec, recipe: TrainingSpec) -> TrainingJob:
    """A job as the assets write it, below ``folder``."""
    files = {}
    for name, frame in exchange._asdict().items():
        files[name] = folder / "exchange" / f"{name}.parquet"
        files[name].parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(files[name])
    return TrainingJob("measured", folder / "models" / "measured", files, recipe, spec, LEVELS, seed=42)


def recipe_of(effective_batch: int, **changes: object) -> TrainingSpec:
    """The published recipe over one epoch of a few steps, without a warm-up of the rate."""
    fields = {"effective_batch": effective_batch, "max_epochs": 1, "warmup_share": 0.0, "bf16": False}
    return TrainingSpec.model_validate(fields | changes)


def with_long_texts(exchange: ExchangeSet, words: int) -> ExchangeSet:
    """The same rows, each passage repeated to at least so many words: as many tokens or more."""
    passages = [name for name in text_columns(exchange) if name != "query"]
    rows = exchange.train.with_columns(
        pl.col(name).map_elements(lambda text: " ".join([text] * (1 + words // len(text.split()))), pl.String)
        for name in passages
    )
    return exchange._replace(train=rows)


def real_tokens(model: SentenceTransformer, job: TrainingJob, exchange: ExchangeSet) -> list[int]:
    """Tokens of each text of training as the model reads it, prompt included, cut at the maximum length."""
    inputs = [
        (job.spec.query_prompt if name == "query" else job.spec.document_prompt) + text
        for name in text_columns(exchange)
        for text in exchange.train[name]
    ]
    return [min(length, job.spec.max_length) for length in token_lengths(model.tokenizer, inputs)]


class PlainLoss(nn.Module):
    """InfoNCE over the row's own columns as a user of the library writes it: mean over the micro-batch."""

    def __init__(self, model: nn.Module, scale: float) -> None:
        super().__init__()
        self.model = model
        self.scale = scale

    def forward(self, sentence_features: list[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        columns = [self.model(features)["sentence_embedding"].float() for features in sentence_features]
        query, *candidates = (nn.functional.normalize(column, dim=-1) for column in columns)
        scores = self.scale * (query.unsqueeze(1) * torch.stack(candidates, dim=1)).sum(-1)
        return nn.functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long, device=scores.device))


class PlainTrainer(SentenceTransformerTrainer):
    """Stock but for the model card, for which the library asks the network."""

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        pass


class Clock(TrainerCallback):
    """The time at which each step ended, and its loss. On a GPU what was queued has run by then."""

    def __init__(self, model: nn.Module) -> None:
        self.ended: list[tuple[float, float, int, int]] = []
        self.losses: list[float] = []
        self._padded = self._real = 0
        self._seen: list[Tensor] = []  # real tokens of a pass, on the device: a GPU is not waited for
        model.register_forward_pre_hook(self._count)

    def _count(self, _module: nn.Module, inputs: tuple) -> None:
        self._padded += inputs[0]["input_ids"].numel()
        self._seen.append(inputs[0]["attention_mask"].sum())

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        moment = time.perf_counter(), time.process_time()
        self._real += sum(int(tokens) for tokens in self._seen)
        self._seen = []
        self.ended.append((*moment, self._padded, self._real))

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any) -> None:
        if logs and "loss" in logs:
            self.losses.append(float(logs["loss"]))

    def after(self, warm_up: int) -> Timed:
        """Means per step over those after the first ``warm_up``."""
        steps = len(self.ended) - warm_up
        means = [(end - begin) / steps for begin, end in zip(self.ended[warm_up - 1], self.ended[-1], strict=True)]
        return Timed(*means, losses=list(self.losses))


def trained(arm: str, model: SentenceTransformer, job: TrainingJob, exchange: ExchangeSet, *, bf16: bool) -> Clock:
    """Train one epoch without evaluation and saving, by ``arm``, one of ``ARMS``."""
    trainer = _ours(model, job, exchange, bf16=bf16) if arm == "ours" else _plain(model, job, exchange, bf16=bf16)
    clock = Clock(model)
    trainer.add_callback(clock)
    trainer.train()
    return clock


def _ours(
    model: SentenceTransformer, job: TrainingJob, exchange: ExchangeSet, *, bf16: bool
) -> SentenceTransformerTrainer:
    group, run = Group(), RunFolder(job.folder, "measured", "measured")
    evaluator = BalancedEvaluator(Validation(exchange, LEVELS), job, bf16=bf16, group=group)
    progress = Progress("measured", "measured")
    trainer = own_trainer(Training(model, job, exchange, evaluator, run, progress, bf16, group))
    trainer.args.eval_strategy = trainer.args.save_strategy = IntervalStrategy.NO
    return trainer


def _plain(
    model: SentenceTransformer, job: TrainingJob, exchange: ExchangeSet, *, bf16: bool
) -> SentenceTransformerTrainer:
    columns, spec, recipe = text_columns(exchange), job.spec, job.recipe
    prompts = {name: spec.query_prompt if name == "query" else spec.document_prompt for name in columns}
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(job.folder / "plain"),
        per_device_train_batch_size=spec.batch,
        gradient_accumulation_steps=job.accumulation,
        num_train_epochs=recipe.max_epochs,
        learning_rate=recipe.learning_rate,
        warmup_steps=recipe.warmup_share,
        weight_decay=recipe.weight_decay,
        seed=job.seed,
        bf16=bf16,
        activation_checkpointing=spec.gradient_checkpointing,
        activation_checkpointing_kwargs={"use_reentrant": False} if spec.gradient_checkpointing else None,
        prompts={name: prompt for name, prompt in prompts.items() if prompt},
        save_strategy="no",
        logging_strategy="steps",
        logging_steps=1,
        disable_tqdm=True,
        report_to="none",
    )
    dataset = Dataset.from_dict(exchange.train.select(columns).to_dict(as_series=False))
    trainer = PlainTrainer(model=model, args=arguments, train_dataset=dataset, loss=PlainLoss(model, recipe.scale))
    trainer.remove_callback(PrinterCallback)
    return trainer
