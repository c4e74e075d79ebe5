"""The stand-in's models differ as judges do: in quality, failures and steadiness; the usual one stays what it was."""

import pytest

from tendril_assets.judging.parse import parse_verdict
from tendril_assets.judging.prompts import load_guideline, render
from tendril_assets.sandbox.stand_in_judge import judge, reply_to
from tendril_assets.sandbox.stand_in_models import USUAL, stand_in_model

PASSAGES = [f"Das Holz der Möbel Nr. {i} stammt aus FSC-zertifizierten Beständen." for i in range(400)]


def grades(model: str, effort: str | None = None, repeat: str | None = None, guideline: str = "de_short"):
    document = load_guideline(guideline)
    prompts = ("\n".join(m["content"] for m in render(document, "Nachhaltiges Holz", p)) for p in PASSAGES)
    replies = (reply_to(prompt, model=model, effort=effort, repeat=repeat).text for prompt in prompts)
    return [parse_verdict(text, "stop").grade for text in replies]


def differing(one, other):
    return sum(a != b for a, b in zip(one, other, strict=True)) / len(one)


@pytest.mark.parametrize("name", ["", USUAL, "z-ai/glm-5.3-flash"])
def test_any_other_name_is_the_usual_judge_with_any_guideline(name):
    usual = [judge("Nachhaltiges Holz", passage) for passage in PASSAGES]
    assert grades(name) == usual
    assert grades(name, guideline="de_long") == usual


def test_the_large_one_slips_least_and_the_small_one_most():
    opinion = max(set(grades("sandbox/judge-large")), key=grades("sandbox/judge-large").count)
    slips = [
        sum(grade != opinion for grade in grades(f"sandbox/judge{size}") if grade is not None)
        for size in ("-large", "", "-small")
    ]
    assert slips[0] < slips[1] < slips[2]


def test_an_effort_and_a_longer_guideline_help_the_small_one():
    model = stand_in_model("sandbox/judge-small")
    plain = model.slips_with(None, 700)
    assert model.slips_with("none", 700) == plain
    assert all(model.slips_with("low", 700)[g] < plain[g] for g in plain)
    assert all(model.slips_with(None, 3_000)[g] < plain[g] for g in plain)


def test_only_the_small_one_answers_in_prose():
    assert grades("sandbox/judge-large").count(None) == grades(USUAL).count(None) == 0
    assert 0.02 < grades("sandbox/judge-small").count(None) / len(PASSAGES) < 0.09


def test_a_repeat_differs_now_and_then_and_is_itself_the_same_each_time():
    for name, least, most in (
        ("sandbox/judge-large", 0.0, 0.03),
        (USUAL, 0.005, 0.07),
        ("sandbox/judge-small", 0.06, 0.2),
    ):
        first, second = grades(name), grades(name, repeat="2")
        assert least <= differing(first, second) <= most
        assert second == grades(name, repeat="2")
    assert grades(USUAL, repeat="2") != grades(USUAL, repeat="3")
