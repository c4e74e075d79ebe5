"""The time left: hand-worked, from the first step on, over evaluations and a resume, and for any course of events."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.training.events import Began, CheckpointSaved, Evaluated, Event, StepDone
from tendril_assets.training.pace import Pace, Paces

STEPS, EVERY = 100, 20


def began(resumed_from: int | None = None) -> Began:
    return Began(STEPS, "cpu", "fp32", 1, resumed_from)


def done(step: int) -> StepDone:
    return StepDone(step, STEPS, 0.5, 1e-5, 1.0, 1.0)


def evaluated(step: int) -> Evaluated:
    return Evaluated(step, STEPS, "m", 0.5, {"m": 0.5}, step, 0.5)


def saved(step: int) -> CheckpointSaved:
    return CheckpointSaved(step, STEPS, 1)


def seen(pace: Pace, *events: tuple[float, Event]) -> Pace:
    for now, event in events:
        pace.see(event, now)
    return pace


FIRST = ((0, began()), (30, evaluated(0)), (90, done(1)))


def test_the_first_step_alone_says_nothing() -> None:
    """It took 60 s, with all that is loaded only once; 99 of them would be a wrong guess."""
    assert seen(Pace(EVERY), *FIRST).left() is None


def test_steps_evaluations_and_checkpoints_have_their_own_pace() -> None:
    pace = seen(Pace(EVERY), *FIRST, (100, done(11)))
    # 89 steps of 1 s; evaluations at 20, 40, 60, 80 and 100 and one of the kept weights, 30 s each as the base took.
    assert pace.left() == pytest.approx(89 * 1 + 6 * 30)
    seen(pace, (109, done(20)))
    assert pace.left() == pytest.approx(80 + 6 * 30), "the evaluation that goes on now is still to come"
    seen(pace, (119, evaluated(20)), (124, saved(20)))
    # Evaluations took 30 s and 10 s: 20 s in the mean, five to come. Checkpoints of 5 s, four to come.
    assert pace.left() == pytest.approx(80 + 5 * 20 + 4 * 5)
    assert pace.paces() == Paces(step=pytest.approx(1.0), evaluation=20.0, save=5.0)


def test_an_end_between_two_evaluations_is_evaluated_too() -> None:
    pace = Pace(56)
    seen(pace, (0, began()), (10, evaluated(0)), (11, done(1)), (21, done(11)))
    assert pace.left() == pytest.approx(89 + 3 * 10), "at 56, at 100, and the kept weights"


def test_a_resumed_run_knows_the_former_paces_at_once_and_then_its_own() -> None:
    pace = seen(Pace(EVERY, Paces(step=2.0, evaluation=10.0, save=1.0)), (0, began(60)))
    assert pace.left() == pytest.approx(40 * 2 + 3 * 10 + 2 * 1)
    seen(pace, (50, done(61)))
    assert pace.left() == pytest.approx(39 * 2 + 3 * 10 + 2 * 1), "not 50 s a step, and not 61 steps in 50 s"
    seen(pace, (55, done(66)))
    assert pace.left() == pytest.approx(34 * 1 + 3 * 10 + 2 * 1)


def test_a_slower_machine_is_followed() -> None:
    events = [(float(t), done(t + 1)) for t in range(60)]
    pace = seen(Pace(1000), (0, began()), *events)
    steps = [(60 + 10 * t, done(61 + t)) for t in range(30)]
    assert 4 < seen(pace, *steps).paces().step < 10


def test_nothing_is_left_at_the_end_but_the_kept_weights() -> None:
    pace = seen(Pace(EVERY), *FIRST, (188, done(99)), (189, done(100)), (199, evaluated(100)), (200, saved(100)))
    assert pace.left() == pytest.approx(20), "evaluations of 30 s and 10 s"


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.sampled_from([done, evaluated, saved]), st.integers(0, STEPS)), max_size=30
    ),
    st.none() | st.integers(0, STEPS),
)
def test_it_is_never_negative_nor_without_bound(course: list, resumed_from: int | None) -> None:
    pace = seen(Pace(EVERY), (0.0, began(resumed_from)))
    now = 0.0
    for seconds, event, step in course:
        now += seconds
        pace.see(event(step), now)
        left = pace.left()
        assert left is None or 0 <= left < float("inf")
