"""A finished release and a finished model folder of the toy collection, as publishing finds them."""

from pathlib import Path

from tendril_assets.release.model_folder import write_model
from tendril_assets.release.publish import write_release
from tendril_assets.spec import CollectionSpec
from tendril_assets_tests.release import toy_models
from tendril_assets_tests.release.test_publish import inputs, unchecked

REPO, MODEL = "Maker/toy-train", "Maker/Toy-mini"


def spec(version: str = "1.0.0") -> CollectionSpec:
    """The toy collection with an owner on the hub."""
    made = toy_models.published()
    return made.model_copy(update={"release": made.release.model_copy(update={"version": version})})


def write(root: Path, version: str = "1.0.0", **changes) -> Path:
    """A release below ``root``; ``changes`` go to its inputs."""
    return write_release(root, inputs(spec=spec(version), **changes), unchecked).path


def write_models(root: Path) -> Path:
    """The folder of the one model below ``root``."""
    weights = toy_models.folder(root.parent / "kept")
    return write_model(root, "mini", toy_models.inputs(spec=spec()), weights).path
