"""Dealing rows to steps, micro-batches and processes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.training.sampling import StepPlan


@st.composite
def plans(draw: st.DrawFn) -> StepPlan:
    batch, processes, accumulation = (draw(st.integers(1, 4)) for _ in range(3))
    return StepPlan(draw(st.integers(1, 70)), batch * processes * accumulation, batch, processes)


def test_one_process_by_hand() -> None:
    """7 rows in steps of 4 and batches of 2: the last step has a batch of 2 and one of 1."""
    plan = StepPlan(7, 4, 2)
    assert list(plan.deal([10, 11, 12, 13, 14, 15, 16], 0)) == [[10, 11], [12, 13], [14, 15], [16]]
    assert (plan.steps, plan.micro_batches, plan.rows_in(0), plan.rows_in(1)) == (2, 4, 4, 3)


def test_two_processes_by_hand() -> None:
    """The same rows on two processes: one micro-batch each per step, the last one short on the second process."""
    plan = StepPlan(7, 4, 2, 2)
    order = [10, 11, 12, 13, 14, 15, 16]
    assert list(plan.deal(order, 0)) == [[10, 11], [14, 15]]
    assert list(plan.deal(order, 1)) == [[12, 13], [16]]


def test_a_process_without_a_row_still_takes_part() -> None:
    """5 rows in steps of 4: the fifth is alone in its step, and the second process gets an empty micro-batch."""
    plan = StepPlan(5, 4, 2, 2)
    assert [list(plan.deal(range(5), rank)) for rank in (0, 1)] == [[[0, 1], [4]], [[2, 3], []]]


@settings(max_examples=50, deadline=None)
@given(plans())
def test_every_row_once_and_in_the_step_of_one_process(plan: StepPlan) -> None:
    order = list(range(100, 100 + plan.rows))
    dealt = [list(plan.deal(order, rank)) for rank in range(plan.processes)]
    assert {len(batches) for batches in dealt} == {plan.micro_batches}
    place = 0
    for step in range(plan.steps):
        end = place + plan.micro_batches_in(step)
        rows = sorted(row for batches in dealt for batch in batches[place:end] for row in batch)
        start = step * plan.effective_batch
        assert rows == order[start : start + plan.effective_batch]
        assert len(rows) == plan.rows_in(step)
        place = end
    assert place == plan.micro_batches
    assert all(len(batch) <= plan.batch for batches in dealt for batch in batches)


@settings(max_examples=50, deadline=None)
@given(plans())
def test_all_steps_but_the_last_have_the_accumulation_of_the_recipe(plan: StepPlan) -> None:
    """The trainer cuts the batches of an epoch into runs of this length; only the last may be shorter."""
    accumulation = plan.effective_batch // (plan.batch * plan.processes)
    counts = [plan.micro_batches_in(step) for step in range(plan.steps)]
    assert all(count == accumulation for count in counts[:-1])
    assert 1 <= counts[-1] <= accumulation
