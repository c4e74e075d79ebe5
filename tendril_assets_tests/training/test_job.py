"""The job file and the two hashes."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import TrainingError
from tendril_assets.licences import Licence
from tendril_assets.training.job import TrainingJob, data_hash, read_exchange
from tendril_assets_tests.training.toy import toy_exchange, toy_job


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder that passes for a base model: the hash needs its bytes, not its meaning."""
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_written_and_read_back(tmp_path: Path, base: Path) -> None:
    job = toy_job(tmp_path, base)
    again = TrainingJob.read(job.write(tmp_path / "job.json"))
    assert again == job
    assert again.config_hash == job.config_hash


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"model": 1', '{"model": "m", "folder": "f", "exchange": []}'])
def test_a_damaged_job_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "job.json"
    path.write_text(content)
    with pytest.raises(TrainingError, match=r"job\.json"):
        TrainingJob.read(path)


def test_config_hash_covers_recipe_model_and_seed_but_no_place(tmp_path: Path, base: Path) -> None:
    job = toy_job(tmp_path, base)
    same = [
        replace(job, folder=tmp_path / "elsewhere", exchange={}),
        replace(job, model="other_name"),
        *(
            replace(job, spec=job.spec.model_copy(update={name: value}))
            for name, value in (("batch", 2), ("processes", 2), ("encode_tokens", 64), ("gradient_checkpointing", True))
        ),
        replace(job, spec=job.spec.model_copy(update={"licence": Licence.model_validate("CC-BY-4.0")})),
        replace(job, spec=job.spec.model_copy(update={"base": str(shutil.copytree(base, tmp_path / "moved"))})),
    ]
    assert {other.config_hash for other in same} == {job.config_hash}
    different = [
        replace(job, seed=43),
        replace(job, reach="collection"),
        replace(job, recipe=job.recipe.model_copy(update={"learning_rate": 1e-4})),
        replace(job, spec=job.spec.model_copy(update={"document_prompt": ""})),
    ]
    assert len({job.config_hash, *(other.config_hash for other in different)}) == 5


def test_other_base_weights_change_the_config_hash(tmp_path: Path, base: Path) -> None:
    before = toy_job(tmp_path, base).config_hash
    (base / "model.safetensors").write_bytes(b"other weights")
    assert toy_job(tmp_path, base).config_hash != before


def test_data_hash_is_of_the_rows(tmp_path: Path, base: Path) -> None:
    job = toy_job(tmp_path, base)
    written = data_hash(toy_exchange())
    assert data_hash(read_exchange(job.exchange)) == written
    pl.read_parquet(job.exchange["corpus"]).write_parquet(job.exchange["corpus"], compression="uncompressed")
    assert data_hash(read_exchange(job.exchange)) == written
    changed = toy_exchange()._replace(corpus=toy_exchange().corpus.reverse())
    assert data_hash(changed) != written


def test_a_missing_exchange_file_is_named(tmp_path: Path, base: Path) -> None:
    job = toy_job(tmp_path, base)
    job.exchange["qrels"].unlink()
    with pytest.raises(TrainingError, match="qrels"):
        read_exchange(job.exchange)


@pytest.mark.parametrize(("effective", "batch", "steps"), [(32, 2, 16), (32, 32, 1), (32, 1, 32)])
def test_accumulation(tmp_path: Path, base: Path, effective: int, batch: int, steps: int) -> None:
    job = toy_job(tmp_path, base, effective_batch=effective)
    assert replace(job, spec=job.spec.model_copy(update={"batch": batch})).accumulation == steps


@pytest.mark.parametrize("batch", [3, 64])
def test_a_batch_that_does_not_divide_is_refused(tmp_path: Path, base: Path, batch: int) -> None:
    job = toy_job(tmp_path, base, effective_batch=32)
    with pytest.raises(TrainingError, match=rf"batch {batch} does not divide"):
        _ = replace(job, spec=job.spec.model_copy(update={"batch": batch})).accumulation


def test_job_file_holds_no_secret_and_is_json(tmp_path: Path, base: Path) -> None:
    document = json.loads(toy_job(tmp_path, base).write(tmp_path / "job.json").read_text())
    assert set(document) == {"model", "folder", "exchange", "recipe", "spec", "subsets", "seed", "reach"}
