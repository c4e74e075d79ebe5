"""What a model card is written from, and whether it all speaks of the same model.

A card joins tables, the specification and a folder that were made at different times. Each claim is compared with its
other witness before a word is written: a card that describes other data, another recipe or other weights is refused.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.errors import ExportInvariantError
from tendril_assets.evaluation.aggregate import ALL
from tendril_assets.release.weights import WeightsFolder
from tendril_assets.release.wording import listed, named
from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_training import NO_RECIPE_FIELDS, ModelSpec, TrainingSpec
from tendril_assets.tables import TABLES
from tendril_assets.training.examples import BALANCE, CAP, USED

AVAILABLE = (USED, BALANCE, CAP)
# The publisher's word on a model, of which the present one counts and not that at the time of training.
_PRESENT = ("licence", "upstream", "matryoshka", "origin")


class ModelInputs(NamedTuple):
    """``trained``, ``scores``, ``comparisons``, ``agreement`` are the tables trained_models, system_scores, comparisons and
    judge_agreement; ``training_use`` is the query of that name; ``present_data`` the hash of the hand-over files as they
    are now; ``released`` whether the release of the specification's version holds the present data; ``stale`` says of each
    model that was trained on removed passages what of it was; ``registers`` is table register_scores, of a collection that
    holds its own tests."""

    spec: CollectionSpec
    trained: pl.DataFrame
    scores: pl.DataFrame
    comparisons: pl.DataFrame
    training_use: pl.DataFrame
    agreement: pl.DataFrame
    present_data: str
    released: bool
    sandbox: bool
    stale: Mapping[str, str] = {}
    registers: pl.DataFrame = TABLES["register_scores"].empty()

    @property
    def holds_tests(self) -> bool:
        """Whether the tests are groups held out of the collection itself, so that no figure over all registers stands alone."""
        return self.spec.evaluation.test == "held_out"

    @property
    def data_name(self) -> str | None:
        """Name and version of the release that holds the training data; None where there is none."""
        release = self.spec.release
        return f"{release.hub_id(release.name)}, version {release.version}" if self.released else None

    def for_levels(self, counts: Mapping[str, int]) -> str:
        """``63 for areas of action and 62 for criteria``, of the subsets that are trained on, in their order."""
        plurals = self.spec.release.plurals
        said = ((level, plurals.get(level, named(level).lower())) for level in self.spec.trained_subsets)
        return listed([f"{counts.get(level, 0):,} for {title}" for level, title in said])


class CardModel(NamedTuple):
    """One model as its card describes it; ``entry`` and ``recipe`` are those it was trained with."""

    name: str
    row: dict[str, Any]
    entry: ModelSpec
    recipe: TrainingSpec
    seed: int
    validation: dict[str, dict[str, int]]
    versions: dict[str, str]
    folder: WeightsFolder

    @property
    def base_system(self) -> str:
        return f"{self.name}_base"

    @property
    def tuned_system(self) -> str:
        return f"{self.name}_tuned"


def card_model(model: str, inputs: ModelInputs, folder: WeightsFolder) -> CardModel:
    """The model, once everything that is said of it agrees.

    Raises:
        KeyError: a model that the specification does not name.
        ExportInvariantError: naming every contradiction, each with what to do.
    """
    entry = inputs.spec.models[model]
    row = inputs.trained.filter(pl.col("model") == model).row(0, named=True)
    told = json.loads(row["recipe"])
    present = entry.model_dump(mode="json", include=set(_PRESENT))
    known = CardModel(
        name=model,
        row=row,
        entry=ModelSpec.model_validate(told["model"] | present),
        recipe=TrainingSpec.model_validate(told["training"]),
        seed=told["seed"],
        validation=json.loads(row["validation"]),
        versions=json.loads(row["versions"]),
        folder=folder,
    )
    found = [
        *_other_data(known, inputs),
        *_other_recipe(known, inputs.spec),
        *_other_folder(known),
        *_scores(known, inputs),
    ]
    if found:
        raise ExportInvariantError(f"no card for model {model}: " + "; ".join(found))
    return known


def _other_data(known: CardModel, inputs: ModelInputs) -> list[str]:
    row, again = known.row, "train it again, or its card would describe other data"
    used = int(inputs.training_use.filter(pl.col("fate") == USED)["examples"].sum())
    found = []
    if known.name in inputs.stale:
        found.append(f"it was {inputs.stale[known.name]}: train it again")
    if row["examples"] != used:
        found.append(
            f"it was trained on {row['examples']:,} examples, training_examples now marks {used:,} as used: {again}"
        )
    if row["data_hash"] != inputs.present_data:
        found.append(
            f"it was trained on data {row['data_hash'][:16]}, the hand-over files are now {inputs.present_data[:16]}: {again}"
        )
    if sorted(known.validation) != sorted(trained := inputs.spec.trained_subsets):
        found.append(f"it was validated on {sorted(known.validation)}, the subsets are now {sorted(trained)}: {again}")
    for total, parts in (
        ("inputs", ("query_inputs", "document_inputs")),
        ("truncated_inputs", ("truncated_queries", "truncated_documents")),
    ):
        if row[total] != sum(row[part] for part in parts):
            found.append(
                f"{total} is {row[total]:,}, {' and '.join(parts)} are together {sum(row[p] for p in parts):,}"
            )
    return found


def _other_recipe(known: CardModel, spec: CollectionSpec) -> list[str]:
    """Fields in which the specification has changed since the training."""
    entry = spec.models[known.name]
    pairs = {f"training.{k}": v for k, v in _changed(known.recipe, spec.training, set()).items()}
    pairs |= {f"models.{known.name}.{k}": v for k, v in _changed(known.entry, entry, NO_RECIPE_FIELDS).items()}
    if known.entry.is_hub_id or entry.is_hub_id:
        pairs |= {f"models.{known.name}.base": (known.entry.base, entry.base)} if known.entry.base != entry.base else {}
        # Whoever pins the very commit that was loaded changes nothing.
        if entry.revision not in (known.entry.revision, known.row["revision"]):
            pairs[f"models.{known.name}.revision"] = (known.entry.revision, entry.revision)
    pairs |= {"seed": (known.seed, spec.seed)} if known.seed != spec.seed else {}
    return [
        f"it was trained with {name} {then!r}, the specification now says {now!r}: train it again, or put it back"
        for name, (then, now) in sorted(pairs.items())
    ]


def _changed(then: Any, now: Any, left_out: set[str] | frozenset[str]) -> dict[str, tuple[Any, Any]]:
    before, after = (part.model_dump(mode="json", exclude=left_out) for part in (then, now))
    return {name: (before[name], after[name]) for name in after if before.get(name) != after[name]}


def _other_folder(known: CardModel) -> list[str]:
    folder, entry = known.folder, known.entry
    if folder.sha256 != known.row["weights_sha256"]:
        return [
            f"the weights in {folder.path} have SHA-256 {folder.sha256[:16]}, training kept {known.row['weights_sha256'][:16]}: "
            "materialise the model and trained_models again"
        ]
    said = {
        "query prompt": (folder.prompts.get("query", ""), entry.query_prompt),
        "document prompt": (folder.prompts.get("document", ""), entry.document_prompt),
        "pooling": (folder.pooling or entry.pooling, entry.pooling),
        "maximum length": (folder.max_length, entry.max_length),
    }
    found = [
        f"{folder.path} has {what} {there!r}, it was trained with {here!r}: materialise the model again"
        for what, (there, here) in said.items()
        if there != here
    ]
    if folder.width not in (None, entry.dimensions):
        found.append(
            f"{folder.path} gives {folder.width:,} dimensions, it was trained with {entry.dimensions:,}: materialise the model "
            "again"
        )
    if not folder.normalised:
        found.append(
            f"{folder.path} does not end by bringing embeddings to length 1, as every model is saved: materialise the model "
            "again"
        )
    return found


def _scores(known: CardModel, inputs: ModelInputs) -> list[str]:
    """Scores of other weights than those kept, and of another base than the one that was fine-tuned."""
    wanted = {known.tuned_system: known.row["weights_sha256"], known.base_system: known.row["base_weights"]}
    found = []
    for system, name in wanted.items():
        ranked = (
            inputs.scores.filter((pl.col("system") == system) & (pl.col("level") == ALL))["weights"].unique().to_list()
        )
        # The same commit has another name while nobody pins it.
        if ranked and {str(w).replace("@unpinned-", "@") for w in ranked} != {name.replace("@unpinned-", "@")}:
            said = ", ".join(str(w) for w in ranked)
            found.append(
                f"the scores of {system} are of the weights {said}, not of {name}: materialise runs/{system} and what "
                "follows from it again"
            )
    tests = inputs.scores["test_hash"].unique().to_list()
    if len(tests) > 1:
        found.append(f"the scores are of {len(tests)} different test collections: materialise retrieval_runs again")
    return found
