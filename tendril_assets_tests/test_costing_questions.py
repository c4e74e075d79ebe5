"""``tendril estimate`` of generated questions: one line per model, sizes as they are sent, refused where they changed."""

from pathlib import Path

import polars as pl
import pytest

from tendril_assets.costing import open_costs
from tendril_assets.defs import collection_spec
from tendril_assets.errors import SettingsError
from tendril_assets.queries.questions import draw_passages, load_question_prompt, question_requests
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.settings import Settings
from tendril_assets_tests.resources.entries import entry, write

COLLECTION = "regulations"
SPEC = collection_spec(COLLECTION, "sandbox")
GENERATION = SPEC.registers.generation
PROMPT = load_question_prompt(GENERATION.prompt)


def requests() -> pl.DataFrame:
    splits = ["train", "train", "validation", "test_unseen"]
    rows = [
        (f"{group}#{n}", group, group, split, f"Положение № {group}-П\n{n}. Банк хранит договор {n} лет. " * 8)
        for group, split in enumerate(splits)
        for n in range(3)
    ]
    columns = ["passage_id", "document_id", "group_id", "split", "text"]
    frame = pl.DataFrame([tuple(map(str, row)) for row in rows], schema=columns, orient="row")
    return question_requests(draw_passages(frame, GENERATION, 42), GENERATION, PROMPT)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    env = {"TENDRIL_HOME": str(tmp_path), "TENDRIL_PROFILE": "sandbox", "TENDRIL_LLM_API_KEY": "k"}
    # Nobody listens there: prices are those of the table that ships.
    found = Settings.from_env({**env, "TENDRIL_LLM_BASE_URL": "http://127.0.0.1:9"})
    Artifacts(root=str(found.artifacts)).write_frame(COLLECTION, "generation_requests", requests())
    return found


def test_each_model_has_a_line_with_the_sizes_of_what_is_sent(settings: Settings) -> None:
    asked = requests()
    write(settings.ledger, entry(asked.filter(question_set="train")["request_key"][0]))
    costing = open_costs(settings, COLLECTION)
    by_model = {line.asked.llm.model: line.asked for line in costing.lines}
    assert {model: part.open.height for model, part in by_model.items()} == {
        "sandbox/asker-a": 5,  # six of two acts, one of them answered
        "sandbox/asker-b": 6,  # dev and unseen together
    }
    assert {part.step for part in by_model.values()} == {"generation"}
    whole = {
        row["request_key"]: "".join(m["content"] for m in PROMPT.messages(row["passage_text"]))
        for row in asked.iter_rows(named=True)
    }
    for part in by_model.values():
        for row in part.sizes.iter_rows(named=True):
            text = whole[row["request_key"]]
            assert row["prompt_characters"] == len(text)
            assert row["prompt_bytes"] == len(text.encode())
            assert row["prefix_characters"] == text.index("Положение")
    assert "calibration_requests" in costing.missing


def test_requests_of_another_specification_are_refused(settings: Settings) -> None:
    changed = requests().with_columns(passage_text=pl.col("passage_text") + " ")
    Artifacts(root=str(settings.artifacts)).write_frame(COLLECTION, "generation_requests", changed)
    with pytest.raises(SettingsError, match="Materialise"):
        open_costs(settings, COLLECTION)
    unknown = requests().with_columns(question_set=pl.lit("former"))
    Artifacts(root=str(settings.artifacts)).write_frame(COLLECTION, "generation_requests", unknown)
    with pytest.raises(SettingsError, match="generation_requests"):
        open_costs(settings, COLLECTION)


def test_before_any_request_it_says_what_the_first_job_pays_for(tmp_path: Path) -> None:
    empty = Settings.from_env({"TENDRIL_HOME": str(tmp_path), "TENDRIL_PROFILE": "sandbox"})
    with pytest.raises(SettingsError, match="the questions that models write"):
        open_costs(empty, COLLECTION)
