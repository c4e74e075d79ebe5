"""A gateway that breaks in every way at once, by seed, and the books of both sides compared to the last call and cent.

The gateway draws what it does by seed, request and attempt, and books it before it answers; the expectations here are read
from its books alone, never from the client.
"""

import gzip
import hashlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tendril_assets.judging.parse import parse_verdict
from tendril_assets.resources.gateway_client import RetryPolicy
from tendril_assets.resources.ledger import Ledger
from tendril_assets_tests.resources.asking import ask, open_of, requests, stored
from tendril_assets_tests.resources.hostile_gateway import NEVER, Act, HostileGateway, bad, completion, error, good

REQUESTS, IN_FLIGHT = 1000, 64
TIMEOUT_S = 5.0
POLICY = RetryPolicy(first_wait=0.01, max_wait=0.02, retry_after_cap=0.05)
FINAL = ("answered", "truncated", "filtered")
RETRY_AFTER = (
    "0", "0.01", "-5", "120", "morgen", "", "9" * 5000, "Sun, 29 Nov 2020 19:00:00 GMT", "Sun, 29 Nov 2099 21:00:00 -0000",
    "Sun, 29 Nov 99999 21:00:00 GMT",
)  # fmt: skip
ODD_COSTS = ("null", '"NaN"', "NaN", "-1", "1e30", "true", None)

Draw = Callable[[random.Random, int, str], Act]


def answer(text: Callable[[int], str]) -> Draw:
    """A final answer in another form."""

    def act(_rng: random.Random, grade: int, cost: str) -> Act:
        return good(grade, cost, body=completion(text(grade), cost=cost))

    return act


def costly(cost: object) -> Act:
    """A final answer of grade 1 that does not say what it cost."""
    return Act(body=completion("1", cost=cost), label=1)


def as_body(what: str, body: Callable[[bytes], bytes], **options: object) -> Draw:
    """The bytes of a good reply, spoilt; its cost is then not named to anybody."""
    return lambda rng, grade, cost: bad(what, body(completion(str(grade), cost=cost)), None, **options)


def spoilt(what: str, **fields: object) -> Draw:
    """A completion that names its cost and is no final answer, though a grade stands in it somewhere."""
    return lambda rng, grade, cost: bad(what, completion(**{"content": str(grade), "cost": cost, **fields}), cost)


# Weight, and what is drawn from the request's own generator, its grade and its cost
FATES: dict[str, tuple[float, Draw]] = {
    "plain": (60, answer(str)),
    "blanks around it": (2, answer(lambda grade: f" \n{grade}\n")),
    "as an object": (3, answer(lambda grade: f'{{"relevanz": {grade}, "grund": "x"}}')),
    "in a fence": (2, answer(lambda grade: f"```json\n{{\"relevanz\": {grade}}}\n```")),
    "behind thoughts": (2, answer(lambda grade: f"<think>2? 0?</think>{grade}")),
    "keep-alive": (2, lambda rng, grade, cost: good(grade, cost, body=b": P\n\n\n" + completion(str(grade), cost=cost))),
    "gzip": (1, lambda rng, grade, cost: good(
        grade, cost, body=gzip.compress(completion(str(grade), cost=cost)), headers={"Content-Encoding": "gzip"})),
    "chunked": (2, lambda rng, grade, cost: good(grade, cost, chunked=True)),
    "close behind it": (2, lambda rng, grade, cost: good(grade, cost, ending="close")),
    "no length": (1, lambda rng, grade, cost: good(grade, cost, length=-1, ending="close")),
    "slow": (2, lambda rng, grade, cost: good(grade, cost, delay_s=rng.random() / 10)),
    "dripping": (1, lambda rng, grade, cost: good(grade, cost, drip_s=0.005)),
    "odd cost": (3, lambda rng, grade, cost: costly(rng.choice(ODD_COSTS))),
    "free": (1, lambda rng, grade, cost: good(grade, "0")),
    "second reply behind it": (1, lambda rng, grade, cost: good(grade, cost, after=good((grade + 1) % 3).whole)),
    "words": (2, lambda rng, grade, cost: bad("answered", completion(f"Die Passage ist {grade}.", cost=cost), cost)),
    "truncated": (1, spoilt("truncated", reason="length")),
    "truncated natively": (0.5, spoilt("truncated", choice={"native_finish_reason": "MAX_TOKENS"})),
    "filtered": (1, spoilt("filtered", reason="content_filter")),
    "refusal": (0.5, spoilt("filtered", message={"refusal": "nein"})),
    "flagged": (0.5, lambda rng, grade, cost: error(403, {"error": {"metadata": {"reasons": ["x"]}}}, label=-1)),
    "reasoning only": (1, lambda rng, grade, cost: bad("empty", completion("", cost=cost, message={"reasoning": "1"}), cost)),
    "tool call": (0.5, spoilt("bad_body", message={"tool_calls": [{"id": "x"}]})),
    "no finish": (0.5, spoilt("bad_body", reason=None)),
    "error finish": (0.5, spoilt("error", reason="error")),
    "error beside it": (0.5, spoilt("error", error={"code": 502})),
    "number": (0.5, spoilt("bad_body", content=1)),
    "error in a 200": (1, lambda rng, grade, cost: bad("error", b'{"error":{"code":"503"}}', None, works=False)),
    "blank body": (1, as_body("bad_body", lambda whole: b"\n\n   \n")),
    "page": (1, as_body("bad_body", lambda whole: b"<html>1</html>")),
    "null": (0.5, as_body("bad_body", lambda whole: b"null")),
    "two in one": (0.5, as_body("bad_body", lambda whole: whole + whole)),
    "gzip undeclared": (0.5, as_body("bad_body", gzip.compress)),
    "cut silently": (0.5, as_body("bad_body", lambda whole: whole[:-5], length=-1, ending="close")),
    "cut": (1, as_body("error", bytes, sent=30, ending="close")),
    "reset": (1, as_body("error", bytes, sent=0, ending="reset")),
    "too short a length": (0.5, as_body("error", bytes, length=30)),
    "never": (0.15, as_body("error", bytes, delay_s=NEVER)),
    "stuck": (0.15, as_body("error", bytes, drip_s=NEVER)),
    "502": (2, lambda rng, grade, cost: error(502, b"<html>bad gateway</html>")),
    "524": (1, lambda rng, grade, cost: error(524, b"<html>timeout</html>")),
    "429": (0.5, lambda rng, grade, cost: error(429, headers={"Retry-After": rng.choice(RETRY_AFTER)})),
    "too long": (0.5, lambda rng, grade, cost: error(400, {"error": {"code": "context_length_exceeded"}})),
}  # fmt: skip
NAMES = list(FATES)
WEIGHTS = [weight for weight, _ in FATES.values()]


def grade_of(seed: int, key: str) -> int:
    return hashlib.blake2b(f"{seed}:{key}".encode(), digest_size=2).digest()[0] % 3


def script(seed: int) -> Callable[[str, int], Act]:
    def act(key: str, attempt: int) -> Act:
        rng = random.Random(f"{seed}:{key}:{attempt}")
        _, draw = FATES[rng.choices(NAMES, WEIGHTS)[0]]
        # Costs of different length: a float would not add up to them.
        return draw(rng, grade_of(seed, key), f"0.{rng.randrange(1, 10**9):012d}")

    return act


def ends(acts: list[Act]) -> bool:
    """Whether the gateway's last act leaves nothing to ask again in any later run."""
    return acts[-1].what in FINAL or (acts[-1].status, acts[-1].label) == (403, -1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_random_mix_is_accounted_for_exactly(tmp_path: Path, seed: int) -> None:
    asked = requests(REQUESTS)
    options = {"concurrency": IN_FLIGHT, "timeout_s": TIMEOUT_S, "retry": POLICY}
    with HostileGateway(script(seed)) as gateway:
        summary = ask(gateway, tmp_path, asked, **options)
        entries = stored(tmp_path)
        first = {key: [call.act for call in calls] for key, calls in gateway.by_key.items()}
        calls, named, unnamed = len(gateway.books), gateway.named, gateway.unnamed

        # Every request ends in exactly one status, and it is that of the gateway's last act on it.
        assert len(entries) == len(list(Ledger(tmp_path).entries())) == REQUESTS == sum(summary.by_status.values())
        for key, entry in entries.items():
            expected = "filtered" if (first[key][-1].status, first[key][-1].label) == (403, -1) else first[key][-1].what
            assert (entry.status, entry.attempts) == (expected, len(first[key])), (key, first[key])

        # The books agree: calls, money named, calls of unknown cost.
        assert summary.calls == calls == sum(entry.attempts for entry in entries.values())
        assert summary.cost == named == sum(entry.cost for entry in entries.values() if entry.cost is not None)
        assert summary.cost_unknown == unnamed

        # Labels are the gateway's, and only from replies that were one.
        graded = 0
        for key, entry in entries.items():
            grade = parse_verdict(entry.content, entry.finish_reason, entry.status).grade
            last = first[key][-1]
            assert grade == (last.label if last.what == "answered" else None), key
            graded += grade is not None
        assert graded > 0.8 * REQUESTS

        # Nothing is asked again after a final answer, nor paid for more often than is allowed.
        for acts in first.values():
            assert not any(act.what in ("answered", "truncated") for act in acts[:-1])
            assert sum(act.what == "filtered" for act in acts) <= 2
            assert sum(act.what in ("empty", "bad_body") for act in acts) <= 2 * POLICY.paid
        still = {key for key, acts in first.items() if not ends(acts)}
        assert summary.n_open == summary.failed == len(still)

        # A second run asks exactly the open ones.
        again = ask(gateway, tmp_path, open_of(tmp_path, asked), **options)
        second = {key for key, booked in gateway.by_key.items() if len(booked) > len(first[key])}
        assert second == still
        assert (again.requests, again.calls) == (len(still), len(gateway.books) - calls)
        assert again.cost == gateway.named - named

    kinds = {kind for kind, count in gateway.kinds().items() if count}
    assert kinds == {"answered", "truncated", "filtered", "empty", "bad_body", "error"}
    report = Ledger(tmp_path).verify()
    assert (report.answered_twice, report.is_sound) == (0, True)
    assert report.known_cost == gateway.named
