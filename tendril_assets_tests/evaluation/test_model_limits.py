"""What a model's files tell of its shape is what the loaded model has, and a specification is held against it."""

import json
import logging
import shutil
from pathlib import Path

import pytest

from tendril_assets.evaluation.model_files import folder_hash, legal_text
from tendril_assets.evaluation.model_limits import Shape, described_shape, shape_problems, tokens_read
from tendril_assets.evaluation.model_state import tell_cut, unusable_models
from tendril_assets.spec import ModelSpec
from tendril_assets_tests.test_spec import spec as collection
from tendril_assets_tests.training import twins


def spec_of(**changes: object) -> ModelSpec:
    return ModelSpec.model_validate({"base": "org/model", "dimensions": 2, "licence": "MIT"} | changes)


def described(folder: Path, config: dict, *modules: tuple[str, dict]) -> Shape:
    """The shape of a folder with this ``config.json`` and further modules of the library (class, its config)."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    if modules:
        listed = [{"path": "", "type": "sentence_transformers.models.Transformer"}]
        for number, (kind, said) in enumerate(modules, start=1):
            listed.append({"path": f"{number}_{kind}", "type": f"sentence_transformers.models.{kind}"})
            (folder / f"{number}_{kind}").mkdir()
            (folder / f"{number}_{kind}" / "config.json").write_text(json.dumps(said))
        (folder / "modules.json").write_text(json.dumps(listed))
    return described_shape(folder, runs_code=False)


def test_spare_rows_serve_no_token() -> None:
    assert tokens_read(8194, 1) == 8192
    assert tokens_read(512, None) == 512
    assert tokens_read(512, 0) == 511
    assert tokens_read(512, None, 510) == 510
    assert tokens_read(-1, None) is None


# Each as large as its tables: 20 rows of positions, 16 dimensions.
KINDS = {
    "bert": {"pad_token_id": 0},
    "xlm-roberta": {"pad_token_id": 1},
    "camembert": {"pad_token_id": 1},
    "mpnet": {"pad_token_id": 1},
    "distilbert": {"pad_token_id": 0},
    "modernbert": {},
    "nystromformer": {},
    "qwen3": {"head_dim": 8, "num_key_value_heads": 2},
    "t5": {},
}
POSITIONS = {
    "bert": 20,
    "xlm-roberta": 18,
    "camembert": 18,
    "mpnet": 18,
    "distilbert": 20,
    "modernbert": 20,
    "nystromformer": 20,
    "qwen3": 20,
    "t5": None,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_tell_what_the_loaded_model_has(kind: str, tmp_path: Path) -> None:
    """The same rule twice: on ``config.json`` as the library writes it, and on the model it makes of it."""
    from types import SimpleNamespace

    import torch
    from transformers import AutoConfig, AutoModel

    from tendril_assets.evaluation.model_shape import position_limit

    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    rows = {} if kind == "t5" else {"max_position_embeddings": 20}
    config = AutoConfig.for_model(kind, **small | rows | KINDS[kind])
    config.save_pretrained(tmp_path)
    with torch.device("meta"):
        model = AutoModel.from_config(config)
    shape = described_shape(tmp_path, runs_code=False)
    assert shape.positions == POSITIONS[kind] == position_limit(SimpleNamespace(transformers_model=model))
    assert shape.width == 16 == config.hidden_size


def test_twins_are_described_as_they_load(tmp_path: Path) -> None:
    """XLM-R in a folder of modules, and a plain decoder: 48 tokens each."""
    twins.snowflake(tmp_path)
    twins.most(tmp_path)
    for name, spec in (
        ("snowflake", twins.snowflake_spec(tmp_path / "snowflake")),
        ("most", twins.most_spec(tmp_path / "most")),
    ):
        shape = described_shape(tmp_path / name, runs_code=False)
        assert (shape.positions, shape.width) == (48, spec.dimensions)
        assert shape.pooling == ({"cls"} if name == "snowflake" else frozenset())
        assert shape_problems(spec, shape) == []


def test_the_last_module_that_sets_a_width_counts(tmp_path: Path) -> None:
    config = {"model_type": "bert", "hidden_size": 64, "max_position_embeddings": 512}
    now, former = {"embedding_dimension": 64, "pooling_mode": "cls"}, {"word_embedding_dimension": 64}
    assert described(tmp_path / "a", config) == (512, 64, frozenset())
    assert described(tmp_path / "b", config, ("Pooling", now), ("Normalize", {})) == (512, 64, {"cls"})
    # Before pooling had one word for it; without any it is the mean.
    both = former | {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}
    assert described(tmp_path / "c", config, ("Pooling", both)) == (512, 128, {"cls+mean"})
    assert described(tmp_path / "d", config, ("Pooling", former)) == (512, 64, {"mean"})
    dense = ("Dense", {"in_features": 64, "out_features": 24})
    assert described(tmp_path / "e", config, ("Pooling", now), dense) == (512, 24, {"cls"})
    # Nothing is claimed of what is not known.
    assert described(tmp_path / "f", config, ("Pooling", now), ("CNN", {})) == (512, None, {"cls"})
    assert described(tmp_path / "g", {"model_type": "own"}) == (None, None, frozenset())
    assert described(tmp_path / "h", {"text_config": config}) == (512, 64, frozenset())


def test_code_of_its_own_need_not_count_positions_as_the_library(tmp_path: Path) -> None:
    config = {"model_type": "xlm-roberta", "hidden_size": 16, "max_position_embeddings": 20, "pad_token_id": 1}
    assert described(tmp_path / "base", config).positions == 18
    assert described_shape(tmp_path / "base", runs_code=True).positions == 20


def test_each_problem_names_its_field() -> None:
    shape = Shape(positions=512, width=64, pooling=frozenset({"cls"}))
    assert shape_problems(spec_of(max_length=512, dimensions=64, pooling="cls"), shape) == []
    assert shape_problems(spec_of(max_length=513, dimensions=65), shape) == [
        "org/model pools by cls, the specification says 'mean': set pooling to cls",
        "org/model reads at most 512 tokens, the specification says 513: set max_length to 512 or less",
        "org/model gives 64 dimensions, the specification says 65: set dimensions to 64 or less",
    ]
    (told,) = shape_problems(spec_of(), Shape(None, None, frozenset({"max"})))
    assert told.endswith("says 'mean': take a base that pools by mean, cls or lasttoken")
    assert shape_problems(spec_of(max_length=10**6, dimensions=10**6), Shape(None, None, frozenset())) == []


def test_problems_are_named_by_model(tmp_path: Path) -> None:
    base = tmp_path / "base"
    described(base, {"model_type": "bert", "hidden_size": 2, "max_position_embeddings": 512})
    (base / "model.safetensors").write_bytes(b"weights")
    (base / "tokenizer.json").write_text("{}")
    good = {"base": str(base), "dimensions": 2, "max_length": 512, "licence": "MIT"}
    found = unusable_models(collection(models={"good": good, "bad": good | {"max_length": 513}}))
    assert [state.told for state in found] == [
        f"models.bad: {base} reads at most 512 tokens, the specification says 513: set max_length to 512 or less"
    ]
    (base / "config.json").unlink()
    assert [state.told for state in unusable_models(collection(models={"good": good}))] == [
        f"models.good: {base} lacks config.json: fetch or copy the model again, whole"
    ]


def test_a_folder_that_is_not_whole_is_told_once(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    model = {"base": str(base), "dimensions": 2, "max_length": 513, "licence": "MIT"}
    (state,) = unusable_models(collection(models={"empty": model}))
    assert state.told.startswith(f"models.empty: base model '{base}': there is no model.safetensors in {base}")
    assert "config.json" not in state.told
    # What the files do tell is told besides.
    (base / "config.json").write_text(json.dumps({"model_type": "bert", "max_position_embeddings": 512}))
    (state,) = unusable_models(collection(models={"empty": model}))
    assert "there is no model.safetensors" in state.told
    assert state.told.endswith("set max_length to 512 or less")


def test_a_cut_is_one_line_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    base = tmp_path / "base"
    described(base, {"model_type": "bert", "hidden_size": 64, "max_position_embeddings": 512})
    log = logging.getLogger("cut")
    with caplog.at_level(logging.INFO, "cut"):
        tell_cut(spec_of(base=str(base), dimensions=64), log)
        tell_cut(spec_of(base=str(tmp_path / "nowhere"), dimensions=32), log)
        assert caplog.records == []
        tell_cut(spec_of(base=str(base), dimensions=32, matryoshka=[32]), log)
        tell_cut(spec_of(base=str(base), dimensions=32, matryoshka=[16]), log)
    one, two = caplog.records
    assert (one.levelname, one.message) == ("INFO", f"{base}: 64 dimensions of the base cut to 32")
    assert two.levelname == "WARNING"
    assert two.message.startswith(
        f"{base}: 64 dimensions of the base cut to 32; 32 is none of the widths in matryoshka (16)"
    )


def test_a_licence_put_beside_the_weights_makes_no_other_model(tmp_path: Path) -> None:
    described(tmp_path / "base", {"model_type": "bert"})
    before = folder_hash(tmp_path / "base")
    for name in ("LICENSE", "license.txt", "Copying.md", "NOTICE"):
        (tmp_path / "base" / name).write_text("text")
    assert folder_hash(tmp_path / "base") == before
    (tmp_path / "base" / "licenses.json").write_text("{}")
    assert folder_hash(tmp_path / "base") != before
    # Further down it may be what the base's own code reads.
    (tmp_path / "base" / "data").mkdir()
    for name in ("LICENSE", "notice.txt"):
        before = folder_hash(tmp_path / "base")
        (tmp_path / "base" / "data" / name).write_text("text")
        assert folder_hash(tmp_path / "base") != before
    names = ("LICENSE", "LICENCE", "COPYING")
    assert legal_text(tmp_path / "base", names) == tmp_path / "base" / "LICENSE"
    (tmp_path / "base" / "LICENSE").write_text(" \n")  # no text
    assert legal_text(tmp_path / "base", names) == tmp_path / "base" / "license.txt"
    shutil.rmtree(tmp_path / "base")
    assert legal_text(tmp_path / "base", names) is None
