"""What ``tendril publish`` decides before it sends: the folders, the conditions of the tables repeated, and the hub's state.

The asset of a release repeats the blocking checks when it writes; here they are repeated once more, since tables, removal
list and models may have changed since. A release whose tables have moved on cannot be checked any more and is not sent, and
nothing is while the landing folder's removal list has entries that no run has carried out.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tendril_assets.corpus.identifiers import require_fingerprint
from tendril_assets.errors import (
    DatabaseLocked,
    ExportInvariantError,
    HubRefused,
    HubUnavailable,
    LandingError,
    MissingHashKey,
    TendrilError,
    WarehouseError,
)
from tendril_assets.release.folders import MODELS
from tendril_assets.release.hub_plan import Plan, Visibility, make_plan
from tendril_assets.release.manifest import read_manifest
from tendril_assets.release.outgoing import Gate, Outgoing, dataset, model, never_sent
from tendril_assets.release.withdrawn import Withdrawal, withdrawals
from tendril_assets.release.wording import plural
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
    """A plan, and what lies in the data folder and stays there."""

    plan: Plan
    never: tuple[str, ...]


def prepare_data(settings: Settings, spec: CollectionSpec, hub: Hub, options: Options) -> Prepared:
    """The release of the specification's version; raises DatabaseLocked where the tables cannot be looked at now."""
    root = settings.release / spec.collection
    outgoing = dataset(root, spec)
    found = _looked(settings, lambda *resources: _data_against(*resources, spec, settings, outgoing))
    outgoing = _with(outgoing, [*_settings_against(settings), *found])
    withdrawn: tuple[Withdrawal, ...] = ()
    try:
        withdrawn = _withdrawn(settings, spec, root)
    except DatabaseLocked:
        raise
    except TendrilError as error:
        outgoing = _with(outgoing, [f"which tags still hold removed passages cannot be told: {error}"])
    return _prepared(settings, spec, outgoing, hub, options, withdrawn)


def prepare_models(
    settings: Settings, spec: CollectionSpec, names: Iterable[str], hub: Hub, options: Options
) -> list[Prepared]:
    """The folders of models by their names in the specification; raises as ``prepare_data``."""
    root = settings.release / spec.collection / MODELS
    of_each: dict[str, list[str]] = {name: [] for name in names}
    stale: dict[str, str] = {}
    of_settings = _settings_against(settings)
    common = _looked(settings, lambda *resources: _models_against(*resources, spec, settings, of_each, stale))
    prepared = []
    for name, against in of_each.items():
        outgoing = model(root, spec, name)
        if name in stale:
            # What else is amiss, such as hand-over files that are gone, follows from the removal.
            outgoing = _with(outgoing._replace(reasons=(stale[name], *outgoing.reasons)), of_settings)
        else:
            outgoing = _with(outgoing, [*of_settings, *common, *against])
        prepared.append(_prepared(settings, spec, outgoing, hub, options))
    return prepared


def _with(outgoing: Outgoing, reasons: list[str]) -> Outgoing:
    # A sandbox is told by the folder and by the settings alike: once is enough.
    told = [r for r in reasons if not (r.startswith("sandbox:") and any("sandbox" in own for own in outgoing.reasons))]
    return outgoing._replace(reasons=tuple(dict.fromkeys([*outgoing.reasons, *told])))


def _prepared(
    settings: Settings,
    spec: CollectionSpec,
    outgoing: Outgoing,
    hub: Hub,
    options: Options,
    withdrawn: tuple[Withdrawal, ...] = (),
) -> Prepared:
    remote = None
    # Without an organisation there is no repository to ask for, as a reason of the folder says.
    if spec.release.organisation:
        try:
            remote = hub.state(outgoing)
        except (HubRefused, HubUnavailable) as error:
            outgoing = _with(outgoing, [f"the hub could not be asked: {error}"])
    plan = make_plan(
        outgoing,
        remote,
        visibility=options.visibility,
        gate=options.gate,
        withdrawn=withdrawn,
        take_over=options.take_over,
    )
    return Prepared(plan, tuple(never_sent(settings.home, outgoing)))


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


def _looked(settings: Settings, look: Callable[[Any, Any], list[str]]) -> list[str]:
    """What ``look`` finds in warehouse and artifacts, and what keeps it from looking."""
    if not settings.warehouse.is_file():
        return [f"there is no warehouse {settings.warehouse}, so no check can be repeated: publish where it was made"]
    try:
        return look(*_resources(settings))
    except MissingHashKey:
        return []  # as the settings' own reason says
    except DatabaseLocked:
        raise
    except (WarehouseError, LandingError) as error:
        # Of a data folder that an earlier version made, mostly: it lacks a table, or one is other than now.
        return [f"the checks cannot be repeated: {' '.join(str(error).split())}"]
    except TendrilError as error:
        return [f"a check is red: {error}"]


def _data_against(
    warehouse: Any, artifacts: Any, spec: CollectionSpec, settings: Settings, outgoing: Outgoing
) -> list[str]:
    """The conditions that the release asset repeats, on the tables as they are now, and whether they hold the release."""
    from tendril_assets.assets.release import release_inputs
    from tendril_assets.release.publish import content_of, require_publishable

    found = _removals_against(warehouse, spec, settings)
    if found or outgoing.is_withdrawn:
        return found  # the tables have other rows than a withdrawn version, and no check of theirs is about it
    folder = outgoing.folder
    inputs = release_inputs(warehouse, artifacts, spec, settings)
    require_publishable(inputs)
    try:
        manifest = read_manifest(folder)
        fingerprint, content = manifest["key_fingerprint"], manifest["content_hash"]
    except ExportInvariantError:
        return []  # as the folder's own reasons say
    require_fingerprint(fingerprint, inputs.key_fingerprint, f"release {folder}")
    if content != content_of(inputs.rows):
        return [
            f"the tables hold other rows than {folder} since it was written, so its checks cannot be repeated: raise "
            f"release.version and materialise {spec.collection}/releases"
        ]
    return []


def _removals_against(warehouse: Any, spec: CollectionSpec, settings: Settings) -> list[str]:
    """Whether the landing folder's removal list asks for more than the tables know: that would be sent all the same."""
    from tendril_assets.resources.landing import listed_removals

    folder = settings.landing / spec.collection
    if not folder.is_dir():
        return [
            f"the landing folder {folder} is not there, so nobody can tell whether its removal list has new entries: set "
            "TENDRIL_LANDING to where it is"
        ]
    landed = warehouse.load(spec.collection, "removals")
    new = listed_removals(folder).join(landed, left_on=["table_kind", "id"], right_on=["kind", "id"], how="anti")
    names = new.select(pl.concat_str("kind", "id", separator=" ")).to_series().to_list()
    if not names:
        return []
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    return [
        f"{folder / 'removals.csv'} has {plural(len(names), 'new entry')} that no run has carried out "
        f"({', '.join(names[:5])}{more}): run tendril run {spec.collection}_corpus, then make the release again"
    ]


def _withdrawn(settings: Settings, spec: CollectionSpec, root: Path) -> tuple[Withdrawal, ...]:
    from tendril_assets.assets.released import known_withdrawals

    if settings.warehouse.is_file():
        return tuple(known_withdrawals(_resources(settings)[0], spec.collection, root))
    return tuple(withdrawals(root))


def _models_against(
    warehouse: Any,
    artifacts: Any,
    spec: CollectionSpec,
    settings: Settings,
    of_each: Mapping[str, list[str]],
    stale: dict[str, str],
) -> list[str]:
    """What speaks against every model; what speaks against one goes to its list in ``of_each``, and that it was made of
    what is removed to ``stale``."""
    from tendril_assets.assets.model_cards import model_inputs
    from tendril_assets.assets.release_checks import checked_stages, red_checks
    from tendril_assets.assets.stale_models import stale_models
    from tendril_assets.assets.training import training_assets

    with warehouse.one_state("repeat the checks of models"):
        if found := _removals_against(warehouse, spec, settings):
            return found
        for one in stale_models(warehouse, spec.collection):
            if one.model in of_each:
                stale[one.model] = f"{one.model} was {one.reason}: {_again(spec, one.model)}"
        if stale.keys() >= of_each.keys():
            return []
        inputs = model_inputs(warehouse, artifacts, spec, settings)
        recorded = set(warehouse.load(spec.collection, "trained_passages", ["model", "weights_sha256"]).iter_rows())
        red = red_checks(warehouse, artifacts, spec, (*checked_stages(spec), training_assets))
    for name in of_each.keys() - stale.keys():
        of_each[name].extend(_model_against(settings.release / spec.collection / MODELS, spec, name, inputs, recorded))
    return [f"a check is red: {', '.join(breach.id for breach in red)}"] if red else []


def _again(spec: CollectionSpec, name: str) -> str:
    return f"materialise {spec.collection}/models/{name} again, then {spec.collection}/model_cards"


def _model_against(
    root: Path, spec: CollectionSpec, name: str, inputs: Any, recorded: set[tuple[str, str]]
) -> list[str]:
    """Why a model's folder is not what its card and licence would be now."""
    from tendril_assets.release.model_folder import differing
    from tendril_assets.release.weights import read_weights_folder

    again = _again(spec, name)
    trained = inputs.trained.filter(model=name)
    if trained.is_empty():
        return [f"{name} is not trained: materialise {spec.collection}/trained_models"]
    kept = trained.row(0, named=True)
    if (name, kept["weights_sha256"]) not in recorded:
        return [
            f"nothing says which passages {name} was trained on, so nobody can tell whether any is removed since: {again}"
        ]
    try:
        other, lacking = differing(root, name, inputs, read_weights_folder(Path(kept["path"])))
    except TendrilError as error:
        return [str(error)]
    found = [lacking] if lacking else []
    if other:
        differ = f"{', '.join(other[:5])} {'differs' if len(other) == 1 else 'differ'}"
        found.insert(
            0, f"the folder is not what would be written now ({differ}): materialise {spec.collection}/model_cards"
        )
    return found


def _resources(settings: Settings) -> tuple[Any, Any]:
    from tendril_assets.resources.artifacts import Artifacts
    from tendril_assets.resources.warehouse import Warehouse

    warehouse = Warehouse(database=str(settings.warehouse), snapshot=str(settings.snapshot), wait_s=WAIT_S)
    return warehouse, Artifacts(root=str(settings.artifacts))
