"""Fine-tune one model from a job to its installed result. torch is loaded here, once there is work to do."""

import importlib.metadata
import platform
from dataclasses import asdict
from typing import TYPE_CHECKING

from tendril_assets.errors import TrainingError
from tendril_assets.evaluation.encoding import token_lengths
from tendril_assets.evaluation.models import load_model
from tendril_assets.training.alone import alone
from tendril_assets.training.checkpoints import Progress, RunFolder
from tendril_assets.training.disk import DiskNeed
from tendril_assets.training.events import Began, Event, Note, Report, Reused
from tendril_assets.training.examples import ExchangeSet
from tendril_assets.training.installing import finished, install
from tendril_assets.training.job import TrainingJob, data_hash, read_exchange
from tendril_assets.training.ranks import announced_rank, announced_size
from tendril_assets.training.record import KINDS, device_name, input_counts, input_kinds, run_facts
from tendril_assets.training.validation import BALANCED, Validation

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from tendril_assets.training.devices import Group
    from tendril_assets.training.evaluating import BalancedEvaluator

# Reloaded weights must give the best value again. The same texts go in the same batches through the same kernels in the
# same precision, so the ranks are the same, and only a sum of their gains could round differently.
_TOLERANCE = 1e-6
# A run that went on elsewhere: cosines differ by rounding, and passages of almost equal score change places.
_TOLERANCE_ELSEWHERE = 5e-3
_LIBRARIES = ("sentence-transformers", "transformers", "torch", "accelerate", "datasets", "tokenizers", "safetensors")
_SHOWN_INPUTS, _SHOWN_CHARACTERS = 3, 200


def fit(job: TrainingJob, report: Report) -> dict:
    """Train, or resume, or find it done; returns the content of ``result.json``.

    With the same configuration and data as the installed result nothing is done and torch is not loaded. Under torchrun
    every process calls it with the same job and gets the same result; the first one reports and writes.

    Raises:
        TrainingError: unreadable job parts, a batch that does not divide, kept weights that do not give the best value
            again, or a failure of another process.
        CheckpointMismatch, DiskFull, NonFiniteLoss: see their modules.
        FolderInUse: another process trains in the job's folder.
    """
    if announced_rank():
        return _fit(job, _say_nothing)
    with alone(job.folder):
        return _fit(job, report)


def _fit(job: TrainingJob, report: Report) -> dict:
    exchange = read_exchange(job.exchange)
    run = RunFolder(job.folder, job.config_hash, data_hash(exchange), library_versions())
    done = finished(job.folder, run.config_hash, run.data_hash, report)
    if done is not None:
        report(Reused(job.model, done["best_step"]))
        return done
    size = announced_size()
    accumulation = job.accumulation_over(size)
    if size != job.spec.processes:
        report(Note(f"{job.model}: {size} training processes, the specification says {job.spec.processes}"))
    report(Note(f"{job.model}: loading {job.spec.base}"))
    return _train(job, exchange, run, accumulation, report)


def _say_nothing(_event: Event) -> None:
    """The first process speaks for all."""


def _train(job: TrainingJob, exchange: ExchangeSet, run: RunFolder, accumulation: int, report: Report) -> dict:
    from tendril_assets.training.devices import process_group

    with process_group() as group:
        return _train_in(group, job, exchange, run, accumulation, report)


def _train_in(
    group: "Group", job: TrainingJob, exchange: ExchangeSet, run: RunFolder, accumulation: int, report: Report
) -> dict:
    import transformers
    from transformers.utils.logging import disable_progress_bar

    from tendril_assets.training.bookkeeping import evaluated, record_evaluation
    from tendril_assets.training.devices import precision
    from tendril_assets.training.evaluating import BalancedEvaluator
    from tendril_assets.training.trainer import run_training

    disable_progress_bar()
    transformers.set_seed(job.seed)
    model = load_model(job.spec, device=group.device)
    bf16, why_not = precision(job.recipe)
    if why_not:
        report(Note(why_not))
    counts = _tell_inputs(job, exchange, model, report) if group.is_first else {}
    processes = f"{group.size} processes, " if group.size > 1 else ""
    report(
        Note(f"{exchange.train.height} examples, {processes}batch {job.spec.batch} x {accumulation} on {model.device}")
    )
    run.place = _place(job, model, group, bf16=bf16)
    if group.is_first:
        run.reserve(_disk_need(model), report)
    validation = Validation(exchange, job.subsets, job.reach)
    evaluator = BalancedEvaluator(validation, job, bf16=bf16, group=group)
    point = group.from_first(run.resume_point(report, group.size) if group.is_first else None)
    report(
        Began(
            steps=job.steps(exchange.train.height),
            device=device_name(model.device),
            precision="bf16" if bf16 else "fp32",
            processes=group.size,
            resumed_from=None if point is None else point[1].step,
        )
    )
    if point is None:
        resume_from, progress = None, Progress(run.config_hash, run.data_hash)
        base = evaluator(model)
        if group.is_first:
            record_evaluation(run, progress, 0, base, model)
            report(evaluated(progress, 0, job.steps(exchange.train.height), base))
        progress = group.from_first(progress)
    else:
        resume_from, progress = point
        report(Note(f"resuming from {resume_from.name}"))
    steps = run_training(model, job, exchange, evaluator, run, progress, resume_from, report, bf16=bf16, group=group)
    progress = group.from_first(progress)
    _check_reproduced(job, run, progress, evaluator, group, report)
    if not group.is_first:
        return group.from_first(None)
    told = counts | run_facts(job, model, examples=exchange.train.height, steps=steps, bf16=bf16, processes=group.size)
    result = _result(job, progress, steps, exchange.train.height, told | {"validation": validation.sizes()})
    stored = install(job.folder, run.best(progress.best_step), result)
    run.discard(report)
    report(
        Note(f"{job.model}: kept step {progress.best_step}, {progress.best_value:.4f} (base {progress.base_value:.4f})")
    )
    return group.from_first(stored)


def _tell_inputs(job: TrainingJob, exchange: ExchangeSet, model: "SentenceTransformer", report: Report) -> dict:
    """Show the first inputs as the model reads them; returns how many there are and how many are cut, by kind."""
    kinds = input_kinds(job, exchange)
    for text in list(kinds)[:_SHOWN_INPUTS]:
        report(Note(f"input: {text[:_SHOWN_CHARACTERS]}"))
    cut = {kind: count_truncated(model, [text for text, of in kinds.items() if of == kind]) for kind in KINDS}
    counts = input_counts(kinds, cut)
    report(
        Note(
            f"cut at {model.max_seq_length} tokens: {cut['query']} of {counts['query_inputs']} queries, "
            f"{cut['document']} of {counts['document_inputs']} documents"
        )
    )
    return counts


def count_truncated(model: "SentenceTransformer", texts: list[str]) -> int:
    """Inputs with more tokens, prompt and special ones included, than the model reads."""
    limit = model.max_seq_length
    if limit is None:
        return 0
    return sum(length > limit for length in token_lengths(model.tokenizer, texts))


def _place(job: TrainingJob, model: "SentenceTransformer", group: "Group", *, bf16: bool) -> str:
    """Where and how values are computed: what decides on their last digits."""
    import torch

    threads = f" with {torch.get_num_threads()} threads" if model.device.type == "cpu" else ""
    return (
        f"{'bf16' if bf16 else 'fp32'} on {device_name(model.device)}{threads}, {group.size} processes, at most "
        f"{job.spec.encode_tokens} tokens a batch, torch {torch.__version__}"
    )


def _disk_need(model: "SentenceTransformer") -> DiskNeed:
    """AdamW keeps two values of the weight's own type beside each weight that is trained."""
    return DiskNeed(
        weights=sum(value.numel() * value.element_size() for value in model.state_dict().values()),
        optimiser=sum(2 * p.numel() * p.element_size() for p in model.parameters() if p.requires_grad),
    )


def _check_reproduced(
    job: TrainingJob,
    run: RunFolder,
    progress: Progress,
    evaluator: "BalancedEvaluator",
    group: "Group",
    report: Report,
) -> None:
    """Measure the kept weights once more, loaded from their folder, in the way the training measured them."""
    kept = load_model(job.spec, run.best(progress.best_step), device=group.device)
    value = evaluator(kept)[BALANCED]
    tolerance = _TOLERANCE
    if progress.best_measured_on != run.place:
        tolerance = _TOLERANCE_ELSEWHERE
        report(
            Note(
                f"the best value was measured elsewhere ({progress.best_measured_on}; now {run.place}): the kept weights "
                f"give {value:.6f} here, {progress.best_value:.6f} there, and may differ by {tolerance}"
            )
        )
    if abs(value - progress.best_value) > tolerance:
        raise TrainingError(
            f"model {job.model}: the kept weights of step {progress.best_step} give {value:.8f} when loaded again, "
            f"{progress.best_value:.8f} was measured in training. Nothing was installed; start again to measure again, or "
            f"delete {run.path} to train again"
        )


def _result(job: TrainingJob, progress: Progress, steps: int, examples: int, told: dict) -> dict:
    record = asdict(progress)
    del record["step"]
    return record | {
        "model": job.model,
        "base": job.spec.base,
        "revision": job.spec.revision,
        "steps": steps,
        "examples": examples,
        "max_length": job.spec.max_length,
        **told,
        "versions": library_versions(),
    }


def library_versions() -> dict[str, str]:
    """Python and the libraries that compute."""
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in _LIBRARIES}
