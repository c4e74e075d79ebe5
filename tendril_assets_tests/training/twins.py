"""Tiny random models of the published models' families, saved as those are, and their entries for a specification.

``snowflake``: XLM-R, CLS pooling, normalised, a prompt for queries alone; its folder has the module names and the pooling
file of sentence-transformers 3, as the published base has. ``most``: a decoder that reads in both directions (Ministral 3
with ``is_causal: false``, which Transformers supports without code of its own), mean pooling, two prompts. ``coded``: a
decoder of a type nobody knows, with the code that defines it in its folder.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from tendril_assets.spec import ModelSpec

WIDTH = 16
LENGTH = 48
COMMIT = "0123456789abcdef0123456789abcdef01234567"
_WORDS = [f"w{number}" for number in range(40)]
_SENTENCES = [" ".join(_WORDS[start : start + 5]) for start in range(0, 40, 3)] * 4
_SENTENCES += ["query: w1 w2", "passage: w3 w4"] * 8

_CODE = """
import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput


class TwoWayConfig(PretrainedConfig):
    model_type = "two_way_twin"

    def __init__(self, vocab_size=8, hidden_size=8, **kwargs):
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        super().__init__(**kwargs)


class TwoWayModel(PreTrainedModel):
    config_class = TwoWayConfig

    def __init__(self, config):
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.mix = nn.Linear(config.hidden_size, config.hidden_size)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, **_):
        tokens = self.embed(input_ids)
        mask = attention_mask.unsqueeze(-1).to(tokens.dtype)
        context = (tokens * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
        return BaseModelOutput(last_hidden_state=tokens + torch.tanh(self.mix(context)))
"""


def snowflake(folder: Path) -> Path:
    """A Sentence Transformers folder as the published base is saved; 50 rows of positions serve 48 tokens."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import XLMRobertaConfig, XLMRobertaModel

    tokenizer = _tokenizer(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], unknown="<unk>", around="<s> $A </s>")
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=LENGTH + 2,
        type_vocab_size=1,
        initializer_range=0.2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    raw = folder / "raw"
    XLMRobertaModel(config).save_pretrained(raw)
    tokenizer.save_pretrained(raw)
    saved = folder / "snowflake"
    model = SentenceTransformer(modules=[Transformer(str(raw)), Pooling(WIDTH, "cls"), Normalize()], device="cpu")
    model.save_pretrained(str(saved), create_model_card=False)
    kinds = ("Transformer", "Pooling", "Normalize")
    paths = ("", "1_Pooling", "2_Normalize")
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    (saved / "modules.json").write_text(json.dumps(modules))
    pooling = {"word_embedding_dimension": WIDTH, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (saved / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (saved / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": LENGTH, "do_lower_case": False}))
    prompts = {"prompts": {"query": "query: "}, "default_prompt_name": None, "similarity_fn_name": "cosine"}
    (saved / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return saved


def most(folder: Path, *, is_causal: bool = False) -> Path:
    """A plain transformer folder, without modules of sentence-transformers."""
    import torch
    from transformers import Ministral3Config, Ministral3Model

    tokenizer = _tokenizer(["<unk>", "<s>", "</s>", "<pad>"], unknown="<unk>", around="<s> $A")
    torch.manual_seed(0)
    config = Ministral3Config(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=LENGTH,
        pad_token_id=3,
        is_causal=is_causal,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 10_000.0,
            "factor": 3.0,
            "original_max_position_embeddings": LENGTH // 3,
            "llama_4_scaling_beta": 0.1,
        },
    )
    saved = folder / ("causal" if is_causal else "most")
    Ministral3Model(config).save_pretrained(saved)
    tokenizer.save_pretrained(saved)
    return saved


def coded(folder: Path) -> Path:
    """A plain transformer folder whose ``auto_map`` names the Python file beside the weights."""
    import torch
    from safetensors.torch import save_file

    tokenizer = _tokenizer(["<unk>", "<s>", "</s>", "<pad>"], unknown="<unk>", around="<s> $A")
    saved = folder / "coded"
    tokenizer.save_pretrained(saved)
    (saved / "modeling_two_way.py").write_text(_CODE)
    config = {
        "model_type": "two_way_twin",
        "architectures": ["TwoWayModel"],
        "auto_map": {"AutoConfig": "modeling_two_way.TwoWayConfig", "AutoModel": "modeling_two_way.TwoWayModel"},
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 3,
    }
    (saved / "config.json").write_text(json.dumps(config))
    torch.manual_seed(0)
    mix = torch.nn.Linear(WIDTH, WIDTH)
    weights = {"embed.weight": torch.randn(len(tokenizer), WIDTH), "mix.weight": mix.weight, "mix.bias": mix.bias}
    save_file(
        {k: v.detach().clone() for k, v in weights.items()}, saved / "model.safetensors", metadata={"format": "pt"}
    )
    return saved


def twin_spec(base: Path, **changes: object) -> ModelSpec:
    """What the registry says of the published model, at the twin's size."""
    return ModelSpec.model_validate(
        {"base": str(base), "dimensions": WIDTH, "max_length": LENGTH, "batch": 4, "licence": "MIT"} | changes
    )


def snowflake_spec(base: Path, **changes: object) -> ModelSpec:
    return twin_spec(base, **({"pooling": "cls", "query_prompt": "query: "} | changes))


def most_spec(base: Path, **changes: object) -> ModelSpec:
    return twin_spec(base, **({"query_prompt": "query: ", "document_prompt": "passage: "} | changes))


def in_shards(base: Path, target: Path) -> Path:
    """A copy of a model folder with its weights in two shards and an index, as large models are published."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(base, target)
    weights = load_file(target / "model.safetensors")
    (target / "model.safetensors").unlink()
    names = sorted(weights)
    halves = {1: names[: len(names) // 2], 2: names[len(names) // 2 :]}
    weight_map = {name: f"model-{n:05}-of-00002.safetensors" for n, part in halves.items() for name in part}
    for file in set(weight_map.values()):
        part = {name: weights[name] for name, where in weight_map.items() if where == file}
        save_file(part, target / file, metadata={"format": "pt"})
    (target / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return target


def _tokenizer(special: Sequence[str], *, unknown: str, around: str):
    """A fast tokenizer trained on the toy's words; ``around`` is the template of one text.

    Byte-pair merges: they come out the same in every process, which a trained unigram vocabulary does not.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE(unk_token=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=160, special_tokens=list(special), show_progress=False)
    tokenizer.train_from_iterator(_SENTENCES, trainer)
    numbers = [(token, tokenizer.token_to_id(token)) for token in special if token in around]
    tokenizer.post_processor = processors.TemplateProcessing(single=around, special_tokens=numbers)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        unk_token=unknown,
        pad_token="<pad>",
        padding_side="right",
        model_max_length=LENGTH,
    )
