"""Where base models are, what names them, what is refused before it is loaded, and what a loaded one is made into."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tendril_assets.errors import BaseMissing, TendrilError
from tendril_assets.evaluation.model_files import weights_hash
from tendril_assets.evaluation.models import (
    folder_hash,
    is_pinned,
    load_model,
    model_identity,
    model_source,
    weights_name,
)
from tendril_assets.spec import ModelSpec
from tendril_assets_tests.training import twins

COMMIT = twins.COMMIT
OTHER = "f" * 40


def spec_of(base: str | Path = "org/model", **changes: object) -> ModelSpec:
    return ModelSpec.model_validate({"base": str(base), "dimensions": 2, "licence": "MIT"} | changes)


def folder_of(folder: Path, **files: bytes | str) -> Path:
    """A folder with these files; ``__`` in a name stands for a slash, ``_`` before json for a dot. Weights come with a
    tokenizer."""
    if any(name.endswith("_safetensors") for name in files):
        files = {"tokenizer_json": "{}"} | files
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_json", ".json").replace("_safetensors", ".safetensors")
        path = path.with_name(path.name.replace("_bin", ".bin"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty hub cache, laid out as huggingface_hub does, and no way to the hub."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "hub"


def cache(hub: Path, model: str, commit: str, main: str | None, **files: bytes | str) -> Path:
    home = hub / f"models--{model.replace('/', '--')}"
    if main:
        folder_of(home, refs__main=main)
    return folder_of(home / "snapshots" / commit, **files)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("made")
    twins.snowflake(home)
    twins.most(home)
    return home


def test_only_a_whole_commit_pins_a_model_of_the_hub() -> None:
    assert is_pinned(spec_of(revision=COMMIT))
    for revision in (None, "main", "v1.0", COMMIT[:12], COMMIT.upper(), COMMIT + "0"):
        assert not is_pinned(spec_of(revision=revision))
    assert is_pinned(spec_of("/a/folder"))
    assert is_pinned(spec_of("package:any"))


def test_a_pinned_model_is_named_by_its_commit_wherever_it_lies(hub: Path) -> None:
    named = model_identity(spec_of(revision=COMMIT))
    assert f"org/model@{COMMIT}" in named
    cache(hub, "org/model", COMMIT, None, model_safetensors=b"weights")
    assert model_identity(spec_of(revision=COMMIT)) == named
    assert model_identity(spec_of(revision=OTHER)) != named
    assert weights_name(spec_of(revision=COMMIT)) == f"org/model@{COMMIT}"


def test_an_unpinned_model_is_named_by_the_commit_that_is_here(hub: Path) -> None:
    # Also where no folder of that name exists: what was meant as one is told how to be written.
    told = "not in the hub's cache .*is taken for a hub id; for a folder, write ./org/model, or an absolute path"
    with pytest.raises(BaseMissing, match=told):
        model_identity(spec_of())
    cache(hub, "org/model", COMMIT, COMMIT, model_safetensors=b"weights")
    before = model_identity(spec_of())
    assert f"org/model@unpinned-{COMMIT}" in before
    cache(hub, "org/model", OTHER, OTHER, model_safetensors=b"others")
    assert model_identity(spec_of()) != before
    assert model_source(spec_of()).name == OTHER
    assert model_source(spec_of(revision=COMMIT)).name == COMMIT


def test_a_model_that_is_missing_is_one_error_with_the_command(hub: Path) -> None:
    """On a machine without a network: no attempt to connect, no list of causes."""
    cache(hub, "org/model", OTHER, OTHER, model_safetensors=b"weights")
    with pytest.raises(TendrilError) as caught:
        load_model(spec_of(revision=COMMIT))
    told = str(caught.value)
    assert f"hf download org/model --revision {COMMIT} --exclude '*.bin'" in told
    assert str(hub) in told
    assert caught.value.__cause__ is None
    assert "\n" not in told


def test_a_download_that_was_cut_short_is_told(hub: Path) -> None:
    index = json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})
    files = {"model_safetensors.index_json": index, "model-1_safetensors": b"one"}
    cache(hub, "org/model", COMMIT, COMMIT, **files)
    with pytest.raises(TendrilError, match=r"lacks model-2\.safetensors"):
        model_source(spec_of())


@pytest.mark.parametrize("name", ["../outside.safetensors", "sub/model.safetensors", "model.bin"])
def test_shards_stay_in_their_folder_and_are_safetensors(tmp_path: Path, name: str) -> None:
    folder_of(tmp_path, **{"model_safetensors.index_json": json.dumps({"weight_map": {"a": name}})})
    with pytest.raises(TendrilError, match="same folder"):
        model_source(spec_of(tmp_path))


def test_folders_are_checked_against_the_hash(tmp_path: Path) -> None:
    folder_of(tmp_path, model_safetensors=b"weights")
    right = hashlib.sha256(b"weights").hexdigest()
    assert model_source(spec_of(tmp_path, sha256=right.upper())) == tmp_path
    assert weights_name(spec_of(tmp_path)) == right
    told = (
        f"^sha256: the specification says {'0' * 64}, the weights in {tmp_path} have SHA-256 {right}: .*other weights"
    )
    with pytest.raises(TendrilError, match=told):
        model_source(spec_of(tmp_path, sha256="0" * 64))


def test_shards_have_one_hash_that_sha256sum_gives_too(tmp_path: Path) -> None:
    index = json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})
    files = {"model_safetensors.index_json": index, "model-1_safetensors": b"one", "model-2_safetensors": b"two"}
    folder_of(tmp_path, **files)
    command = "LC_ALL=C sha256sum model* | sha256sum"
    peer = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert weights_hash(tmp_path) == peer.stdout.split()[0]
    assert model_source(spec_of(tmp_path, sha256=weights_hash(tmp_path))) == tmp_path
    (tmp_path / "model-2.safetensors").unlink()
    assert weights_hash(tmp_path) is None


def test_missing_folders_and_packages_are_named(tmp_path: Path) -> None:
    with pytest.raises(TendrilError, match=r"no model\.safetensors"):
        model_source(spec_of(tmp_path))
    with pytest.raises(
        TendrilError, match=r"^base: there is no folder .*nowhere: put the model there, or correct base"
    ):
        model_source(spec_of(tmp_path / "nowhere"))
    with pytest.raises(TendrilError, match="'no_such_package'"):
        model_source(spec_of("package:no_such_package"))
    for name in ("os.path.x", "no_such_package.models"):  # a module that is no package, a parent that is not there
        with pytest.raises(
            BaseMissing, match=f"^base: package:{name}: .* is not installed: install it .*or correct base"
        ):
            model_source(spec_of(f"package:{name}"))
    for name in (".foo", "", "a-b", "a..b"):
        with pytest.raises(
            TendrilError, match=f"^base: package:{name}: .*is no import name of a package.*correct base"
        ):
            model_source(spec_of(f"package:{name}"))
    with pytest.raises(TendrilError, match="carries 0 model folders"):
        model_source(spec_of("package:tendril_assets"))


def test_a_package_with_a_model_of_several_modules_carries_one_model(tmp_path: Path, monkeypatch) -> None:
    modules = json.dumps([{"path": ""}, {"path": "2_Dense"}])
    files = {
        "model__modules_json": modules,
        "model__model_safetensors": b"1",
        "model__tokenizer_json": "{}",
        "model__2_Dense__model_safetensors": b"2",
    }
    folder_of(tmp_path / "carrier", **files, **{"__init__.py": ""})
    (tmp_path / "carrier" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert model_source(spec_of("package:carrier")) == tmp_path / "carrier" / "model"


def test_weights_that_would_be_unpickled_are_refused(tmp_path: Path, made: Path) -> None:
    only = folder_of(tmp_path / "only", pytorch_model_bin=b"pickle", config_json="{}")
    with pytest.raises(TendrilError, match=r"only pytorch_model\.bin, which is a pickle"):
        model_source(spec_of(only))
    # The command that fetches leaves pickles out: the message says so, or nobody would know why nothing is here.
    fetched = folder_of(tmp_path / "fetched", config_json="{}")
    with pytest.raises(TendrilError, match="pickled weights are never fetched: its repository may have no others"):
        model_source(spec_of(fetched))
    beside = folder_of(tmp_path / "beside", pytorch_model_bin=b"pickle", model_safetensors=b"weights")
    assert model_source(spec_of(beside)) == beside
    dense = {"2_Dense__pytorch_model_bin": b"pickle", "2_Dense__config_json": "{}"}
    module = folder_of(tmp_path / "module", model_safetensors=b"weights", **dense)
    with pytest.raises(TendrilError, match=r"2_Dense/pytorch_model\.bin is a pickle"):
        model_source(spec_of(module))
    folder_of(module, **{"2_Dense__model_safetensors": b"weights"})
    assert model_source(spec_of(module)) == module
    # The folder of a fine-tuned model is no exception.
    tuned = shutil.copytree(made / "snowflake", tmp_path / "tuned")
    (tuned / "model.safetensors").rename(tuned / "pytorch_model.bin")
    with pytest.raises(TendrilError, match="which is a pickle"):
        load_model(twins.snowflake_spec(made / "snowflake"), tuned)


def test_code_of_another_repository_is_refused_for_no_revision_pins_it(tmp_path: Path) -> None:
    config = json.dumps({"auto_map": {"AutoModel": "someone/else--modeling.Model", "AutoConfig": "own.Config"}})
    folder_of(tmp_path, model_safetensors=b"weights", config_json=config)
    trusting = spec_of(tmp_path, trust_remote_code=True, revision=COMMIT)
    with pytest.raises(TendrilError, match=r"someone/else--modeling\.Model: code of another repository"):
        model_source(trusting)


MAPS = {
    "config.json": {"AutoModel": "modeling.Model"},
    "tokenizer_config.json": {"AutoTokenizer": ["tokens.Slow", None]},
    "0_Transformer/config.json": {"AutoConfig": "configuration.Config"},
}


@pytest.mark.parametrize("place", MAPS)
def test_own_code_is_not_passed_over_in_silence(tmp_path: Path, place: str) -> None:
    """The library would load its own class of that model_type instead, which may be another model."""
    weights = "0_Transformer/model.safetensors" if "/" in place else "model.safetensors"
    modules = [{"path": "0_Transformer" if "/" in place else "", "type": "sentence_transformers.models.Transformer"}]
    folder_of(tmp_path, modules_json=json.dumps(modules))
    (tmp_path / weights).parent.mkdir(exist_ok=True)
    (tmp_path / weights).write_bytes(b"weights")
    (tmp_path / weights).with_name("tokenizer.json").write_text("{}")
    (tmp_path / place).write_text(json.dumps({"model_type": "xlm-roberta", "auto_map": MAPS[place]}))
    told = r"comes with code of its own \(\w+\.\w+\).*trust_remote_code: true and revision.*native_code: true"
    with pytest.raises(TendrilError, match=told):
        model_source(spec_of(tmp_path))
    assert model_source(spec_of(tmp_path, native_code=True)) == tmp_path
    trusting = spec_of(tmp_path, trust_remote_code=True, revision=COMMIT)
    assert model_source(trusting) == tmp_path
    # The same weights with another code are another model.
    assert model_identity(trusting) != model_identity(spec_of(tmp_path, native_code=True))


def test_code_for_other_tasks_is_no_matter(tmp_path: Path) -> None:
    config = json.dumps({"auto_map": {"AutoModelForCausalLM": "modeling.Head"}})
    folder_of(tmp_path, model_safetensors=b"weights", config_json=config)
    assert model_source(spec_of(tmp_path)) == tmp_path


def test_foreign_modules_need_their_code(tmp_path: Path) -> None:
    modules = json.dumps([{"path": "", "type": "custom_st.Transformer"}])
    folder_of(tmp_path, model_safetensors=b"weights", modules_json=modules)
    for changes in ({}, {"native_code": True}):
        with pytest.raises(
            TendrilError, match=r"modules of its own code \(custom_st\.Transformer\).*trust_remote_code"
        ):
            model_source(spec_of(tmp_path, **changes))


def test_a_model_made_without_the_base_s_code_does_not_name_it(tmp_path: Path, made: Path) -> None:
    base = shutil.copytree(made / "snowflake", tmp_path / "base")
    for file in ("config.json", "tokenizer_config.json"):
        kind = "AutoModel" if file == "config.json" else "AutoTokenizer"
        said = json.loads((base / file).read_text()) | {"auto_map": {kind: "own.Class"}}
        (base / file).write_text(json.dumps(said))
    model = load_model(twins.snowflake_spec(base, native_code=True), device="cpu")
    model.save_pretrained(str(tmp_path / "saved"), create_model_card=False)
    assert "own.Class" not in "".join(p.read_text() for p in (tmp_path / "saved").rglob("*.json"))
    again = load_model(twins.snowflake_spec(base), tmp_path / "saved", device="cpu")
    assert again.encode_query(["w1 w2"]).tolist() == model.encode_query(["w1 w2"]).tolist()


def test_paths_are_told_from_hub_ids(hub: Path, tmp_path: Path, monkeypatch) -> None:
    folder_of(tmp_path / "models" / "own", model_safetensors=b"weights")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert model_source(spec_of("~/models/own")) == tmp_path / "models" / "own"
    assert is_pinned(spec_of("~/models/own"))
    assert model_source(spec_of("./models/own")).resolve() == tmp_path / "models" / "own"
    for base in ("models/own", "a/b/c"):
        with pytest.raises(TendrilError, match=f"is taken for a hub id.*write ./{base}, or an absolute path"):
            model_source(spec_of(base))
    with pytest.raises(TendrilError, match="write the whole path"):
        model_source(spec_of("~nobody-of-that-name/model"))


def test_weights_that_are_not_there_have_no_name(tmp_path: Path) -> None:
    with pytest.raises(TendrilError, match="holds no whole weights"):
        weights_name(spec_of(), tmp_path)


def test_identity_follows_content_and_settings_but_not_the_card(tmp_path: Path) -> None:
    folder_of(tmp_path, model_safetensors=b"weights", **{"README.md": "card"})
    spec = spec_of(tmp_path)
    before = model_identity(spec)
    (tmp_path / "README.md").write_text("another card")
    assert model_identity(spec) == before
    assert model_identity(spec_of(tmp_path, max_length=64)) != before
    (tmp_path / "config.json").write_text("{}")
    assert model_identity(spec) != before
    assert folder_hash(tmp_path) in model_identity(spec)


def test_a_model_in_shards_embeds_as_the_same_in_one_file(tmp_path: Path, made: Path) -> None:
    whole, parts = made / "snowflake", twins.in_shards(made / "snowflake", tmp_path / "parts")
    texts = ["w1 w2", "w3"]
    one = load_model(twins.snowflake_spec(whole), device="cpu").encode_query(texts)
    two = load_model(twins.snowflake_spec(parts, sha256=weights_hash(parts)), device="cpu").encode_query(texts)
    assert one.tolist() == two.tolist()


def test_positions_are_counted_as_the_family_counts_them(tmp_path: Path, made: Path) -> None:
    """XLM-R: 50 rows from padding id 1 + 1 on are 48 tokens. Rotary: 48 as configured. Both encode a text of 48."""
    long = "w1 " * 100
    for spec in (twins.snowflake_spec(made / "snowflake"), twins.most_spec(made / "most")):
        model = load_model(spec, device="cpu")
        assert len(model.tokenizer(long, truncation=True)["input_ids"]) == 48
        assert np.isfinite(model.encode(long)).all()
        with pytest.raises(TendrilError, match="reads at most 48 tokens, the specification says 49"):
            load_model(spec.model_copy(update={"max_length": 49}), device="cpu")


def test_a_plain_transformer_pools_as_the_specification_says(made: Path) -> None:
    """Nobody chose a pooling for it; a Sentence Transformers folder has its own, and another one is an error."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    modes: list[Any] = []
    for pooling in ("mean", "cls", "lasttoken"):
        model = load_model(twins.most_spec(made / "most", pooling=pooling), device="cpu")
        modes += [module.pooling_mode for module in model if isinstance(module, Pooling)]
    assert modes == ["mean", "cls", "lasttoken"]
    with pytest.raises(TendrilError, match="pools by cls, the specification says 'mean'"):
        load_model(twins.snowflake_spec(made / "snowflake", pooling="mean"), device="cpu")


def test_prompts_and_width_of_the_base_itself_do_not_come_through(tmp_path: Path, made: Path) -> None:
    """A base that was saved with a default prompt, further prompts and a width of its own."""
    base = shutil.copytree(made / "snowflake", tmp_path / "base")
    saved = {
        "prompts": {"query": "Instruct: ", "passage": "Text: ", "classify": "Class: "},
        "default_prompt_name": "query",
        "similarity_fn_name": "dot",
        "truncate_dim": 4,
    }
    (base / "config_sentence_transformers.json").write_text(json.dumps(saved))
    ours = load_model(twins.snowflake_spec(base), device="cpu")
    plain = load_model(twins.snowflake_spec(made / "snowflake"), device="cpu")
    for way in ("encode", "encode_query", "encode_document"):
        assert getattr(ours, way)("w1 w2").tolist() == getattr(plain, way)("w1 w2").tolist()
    assert ours.prompts == {"query": "query: ", "document": ""}
    assert ours.similarity_fn_name == "cosine"


def test_a_narrower_width_is_the_first_coordinates_at_length_one(made: Path) -> None:
    whole = load_model(twins.snowflake_spec(made / "snowflake"), device="cpu").encode_query(["w1 w2", "w5"])
    narrow = load_model(twins.snowflake_spec(made / "snowflake", dimensions=6), device="cpu").encode_query(
        ["w1 w2", "w5"]
    )
    expected = whole[:, :6] / np.linalg.norm(whole[:, :6], axis=1, keepdims=True)
    assert narrow == pytest.approx(expected, abs=1e-6)
    with pytest.raises(TendrilError, match="gives 16 dimensions, the specification says 32"):
        load_model(twins.snowflake_spec(made / "snowflake", dimensions=32), device="cpu")


def test_a_tokenizer_without_padding_is_told(tmp_path: Path, made: Path) -> None:
    base = shutil.copytree(made / "most", tmp_path / "base")
    config = json.loads((base / "tokenizer_config.json").read_text())
    del config["pad_token"]
    (base / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(TendrilError, match="no padding token"):
        load_model(twins.most_spec(base), device="cpu")


def test_a_folder_that_is_no_model_is_one_error(tmp_path: Path, made: Path) -> None:
    damaged = shutil.copytree(made / "most", tmp_path / "damaged")
    weights = (damaged / "model.safetensors").read_bytes()
    (damaged / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(TendrilError, match="cannot be loaded from"):
        load_model(twins.most_spec(damaged), device="cpu")
    folder_of(tmp_path, model_safetensors=b"weights", config_json="{}")
    with pytest.raises(TendrilError, match="cannot be loaded from"):
        load_model(spec_of(tmp_path))
    folder_of(tmp_path, modules_json="[{")
    with pytest.raises(TendrilError, match=r"modules\.json is not JSON"):
        load_model(spec_of(tmp_path))


def test_torch_is_not_imported_with_the_module() -> None:
    heavy = "any(m in sys.modules for m in ('torch', 'transformers', 'sentence_transformers', 'huggingface_hub'))"
    code = f"import sys, tendril_assets.evaluation.model_state; sys.exit({heavy})"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
