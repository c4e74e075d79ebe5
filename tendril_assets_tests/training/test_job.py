"""The job file and the two hashes."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tendril_assets.errors import TrainingError
from tendril_assets.licences import Licence
from tendril_assets.training.examples import ExchangeSet
from tendril_assets.training.job import TrainingJob, data_hash, read_exchange
from tendril_assets_tests.training.toy import toy_exchange, toy_job


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder that passes for a base model: the hash needs its bytes, not its meaning."""
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
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


@pytest.mark.parametrize(
    "change",
    [
        *({"reach": value} for value in ("groups", None, [])),
        *({"subsets": value} for value in ("area", [], [""], [1])),
        *({"seed": value} for value in (-1, 1.5, "42", True)),
        *({name: value} for name in ("folder", "model") for value in ("", None)),
    ],
)
def test_a_field_outside_its_values_is_named(tmp_path: Path, base: Path, change: dict[str, object]) -> None:
    path = toy_job(tmp_path, base).write(tmp_path / "job.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(TrainingError, match=rf"job\.json is no training job: .*{next(iter(change))} cannot be"):
        TrainingJob.read(path)


def test_a_wrong_recipe_is_told_by_field_and_message_only(tmp_path: Path, base: Path) -> None:
    path = toy_job(tmp_path, base).write(tmp_path / "job.json")
    document = json.loads(path.read_text())
    document["recipe"]["max_epochs"] = "secret"
    path.write_text(json.dumps(document))
    with pytest.raises(TrainingError, match=r"no training job: max_epochs: Input should be a valid integer") as caught:
        TrainingJob.read(path)
    assert "secret" not in str(caught.value)


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


def _changed(part: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> ExchangeSet:
    exchange = toy_exchange()
    return exchange._replace(**{part: change(getattr(exchange, part))})


def _with_null(column: str, row: int) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.with_columns(
        pl.when(pl.int_range(pl.len()) != row - 1).then(pl.col(column)).alias(column)
    )


@pytest.mark.parametrize(
    ("part", "change", "told"),
    [
        ("train", _with_null("negative_2", 3), "column negative_2 is empty in row 3"),
        ("corpus", _with_null("text", 2), "column text is empty in row 2"),
        ("qrels", _with_null("score", 1), "column score is empty in row 1"),
        ("train", lambda frame: frame.clear(), "has no row"),
        ("train", lambda frame: frame.drop("query_id", "query"), "has no column query_id, query"),
        ("corpus", lambda frame: frame.drop("text"), "has no column text"),
        ("train", lambda frame: frame.drop("negative_3"), "column negative_2, the recipe has n_negatives 3"),
        ("train", lambda frame: frame.drop("negative_2"), "not query, positive, negative_1, negative_2:"),
        ("train", lambda frame: frame.with_columns(note=pl.lit("x")), "has the texts .*, note, not "),
        ("queries", lambda frame: frame.with_columns(text=pl.lit(1)), "column text holds Int32, not text"),
        ("qrels", lambda frame: frame.cast({"score": pl.String}), "column score holds String, not whole numbers"),
        (
            "corpus",
            lambda frame: frame.slice(1),
            r"passage_id names g1-p0-3 in row 1, .*corpus\.parquet does not have \(8 ",
        ),
        ("queries", lambda frame: frame.slice(1), "query_id names q0 in row 1, "),
    ],
)
def test_a_damaged_hand_over_is_named_with_its_place(
    tmp_path: Path, base: Path, part: str, change: Callable[[pl.DataFrame], pl.DataFrame], told: str
) -> None:
    job = toy_job(tmp_path, base, _changed(part, change))
    with pytest.raises(TrainingError, match=told) as caught:
        read_exchange(job.exchange, job.recipe.n_negatives)
    file = job.exchange["qrels" if "names" in told else part]
    assert str(caught.value).startswith(f"exchange file {file}")
    assert str(caught.value).endswith("materialise training_examples again")


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
