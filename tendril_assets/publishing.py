"""What ``tendril publish`` decides before it sends: the folders, the conditions of the tables repeated, and the hub's state.

The asset of a release repeats the blocking checks when it writes; here they are repeated once more, since tables, removal
list and models may have changed since. A release whose tables have moved on cannot be checked any more and is not sent.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tendril_assets.corpus.identifiers import require_fingerprint
from tendril_assets.errors import (
    DatabaseLocked,
    ExportInvariantError,
    HubRefused,
    HubUnavailable,
    MissingHashKey,
    TendrilError,
)
from tendril_assets.release.folders import MODELS
from tendril_assets.release.hub_plan import Plan, Visibility, make_plan
from tendril_assets.release.manifest import MANIFEST, read_manifest
from tendril_assets.release.outgoing import Gate, Outgoing, dataset, model, never_sent
from tendril_assets.release.withdrawn import withdrawals
from tendril_assets.resources.hub import Hub
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec

WAIT_S = 30.0


class Options(NamedTuple):
    """``visibility`` and ``gate``: None for the usual one. ``take_over``: files that no release has may be deleted."""

    visibility: Visibility | None = None
    gate: Gate | None = None
    take_over: bool = False


class Prepared(NamedTuple):
    """A plan, what stays here, and why the hub was not asked; ``unasked`` is None where it was."""

    plan: Plan
    never: tuple[str, ...]
    unasked: str | None


def prepare_data(settings: Settings, spec: CollectionSpec, hub: Hub, options: Options) -> Prepared:
    """The release of the specification's version; raises DatabaseLocked where the tables cannot be looked at now."""
    outgoing = dataset(settings.release / spec.collection, spec)
    against = [*_settings_against(settings), *_tables_against(settings, spec, outgoing.folder)]
    return _prepared(settings, spec, _with(outgoing, against), hub, options)


def prepare_models(
    settings: Settings, spec: CollectionSpec, names: Iterable[str], hub: Hub, options: Options
) -> list[Prepared]:
    """The folders of models by their names in the specification; raises as ``prepare_data``."""
    root = settings.release / spec.collection / MODELS
    against = _settings_against(settings)
    of_each = _cards_against(settings, spec, list(names))
    return [
        _prepared(settings, spec, _with(model(root, spec, name), [*against, *of_each[name]]), hub, options)
        for name in of_each
    ]


def _with(outgoing: Outgoing, reasons: list[str]) -> Outgoing:
    # A sandbox is told by the folder and by the settings alike: once is enough.
    told = [r for r in reasons if not (r.startswith("sandbox:") and any("sandbox" in own for own in outgoing.reasons))]
    return outgoing._replace(reasons=tuple(dict.fromkeys([*outgoing.reasons, *told])))


def _prepared(settings: Settings, spec: CollectionSpec, outgoing: Outgoing, hub: Hub, options: Options) -> Prepared:
    remote, unasked = None, None
    if not spec.release.organisation:
        unasked = "no repository is named"
    else:
        try:
            remote = hub.state(outgoing)
        except (HubRefused, HubUnavailable) as error:
            unasked = str(error)
    try:
        withdrawn = tuple(withdrawals(settings.release / spec.collection)) if outgoing.kind == "dataset" else ()
    except ExportInvariantError as error:
        withdrawn, outgoing = (), _with(outgoing, [str(error)])
    plan = make_plan(
        outgoing,
        remote,
        visibility=options.visibility,
        gate=options.gate,
        withdrawn=withdrawn,
        take_over=options.take_over,
    )
    return Prepared(plan, tuple(never_sent(settings.home, outgoing)), unasked)


def _settings_against(settings: Settings) -> list[str]:
    try:
        is_sandbox = settings.is_sandbox
    except MissingHashKey as error:
        return [str(error)]
    if is_sandbox:
        return [
            "sandbox: the settings are those of the sample (profile sandbox, or its public key), and what they make is never "
            "published. Set TENDRIL_LANDING and TENDRIL_HASH_KEY"
        ]
    return []


def _tables_against(settings: Settings, spec: CollectionSpec, folder: Path) -> list[str]:
    """The conditions that the release asset repeats, on the tables as they are now, and whether they hold the release."""
    from tendril_assets.assets.release import release_inputs
    from tendril_assets.release.publish import content_of, require_publishable

    if not settings.warehouse.is_file():
        return [f"there is no warehouse {settings.warehouse}, so no check can be repeated: publish where it was made"]
    try:
        inputs = release_inputs(*_resources(settings), spec, settings)
        require_publishable(inputs)
        if not (folder / MANIFEST).is_file():
            return []
        manifest = read_manifest(folder)
        require_fingerprint(manifest["key_fingerprint"], inputs.key_fingerprint, f"release {folder}")
    except DatabaseLocked:
        raise
    except TendrilError as error:
        return [f"a check is red: {error}"]
    if manifest["content_hash"] != content_of(inputs.rows):
        return [
            f"the tables hold other rows than {folder} since it was written, so its checks cannot be repeated: raise "
            f"release.version and materialise {spec.collection}/releases"
        ]
    return []


def _cards_against(settings: Settings, spec: CollectionSpec, names: list[str]) -> dict[str, list[str]]:
    """By model, why its folder is not what its card and licence would be now."""
    from tendril_assets.assets.release import model_inputs

    if not settings.warehouse.is_file():
        missing = f"there is no warehouse {settings.warehouse}, so no card can be checked: publish where it was made"
        return {name: [missing] for name in names}
    try:
        inputs = model_inputs(*_resources(settings), spec, settings)
    except DatabaseLocked:
        raise
    except TendrilError as error:
        return {name: [f"its card cannot be checked: {error}"] for name in names}
    trained: Mapping[str, str] = dict(inputs.trained.select("model", "path").iter_rows())
    root = settings.release / spec.collection / MODELS
    return {name: _card_against(root, spec, name, inputs, trained.get(name)) for name in names}


def _card_against(root: Path, spec: CollectionSpec, name: str, inputs: Any, kept: str | None) -> list[str]:
    from tendril_assets.release.model_folder import differing
    from tendril_assets.release.weights import read_weights_folder

    if kept is None:
        return [f"{name} is not trained: materialise {spec.collection}/trained_models"]
    try:
        stale, lacking = differing(root, name, inputs, read_weights_folder(Path(kept)))
    except TendrilError as error:
        return [str(error)]
    found = []
    if stale:
        found.append(
            f"the folder is not what would be written now ({', '.join(stale[:5])} {'differs' if len(stale) == 1 else 'differ'}): "
            f"materialise {spec.collection}/model_cards"
        )
    return [*found, *([lacking] if lacking else [])]


def _resources(settings: Settings) -> tuple[Any, Any]:
    from tendril_assets.resources.artifacts import Artifacts
    from tendril_assets.resources.warehouse import Warehouse

    warehouse = Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot), wait_s=WAIT_S)
    return warehouse, Artifacts(root=str(settings.artifacts))
