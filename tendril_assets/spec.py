"""The typed specification of a collection: the identity of every result it gives.

A collection is a folder under ``defs/`` whose ``defs.yaml`` holds one ``CollectionSpec``. Whatever changes a result is
here and is hashed; whatever only changes how the work is done (workers, concurrency, caps) is in ``settings``.
Misspelt fields are errors (``extra="forbid"``), with file and field, wherever it is read; those of a profile wherever it
is read with that profile. ``tendril doctor`` reads it with each.
"""

from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SerializationInfo, ValidationError, model_serializer, model_validator
from pydantic.functional_serializers import SerializerFunctionWrapHandler

from tendril_assets.errors import SpecError
from tendril_assets.model_registry import WRITTEN_MODELS, described, resolved_models
from tendril_assets.records import PubType
from tendril_assets.spec_base import IDENTITY, FieldPath, LLMSpec, Name, Part, field_errors
from tendril_assets.spec_calibration import CalibrationSpec, StackSpec
from tendril_assets.spec_corpus import (
    AnonymizationSpec,
    ChunkingSpec,
    ExtractionSpec,
    FilterSpec,
    IdentifierSpec,
    RestrictionSpec,
    SamplingSpec,
)
from tendril_assets.spec_evaluation import ALL, EvaluationSpec, RerankerSpec
from tendril_assets.spec_problems import place_in, problem_lines, read_mapping, unknown
from tendril_assets.spec_registers import CandidateSpec, ExamplesSpec, QrelSpec, RegisterSpec, generation_problems
from tendril_assets.spec_release import ReleaseSpec
from tendril_assets.spec_training import ModelSpec, SplitSpec, TrainingSpec

ProjectSubType = Literal[
    "construction",
    "service",
    "supply",
    "project_competition",
    "idea_competition",
    "overall_performance_competition",
    "project_study",
    "idea_study",
    "overall_performance_study",
    "request_for_information",
]
PubTypeFilter = Literal[
    "advance_notice",
    "request_for_information",
    "tender",
    "competition",
    "study_contract",
    "award_tender",
    "award_study_contract",
    "award_competition",
    "direct_award",
    "participant_selection",
    "revocation",
    "abandonment",
    "selective_offering_phase",
]


# What Dagster allows in a component's file.
_COMPONENT_KEYS = ["type", "attributes", "template_vars_module", "requirements", "post_processing"]


class SimapSpec(Part):
    """What is taken from SIMAP: its project search, and of the projects found the texts of their publications.

    The filters are the search's own; a list means one of these. ``published_from`` and ``published_until`` bound the day
    of a project's newest publication, both inclusive. ``publication_types``: whose texts become documents.
    ``languages``: each text is taken in the first of them that has one. ``max_projects``: the first so many of the
    search, newest first; of a landing folder with a list of its own, all that are on the list are looked for.
    """

    base_url: str = "https://www.simap.ch/api"
    requests_per_second: float = Field(1.0, gt=0, le=100)
    search: str = Field("", pattern=r"^$|^.{3,1000}$", description="words in projects, at least three characters")
    search_languages: tuple[Literal["de", "en", "fr", "it"], ...] = ()
    project_sub_types: tuple[ProjectSubType, ...] = ()
    issued_by_organizations: tuple[str, ...] = Field(
        (), description="ids of offices, institutions or competence centres"
    )
    process_types: tuple[Literal["open", "selective", "invitation", "direct", "no_process"], ...] = ()
    newest_pub_types: tuple[PubTypeFilter, ...] = ()
    cpv_codes: tuple[str, ...] = ()
    cpc_codes: tuple[str, ...] = ()
    bkp_codes: tuple[str, ...] = ()
    ebkph_codes: tuple[str, ...] = ()
    ebkpt_codes: tuple[str, ...] = ()
    npk_codes: tuple[str, ...] = ()
    oag_codes: tuple[str, ...] = ()
    only_switzerland: bool = False
    cantons: tuple[Annotated[str, Field(pattern=r"^[A-Z]{2}$")], ...] = ()
    published_from: date | None = None
    published_until: date | None = None
    publication_types: tuple[PubType, ...] = Field(
        (
            "advance_notice",
            "request_for_information",
            "tender",
            "competition",
            "study_contract",
            "selective_offering_phase",
        ),
        min_length=1,
    )
    languages: tuple[Literal["de", "fr", "it", "en"], ...] = Field(("de", "fr", "it"), min_length=1)
    max_projects: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _can_be_asked(self) -> "SimapSpec":
        mistakes: list[tuple[FieldPath, str]] = []
        parts = urlsplit(self.base_url)
        if (
            parts.scheme not in ("http", "https")
            or not parts.hostname
            or parts.query
            or parts.fragment
            or "@" in parts.netloc
        ):
            mistakes.append((("base_url",), f"{self.base_url!r} given; should look like https://host/api"))
        if not (self.search or self.project_sub_types or self.issued_by_organizations):
            mistakes.append(((), "the search needs search, project_sub_types or issued_by_organizations"))
        if self.published_from and self.published_until and self.published_from > self.published_until:
            told = f"{self.published_from} is after published_until {self.published_until}"
            mistakes.append((("published_from",), told))
        if len(set(self.languages)) < len(self.languages):
            mistakes.append((("languages",), "a language occurs twice"))
        if mistakes:
            raise field_errors(mistakes)
        return self

    @model_serializer(mode="wrap")
    def _without_transport(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        """Where and how fast the answers are asked for is no part of what results from them."""
        fields = handler(self)
        if info.context and info.context.get(IDENTITY):
            return {k: v for k, v in fields.items() if k not in ("base_url", "requests_per_second")}
        return fields


class QuerySpec(Part):
    summary: LLMSpec
    summary_max_words: int = Field(100, ge=10)


class DriftSpec(Part):
    """The drift check: how many answered requests are asked again, and how far the new grades may lie from the old.

    ``sample`` is shared out evenly among the grades, so that rare ones are in it; the figures weigh each former grade by its
    share among all graded requests. ``judging.drift`` says how, and why.
    """

    sample: int = Field(200, ge=1, description="requests asked again in each round")
    min_agreement: float = Field(0.85, ge=0, le=1, description="least share of equal grades, on the graded scale")
    max_mean_shift: float = Field(0.1, ge=0, le=2, description="largest mean of new grade minus old, up or down")
    max_missing_share: float = Field(0.1, ge=0, le=1, description="largest share of the sample without two grades")


class JudgeSpec(Part):
    llm: LLMSpec
    guideline: str = Field("de_short", description="name of a guideline file in judging/guidelines")
    allow_incomplete: bool = Field(False, description="go on with open requests; they are counted and reported")
    calibration: CalibrationSpec = CalibrationSpec()
    stacks: dict[str, StackSpec] = Field({}, description="model -> what serves it, for judges whose stack is recorded")
    drift: DriftSpec | None = Field(None, description="absent: no sample is ever asked again")

    @model_validator(mode="after")
    def _stacks_are_of_judges(self) -> "JudgeSpec":
        models = [self.llm.model, *(m if isinstance(m, str) else m.model for m in self.calibration.models)]
        mistakes: list[tuple[FieldPath, str]] = [
            (("stacks", model), unknown(model, models)) for model in self.stacks if model not in models
        ]
        if mistakes:
            raise field_errors(mistakes)
        return self


class CollectionSpec(Part):
    """One collection. ``profiles`` overlay the rest: the active one is chosen by the settings, never by code."""

    collection: Name
    seed: int = 42
    group: str = Field(description="what a group is, in the field's word: project, act")
    subsets: tuple[str, ...] = Field(min_length=1, description="levels or registers that are never averaged away")
    simap: SimapSpec | None = Field(None, description="absent: nothing is read from SIMAP")
    sampling: SamplingSpec = SamplingSpec()
    extraction: ExtractionSpec = ExtractionSpec()
    chunking: ChunkingSpec = ChunkingSpec()
    identifiers: IdentifierSpec = IdentifierSpec()
    restrictions: RestrictionSpec = RestrictionSpec()
    filters: FilterSpec = FilterSpec()
    anonymization: AnonymizationSpec = AnonymizationSpec()
    queries: QuerySpec | None = Field(None, description="queries are worded from catalogs; this, or registers")
    registers: RegisterSpec | None = Field(None, description="queries of several registers; this, or queries")
    candidates: CandidateSpec = CandidateSpec()
    judge: JudgeSpec
    qrels: QrelSpec = QrelSpec()
    splits: SplitSpec = SplitSpec()
    examples: ExamplesSpec = ExamplesSpec()
    training: TrainingSpec = TrainingSpec()
    models: Annotated[
        dict[Name, Annotated[ModelSpec, BeforeValidator(described)]],
        BeforeValidator(resolved_models, json_schema_input_type=WRITTEN_MODELS),
    ]
    rerankers: dict[Name, RerankerSpec] = {}
    evaluation: EvaluationSpec = EvaluationSpec()
    release: ReleaseSpec
    profiles: dict[Name, dict[str, Any]] = {}

    def with_profile(self, profile: str | None) -> "CollectionSpec":
        """This specification with the named overlay merged in (mappings deeply, ``models`` and lists replaced).

        Raises ValueError for an unknown profile or an overlay that does not validate.
        """
        if profile is None:
            return self
        if profile not in self.profiles:
            raise ValueError(
                f"unknown profile {profile!r}; {self.collection} has: {', '.join(sorted(self.profiles)) or 'none'}"
            )
        return CollectionSpec.model_validate(self.merged_with(profile))

    def merged_with(self, profile: str) -> dict[str, Any]:
        """The content with the profile's overlay merged in, not validated. Raises KeyError for an unknown profile."""
        return _overlay(self.model_dump(mode="json", exclude={"profiles"}), self.profiles[profile])

    @model_validator(mode="after")
    def _parts_fit_together(self) -> "CollectionSpec":
        mistakes: list[tuple[FieldPath, str]] = [
            (("release", field, name), unknown(name, list(known)))
            for field, named, known in (
                ("models", self.release.models, self.models),
                ("plurals", self.release.plurals, self.subsets),
            )
            for name in named
            if name not in known
        ]
        for place, name in enumerate(self.subsets):
            if name == ALL:
                mistakes.append((("subsets", place), f"{name} is the name of all subsets together: choose another"))
            if name in self.subsets[:place]:
                mistakes.append((("subsets", place), f"{name} is there twice"))
        for name, model in self.models.items():
            if problem := model.batch_problem(self.training.effective_batch, model.processes):
                mistakes.append((("models", name, "batch"), problem))
            if problem := model.width_problem:
                mistakes.append((("models", name, "matryoshka"), problem))
        mistakes += self._policies_fit_together()
        if mistakes:
            raise field_errors(mistakes)
        return self

    def _policies_fit_together(self) -> list[tuple[FieldPath, str]]:
        mistakes: list[tuple[FieldPath, str]] = []
        if self.identifiers.policy == "named" and self.sampling.documents_per_project != 1:
            told = "identifiers: named counts passages per group, so a group has one document: set it to 1"
            mistakes.append((("sampling", "documents_per_project"), told))
        if (self.queries is None) == (self.registers is None):
            mistakes.append((("queries",), "give either queries (from catalogs) or registers, one of the two"))
        if self.splits.policy == "file" and self.registers is None:
            mistakes.append(
                (("splits", "policy"), "file is for collections with registers: their landing reads the file")
            )
        if self.registers:
            unknown_levels = [level for level in self.registers.levels if level not in self.subsets]
            mistakes += [(("registers",), f"level {unknown(level, list(self.subsets))}") for level in unknown_levels]
            if self.registers.generation:
                place: FieldPath = ("registers", "generation")
                named = ("train", "validation", *self.splits.test) if self.splits.policy == "file" else ()
                mistakes += generation_problems(self.registers.generation, place, named)
                teacher = self.registers.generation.filters.teacher
                if teacher and teacher.reranker not in self.rerankers:
                    told = unknown(teacher.reranker, list(self.rerankers))
                    mistakes.append(((*place, "filters", "teacher", "reranker"), told))
        mistakes += [
            (("examples", "levels", n), unknown(level, list(self.subsets)))
            for n, level in enumerate(self.examples.levels)
            if level not in self.subsets
        ]
        simple = ("bm25", *(f"{m}_base" for m in self.models), *(f"{m}_tuned" for m in self.models))
        mistakes += self.evaluation.system_problems(simple, list(self.rerankers))
        mistakes += self.evaluation.held_out_problems(self.subsets, self.splits.test)
        mistakes += [
            (("candidates", "systems", n), unknown(system, list(self.systems)))
            for n, system in enumerate(self.candidates.systems)
            if system not in self.systems
        ]
        trained = self.evaluation.resting_on([f"{m}_tuned" for m in self.models])
        mistakes += [
            (("candidates", "systems", n), f"{system} rests on a model that is trained on what the pool leads to")
            for n, system in enumerate(self.candidates.systems)
            if system in trained
        ]
        if self.registers is None:
            places = {
                ("candidates", "policy"): self.candidates.policy == "pooled",
                ("qrels", "append_only"): self.qrels.append_only,
                ("qrels", "neighbour_overlap"): self.qrels.neighbour_overlap is not None,
                ("judge", "calibration", "none_accepted"): self.judge.calibration.none_accepted == "without",
            }
            told = "is for collections with registers: others have the judge's grades alone"
            mistakes += [(place, told) for place, given in places.items() if given]
        return mistakes

    @property
    def systems(self) -> tuple[str, ...]:
        """Ranked systems: BM25, each base model, each fine-tuned model, hybrids of these, reranked ones."""
        models = (*(f"{m}_base" for m in self.models), *(f"{m}_tuned" for m in self.models))
        return ("bm25", *models, *self.evaluation.hybrids, *self.evaluation.reranked)

    @property
    def wording(self) -> QuerySpec:
        """How queries are worded from catalogs. Raises ValueError for a collection that has registers instead."""
        if self.queries is None:
            raise ValueError(f"{self.collection} words no queries from catalogs: its queries are of registers")
        return self.queries

    @property
    def trained_subsets(self) -> tuple[str, ...]:
        """The subsets that models are trained on and validated by."""
        return self.examples.levels or self.subsets


def read_spec(path: Path, profile: str | None = None) -> CollectionSpec:
    """The specification in a ``defs.yaml``, with the profile's overlay where the collection has one of that name.

    Raises SpecError where the file, or an entry of ``models.yaml`` that it takes, cannot be read or does not validate,
    with one line for each mistake of the first kind there is: of the YAML, only the first; keys that do not belong at the
    top; fields, and fields of one part that contradict each other, in every part; parts that do not fit together; the same
    of the content with the profile's overlay.
    """
    attributes = _attributes(path)
    try:
        spec = CollectionSpec.model_validate(attributes)
    except ValidationError as error:
        # Not chained: the lines hold all it says, and Dagster prints whatever a cause says once more.
        raise SpecError(path, problem_lines(error, CollectionSpec, attributes)) from None
    if profile is None or profile not in spec.profiles:
        return spec
    merged = spec.merged_with(profile)
    try:
        return CollectionSpec.model_validate(merged)
    except ValidationError as error:
        place = place_in(spec.profiles[profile], profile)
        raise SpecError(path, problem_lines(error, CollectionSpec, merged, place), profile) from None


def _attributes(path: Path) -> Any:
    """What stands below ``attributes``. Beside it only Dagster's own keys may stand: with others an indentation is wrong."""
    content = read_mapping(path, "with type and attributes")
    astray = [key for key in content if key not in _COMPONENT_KEYS]
    problems = [
        f"{key}: belongs below attributes: indent it"
        if key in CollectionSpec.model_fields
        else f"{key}: {unknown(key, _COMPONENT_KEYS)}"
        for key in astray
    ]
    if "attributes" not in content:
        problems.append("attributes: missing; the specification stands below it")
    if problems:
        raise SpecError(path, problems)
    return content["attributes"]


def _overlay(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict) and key != "models":
            merged[key] = _overlay(merged[key], value)
        else:
            merged[key] = value
    return merged
