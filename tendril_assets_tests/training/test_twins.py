"""The published models' families through the whole recipe: trained, saved, and loaded by somebody who has only the folder."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.models import load_model
from tendril_assets.spec import ModelSpec
from tendril_assets.training.fit import fit
from tendril_assets_tests.training import twins
from tendril_assets_tests.training.toy import said, toy_job

RECIPE = {"max_epochs": 5, "evaluate_every": 10, "learning_rate": 1e-2}
TEXTS = ["w1 w9", "w17 w25 w33 w12 w6 w30"]

# What a user of the published folder runs: the library alone, in a process of its own.
READER = """
import json, sys
from sentence_transformers import SentenceTransformer

texts, folders = json.loads(sys.argv[1])
found = {}
for folder, trusted in folders:
    model = SentenceTransformer(folder, device="cpu", local_files_only=True, trust_remote_code=trusted)
    query, document = model.encode_query(texts), model.encode_document(texts)
    found[folder] = {
        "query": query.tolist(),
        "document": document.tolist(),
        "by_hand": model.encode(["query: " + text for text in texts]).tolist(),
        "passages_by_hand": model.encode(["passage: " + text for text in texts]).tolist(),
        "bare": model.encode(texts).tolist(),
        "similarity": model.similarity(query, document).tolist(),
        "similarity_fn": model.similarity_fn_name,
        "prompts": model.prompts,
        "dimensions": model.get_embedding_dimension(),
        "max_length": model.max_seq_length,
        "tokens": len(model.tokenizer(" ".join(["w1"] * 500), truncation=True)["input_ids"]),
    }
assert "tendril_assets" not in sys.modules
print(json.dumps(found))
"""


def read_elsewhere(*folders: tuple[Path, bool]) -> dict[Path, dict[str, Any]]:
    """What ``READER`` finds in each folder; the flag is trust_remote_code."""
    given = json.dumps([TEXTS, [(str(folder), trusted) for folder, trusted in folders]])
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", READER, given], capture_output=True, text=True, check=False, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return {folder: found[str(folder)] for folder, _ in folders}


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, tuple[ModelSpec, Path, dict[str, Any], dict[str, Any]]]:
    """Name -> specification, kept folder, result of the training, what the other process found.

    ``narrow`` is the snowflake twin cut to its first 8 of 16 coordinates.
    """
    home = tmp_path_factory.mktemp("twins")
    base = twins.snowflake(home)
    specs = {
        "snowflake": twins.snowflake_spec(base),
        "narrow": twins.snowflake_spec(base, dimensions=8),
        "most": twins.most_spec(twins.most(home)),
        "coded": twins.most_spec(twins.coded(home), trust_remote_code=True, revision=twins.COMMIT),
    }
    kept, results = {}, {}
    for name, spec in specs.items():
        job = replace(toy_job(home / name, Path(spec.base), **RECIPE), spec=spec)
        results[name] = fit(job, said([]))
        kept[name] = job.folder / "kept"
    found = read_elsewhere(*((kept[name], specs[name].trust_remote_code) for name in specs))
    return {name: (specs[name], kept[name], results[name], found[kept[name]]) for name in specs}


every_twin = pytest.mark.parametrize("name", ["snowflake", "narrow", "most", "coded"])


@every_twin
def test_the_recipe_runs_to_its_end(trained, name: str) -> None:
    """44 examples in steps of 8, five times: 30 steps, evaluated at 0, 10, 20 and 30. The best is kept, not the base."""
    _, _, result, _ = trained[name]
    balanced = {step: value for step, measure, value in result["curve"] if measure == "balanced_ndcg@10"}
    assert list(balanced) == [0, 10, 20, 30]
    assert result["best_value"] == max(balanced.values()) > balanced[0]


@every_twin
def test_embeddings_have_length_one_and_the_right_width(trained, name: str) -> None:
    spec, _, _, found = trained[name]
    for kind in ("query", "document", "bare"):
        embeddings = np.array(found[kind])
        assert embeddings.shape == (len(TEXTS), spec.dimensions)
        assert np.linalg.norm(embeddings, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    assert found["dimensions"] == spec.dimensions
    assert found["similarity_fn"] == "cosine"
    cosines = np.array(found["query"]) @ np.array(found["document"]).T
    assert np.array(found["similarity"]) == pytest.approx(cosines, abs=1e-6)


@every_twin
def test_prompts_are_saved_and_applied(trained, name: str) -> None:
    spec, _, _, found = trained[name]
    assert found["prompts"] == {"query": spec.query_prompt, "document": spec.document_prompt}
    assert found["query"] == found["by_hand"]
    assert found["document"] == (found["passages_by_hand"] if spec.document_prompt else found["bare"])
    assert found["query"] != found["bare"]


@every_twin
def test_the_maximum_length_is_saved(trained, name: str) -> None:
    spec, _, _, found = trained[name]
    assert found["max_length"] == found["tokens"] == spec.max_length == twins.LENGTH


@every_twin
def test_the_same_embeddings_here_and_there(trained, name: str) -> None:
    spec, kept, _, found = trained[name]
    model = load_model(spec, kept, "cpu")
    assert model.encode_query(TEXTS) == pytest.approx(np.array(found["query"]), abs=1e-5)
    assert model.encode_document(TEXTS) == pytest.approx(np.array(found["document"]), abs=1e-5)


@every_twin
def test_nothing_pickled_and_no_path_of_this_machine_is_saved(trained, name: str) -> None:
    spec, kept, _, _ = trained[name]
    files = [path for path in kept.rglob("*") if path.is_file()]
    assert not [path.name for path in files if path.suffix in {".bin", ".pt", ".pth", ".pkl"}]
    texts = [path.read_text() for path in files if path.suffix != ".safetensors"]
    assert not [text for text in texts if str(Path(spec.base).parent) in text]


def test_the_weights_moved_and_the_cut_did_not(trained) -> None:
    """The cut to 8 coordinates is ones and zeros, before and after training."""
    from safetensors.torch import load_file

    spec, kept, _, _ = trained["narrow"]
    assert load_file(kept / "2_Dense" / "model.safetensors")["linear.weight"].tolist() == np.eye(8, 16).tolist()
    before, after = load_model(spec, device="cpu"), load_model(spec, kept, "cpu")
    assert not np.allclose(before.encode_query(TEXTS), after.encode_query(TEXTS), atol=1e-3)


def test_code_of_its_own_goes_along_and_needs_trust(trained) -> None:
    spec, kept, _, _ = trained["coded"]
    assert (kept / "modeling_two_way.py").is_file()
    untrusting = spec.model_copy(update={"trust_remote_code": False})
    with pytest.raises(
        TendrilError,
        match=r"comes with code of its own \(modeling_two_way\.TwoWayConfig, .*set trust_remote_code: true",
    ):
        load_model(untrusting, kept, "cpu")


def test_the_decoder_reads_in_both_directions(tmp_path: Path) -> None:
    """A later token changes what an earlier one becomes, and padding changes nothing; a causal twin does neither first."""
    import torch

    def states(model: Any, *ids: int, padded: int = 0) -> torch.Tensor:
        tokens = torch.tensor([[*ids, *[3] * padded]])
        mask = torch.tensor([[1] * len(ids) + [0] * padded])
        with torch.no_grad():
            return model.transformers_model(input_ids=tokens, attention_mask=mask).last_hidden_state[0, : len(ids)]

    both = load_model(twins.most_spec(twins.most(tmp_path)), device="cpu").eval()
    ahead = load_model(twins.most_spec(twins.most(tmp_path, is_causal=True)), device="cpu").eval()
    assert (states(both, 5, 6, 7)[0] - states(both, 5, 6, 8)[0]).abs().max() > 0.01
    assert torch.equal(states(ahead, 5, 6, 7)[0], states(ahead, 5, 6, 8)[0])
    assert torch.allclose(states(both, 5, 6, 7), states(both, 5, 6, 7, padded=4), atol=1e-6)
    # Alone a text needs no mask, beside a longer one it does: both ways must attend alike.
    assert both.encode(["w1 w2"])[0] == pytest.approx(both.encode(["w1 w2", "w3 " * 30])[0], abs=1e-6)


def test_an_old_folder_has_old_names(tmp_path: Path) -> None:
    """The twin stands for what was saved before module classes moved; ``trained`` shows that it is read and saved anew."""
    modules = json.loads((twins.snowflake(tmp_path) / "modules.json").read_text())
    assert [module["type"] for module in modules] == [
        "sentence_transformers.models.Transformer",
        "sentence_transformers.models.Pooling",
        "sentence_transformers.models.Normalize",
    ]
