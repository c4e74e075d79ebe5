"""A hub on 127.0.0.1: repositories with commits, tags, gates and large files, as the hub's client asks for them.

Written after the calls of huggingface_hub 2.4: paths, fields, status codes and the ``X-Error-Code`` header. ``faults`` are
taken one after the other: each is for the first request that it names, before it is done or once it is done.
"""

import base64
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tendril_assets_tests.loopback import Scripted, ScriptedHandler, loopback_server

TOKEN = "hf_a-token-that-nobody-may-see"
LARGE = 1_000_000
_LARGE_KINDS = (".parquet", ".safetensors", ".jsonl")
ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n*.safetensors filter=lfs diff=lfs merge=lfs -text\n"
Tree = dict[str, bytes]


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()


@dataclass
class Repo:
    private: bool
    gate: str | bool = False
    commits: dict[str, Tree] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    head: str | None = None
    large: set[str] = field(default_factory=set)

    def commit(self, tree: Tree) -> str:
        told = repr((self.head, sorted((name, git_sha1(data)) for name, data in tree.items())))
        oid = hashlib.sha1(told.encode()).hexdigest()
        self.commits[oid], self.parents[oid] = tree, self.head
        self.head = oid
        return oid

    def tree(self, revision: str) -> Tree | None:
        revision = self.tags.get(revision, revision)
        return self.commits.get(self.head or "" if revision == "main" else revision)

    def history(self) -> list[str]:
        """Commits from the head of main back."""
        found, at = [], self.head
        while at:
            found.append(at)
            at = self.parents[at]
        return found


@dataclass
class Fault:
    """An answer in place of the one due. ``after``: what is asked for is done first, so that only its answer is lost."""

    method: str
    part: str
    answer: Scripted
    after: bool = False


@dataclass
class Request:
    method: str
    path: str
    authorization: str | None
    body: bytes


class Hub:
    """``repos`` by (kind, id); ``asked`` holds every request; ``before`` is called with each one first."""

    def __init__(self) -> None:
        self.repos: dict[tuple[str, str], Repo] = {}
        self.stored: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.asked: list[Request] = []
        self.before: Callable[[Request], None] = lambda _: None
        self.may_write = True
        self.page = 1000
        self._lock = threading.RLock()
        hub = self

        class Handler(ScriptedHandler):
            def handle_any(self) -> None:
                request = Request(self.command, self.path, self.headers.get("authorization"), self._body())
                hub.before(request)
                self.give(hub.answer(request))

            do_GET = do_POST = do_PUT = do_DELETE = handle_any

            def _body(self) -> bytes:
                if self.headers.get("transfer-encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("content-length") or 0))
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

        self._server, self._thread = loopback_server(Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def repo(self, repo_id: str, kind: str = "dataset") -> Repo:
        return self.repos[kind, repo_id]

    def add(self, repo_id: str, tree: Tree, kind: str = "dataset", **fields: Any) -> Repo:
        """A repository as if it had been there before."""
        repo = self.repos[kind, repo_id] = Repo(**{"private": False, **fields})
        repo.commit({".gitattributes": ATTRIBUTES})
        repo.commit({".gitattributes": ATTRIBUTES, **tree})
        return repo

    def calls(self, method: str, part: str = "") -> list[Request]:
        return [r for r in self.asked if r.method == method and part in r.path]

    def answer(self, request: Request) -> Scripted:
        with self._lock:
            self.asked.append(request)
            fault = next((f for f in self.faults if f.method == request.method and f.part in request.path), None)
            if fault:
                self.faults.remove(fault)
                if not fault.after:
                    return fault.answer
            done = self._route(request)
            return fault.answer if fault else done

    def __enter__(self) -> "Hub":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _route(self, request: Request) -> Scripted:
        url = urlsplit(request.path)
        parts = [unquote(p) for p in url.path.strip("/").split("/")]
        if parts[0] == "storage":
            if hashlib.sha256(request.body).hexdigest() != parts[1]:
                return error(400, "other bytes than told")
            self.stored[parts[1]] = request.body
            return Scripted()
        if parts[:2] == ["api", "validate-yaml"]:
            return reply({"errors": [], "warnings": []})
        if parts[:3] == ["api", "repos", "create"]:
            return self._create(json.loads(request.body), request)
        if url.path.endswith(".git/info/lfs/objects/batch"):
            return self._batch(json.loads(request.body))
        if parts[0] != "api" or parts[1] not in ("datasets", "models") or len(parts) < 4:
            return error(404, "unknown path")
        kind, repo_id, rest = parts[1][:-1], "/".join(parts[2:4]), parts[4:]
        repo = self.repos.get((kind, repo_id))
        if repo is None or (repo.private and not request.authorization):
            # Who may not see it gets the answer of a repository that is not there.
            return error(404 if request.authorization else 401, "Repository not found", "RepoNotFound")
        if request.authorization not in (None, f"Bearer {TOKEN}"):
            return error(401, "Invalid credentials in Authorization header")
        return self._in_repo(repo, repo_id, rest, request, parse_qs(url.query))

    def _create(self, told: dict, request: Request) -> Scripted:
        if request.authorization != f"Bearer {TOKEN}":
            return error(401, "Invalid credentials in Authorization header")
        if not self.may_write:
            return error(403, "You don't have the rights to create a repository under this namespace")
        repo_id = f"{told['organization']}/{told['name']}"
        body = {"url": f"{self.url}/{'datasets/' if told['type'] == 'dataset' else ''}{repo_id}"}
        if (told["type"], repo_id) in self.repos:
            return Scripted(409, json.dumps({"error": "You already created this repo", **body}).encode())
        repo = self.repos[told["type"], repo_id] = Repo(private=told.get("visibility") == "private")
        repo.commit({".gitattributes": ATTRIBUTES})
        return reply(body)

    def _batch(self, told: dict) -> Scripted:
        objects = []
        for one in told["objects"]:
            actions = {"actions": {"upload": {"href": f"{self.url}/storage/{one['oid']}?X-Signature=secret"}}}
            objects.append({**one, **({} if one["oid"] in self.stored else actions)})
        return reply({"transfer": "basic", "objects": objects})

    def _in_repo(self, repo: Repo, repo_id: str, rest: list[str], request: Request, query: dict) -> Scripted:
        if request.method in ("POST", "PUT", "DELETE") and not (self.may_write and request.authorization):
            return error(403, "Forbidden: pass a token with the right to write")
        match [request.method, *rest]:
            case ["GET"] | ["GET", "revision", _]:
                revision = rest[1] if rest else "main"
                sha = repo.head if revision == "main" else repo.tags.get(revision, revision)
                names = [{"rfilename": n} for n in repo.tree(revision) or {}]
                told = {"id": repo_id, "sha": sha, "private": repo.private, "gated": repo.gate, "siblings": names}
                return reply({**told, "tags": [], "downloads": 0, "likes": 0})
            case ["GET", "refs"]:
                tags = [{"name": n, "ref": f"refs/tags/{n}", "targetCommit": c} for n, c in repo.tags.items()]
                main = [{"name": "main", "ref": "refs/heads/main", "targetCommit": repo.head}]
                return reply({"branches": main, "converts": [], "tags": tags})
            case ["GET", "auth-check", "write"]:
                return reply({}) if self.may_write else error(403, "no write access")
            case ["GET", "tree", revision]:
                return self._tree(repo, revision, int(query.get("cursor", ["0"])[0]), request.path)
            case ["PUT", "settings"]:
                told = json.loads(request.body)
                repo.gate = told.get("gated", repo.gate)
                repo.private = {"private": True, "public": False}.get(told.get("visibility"), repo.private)
                return reply({})
            case ["POST", "preupload", _]:
                return self._preupload(repo, json.loads(request.body))
            case ["POST", "commit", "main"]:
                at = f"{self.url}/{'datasets/' if '/datasets/' in request.path else ''}{repo_id}"
                return self._commit(repo, at, [json.loads(line) for line in request.body.splitlines()])
            case ["POST", "tag", revision]:
                name = json.loads(request.body)["tag"]
                if name in repo.tags:
                    return error(409, "Tag reference exists already")
                if repo.tree(revision) is None:
                    return error(404, "Invalid rev id", "RevisionNotFound")
                repo.tags[name] = repo.head if revision == "main" else revision
                return reply({})
            case ["DELETE", "tag", name]:
                if name not in repo.tags:
                    return error(404, "Invalid rev id", "RevisionNotFound")
                del repo.tags[name]
                return reply({})
        return error(404, f"no such call: {request.method} {rest}")

    def _tree(self, repo: Repo, revision: str, start: int, path: str) -> Scripted:
        tree = repo.tree(revision)
        if tree is None:
            return error(404, "Invalid rev id", "RevisionNotFound")
        folders = {n.rsplit("/", 1)[0] for n in tree if "/" in n}
        entries = [{"type": "directory", "path": n, "oid": git_sha1(n.encode()), "size": 0} for n in sorted(folders)]
        for name, data in sorted(tree.items()):
            entry: dict[str, Any] = {"type": "file", "path": name, "size": len(data), "oid": git_sha1(data)}
            if name in repo.large:
                lfs = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
                entry |= {"lfs": lfs, "oid": git_sha1(f"pointer {lfs['oid']}".encode())}
            entries.append(entry)
        after = start + self.page
        headers = {}
        if after < len(entries):
            headers["Link"] = f'<{self.url}{path.split("?")[0]}?recursive=True&cursor={after}>; rel="next"'
        return reply(entries[start:after], headers)

    def _preupload(self, repo: Repo, told: dict) -> Scripted:
        tree = repo.tree("main") or {}
        ignored = tree.get(".gitignore", b"").decode().split()
        files = []
        for one in told["files"]:
            name = one["path"]
            large = name.endswith(_LARGE_KINDS) or one["size"] > LARGE
            there = tree.get(name)
            oid = None
            if there is not None:
                oid = hashlib.sha256(there).hexdigest() if name in repo.large else git_sha1(there)
            files.append(
                {
                    "path": name,
                    "uploadMode": "lfs" if large else "regular",
                    "shouldIgnore": name in ignored,
                    "oid": oid,
                }
            )
        return reply({"files": files})

    def _commit(self, repo: Repo, at: str, lines: list[dict]) -> Scripted:
        head = lines[0]["value"]
        if head.get("parentCommit") not in (None, repo.head):
            return error(412, "A commit has happened since. Please refresh and try again.")
        tree = dict(repo.tree("main") or {})
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "deletedFile":
                del tree[value["path"]]
            elif line["key"] == "lfsFile":
                tree[value["path"]] = self.stored[value["oid"]]
                repo.large.add(value["path"])
            else:
                tree[value["path"]] = base64.b64decode(value["content"])
        oid = repo.commit(tree)
        return reply({"commitUrl": f"{at}/commit/{oid}", "commitOid": oid})


def reply(body: Any, headers: dict[str, str] | None = None) -> Scripted:
    return Scripted(body=json.dumps(body).encode(), headers={"Content-Type": "application/json", **(headers or {})})


def error(status: int, message: str, code: str | None = None, **headers: str) -> Scripted:
    told = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {}), **headers}
    return Scripted(status, json.dumps({"error": message}).encode(), {"Content-Type": "application/json", **told})
