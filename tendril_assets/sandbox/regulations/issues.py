"""Issues of the invented bulletin: several acts each, with what makes cutting hard.

A table of contents names the acts, references to listed acts break over lines so that they look like headings, page headers
stand in the text, one act is listed and not there, another one is there and not listed.
"""

import html
import io
import textwrap

import docx

from tendril_assets.sandbox.office import FIXED_TIME, fixed_zip
from tendril_assets.sandbox.regulations.columns import two_columns
from tendril_assets.sandbox.regulations.content_files import Act, acts
from tendril_assets.sandbox.regulations.texts import body, heading
from tendril_assets.sandbox.regulations.wording import long_date

SUFFIXES = {
    "bulletin_2019_31": "txt",
    "bulletin_2020_07": "pdf",
    "bulletin_2020_18": "docx",
    "bulletin_2019_52": "html",
}
NEW_LINE = "\n"
WIDTH = 72
PAGE = 46
# Acts of an issue that the list names and that have no text of their own in the corpus.
AMENDMENTS = {
    "bulletin_2019_31": (
        "5214-У",
        "2019-09-02",
        "О внесении изменений в Положение от 12 марта 2019 года № 214-П «О порядке формирования резервов на возможные потери по "
        "ссудам»",
    ),
}
UNLISTED = ("РАСПОРЯЖЕНИЕ", "от 3 июня 2019 года № 77-Р", "«О рабочем времени приемной»")


def issue_files() -> dict[str, bytes]:
    """``issues/<name>.<suffix>`` -> content."""
    return {f"issues/{name}.{suffix}": _written(name, suffix) for name, suffix in SUFFIXES.items()}


def _written(name: str, suffix: str) -> bytes:
    parts = _parts(name, number_first=suffix in ("pdf", "html"))
    if suffix == "txt":
        return _pages(name, parts).encode()
    if suffix == "html":
        shown = "\n".join(f"<p>{html.escape(part).replace(NEW_LINE, '<br>')}</p>" for part in parts if part)
        head = f'<!DOCTYPE html>\n<html lang="ru"><head><meta charset="utf-8"><title>{name}</title></head>'
        return f"{head}<body>\n{shown}\n</body></html>\n".encode()
    if suffix == "docx":
        return _docx(parts)
    return _pdf(name, parts)


def members(name: str) -> list[Act]:
    return [act for act in acts() if act.source == name]


def _parts(name: str, *, number_first: bool) -> list[str]:
    """Paragraphs of the issue in their order."""
    own = members(name)
    parts = ["СОДЕРЖАНИЕ"]
    parts += [
        f"{act.kind} № {act.number} от {long_date(act.date)} «{act.title}» ........ {i * 9 + 3}"
        for i, act in enumerate(own)
    ]
    parts.append("НОРМАТИВНЫЕ АКТЫ")
    for place, act in enumerate(own):
        if place == 1 and name in AMENDMENTS:
            parts += _amendment(*AMENDMENTS[name])
        if number_first:
            kind, _, title = heading(act)
            parts += [f"{long_date(act.date)} № {act.number}", kind, title]
        else:
            parts += heading(act)
        text = body(act)
        # A reference that print breaks right before the kind: the line looks like a heading and is none.
        other = own[(place + 1) % len(own)]
        broken = "\n".join(
            (
                "Настоящий документ дополняет порядок, который ранее установило",
                f"{other.kind} от {long_date(other.date)} № {other.number}",
                "в отношении тех же организаций.",
            )
        )
        parts += [*text[:1], broken, *text[1:]]
        if place == 0:
            parts += [
                *UNLISTED,
                "1. Приемная Банка Заречья работает с 9.00 до 17.30.",
                "Председатель Банка Заречья",
                "А. В. Лучинин",
            ]
    return parts


def _amendment(number: str, date: str, title: str) -> list[str]:
    return [
        "УКАЗАНИЕ",
        f"от {long_date(date)} № {number}",
        f"«{title}»",
        "1. Пункт 3.2 изложить в следующей редакции: «3.2. Переоценка проводится по заявлению залогодателя.».",
        "2. Пункт 4.11 признать утратившим силу.",
        "Председатель Банка Заречья",
        "А. В. Лучинин",
    ]


def _lines(parts: list[str], width: int) -> list[str]:
    lines: list[str] = []
    for part in parts:
        for line in part.split("\n"):
            lines += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    return lines


def _pages(name: str, parts: list[str]) -> str:
    lines = _lines(parts, WIDTH)
    pages = [lines[i : i + PAGE] for i in range(0, len(lines), PAGE)]
    year, number = name.split("_")[1:]
    return "\f".join(
        "\n".join([f"ВЕСТНИК БАНКА ЗАРЕЧЬЯ    № {number} ({year})", "", *page, "", f"{i}"]) + "\n"
        for i, page in enumerate(pages, 1)
    )


def _docx(parts: list[str]) -> bytes:
    word = docx.Document()
    for part in parts:
        for line in part.split("\n"):
            word.add_paragraph(line)
    properties = word.core_properties
    properties.author, properties.last_modified_by = "", ""
    properties.created = properties.modified = FIXED_TIME
    buffer = io.BytesIO()
    word.save(buffer)
    return fixed_zip(buffer.getvalue())


def _pdf(name: str, parts: list[str]) -> bytes:
    year, number = name.split("_")[1:]
    return two_columns(parts, f"Вестник Банка Заречья № {number} ({year})")
