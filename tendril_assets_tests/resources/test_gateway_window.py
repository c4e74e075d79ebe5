import asyncio
from collections.abc import Callable, Coroutine

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.resources.gateway_window import Window


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def run(scene: Callable[[Window, Clock], Coroutine[None, None, None]], most: int = 8) -> Window:
    clock = Clock()

    async def play() -> Window:
        window = Window(most, clock, tolerated=0)
        await scene(window, clock)
        return window

    return asyncio.run(play())


async def enter(window: Window, n: int) -> list[int]:
    """``n`` slots, which must be free."""
    tickets = [await asyncio.wait_for(window.enter(), 5) for _ in range(n)]
    assert None not in tickets
    return [ticket for ticket in tickets if ticket is not None]


async def windows(window: Window, clock: Clock, n: int) -> None:
    """``n`` windows of answers without a refusal."""
    for _ in range(n):
        clock.now += 1
        for ticket in await enter(window, window.limit):
            window.answered(ticket)
        for _ in range(window.in_flight):
            window.leave()


def test_no_more_than_the_limit_is_in_flight_and_who_waits_comes_in_turn() -> None:
    async def scene(window: Window, _: Clock) -> None:
        await enter(window, 3)
        order: list[int] = []

        async def wait(number: int) -> None:
            assert await window.enter() is not None
            order.append(number)

        tasks = [asyncio.create_task(wait(number)) for number in range(3)]
        await asyncio.sleep(0)
        assert (window.in_flight, order) == (3, [])
        window.leave()
        window.leave()
        await asyncio.sleep(0)
        assert (window.in_flight, order) == (3, [0, 1])
        window.close()
        with pytest.raises(AssertionError):
            await tasks[2]
        assert await window.enter() is None

    run(scene, most=3)


def test_one_congestion_event_cuts_once_however_many_replies_refuse() -> None:
    async def scene(window: Window, _: Clock) -> None:
        tickets = await enter(window, 100)
        for ticket in tickets[:3]:
            window.refused(ticket)
            window.leave()
        # 0.7 x 100; three refusals are one event.
        assert (window.limit, window.events) == (70, 1)

    run(scene, most=100)


def test_a_flood_is_cut_to_what_the_gateway_held() -> None:
    async def scene(window: Window, clock: Clock) -> None:
        tickets = await enter(window, 256)
        for ticket in tickets[8:]:
            window.refused(ticket)
            window.leave()
        assert (window.limit, window.lowest, window.events) == (8, 8, 1)
        # Answers to what was sent before the cut are no sign that more would be borne.
        for ticket in tickets[:8]:
            window.answered(ticket)
            window.leave()
        assert window.limit == 8

    run(scene, most=256)


def test_the_limit_is_at_least_one_and_at_most_what_was_configured() -> None:
    async def scene(window: Window, clock: Clock) -> None:
        for _ in range(5):
            (ticket,) = await enter(window, 1)
            window.refused(ticket)
            window.leave()
        assert window.limit == 1
        await windows(window, clock, 100)
        assert window.limit == 4

    run(scene, most=4)


def test_growth_is_quick_up_to_the_place_of_the_refusal_and_patient_there() -> None:
    async def scene(window: Window, clock: Clock) -> None:
        tickets = await enter(window, 21)
        window.refused(tickets[0])
        for _ in tickets:
            window.leave()
        seen = [window.limit]
        for _ in range(14):
            await windows(window, clock, 1)
            seen.append(window.limit)
        # 0.7 x 21 = 14; +1, +2, +4 but not above the 20 that were held; after 8 windows there one more is tried; it
        # goes well, so the place is forgotten and growth starts anew.
        assert seen == [14, 15, 17, 20, 20, 20, 20, 20, 20, 20, 20, 21, 22, 24, 28]

    run(scene, most=64)


def test_a_refused_try_makes_the_next_one_later() -> None:
    async def scene(window: Window, clock: Clock) -> None:
        async def until_refused_above_20() -> int:
            for n in range(200):
                if window.limit > 20:
                    tickets = await enter(window, window.limit)
                    window.refused(tickets[-1])
                    for _ in tickets:
                        window.leave()
                    return n
                await windows(window, clock, 1)
            raise AssertionError("never tried")

        tickets = await enter(window, 21)
        window.refused(tickets[0])
        for _ in tickets:
            window.leave()
        # Back to 20 in 3 windows, then patience.
        assert [await until_refused_above_20() for _ in range(5)] == [11, 19, 35, 67, 67]

    run(scene, most=64)


def test_a_gateway_that_bears_everything_again_gets_everything_soon() -> None:
    async def scene(window: Window, clock: Clock) -> None:
        tickets = await enter(window, 256)
        for ticket in tickets[8:]:
            window.refused(ticket)
        for _ in tickets:
            window.leave()
        # 8 at the place of the refusal, one try, then doubling steps: 9, 10, 12, 16, 24, 40, 72, 136, 256
        await windows(window, clock, 17)
        assert window.limit == 256

    run(scene, most=256)


def test_a_window_of_answers_takes_its_time() -> None:
    async def scene(window: Window, clock: Clock) -> None:
        tickets = await enter(window, 64)
        window.refused(tickets[0])
        for _ in tickets:
            window.leave()
        for _ in range(50):  # many answers in no time: a rate limit that had some saved up
            for ticket in await enter(window, window.limit):
                window.answered(ticket)
                window.leave()
        assert window.limit == 44

    run(scene, most=64)


def test_a_time_to_wait_holds_all_back_and_then_lets_them_in_one_by_one() -> None:
    async def scene(window: Window, clock: Clock) -> None:
        (ticket,) = await enter(window, 1)
        window.refused(ticket, hold_s=0.2)
        window.leave()
        began = asyncio.get_running_loop().time()
        entered: list[float] = []

        async def wait() -> None:
            await window.enter()
            entered.append(asyncio.get_running_loop().time() - began)
            window.leave()

        async def tick() -> None:
            while len(entered) < 5:
                clock.now = 1000 + asyncio.get_running_loop().time() - began
                await asyncio.sleep(0.001)

        await asyncio.wait_for(asyncio.gather(tick(), *(wait() for _ in range(5))), 20)
        assert min(entered) >= 0.199
        assert len(set(entered)) == 5

    run(scene)


def test_who_is_cancelled_while_waiting_takes_no_slot() -> None:
    async def scene(window: Window, _: Clock) -> None:
        await enter(window, 8)
        waiting = [asyncio.create_task(window.enter()) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        window.leave()  # granted to the second: the first has gone
        await asyncio.sleep(0)
        assert await waiting[1] == 0
        assert window.in_flight == 8
        late = asyncio.create_task(window.enter())
        await asyncio.sleep(0)
        window.leave()  # granted, and cancelled before it ran
        late.cancel()
        with pytest.raises(asyncio.CancelledError):
            await late
        assert window.in_flight == 7

    run(scene)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.lists(st.sampled_from(["answer", "refuse", "late", "tick"]), max_size=120))
def test_the_limit_stays_within_its_bounds_whatever_comes(most: int, replies: list[str]) -> None:
    async def scene(window: Window, clock: Clock) -> None:
        for reply in replies:
            clock.now += 1.0 if reply == "tick" else 0.01
            (ticket,) = await enter(window, 1)
            if reply == "answer":
                window.answered(ticket)
            elif reply != "tick":
                window.refused(ticket if reply == "refuse" else ticket - 1)
            window.leave()
            assert 1 <= window.lowest <= window.limit <= most
            assert window.in_flight == 0

    run(scene, most)


def test_a_refusal_now_and_then_is_no_load_and_a_run_of_them_is() -> None:
    async def play() -> Window:
        clock = Clock()
        window = Window(64, clock)
        for _ in range(20):  # 1 in 50: 2 %, under the 3 % that are borne
            await windows_of(window, clock, 49, refused=1, hold_s=30)
        assert (window.limit, window.events) == (64, 0)
        await windows_of(window, clock, 0, refused=20)
        return window

    window = asyncio.run(play())
    assert window.limit < 64
    assert window.events == 1


async def windows_of(window: Window, clock: Clock, answered: int, refused: int, hold_s: float | None = None) -> None:
    clock.now += 1
    tickets = await enter(window, answered + refused)
    for number, ticket in enumerate(tickets):
        if number < answered:
            window.answered(ticket)
        else:
            window.refused(ticket, hold_s)
    for _ in tickets:
        window.leave()
