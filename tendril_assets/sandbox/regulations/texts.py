"""An act as it is printed: heading, preamble, chapters, an appendix with a table, the signature."""

import textwrap

from tendril_assets.sandbox.draws import Draws
from tendril_assets.sandbox.regulations.clauses import chapters
from tendril_assets.sandbox.regulations.content_files import Act, themes
from tendril_assets.sandbox.regulations.wording import OF_THIS, capital, long_date

WIDTHS = (64, 78, 0)
SIGNATURE = "Председатель Банка Заречья\nА. В. Лучинин"


def act_text(act: Act) -> str:
    """The text with line breaks of print; some acts are printed without."""
    width = Draws("print").pick(act.key, WIDTHS)
    parts = [*heading(act), "", *body(act)]
    return "\n".join(wrapped(part, width) for part in parts) + "\n"


def heading(act: Act) -> list[str]:
    """The lines that name the act: kind, date and number, title."""
    return [act.kind.upper(), f"от {long_date(act.date)} № {act.number}", f"«{act.title}»"]


def body(act: Act) -> list[str]:
    """Paragraphs below the heading; an empty one is an empty line."""
    parts = [_preamble(act), ""]
    for chapter in chapters(act):
        parts.append(chapter.heading)
        if chapter.heading.startswith("Глава 1. Общие"):
            parts.append(f"1.1. {_scope(act)}")
        for clause in chapter.clauses:
            parts += clause.text.split("\n")
        parts.append("")
    return [*parts, *_ending(act)]


def wrapped(text: str, width: int) -> str:
    if not width or not text:
        return text
    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))


def _preamble(act: Act) -> str:
    return (
        f"На основании статьи {Draws('preamble').number(act.key, 4, 60)} Закона Заречья от 04.07.2011 № 38-ЗЗ «О Банке Заречья» "
        f"(Собрание законов Заречья, 2011, № 14, ст. 322) Банк Заречья принимает настоящий документ."
    )


def _scope(act: Act) -> str:
    names = ", ".join(themes()[act.theme]["objects"][thing]["n"] for thing in act.things)
    return (
        f"Требования {OF_THIS[act.kind]} адресованы {act.who}ым организациям Заречья. Предмет регулирования: {names}."
    )


def _ending(act: Act) -> list[str]:
    last = len(act.things) + (2 if act.layout == "chapters" else 1)
    parts = [f"Глава {last}. Заключительные положения"] if act.layout == "chapters" else []
    number = f"{last}.1" if act.layout == "chapters" else f"{last}"
    parts.append(f"{number}. Настоящий документ вступает в силу по истечении 10 дней после дня его опубликования.")
    parts += ["", *SIGNATURE.split("\n")]
    if "reporting" in act.facets:
        parts += ["", *_appendix(act)]
    return parts


def _appendix(act: Act) -> list[str]:
    """A form with a table, whose rows are numbered like clauses and are none."""
    draws = Draws("appendix")
    parts = ["Приложение 1", f"к документу Банка Заречья от {long_date(act.date)} № {act.number}", "Форма отчета"]
    parts.append("Номер строки | Наименование показателя | Значение, тыс. руб. | Доля, процентов")
    for i, thing in enumerate(act.things, 1):
        name = themes()[act.theme]["objects"][thing]["n"]
        value, share = draws.number(f"{act.key}/{i}", 10, 9_000), draws.number(f"{act.key}/{i}/s", 1, 99)
        parts.append(f"{i} | {capital(name)} | {value},{i} | {share}.{i}")
    return [*parts, "Примечание. Строки без данных заполняются нулями."]
