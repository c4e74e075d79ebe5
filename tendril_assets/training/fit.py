"""Fine-tune one model from a job to its installed result. torch is loaded here, once there is work to do."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tendril_assets.errors import TrainingError
from tendril_assets.evaluation.encoding import count_truncated
from tendril_assets.evaluation.models import find_base, load_model, weights_name
from tendril_assets.training.alone import alone
from tendril_assets.training.checkpoints import Progress, RunFolder
from tendril_assets.training.disk import DiskNeed
from tendril_assets.training.events import Began, Event, Note, Report, Reused
from tendril_assets.training.examples import ExchangeSet
from tendril_assets.training.first_inputs import tell_first_inputs
from tendril_assets.training.installing import finished, has_links, install, misplaced
from tendril_assets.training.job import TrainingJob, data_hash, read_exchange
from tendril_assets.training.ranks import announced_rank, announced_size
from tendril_assets.training.record import (
    KINDS,
    device_name,
    input_counts,
    input_kinds,
    library_versions,
    processor,
    reproduction,
    run_facts,
)
from tendril_assets.training.validation import Validation

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from tendril_assets.training.devices import Group


def fit(job: TrainingJob, report: Report) -> dict:
    """Train, or resume, or find it done; returns the content of ``result.json``.

    With the same configuration and data as the installed result nothing is done and torch is not loaded. Under torchrun
    every process calls it with the same job and gets the same result; the first one reports and writes.

    The kept weights are measured once more, loaded from their folder. What that gives is stored beside the best value
    and told; whether it may differ is judged by who reads the result (``record.reproduction``): their bytes are proved by
    their marker, and a finished training is not thrown away because this machine rounds differently.

    Raises:
        TrainingError: unreadable job parts, a batch that does not divide, a base that embeds otherwise once it is saved and
            loaded again, checkpoints none of which can be used, or a failure of another process.
        CheckpointMismatch, DiskFull, NonFiniteLoss: see their modules.
        FolderInUse: another process trains in the job's folder.
    """
    if announced_rank():
        return _fit(job, _say_nothing)
    with alone(job.folder):
        return _fit(job, report)


def _fit(job: TrainingJob, report: Report) -> dict:
    exchange = read_exchange(job.exchange, job.recipe.n_negatives)
    run = RunFolder(job.folder, job.config_hash, data_hash(exchange), library_versions(), job.spec.batch)
    _require_places(job.folder, run)
    size = announced_size()
    if size == 1 and (done := _finished(job, run, report)) is not None:
        return done
    accumulation = job.accumulation_over(size)
    if size != job.spec.processes:
        report(Note(f"{job.model}: {size} training processes, the specification says {job.spec.processes}"))
    return _train(job, exchange, run, accumulation, report)


def _require_places(folder: Path, run: RunFolder) -> None:
    """Raise TrainingError where a file lies in the place of a folder that training writes, or a folder in that of a file."""
    if wrong := [*misplaced(folder), *run.misplaced()]:
        raise TrainingError(
            f"training cannot write here: {'; '.join(wrong)}. Move it away and start again; nothing was changed"
        )


def _finished(job: TrainingJob, run: RunFolder, report: Report) -> dict | None:
    done = finished(job.folder, run.config_hash, run.data_hash)
    if done is not None:
        report(Reused(job.model, done["best_step"]))
    return done


def _say_nothing(_event: Event) -> None:
    """The first process speaks for all."""


def _train(job: TrainingJob, exchange: ExchangeSet, run: RunFolder, accumulation: int, report: Report) -> dict:
    from tendril_assets.training.devices import process_group

    with process_group() as group:
        if group.size > 1:  # one process looks: on a network disk two may not see the same
            done = group.from_first(_finished(job, run, report) if group.is_first else None)
            if done is not None:
                return done
        report(Note(f"{job.model}: loading {job.spec.base}"))
        return _train_in(group, job, exchange, run, accumulation, report)


def _train_in(
    group: "Group", job: TrainingJob, exchange: ExchangeSet, run: RunFolder, accumulation: int, report: Report
) -> dict:
    import transformers
    from transformers.utils.logging import disable_progress_bar

    from tendril_assets.training.bookkeeping import evaluated, record_evaluation
    from tendril_assets.training.devices import precision
    from tendril_assets.training.evaluating import BalancedEvaluator, free_memory
    from tendril_assets.training.trainer import Training, evaluations, gains_no_more, run_training

    disable_progress_bar()
    transformers.set_seed(job.seed)
    # What is loaded is recorded now: by the end of training the hub's cache may hold another commit, or none.
    base = {"revision": find_base(job.spec).commit or job.spec.revision}
    if group.is_first:
        base["base_weights"] = weights_name(job.spec)
    model = load_model(job.spec, device=group.device)
    bf16, why_not = precision(job.recipe)
    if why_not:
        report(Note(why_not))
    counts = _tell_inputs(job, exchange, model, report) if group.is_first else {}
    processes = f"{group.size} processes, " if group.size > 1 else ""
    report(
        Note(f"{exchange.train.height} examples, {processes}batch {job.spec.batch} x {accumulation} on {model.device}")
    )
    validation = Validation(exchange, job.subsets, job.reach)
    evaluator = BalancedEvaluator(validation, job, bf16=bf16, group=group)
    place = _place(model, group, bf16=bf16)
    run.place = lambda: f"{place}, at most {evaluator.budget} tokens a batch"
    steps = job.steps(exchange.train.height)
    point = group.from_first(run.resume_point(report, group.size) if group.is_first else None)
    # Only the result is still to be put in place where a run was cut off after its last step.
    is_over = point is not None and (
        point[1].step >= steps or gains_no_more(evaluations(point[1]), job.recipe.early_stop)
    )
    if group.is_first:
        run.tell_others(report)
        if not is_over:
            run.reserve(_disk_need(job, model), report)
    report(
        Began(
            steps=steps,
            device=device_name(model.device),
            precision="bf16" if bf16 else "fp32",
            processes=group.size,
            resumed_from=None if point is None else point[1].step,
        )
    )
    if point is None:
        resume_from, progress = None, Progress(run.config_hash, run.data_hash)
        values = evaluator(model)
        if group.is_first:
            record_evaluation(run, progress, 0, values, model)
            report(evaluated(progress, 0, steps, values))
            evaluator.require_reload(model, run.best(0), exchange)
            free_memory()
        progress = group.from_first(progress)
    else:
        resume_from, progress = point
    training = Training(model, job, exchange, evaluator, run, progress, bf16, group)
    steps = run_training(training, resume_from, report)
    progress = group.from_first(progress)
    told = counts | base | {"validation": validation.sizes()}
    told |= run_facts(job, model, examples=exchange.train.height, steps=steps, bf16=bf16, processes=group.size)
    model.to("cpu")  # the kept weights take its place
    free_memory()
    told["reproduced_value"] = evaluator.reproduced(run.best(progress.best_step))
    told["reproduced_on"] = run.place()
    if not group.is_first:
        return group.from_first(None)
    result = _result(job, progress, steps, exchange.train.height, told)
    _tell_reproduction(result, report)
    stored = install(job.folder, run.best(progress.best_step), result)
    run.discard(report)
    run.tell_others(report)
    report(
        Note(f"{job.model}: kept step {progress.best_step}, {progress.best_value:.4f} (base {progress.base_value:.4f})")
    )
    return group.from_first(stored)


def _tell_inputs(job: TrainingJob, exchange: ExchangeSet, model: "SentenceTransformer", report: Report) -> dict:
    """Tell of the first inputs as the model reads them; returns how many there are and how many are cut, by kind."""
    tell_first_inputs(job, exchange, report)
    kinds = input_kinds(job, exchange)
    cut = {kind: count_truncated(model, [text for text, of in kinds.items() if of == kind]) for kind in KINDS}
    counts = input_counts(kinds, cut)
    report(
        Note(
            f"cut at {model.max_seq_length} tokens: {cut['query']} of {counts['query_inputs']} queries, "
            f"{cut['document']} of {counts['document_inputs']} documents"
        )
    )
    return counts


def _place(model: "SentenceTransformer", group: "Group", *, bf16: bool) -> str:
    """Where and how values are computed: what decides on their last digits, but for the token budget."""
    import torch

    device = device_name(model.device)
    if model.device.type == "cpu":
        device += f" {processor()} with {torch.get_num_threads()} threads"
    versions = library_versions() | {"torch": torch.__version__}  # with the CUDA it is built for
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{'bf16' if bf16 else 'fp32'} on {device}, {group.size} processes, {libraries}"


def _disk_need(job: TrainingJob, model: "SentenceTransformer") -> DiskNeed:
    """AdamW keeps two values of the weight's own type beside each weight that is trained."""
    weights = sum(value.numel() * value.element_size() for value in model.state_dict().values())
    return DiskNeed(
        weights=weights,
        optimiser=sum(2 * p.numel() * p.element_size() for p in model.parameters() if p.requires_grad),
        installed=0 if has_links(job.folder) else weights,
    )


def _tell_reproduction(result: dict, report: Report) -> None:
    if result["reproduced_value"] == result["best_value"]:
        return
    found = reproduction(result, result["validation"])
    report(
        Note(
            f"the kept weights give {result['reproduced_value']:.8f} when loaded again, {result['best_value']:.8f} was "
            f"measured in training: {found.difference:.1e} apart, {found.allowed:.1e} allowed. Measured then: "
            f"{result['best_measured_on']}. Now: {result['reproduced_on']}"
        )
    )


def _result(job: TrainingJob, progress: Progress, steps: int, examples: int, told: dict) -> dict:
    record = asdict(progress)
    del record["step"]
    return record | {
        "model": job.model,
        "base": job.spec.base,
        "steps": steps,
        "examples": examples,
        "max_length": job.spec.max_length,
        **told,
        "versions": library_versions(),
    }
