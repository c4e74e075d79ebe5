"""A hub that refuses, limits, fails, hangs up and lies: what was sent arrives once and whole, or an error says what to do."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tendril_assets.errors import HubConflict, HubRefused, HubUnavailable, TendrilError
from tendril_assets.release.hub_plan import Plan, make_plan
from tendril_assets.release.outgoing import dataset
from tendril_assets.resources import hub_calls
from tendril_assets.resources.hub import Hub
from tendril_assets_tests.loopback import Scripted
from tendril_assets_tests.release import outgoing_toy as toy
from tendril_assets_tests.resources import test_hub
from tendril_assets_tests.resources.hub_server import TOKEN, Fault, Request, error, reply
from tendril_assets_tests.resources.hub_server import Hub as Server
from tendril_assets_tests.resources.test_hub import published, tree_of

client = test_hub.client
HTML = Scripted(502, b"<html>bad gateway</html>", {"Content-Type": "text/html"})
CUT = Scripted(200, b'{"commitOid": "0123456789"}' * 10, cut=True)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No waiting: seconds that the hub's client would have waited on its own account."""
    from huggingface_hub.utils import _http

    waited: list[float] = []
    monkeypatch.setattr(_http, "time", SimpleNamespace(sleep=waited.append))
    return waited


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        yield made


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.write(tmp_path_factory.mktemp("release"))


def plan(hub: Hub, release: Path) -> Plan:
    outgoing = dataset(release.parent, toy.spec())
    return make_plan(outgoing, hub.state(outgoing))


def send(server: Server, release: Path, **options) -> list[float]:
    """Seconds waited between attempts."""
    waited: list[float] = []
    hub = Hub(options.pop("token", TOKEN), server.url, sleep=waited.append, **options)
    hub.send(plan(hub, release))
    return waited


def require_whole(server: Server, release: Path) -> None:
    repo = server.repo(toy.REPO)
    assert published(server, "v1.0.0") == tree_of(release)
    assert (repo.private, repo.gate, list(repo.tags)) == (False, "auto", ["v1.0.0"])
    assert len(repo.history()) == 2


class FaultyServer(Server):
    """Answers the request with number ``at``, or without one each request for the first time, by ``answer``, before or after
    it is done."""

    def __init__(self, answer: Scripted, after: bool, at: int | None = None) -> None:
        super().__init__()
        self._at, self._answer, self._after = at, answer, after
        self._met: set[tuple[str, str]] = set()

    def answer(self, request: Request) -> Scripted:
        with self._lock:
            known = (request.method, request.path)
            if (known in self._met) if self._at is None else len(self.asked) != self._at:
                return super().answer(request)
            self._met.add(known)
            if self._after:
                super().answer(request)
            else:
                self.asked.append(request)
            return self._answer


FAULTS = {
    "500": (error(500, "internal"), False),
    "500 after": (error(500, "internal"), True),
    "html": (HTML, False),
    "cut": (CUT, False),
    "cut after": (CUT, True),
}


@pytest.mark.parametrize("fault", ["500", "cut after"])
def test_one_fault_at_any_request_costs_nothing(release: Path, server: Server, fault: str) -> None:
    """Each request of a whole publishing in turn."""
    send(server, release)
    for at in range(len(server.asked)):
        with FaultyServer(*FAULTS[fault], at=at) as faulty:
            send(faulty, release)
            require_whole(faulty, release)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_every_request_costs_nothing(release: Path, fault: str) -> None:
    """Each fails when it is made for the first time."""
    with FaultyServer(*FAULTS[fault]) as faulty:
        send(faulty, release, attempts=12)
        require_whole(faulty, release)
        assert len(faulty._met) > 15


def test_what_the_hub_asks_to_wait_is_waited(server: Server, release: Path, waits: list[float]) -> None:
    server.faults = [
        Fault("POST", "/commit/", error(429, "slow down", **{"Retry-After": "7"})),
        Fault("PUT", "/settings", error(503, "down", **{"Retry-After": "3"})),
        Fault("POST", "/preupload/", error(429, "slow down", **{"Retry-After": "5"})),
    ]
    assert send(server, release) == [3.0, 7.0]
    assert waits == [6.0]  # the client adds one
    require_whole(server, release)


def test_an_hour_is_not_waited(server: Server, release: Path, waits: list[float]) -> None:
    for part in ("/commit/", "/preupload/"):
        server.faults = [Fault("POST", part, error(429, "slow down", **{"Retry-After": "3600"}))] * 9
        with pytest.raises(HubUnavailable, match=r"asks to wait 3,600 s.*run the same command again"):
            send(server, release)
        assert server.repo(toy.REPO).tags == {}
    server.faults = []
    send(server, release)
    require_whole(server, release)
    assert waits == []


def test_a_hub_that_stays_down_ends_in_an_error_and_goes_on_later(server: Server, release: Path) -> None:
    server.faults = [Fault("POST", "/commit/", error(503, "maintenance"))] * 6
    told: list[str] = []
    with pytest.raises(HubUnavailable, match=r"commit to Maker/toy-train: the hub answered 503 \(maintenance\)"):
        send(server, release, tell=told.append)
    assert any("attempt 1 of 6, next in 1 s" in line for line in told)
    assert server.repo(toy.REPO).private
    server.faults = []
    send(server, release)
    require_whole(server, release)


def test_no_hub_at_all(release: Path) -> None:
    hub = Hub(TOKEN, "http://127.0.0.1:9", sleep=lambda _: None)
    with pytest.raises(HubUnavailable, match="look at dataset Maker/toy-train: no whole answer"):
        plan(hub, release)


def test_a_hub_that_says_nothing(server: Server, release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_calls, "TIMEOUT_S", 0.1)
    server.faults = [Fault("GET", "/api/", Scripted(delay_s=0.4))] * 2
    hub = Hub(TOKEN, server.url, sleep=lambda _: None, attempts=2)
    with pytest.raises(HubUnavailable, match=r"no whole answer.*Timeout"):
        plan(hub, release)
    # A long list of files is asked for with a limit too, though the client sets none.
    server.add(toy.REPO, {"README.md": b"x"})
    server.faults = [Fault("GET", "/tree/", Scripted(delay_s=0.4))] * 20
    with pytest.raises(HubUnavailable, match=r"list files at .*Timeout"):
        plan(hub, release)


@pytest.mark.parametrize(
    ("method", "part", "answer", "said"),
    [
        (
            "GET",
            "/api/",
            error(401, "Invalid credentials in Authorization header"),
            "the hub answered 401.*set HF_TOKEN",
        ),
        ("GET", "/tree/", error(403, "Access to dataset is restricted", "GatedRepo"), "403.*needs write access"),
        (
            "POST",
            "/repos/create",
            error(403, "You don't have the rights"),
            r"403 \(You don't have the rights\).*write access",
        ),
        ("POST", "/repos/create", error(402, "Payment required"), "402.*wants to be paid"),
        ("PUT", "/settings", error(403, "no"), "set gated of dataset Maker/toy-train: the hub answered 403"),
        ("POST", "/preupload/", error(403, "no"), "commit to Maker/toy-train: the hub answered 403"),
        ("POST", "/commit/", error(400, "wrong"), "the hub answered 400"),
        ("POST", "/commit/", error(413, "too large"), "413.*no commit of this size"),
        ("POST", "/tag/", error(403, "no"), "tag v1.0.0 of dataset"),
    ],
)
def test_a_refusal_is_told_at_once_and_not_repeated(
    server: Server, release: Path, method: str, part: str, answer: Scripted, said: str
) -> None:
    server.faults = [Fault(method, part, answer)] * 2
    with pytest.raises(HubRefused, match=said):
        send(server, release)
    # Where the client asks whether a repository is there all the same, it is asked once more.
    assert len(server.faults) == 1
    assert not any(repo.tags for repo in server.repos.values())
    server.faults = []
    send(server, release)
    require_whole(server, release)


def test_a_card_that_the_hub_does_not_take(server: Server, release: Path) -> None:
    body = Scripted(400, b'{"errors": [{"message": "\\"license\\" must be one of"}], "warnings": []}')
    server.faults = [Fault("POST", "/validate-yaml", body)]
    with pytest.raises(HubRefused, match=r"Invalid metadata in README.md.*license"):
        send(server, release)
    assert server.calls("POST", "/commit/") == []


def test_somebody_else_commits_in_between(server: Server, release: Path) -> None:
    """The other's files stay: nothing is forced over them."""

    def intrude(request: Request) -> None:
        if "/preupload/" in request.path:
            repo = server.repo(toy.REPO)
            repo.commit(dict(repo.tree("main") or {}) | {"README.md": b"theirs"})
            server.before = lambda _: None

    server.before = intrude
    with pytest.raises(HubConflict, match="somebody else writes there"):
        send(server, release)
    assert published(server, "main") == {"README.md": b"theirs"}
    assert server.repo(toy.REPO).tags == {}
    send(server, release)
    assert published(server, "v1.0.0") == tree_of(release)


def test_two_publish_the_same_at_once(server: Server, release: Path) -> None:
    """The other one's commit is ours: it is found, compared and tagged."""
    done = []

    def overtake(request: Request) -> None:
        if "/preupload/" in request.path and not done:
            done.append(True)
            send(server, release)

    server.before = overtake
    send(server, release)
    require_whole(server, release)


def test_a_repository_that_is_busy(server: Server, release: Path) -> None:
    server.faults = [Fault("POST", "/commit/", error(409, "A conflicting operation is in progress"))] * 2
    assert send(server, release) == [1.0, 2.0]
    require_whole(server, release)


def test_a_hub_that_is_busy_for_ever(server: Server, release: Path) -> None:
    """The hub's client repeats this request without end and without a pause."""
    busy = error(409, "Cannot create repo: another conflicting operation is in progress")
    server.faults = [Fault("POST", "/repos/create", busy)] * 500
    with pytest.raises(HubUnavailable, match="said so 21 times"):
        send(server, release, attempts=1)
    assert len(server.calls("POST", "/repos/create")) == 21


def test_another_tag_of_that_name_in_the_last_moment(server: Server, release: Path) -> None:
    def tag(request: Request) -> None:
        if "/tag/" in request.path:
            repo = server.repo(toy.REPO)
            repo.tags["v1.0.0"] = repo.history()[-1]

    server.before = tag
    with pytest.raises(HubConflict, match=r"tag v1.0.0 of Maker/toy-train does not hold"):
        send(server, release)


def test_other_bytes_than_were_sent(server: Server, release: Path) -> None:
    def spoil(request: Request) -> None:
        tree = server.repo(toy.REPO).tree("main") if ("dataset", toy.REPO) in server.repos else None
        if tree and "README.md" in tree and request.method == "GET":
            tree["README.md"] = tree["README.md"][:-1] + b"?"

    server.before = spoil
    with pytest.raises(HubConflict, match=r"does not hold .*\(1 file other: README.md\), so it gets no tag"):
        send(server, release)
    repo = server.repo(toy.REPO)
    assert (repo.tags, repo.private) == ({}, True)


def test_a_file_that_the_storage_does_not_take(server: Server, release: Path, waits: list[float]) -> None:
    server.faults = [Fault("PUT", "/storage/", error(500, "try again"))]
    send(server, release)
    require_whole(server, release)
    assert waits == [1.0]
    with Server() as other:
        other.faults = [Fault("PUT", "/storage/", error(403, "signature expired"))] * 9
        with pytest.raises(HubRefused, match=r"Error while uploading .*403") as told:
            send(other, release)
        assert "X-Signature" not in str(told.value)
        assert other.repo(toy.REPO).tags == {}


def test_answers_that_are_none_of_the_hub_s(server: Server, release: Path) -> None:
    server.faults = [Fault("POST", "/preupload/", reply({"files": "none"}))]
    with pytest.raises(HubRefused, match="preupload_info is improperly formatted"):
        send(server, release)
    # Committed, but what it answers cannot be read: it is there all the same.
    server.faults = [Fault("POST", "/commit/", reply({"commitUrl": 1}), after=True)]
    send(server, release)
    require_whole(server, release)


@pytest.mark.parametrize("status", [401, 403, 500])
def test_no_message_holds_the_token(server: Server, release: Path, status: int, capfd) -> None:
    """Whatever the hub throws back."""
    told: list[str] = []
    for part in ("/api/", "/settings", "/commit/", "/storage/"):
        server.faults = [
            Fault(m, part, error(status, f"Bearer {TOKEN} is bad: {server.url}/x?token={TOKEN}"))
            for m in ("GET", "PUT", "POST")
            for _ in range(6)
        ]
        try:
            send(server, release, tell=told.append, attempts=2)
        except TendrilError as problem:
            told += [str(problem), repr(problem)]
        server.faults = []
    shown = "\n".join(told) + "".join(capfd.readouterr())
    assert "***" in shown
    assert TOKEN not in shown


# PermissionError: of the client's other transfer, where it may not write.
@pytest.mark.parametrize("broken", [ValueError, KeyError, TypeError, RuntimeError, PermissionError])
def test_what_nobody_foresaw_is_an_error_of_ours(broken: type[Exception]) -> None:
    calls = hub_calls.Calls(TOKEN, lambda _: None, lambda _: None)

    def action() -> None:
        raise broken(f"with {TOKEN}")

    with pytest.raises(HubRefused, match=r"doing: .*with \*\*\*"):
        calls.again("doing", action)


def test_the_client_is_as_it_was_afterwards(server: Server, release: Path) -> None:
    from huggingface_hub.utils import _http

    before = _http._GLOBAL_CLIENT_FACTORY
    server.faults = [Fault("GET", "/api/", error(401, "Invalid credentials in Authorization header"))]
    with pytest.raises(HubRefused):
        send(server, release)
    assert _http._GLOBAL_CLIENT_FACTORY is before
