"""Fine-tune one model from a job to its installed result. torch is loaded here, once there is work to do."""

import importlib.metadata
import platform
from dataclasses import asdict
from typing import TYPE_CHECKING

from tendril_assets.errors import TrainingError
from tendril_assets.evaluation.dense import load_encoder
from tendril_assets.evaluation.models import load_model
from tendril_assets.training.checkpoints import Progress, RunFolder, finished, install
from tendril_assets.training.events import Note, Report
from tendril_assets.training.examples import ExchangeSet, text_columns
from tendril_assets.training.job import TrainingJob, data_hash, read_exchange
from tendril_assets.training.validation import BALANCED, Validation

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# Reloaded weights must give the best value again. In bf16 the run evaluates under autocast, the reload does not.
_TOLERANCE = 1e-6
_TOLERANCE_BF16 = 5e-3
_LIBRARIES = ("sentence-transformers", "transformers", "torch", "accelerate", "datasets", "tokenizers", "safetensors")
_SHOWN_INPUTS = 3


def fit(job: TrainingJob, report: Report) -> dict:
    """Train, or resume, or find it done; returns the content of ``result.json``.

    With the same configuration and data as the installed result nothing is done and torch is not loaded.

    Raises:
        TrainingError: unreadable job parts, a batch that does not divide, or kept weights that do not give the best
            value again.
        CheckpointMismatch, NonFiniteLoss: see their modules.
    """
    exchange = read_exchange(job.exchange)
    run = RunFolder(job.folder, job.config_hash, data_hash(exchange))
    done = finished(job.folder, run.config_hash, run.data_hash)
    if done is not None:
        report(
            Note(
                f"{job.model}: nothing to do, trained with this configuration and data (best step {done['best_step']})"
            )
        )
        return done
    accumulation = job.accumulation
    report(Note(f"{job.model}: loading {job.spec.base}"))
    return _train(job, exchange, run, accumulation, report)


def _train(job: TrainingJob, exchange: ExchangeSet, run: RunFolder, accumulation: int, report: Report) -> dict:
    import transformers
    from transformers.utils.logging import disable_progress_bar

    from tendril_assets.training.bookkeeping import evaluated, record_evaluation
    from tendril_assets.training.trainer import run_training, supports_bf16, uncached_encoder

    disable_progress_bar()
    transformers.set_seed(job.seed)
    model = load_model(job.spec)
    bf16 = job.recipe.bf16 and supports_bf16()
    if job.recipe.bf16 and not bf16:
        report(Note("bf16 is not supported on this device: training in fp32"))
    rendered = rendered_inputs(job, exchange)
    for text in rendered[:_SHOWN_INPUTS]:
        report(Note(f"input: {text[:200]}"))
    truncated = count_truncated(model, rendered)
    report(
        Note(
            f"{exchange.train.height} examples, batch {job.spec.batch} x {accumulation} on {model.device}; {truncated} of "
            f"{len(rendered)} inputs are cut at {job.spec.max_length} tokens"
        )
    )
    validation = Validation(exchange, job.subsets, job.reach)
    checkpoint = run.last_whole()
    if checkpoint is None:
        resume_from, progress = None, Progress(run.config_hash, run.data_hash)
        base = validation.score(uncached_encoder(model, job.spec))
        record_evaluation(run, progress, 0, base, model)
        report(evaluated(progress, 0, job.steps(exchange.train.height), base))
    else:
        resume_from, progress = checkpoint
        report(Note(f"resuming from {resume_from.name}"))
    steps = run_training(model, job, exchange, validation, run, progress, resume_from, report)
    _check_reproduced(job, run, progress, validation, _TOLERANCE_BF16 if bf16 else _TOLERANCE)
    result = _result(job, progress, steps, exchange.train.height, truncated, len(rendered))
    stored = install(job.folder, run.best(progress.best_step), result)
    run.discard()
    report(
        Note(f"{job.model}: kept step {progress.best_step}, {progress.best_value:.4f} (base {progress.base_value:.4f})")
    )
    return stored


def rendered_inputs(job: TrainingJob, exchange: ExchangeSet) -> list[str]:
    """Each different input of training and validation as the model sees it, prompt included: query, positive, ..."""
    query, document = job.spec.query_prompt, job.spec.document_prompt
    columns = text_columns(exchange)
    seen: dict[str, None] = {}
    for row in exchange.train.select(columns).iter_rows():
        for name, text in zip(columns, row, strict=True):
            seen[(query if name == "query" else document) + text] = None
    seen.update(dict.fromkeys(query + text for text in exchange.queries["text"]))
    seen.update(dict.fromkeys(document + text for text in exchange.corpus["text"]))
    return list(seen)


def count_truncated(model: "SentenceTransformer", texts: list[str]) -> int:
    """Inputs with more tokens, special ones included, than the model's maximum length."""
    limit = model.max_seq_length
    if limit is None:
        return 0
    lengths = (len(ids) for ids in model.tokenizer(texts, truncation=False, verbose=False)["input_ids"])
    return sum(length > limit for length in lengths)


def _check_reproduced(
    job: TrainingJob, run: RunFolder, progress: Progress, validation: Validation, tolerance: float
) -> None:
    kept = load_encoder(job.spec, run.best(progress.best_step))
    value = validation.score(kept)[BALANCED]
    if abs(value - progress.best_value) > tolerance:
        raise TrainingError(
            f"model {job.model}: the kept weights of step {progress.best_step} give {value:.6f} when loaded again, "
            f"{progress.best_value:.6f} was measured in training; delete {run.path} and train again"
        )


def _result(job: TrainingJob, progress: Progress, steps: int, examples: int, truncated: int, inputs: int) -> dict:
    record = asdict(progress)
    del record["step"]
    return record | {
        "model": job.model,
        "base": job.spec.base,
        "revision": job.spec.revision,
        "steps": steps,
        "examples": examples,
        "inputs": inputs,
        "truncated_inputs": truncated,
        "max_length": job.spec.max_length,
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in _LIBRARIES},
    }
