"""The judges that are measured: a system is a model with its route, effort and sampling, and a guideline."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from tendril_assets.errors import SettingsError
from tendril_assets.judging.prompts import Guideline, Message, load_guideline, render
from tendril_assets.judging.request import RequestFactory
from tendril_assets.spec import JudgeSpec
from tendril_assets.spec_base import LLMSpec
from tendril_assets.spec_calibration import StackSpec

DEFAULT_EFFORT = "default"


@dataclass(frozen=True)
class System:
    """One way to judge. ``declared`` marks the judge that the specification names; ``stack``: what serves its model, where
    that is declared."""

    name: str
    llm: LLMSpec
    guideline: Guideline
    declared: bool = False
    stack: StackSpec | None = None

    @property
    def effort(self) -> str:
        """The reasoning effort that is sent, or ``default`` where it is left to the model."""
        return self.llm.reasoning_effort or DEFAULT_EFFORT

    @cached_property
    def factory(self) -> RequestFactory:
        return RequestFactory(self.llm, self.stack.in_words if self.stack else None)

    def messages(self, row: Mapping[str, Any]) -> list[Message]:
        """The chat messages for a row with ``query_text`` and ``passage_text``."""
        return render(self.guideline, row["query_text"], row["passage_text"])

    @property
    def columns(self) -> dict[str, str]:
        """What every table of the calibration says of a system."""
        return {
            "system": self.name,
            "model": self.llm.model,
            "effort": self.effort,
            "guideline": self.guideline.name,
        }


def systems_of(judge: JudgeSpec) -> tuple[System, ...]:
    """The declared judge and every other system of the calibration, ordered by name.

    A system of the grid that equals the declared judge in everything that is sent is the declared judge.

    Raises:
        SettingsError: two systems whose names would be the same, or a guideline that does not exist.
    """
    declared = (judge.llm, judge.guideline)
    wanted = dict.fromkeys([declared, *_grid(judge)])
    systems = [
        System(
            _name(llm, guideline),
            llm,
            load_guideline(guideline),
            (llm, guideline) == declared,
            judge.stacks.get(llm.model),
        )
        for llm, guideline in wanted
    ]
    names = [system.name for system in systems]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SettingsError(
            f"judge.calibration: {', '.join(twice)} names two systems that differ in their sampling parameters only: "
            "give the model the parameters of judge.llm, or leave one out"
        )
    return tuple(sorted(systems, key=lambda system: system.name))


def declared_system(judge: JudgeSpec) -> System:
    """The judge that the specification names."""
    return next(system for system in systems_of(judge) if system.declared)


def system_named(judge: JudgeSpec, name: str, step: str) -> System:
    """The system of that name, which ``step`` wrote down.

    Raises SettingsError where the specification has none (any more); it names the step, which writes it anew.
    """
    found = [system for system in systems_of(judge) if system.name == name]
    if not found:
        raise SettingsError(
            f"the calibration has no system {name!r}: the specification changed since {step} was materialised; "
            f"materialise {step} again"
        )
    return found[0]


def _grid(judge: JudgeSpec) -> list[tuple[LLMSpec, str]]:
    calibration = judge.calibration
    models = [
        model
        if isinstance(model, LLMSpec)
        else LLMSpec(
            model=model,
            temperature=judge.llm.temperature,
            max_tokens=judge.llm.max_tokens,
            require_parameters=judge.llm.require_parameters,
        )
        for model in calibration.models
    ]
    guidelines = calibration.guidelines or (judge.guideline,)
    return [
        (model.model_copy(update={"reasoning_effort": effort}), guideline)
        for model, effort, guideline in product(models, calibration.efforts, guidelines)
    ]


def _name(llm: LLMSpec, guideline: str) -> str:
    route = "/".join((*llm.providers, *llm.quantizations))
    return " ".join((llm.model, *([f"[{route}]"] if route else []), llm.reasoning_effort or DEFAULT_EFFORT, guideline))
