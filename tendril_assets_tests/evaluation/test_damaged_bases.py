"""Bases that lack something or hold what no model has: refused in one sentence, never trained on."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.models import load_model, model_source
from tendril_assets_tests.evaluation.test_models import folder_of, spec_of
from tendril_assets_tests.training import twins


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("made")
    twins.snowflake(home)
    return home


def test_weights_that_would_be_random_are_refused_by_name(tmp_path: Path, made: Path) -> None:
    """The library only logs them. What no embedding passes through may be missing, and what no one reads be there."""
    base = shutil.copytree(made / "snowflake", tmp_path / "base")
    whole = load_file(base / "model.safetensors")
    query = next(name for name in whole if name.endswith("0.attention.self.query.weight"))

    def load_with(weights: dict[str, Any]) -> Any:
        save_file(weights, base / "model.safetensors", metadata={"format": "pt"})
        return load_model(twins.snowflake_spec(base), device="cpu")

    spare = {name: tensor for name, tensor in whole.items() if "pooler" not in name}
    load_with(spare | {"lm_head.weight": whole[query].clone()})
    with pytest.raises(TendrilError, match=rf"do not hold all weights of the model: \S*{query} would be random values"):
        load_with({name: tensor for name, tensor in whole.items() if name != query})
    with pytest.raises(TendrilError, match=rf"{query} \(\[4, 16\] instead of \[16, 16\]\) would be"):
        load_with(whole | {query: whole[query][:4].clone()})


def test_a_base_without_a_tokenizer_is_no_whole_copy(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, model_safetensors=b"weights")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(TendrilError, match=r"has no tokenizer .* not complete"):
        model_source(spec_of(folder))
    for names in (["vocab.txt"], ["sentencepiece.bpe.model"], ["vocab.json", "merges.txt"]):
        for name in names:
            with pytest.raises(TendrilError, match="has no tokenizer"):
                model_source(spec_of(folder))
            (folder / name).touch()
        assert model_source(spec_of(folder)) == folder
        for name in names:
            (folder / name).unlink()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("modules.json", '{"a": 1}'),
        ("modules.json", "[1]"),
        ("modules.json", '[{"path": 1, "type": 2}]'),
        ("config.json", "[]"),
        ("config.json", '{"model_type": "bert", "hidden_size": "x"}'),
        ("tokenizer.json", "{}"),
        ("1_Pooling/config.json", None),
    ],
)
def test_malformed_folders_are_one_error(tmp_path: Path, made: Path, file: str, text: str | None) -> None:
    base = shutil.copytree(made / "snowflake", tmp_path / "base")
    if text is None:
        shutil.rmtree((base / file).parent)
    else:
        (base / file).write_text(text)
    with pytest.raises(TendrilError):
        load_model(twins.snowflake_spec(base), device="cpu")
