"""A token-classification model with gheim's labels, run in this process and in batches; never fetched, never remote.

gheim's own detector runs one text after the other, and where a text is longer than the model's window it reads the overlap of
two windows twice and keeps both answers. Here all windows of all texts go through the model in batches of similar length,
and each token has one answer: that of the window in which it stands farther from an edge. So an entity at a border is
read whole, with at least half the overlap as context. The bias against "nothing here" is gheim's default, as are whole words.

A model is named by its id and a commit, or by a folder. A branch or tag moves, so an id without a commit counts as unpinned:
what is in the cache is used, its commit is part of the identity, and a warning says so.
"""

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tendril_assets.corpus.anonymize import Span
from tendril_assets.errors import DetectorModelError
from tendril_assets.hub_cache import cache_folder, cached_snapshot, fetch_command
from tendril_assets.spec_base import is_commit

CLASSIFIER_VERSION = "1"
CATEGORIES = (
    *("private_person", "private_email", "private_phone", "private_address", "private_url", "private_date"),
    *("account_number", "secret"),
)
LABELS = frozenset({"O", *(f"{position}-{category}" for position in "BIES" for category in CATEGORIES)})
# gheim's defaults: what is taken from the score of "O", and the window; the overlap is twice gheim's.
O_BIAS = 0.5
WINDOW, OVERLAP = 512, 64
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ModelSource:
    """``identity`` names the very weights; ``folder()`` is where they lie, looked up when called."""

    identity: str
    folder: Callable[[], Path]


def is_pinned(model: str, revision: str | None) -> bool:
    """True for a folder (its content is its identity) and for a full commit."""
    return Path(model).is_dir() or is_commit(revision)


def model_source(model: str, revision: str | None) -> ModelSource:
    """The source of a hub id or a local folder; nothing is fetched.

    Raises DetectorModelError for an unpinned id that is not in the cache.
    """
    if Path(model).is_dir():
        folder = Path(model)
        return ModelSource(f"{folder.name}@folder-{_digest(folder)}", lambda: _with_weights(folder, model))
    if is_pinned(model, revision):
        return ModelSource(f"{model}@{revision}", lambda: _cached(model, revision))
    folder = _cached(model, revision)
    logger.warning(
        "%s is not pinned (revision %s): the cached commit %s is used, and another machine may hold another one. Set "
        "anonymization.revision to that commit",
        *(model, revision, folder.name),
    )
    return ModelSource(f"{model}@unpinned-{folder.name}", lambda: folder)


def _cached(model: str, revision: str | None) -> Path:
    """The folder of a model in the hub's cache on this machine."""
    folder = cached_snapshot(model, revision)
    if folder is None:
        raise DetectorModelError(
            f"the model {model!r} (revision {revision or 'not given'}) is neither a folder nor in the hub's cache "
            f"{cache_folder()}. Nothing is fetched while masking: run `{fetch_command(model, revision)}` once, set HF_HOME "
            "to the cache that holds it, or set anonymization.model to a local folder"
        )
    return _with_weights(folder, model)


def _with_weights(folder: Path, model: str) -> Path:
    if not any((folder / name).is_file() for name in _WEIGHTS):
        raise DetectorModelError(
            f"{folder} holds no weights ({', '.join(_WEIGHTS[:2])} or their .bin form): the download of {model!r} was "
            f"not "
            f"finished; run `hf download {model}` again, or copy the whole folder"
        )
    return folder


def _digest(folder: Path) -> str:
    """First 16 hex digits over names and contents of a model's files: other weights in the same folder are another model."""
    total = hashlib.sha256()
    for path in sorted(
        p for p in folder.iterdir() if p.is_file() and p.suffix in (".json", ".safetensors", ".bin", ".model", ".txt")
    ):
        with path.open("rb") as file:
            total.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()[:16]


class TokenClassifier:
    """Finds spans in many texts at once. Weights load at the first call; ``batch`` windows go through the model together."""

    def __init__(self, source: ModelSource, batch: int = 16) -> None:
        self._source, self._batch = source, batch
        self._loaded: _Loaded | None = None

    @property
    def identity(self) -> str:
        return f"{self._source.identity}|classifier-{CLASSIFIER_VERSION}"

    def detect(self, texts: Sequence[str]) -> list[list[Span]]:
        """Spans of each text; labels are gheim's.

        Raises DetectorModelError where weights are missing or the model has other labels.
        """
        if self._loaded is None:
            self._loaded = _load(self._source.folder())
        model = self._loaded
        windows = list(model.windows(texts))
        by_length = sorted(windows, key=lambda w: len(w.ids))
        for at in range(0, len(by_length), self._batch):
            model.label(by_length[at : at + self._batch])
        tokens: list[list[_Token]] = [[] for _ in texts]
        for window in windows:
            tokens[window.text] += [t for t in window.tokens if window.low <= t.start < window.high]
        return [_whole_words(text, list(_entities(text, found))) for text, found in zip(texts, tokens, strict=True)]


@dataclass
class _Token:
    start: int
    end: int
    label: str = "O"


@dataclass
class _Window:
    """Token ids of a part of text number ``text``; its answers count for tokens that start in ``low`` to ``high``."""

    text: int
    ids: list[int]
    places: list[tuple[int, int]]
    low: float
    high: float
    tokens: list[_Token]


@dataclass
class _Loaded:
    model: Any
    tokenizer: Any
    device: str
    labels: dict[int, str]
    o_id: int
    window: int

    def windows(self, texts: Sequence[str]) -> Iterator[_Window]:
        which = [i for i, text in enumerate(texts) if text.strip()]
        if not which:
            return
        encoded = self.tokenizer(
            [texts[i] for i in which],
            truncation=True,
            max_length=self.window,
            stride=min(OVERLAP, self.window // 4),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        half = min(OVERLAP, self.window // 4) // 2
        last: _Window | None = None
        for ids, places, sample in zip(
            encoded["input_ids"], encoded["offset_mapping"], encoded["overflow_to_sample_mapping"], strict=True
        ):
            window = _Window(which[sample], ids, [(int(a), int(b)) for a, b in places], 0, float("inf"), [])
            if last is not None and last.text == window.text:
                real = [a for a, b in window.places if b > a]
                window.low = last.high = real[min(half, len(real) - 1)]
            if last is not None:
                yield last
            last = window
        if last is not None:
            yield last

    def label(self, windows: Sequence[_Window]) -> None:
        """One pass of the model; fills ``tokens`` of each window."""
        import torch

        longest = max(len(w.ids) for w in windows)
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([w.ids + [pad] * (longest - len(w.ids)) for w in windows], device=self.device)
        lengths = torch.tensor([[len(w.ids)] for w in windows], device=self.device)
        mask = (torch.arange(longest, device=self.device) < lengths).long()
        with torch.inference_mode():
            logits = self.model(input_ids=ids, attention_mask=mask).logits.float()
            logits[..., self.o_id] -= O_BIAS
        for window, best in zip(windows, logits.argmax(dim=-1).tolist(), strict=True):
            window.tokens = [
                _Token(start, end, self.labels[i])
                for (start, end), i in zip(window.places, best, strict=False)
                if end > start  # special tokens have no place
            ]


def _load(folder: Path) -> _Loaded:
    import torch
    from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer

    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    labels = {int(i): str(label) for i, label in config.id2label.items()}
    unknown, missing = sorted({*labels.values()} - LABELS), sorted(LABELS - {*labels.values()})
    if unknown or missing:
        raise DetectorModelError(
            f"{folder} is no model for this: it has {len(labels)} labels, unknown among them {unknown[:8]}, and lacks "
            f"{missing[:8]} of gheim's {len(LABELS)} (O and B-, I-, E-, S- of {', '.join(CATEGORIES)}). Name a model "
            f"with gheim's labels"
        )
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, use_fast=True)
    if tokenizer is None or not tokenizer.is_fast:
        raise DetectorModelError(
            f"{folder} has no fast tokenizer, and the places of its tokens cannot be told: add its tokenizer.json"
        )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = AutoModelForTokenClassification.from_pretrained(folder, local_files_only=True).to(device).eval()
    # RoBERTa's positions start behind that of the padding token.
    offset = (config.pad_token_id or 0) + 1 if "roberta" in config.model_type or config.model_type == "camembert" else 0
    limit = getattr(config, "max_position_embeddings", WINDOW + offset) - offset
    window = min(WINDOW, limit, tokenizer.model_max_length)
    o_id = next(i for i, label in labels.items() if label == "O")
    return _Loaded(model, tokenizer, device, labels, o_id, window)


def _entities(text: str, tokens: Sequence[_Token]) -> Iterator[Span]:
    """Runs of tokens of one category. A new one starts where the category changes, or where B or S follows a closed one in
    a new word: two persons side by side stay two, while a word cut into pieces stays one."""
    start, end, category, closed = 0, 0, "", False
    for token in tokens:
        position, _, of = token.label.partition("-")
        new_word = not text[end : token.start + 1].isalnum() if token.start >= end else False
        if of and of == category and not (closed and position in "BS" and new_word):
            end = token.end
        else:
            if category:
                yield Span(start, end, category)
            start, end, category = token.start, token.end, of
        closed = position in "ES"
    if category:
        yield Span(start, end, category)


def _whole_words(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans without blanks at their ends, widened to whole words, as gheim does it."""
    from gheim.detectors.base import Span as GheimSpan
    from gheim.detectors.base import snap_to_words, trim_span

    trimmed = [(span.label, ends) for span in spans if (ends := trim_span(text, span.start, span.end))]
    snapped = snap_to_words(text, [GheimSpan(label, start, end, text[start:end]) for label, (start, end) in trimmed])
    return [Span(span.start, span.end, span.label) for span in snapped]
