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
    """``printed(models, *options, code=0)``: what the command prints for a collection with these models; it ends with
    ``code``."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path / "home"))

    def run(models: dict, *options: str, code: int = 0, **changes: object) -> str:
        collection = spec(models=models, **changes)
        for module in (cli_models, doctor):
            monkeypatch.setattr(module, "collection_spec", lambda *_: collection)
        result = CliRunner().invoke(main, ["models", *options])
        assert result.exit_code == code, result.output
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
    (folder / "config.json").write_text("{}")
    return folder


def own_base(folder: Path, **config: object) -> Path:
    """A plain transformer in a folder: BERT, 64 dimensions, 512 positions."""
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    said = {"model_type": "bert", "hidden_size": 64, "max_position_embeddings": 512} | config
    (folder / "config.json").write_text(json.dumps(said))
    return folder


def own(folder: Path, **changes: object) -> dict:
    return {"base": str(folder), "dimensions": 64, "max_length": 512, "licence": "MIT"} | changes


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


def test_folders_and_branches(printed, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    text = " ".join(printed({"own": own(empty), "arctic_embed_l": {"revision": "main"}}, code=1).split())
    assert f"here cannot be used: base model '{empty}': there is no model.safetensors" in text
    assert "pinned not known: by its content, once it can be used" in text
    assert "prompts query none, document none" in text
    assert "pinned no: 'main' is no full commit" in text


def test_a_folder_that_is_not_there_is_pinned_by_nothing(printed, tmp_path: Path) -> None:
    nowhere = {"own": own(tmp_path / "nowhere")}
    text = " ".join(printed(nowhere, code=1).split())
    assert f"there is no folder {tmp_path / 'nowhere'}" in text
    assert "pinned not known" in text
    (state,) = json.loads(printed(nowhere, "--json", code=1))
    assert (state["is_pinned"], state["folder"], state["missing"]) == (False, None, False)
    text = " ".join(printed({"own": own(own_base(tmp_path / "nowhere"))}).split())
    assert "pinned yes, by its content" in text


def test_what_the_files_do_not_allow_is_told_with_the_field(printed, tmp_path: Path) -> None:
    base = own_base(tmp_path / "base")
    wrong = own(base, max_length=4096, dimensions=128, sha256="0" * 64)
    text = " ".join(printed({"own": wrong}, code=1).split())
    assert f"{base} reads at most 512 tokens, the specification says 4096: set max_length to 512 or less" in text
    assert f"{base} gives 64 dimensions, the specification says 128: set dimensions to 64 or less" in text
    assert "correct sha256" in text
    with pytest.raises(TendrilError, match=r"own: .*correct sha256; .*set max_length to 512.*; .*set dimensions to 64"):
        doctor._check_models(None)
    printed({"own": own(base)})
    assert "own here, pinned: yes, by its content" in doctor._check_models(None)


def test_a_cut_is_told_and_warned_of_where_nobody_declared_it(printed, tmp_path: Path) -> None:
    base = own_base(tmp_path / "base")
    assert "mean pooling, 64 dimensions, at most 512 tokens" in printed({"own": own(base)})
    text = " ".join(printed({"own": own(base, dimensions=32)}).split())
    assert "embeds mean pooling, 64 dimensions of the base cut to 32, at most 512 tokens" in text
    assert "warning 32 is none of the widths in matryoshka (which has none up to 32)" in text
    assert "Set dimensions to 64, or add 32 to matryoshka" in text
    text = printed({"own": own(base, dimensions=32, matryoshka=[32])})
    assert "64 dimensions of the base cut to 32" in text
    assert "warning" not in text


def test_a_base_without_a_name_to_publish_is_told(printed, tmp_path: Path) -> None:
    base = own_base(tmp_path / "base")
    told = "origin not told; card and notice cannot name the base: set origin"
    assert told in " ".join(printed({"own": own(base)}).split())
    assert "origin" not in printed({"own": own(base, origin="maker/base")})
    assert "origin" not in printed({"most_embed_de": {}})


def test_whether_the_licence_s_text_will_be_there(printed, tmp_path: Path) -> None:
    base = own_base(tmp_path / "base")

    def line(**changes: object) -> str:
        text = " ".join(printed({"own": own(base, **changes)}).split())
        return text.rpartition(" text ")[2]

    assert (
        line()
        == f"missing, and copies need it: put it as LICENSE into {base}, and it goes along when the cards are made"
    )
    assert line(licence="Apache-2.0") == "ships with this product and goes along"
    assert line(licence="CC-BY-4.0") == "not needed: name and address of the licence go along"
    (base / "COPYING.txt").write_text("Copyright (c) somebody.")
    assert line() == "the base's own COPYING.txt goes along"
    # A base that is here and unfit is looked into all the same.
    text = " ".join(printed({"own": own(base, max_length=5000)}, code=1).split())
    assert "here cannot be used:" in text
    assert text.endswith("text the base's own COPYING.txt goes along")
    (state,) = json.loads(printed({"own": own(base, max_length=5000)}, "--json", code=1))
    assert (state["folder"], state["is_pinned"]) == (str(base), False)
    text = " ".join(printed({"multilingual_e5_large": {}}).split())
    assert text.endswith("text goes along if the base has a LICENSE of its own; to be seen once it is here")


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


def test_rerankers_that_are_models_are_told_too(printed, tmp_path: Path) -> None:
    rerankers = {"words": {"base": "lexical"}, "read": {"base": "maker/reranker", "revision": COMMIT}}
    text = " ".join(printed({}, rerankers=rerankers).split())
    assert text.startswith("read (reranker) base maker/reranker here no, it is not in the hub's cache")
    assert f"hf download maker/reranker --revision {COMMIT}" in text
    assert f"pinned yes, commit {COMMIT} reads query and passage together, at most 512 tokens, 16 pairs" in text
    (state,) = json.loads(printed({}, "--json", rerankers=rerankers))
    assert (state["name"], state["kind"], state["missing"], state["is_pinned"]) == ("read", "reranker", True, True)
    assert isinstance(doctor._check_models(None), doctor.Missing)
    (tmp_path / "own").mkdir()
    assert "cannot be used" in printed({}, code=1, rerankers={"own": {"base": str(tmp_path / "own")}})


def test_a_missing_base_does_not_fail_the_doctor(printed, tmp_path: Path, monkeypatch) -> None:
    printed({"most_embed_de": {}})
    monkeypatch.setattr(doctor, "_check_anonymisers", lambda _: "rules")
    console = Console(width=5000, record=True, force_terminal=False)
    sound = doctor.show_doctor(Settings.from_env(), console)
    text = console.export_text()
    assert re.search(r"^missing models: .*hf download malteos/most-embed-de", text, re.MULTILINE)
    assert sound == ("problem" not in text)
