"""``tendril models`` and the doctor's line about models, against a hub cache of our own."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from tendril_assets import cli_models, doctor
from tendril_assets.cli import main
from tendril_assets.errors import TendrilError
from tendril_assets.settings import Settings
from tendril_assets_tests.test_spec import spec

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """``printed(models, *options)``: what the command prints for a collection with these models."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path / "home"))

    def run(models: dict, *options: str) -> str:
        collection = spec(models=models)
        for module in (cli_models, doctor):
            monkeypatch.setattr(module, "collection_spec", lambda *_: collection)
        result = CliRunner().invoke(main, ["models", *options])
        assert result.exit_code == 0, result.output
        return result.output

    return run


def put(tmp_path: Path, commit: str) -> Path:
    home = tmp_path / "hub" / "models--malteos--most-embed-de"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(commit)
    folder = home / "snapshots" / commit
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    return folder


def test_a_model_that_is_not_here_comes_with_its_command(printed, tmp_path: Path) -> None:
    text = " ".join(printed({"most_embed_de": {}}).split())
    assert f"here no, it is not in the hub's cache {tmp_path / 'hub'}" in text
    assert "fetch hf download malteos/most-embed-de --exclude '*.bin'" in text
    assert "pinned no: no revision is given" in text
    assert "embeds mean pooling, 2,048 dimensions, at most 32,768 tokens" in text
    assert 'prompts query "query: ", document "passage: "' in text
    assert "training batch 2 x 16 accumulated = 32" in text
    assert (
        "licence Creative Commons Attribution-NonCommercial 4.0 International (CC-BY-NC-4.0). Non-commercial use"
        in text
    )
    assert "It rests on Nemotron-3-Embed-1B (OpenMDW License v1.1 (OpenMDW-1.1))." in text


def test_a_model_that_is_here_is_told_with_the_commit_that_would_pin_it(printed, tmp_path: Path) -> None:
    folder = put(tmp_path, COMMIT)
    text = " ".join(printed({"most_embed_de": {}}).split())
    assert f"here {folder}" in text
    assert f"pinned no: set revision to {COMMIT}, the commit that is here" in text
    text = " ".join(printed({"most_embed_de": {"revision": COMMIT, "batch": 4, "processes": 2}}).split())
    assert f"pinned yes, commit {COMMIT}" in text
    assert "training batch 4 x 4 accumulated x 2 processes = 32" in text


def test_folders_branches_and_batches_that_do_not_divide(printed, tmp_path: Path) -> None:
    own = {"base": str(tmp_path), "dimensions": 8, "licence": "MIT", "batch": 5}
    text = " ".join(printed({"own": own, "arctic_embed_l": {"revision": "main"}}).split())
    assert f"here cannot be used: base model '{tmp_path}': there is no model.safetensors" in text
    assert "pinned yes, by its content" in text
    assert "prompts query none, document none" in text
    assert "batch 5 does not divide the effective batch 32: change batch" in text
    assert "pinned no: 'main' is no full commit" in text


def test_as_json_everything_is_there(printed, tmp_path: Path) -> None:
    folder = put(tmp_path, COMMIT)
    most, arctic = json.loads(printed({"most_embed_de": {}, "arctic_embed_l": {}}, "--json"))
    assert (most["name"], most["folder"], most["commit"], most["is_pinned"]) == (
        *("most_embed_de", str(folder), COMMIT),
        False,
    )
    assert (most["batch"], most["accumulation"], most["effective_batch"]) == (2, 16, 32)
    assert most["licence"]["commercial"] is False
    assert most["upstream"][0]["licence"]["id"] == "OpenMDW-1.1"
    assert (arctic["folder"], arctic["problem"].startswith("the base model")) == (None, True)
    assert arctic["fetch"].startswith("hf download Snowflake/snowflake-arctic-embed-l-v2.0")


def test_the_doctor_asks_the_same(printed, tmp_path: Path) -> None:
    printed({"most_embed_de": {}})
    # Not here is no fault: only training needs it.
    told = doctor._check_models(None)
    assert isinstance(told, doctor.Missing)
    assert re.search(r"most_embed_de: the base model 'malteos/most-embed-de' .*hf download", told)
    folder = put(tmp_path, COMMIT)
    told = doctor._check_models(None)
    assert f"set revision to {COMMIT}" in told
    assert not isinstance(told, doctor.Missing)
    # Here and unfit is one.
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(TendrilError, match="which is a pickle"):
        doctor._check_models(None)


def test_a_missing_base_does_not_fail_the_doctor(printed, tmp_path: Path, monkeypatch) -> None:
    printed({"most_embed_de": {}})
    monkeypatch.setattr(doctor, "_check_anonymisers", lambda _: "rules")
    console = Console(width=5000, record=True, force_terminal=False)
    sound = doctor.show_doctor(Settings.from_env(), console)
    text = console.export_text()
    assert re.search(r"^missing models: .*hf download malteos/most-embed-de", text, re.MULTILINE)
    assert sound == ("problem" not in text)
