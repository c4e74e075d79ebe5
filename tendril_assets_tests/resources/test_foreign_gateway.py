"""The client against a server that is not ours: any that speaks OpenAI's chat completions.

Opt-in: ``TENDRIL_FOREIGN_GATEWAY`` names its base URL, ``TENDRIL_FOREIGN_MODEL`` a model it serves and
``TENDRIL_FOREIGN_KEY`` a key where it asks for one. ``transformers serve FOLDER`` is such a server
(``http://127.0.0.1:8000/v1``, model FOLDER); a tiny model with random weights is enough.
"""

import os
from decimal import Decimal
from pathlib import Path

import pytest

from tendril_assets.errors import GatewayError, GatewayRefused, SettingsError
from tendril_assets.judging.prompts import load_guideline, render
from tendril_assets.judging.request import RequestFactory
from tendril_assets.resources.gateway_client import Caps, Endpoint, GatewayRequest, RetryPolicy, answer, fetch_prices
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.ledger_entry import FINAL_STATUSES
from tendril_assets.spec import LLMSpec

BASE_URL, MODEL = os.environ.get("TENDRIL_FOREIGN_GATEWAY"), os.environ.get("TENDRIL_FOREIGN_MODEL", "")
pytestmark = pytest.mark.skipif(
    not BASE_URL, reason="TENDRIL_FOREIGN_GATEWAY names no server to try the client against"
)
ONCE = RetryPolicy(attempts=2, paid=2, first_wait=0.05, max_wait=0.1)


def endpoint() -> Endpoint:
    return Endpoint(str(BASE_URL), os.environ.get("TENDRIL_FOREIGN_KEY", "none"))


def judged(n: int, **llm: object) -> list[GatewayRequest]:
    factory = RequestFactory(LLMSpec(**{"model": MODEL, "max_tokens": 16, "require_parameters": False, **llm}))
    guideline = load_guideline("de_short")
    requests = []
    for i in range(n):
        messages = render(
            guideline, "Holzbau mit FSC-Zertifikat", f"plain Passage {i}: Das Dach wird mit Ziegeln gedeckt."
        )
        requests.append(GatewayRequest(factory.key(messages), "judge", factory.body(messages)))
    return requests


def test_real_prompts_end_in_final_statuses(tmp_path: Path) -> None:
    asked = judged(6)
    summary = answer(asked, Ledger(tmp_path), endpoint=endpoint(), concurrency=2, retry=ONCE)
    entries = list(Ledger(tmp_path).entries())
    assert {entry.request_key for entry in entries} == {request.key for request in asked}
    assert (summary.state, summary.n_open, summary.calls) == ("complete", 0, 6)
    for entry in entries:
        assert entry.status in FINAL_STATUSES
        assert entry.finish_reason in ("stop", "length", "content_filter")
        assert (entry.http_status, entry.attempts) == (200, 1)
        assert entry.prompt_tokens is None or entry.prompt_tokens > 100
        assert entry.completion_tokens is None or 0 < entry.completion_tokens <= 32
        assert entry.reply_id
    # What is answered is not open any more.
    assert Ledger(tmp_path).answered_keys() == {request.key for request in asked}


def test_one_token_is_truncated_at_most(tmp_path: Path) -> None:
    answer(judged(1, max_tokens=1), Ledger(tmp_path), endpoint=endpoint(), retry=ONCE)
    (entry,) = Ledger(tmp_path).entries()
    assert entry.status in ("truncated", "answered", "empty")


def test_fields_it_does_not_know_are_answered_or_refused_in_words(tmp_path: Path) -> None:
    asked = judged(4, providers=("p",), reasoning_effort="low", require_parameters=True)
    refused: GatewayRefused | None = None
    try:
        answer(asked, Ledger(tmp_path), endpoint=endpoint(), concurrency=2, retry=ONCE)
    except GatewayRefused as error:
        refused = error
    stored = list(Ledger(tmp_path).entries())
    if refused is None:
        assert len(stored) == 4
    else:
        assert refused.status in (400, 422)
        assert "provider" in str(refused)
        assert stored == []


def test_a_model_it_does_not_serve_is_refused_or_fails(tmp_path: Path) -> None:
    with pytest.raises(GatewayError) as caught:
        answer(judged(3, model="no/such-model"), Ledger(tmp_path), endpoint=endpoint(), retry=ONCE).require_complete()
    assert caught.value.status in (400, 404, 422)


def test_without_prices_a_cap_in_money_is_refused_and_one_in_calls_holds(tmp_path: Path) -> None:
    if MODEL in fetch_prices(endpoint()):
        pytest.skip("this server lists prices")
    with pytest.raises(SettingsError, match="price"):
        answer(judged(1), Ledger(tmp_path), endpoint=endpoint(), caps=Caps(max_usd=Decimal(1)))
    summary = answer(
        judged(3), Ledger(tmp_path), endpoint=endpoint(), concurrency=1, caps=Caps(max_calls=2), retry=ONCE
    )
    assert (summary.state, summary.calls, summary.n_open) == ("incomplete: budget", 2, 1)
