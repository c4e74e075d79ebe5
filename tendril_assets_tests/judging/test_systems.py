"""The grid of judges: names, what is inherited, what makes two systems one."""

import pytest

from tendril_assets.errors import NoJudgeAccepted, SettingsError
from tendril_assets.judging.applied import applied_system
from tendril_assets.judging.systems import declared_system, system_named, systems_of
from tendril_assets.spec import JudgeSpec
from tendril_assets.tables import TABLES

LLM = {"model": "maker/judge", "max_tokens": 300, "reasoning_effort": "low"}


def judge(**calibration) -> JudgeSpec:
    return JudgeSpec.model_validate({"llm": LLM, "calibration": calibration})


def names(spec: JudgeSpec) -> list[str]:
    return [system.name for system in systems_of(spec)]


def test_without_a_grid_the_declared_judge_is_the_one_system():
    assert names(judge()) == ["maker/judge low de_short"]
    assert declared_system(judge()).declared


def test_models_efforts_and_guidelines_are_crossed_and_the_declared_judge_is_among_them_once():
    spec = judge(models=["maker/judge", "other/judge"], efforts=["none", "low"], guidelines=["de_short", "de_medium"])
    assert len(names(spec)) == 8
    assert [system.name for system in systems_of(spec) if system.declared] == ["maker/judge low de_short"]
    assert all(system.llm.max_tokens == 300 for system in systems_of(spec))
    assert system_named(spec, "other/judge none de_medium", "judge_choice").factory.body([])["reasoning"] == {
        "effort": "none"
    }


def test_a_declared_judge_outside_the_grid_is_added():
    assert names(judge(models=["other/judge"], efforts=["none"])) == [
        "maker/judge low de_short",
        "other/judge none de_short",
    ]


def test_a_pinned_route_is_part_of_the_name_and_of_the_request():
    spec = judge(models=[{"model": "m", "providers": ["a"], "quantizations": ["fp8"]}, "m"])
    assert names(spec) == ["m [a/fp8] default de_short", "m default de_short", "maker/judge low de_short"]
    pinned = systems_of(spec)[0].factory
    assert pinned.pinned
    assert pinned.body([])["provider"] == {
        "order": ["a"],
        "allow_fallbacks": False,
        "quantizations": ["fp8"],
        "require_parameters": True,
    }


def test_an_effort_left_to_the_model_is_not_sent():
    assert "reasoning" not in systems_of(judge(models=["m"], efforts=[None]))[0].factory.body([])


def test_two_systems_of_one_name_are_refused():
    with pytest.raises(SettingsError, match="maker/judge low de_short names two systems"):
        systems_of(judge(models=[{"model": "maker/judge", "temperature": 0.7}], efforts=["low"]))


def test_an_unknown_guideline_is_refused():
    with pytest.raises(SettingsError, match="there is no prompt 'nothing'"):
        systems_of(judge(models=["m"], guidelines=["nothing"]))


CHOSEN = {"apply": "chosen", "acceptance": {}, "models": ["m"]}


def choice(*rows: tuple[str, bool | None, bool]):
    """Rows of judge_choice: system, accepted, chosen."""
    made = [
        {
            **dict.fromkeys(TABLES["judge_choice"].schema),
            "system": system,
            "rank": rank,
            "accepted": accepted,
            "chosen": chosen,
            "reason": f"because {rank}",
        }
        for rank, (system, accepted, chosen) in enumerate(rows, start=1)
    ]
    return TABLES["judge_choice"].frame(made)


def test_the_chosen_system_is_applied():
    rows = choice(("m default de_short", True, True), ("maker/judge low de_short", True, False))
    assert applied_system(judge(**CHOSEN), rows).name == "m default de_short"


def test_where_the_rule_picked_none_nothing_is_applied_and_the_reasons_are_told():
    rows = choice(("m default de_short", False, False), ("maker/judge low de_short", False, False))
    with pytest.raises(
        NoJudgeAccepted, match=r"nothing is asked\. m default de_short: because 1; maker/judge low .*because 2"
    ):
        applied_system(judge(**CHOSEN), rows)
    with pytest.raises(NoJudgeAccepted, match="there are no calibration pairs"):
        applied_system(judge(**CHOSEN), choice())


def test_a_choice_of_a_system_that_is_gone_is_refused():
    with pytest.raises(SettingsError, match=r"no system 'gone'.*materialise judge_choice again"):
        applied_system(judge(**CHOSEN), choice(("gone", True, True)))


@pytest.mark.parametrize("accepted", [False, None])
def test_a_declared_judge_that_is_not_accepted_is_applied_unless_that_is_refused(accepted):
    rows = choice(("maker/judge low de_short", accepted, False))
    assert applied_system(judge(acceptance={}), rows).declared
    with pytest.raises(NoJudgeAccepted, match=r"the declared judge is not accepted.*because 1"):
        applied_system(judge(acceptance={}, refuse=True), rows)
    assert applied_system(judge(acceptance={}, refuse=True), choice(("maker/judge low de_short", True, False))).declared
