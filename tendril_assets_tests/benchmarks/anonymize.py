"""Masking of personal data: how much is found, what is masked needlessly, and how fast.

``python -m tendril_assets_tests.benchmarks.anonymize [--size small|published] [--labelled FILE] [--model M]``

FILE holds one sentence a line: ``id``, ``language``, ``text``, ``entities`` (``text``, ``label``, ``start`` in the text as
it is written) and ``trap`` (what must stay, or null). Each sentence is a document of its own. Recall and precision count
characters other than blanks: of what is personal, the share masked under the right tag; of what is masked, the share that
is personal and of that tag. ``exact`` counts whole entities with both ends and the tag right. The same figures are given
for gheim's checksum rules alone, which are the baseline of the speed too. Speed is characters per second of CPU time over
the sentences between ordinary passages, as a document has them; ``published`` reads ten times as many.
With a model the found and missed are those of rules and model, and the model's own speed is compared with gheim's detector,
which reads one text after the other.
"""

import argparse
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gheim

from tendril_assets.corpus.anonymize import PLACEHOLDER, Anonymizer, prepare
from tendril_assets.corpus.anonymize import Span as MaskedSpan
from tendril_assets.resources.detector import build_detector, rule_detector
from tendril_assets.resources.token_classifier import TokenClassifier, model_source
from tendril_assets.spec_corpus import AnonymizationSpec

LABELLED = Path(__file__).parents[1] / "labelled" / "personal_data.jsonl"
LABELS = ("PERSON", "EMAIL", "PHONE", "URL", "ADDRESS", "DATE", "ACCOUNT", "SECRET")
SIZES = {"small": 40, "published": 400}
# Stands at both ends of an entity while its text is prepared: no letter, digit or blank, and in no address.
MARK = "\ue000"
ORDINARY = (
    "Die Unternehmung erbringt sämtliche Leistungen nach dem Stand der Technik. Für die Ausführung gelten die Normen SIA "
    "118 und SN EN 206. Der Beton erfüllt die Anforderungen der Expositionsklassen; die Ausschalfristen richten sich nach "
    "der Witterung. Abweichungen sind der Bauleitung vor der Ausführung schriftlich zu melden und zu begründen.",
    "Das verwendete Holz stammt aus nachhaltiger Bewirtschaftung und ist mit einem anerkannten Label ausgewiesen. Der "
    "Nachweis ist vor Beginn der Arbeiten einzureichen. Die Kosten für Transport, Lagerung und Entsorgung sind in die "
    "Einheitspreise einzurechnen. Pos. 012.345 wird nach Aufwand vergütet, höchstens CHF 12'500.00 pro Etappe.",
    "Le soumissionnaire décrit l'organisation du chantier, les moyens engagés et la gestion des déchets. Les matériaux "
    "sont livrés dans des emballages réutilisables. Le délai d'exécution est fixé au 30.09.2025.",
)


@dataclass(frozen=True)
class Sentence:
    """``entities`` are (start, end, tag) in the prepared text ``text``."""

    id: str
    text: str
    entities: tuple[tuple[int, int, str], ...]
    trap: str | None


class ChecksumRules:
    """gheim's rules without a model, as a detector of ours: the bare baseline."""

    identity = f"gheim-{gheim.__version__}"

    def __init__(self) -> None:
        self._composite = gheim.CompositeDetector(model=self, propagate_names=False)

    def detect(self, texts: Any) -> Any:
        if isinstance(texts, str):  # asked by gheim as its model
            return []
        return [[MaskedSpan(s.start, s.end, s.label) for s in self._composite.detect(text)] for text in texts]


def read_labelled(path: Path) -> list[Sentence]:
    """The sentences of a labelled list, in prepared form. Raises ValueError with the id where an entity is not there."""
    sentences = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        text, marked, at = row["text"], [], 0
        for entity in sorted(row["entities"], key=lambda e: e["start"]):
            start, end = entity["start"], entity["start"] + len(entity["text"])
            if text[start:end] != entity["text"] or start < at or entity["label"] not in LABELS:
                raise ValueError(f"{path}, {row['id']}: entity {entity} is not at its place, or has no known label")
            marked += [text[at:start], MARK, text[start:end], MARK]
            at = end
        pieces = prepare("".join([*marked, text[at:]])).split(MARK)
        prepared = "".join(pieces)
        if prepared != prepare(text):
            raise ValueError(f"{path}, {row['id']}: an entity ends inside a letter or an address of the prepared text")
        ends = [sum(len(piece) for piece in pieces[: i + 1]) for i in range(len(pieces))]
        tags = [entity["label"] for entity in sorted(row["entities"], key=lambda e: e["start"])]
        spans = tuple((ends[2 * i], ends[2 * i + 1], tag) for i, tag in enumerate(tags))
        sentences.append(Sentence(row["id"], prepared, spans, row["trap"]))
    return sentences


def masked_spans(text: str, masked: str) -> list[tuple[int, int, str]]:
    """(start, end, tag) of what became a placeholder: the literal parts of ``masked`` are found again in ``text``."""
    parts = PLACEHOLDER.split(masked)  # literal, tag, number, literal, ...
    pattern = "(.+?)".join(re.escape(literal) for literal in parts[::3])
    match = re.fullmatch(pattern, text, re.DOTALL)
    if match is None:
        raise ValueError(f"the masked text is no masking of the text: {masked!r}")
    return [(*match.span(i), tag) for i, tag in enumerate(parts[1::3], start=1)]


@dataclass
class Tally:
    """Characters and whole entities: personal, masked, and both at once."""

    personal: int = 0
    masked: int = 0
    both: int = 0
    entities: int = 0
    found: int = 0
    issued: int = 0

    def figures(self) -> dict[str, float]:
        return {
            "recall": self.both / self.personal if self.personal else 1.0,
            "precision": self.both / self.masked if self.masked else 1.0,
            "recall_exact": self.found / self.entities if self.entities else 1.0,
            "precision_exact": self.found / self.issued if self.issued else 1.0,
        }


def measure(sentences: Sequence[Sentence], anonymizer: Anonymizer) -> dict[str, Any]:
    """Figures overall and per tag, what was missed and what of the traps was masked."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    covered = total = 0
    missed, trapped = [], []
    for sentence in sentences:
        spans = masked_spans(sentence.text, anonymizer.document([sentence.text]).texts[0])
        personal = {tag: _characters(sentence, sentence.entities, tag) for tag in LABELS}
        masked = {tag: _characters(sentence, spans, tag) for tag in LABELS}
        everything = set().union(*masked.values())
        for tag in LABELS:
            for tally in (tallies[tag], tallies["all"]):
                tally.personal += len(personal[tag])
                tally.masked += len(masked[tag])
                tally.both += len(personal[tag] & masked[tag])
                tally.entities += sum(span[2] == tag for span in sentence.entities)
                tally.issued += sum(span[2] == tag for span in spans)
                tally.found += sum(span[2] == tag for span in {*sentence.entities} & {*spans})
        for start, end, tag in sentence.entities:
            own = _characters(sentence, [(start, end, tag)], tag)
            total, covered = total + len(own), covered + len(own & everything)
            if not own <= everything:
                missed.append(f"{sentence.id} {tag} {sentence.text[start:end]!r}")
        for start, end, tag in spans:
            if not any(start < e and s < end for s, e, _ in sentence.entities):
                kind = sentence.trap or "no entity"
                trapped.append(f"{sentence.id} ({kind}) {tag} {sentence.text[start:end]!r}")
    figures = tallies.pop("all").figures() | {"recall_any_tag": covered / total if total else 1.0}
    for tag in LABELS:
        figures |= {f"{name}_{tag}": value for name, value in tallies[tag].figures().items()}
    traps = sum(sentence.trap is not None for sentence in sentences)
    return {**figures, "sentences": len(sentences), "traps": traps, "missed": missed, "trapped": trapped}


def _characters(sentence: Sentence, spans: Sequence[tuple[int, int, str]], tag: str) -> set[int]:
    return {i for s, e, t in spans if t == tag for i in range(s, e) if not sentence.text[i].isspace()}


def characters_per_second(texts: Sequence[str], work: Callable[[Sequence[str]], Any]) -> float:
    """Characters per second of CPU time, best of three."""
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        work(texts)
        best = min(best, time.process_time() - begin)
    return sum(map(len, texts)) / best


def model_figures(texts: Sequence[str], model: str, revision: str | None) -> dict[str, float]:
    """Characters per second of wall time of the model in batches, and their ratio to gheim's own one by one."""
    source = model_source(model, revision)
    classifier, single = TokenClassifier(source), gheim.CalibratedDetector(model_id=str(source.folder()))
    classifier.detect(texts[:1])
    single.detect(texts[0])
    seconds = []
    for work in (lambda: classifier.detect(texts), lambda: [single.detect(text) for text in texts]):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return {"model_chars_per_s": sum(map(len, texts)) / seconds[0], "model_batch_ratio": seconds[1] / seconds[0]}


def report(labelled: Path, size: str, model: str | None = None, revision: str | None = None) -> dict[str, Any]:
    sentences = read_labelled(labelled)
    spec = AnonymizationSpec(detector="model" if model else "rules", model=model, revision=revision)
    detector, bare = build_detector(spec), ChecksumRules()
    ours, theirs = measure(sentences, Anonymizer(detector)), measure(sentences, Anonymizer(bare))
    print(
        f"{'':10}{'recall':>9}{'precision':>11}{'exact recall':>14}{'exact prec.':>13}{'gheim recall':>14}{'prec.':>8}"
    )
    for tag in ("", *LABELS):
        at = [f"{name}_{tag}" if tag else name for name in ("recall", "precision", "recall_exact", "precision_exact")]
        print(
            f"{tag or 'all':10}{ours[at[0]]:9.4f}{ours[at[1]]:11.4f}{ours[at[2]]:14.4f}{ours[at[3]]:13.4f}"
            f"{theirs[at[0]]:14.4f}{theirs[at[1]]:8.4f}"
        )
    for name, heading in (("missed", "not masked, or not wholly"), ("trapped", "masked where nothing is personal")):
        print(f"{heading}: {len(ours[name])}")
        for line in ours[name]:
            print(f"  {line}")
    document = [text for s in sentences for text in (s.text, *ORDINARY)]
    texts = (document * (1 + SIZES[size] * 4000 // sum(map(len, document))))[: SIZES[size] * 20]
    rules = rule_detector()
    speed = characters_per_second(texts, rules.detect)
    baseline = characters_per_second(texts, bare.detect)
    masking = characters_per_second(
        texts, lambda t: [Anonymizer(rules).document(t[i : i + 40]) for i in range(0, len(t), 40)]
    )
    kept = {k: v for k, v in ours.items() if k not in ("missed", "trapped")}
    return {
        "size": size,
        "labelled": labelled.name,
        **kept,
        "n_missed": len(ours["missed"]),
        "n_trapped": len(ours["trapped"]),
        "gheim_recall": theirs["recall"],
        "gheim_precision": theirs["precision"],
        "detect_chars_per_cpu_s": speed,
        "mask_chars_per_cpu_s": masking,
        "gheim_chars_per_cpu_s": baseline,
        "speed_ratio_gheim": speed / baseline,
        **(model_figures(texts[:400], model, revision) if model else {}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--labelled", type=Path, default=LABELLED)
    parser.add_argument("--model", help="hub id or folder: the rules and this model are measured")
    parser.add_argument("--revision")
    options = parser.parse_args()
    print(json.dumps(report(options.labelled, options.size, options.model, options.revision)))


if __name__ == "__main__":
    main()
