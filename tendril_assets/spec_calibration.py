"""How judges are measured against people before one of them grades anything, and what makes a judge acceptable.

All of it is declared before the data: it is part of the specification and of its hash.
"""

from typing import Literal

from pydantic import Field, model_validator

from tendril_assets.spec_base import Effort, LLMSpec, Part, field_error

Statistic = Literal["kappa", "kappa_quadratic"]
Scale = Literal["graded", "binary"]
Levels = Literal["mean", "each", "all"]
_STATISTICS: dict[Statistic, str] = {
    "kappa": "Cohen's kappa",
    "kappa_quadratic": "Cohen's kappa with quadratic weights",
}
_SCALES: dict[Scale, str] = {"graded": "0/1/2", "binary": "relevant or not"}
_LEVELS: dict[Levels, str] = {"mean": "mean over the levels", "each": "lowest level", "all": "all levels together"}


class StackSpec(Part):
    """What serves a judge's model, as far as it changes answers: declared, for no gateway tells it.

    The same model gave kappa 0.41 and, served anew, 0.31 on the same pairs: figures of two stacks are never one figure, so
    the stack is part of what a request is known by, and another stack is asked anew.
    """

    quantization: str = Field(min_length=1, description="of the weights, none where they are whole: AWQ 4 bit, fp16")
    libraries: dict[str, str] = Field(min_length=1, description="library -> version: of the server and what it runs on")
    hardware: str = Field(min_length=1, description="the devices as their driver names them, and how many")

    @property
    def in_words(self) -> str:
        libraries = ", ".join(f"{name} {version}" for name, version in sorted(self.libraries.items()))
        return f"{self.quantization}; {libraries}; {self.hardware}"


class FigureSpec(Part):
    """One figure of a judge against the curated grades.

    ``levels``: ``mean`` of the levels' figures, ``each`` is the lowest of them, ``all`` pools the pairs of all levels.
    """

    statistic: Statistic = "kappa"
    scale: Scale = "graded"
    levels: Levels = "mean"

    @property
    def in_words(self) -> str:
        """The figure as reasons, cards and reports name it."""
        return (
            f"{_STATISTICS[self.statistic]} against the curated grades ({_SCALES[self.scale]}, {_LEVELS[self.levels]})"
        )


class AcceptanceSpec(FigureSpec):
    """What a judge must reach; every criterion that is declared, and each on its own.

    ``bound``: whether the figure itself or the lower end of its interval is held against ``minimum``. A figure that is
    undefined meets nothing. ``stack``: ``recorded``, every answer names the model and the route that gave it; ``one``,
    and all of a system's answers name the same. Where ``judge.stacks`` declares stacks, a model without one is not recorded,
    and for one with it the answer need not name its route.
    """

    minimum: float = Field(0.40, ge=-1, le=1, description="least agreement with the curated grades")
    bound: Literal["value", "low"] = "value"
    repeat: Literal["share", "kappa"] = Field(
        "share", description="agreement of two runs: equal grades, or their kappa"
    )
    min_repeat: float | None = Field(
        None, ge=-1, le=1, description="least agreement of two runs; absent: not asked for"
    )
    max_failures: float | None = Field(None, ge=0, le=1, description="largest share of pairs asked and left ungraded")
    min_pairs: int = Field(100, ge=1, description="pairs with both grades, in the smallest level that counts")
    stack: Literal["any", "recorded", "one"] = "any"

    @property
    def in_words(self) -> str:
        return ("lower end of the interval of " if self.bound == "low" else "") + super().in_words


class ChoiceSpec(FigureSpec):
    """Which of the accepted systems judges: of those as good as the best one, the cheapest; ties go by name.

    ``as_good``: ``tolerance``, its figure lies at most ``tolerance`` below the best; ``overlap``, the intervals overlap;
    ``difference``, the interval of the paired difference holds zero. A system of unknown cost counts as dearer than any
    of known cost.
    """

    as_good: Literal["tolerance", "overlap", "difference"] = "tolerance"
    tolerance: float = Field(0.02, ge=0, le=1)


class CalibrationSpec(Part):
    """Every model with every effort and guideline, over the calibration pairs. The declared judge is always among them.

    ``models``: a name alone takes the judge's sampling parameters and leaves the route open. ``efforts``: null leaves the
    effort to the model. ``repeats``: how often each system is asked in all; of the repeats only the first ``repeat_pairs``
    pairs by keyed hash, or all. ``resample``: what the intervals redraw; the pairs of one query are not independent.
    ``apply``: ``declared``, the judge of the specification judges whatever the evidence says; ``chosen``, the system the
    rule picks, and none where it picks none. ``refuse``: a declared judge that is not accepted stops the graph before
    anything is asked.
    """

    models: tuple[str | LLMSpec, ...] = ()
    efforts: tuple[Effort | None, ...] = Field((None,), min_length=1)
    guidelines: tuple[str, ...] = ()
    repeats: int = Field(1, ge=1, le=9)
    repeat_pairs: int | None = Field(None, ge=1)
    resample: Literal["queries", "pairs"] = "queries"
    resamples: int = Field(10_000, ge=100)
    confidence: float = Field(0.95, gt=0, lt=1)
    acceptance: AcceptanceSpec | None = None
    choice: ChoiceSpec = ChoiceSpec()
    apply: Literal["declared", "chosen"] = "declared"
    refuse: bool = False
    none_accepted: Literal["stop", "without"] = Field(
        "stop", description="where no judge may judge: stop, or go on without a judge's labels (where others exist)"
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> "CalibrationSpec":
        if self.apply == "chosen" and self.acceptance is None:
            raise ValueError("apply 'chosen' needs an acceptance, declared before the data")
        if self.refuse and self.apply == "chosen":
            raise ValueError(
                "refuse is about the declared judge, which apply 'chosen' does not use; leave refuse out: "
                "where the rule picks no judge, nothing is asked"
            )
        if self.refuse and self.acceptance is None:
            raise ValueError("refuse needs an acceptance to refuse by")
        if self.none_accepted == "without" and not self.decides:
            raise field_error(
                ("none_accepted",),
                "without means something only where the calibration decides: apply chosen, or refuse",
            )
        if self.acceptance and self.acceptance.min_repeat is not None and self.repeats < 2:
            raise ValueError("acceptance.min_repeat needs repeats of at least 2")
        for model in self.models:
            if isinstance(model, LLMSpec) and model.reasoning_effort is not None:
                raise ValueError(f"{model.model}: the efforts are a list of their own")
        for name in ("models", "efforts", "guidelines"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise field_error((name,), "an entry occurs twice")
        return self

    @property
    def decides(self) -> bool:
        """Whether nothing may be judged before the calibration is known."""
        return self.apply == "chosen" or self.refuse
