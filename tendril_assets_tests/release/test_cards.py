"""Cards say what the tables and the written files hold, or refuse."""

import functools
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
import yaml

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.cards import CardInputs, dataset_card
from tendril_assets.release.figures import CARD_FIGURES, assert_sums, read_figures
from tendril_assets.release.front_matter import REMEDY_DAYS, gating_text, licence_text
from tendril_assets.release.huggingface import Config
from tendril_assets.release.withdrawn import Withdrawal
from tendril_assets_tests.release import toy

CONFIGS = [
    Config("corpus", {"id": "string", "text": "string"}, {"train": 80}),
    Config("queries", {"id": "string"}, {"train": 8}),
    Config("qrels", {"query-id": "string", "corpus-id": "string", "score": "int64"}, {"train": 240}),
]
SIZES = {"corpus": {"train": 19_000}, "queries": {"train": 1_300}, "qrels": {"train": 8_900}}


def card_inputs(**changes) -> CardInputs:
    return _sound()._replace(**changes)


@functools.cache
def _sound() -> CardInputs:
    tables = toy.tables()
    figures = read_figures(toy.reader(toy.database(tables)), CARD_FIGURES)
    return CardInputs(toy.spec(), figures, tables["judge_agreement"], tables["judge_choice"], CONFIGS, SIZES, False)


def front(card: str) -> dict:
    _, text, _ = card.split("---\n", 2)
    return yaml.safe_load(text)


def test_front_matter_is_made_from_the_files() -> None:
    body = front(dataset_card(card_inputs()))
    assert [c["config_name"] for c in body["configs"]] == ["corpus", "queries", "qrels"]
    assert [c["config_name"] for c in body["configs"] if c.get("default")] == ["qrels"]
    info = {i["config_name"]: i for i in body["dataset_info"]}
    assert info["corpus"]["features"] == [{"name": "id", "dtype": "string"}, {"name": "text", "dtype": "string"}]
    assert info["qrels"]["splits"] == [{"name": "train", "num_bytes": 8_900, "num_examples": 240}]
    assert (body["license"], body["license_name"]) == ("other", "toy-open-rail-d-license")
    assert body["extra_gated_prompt"] == gating_text(toy.spec())
    assert body["size_categories"] == ["n<1K"]
    wider = [CONFIGS[0]._replace(features={**CONFIGS[0].features, "colour": "string"}), *CONFIGS[1:]]
    features = front(dataset_card(card_inputs(configs=wider)))["dataset_info"][0]["features"]
    assert {"name": "colour", "dtype": "string"} in features


def test_prose_has_the_figures_of_the_tables() -> None:
    card = dataset_card(card_inputs())
    assert "| Total | 180 | 30 | 30 |" in card  # 72 + 108, 12 + 18, 12 + 18
    assert "| Catalog_2 | 2 | 8 | 16 | 64 | 64 | 16 |" in card
    assert "12 projects were sampled, with up to 5 documents each: 10 in corpus, 1 failed and 1 restricted." in card
    assert "left out: near duplicate 10, restricted project 10 and too short 10" in card
    assert "No query comes from Catalog_4" in card
    assert "(median 28, maximum 40), and 75\u00a0% of the judgments are 0" in card
    assert "Known cost of judging: USD 0.0288." in card  # 240 x 0.00012
    assert "| Area of action | 0.48 [0.38, 0.57] (n = 90) | 0.62 [0.52, 0.71] (n = 90) |" in card
    assert "in October 2026" in card


def test_what_the_specification_says_of_the_release_is_said() -> None:
    release = toy.spec().release.model_dump() | {
        "purpose": "finding clauses",
        "queries": "A query is a criterion. ",
        "test_collection": {"name": "Maker/toy", "revision": "1"},
    }
    card = dataset_card(card_inputs(spec=toy.spec(release=release)))
    assert card.split("# Toy-Train: judged passages\n\n")[1].startswith(
        "Training data for finding clauses: 240 relevance judgments by a large language model over 80 anonymised passages "
        "from 20 documents of 10 projects, for 8 queries. A query is a criterion. It accompanies the human-annotated test "
        "collection `Maker/toy`.\n"
    )
    assert "@misc{toytrain,\n" in card
    assert 'pin this one with `revision="v1.0.0"`' in card


def test_the_calibration_set_is_counted() -> None:
    size = pl.DataFrame({"pairs": [1425], "curated": [1425], "annotators": [3], "catalogs": [10]})
    inputs = card_inputs()
    card = dataset_card(inputs._replace(figures={**inputs.figures, "calibration_size": size}))
    assert "calibration set of 1,425 query-passage pairs by 3 annotators from 10 catalogs (up to 90 pairs" in card
    assert "human-annotated calibration set (up to 90 pairs" in dataset_card(inputs)  # the toy has landed none


def test_the_code_names_the_data_with_its_owner() -> None:
    assert 'load_dataset("toy-train", "qrels", split="train")' in dataset_card(card_inputs())
    release = toy.spec().release.model_copy(update={"organisation": "Maker"})
    card = dataset_card(card_inputs(spec=toy.spec().model_copy(update={"release": release})))
    assert 'load_dataset("Maker/toy-train", "qrels", split="train")' in card


def test_verdicts_without_a_grade_are_counted() -> None:
    inputs = card_inputs()
    verdicts = pl.concat(
        [
            inputs.figures["verdicts"],
            pl.DataFrame(
                [("parse_error", 7, 7, 0), ("truncated", 47, 45, 0)], inputs.figures["verdicts"].schema, orient="row"
            ),
        ]
    )
    counts = inputs.figures["counts"].with_columns(
        candidates=pl.col("candidates") + 54, requests=pl.col("requests") + 52
    )
    card = dataset_card(inputs._replace(figures={**inputs.figures, "verdicts": verdicts, "counts": counts}))
    assert (
        "294 pairs needed 292 requests, since pairs with equal texts share one. 240 requests gave the 240 judgments; 52 gave "
        "no grade (7 unparsed and 45 truncated; 18\u00a0%), so that 54 pairs are not published. All answers came by way of "
        "provider-a."
    ) in card


@pytest.mark.parametrize(
    ("figure", "column", "what"),
    [
        ("grades", "judgments", "judgments over levels and grades"),
        ("catalogs", "queries", "queries over catalogs"),
        ("catalogs", "positives", "relevant judgments over catalogs"),
        ("drops", "passages", "raw passages over their fates"),
        ("group_states", "groups", "sampled groups over their states"),
        ("verdicts", "pairs", "candidates over statuses"),
        ("verdicts", "requests", "requests over statuses"),
    ],
)
def test_figures_that_do_not_add_up_are_refused(figure: str, column: str, what: str) -> None:
    figures = dict(card_inputs().figures)
    assert_sums(figures)
    figures[figure] = figures[figure].with_columns(pl.col(column) + pl.int_range(pl.len()).eq(0).cast(pl.Int64))
    with pytest.raises(ExportInvariantError, match=what):
        assert_sums(figures)


def test_a_file_with_other_rows_than_the_figures_is_refused() -> None:
    with pytest.raises(ExportInvariantError, match=r"'corpus': \(79, 80\)"):
        dataset_card(card_inputs(configs=[CONFIGS[0]._replace(splits={"train": 79}), *CONFIGS[1:]]))


def test_only_a_sandbox_card_is_stamped() -> None:
    stamped = dataset_card(card_inputs(sandbox=True))
    assert "**Sandbox release.**" in stamped
    assert "sandbox" in front(stamped)["tags"]
    assert "andbox" not in dataset_card(card_inputs())


def test_licence_and_gating_carry_the_names() -> None:
    licence, gating = licence_text(toy.spec()), gating_text(toy.spec())
    assert licence.startswith("# Toy Open RAIL-D License\n\nVersion 1.0, for Toy-Train: judged passages.\n")
    assert gating.startswith(
        "Toy-Train: judged passages is released under the Toy Open RAIL-D License (see LICENSE.md)."
    )
    assert "{" not in licence + gating
    assert "\n" not in gating  # one paragraph: the hub shows it as it is


# What whoever asks for access has to know before, and where the licence says it: personal data, identities, decisions,
# the test collection, passing on, removals, the rights of others.
DUTIES = {
    "extracting personal data": "extract personal data",
    "re-identifying persons": "re-identify a person",
    "procurement decisions that no human answers for": "decisions about an award, a bidder or a person without a human",
    "disclose training on the test collection": "was trained on that test collection",
    "passed on to anyone who receives the data": "receives it under this licence, Attachment A included",
    "removed on request must be deleted from copies within 30 days": "Within 30 days of learning that a passage was",
    "remain the property of their authors": "remain the property of their authors",
}


@pytest.mark.parametrize("told", DUTIES)
def test_each_duty_stands_in_gating_text_and_licence(told: str) -> None:
    assert told in gating_text(toy.spec())
    assert DUTIES[told] in " ".join(licence_text(toy.spec()).split())


def test_card_and_licence_give_holders_the_same_time() -> None:
    one = Withdrawal("0.9.0", Path("0.9.0"), datetime(2026, 11, 30), ("p-1",), 3)
    card = dataset_card(card_inputs(withdrawn=(one,)))
    assert f"within {REMEDY_DAYS} days of learning of it" in card
    assert licence_text(toy.spec()).count(f"{REMEDY_DAYS} days") == 2
