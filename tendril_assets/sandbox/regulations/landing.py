"""Every file of the sample's landing folder."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from tendril_assets.sandbox.regulations.anchor import anchor_lines
from tendril_assets.sandbox.regulations.content_files import acts, rows, text
from tendril_assets.sandbox.regulations.issues import AMENDMENTS, SUFFIXES, issue_files
from tendril_assets.sandbox.regulations.questions import live, manual
from tendril_assets.sandbox.regulations.texts import act_text

# Latin letters that a careless recogniser puts in the place of Cyrillic ones.
_LOOKALIKES = str.maketrans("АВЕКМНОРСТХаеорсухинпт", "ABEKMHOPCTXaeopcyxuhnm")
_LATIN_NUMBER = "3107-У"
EMPTY_ACT = "4811-У_01042019"
REMOVED_ACT = "7-МР_07042017"
# Place among the published pairs.
REMOVED_PAIR = 5
REMOVAL_DAY = "2026-10-01"


@dataclass(frozen=True)
class RegulationsSummary:
    """What was written. ``acts``: rows of the list, those without a text of ours included."""

    acts: int
    kept: int
    issues: int
    live_questions: int
    manual_queries: int
    anchor_pairs: int


def regulations_files() -> tuple[dict[str, bytes], RegulationsSummary]:
    """Path below the collection's folder -> content, and the counts of it."""
    listed = _listed()
    files = {"acts.jsonl": _jsonl(listed)}
    files |= {f"acts/{act.key}.txt": act_text(act).encode() for act in acts() if act.source == "file"}
    files[f"acts/{EMPTY_ACT}.txt"] = b"\n"
    files |= issue_files()
    files["live_questions.jsonl"] = _jsonl(question.row for question in live())
    files["manual.jsonl"] = _jsonl(
        {"query_id": q.query_id, "text": q.text} | ({"act": q.act} if q.act else {}) for q in manual()
    )
    splits: dict[str, list[str]] = {}
    for act in acts():
        splits.setdefault(act.split, []).append(act.key)
    files["split.json"] = json.dumps(splits, ensure_ascii=False, indent=1).encode() + b"\n"
    anchor = anchor_lines()
    files["human_anchor.jsonl"] = _lines(*anchor)
    # Written down when they were published: a build that moves a passage is found out by them.
    files["published_qrels.tsv"] = text("published_qrels.tsv").encode()
    pair = rows("published_qrels.tsv")[REMOVED_PAIR]
    files["removals.csv"] = _lines(
        "kind,id,reason,date",
        f"act,{REMOVED_ACT},Отозвано издателем,{REMOVAL_DAY}",
        f"pair,{pair['query-id']}/{pair['corpus-id']},Ошибка разметки,{REMOVAL_DAY}",
    )
    counts = RegulationsSummary(len(listed), len(acts()), len(SUFFIXES), len(live()), len(manual()), len(anchor))
    return files, counts


def _listed() -> list[dict[str, object]]:
    """Rows of ``acts.jsonl``: the acts, and between them what leaves, each for a reason of its own."""
    found: list[dict[str, object]] = []
    for act in acts():
        row: dict[str, object] = {"number": act.number, "date": act.date, "title": act.title}
        if act.number == _LATIN_NUMBER:
            row["number"] = act.number.replace("У", "Y")
        if act.source == "text":
            row["text"] = act_text(act)
        elif act.source != "file":
            row["issue"] = act.source
        found.append(row)
    for issue, (number, date, title) in AMENDMENTS.items():
        found.append({"number": number, "date": date, "title": title, "issue": issue})
    found.insert(
        9,
        {
            "number": "3980-У",
            "date": "2018-01-22",
            "title": "О внесении изменений и дополнений в отдельные документы Банка Заречья",
            "text": "1. Слово «касса» заменить словами «кассовый узел».\n",
        },
    )
    found.insert(
        17,
        {
            "number": "150-Т",
            "date": "1900-01-01",
            "title": "О праздничных днях",
            "text": "1. Выходным днем считается 9 мая.\n",
        },
    )
    found.insert(
        21, {"number": "4700-У", "date": "2019-12-30", "title": "О хранении печатей", "issue": "bulletin_2020_07"}
    )
    found.insert(26, {**next(row for row in found if row["number"] == "5590-У"), "title": ""})
    found.insert(30, {"number": "4811-У", "date": "2019-04-01", "title": "О форме бланка"})
    damaged = act_text(next(act for act in acts() if act.number == "3222-У")).translate(_LOOKALIKES)
    found.insert(33, {"number": "2777-У", "date": "2013-07-19", "title": "О счетах депонентов", "text": damaged})
    return found


def _jsonl(content: Iterable[dict]) -> bytes:
    return _lines(*(json.dumps(row, ensure_ascii=False) for row in content))


def _lines(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
