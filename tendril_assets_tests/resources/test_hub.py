"""Publishing to a hub on 127.0.0.1: what ends there, in which order, and what any run after it does."""

import os
import pickle
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tendril_assets.corpus.erasure import Removed
from tendril_assets.errors import HubConflict, PublishRefused, SettingsError
from tendril_assets.release.hub_plan import Plan, make_plan
from tendril_assets.release.outgoing import dataset, model
from tendril_assets.release.withdrawing import withdraw, withdrawals
from tendril_assets.resources import hub as hub_module
from tendril_assets.resources.hub import Hub, required_token
from tendril_assets_tests.release import outgoing_toy as toy
from tendril_assets_tests.release.toy import passage
from tendril_assets_tests.resources.hub_server import TOKEN
from tendril_assets_tests.resources.hub_server import Hub as Server


@pytest.fixture(autouse=True)
def client(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's plain transfer of large files, without questions to anybody else, bars, or the list of authorities,
    which takes longer to read than a whole publishing."""
    from huggingface_hub import constants
    from huggingface_hub.utils import disable_progress_bars

    # Tests are run offline; the hub of these is on the loopback interface.
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_: None)
    disable_progress_bars()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        yield made


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions with different content."""
    root = tmp_path_factory.mktemp("releases")
    toy.write(root)
    from tendril_assets_tests.release.test_publish import with_another_grade

    toy.write(root, "1.1.0", **_tables(with_another_grade()))
    return root


def _tables(tables) -> dict:
    from tendril_assets_tests.release.test_publish import inputs

    made = inputs(tables)
    return {"rows": made.rows, "figures": made.figures}


def client_of(server: Server, **options) -> Hub:
    return Hub(options.pop("token", TOKEN), server.url, sleep=options.pop("sleep", lambda _: None), **options)


def plan(hub: Hub, root: Path, version: str = "1.0.0", **options) -> Plan:
    outgoing = dataset(root, toy.spec(version))
    return make_plan(outgoing, hub.state(outgoing), withdrawn=tuple(withdrawals(root)), **options)


def tree_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def published(server: Server, revision: str, kind: str = "dataset", repo: str = toy.REPO) -> dict[str, bytes]:
    tree = server.repo(repo, kind).tree(revision)
    assert tree is not None
    return {name: data for name, data in tree.items() if name != ".gitattributes"}


def test_a_first_version_is_there_whole_gated_public_and_tagged(server: Server, releases: Path) -> None:
    told: list[str] = []
    hub = client_of(server, tell=told.append)
    sent = hub.send(plan(hub, releases))
    repo = server.repo(toy.REPO)
    assert published(server, "v1.0.0") == published(server, "main") == tree_of(releases / "1.0.0")
    assert (repo.private, repo.gate, repo.tags) == (False, "auto", {"v1.0.0": sent.commit})
    assert len(repo.history()) == 2  # the hub's own first one, and one commit of ours
    assert "corpus/train-00000-of-00001.parquet" in repo.large
    assert "README.md" not in repo.large
    assert sent.url == f"{server.url}/datasets/{toy.REPO}/tree/v1.0.0"
    assert told == list(sent.done)


def test_nobody_sees_it_unguarded_or_half(server: Server, releases: Path) -> None:
    """Whenever anything is asked: data is there only behind the gate; it is public only once whole; tagged only at the end."""
    whole = tree_of(releases / "1.0.0")
    seen = []

    def look(request) -> None:
        repo = server.repos.get(("dataset", toy.REPO))
        if repo is None:
            return
        files = published(server, "main")
        seen.append((bool(files), repo.gate, repo.private, bool(repo.tags)))
        assert files in ({}, whole)
        assert not files or repo.gate == "auto"
        assert repo.private or files == whole
        assert not repo.tags or (files == whole and not repo.private)

    server.before = look
    hub = client_of(server)
    hub.send(plan(hub, releases))
    assert {s[0] for s in seen} == {True, False}
    changing = [
        (r.method, r.path.split("?")[0].split(toy.REPO)[-1].split("/main")[0])
        for r in server.asked
        if r.method != "GET"
    ]
    steps = [p for m, p in changing if "settings" in p or "/commit" in p or "/tag" in p or "create" in p]
    assert [s.rsplit("/", 1)[0] if "/tag/" in s else s for s in steps] == [
        "/api/repos/create",
        "/settings",
        "/commit",
        "/settings",
        "/tag",
    ]


def test_the_same_again_asks_and_changes_nothing(server: Server, releases: Path) -> None:
    hub = client_of(server)
    hub.send(plan(hub, releases))
    server.asked.clear()
    again = plan(hub, releases)
    assert again.is_published
    assert again.size == 0
    assert hub.send(again).done == ()
    assert {r.method for r in server.asked} == {"GET"}


def test_a_second_version_sends_what_differs_and_takes_away_what_is_gone(server: Server, releases: Path) -> None:
    hub = client_of(server)
    hub.send(plan(hub, releases))
    server.repo(toy.REPO).commit(
        dict(server.repo(toy.REPO).tree("main") or {}) | {"corpus/train-00001-of-00002.parquet": b"x"}
    )
    server.asked.clear()
    second = plan(hub, releases, "1.1.0")
    assert [c.name for c in second.named("gone")] == ["corpus/train-00001-of-00002.parquet"]
    same = {c.name for c in second.named("same")}
    assert {"corpus/train-00000-of-00001.parquet", "beir/corpus.jsonl", "LICENSE.md"} <= same
    hub.send(second)
    assert published(server, "v1.1.0") == tree_of(releases / "1.1.0")
    assert published(server, "v1.0.0") == tree_of(releases / "1.0.0")
    [commit] = server.calls("POST", "/commit/")
    assert b"beir/corpus.jsonl" not in commit.body
    assert b"deletedFile" in commit.body
    assert len(server.calls("PUT", "/storage/")) == len(
        [c for c in second.named("changed") if c.name in server.repo(toy.REPO).large]
    )


def test_a_tag_is_never_moved_and_main_never_set_back(server: Server, releases: Path) -> None:
    hub = client_of(server)
    hub.send(plan(hub, releases, "1.1.0"))
    refused = plan(hub, releases)
    with pytest.raises(PublishRefused, match=r"already has v1\.1\.0: v1\.0\.0 would set it back"):
        hub.send(refused)
    repo = server.repo(toy.REPO)
    repo.tags = {"v1.0.0": repo.head}
    with pytest.raises(PublishRefused, match=r"a tag v1\.0\.0 with other content"):
        hub.send(plan(hub, releases))
    assert repo.tags == {"v1.0.0": repo.head}


def test_a_gate_that_somebody_opened_is_closed_again(server: Server, releases: Path) -> None:
    hub = client_of(server)
    hub.send(plan(hub, releases))
    server.repo(toy.REPO).gate = False
    hub.send(plan(hub, releases))
    assert server.repo(toy.REPO).gate == "auto"


def test_private_stays_private(server: Server, releases: Path) -> None:
    hub = client_of(server)
    hub.send(plan(hub, releases, visibility="private"))
    assert server.repo(toy.REPO).private
    assert published(server, "v1.0.0")
    hub.send(plan(hub, releases, "1.1.0"))
    assert server.repo(toy.REPO).private


def test_what_is_made_private_is_so_before_anything_new_is_there(server: Server, releases: Path) -> None:
    """And what is public already is guarded first."""
    server.add(toy.REPO, {})

    def look(_) -> None:
        repo = server.repo(toy.REPO)
        assert not published(server, "main") or (repo.private and repo.gate == "auto")

    server.before = look
    hub = client_of(server)
    sent = hub.send(plan(hub, releases, visibility="private"))
    assert sent.done[:2] == ("visibility: private", "access: gated, auto")
    assert published(server, "v1.0.0") == tree_of(releases / "1.0.0")


def test_a_private_one_whose_only_tag_was_taken_off_is_not_opened(server: Server, releases: Path) -> None:
    hub = client_of(server)
    hub.send(plan(hub, releases, visibility="private"))
    server.repo(toy.REPO).tags = {}
    hub.send(plan(hub, releases, "1.1.0"))
    assert server.repo(toy.REPO).private
    assert published(server, "v1.1.0") == tree_of(releases / "1.1.0")


def test_long_lists_of_files_are_read_to_the_end(server: Server, releases: Path) -> None:
    server.page = 2
    hub = client_of(server)
    hub.send(plan(hub, releases))
    assert plan(hub, releases).is_published
    assert any("cursor" in r.path for r in server.asked)


def test_a_model(server: Server, tmp_path: Path) -> None:
    folder = toy.write_models(tmp_path / "models")
    hub = client_of(server)
    outgoing = model(tmp_path / "models", toy.spec(), "mini")
    hub.send(make_plan(outgoing, hub.state(outgoing)))
    repo = server.repo(toy.MODEL, "model")
    assert published(server, "v1.0.0", "model", toy.MODEL) == tree_of(folder)
    assert (repo.private, repo.gate) == (False, False)
    assert "model.safetensors" in repo.large


def test_without_a_token_a_public_repository_can_be_looked_at_and_a_private_one_not(
    server: Server, releases: Path
) -> None:
    hub = client_of(server)
    hub.send(plan(hub, releases))
    nobody = client_of(server, token=None)
    looked = plan(nobody, releases)
    assert looked.is_published
    assert looked.remote is not None
    assert looked.remote.may_write is None
    server.repo(toy.REPO).private = True
    assert nobody.state(looked.outgoing).exists is False
    assert all(r.authorization is None for r in server.asked[-1:])


def test_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "stored_token", lambda: None)
    with pytest.raises(SettingsError, match=r"set HF_TOKEN to one with write access.*Nothing was sent"):
        required_token()


def test_what_was_not_looked_at_or_speaks_against_it_is_not_sent(server: Server, releases: Path) -> None:
    outgoing = dataset(releases, toy.spec())
    hub = client_of(server)
    with pytest.raises(PublishRefused, match="the hub was not asked"):
        hub.send(make_plan(outgoing, None))
    with pytest.raises(PublishRefused, match="it is damaged"):
        hub.send(make_plan(outgoing._replace(reasons=("it is damaged",)), hub.state(outgoing)))
    assert {r.method for r in server.asked} == {"GET"}


def test_what_changes_on_the_way_gets_no_tag(server: Server, tmp_path: Path) -> None:
    """A file of the folder is changed between looking and sending, and one is held back by a .gitignore on the hub."""
    folder = toy.write(tmp_path)
    hub = client_of(server)
    made = plan(hub, tmp_path)
    (folder / "CHANGELOG.md").write_text("other words")
    with pytest.raises(HubConflict, match=r"does not hold .*\(1 file other: CHANGELOG\.md\), so it gets no tag"):
        hub.send(made)
    repo = server.repo(toy.REPO)
    assert (repo.tags, repo.private) == ({}, True)
    repo.commit(dict(repo.tree("main") or {}) | {".gitignore": b"manifest.json\n"})
    toy_files = dict(repo.tree("main") or {})
    del toy_files["manifest.json"]
    repo.commit(toy_files)
    with pytest.raises(PublishRefused, match=r"changed, added or taken away|files that no release has \(\.gitignore\)"):
        hub.send(plan(hub, tmp_path))


def test_old_tags_are_taken_off(server: Server, tmp_path: Path) -> None:
    toy.write(tmp_path)
    hub = client_of(server)
    hub.send(plan(hub, tmp_path))
    gone = Removed(passages=frozenset({passage(1, 1, 1)}), documents=frozenset(), groups=frozenset())
    withdraw(tmp_path, gone, datetime(2026, 11, 30, 12))
    looked = plan(hub, tmp_path)
    assert [w.version for w in looked.stale_tags] == ["1.0.0"]
    assert hub.delete_tags(looked.outgoing, looked.stale_tags) == ["v1.0.0"]
    assert server.repo(toy.REPO).tags == {}
    assert hub.delete_tags(looked.outgoing, looked.stale_tags) == []


KILLED = """
import pickle, sys
from huggingface_hub import constants
constants.HF_HUB_DISABLE_XET = constants.HF_HUB_DISABLE_TELEMETRY = True
from tendril_assets.release.hub_plan import make_plan
from tendril_assets.resources.hub import Hub
hub = Hub(sys.argv[2], sys.argv[1])
outgoing = pickle.load(sys.stdin.buffer)
hub.send(make_plan(outgoing, hub.state(outgoing)))
"""


@pytest.mark.parametrize(
    ("moment", "done"),
    [
        ("repos/create", True),
        ("/settings", True),
        ("/storage/", True),
        ("/commit/", False),
        ("/commit/", True),
        ("/tag/", True),
    ],
)
def test_killed_at_any_step_and_run_again(server: Server, releases: Path, moment: str, done: bool) -> None:
    """SIGKILL while the hub holds the answer, before or after it did what was asked."""
    process: list[subprocess.Popen] = []

    def kill(request) -> None:
        if moment in request.path and request.method != "GET":
            server.before = lambda _: None
            if done:
                server._route(request)
            os.kill(process[0].pid, signal.SIGKILL)
            process[0].wait()

    command = [sys.executable, "-c", KILLED, server.url, TOKEN]
    server.before = kill
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    # It asks for nothing before it is told what to send, so that its id is known by then.
    process.append(subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, **pipes))
    process[0].communicate(pickle.dumps(dataset(releases, toy.spec())), timeout=60)
    assert process[0].returncode == -signal.SIGKILL
    repo = server.repos.get(("dataset", toy.REPO))
    if repo is not None and moment != "/tag/":
        assert repo.private
        assert repo.tags == {}
    hub = client_of(server)
    sent = hub.send(plan(hub, releases))
    repo = server.repo(toy.REPO)
    assert published(server, "v1.0.0") == tree_of(releases / "1.0.0")
    assert (repo.private, repo.gate, repo.tags) == (False, "auto", {"v1.0.0": sent.commit})
    assert len(repo.history()) == 2
    assert len({r.path for r in server.calls("PUT", "/storage/")}) == len(repo.large)
