"""Restricting clauses: how many are found, what is taken for one wrongly, and how fast passages are read.

``python -m tendril_assets_tests.benchmarks.restrictions [--size small|published] [--labelled FILE]``

The default list is held apart from the rules; the lists they were made on are in ``labelled_dev``. FILE is
tab-separated with the columns id, language, restriction (1 or 0), kind and text; a line break in a text is written
``\\n``. A text counts as found where any rule finds it; ``recall_<kind>`` is that share for the restrictions of a kind,
``kind_agreement`` the share of those found whose kind is among the rules found, and ``clean_<kind>`` the share of
look-alikes of a kind left alone. The baseline, in the same run, looks for the words alone (papers, and something that may
limit them). Speed is characters per second of CPU time over ordinary passages with a labelled one every fifty;
``published`` reads 110,000 of them.
"""

import argparse
import csv
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tendril_assets.corpus.restriction_hints import worth_a_look
from tendril_assets.corpus.restrictions import document_restrictions, find_restrictions

LABELLED = Path(__file__).parents[1] / "labelled" / "restrictions.tsv"
COLUMNS = ("id", "language", "restriction", "kind", "text")
RULES = ("offer_only", "no_publication", "no_third_parties")
SIZES = {"small": 5_500, "published": 110_000}
PASSAGES_PER_DOCUMENT = 38
LABELLED_EVERY = 50
ORDINARY = (
    "Die Unternehmung erbringt sämtliche Leistungen nach dem Stand der Technik. Für die Ausführung gelten die Normen SIA "
    "118 und SN EN 206. Der Beton erfüllt die Anforderungen der Expositionsklassen; die Ausschalfristen richten sich nach "
    "der Witterung. Abweichungen sind der Bauleitung vor der Ausführung schriftlich zu melden.",
    "Die Ausschreibungsunterlagen werden ausschliesslich auf simap.ch veröffentlicht und können dort ab dem genannten Tag "
    "bezogen werden. Fragen sind bis am 14. Mai im Frageforum zu stellen; die Antworten gehen an alle Anbieter.",
    "Das verwendete Holz stammt aus nachhaltiger Bewirtschaftung und ist mit einem anerkannten Label ausgewiesen. Der "
    "Nachweis ist vor Beginn der Arbeiten einzureichen. Die Kosten für Transport und Entsorgung sind einzurechnen.",
    "2.3 Eignungskriterien\n- Referenzen über zwei vergleichbare Aufträge\n- Angaben zum Schlüsselpersonal\n- Bestätigung "
    "der Ausgleichskasse, nicht älter als drei Monate",
    "Le soumissionnaire décrit l'organisation du chantier, les moyens engagés et la gestion des déchets. Les matériaux "
    "sont livrés dans des emballages réutilisables. Le délai d'exécution est fixé au 30.09.2025.",
    "Der Unternehmer reicht die Pläne und die statischen Berechnungen vier Wochen vor Ausführungsbeginn ein. Die Dokumente "
    "werden durch die Bauleitung geprüft, freigegeben und in der Projektablage geführt.",
    "Pos. 113.200 | Abbruch von Belägen, Dicke bis 12 cm | m2 | 480.00 | Einheitspreis\nPos. 113.300 | Fräsen | m2 | 120.00",
)


class Labelled(NamedTuple):
    id: str
    language: str
    restriction: bool
    kind: str
    text: str


def read_labelled(path: Path) -> list[Labelled]:
    """The texts of a labelled list. Raises ValueError for another header, or a line that does not fit it."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if tuple(lines[0]) != COLUMNS:
        raise ValueError(f"{path}: the columns are {lines[0]}; expected {list(COLUMNS)}")
    found = []
    for number, cells in enumerate(lines[1:], start=2):
        if len(cells) != len(COLUMNS) or cells[2] not in ("0", "1") or (cells[2] == "1") != (cells[3] in RULES):
            raise ValueError(f"{path}: row {number}: expected {', '.join(COLUMNS)} with a kind that fits restriction")
        found.append(Labelled(cells[0], cells[1], cells[2] == "1", cells[3], cells[4].replace("\\n", "\n")))
    return found


def rules_of(text: str) -> set[str]:
    return {restriction.rule for restriction in find_restrictions(text)}


def words_alone(text: str) -> set[str]:
    """The baseline: every rule where the words occur at all."""
    return set(RULES) if worth_a_look(text) else set()


def quality(texts: Sequence[Labelled], look: Callable[[str], set[str]]) -> tuple[dict[str, float], list[str]]:
    """Figures overall, by language and by kind, and a line for each text judged wrongly."""
    found = {item.id: look(item.text) for item in texts}
    figures: dict[str, float] = {}
    for scope in ("", *sorted({item.language for item in texts})):
        part = [item for item in texts if scope in ("", item.language)]
        suffix = f"_{scope}" if scope else ""
        true = [item for item in part if item.restriction]
        hits = sum(bool(found[item.id]) for item in true)
        taken = sum(bool(found[item.id]) for item in part)
        figures |= {f"recall{suffix}": _share(hits, len(true)), f"precision{suffix}": _share(hits, taken)}
    for kind in sorted({item.kind for item in texts}):
        part = [item for item in texts if item.kind == kind]
        hits = sum(bool(found[item.id]) for item in part)
        restricting = kind in RULES
        name = f"recall_{kind}" if restricting else f"clean_{kind}"
        figures[name] = _share(hits if restricting else len(part) - hits, len(part))
    right = [item for item in texts if item.restriction and found[item.id]]
    figures["kind_agreement"] = _share(sum(item.kind in found[item.id] for item in right), len(right))
    wrong = [
        f"{'missed' if item.restriction else 'false '} {item.id} {item.language} {item.kind}: {item.text!r}"
        for item in texts
        if bool(found[item.id]) != item.restriction
    ]
    return figures, wrong


def speed(texts: Sequence[Labelled], passages: int) -> dict[str, float]:
    """Characters per CPU second of reading documents, and of looking for the words alone."""
    made = [
        texts[i // LABELLED_EVERY % len(texts)].text if i % LABELLED_EVERY == 0 else ORDINARY[i % len(ORDINARY)]
        for i in range(passages)
    ]
    characters = sum(map(len, made))
    documents = [
        [(1 + n // 4, text) for n, text in enumerate(made[start : start + PASSAGES_PER_DOCUMENT])]
        for start in range(0, passages, PASSAGES_PER_DOCUMENT)
    ]
    begin = time.process_time()
    for document in documents:
        document_restrictions(document)
    cpu_s = time.process_time() - begin
    begin = time.process_time()
    for text in made:
        worth_a_look(text)
    bare_s = time.process_time() - begin
    return {
        "passages": passages,
        "cpu_s": cpu_s,
        "characters_per_cpu_s": characters / cpu_s,
        "characters_per_cpu_s_words_alone": characters / bare_s,
        "cpu_ratio_words_alone": cpu_s / bare_s,
    }


def measure(texts: Sequence[Labelled], passages: int) -> tuple[dict[str, float], list[str]]:
    figures, wrong = quality(texts, rules_of)
    bare, _ = quality(texts, words_alone)
    figures |= {"recall_words_alone": bare["recall"], "precision_words_alone": bare["precision"]}
    figures |= {"texts": len(texts), "restrictions": sum(item.restriction for item in texts)}
    return {name: round(value, 4) for name, value in (figures | speed(texts, passages)).items()}, wrong


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--labelled", type=Path, default=LABELLED)
    arguments = parser.parse_args()
    figures, wrong = measure(read_labelled(arguments.labelled), SIZES[arguments.size])
    print("\n".join(wrong))
    for name, value in figures.items():
        print(f"{name:<36}{value:>14,.3f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
