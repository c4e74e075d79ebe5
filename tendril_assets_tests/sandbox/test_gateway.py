import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tendril_assets.defs import DEFAULT_COLLECTION, collection_spec
from tendril_assets.errors import GatewayError
from tendril_assets.judging.systems import systems_of
from tendril_assets.sandbox.gateway import StandInGateway
from tendril_assets.sandbox.gateway_money import PRICES
from tendril_assets_tests.sandbox.posting import CLIENT, HEADERS, body, post


def test_a_completion_has_the_protocols_fields() -> None:
    pair = "<query>Holz aus Schweizer Wäldern</query>\n\n<passage>Es ist FSC-Holz zu verwenden.</passage>"
    with StandInGateway() as gateway:
        first, second = post(gateway, body(pair)).json(), post(gateway, body(pair)).json()
    (choice,) = first["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["role"] == "assistant"
    assert (first["model"], first["provider"], first["object"]) == ("toy/model", "stand-in", "chat.completion")
    assert first["id"].startswith("gen-")
    usage = first["usage"]
    # 91 characters in all, 4 a token; none cached yet; 100 nano-USD a token in, 400 out
    assert len(pair) == 91
    assert usage["prompt_tokens"] == 23
    assert usage["prompt_tokens_details"] == {"cached_tokens": 0}
    assert usage["cost"] == pytest.approx((23 * 100 + usage["completion_tokens"] * 400) / 1e9)
    assert usage["total_tokens"] == 23 + usage["completion_tokens"]
    # The prefix up to the passage, 43 characters, comes from the cache the second time: 11 tokens at a tenth.
    assert pair.index("<passage>") == 43
    assert second["usage"]["prompt_tokens_details"] == {"cached_tokens": 11}
    assert second["usage"]["cost"] == pytest.approx((12 * 100 + 11 * 10 + usage["completion_tokens"] * 400) / 1e9)
    assert second["choices"] == first["choices"]


@pytest.mark.parametrize(
    ("payload", "headers", "status"),
    [
        (body(), {}, 401),
        (body(), {"Authorization": "Basic x"}, 401),
        ({"messages": [{"role": "user"}]}, HEADERS, 400),
        ({"model": "toy/model"}, HEADERS, 400),
        ({"model": "toy/model", "messages": ["x"]}, HEADERS, 400),
        ([], HEADERS, 400),
    ],
)
def test_bad_requests_are_refused_as_the_router_does(payload: object, headers: dict[str, str], status: int) -> None:
    with StandInGateway() as gateway:
        response = post(gateway, payload, headers)
    assert response.status_code == status
    assert response.json()["error"]["code"] == status


def test_unknown_models_and_wrong_keys() -> None:
    with StandInGateway(models=("toy/model",), api_key="right") as gateway:
        right = {"Authorization": "Bearer right"}
        assert post(gateway, body(), right).status_code == 200
        assert post(gateway, body(), HEADERS).status_code == 401
        missing = post(gateway, body(model="toy/other"), right)
    assert (missing.status_code, missing.json()["error"]["message"]) == (404, "No endpoints found for toy/other.")


def test_prices_are_listed() -> None:
    with StandInGateway(models=("toy/model",)) as gateway:
        listed = CLIENT.get(f"{gateway.base_url}/models").json()["data"]
    assert listed == [
        {
            "id": "toy/model",
            "pricing": {
                "prompt": "0.0000001000",
                "completion": "0.0000004000",
                "request": "0",
                "input_cache_read": "0.0000000100",
            },
        }
    ]


def test_every_model_that_the_sandbox_asks_is_listed_where_no_others_are_named() -> None:
    spec = collection_spec(DEFAULT_COLLECTION, "sandbox")
    asked = {spec.queries.summary.model, *(system.llm.model for system in systems_of(spec.judge))}
    assert asked >= {"sandbox/writer", "sandbox/judge", *PRICES}
    with StandInGateway() as gateway:
        listed = {model["id"] for model in CLIENT.get(f"{gateway.base_url}/models").json()["data"]}
    assert asked <= listed


def test_credit_runs_out_after_so_many_answers() -> None:
    with StandInGateway(credits=2) as gateway:
        codes = [post(gateway, body(str(i))).status_code for i in range(4)]
    assert codes == [200, 200, 402, 402]


def test_the_rate_is_limited_with_retry_after() -> None:
    with StandInGateway(rate_limit=0.5) as gateway:
        responses = [post(gateway, body(str(i))) for i in range(8)]
    limited = [r for r in responses if r.status_code == 429]
    assert limited
    assert all(int(r.headers["retry-after"]) >= 1 for r in limited)


def test_what_was_answered_and_is_asked_again_is_counted_beyond_the_process(tmp_path: Path) -> None:
    state = tmp_path / "deep" / "state"
    with StandInGateway(state=state) as gateway:
        post(gateway, body("a"))
        post(gateway, body("b"))
        post(gateway, body("a"))
        assert gateway.counters()["asked_twice"] == 1
        assert gateway._process is not None
        gateway._process.kill()
    with state.open("ab") as stream:
        stream.write(b"a 0123")  # a line cut short
    with StandInGateway(state=state) as gateway:
        assert (gateway.counters()["answered"], gateway.counters()["asked_twice"]) == (2, 1)
        post(gateway, body("b"))
        post(gateway, body("c"))
        assert (gateway.counters()["answered"], gateway.counters()["asked_twice"]) == (3, 2)
    with StandInGateway(state=state) as gateway:
        assert (gateway.counters()["answered"], gateway.counters()["asked_twice"]) == (3, 2)


def test_an_answer_is_known_to_have_arrived_when_the_client_comes_back() -> None:
    """Two connections: the first never comes back, as a killed client does; the second does."""
    with StandInGateway() as gateway:
        with httpx.Client(trust_env=False, timeout=60) as killed:
            killed.post(f"{gateway.base_url}/chat/completions", json=body("a"), headers=HEADERS)
        with httpx.Client(trust_env=False, timeout=60) as other:
            for text in ("a", "b", "a"):
                other.post(f"{gateway.base_url}/chat/completions", json=body(text), headers=HEADERS)
        counted = gateway.counters()
    # The first repeat of "a" may be a loss; the second comes from a client that had its answer.
    assert (counted["lost_on_the_way"], counted["asked_twice"]) == (1, 1)


def test_a_client_that_left_before_the_answer_may_ask_again() -> None:
    with StandInGateway(latency_s=2) as gateway:
        with pytest.raises(httpx.ReadTimeout):
            CLIENT.post(f"{gateway.base_url}/chat/completions", json=body(), headers=HEADERS, timeout=0.2)
        deadline = time.monotonic() + 60
        while (counted := gateway.counters())["in_flight"]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert counted["abandoned"] == 1
        assert post(gateway, body()).status_code == 200
        assert gateway.counters()["asked_twice"] == 0


def test_a_repeat_is_another_request_with_a_fate_of_its_own() -> None:
    def labelled(text: str, label: str | None) -> httpx.Response:
        return post(gateway, body(text), HEADERS if label is None else {**HEADERS, "X-Repeat": label})

    with StandInGateway() as gateway:
        for label in (None, "2", "3", "2"):
            labelled("a", label)
        assert (gateway.counters()["answered"], gateway.counters()["asked_twice"]) == (3, 1)
    with StandInGateway(faults={"html_502": 0.5}) as gateway:
        fates = [[labelled(str(i), label).status_code for i in range(40)] for label in (None, "2")]
    assert fates[0] != fates[1]


def test_reasoning_is_charged_by_the_effort_asked_for_within_the_limit() -> None:
    with StandInGateway() as gateway:
        asked = [{}, {"effort": "low"}, {"effort": "high"}, {"effort": "none"}, "no object"]
        usages = [post(gateway, body(max_tokens=200, reasoning=reasoning)).json()["usage"] for reasoning in asked]
    # 3 tokens of answer; 60 for low; high would be 420, and 197 are left
    assert [u["completion_tokens_details"]["reasoning_tokens"] for u in usages] == [0, 60, 197, 0, 0]
    assert [u["completion_tokens"] for u in usages] == [3, 63, 200, 3, 3]
    assert usages[1]["cost"] == pytest.approx((2 * 100 + 63 * 400) / 1e9)


def test_models_differ_in_price() -> None:
    models = ("sandbox/judge-small", "sandbox/judge", "sandbox/judge-large")
    with StandInGateway(models=models) as gateway:
        costs = [post(gateway, body(model=model)).json()["usage"]["cost"] for model in models]
        listed = {m["id"]: m["pricing"] for m in CLIENT.get(f"{gateway.base_url}/models").json()["data"]}
    # 2 tokens in, 3 out
    assert costs == pytest.approx([(2 * 30 + 3 * 120) / 1e9, (2 * 100 + 3 * 400) / 1e9, (2 * 600 + 3 * 2400) / 1e9])
    assert listed["sandbox/judge-small"]["completion"] == "0.0000001200"


def test_other_paths_and_methods_are_refused() -> None:
    with StandInGateway() as gateway:
        root = gateway.base_url.removesuffix("/api/v1")
        codes = [
            CLIENT.get(f"{root}/api/v1/chat/completions").status_code,
            CLIENT.post(f"{root}/counters").status_code,
            CLIENT.get(f"{root}/api/v1/completions").status_code,
        ]
        assert codes == [405, 405, 404]
        assert gateway.counters()["requests"] == 0


def test_requests_are_served_at_the_same_time() -> None:
    with StandInGateway(latency_s=0.3) as gateway, ThreadPoolExecutor(8) as pool:
        assert {r.status_code for r in pool.map(lambda i: post(gateway, body(str(i))), range(8))} == {200}
        assert gateway.counters()["most_in_flight"] > 1


def test_a_taken_port_is_said_clearly() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(GatewayError, match=f"port {port} cannot be used"):
            StandInGateway(port).start()


def test_it_is_not_running_outside_its_context() -> None:
    gateway = StandInGateway()
    with pytest.raises(GatewayError, match="not running"):
        _ = gateway.base_url
    with gateway:
        assert gateway.base_url.startswith("http://127.0.0.1:")
    with pytest.raises(GatewayError, match="not running"):
        gateway.counters()


PARENT = """
import time
from tendril_assets.sandbox.gateway import StandInGateway
gateway = StandInGateway().start()
print(gateway.port, gateway._process.pid, flush=True)
time.sleep(60)
"""


def test_it_dies_with_its_parent() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    port, pid = map(int, parent.stdout.readline().split())
    assert CLIENT.get(f"http://127.0.0.1:{port}/counters").status_code == 200
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 20
    while _listens(port):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not _is_serving(pid)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except ConnectionRefusedError:
        return False
    return True


def _is_serving(pid: int) -> bool:
    """Whether ``pid`` is a live process of the stand-in; a zombie has no command line."""
    try:
        return b"sandbox.gateway" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_the_ready_file_names_the_port(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    process = subprocess.Popen([sys.executable, "-m", "tendril_assets.sandbox.gateway", "--ready-file", str(ready)])
    try:
        deadline = time.monotonic() + 30
        while not ready.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        noted = json.loads(ready.read_text())
        assert noted["pid"] == process.pid
        assert CLIENT.get(f"http://127.0.0.1:{noted['port']}/counters").status_code == 200
    finally:
        process.terminate()
        process.wait()
