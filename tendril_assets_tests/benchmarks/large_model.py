"""A random model of a given shape, made on this machine: XLM-R with CLS pooling and a tokenizer trained on the spot."""

from dataclasses import dataclass
from pathlib import Path

from tendril_assets.spec import ModelSpec
from tendril_assets_tests.benchmarks.neardup import made_up

_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


@dataclass(frozen=True)
class Shape:
    """``words``: size of the tokenizer's vocabulary; the model's embeddings have ``vocabulary`` rows all the same."""

    layers: int
    width: int
    heads: int
    inner: int
    positions: int
    vocabulary: int
    words: int
    batch: int
    effective_batch: int
    matrix: int  # side of the matrices whose product gives the attained peak
    dropout: float = 0.1
    warm_up: int = 2
    timed_steps: int = 6
    check_steps: int = 20  # of the loss curves
    check_rows: int = 32  # of the gradients

    @property
    def max_length(self) -> int:
        return self.positions - 2  # the family's first two positions are not used

    @property
    def layer_parameters(self) -> int:
        """Of all layers, without embeddings: what multiplies each token."""
        attention = 4 * (self.width**2 + self.width)
        inner = 2 * self.width * self.inner + self.inner + self.width
        return self.layers * (attention + inner + 4 * self.width)

    @property
    def parameters(self) -> int:
        embeddings = (self.vocabulary + self.positions + 1 + 2) * self.width  # one token type; a layer norm
        pooler = self.width**2 + self.width
        return self.layer_parameters + embeddings + pooler


LARGE = Shape(24, 1024, 16, 4096, 8194, 250_002, 16_000, batch=1, effective_batch=32, matrix=8192)
# For checks that take many steps: large enough for bf16 to show, small enough for checkpoints in no time.
SMALL = Shape(4, 256, 4, 1024, 514, 16_000, 16_000, batch=1, effective_batch=8, matrix=1024, dropout=0.0)
TWIN = Shape(
    *(2, 32, 2, 64, 66, 600, 500),
    batch=1,
    effective_batch=2,
    matrix=128,
    dropout=0.0,
    warm_up=1,
    timed_steps=1,
    check_steps=3,
    check_rows=4,
)


def model_flops(shape: Shape, tokens: int) -> float:
    """Forward and backward of one text: tokens x (6 N + 12 L h tokens); see ``gpu_training``."""
    return tokens * (6.0 * shape.layer_parameters + 12.0 * shape.layers * shape.width * tokens)


def base_folder(folder: Path, shape: Shape) -> Path:
    """Write the model below ``folder`` and return where: a Sentence Transformers folder with safetensors."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaModel

    saved = folder / f"base-{shape.layers}x{shape.width}"
    if saved.exists():
        return saved
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=shape.words, special_tokens=list(_SPECIAL), unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(made_up(min(2_000, 2 * shape.words))["text"].to_list(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        model_max_length=shape.max_length,
    )
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.inner,
        max_position_embeddings=shape.positions,
        type_vocab_size=1,
        hidden_dropout_prob=shape.dropout,
        attention_probs_dropout_prob=shape.dropout,
    )
    raw = folder / f"raw-{shape.layers}x{shape.width}"
    XLMRobertaModel(config).save_pretrained(raw)
    fast.save_pretrained(raw)
    model = SentenceTransformer(modules=[Transformer(str(raw)), Pooling(shape.width, "cls"), Normalize()], device="cpu")
    model.save_pretrained(str(saved), create_model_card=False)
    return saved


def model_spec(base: Path, shape: Shape, **changes: object) -> ModelSpec:
    """As the registry has the published model of this family: CLS pooling, a prompt for queries alone."""
    fields = {"base": str(base), "pooling": "cls", "query_prompt": "query: ", "dimensions": shape.width}
    fields |= {"max_length": shape.max_length, "batch": shape.batch, "licence": "Apache-2.0"}
    return ModelSpec.model_validate(fields | changes)
