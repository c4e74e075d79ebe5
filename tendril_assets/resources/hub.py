"""The Hugging Face hub: what a repository holds, and how a folder gets there.

Nothing is remembered here. Every run reads what the hub has and does what is missing, so a run that died at any point is
gone on with by the same command. In order, so that whoever looks in between sees nothing half or unguarded:

1. the repository, private while it is made, what closes an open one (private, where that is asked for), and its gate;
2. one commit with all that differs, on top of the head that was looked at: of two at once one is refused;
3. the files of that commit, compared with the folder;
4. what opens it (public), and last the tag, which names nothing but a whole and compared version.

Large files go to the hub's storage ahead of the commit and stay there: an attempt after a cut sends those that lack.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tendril_assets.errors import HubConflict, HubRefused, HubUnavailable, PublishRefused, SettingsError
from tendril_assets.release.hub_plan import Plan, RemoteFile, RemoteState, differing
from tendril_assets.release.outgoing import Outgoing, version_tag
from tendril_assets.release.withdrawn import Withdrawal
from tendril_assets.release.wording import plural
from tendril_assets.resources.hub_calls import ATTEMPTS, Calls, bounded_client

MAIN = "main"


class Sent(NamedTuple):
    """What was done: the commit that the tag names, where to look, and one line per step that changed something."""

    commit: str
    url: str
    done: tuple[str, ...]


def stored_token() -> str | None:
    """The token of ``HF_TOKEN``, or the one that ``hf auth login`` stored; None where there is neither."""
    from huggingface_hub import get_token

    return get_token()


def required_token() -> str:
    """Raises SettingsError where there is no token."""
    token = stored_token()
    if not token:
        raise SettingsError(
            "there is no token for the hub: set HF_TOKEN to one with write access, or run `hf auth login`. Nothing was sent"
        )
    return token


class Hub:
    """``endpoint``: None for the one of ``HF_ENDPOINT``. ``tell``: one line for people at each step and each wait."""

    def __init__(
        self,
        token: str | None,
        endpoint: str | None = None,
        *,
        tell: Callable[[str], None] = lambda _: None,
        sleep: Callable[[float], None] = time.sleep,
        attempts: int = ATTEMPTS,
    ) -> None:
        from huggingface_hub import HfApi

        # False asks without a token: None would take one from the environment.
        self._api = HfApi(endpoint=endpoint, token=token or False, library_name="tendril_assets")
        self._token, self._tell = token, tell
        self._calls = Calls(token, sleep, tell, attempts)

    @property
    def endpoint(self) -> str:
        return self._api.endpoint

    def url(self, outgoing: Outgoing) -> str:
        prefix = "datasets/" if outgoing.kind == "dataset" else ""
        return f"{self.endpoint}/{prefix}{outgoing.repo}"

    def state(self, outgoing: Outgoing) -> RemoteState:
        """The repository as it is now; a missing one and one that the token may not see look the same.

        Raises:
            HubUnavailable, HubRefused: the hub cannot be asked.
        """
        with bounded_client():
            return self._state(outgoing)

    def send(self, plan: Plan) -> Sent:
        """Make the hub hold what the plan says; what is there already is not done again.

        Raises:
            PublishRefused: the plan has reasons against it, or the hub was not asked; nothing was sent.
            HubConflict: the hub has something else than what was sent, or somebody else wrote there at the same time.
            HubRefused, HubUnavailable: the hub said no, or was not to be had. Run the same command again to go on.
        """
        if plan.reasons or plan.remote is None:
            raise PublishRefused(plan.outgoing.title, plan.reasons or ("the hub was not asked what it holds",))
        with bounded_client():
            return self._send(plan, plan.remote)

    def delete_tags(self, outgoing: Outgoing, versions: tuple[Withdrawal, ...]) -> list[str]:
        """Take tags off; one that is gone already is no error. Returns the names of those taken off."""
        done = []
        with bounded_client():
            for version in versions:
                tag = version_tag(version.version)
                if tag not in self._tags(outgoing):
                    continue
                self._calls.again(f"delete tag {tag}", lambda tag=tag: self._delete_tag(outgoing, tag))
                done.append(tag)
                self._tell(f"tag {tag} taken off {outgoing.repo}")
        return done

    def _send(self, plan: Plan, remote: RemoteState) -> Sent:
        outgoing, done = plan.outgoing, []

        def did(what: str) -> None:
            done.append(what)
            self._tell(what)

        if not remote.exists:
            self._create(outgoing)
            did(f"repository {outgoing.repo} made, private for the time being")
            remote = self._state(outgoing)
        is_private = remote.private
        # What was open while the data was already there cannot be taken back.
        if plan.visibility == "private" and not is_private:
            self._settings(outgoing, private=True)
            is_private = True
            did("visibility: private")
        if plan.gate and remote.gate != plan.gate:
            self._settings(outgoing, gated=plan.gate)
            did(f"access: gated, {plan.gate}")
        if plan.is_published:
            commit = remote.tags[outgoing.tag]
        else:
            commit = self._commit(plan, remote, did)
            self._compare(outgoing, commit, f"commit {commit[:12]}")
            did(f"compared: {plural(len(outgoing.files), 'file')} of commit {commit[:12]} as in {outgoing.folder}")
        if plan.visibility == "public" and is_private:
            self._settings(outgoing, private=False)
            did("visibility: public")
        if not plan.is_published:
            self._tag(outgoing, commit)
            self._compare(outgoing, outgoing.tag, f"tag {outgoing.tag}")
            did(f"tag {outgoing.tag} set on commit {commit[:12]}")
        return Sent(commit, f"{self.url(outgoing)}/tree/{outgoing.tag}", tuple(done))

    def _state(self, outgoing: Outgoing) -> RemoteState:
        try:
            info = self._again("look at", outgoing, lambda: self._info(outgoing))
        except HubRefused as error:
            if error.status == 404 or (error.status == 401 and not self._token):
                return RemoteState(exists=False)
            raise
        tags = self._tags(outgoing)
        return RemoteState(
            exists=True,
            sha=info.sha,
            private=bool(info.private),
            gate=info.gated or None,
            files=self._files(outgoing, info.sha) if info.sha else {},
            tags=tags,
            tagged=self._files(outgoing, outgoing.tag) if outgoing.tag in tags else None,
            may_write=self._may_write(outgoing) if self._token else None,
        )

    def _info(self, outgoing: Outgoing) -> Any:
        return self._api.repo_info(outgoing.repo, repo_type=outgoing.kind)

    def _tags(self, outgoing: Outgoing) -> dict[str, str]:
        refs = self._again(
            "list tags of", outgoing, lambda: self._api.list_repo_refs(outgoing.repo, repo_type=outgoing.kind)
        )
        return {tag.name: tag.target_commit for tag in refs.tags}

    def _files(self, outgoing: Outgoing, revision: str) -> Mapping[str, RemoteFile]:
        from huggingface_hub.hf_api import RepoFile

        def read() -> dict[str, RemoteFile]:
            tree = self._api.list_repo_tree(outgoing.repo, recursive=True, revision=revision, repo_type=outgoing.kind)
            return {
                entry.path: RemoteFile(
                    entry.lfs.size if entry.lfs else entry.size, entry.blob_id, entry.lfs.sha256 if entry.lfs else None
                )
                for entry in tree
                if isinstance(entry, RepoFile)
            }

        return self._again(f"list files at {revision[:12]} of", outgoing, read)

    def _may_write(self, outgoing: Outgoing) -> bool | None:
        try:
            self._again(
                "ask for write access to",
                outgoing,
                lambda: self._api.auth_check(outgoing.repo, repo_type=outgoing.kind, write=True),
            )
        except HubRefused as error:
            # Any other answer, from a hub that does not know the question, tells nothing.
            return False if error.status in (401, 403) else None
        return True

    def _create(self, outgoing: Outgoing) -> None:
        self._again(
            "make",
            outgoing,
            lambda: self._api.create_repo(outgoing.repo, repo_type=outgoing.kind, private=True, exist_ok=True),
        )

    def _settings(self, outgoing: Outgoing, **settings: Any) -> None:
        self._again(
            f"set {', '.join(settings)} of",
            outgoing,
            lambda: self._api.update_repo_settings(outgoing.repo, repo_type=outgoing.kind, **settings),
        )

    def _commit(self, plan: Plan, remote: RemoteState, did: Callable[[str], None]) -> str:
        """The commit that holds the folder: made now, or found where an answer was lost on the way."""
        outgoing, parent = plan.outgoing, remote.sha
        wanted = differing(remote.files, outgoing)
        if not wanted and parent:
            return parent
        what = f"commit to {outgoing.repo}"

        def attempt() -> str:
            try:
                return self._calls.once(what, lambda: self._create_commit(outgoing, remote, parent))
            except (HubUnavailable, HubConflict, HubRefused) as error:
                if isinstance(error, HubRefused) and error.status is not None:
                    raise
                # Whether it arrived is not known. Only if it did not may it be sent again.
                if (found := self._arrived(outgoing, parent)) is not None:
                    return found
                if isinstance(error, HubConflict):
                    # Main is where it was: something else goes on in the repository, which ends.
                    raise HubUnavailable(str(error), status=409) from error
                raise

        commit = self._calls.retrying(what)(attempt)
        did(f"commit {commit[:12]}: {plural(len(wanted), 'file')} sent or taken away")
        return commit

    def _create_commit(self, outgoing: Outgoing, remote: RemoteState, parent: str | None) -> str:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        changed = set(differing(remote.files, outgoing))
        adds = [CommitOperationAdd(f.name, f.path) for f in outgoing.files if f.name in changed]
        gone = changed - {f.name for f in outgoing.files}
        deletes = [CommitOperationDelete(name, is_folder=False) for name in sorted(gone)]
        made = self._api.create_commit(
            outgoing.repo,
            [*adds, *deletes],
            commit_message=f"Version {outgoing.version}",
            repo_type=outgoing.kind,
            revision=MAIN,
            parent_commit=parent,
        )
        return made.oid

    def _arrived(self, outgoing: Outgoing, parent: str | None) -> str | None:
        """The head of main where it holds the folder; None where main is still where it was.

        Raises HubConflict where main has moved to something else.
        """
        head = self._again("look at", outgoing, lambda: self._info(outgoing)).sha
        if head == parent:
            return None
        if head and not differing(self._files(outgoing, head), outgoing):
            return head
        raise HubConflict(
            f"{outgoing.repo} moved on to commit {str(head)[:12]} while this one was sent: somebody else writes there. Run the "
            "same command again to see what is there now"
        )

    def _compare(self, outgoing: Outgoing, revision: str, what: str) -> None:
        wrong = differing(self._files(outgoing, revision), outgoing)
        if wrong:
            raise HubConflict(
                f"{what} of {outgoing.repo} does not hold {outgoing.folder} ({plural(len(wrong), 'file')} other: "
                f"{', '.join(wrong[:5])}), so it gets no tag. A .gitignore there, or a file that changed here, may be why"
            )

    def _tag(self, outgoing: Outgoing, commit: str) -> None:
        try:
            self._again(
                f"tag {outgoing.tag} of",
                outgoing,
                lambda: self._api.create_tag(
                    outgoing.repo, tag=outgoing.tag, revision=commit, repo_type=outgoing.kind, exist_ok=True
                ),
            )
        except HubConflict as error:
            raise HubConflict(f"{error}. Run the same command again to see what is there now") from error

    def _delete_tag(self, outgoing: Outgoing, tag: str) -> None:
        try:
            self._calls.once(
                f"delete tag {tag} of {outgoing.repo}",
                lambda: self._api.delete_tag(outgoing.repo, tag=tag, repo_type=outgoing.kind),
            )
        except HubRefused as error:
            if error.status != 404:
                raise

    def _again(self, doing: str, outgoing: Outgoing, action: Callable[[], Any]) -> Any:
        return self._calls.again(f"{doing} {outgoing.kind} {outgoing.repo}", action)
