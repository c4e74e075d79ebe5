"""``tendril publish``: a release or the fine-tuned models on the Hugging Face hub; without ``--yes`` only what would be done."""

import json
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from tendril_assets.defs import DEFAULT_COLLECTION, collection_spec
from tendril_assets.errors import SettingsError
from tendril_assets.publishing import Options, Prepared, prepare_data, prepare_models
from tendril_assets.release.hub_plan import Plan, Visibility
from tendril_assets.release.outgoing import Gate, Outgoing, version_tag
from tendril_assets.release.wording import plural
from tendril_assets.resources.hub import MAIN, Hub, Sent, required_token, stored_token
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec
from tendril_assets.wide import print_whole

console = Console(highlight=False, soft_wrap=True)
_SIGNS = {"new": "+", "changed": "~", "gone": "-", "same": "="}


@click.command()
@click.option("--collection", default=DEFAULT_COLLECTION, show_default=True, help="Folder name under defs/.")
@click.option("--models", "all_models", is_flag=True, help="The fine-tuned models instead of the data.")
@click.option(
    "--model", "chosen", multiple=True, metavar="NAME", help="One of them, by its name in defs.yaml; repeatable."
)
@click.option("--yes", is_flag=True, help="Send it. Without this nothing is changed anywhere.")
@click.option(
    "--public/--private",
    "public",
    default=None,
    help="Who sees the repository; default: as it is, and public where it is made.",
)
@click.option(
    "--gate",
    type=click.Choice(["auto", "manual"]),
    help="Access after the conditions are accepted (auto), or after a person agrees too (manual). Default: auto for data whose "
    "licence is to be accepted, none for other data and for models.",
)
@click.option("--delete-tags", is_flag=True, help="Take tags off that still hold removed passages.")
@click.option("--delete-foreign", is_flag=True, help="Delete files in the repository that no release has.")
@click.option("--json", "as_json", is_flag=True, help="One JSON list instead of words.")
def publish(
    collection: str,
    all_models: bool,
    chosen: tuple[str, ...],
    yes: bool,
    public: bool | None,
    gate: Gate | None,
    delete_tags: bool,
    delete_foreign: bool,
    as_json: bool,
) -> None:
    """Send the release of the specification's version, or the models, to the Hugging Face hub.

    Tells first what it would do: repository, access, each file with size and hash, what goes, the tag, and whatever speaks
    against it. The blocking checks are repeated. Sending is one commit, compared with the folder before the tag v<version>
    is set; run it again after anything went wrong, and it goes on. HF_TOKEN holds the token, HF_ENDPOINT another hub.

    Exit code 1 where something speaks against it.
    """
    settings = Settings.from_env()
    spec = collection_spec(collection, settings.profile)
    names = _models(spec, all_models, chosen)
    if names is not None and delete_tags:
        raise click.UsageError("--delete-tags is for the data: tags of models hold no passages")
    token = required_token() if yes else stored_token()
    quiet = Console(stderr=True, highlight=False, soft_wrap=True) if as_json else console
    hub = Hub(token, tell=lambda line: quiet.print(f"  {line}", markup=False))
    visibility: Visibility | None = None if public is None else "public" if public else "private"
    options = Options(visibility, gate, delete_foreign)
    with quiet.status("reading the folder, repeating the checks, asking the hub"):
        found = (
            prepare_models(settings, spec, names, hub, options)
            if names is not None
            else [prepare_data(settings, spec, hub, options)]
        )
    told: list[dict[str, Any]] = []
    for prepared in found:
        if not as_json:
            show(prepared, hub, yes=yes, delete_tags=delete_tags)
        removed = hub.delete_tags(prepared.plan.outgoing, prepared.plan.stale_tags) if yes and delete_tags else []
        sent = hub.send(prepared.plan) if yes and not prepared.plan.reasons else None
        told.append(as_dict(prepared, hub, sent, removed))
        if sent and not as_json:
            console.print(f"[green]published[/] {sent.url}")
    if as_json:
        click.echo(json.dumps(told, ensure_ascii=False, indent=1))
    refused = [p.plan.outgoing.title for p in found if p.plan.reasons]
    if yes and refused and not as_json:
        console.print(f"[red]not published[/] {', '.join(refused)}")
    if not yes and not as_json:
        console.print("Nothing was sent." + ("" if refused else " Add --yes to send it."))
    if refused:
        raise SystemExit(1)


def _models(spec: CollectionSpec, all_models: bool, chosen: tuple[str, ...]) -> list[str] | None:
    """Names of the models to publish; None for the data."""
    if not (all_models or chosen):
        return None
    if unknown := sorted(set(chosen) - spec.models.keys()):
        there = ", ".join(sorted(spec.models)) or "none"
        raise SettingsError(f"there is no model {', '.join(unknown)}; there are: {there}")
    names = list(dict.fromkeys(chosen)) or sorted(spec.models)
    if not names:
        raise SettingsError(f"{spec.collection} has no models to publish")
    return names


def show(prepared: Prepared, hub: Hub, *, yes: bool = False, delete_tags: bool = False) -> None:
    """Print the plan: repository, access, tag, files, what stays here, and what speaks against it."""
    plan = prepared.plan
    outgoing = plan.outgoing
    console.print(f"[bold]{outgoing.kind}[/] {_url(outgoing, hub) or outgoing.repo}")
    for what, found in _lines(prepared, hub):
        console.print(f"  {what:<11} {found}", markup=False)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("", "file", "bytes", "sha256"):
        table.add_column(column, justify="right" if column == "bytes" else "left", no_wrap=True)
    for change in plan.changes:
        sign = f"{_SIGNS[change.what]} {change.what}" if plan.remote else "? unknown"
        table.add_row(sign, change.name, f"{change.size:,}", change.sha256 or "-")
    if plan.changes:
        print_whole(console, table)
    for line in _tag_lines(plan, yes=yes, delete_tags=delete_tags):
        console.print(line, markup=False)
    for reason in plan.reasons:
        console.print("[red]refused[/] ", end="")
        console.print(reason, markup=False)


def _lines(prepared: Prepared, hub: Hub) -> list[tuple[str, str]]:
    plan, remote = prepared.plan, prepared.plan.remote
    outgoing = plan.outgoing
    if remote is None:
        there = "not asked"
    elif not remote.exists:
        there = "not there, or not to be seen with this token: it is made, private until all is there"
    else:
        who = {
            True: "the token may write",
            False: "the token may not write",
            None: "whether you may write is not known",
        }
        there = f"commit {(remote.sha or 'none')[:12]}, {plural(len(remote.files), 'file')}, {who[remote.may_write]}"
    counts = ", ".join(
        f"{len(found):,} {what}" for what in ("new", "changed", "gone", "same") if (found := plan.named(what))
    )
    files = f"{plural(len(outgoing.files), 'file')}, {outgoing.size:,} bytes"
    if remote is not None:
        files = f"{files}: {counts}; {plan.size:,} bytes to send" if outgoing.files else files
    tag = "there, with this content: only settings are looked after" if plan.is_published else "to be set last"
    return [
        ("folder", str(outgoing.folder)),
        ("hub", there),
        ("visibility", _visibility(plan)),
        ("access", _access(plan)),
        ("tag", f"{outgoing.tag}, {tag}"),
        ("files", files),
        ("never sent", ", ".join(prepared.never) or "nothing else lies in the data folder"),
    ]


def _visibility(plan: Plan) -> str:
    now = "private" if plan.remote and plan.remote.private else "public"
    changes = plan.remote is not None and plan.remote.exists and now != plan.visibility
    return f"{now}, to become {plan.visibility}" if changes else plan.visibility


def _access(plan: Plan) -> str:
    said = {
        "auto": "gated: granted by itself once the conditions are accepted",
        "manual": "gated: a person agrees to each request",
        None: "open to everybody who sees the repository",
    }[plan.gate]
    if plan.remote is None or not plan.remote.exists or plan.remote.gate == plan.gate:
        return said
    return f"{said} (now: {plan.remote.gate or 'open'})"


def _tag_lines(plan: Plan, *, yes: bool, delete_tags: bool) -> list[str]:
    if not plan.stale_tags:
        return []
    fate = ("taken off" if yes else "to be taken off with --yes") if delete_tags else "kept; --delete-tags takes it off"
    lines = [
        f"old tag {version_tag(w.version)} still holds {plural(len(w.passages), 'removed passage')}: {fate}"
        for w in plan.stale_tags
    ]
    on_main = [
        w.version
        for w in plan.stale_tags
        if plan.remote and plan.remote.tags[version_tag(w.version)] == plan.remote.sha
    ]
    if on_main:
        lines.append(
            f"  {MAIN}, which everybody gets who names no version, is still {on_main[0]}: until a later version is sent"
        )
    return [
        *lines,
        "  without the tag its commit stays in the history of main, to be had by its hash, until that history is squashed on "
        "the hub (huggingface_hub: HfApi().super_squash_history)",
    ]


def _url(outgoing: Outgoing, hub: Hub) -> str | None:
    """None without an organisation: a name alone is no repository."""
    return hub.url(outgoing) if "/" in outgoing.repo else None


def as_dict(prepared: Prepared, hub: Hub, sent: Sent | None, deleted: list[str]) -> dict[str, Any]:
    """The plan and what was done, for machines; what only the hub can tell is None, or unknown, where it was not asked."""
    plan, remote = prepared.plan, prepared.plan.remote
    outgoing = plan.outgoing
    return {
        "kind": outgoing.kind,
        "repository": outgoing.repo,
        "url": _url(outgoing, hub),
        "folder": str(outgoing.folder),
        "version": outgoing.version,
        "tag": outgoing.tag,
        "gate": plan.gate,
        "visibility": plan.visibility,
        "hub": None
        if remote is None
        else {
            "exists": remote.exists,
            "commit": remote.sha,
            "private": remote.private if remote.exists else None,
            "gate": remote.gate,
            "tags": dict(remote.tags),
            "may_write": remote.may_write,
        },
        "is_published": plan.is_published if remote else None,
        "files": [change._asdict() | ({} if remote else {"what": "unknown"}) for change in plan.changes],
        "bytes_to_send": plan.size if remote else None,
        "never_sent": list(prepared.never),
        "tags_with_removed_passages": {version_tag(w.version): len(w.passages) for w in plan.stale_tags}
        if remote
        else None,
        "tags_deleted": deleted,
        "refused": list(plan.reasons),
        "sent": sent._asdict() if sent else None,
    }
