"""Whether the models that a job needs are on this machine: asked before its first step, for nothing is fetched in a run.

A collection that draws its candidates from rankings needs the base models of these for its pool, and one whose questions a
reranker looks at needs that one, long before anything is trained: what comes before both is paid.
"""

from collections.abc import Iterable

import dagster as dg
from rich.console import Console

from tendril_assets.assets.training import training_job
from tendril_assets.defs import collection_spec
from tendril_assets.errors import SettingsError, TrainingError
from tendril_assets.evaluation.model_state import ModelState, reranker_states, unusable_models
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.training.installing import RESULT, finished
from tendril_assets.training.job import data_hash, read_exchange

# Assets of a collection, below its name: what ranks for the pool, and what the questions' teacher looks at.
_POOL, _QUESTIONS = ("pool",), ("generated_questions",)


def require_models(job: dg.JobDefinition, settings: Settings, console: Console) -> None:
    """Every model and reranker that the job's steps need can be used, as far as its files tell.

    A base that is not fetched counts. One that has been trained from does not where its commit is pinned: the kept training
    and rankings are known without it. It is warned of then, for whatever this run changes before the training, or a ranking
    that was never made, needs it after all. Raises SettingsError, naming each model, what is wrong and what to do.
    """
    steps: dict[str, set[tuple[str, ...]]] = {}
    for key in job.asset_layer.executable_asset_keys:
        steps.setdefault(key.path[0], set()).add(tuple(key.path[1:]))
    found, artifacts = [], Artifacts(root=str(settings.artifacts))
    for collection, inner in sorted(steps.items()):
        if not any(len(path) == 2 and path[0] in ("models", "runs") for path in inner) and not inner & {
            _POOL,
            _QUESTIONS,
        }:
            continue
        spec = collection_spec(collection, settings.profile)
        needed = needed_models(spec, inner)
        for state in unusable_models(spec):
            if state.name not in needed:
                continue
            told = f"{collection}: {state.told}"
            try:
                is_needed = not _is_trained(spec, state, artifacts)
            except TrainingError as error:
                is_needed, told = True, f"{told}. What was trained from it cannot be used either: {error}"
            if is_needed:
                found.append(told)
            else:
                console.print(
                    f"{told}. Its model is trained already: the base is needed only if something of it is to be made anew",
                    style="yellow",
                    markup=False,
                )
        rerankers = needed_rerankers(spec, inner)
        found += [f"{collection}: {one.told}" for one in reranker_states(spec) if one.problem and one.name in rerankers]
    if found:
        listed = "\n".join(f"  {problem}" for problem in found)
        raise SettingsError(
            f"{job.name} was not begun, and nothing was asked or paid: its steps need models that cannot be used\n{listed}\n"
            "tendril models shows each model; jobs without training and ranking do not need them."
        )


def needed_models(spec: CollectionSpec, steps: Iterable[tuple[str, ...]]) -> set[str]:
    """Names of the models that ``steps`` (asset keys below the collection) train, or rank with."""
    steps = set(steps)
    if any(len(path) == 2 and path[0] in ("models", "runs") for path in steps):
        return set(spec.models)
    if _POOL not in steps:
        return set()
    return {name for name in spec.models if spec.evaluation.resting_on([f"{name}_base"]) & set(spec.candidates.systems)}


def needed_rerankers(spec: CollectionSpec, steps: Iterable[tuple[str, ...]]) -> set[str]:
    """Names of the rerankers that ``steps`` score with: the questions' teacher, and those of reranked systems."""
    steps = set(steps)
    ranked = {path[1] for path in steps if len(path) == 2 and path[0] == "runs"}
    if _POOL in steps:
        ranked |= set(spec.candidates.systems)
    found = {rule.reranker for name, rule in spec.evaluation.reranked.items() if name in ranked}
    generation = spec.registers.generation if spec.registers else None
    teacher = generation.filters.teacher if generation else None
    return found | ({teacher.reranker} if teacher and _QUESTIONS in steps else set())


def _is_trained(spec: CollectionSpec, state: ModelState, artifacts: Artifacts) -> bool:
    """Whether the base is only not here, and the model's asset would find its training kept, from the examples as they
    are now. Raises TrainingError where there are no examples, or what was kept is not as training left it."""
    if not (state.missing and state.spec.is_hub_id and state.is_pinned):
        return False  # without the base nobody could say what was trained from
    job = training_job(spec, artifacts, state.name)
    if not (job.folder / RESULT).is_file():
        return False
    return (
        finished(job.folder, job.config_hash, data_hash(read_exchange(job.exchange, job.recipe.n_negatives)))
        is not None
    )
