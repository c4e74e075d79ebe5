"""``SentenceTransformerTrainer`` with this product's loss, evaluation and checkpoints. Importing it loads torch.

What differs from the stock trainer, and why:

* The gradient of an optimiser step is the mean over its rows, on however many processes they are. The stock trainer
  takes the mean over micro-batches, which overweights the rows of a short last one, and in a process group it leaves
  that one out altogether. Rows are dealt by ``training.sampling``, in the order of the stock trainer.
* A loss or gradient that is NaN or infinite ends the run before the weights change; the stock trainer goes on.
* Evaluation scores graded, balanced nDCG@10 (``training.validation``), its encoding shared among the processes; the
  library's evaluators are binary.
* A checkpoint counts only once its marker is written, and the best weights are found by step, not by absolute path.
* Weights are saved as safetensors alone, by the first process: no pickled training arguments, no generated card.
* One process computes on one GPU. The stock trainer takes all GPUs it sees, with a larger batch than the recipe's.
"""

import logging
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import torch
from accelerate.utils import send_to_device
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from torch.utils.data import DataLoader, Sampler
from transformers import PrinterCallback, TrainerCallback, trainer_utils

from tendril_assets.errors import CheckpointMismatch, NonFiniteLoss, TrainingError
from tendril_assets.spec_training import EarlyStop
from tendril_assets.training.bookkeeping import EVALUATION_PREFIX, Bookkeeper
from tendril_assets.training.checkpoints import Progress, RunFolder
from tendril_assets.training.devices import Group
from tendril_assets.training.evaluating import BalancedEvaluator
from tendril_assets.training.events import Report
from tendril_assets.training.examples import ExchangeSet, text_columns
from tendril_assets.training.grouping import grouping_collator
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.loss import OwnNegativesLoss
from tendril_assets.training.sampling import StepPlan
from tendril_assets.training.validation import BALANCED
from tendril_assets.training.whole import read_marker

# The collator hands this column through untouched; it carries the number of the example, so that errors can name it.
_EXAMPLE = "label"
_PADDING = -1  # in place of that number: a row without weight, for a process that has none left
_NAMED_PAIRS = 8
# Of torch's ten lines of advice, what its unpickler met.
_TORCH_SAYS = re.compile(r"Unsupported .{1,200}?(?=\.? Please|\n|$)")
_FIRST_SENTENCE = re.compile(r"[^.\n]{1,200}")


def column_prompts(job: TrainingJob, columns: list[str]) -> dict[str, str]:
    """What stands before the texts of each column; columns without a prompt are left out."""
    prompts = {name: job.spec.query_prompt if name == "query" else job.spec.document_prompt for name in columns}
    return {name: prompt for name, prompt in prompts.items() if prompt}


def training_arguments(
    job: TrainingJob, run: RunFolder, columns: list[str], *, bf16: bool, group: Group
) -> SentenceTransformerTrainingArguments:
    """The recipe in the trainer's words; ``columns`` are the text columns, the query first."""
    recipe, spec = job.recipe, job.spec
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(run.path),
        per_device_train_batch_size=spec.batch,
        gradient_accumulation_steps=job.accumulation_over(group.size),
        num_train_epochs=recipe.max_epochs,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=recipe.warmup_share,  # below 1 it is a share of all steps, rounded up
        optim="adamw_torch_fused",
        weight_decay=recipe.weight_decay,
        max_grad_norm=recipe.max_grad_norm,
        seed=job.seed,
        bf16=bf16,
        prompts=column_prompts(job, columns),
        eval_strategy="steps",
        eval_steps=recipe.evaluate_every,
        save_strategy="steps",
        save_steps=recipe.evaluate_every,
        logging_strategy="steps",
        logging_steps=1,
        logging_nan_inf_filter=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        # Processes make different numbers of passes (training.grouping); each would wait for the others' buffers.
        ddp_broadcast_buffers=False,
        # Rows are dealt by StepSampler, which leaves out none; False would only earn a warning in a process group.
        dataloader_drop_last=group.size > 1,
        # The library forms a group of CPU processes only where it is told to stay on the CPU.
        use_cpu=group.device == "cpu",
        disable_tqdm=True,
        report_to="none",
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # no DataParallel
    return arguments


class StepSampler(Sampler[list[int]]):
    """The micro-batches of one process as row numbers; ``padding`` is the row for those that have none."""

    def __init__(self, plan: StepPlan, seed: int, rank: int, padding: int) -> None:
        self.plan = plan
        self._seed = seed
        self._rank = rank
        self._padding = padding
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """The trainer calls it before each epoch: every epoch has a shuffle of its own, known without the former."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        shuffled = torch.randperm(self.plan.rows, generator=torch.Generator().manual_seed(self._seed + self._epoch))
        for rows in self.plan.deal(shuffled.tolist(), self._rank):
            yield rows or [self._padding]

    def __len__(self) -> int:
        return self.plan.micro_batches


class StepLoader(DataLoader):
    """The trainer looks for ``set_epoch`` on the loader."""

    def set_epoch(self, epoch: int) -> None:
        assert isinstance(self.batch_sampler, StepSampler)
        self.batch_sampler.set_epoch(epoch)


class OwnNegativesTrainer(SentenceTransformerTrainer):
    """See the module's docstring.

    ``pairs``: (query_id, positive_id) of each example, by its number. ``saving``: entered with the step while the first
    process writes a checkpoint.
    """

    def __init__(
        self,
        *args: Any,
        plan: StepPlan,
        pairs: list[tuple[str, str]],
        group: Group,
        saving: Callable[[int], AbstractContextManager[None]],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._saving = saving
        # compute_loss divides by the rows of the whole step; nothing is left to divide.
        self.loss_is_scaled_for_ga = True
        self.tokens = 0
        self._plan = plan
        self._pairs = pairs
        self._group = group
        self._counted = 0  # tokens of the step on this process
        self._losses: list[torch.Tensor] = []  # of the step's micro-batches, on the device
        self._examples: list[list[int]] = []
        self.remove_callback(PrinterCallback)

    def get_train_dataloader(self) -> DataLoader:
        """Not prepared by accelerate, which would deal the batches its own way: they stay on the CPU here."""
        sampler = StepSampler(self._plan, self.args.seed, self._group.rank, padding=self._plan.rows)
        return StepLoader(
            self.train_dataset,  # ty: ignore[invalid-argument-type]
            batch_sampler=sampler,
            collate_fn=self.data_collator,
            pin_memory=self.args.dataloader_pin_memory,
        )

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: torch.device) -> tuple[list, int]:
        """The micro-batches of one optimiser step and the number of its rows on all processes.

        Tokens and rows are noted here, before the batches move: a GPU is not waited for.
        """
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        self._losses, self._examples = [], [batch[_EXAMPLE].tolist() for batch in batches]
        self._counted = sum(
            int(mask.sum()) for batch in batches for name, mask in batch.items() if name.endswith("attention_mask")
        )
        return batches, self._plan.rows_in(self.state.global_step % self._plan.steps)

    def _prepare_inputs(self, inputs: dict[str, Any]) -> dict[str, Any]:
        # From pinned memory the copy runs beside the computation; the stock one waits for it.
        return send_to_device(inputs, self.args.device, non_blocking=self.args.device.type == "cuda")

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> torch.Tensor:
        """Sum of the row losses over the rows of the whole optimiser step.

        In a group it is multiplied by the number of processes: gradients and logged losses are means over them.

        Raises:
            TrainingError: called outside a training step, where the number of rows is unknown.
        """
        total = super().compute_loss(model, inputs)
        if isinstance(total, tuple) or num_items_in_batch is None:
            raise TrainingError("this trainer's loss is for training steps only: evaluate with training.validation")
        self._losses.append(total.detach())
        return total * (self._group.size / num_items_in_batch)

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        """Called when the gradients of a step are complete and before the weights change.

        Raises:
            NonFiniteLoss: on all processes, with the step that would have been made and the rows it came up with: those
                of the micro-batches with such a loss, or, where all losses are finite, those of the step.
        """
        norm = super()._get_grad_norm(model, grad_norm)
        losses = torch.stack(self._losses)
        bad = ~losses.isfinite()
        norm_is_bad = ~torch.as_tensor(norm, device=losses.device).isfinite()
        counted = torch.tensor(self._counted, dtype=torch.float32, device=losses.device)
        seen = torch.stack([bad.sum(), norm_is_bad, counted])
        bad_losses, bad_norms, tokens = self._group.total(seen).tolist()
        self.tokens += int(tokens)
        if bad_losses or bad_norms:
            rows = zip(bad.tolist(), self._examples, strict=True)
            mine = [example for is_bad, part in rows if is_bad or not bad_losses for example in part]
            self._stop_here("loss" if bad_losses else "gradient", mine)
        return norm

    def _stop_here(self, what: str, mine: list[int]) -> None:
        examples = [number for part in self._group.gather(mine) for number in part if number != _PADDING]
        pairs = [self._pairs[number] for number in examples]
        named = ", ".join(f"{query}/{positive}" for query, positive in pairs[:_NAMED_PAIRS])
        more = f" and {len(pairs) - _NAMED_PAIRS} more" if len(pairs) > _NAMED_PAIRS else ""
        step = self.state.global_step + 1
        raise NonFiniteLoss(
            f"the {what} is NaN or infinite at step {step}, query/positive {named}{more}: lower the learning rate, or look "
            "at these texts; nothing of this step was written, earlier checkpoints are kept",
            step=step,
            pairs=pairs,
        )

    def evaluate(self, *_args: Any, **_kwargs: Any) -> dict[str, float]:
        """The evaluator's values, the same on all processes; each takes part in the encoding."""
        assert self.evaluator is not None
        values: dict[str, float] = self.evaluator(self.model)  # ty: ignore[invalid-assignment]
        metrics = {f"{EVALUATION_PREFIX}{name}": value for name, value in values.items()}
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        self._group.wait()  # the first process may have tidied the run folder: the others write into it next
        return metrics

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """None: cards come from the warehouse, and the library's would look the base model up on the network."""

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        if self.args.should_save:
            self.model.save_pretrained(str(output_dir or self.args.output_dir), create_model_card=False)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        with self._saving(self.state.global_step) if self._group.is_first else nullcontext():
            super()._save_checkpoint(model, trial)
        self._group.wait()  # each process writes its random states: only now the folder may be called whole


def gains_no_more(values: Sequence[float], rule: EarlyStop | None) -> bool:
    """Whether the last ``patience`` evaluations in a row did not raise the best value by more than ``min_gain``.

    ``values`` are all evaluations in their order, the base first. They are the whole state of the rule: a resumed run
    reads them from its curve.
    """
    if rule is None or not values:
        return False
    best, waited = values[0], 0
    for value in values[1:]:
        waited = 0 if value > best + rule.min_gain else waited + 1
        best = max(best, value)
    return waited >= rule.patience


class EarlyStopping(TrainerCallback):
    """Ends training by ``gains_no_more``, on all processes at the same step."""

    def __init__(self, job: TrainingJob, progress: Progress) -> None:
        self._rule = job.recipe.early_stop
        self._values = evaluations(progress)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._values.append(kwargs["metrics"][f"{EVALUATION_PREFIX}{BALANCED}"])
        if gains_no_more(self._values, self._rule):
            control.should_training_stop = True


def evaluations(progress: Progress) -> list[float]:
    """The balanced values of a run so far, the base first."""
    return [value for _, measure, value in progress.curve if measure == BALANCED]


@dataclass(frozen=True)
class Training:
    """What is trained, on what, and where: ``progress`` is that of the first process, ``bf16`` the precision."""

    model: SentenceTransformer
    job: TrainingJob
    exchange: ExchangeSet
    evaluator: BalancedEvaluator
    run: RunFolder
    progress: Progress
    bf16: bool
    group: Group


def own_trainer(training: Training) -> OwnNegativesTrainer:
    """The trainer of a run, ready to ``train``: what is computed, without what is kept of it and told.

    Raises:
        TrainingError: gradient checkpointing is asked of a model that does not support it.
    """
    model, job, group, run = training.model, training.job, training.group, training.run
    if job.spec.gradient_checkpointing:
        _compute_activations_again(model, job)
    columns = text_columns(training.exchange)
    examples = training.exchange.train
    rows = examples.select(*columns, pl.col("example").cast(pl.Int64).alias(_EXAMPLE))
    plan = StepPlan(rows.height, job.recipe.effective_batch, job.spec.batch, group.size)
    if group.size > 1:
        rows = pl.concat([rows, rows.head(1).with_columns(pl.lit(_PADDING, pl.Int64).alias(_EXAMPLE))])
    arguments = training_arguments(job, run, columns, bf16=training.bf16, group=group)
    return OwnNegativesTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict(rows.to_dict(as_series=False)),
        loss=OwnNegativesLoss(model, job.recipe.scale),
        data_collator=grouping_collator(model, column_prompts(job, columns), arguments.device),
        evaluator=training.evaluator,
        plan=plan,
        pairs=list(examples.sort("example").select("query_id", "positive_id").iter_rows()),
        group=group,
        saving=lambda step: run.saving_checkpoint(step, training.progress.step),
    )


def _compute_activations_again(model: SentenceTransformer, job: TrainingJob) -> None:
    # On the network itself: the trainer's argument goes through a method of the model that the library is giving up.
    network = model.transformers_model
    if network is None or not network.supports_gradient_checkpointing:
        raise TrainingError(
            f"model {job.model}: {job.spec.base} cannot compute activations again: leave gradient_checkpointing out"
        )
    network.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": False})


def run_training(training: Training, resume_from: Path | None, report: Report) -> int:
    """Train to the end; ``progress`` (of the first process) and the run folder hold the outcome.

    Returns the number of optimiser steps.

    Raises:
        NonFiniteLoss: see ``OwnNegativesTrainer``.
    """
    job, run, progress = training.job, training.run, training.progress
    if gains_no_more(evaluations(progress), job.recipe.early_stop):
        return progress.step  # stopped before, and cut off before its result was in place
    trainer = own_trainer(training)
    if training.group.size > 1:
        # The trainer seeds all processes alike: each needs dropout masks of its own. A resumed run reads them back.
        torch.manual_seed(job.seed + training.group.rank)
    if training.group.is_first:
        trainer.add_callback(Bookkeeper(run, progress, job.recipe.effective_batch, lambda: trainer.tokens, report))
    trainer.add_callback(EarlyStopping(job, progress))
    # What a checkpoint was written with and is now otherwise, the run folder has told (RunFolder.resume_point).
    logging.getLogger(trainer_utils.__name__).addFilter(_is_news)
    try:
        trainer.train(resume_from_checkpoint=str(resume_from) if resume_from else None)
    except pickle.UnpicklingError as error:  # torch's restricted unpickler met something else than tensors and numbers
        raise _refused(run, resume_from, error) from error
    return trainer.state.global_step


def _is_news(record: logging.LogRecord) -> bool:
    return "do not match the ones in the `trainer_state.json`" not in record.getMessage()


def _refused(run: RunFolder, resume_from: Path | None, error: pickle.UnpicklingError) -> CheckpointMismatch:
    """The bytes are those that were written: what wrote them is the first thing to look at, then who else could have."""
    assert resume_from is not None
    written = read_marker(resume_from)[0]["versions"]
    versions = ", ".join(f"{name} {written.get(name, 'unknown')} (now {now})" for name, now in run.versions.items())
    said = _TORCH_SAYS.search(str(error)) or _FIRST_SENTENCE.search(str(error))
    met = said[0] if said else "without a word"
    return CheckpointMismatch(
        f"torch does not load {resume_from} ({met}). It was written by {versions}. If these differ, go on with those that "
        "wrote it. If not, it holds objects that training does not write, and that are not loaded, for they could run code: "
        f"somebody changed it. Or delete {run.path} to begin anew"
    )
