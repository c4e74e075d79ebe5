"""``SentenceTransformerTrainer`` with this product's loss, evaluation and checkpoints. Importing it loads torch.

What differs from the stock trainer, and why:

* The gradient of an optimiser step is the mean over its rows. The stock trainer takes the mean over micro-batches,
  which overweights the rows of a short last one.
* A loss that is NaN or infinite ends the run before the backward pass; the stock trainer logs an average instead.
* Evaluation scores graded, balanced nDCG@10 (``training.validation``); the library's evaluators are binary.
* A checkpoint counts only once its marker is written, and the best weights are found by step, not by absolute path.
* Weights are saved as safetensors alone: no pickled training arguments, no generated card.
"""

from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
from transformers import PrinterCallback

from tendril_assets.errors import NonFiniteLoss, TrainingError
from tendril_assets.evaluation.dense import Encoder
from tendril_assets.spec import ModelSpec
from tendril_assets.training.bookkeeping import Bookkeeper
from tendril_assets.training.checkpoints import Progress, RunFolder
from tendril_assets.training.events import Report
from tendril_assets.training.examples import ExchangeSet, text_columns
from tendril_assets.training.job import TrainingJob
from tendril_assets.training.loss import OwnNegativesLoss
from tendril_assets.training.validation import Validation

# The collator hands this column through untouched; it carries the number of the example, so that errors can name it.
_EXAMPLE = "label"


def uncached_encoder(model: SentenceTransformer, spec: ModelSpec) -> Encoder:
    """The encoder the test collection is ranked with, on weights in the making: nothing is stored."""
    return Encoder(model, spec, identity="in training", store=None)


def supports_bf16() -> bool:
    return torch.cuda.is_available() and torch.cuda.is_bf16_supported()


def training_arguments(job: TrainingJob, run: RunFolder, columns: list[str]) -> SentenceTransformerTrainingArguments:
    """The recipe in the trainer's words; ``columns`` are the text columns, the query first."""
    recipe, spec = job.recipe, job.spec
    prompts = {name: spec.query_prompt if name == "query" else spec.document_prompt for name in columns}
    return SentenceTransformerTrainingArguments(
        output_dir=str(run.path),
        per_device_train_batch_size=spec.batch,
        gradient_accumulation_steps=job.accumulation,
        num_train_epochs=recipe.max_epochs,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=recipe.warmup_share,  # below 1 it is a share of all steps, rounded up
        optim="adamw_torch",
        weight_decay=recipe.weight_decay,
        seed=job.seed,
        bf16=recipe.bf16 and supports_bf16(),
        prompts={name: prompt for name, prompt in prompts.items() if prompt},
        eval_strategy="steps",
        eval_steps=recipe.evaluate_every,
        save_strategy="steps",
        save_steps=recipe.evaluate_every,
        logging_strategy="steps",
        logging_steps=1,
        logging_nan_inf_filter=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        disable_tqdm=True,
        report_to="none",
    )


class OwnNegativesTrainer(SentenceTransformerTrainer):
    """See the module's docstring."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Says that compute_loss already divides by the rows of the whole step.
        self.model_accepts_loss_kwargs = True
        self.tokens = 0
        self.remove_callback(PrinterCallback)

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: torch.device) -> tuple[list, int]:
        """The micro-batches of one optimiser step and the number of their rows."""
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        return batches, sum(len(batch[_EXAMPLE]) for batch in batches)

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> torch.Tensor:
        """Sum of the row losses over the rows of the whole optimiser step.

        Raises:
            NonFiniteLoss: with the step that would have been made and the numbers of the examples in the micro-batch.
            TrainingError: called outside a training step, where the number of rows is unknown.
        """
        self.tokens += sum(int(mask.sum()) for name, mask in inputs.items() if name.endswith("attention_mask"))
        total = super().compute_loss(model, inputs)
        if isinstance(total, tuple) or num_items_in_batch is None:
            raise TrainingError("this trainer's loss is for training steps only: evaluate with training.validation")
        if not torch.isfinite(total):
            step = self.state.global_step + 1
            raise NonFiniteLoss(
                f"the loss is {total.item()} at step {step}, examples {inputs[_EXAMPLE].tolist()}: lower the learning "
                "rate or look at these rows of the exchange file; earlier checkpoints are kept",
                step=step,
            )
        return total / num_items_in_batch

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """None: cards come from the warehouse, and the library's would look the base model up on the network."""

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        self.model.save_pretrained(str(output_dir or self.args.output_dir), create_model_card=False)


class BalancedEvaluator(SentenceEvaluator):
    """Hands ``Validation`` to the trainer."""

    def __init__(self, validation: Validation, spec: ModelSpec) -> None:
        super().__init__()
        self._validation = validation
        self._spec = spec

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        return self._validation.score(uncached_encoder(model, self._spec))


def run_training(
    model: SentenceTransformer,
    job: TrainingJob,
    exchange: ExchangeSet,
    validation: Validation,
    run: RunFolder,
    progress: Progress,
    resume_from: Path | None,
    report: Report,
) -> int:
    """Train to the end; ``progress`` and the run folder hold the outcome. Returns the number of optimiser steps.

    Raises:
        NonFiniteLoss: see ``OwnNegativesTrainer.compute_loss``.
    """
    columns = text_columns(exchange)
    rows = exchange.train.select(*columns, "example").rename({"example": _EXAMPLE})
    trainer = OwnNegativesTrainer(
        model=model,
        args=training_arguments(job, run, columns),
        train_dataset=Dataset.from_dict(rows.to_dict(as_series=False)),
        loss=OwnNegativesLoss(model, job.recipe.scale),
        evaluator=BalancedEvaluator(validation, job.spec),
    )
    trainer.add_callback(Bookkeeper(run, progress, job.recipe.effective_batch, lambda: trainer.tokens, report))
    trainer.train(resume_from_checkpoint=str(resume_from) if resume_from else None)
    return trainer.state.global_step
