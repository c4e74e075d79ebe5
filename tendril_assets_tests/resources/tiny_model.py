"""A token classifier with gheim's labels, small enough to be trained in a test: it knows eight given and eight last names
that no rule knows, cut into pieces or not, and one kind of home address."""

import random
from pathlib import Path

GIVEN = ("qorvex", "zulm", "brannik", "ylth", "pexo", "drumm", "fesk", "halgo")
LAST = ("tirram", "vonk", "ashdel", "morrit", "quell", "sandrik", "ubler", "wexon")
PLACES = ("nordhof", "westrain")
WORDS = (
    *("die", "der", "und", "mit", "prüft", "leitet", "bau", "plan", "beton", "los"),
    *("termin", "offerte", "amt", "für", "von", "ist", "wird", "das", "holz", "arbeit"),
)
POSITIONS = 66


def build_tiny_model(folder: Path, labels: list[str] | None = None) -> Path:
    """Train for some seconds and save to ``folder``; ``labels`` other than gheim's leave it untrained."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForTokenClassification, PreTrainedTokenizerFast

    from tendril_assets.resources.token_classifier import LABELS

    torch.manual_seed(7)
    torch.set_num_threads(1)
    names = [n.title() for n in (*GIVEN, *LAST)]
    # "Sandrik" is two tokens, "Wexon" three: pieces of one word
    pieces = ["Sand", "##rik", "We", "##xo", "##n"]
    whole = [n for n in names if n not in ("Sandrik", "Wexon")]
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        *WORDS,
        *whole,
        *pieces,
        *(p.title() for p in PLACES),
        ".",
        ",",
        "<",
        ">",
        "7",
    ]
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    fast.save_pretrained(folder)
    ordered = sorted(LABELS) if labels is None else labels
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=POSITIONS,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(ordered)),
        label2id={label: i for i, label in enumerate(ordered)},
    )
    model = BertForTokenClassification(config)
    if labels is None:
        _train(model, fast, {label: i for i, label in enumerate(ordered)})
    model.save_pretrained(folder)
    return folder


def _train(model, tokenizer, ids: dict[str, int]) -> None:
    import torch

    draw = random.Random(3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(160):
        texts, spans = zip(*(_sentence(draw) for _ in range(16)), strict=True)
        encoded = tokenizer(list(texts), return_offsets_mapping=True, padding=True, return_tensors="pt")
        gold = torch.full(encoded["input_ids"].shape, -100)
        for i, places in enumerate(encoded["offset_mapping"].tolist()):
            inside = [(t, s, e) for t, (s, e) in enumerate(places) if e > s]
            for t, _, _ in inside:
                gold[i, t] = ids["O"]
            for start, end, category in spans[i]:
                tokens = [t for t, s, e in inside if start <= s and e <= end]
                marks = ["S"] if len(tokens) == 1 else ["B", *"I" * (len(tokens) - 2), "E"]
                for t, mark in zip(tokens, marks, strict=True):
                    gold[i, t] = ids[f"{mark}-{category}"]
        logits = model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), gold.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()


def _sentence(draw: random.Random) -> tuple[str, list[tuple[int, int, str]]]:
    """Words with zero to three entities among them, at any place of the window."""
    text, spans = "", []
    entities = draw.randint(0, 3)
    for part in range(entities + 1):
        text += " ".join(draw.choices(WORDS, k=draw.randint(1, 8))) + " "
        if part < entities:
            if draw.random() < 0.8:
                entity, category = f"{draw.choice(GIVEN).title()} {draw.choice(LAST).title()}", "private_person"
            else:
                entity, category = f"{draw.choice(PLACES).title()} 7", "private_address"
            spans.append((len(text), len(text) + len(entity), category))
            text += entity + draw.choice([" ", " , "])
    return text, spans
