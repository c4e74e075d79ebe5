"""A toy world for training tests: a tiny random encoder and exchange frames with something to learn."""

from pathlib import Path

import polars as pl

from tendril_assets.spec import ModelSpec, TrainingSpec
from tendril_assets.training.events import Report
from tendril_assets.training.examples import ExchangeSet
from tendril_assets.training.job import TrainingJob

SUBSETS = ("area", "criterion")
DIMENSIONS = 16
_WORDS = [f"w{number}" for number in range(40)]
_TOPICS = 8


def said(lines: list[str]) -> Report:
    """A report that keeps what would be printed."""
    return lambda event: lines.append(str(event))


def tiny_encoder(folder: Path, *, layers: int = 1, dropout: float = 0.1) -> Path:
    """A Sentence Transformers folder with a random one-layer BERT over a 40-word vocabulary."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    raw = folder / "raw"
    raw.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", "passage", ":", *_WORDS]
    (raw / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = BertTokenizerFast(str(raw / "vocab.txt"))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=DIMENSIONS,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    BertModel(config).save_pretrained(raw)
    tokenizer.save_pretrained(raw)
    transformer = Transformer(str(raw))
    model = SentenceTransformer(modules=[transformer, Pooling(DIMENSIONS, "mean")], device="cpu")
    model.save_pretrained(str(folder / "encoder"), create_model_card=False)
    return folder / "encoder"


def toy_exchange(examples: int = 44) -> ExchangeSet:
    """Query ``w<t> w<t+8>`` wants passages with ``w<t+16>``: no word in common, so a random encoder must learn it."""

    def passage(topic: int, variant: int) -> str:
        return f"w{16 + topic} w{24 + variant % 8} w{32 + (topic + variant) % 8}"

    def query(topic: int) -> str:
        return f"w{topic} w{topic + 8}"

    train = [
        {
            "example": number,
            "level": SUBSETS[number % 2],
            "query_id": f"q{number % _TOPICS}",
            "positive_id": f"p{number}",
            "query": query(number % _TOPICS),
            "positive": passage(number % _TOPICS, number),
            **{
                f"negative_{k}": passage((number + k + number // _TOPICS) % _TOPICS, number + k)
                if (k + number // _TOPICS) % _TOPICS
                else passage((number + 4) % _TOPICS, number + k)
                for k in (1, 2, 3)
            },
        }
        for number in range(examples)
    ]
    corpus, queries, qrels = [], [], []
    for topic in range(_TOPICS):
        queries.append((f"q{topic}", SUBSETS[topic % 2], query(topic)))
    for group in ("g1", "g2"):
        for topic in range(_TOPICS):
            for variant in (3, 4):
                corpus.append((f"{group}-p{topic}-{variant}", group, passage(topic, variant)))
        qrels += [
            (f"q{topic}", passage_id, group, 2 if f"-p{topic}-" in passage_id else 0)
            for topic in range(_TOPICS)
            for passage_id, owner, _ in corpus
            if owner == group
        ]
    return ExchangeSet(
        train=pl.DataFrame(train, schema_overrides={"example": pl.UInt32}),
        corpus=pl.DataFrame(corpus, schema=["passage_id", "group_id", "text"], orient="row"),
        queries=pl.DataFrame(queries, schema=["query_id", "level", "text"], orient="row"),
        qrels=pl.DataFrame(qrels, schema=["query_id", "passage_id", "group_id", "score"], orient="row"),
    )


def toy_job(folder: Path, encoder: Path, exchange: ExchangeSet | None = None, **changes: object) -> TrainingJob:
    """A job with its exchange files written under ``folder``; ``changes`` go to the recipe."""
    files = {}
    for name, frame in (exchange or toy_exchange())._asdict().items():
        files[name] = folder / "exchange" / f"{name}.parquet"
        files[name].parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(files[name])
    recipe = TrainingSpec.model_validate(
        {"learning_rate": 5e-3, "effective_batch": 8, "max_epochs": 2, "evaluate_every": 4} | changes
    )
    spec = ModelSpec(
        base=str(encoder),
        query_prompt="query: ",
        document_prompt="passage: ",
        dimensions=DIMENSIONS,
        max_length=32,
        batch=4,
        licence="MIT",
    )
    return TrainingJob("tiny", folder / "models" / "tiny", files, recipe, spec, SUBSETS, seed=42)
