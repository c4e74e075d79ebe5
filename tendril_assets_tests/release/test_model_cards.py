"""Model cards say what tables, specification and folder hold, or refuse."""

import ast
import json
import re
from pathlib import Path

import polars as pl
import pytest
from huggingface_hub import ModelCard

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release import (
    citations,
    model_cards,
    model_front,
    model_licence,
    model_results,
    model_training,
    verdict,
)
from tendril_assets.release.model_cards import model_card
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy
from tendril_assets_tests.release.toy_models import described, folder, front, inputs, published, weights_folder

# Words with a digit that are no figures.
NAMES = {"L2-normalised", "bf16", "SHA-256", "utf-8"}
TEMPLATES = (model_cards, model_front, model_licence, model_results, model_training, verdict)


def test_no_figure_is_typed() -> None:
    """No digit in the text of a string of the modules that write the card, docstrings and formats left out."""
    typed = []
    for module in TEMPLATES:
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        holders = (ast.Module, ast.FunctionDef, ast.ClassDef)
        left_out = {id(n.body[0].value) for n in ast.walk(tree) if isinstance(n, holders) and ast.get_docstring(n)}
        for node in ast.walk(tree):
            if isinstance(node, ast.FormattedValue) and node.format_spec:
                left_out |= {id(part) for part in ast.walk(node.format_spec)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
                text = node.value
                for name in NAMES:
                    text = text.replace(name, "")
                typed += [f"{module.__name__}:{node.lineno} {text!r}"] if re.search(r"\d", text) else []
    assert typed == []


def test_card_of_a_published_model(tmp_path: Path) -> None:
    card = model_card("mini", inputs(spec=published()), folder(tmp_path))
    for line in (
        "# Toy mini",
        "A fine-tuned version of `mini_weights` for finding toys. Queries are wishes.",
        'model = SentenceTransformer("Maker/Toy-mini")',
        'queries = model.encode_query(["ein \\"Würfel\\""])',
        'passages = model.encode_document(["Der Würfel ist aus Holz."])',
        "`encode_query` adds the prompt `query: `; documents get no prompt. Embeddings use mean pooling, are L2-normalised and "
        "have 384 dimensions, and inputs are cut at 256 tokens. The model has 22,713,216 parameters.",
        # 33 groups, 198 pairs, 12 left out: the toy's system_scores.
        "Test collection: `Maker/Toy` (declared revision `15eef0bc`), 33 projects, 198 pairs of query and project with a "
        "relevant passage; 12 without one left out (hash of what is ranked `eeeeeeeeeeeeeeee`). Each query ranks the "
        "passages of its own project. "
        "Scores are macro means over projects; 95 % intervals come from 10,000 bootstrap resamples of projects.",
        "| Model | nDCG@10 | Recall@10 | Recall@100 | MRR@10 | P@10 |",
        # P@10's p is 0.12, that of the other four 0.0004.
        "Against the base model: +0.095 nDCG@10 [+0.065, +0.130] in a two-sided paired bootstrap over projects. After Holm's "
        "correction (over one fine-tuned model, so it changes nothing), the gain is significant for all reported measures but "
        "P@10 (p < 0.001).",
        "| BM25 | All levels | P@10 | +0.221 [+0.101, +0.256] | 0.120 |",
        "On the held-out validation projects (63 for area of action and 62 for criterion), balanced nDCG@10 (the mean over "
        "area of action and criterion, each a macro mean over projects) went from 0.620 (base) to 0.823.",
        # 11 + 10 used; 6 more were available and taken out for balance.
        "| Used | 11 | 10 | 21 |",
        "| Left out to balance the levels | 0 | 6 | 6 |",
        "The run went to its end, 224 steps. The model was evaluated every 56 steps, and the weights with the best balanced "
        "validation nDCG@10 (step 168) were kept.",
        "- **Inputs cut.** Of the different inputs of training and validation, 0 of 8 queries and 3 of 76 passages are longer "
        "than 256 tokens and were cut.",
        "- **Hardware.** CPU (x86_64), fp32 (bf16 was asked for and is not supported there); 8.5 minutes.",
        "- **Software.** python 3.11.7, sentence-transformers 6.0.1 and torch 2.13.0.",
        "Cohen's κ 0.48-0.53 on the 0/1/2 scale (area of action 0.48 [0.38, 0.57] and criterion 0.53 [0.43, 0.62]).",
        "[Apache License 2.0 (Apache-2.0)](https://www.apache.org/licenses/LICENSE-2.0), the same as the base model.",
        "@misc{maker2026toy,",
        "  author = {Maker, Ann and Doe, Bea},",
    ):
        assert line in card, line
    data = next(line for line in card.splitlines() if line.startswith("- **Data.**"))
    assert f"Maker/toy-train, version 1.0.0 (SHA-256 of the examples and validation texts: `{toy.DATA_HASH}`)" in data
    assert "relevant (2) and 3 hard negatives it rated irrelevant (0)" in data
    assert "2 from the positive's document and 1 from others of the project" in data
    assert "21 of 27 available examples were used (11 for area of action and 10 for criterion)" in data
    recipe = next(line for line in card.splitlines() if line.startswith("- **Hyperparameters.**"))
    assert "Learning rate 1e-5 with linear decay and 10\u00a0% warm-up, AdamW with no weight decay" in recipe
    assert "effective batch size 32 (2 × 16 gradient accumulation), at most 2 epochs, fp32" in recipe
    assert "maximum sequence length 256, seed 42" in recipe
    assert "Non-commercial" not in card
    assert "andbox" not in card


def test_scores_stand_with_their_intervals_overall_and_per_level(tmp_path: Path) -> None:
    given = inputs()
    card = model_card("mini", given, folder(tmp_path))
    assert card.count("| **toy-train mini** |") == 3  # all, area of action, criterion
    for level in ("all", "area_of_action", "criterion"):
        r = given.scores.filter(
            (pl.col("system") == "mini_base") & (pl.col("level") == level) & (pl.col("measure") == "ndcg@10")
        ).row(0, named=True)
        assert f"| mini_weights (base) | {r['value']:.3f} [{r['low']:.3f}, {r['high']:.3f}] |" in card


def test_front_matter_is_what_the_hub_reads(tmp_path: Path) -> None:
    made = described(
        {"base": "maker/base-model", "revision": "a" * 40},
        {"base": "maker/base-model", "revision": "a" * 40, "base_weights": f"maker/base-model@{'a' * 40}"},
    )
    spec = published(models={"mini": made.spec.models["mini"].model_dump(mode="json")})
    scores = made.scores.with_columns(
        weights=pl.when(pl.col("system") == "mini_base")
        .then(pl.lit(f"maker/base-model@{'a' * 40}"))
        .otherwise("weights")
    )
    card = model_card("mini", made._replace(spec=spec, scores=scores), folder(tmp_path))
    parsed = ModelCard(card).data  # raises where the model index cannot be read
    body = front(card)
    assert (parsed.library_name, parsed.pipeline_tag, parsed.language) == (
        "sentence-transformers",
        "sentence-similarity",
        ["de"],
    )
    assert (body["base_model"], body["base_model_relation"], body["license"]) == (
        "maker/base-model",
        "finetune",
        "apache-2.0",
    )
    assert (body["datasets"], parsed.model_name) == (["Maker/toy-train"], "Toy-mini")
    assert "license_name" not in body
    results = {(r.metric_type, r.metric_args["level"]): r for r in parsed.eval_results}
    assert len(results) == 15  # five measures (judged@10 is none) at three levels
    value = scores.filter(
        (pl.col("system") == "mini_tuned") & (pl.col("level") == "all") & (pl.col("measure") == "ndcg@10")
    )
    one = results["ndcg_at_10", "all"]
    assert one.metric_value == pytest.approx(value["value"].item(), abs=1e-6)
    assert (one.dataset_type, one.dataset_revision, one.task_type) == ("Maker/Toy", "15eef0bc", "information-retrieval")
    assert "[maker/base-model](https://huggingface.co/maker/base-model) (revision `aaaa" in card


LICENCES = {
    "apache": ("Apache-2.0", {"license": "apache-2.0"}, "Commercial use is allowed."),
    "nc": ("CC-BY-NC-4.0", {"license": "cc-by-nc-4.0"}, "Non-commercial use only."),
    "unknown to the hub": (
        "OpenMDW-1.1",
        {
            "license": "other",
            "license_name": "openmdw-1.1",
            "license_link": "https://raw.githubusercontent.com/OpenMDW/OpenMDW/refs/heads/main/1.1/LICENSE.OpenMDW-1.1",
        },
        "Commercial use is allowed.",
    ),
    "own": (
        {
            "id": "other",
            "name": "House Licence",
            "url": "https://example.org/licence",
            "commercial": False,
            "same_licence": True,
            "notice": False,
            "text": "none",
            "changes": False,
        },
        {"license": "other", "license_name": "house-licence", "license_link": "https://example.org/licence"},
        "What is derived from it must carry the same or a compatible licence.",
    ),
}


@pytest.mark.parametrize("kind", LICENCES)
def test_a_card_for_each_kind_of_licence(kind: str, tmp_path: Path) -> None:
    licence, expected, consequence = LICENCES[kind]
    upstream = [{"name": "Deep-Base", "licence": "OpenMDW-1.1", "url": "https://example.org/deep"}]
    made = described({"licence": licence, "upstream": upstream})
    card = model_card("mini", made, folder(tmp_path))
    body = front(card)
    assert {k: v for k, v in body.items() if k.startswith("license")} == expected
    section = card.partition("## Licence\n\n")[2].partition("\n\n")[0]
    assert consequence in section
    assert "[Deep-Base](https://example.org/deep) is licensed under OpenMDW License v1.1 (OpenMDW-1.1)." in section
    assert "Changed: the weights were fine-tuned on toy-train, version 1.0.0." in section
    # Only the text of Apache 2.0 ships; of those without, OpenMDW alone asks for the text itself.
    where = {
        "apache": "`LICENSE` holds the licence's text;",
        "unknown to the hub": "`LICENSE` names the licence without its text, which must be put there before",
    }
    assert where.get(kind, "`LICENSE` names the licence and where its text is;") in section
    banner = "> **Non-commercial use only.** The base model is licensed under"
    assert (banner in card) == (not made.spec.models["mini"].licence.commercial)


def test_a_sandbox_card_is_stamped_and_names_nothing_published(tmp_path: Path) -> None:
    card = model_card("mini", inputs(spec=published(), sandbox=True), folder(tmp_path))
    assert "> **Sandbox model.**" in card
    assert "sandbox" in front(card)["tags"]
    assert "datasets" not in front(card)
    assert "Maker/Toy`" not in card
    assert "Test collection: the external test collection" in card


def test_a_model_that_gained_nothing_says_so(tmp_path: Path) -> None:
    row = toy.trained_model(best_step=0, best_value=0.62)
    card = model_card("mini", inputs(trained=TABLES["trained_models"].frame([row])), folder(tmp_path))
    assert "No step of the fine-tuning ranked the validation groups better than the base" in card
    assert "macro mean over projects) is 0.620, as of the base." in card
    assert "(those before the first step) were kept" in card


def test_early_stop_processes_and_checkpointing_are_told(tmp_path: Path) -> None:
    row = {"stop_reason": "early_stop", "processes": 4, "precision": "bf16", "device": "Accelerator 9000"}
    made = described(
        {"gradient_checkpointing": True, "processes": 4},
        row,
        training={"early_stop": {"patience": 3}, "max_examples_per_level": 4500, "weight_decay": 0.01},
    )
    card = model_card("mini", made, folder(tmp_path))
    assert "effective batch size 32 (2 × 4 gradient accumulation × 4 processes)" in card
    assert "stopping early after 3 evaluations in a row without a gain above 0" in card
    assert "The run ended before that, by early stopping, after 224 steps." in card
    assert "AdamW with weight decay 0.01" in card
    assert "Levels were balanced and held to 4,500 each" in card
    assert "- **Hardware.** 4 × Accelerator 9000, bf16, with gradient checkpointing; 8.5 minutes." in card


def test_only_narrower_widths_are_named_as_cuts(tmp_path: Path) -> None:
    made = described({"matryoshka": [64, 128, 384], "pooling": "cls", "document_prompt": "Passage:\n"})
    kept = folder(tmp_path, pooling="cls", prompts={"query": "query: ", "document": "Passage:\n"})
    card = model_card("mini", made, kept)
    assert "use CLS pooling, are L2-normalised and have 384 dimensions" in card
    assert "Cutting embeddings to 128 or 64 dimensions (Matryoshka) was supported by the base model" in card
    assert "`encode_document` adds `Passage:\\n`" in card
    none = model_card("mini", described({"matryoshka": [384]}), folder(tmp_path))
    assert "Matryoshka" not in none


def test_before_evaluation_the_card_says_so(tmp_path: Path) -> None:
    given = inputs()
    card = model_card(
        "mini", given._replace(scores=given.scores.clear(), comparisons=given.comparisons.clear()), folder(tmp_path)
    )
    assert "has not been evaluated on the test collection yet" in card
    assert "model-index" not in front(card)


def test_without_a_measured_judge_the_card_says_so(tmp_path: Path) -> None:
    card = model_card("mini", inputs(agreement=inputs().agreement.clear()), folder(tmp_path))
    assert "an LLM judge that was not measured against human annotators" in card


def one_group(given):
    scores = given.scores.with_columns(
        low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64), groups=pl.lit(1, pl.Int32)
    )
    none = {name: pl.lit(None, pl.Float64) for name in ("low", "high", "p", "p_holm")}
    return given._replace(scores=scores, comparisons=given.comparisons.with_columns(**none))


def test_one_group_gives_no_interval_and_no_test(tmp_path: Path) -> None:
    card = model_card("mini", one_group(inputs()), folder(tmp_path))
    assert "With one project there are no intervals." in card
    assert "nothing can be said: with one group there is no test." in card


def trained(**changes):
    return inputs(trained=TABLES["trained_models"].frame([toy.trained_model(**changes)]))


def other_scores(system: str, weights: str):
    given = inputs()
    name = pl.when(pl.col("system") == system).then(pl.lit(weights)).otherwise("weights").alias("weights")
    return given._replace(scores=given.scores.with_columns(name))


CONTRADICTIONS = {
    "trained on 20 examples, training_examples now marks 21": lambda: trained(examples=20),
    "trained on data ffffffffffffffff, the hand-over files are now dddddddddddddddd": lambda: trained(
        data_hash="f" * 64
    ),
    "the scores of mini_tuned are of the weights cccc": lambda: other_scores("mini_tuned", "cccc"),
    "training kept 0000000000000000": lambda: trained(weights_sha256="0" * 64),
    "truncated_inputs is 4, truncated_queries and truncated_documents are together 3": lambda: trained(
        truncated_inputs=4
    ),
    "validated on": lambda: trained(validation=json.dumps({"area_of_action": {"groups": 1, "queries": 1}})),
    "trained with training.learning_rate 1e-05, the specification now says 2e-05": lambda: inputs(
        spec=toy.spec(training={"learning_rate": 2e-5})
    ),
    "trained with seed 42, the specification now says 7": lambda: inputs(spec=toy.spec(seed=7)),
    "trained with models.mini.query_prompt 'query: ', the specification now says ''": lambda: inputs(
        spec=toy.spec(models={"mini": toy.spec().models["mini"].model_dump() | {"query_prompt": ""}})
    ),
}


@pytest.mark.parametrize("said", CONTRADICTIONS)
def test_contradictions_are_refused_by_name(said: str, tmp_path: Path) -> None:
    with pytest.raises(ExportInvariantError, match=re.escape(said)):
        model_card("mini", CONTRADICTIONS[said](), folder(tmp_path))


def test_scores_of_another_base_are_refused(tmp_path: Path) -> None:
    commit = "a" * 40
    row = {"base": "maker/model", "revision": commit, "base_weights": f"maker/model@{commit}"}
    made = described({"base": "maker/model", "revision": commit}, row)
    with pytest.raises(ExportInvariantError, match=f"not of maker/model@{commit}"):
        model_card("mini", made, folder(tmp_path))
    # Of a folder or package too.
    with pytest.raises(
        ExportInvariantError, match=f"the scores of mini_base are of the weights {'b' * 64}, not of {'c' * 64}"
    ):
        model_card("mini", trained(base_weights="c" * 64), folder(tmp_path))


def test_whoever_pins_the_commit_that_was_loaded_changes_nothing(tmp_path: Path) -> None:
    commit = "a" * 40
    row = {"base": "maker/model", "revision": commit, "base_weights": f"maker/model@unpinned-{commit}"}
    made = described({"base": "maker/model"}, row)
    scores = made.scores.with_columns(
        weights=pl.when(pl.col("system") == "mini_base").then(pl.lit(f"maker/model@{commit}")).otherwise("weights")
    )
    entry = made.spec.models["mini"].model_dump(mode="json")
    for revision in (None, commit):
        given = made._replace(scores=scores, spec=toy.spec(models={"mini": entry | {"revision": revision}}))
        assert f"(revision `{commit}`)" in model_card("mini", given, folder(tmp_path))
    moved = made._replace(scores=scores, spec=toy.spec(models={"mini": entry | {"revision": "b" * 40}}))
    with pytest.raises(ExportInvariantError, match=r"models.mini.revision None, the specification now says 'bbbb"):
        model_card("mini", moved, folder(tmp_path))


FOLDERS = {
    "has query prompt ''": {"prompts": {}},
    "has pooling 'cls'": {"pooling": "cls"},
    "has maximum length 512": {"length": 512},
    "gives 64 dimensions, it was trained with 384": {"width": 64},
    "gives 1,024 dimensions, it was trained with 384": {"width": 1024},
    "does not end by bringing embeddings to length 1": {"kinds": {"": "Transformer", "1_Pooling": "Pooling"}},
}


@pytest.mark.parametrize("said", FOLDERS)
def test_a_folder_that_describes_itself_otherwise_is_refused(said: str, tmp_path: Path) -> None:
    with pytest.raises(ExportInvariantError, match=re.escape(said)):
        model_card("mini", inputs(), folder(tmp_path, **FOLDERS[said]))


@pytest.mark.parametrize("missing", ["model.safetensors", "modules.json", "tokenizer_config.json"])
def test_a_folder_that_is_not_whole_is_refused(missing: str, tmp_path: Path) -> None:
    (weights_folder(tmp_path) / missing).unlink()
    with pytest.raises(ExportInvariantError, match="materialise the model's asset again"):
        folder_read(tmp_path)


def folder_read(place: Path):
    from tendril_assets.release.weights import read_weights_folder

    return read_weights_folder(place)


def test_a_citation_is_made_where_none_is_given() -> None:
    assert (
        citations.bibtex(toy.spec())
        == "@misc{toytrain,\n  title = {Toy-Train: judged passages},\n  note  = {Version 1.0.0}\n}"
    )
    own = published().release.model_copy(update={"citation": None, "title": "Toys & more, 100 %"})
    said = citations.bibtex(toy.spec().model_copy(update={"release": own}))
    assert "title  = {Toys \\& more, 100 \\%}" in said
    assert "author = {{Maker}}" in said
    assert "url    = {https://huggingface.co/datasets/Maker/toy-train}" in said
