"""What is wrong in a specification is told in plain lines: file, profile, field, what was given, what is allowed."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from rich.console import Console

from tendril_assets import defs, doctor
from tendril_assets.cli import main
from tendril_assets.errors import SpecError
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec, read_spec
from tendril_assets.spec_problems import PATTERNS
from tendril_assets_tests.test_spec import MINIMAL

OWN = {"base": "./x", "dimensions": 64, "licence": "MIT"}


def file_of(folder: Path, attributes: Any) -> Path:
    path = folder / "defs.yaml"
    path.write_text(yaml.safe_dump({"type": "x", "attributes": attributes}, sort_keys=False), encoding="utf-8")
    return path


def told(path: Path, profile: str | None = None) -> tuple[str, ...]:
    with pytest.raises(SpecError) as caught:
        read_spec(path, profile)
    assert caught.value.path == path
    assert str(caught.value).startswith(str(path))
    assert not {"pydantic", "input_value", "type=", "Traceback"} & set(str(caught.value).split())
    # Dagster prints causes and contexts too.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value.problems


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"batch": 0}, "batch: 0 given; should be greater than or equal to 1"),
        ({"querry_prompt": "q"}, "querry_prompt: unknown; did you mean query_prompt?"),
        ({"pooling": "max"}, "pooling: \"max\" given; should be 'mean', 'cls' or 'lasttoken'"),
        ({"sha256": "abc"}, 'sha256: "abc" given; should be 64 hex digits'),
        (
            {"sha256": int("1" * 64)},
            f"sha256: {'1' * 60}... given; should be text, and was read as a number: put it in",
        ),
        ({"revision": True}, "revision: true given; should be text, and was read as true or false: put it in quotes"),
        ({"licence": "Foo-1.0"}, "licence: licence 'Foo-1.0' is not known; known are Apache-2.0, "),
        ({"dimensions": "many"}, 'dimensions: "many" given; should be a whole number'),
        ({"upstream": "x"}, 'upstream: "x" given; should be a list'),
        ({"matryoshka": [4096, 64, 32]}, "matryoshka: 4096 above dimensions 64: leave it out, or correct dimensions"),
        ({"matryoshka": [32, 16, 32]}, "matryoshka: 32, 16, 32: a number of dimensions occurs twice"),
        ({"matryoshka": [32, 0]}, "matryoshka: 0 is no number of dimensions: at least 1"),
        ({"dimensions": True}, "dimensions: true given; should be a whole number"),
        ({"dimensions": 8.5}, "dimensions: 8.5 given; should be a whole number"),
        ({"matryoshka": [32, True]}, "matryoshka.1: true given; should be a whole number"),
        ({"trust_remote_code": "maybe"}, 'trust_remote_code: "maybe" given; should be true or false'),
        ({"base": ""}, 'base: "" given; should be text of at least 1 character'),
        # 8 rows a step are no whole number of threes, nor of two processes with three each.
        ({"batch": 3}, "batch: batch 3 does not divide the effective batch 8; change it, or training."),
        (
            {"batch": 3, "processes": 2},
            "batch: batch 3 on 2 processes does not divide the effective batch 8; change it or processes, or training.",
        ),
    ],
)
def test_a_mistake_in_a_model_of_a_profile_stands_where_the_profile_gives_it(
    tmp_path: Path, changes, line: str
) -> None:
    overlay = {"training": {"effective_batch": 8}, "models": {"own": OWN | changes}}
    path = file_of(tmp_path, MINIMAL | {"profiles": {"small": overlay}})
    assert list(read_spec(path).models) == ["m"]
    (problem,) = told(path, "small")
    assert problem.startswith(f"profiles.small.models.own.{line}")
    # The same in the specification itself.
    path = file_of(tmp_path, MINIMAL | overlay)
    (problem,) = told(path)
    assert problem.startswith(f"models.own.{line}")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"training": {"learning_rte": 1}}, "training.learning_rte: unknown; did you mean learning_rate?"),
        ({"training": {"learning_rate": -1}}, "training.learning_rate: -1 given; should be greater than 0"),
        ({"training": {"early_stop": 3}}, "training.early_stop: 3 given; should be a mapping with patience, min_gain"),
        ({"splits": {"validation_share": 1.2}}, "splits.validation_share: 1.2 given; should be less than 1"),
        (
            {"splits": {"x": 1}},
            "splits.x: unknown; known are policy, validation_share, test, live, held_out_kinds, min_validation_groups",
        ),
        ({"subsets": []}, "subsets: a list given; should have at least 1 entry"),
        ({"models": {"my-model": OWN}}, 'models.my-model: "my-model" given; should be a name of small letters'),
        ({"models": {"own": {"base": "./x", "dimensions": 8}}}, "models.own.licence: missing; SPDX id, or a licence"),
        ({"models": {"own": "big"}}, 'models.own: "big" given; should be a mapping with base, '),
        ({"models": {"arctic": {}}}, "models.arctic: no model 'arctic' is registered; did you mean arctic_embed_l? "),
        (
            {"models": {"a": {"registered": "x"}}},
            "models.a.registered: no model 'x' is registered; registered are most_",
        ),
        (
            {"release": MINIMAL["release"] | {"version": 0.1}},
            "release.version: 0.1 given; should be text, and was read as",
        ),
        # What names its own field names it once.
        ({"training": {"n_negatives": 1}}, "training: same_document_negatives 2 is above n_negatives 1"),
        # Of a name or a mapping, what was meant is told.
        (
            {"judge": {"llm": {"model": "j"}, "calibration": {"models": ["a", {"model": "b", "temprature": 1}]}}},
            "judge.calibration.models.1.temprature: unknown; did you mean temperature?",
        ),
        (
            {"judge": {"llm": {"model": "j"}, "calibration": {"models": [3]}}},
            "judge.calibration.models.0: 3 given; should",
        ),
        (
            {"models": {"x": {"registred": "arctic_embed_l"}}},
            "models.x.registred: unknown; did you mean registered?",
        ),
        (
            {"models": {"x": {"registred": "arctic_embed_l", "base": "./x"}}},
            "models.x.registred: unknown; did you mean registered?",
        ),
        ({"training": {"learning_rate": "fast"}}, 'training.learning_rate: "fast" given; should be a number'),
        ({"training": {"learning_rate": True}}, "training.learning_rate: true given; should be a number"),
        ({"sampling": {"quotas": {"unsure": False}}}, "sampling.quotas.unsure: false given; should be a whole number"),
        ({"training": {"bf16": 3}}, "training.bf16: 3 given; should be true or false"),
        (
            {"simap": {"search": "abc", "published_from": "May"}},
            'simap.published_from: "May" given; should be a date such',
        ),
        ({"simap": {"search": "abc", "languages": []}}, "simap.languages: a list given; should have at least 1 entry"),
        # Each names its field once, and the nearest one that can be told.
        ({"simap": {"search": "abc", "base_url": "foo"}}, "simap.base_url: 'foo' given; should look like https://host"),
        ({"simap": {"search": "abc", "languages": ["de", "de"]}}, "simap.languages: a language occurs twice"),
        ({"simap": {}}, "simap: the search needs search, "),
        ({"anonymization": {"detector": "model"}}, "anonymization.model: name the model when detector is 'model'"),
        (
            {"filters": {"min_characters": 9, "max_characters": 8}},
            "filters.min_characters: 9 is above max_characters 8",
        ),
        ({"splits": {"policy": "sampled"}}, "splits.policy: what was called sampled is now exact"),
        (
            {"judge": {"llm": {"model": "j"}, "calibration": {"efforts": ["low", "low"]}}},
            "judge.calibration.efforts: an entry occurs twice",
        ),
        (
            {"judge": {"llm": {"model": "j"}, "calibration": {"apply": "chosen"}}},
            "judge.calibration: apply 'chosen' needs an acceptance",
        ),
        ({"profiles": {"small": None}}, "profiles.small: null given; should be a mapping"),
    ],
)
def test_a_mistake_is_one_line_with_its_field(tmp_path: Path, changes, line: str) -> None:
    (problem,) = told(file_of(tmp_path, MINIMAL | changes))
    assert problem.startswith(line)


def test_every_mistake_is_told_and_those_that_an_overlay_only_brings_out_too(tmp_path: Path) -> None:
    misspelt = {"own": {"basse": "./x", "dimensions": 64, "licence": "MIT", "batch": 0}}
    found = told(file_of(tmp_path, MINIMAL | {"sede": 1, "models": misspelt}))
    assert [problem.split(";")[0] for problem in found] == [
        "models.own.base: missing",
        "models.own.batch: 0 given",
        "models.own.basse: unknown",
        "sede: unknown",
    ]
    # The model is the specification's, the overlay only changes the step it must fit in.
    model = {"m": MINIMAL["models"]["m"] | {"batch": 16}}
    path = file_of(tmp_path, MINIMAL | {"models": model, "profiles": {"p": {"training": {"effective_batch": 8}}}})
    assert read_spec(path).models["m"].batch == 16
    (problem,) = told(path, "p")
    assert problem.startswith("models.m.batch: batch 16 does not divide the effective batch 8")
    with pytest.raises(SpecError, match=r"defs\.yaml, with profile p: models\.m\.batch"):
        read_spec(path, "p")


def test_mistakes_of_one_kind_are_told_together(tmp_path: Path) -> None:
    # 32 rows a step are no whole number of threes nor of fives.
    release = MINIMAL["release"] | {"models": {"arctic_embed": {"name": "x", "title": "x"}}}
    models = {"arctic_embed_l": {"batch": 3}, "most_embed_de": {"batch": 5}}
    found = told(file_of(tmp_path, MINIMAL | {"models": models, "release": release}))
    assert found == (
        "release.models.arctic_embed: unknown; did you mean arctic_embed_l?",
        "models.arctic_embed_l.batch: batch 3 does not divide the effective batch 32; change it, or "
        "training.effective_batch, in the specification",
        "models.most_embed_de.batch: batch 5 does not divide the effective batch 32; change it, or "
        "training.effective_batch, in the specification",
    )
    models = {"x": {"registered": "nope"}, "y": {"registered": "never"}, "own": OWN | {"max_lenght": 8, "batch": -1}}
    found = told(file_of(tmp_path, MINIMAL | {"models": models}))
    assert [problem.split(";")[0] for problem in found] == [
        "models.x.registered: no model 'nope' is registered",
        "models.y.registered: no model 'never' is registered",
        "models.own.batch: -1 given",
        "models.own.max_lenght: unknown",
    ]
    simap = {"base_url": "foo", "published_from": "2026-02-01", "published_until": "2026-01-31"}
    assert told(file_of(tmp_path, MINIMAL | {"simap": simap})) == (
        "simap.base_url: 'foo' given; should look like https://host/api",
        "simap: the search needs search, project_sub_types or issued_by_organizations",
        "simap.published_from: 2026-02-01 is after published_until 2026-01-31",
    )


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("type: x\nattributes:\n  seed: 1\n  seed: 2\n", ["line 4, column 3: 'seed' occurs twice"]),
        ("type: x\nattributes:\n  on: 2\n", ["line 3, column 3: the key on is read as True, which is no text"]),
        ("type: x\nattributes:\n  seed: 1\n group: a\n", ["line 4, column 2: did not find expected key"]),
        ("type: x\nseed: 1\nattributes: {}\n", ["seed: belongs below attributes: indent it"]),
        ("type: x\natributes: {}\n", ["atributes: unknown; did you mean attributes?", "attributes: missing"]),
        ("type: x\n", ["attributes: missing"]),
        ("type: x\nattributes:\n", ["null given; should be a mapping with collection, seed"]),
        ("", ["should be a mapping with type and attributes"]),
    ],
)
def test_a_file_that_is_no_specification_is_told_by_line_or_key(tmp_path: Path, text: str, lines: list[str]) -> None:
    path = tmp_path / "defs.yaml"
    path.write_text(text, encoding="utf-8")
    found = told(path)
    assert len(found) == len(lines)
    assert all(problem.startswith(line) for problem, line in zip(found, lines, strict=True))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "No such file" in told(tmp_path / "defs.yaml")[0]


def test_the_words_for_patterns_are_of_patterns_in_use() -> None:
    def patterns(part: Any) -> set[str]:
        if isinstance(part, dict):
            own = {part["pattern"]} if isinstance(part.get("pattern"), str) else set()
            names = set(part.get("patternProperties", {}))
            return own | names | {found for value in part.values() for found in patterns(value)}
        return {found for value in part for found in patterns(value)} if isinstance(part, list) else set()

    assert set(PATTERNS) <= patterns(CollectionSpec.model_json_schema())


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection with two mistakes, in place of all that there are."""
    path = file_of(tmp_path, MINIMAL | {"sede": 1, "models": {"own": OWN | {"batch": 0}}})
    for module in (defs, doctor):
        monkeypatch.setattr(module, "collection_files", lambda: {"tenders": path})
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path / "home"))
    return path


@pytest.mark.parametrize("command", ["models", "run", "doctor"])
def test_a_mistake_of_an_overlay_ends_every_command_too(tmp_path: Path, monkeypatch, command: str) -> None:
    path = file_of(tmp_path, MINIMAL | {"profiles": {"sandbox": {"models": {"own": OWN | {"batch": 0}}}}})
    for module in (defs, doctor):
        monkeypatch.setattr(module, "collection_files", lambda: {"tenders": path})
    # A landing folder of one's own: nothing is written before the mistake is found.
    landing = {"TENDRIL_HOME": str(tmp_path / "home"), "TENDRIL_LANDING": str(tmp_path), "TENDRIL_PROFILE": "sandbox"}
    result = CliRunner().invoke(main, [command], env=landing)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert f"{path}, with profile sandbox: profiles.sandbox.models.own.batch: 0 given;" in result.output


@pytest.mark.parametrize("command", ["models", "status", "estimate", "run"])
def test_commands_end_with_the_lines_and_no_traceback(broken: Path, command: str) -> None:
    result = CliRunner().invoke(main, [command])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert f"SpecError: {broken}: 2 mistakes\n  models.own.batch: 0 given;" in result.output
    assert result.output.splitlines()[-1] == "  sede: unknown; did you mean seed?"


def test_the_doctor_reads_every_profile_not_only_the_active_one(broken: Path) -> None:
    profiles = {"fine": {"seed": 1}, "typo": {"trainin": {}}, "worse": {"models": {"own": OWN | {"batch": 0}}}}
    file_of(broken.parent, MINIMAL | {"profiles": profiles})
    console = Console(width=5000, record=True, force_terminal=False)
    assert not doctor.show_doctor(Settings.from_env(), console)
    (line,) = [line for line in console.export_text().splitlines() if " specification: " in line]
    assert line == (
        f"problem specification: {broken}, with profile typo: profiles.typo.trainin: unknown; did you mean training?; "
        f"{broken}, with profile worse: profiles.worse.models.own.batch: 0 given; should be greater than or equal to 1"
    )


def test_the_doctor_says_it_once_and_goes_on(broken: Path) -> None:
    console = Console(width=5000, record=True, force_terminal=False)
    assert not doctor.show_doctor(Settings.from_env(), console)
    lines = console.export_text().splitlines()
    (line,) = [line for line in lines if "models.own.batch" in line]
    assert line.startswith(f"problem specification: {broken}: models.own.batch: 0 given;")
    assert line.endswith("sede: unknown; did you mean seed?")
    for name in ("profile", "anonymiser", "models"):
        assert f"skipped {name}: correct the specification first" in lines
    assert any(line.startswith("ok      packages: ") for line in lines)
    assert any(line.startswith("ok      registered models: models.yaml describes most_embed_de, ") for line in lines)
