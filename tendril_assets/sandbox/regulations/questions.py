"""Live questions and hand-written queries, with the matters each one asks about."""

from dataclasses import dataclass
from functools import cache

from tendril_assets.sandbox.draws import Draws
from tendril_assets.sandbox.regulations.clauses import chapters, clause_for
from tendril_assets.sandbox.regulations.content_files import Act, Matter, act_of, facets, rows, themes
from tendril_assets.sandbox.regulations.wording import capital, filled, short_date

# Act -> live questions that name clauses in their topic, in their text, a clause that is not there, and none.
_LIVE = {
    "214-П_12032019": (22, 2, 4, 10),
    "402-П_16102020": (8, 3, 1, 3),
    "5120-У_23082019": (5, 2, 1, 2),
    "3456-У_30052017": (4, 2, 0, 2),
    "161-И_29112018": (3, 1, 0, 1),
    # Asked by its number alone, which two revisions have.
    "318-П_04022021": (2, 2, 0, 2),
}
_OUTSIDE = (
    "Просим разъяснить порядок применения части 3 статьи 12 Закона Заречья от 04.07.2011 № 38-ЗЗ к договорам мены.",
    "Какой код указывать в строке 2.1 формы 0409123, если договор заключен 05.11.2018?",
    "Распространяется ли письмо № 88-Т от 14.03.2013 на страховых агентов?",
    "Нужно ли переводить годовой отчет на два языка, если участники общества живут за границей?",
    "Верно ли, что Положение № 999-П утратило силу и ссылаться на его пункт 4.2 больше нельзя?",
    "С какой даты применяется новая ставка налога на доход по вкладам: с 01.01.2020 или с 01.07.2020?",
    "Должен ли кооператив сдавать баланс за 2017 год, если он создан в декабре 2017 года?",
    "Кто назначает временную администрацию, если отозвана лицензия на 2.5 месяца раньше срока договора?",
)
_OPENINGS = (
    "{case} Просим разъяснить, {asks}?",
    "{Who} просит ответить на вопрос: {asks}? Поводом стала такая ситуация. {case}",
    "Договор заключен {date}. {case} Просим пояснить {whom}, {asks}?",
    "{case} Сумма сделки составляет {million} млн рублей, ставка {rate} процента годовых. В связи с этим {who} спрашивает, "
    "{asks}?",
    "{case} В связи с этим возник вопрос: {asks}?",
)


@dataclass(frozen=True)
class Question:
    """``matters``: what it asks; empty for a question that no act of the corpus answers."""

    query_id: str
    text: str
    matters: tuple[Matter, ...]
    act: str | None = None
    section: str | None = None
    topic: str | None = None

    @property
    def row(self) -> dict[str, str]:
        """Of ``live_questions.jsonl``."""
        found = {"query_id": self.query_id, "text": self.text, "section": self.section, "topic": self.topic}
        return {name: value for name, value in found.items() if value is not None}


@cache
def live() -> tuple[Question, ...]:
    """All live questions, numbered in an order that says nothing of their act."""
    found: list[Question] = []
    for key, counts in _LIVE.items():
        act = act_of(key)
        for way, count in zip(("topic", "text", "missing", "none"), counts, strict=True):
            found += [_live(act, way, i) for i in range(count)]
    found += [Question("", text, (), section="Прочие вопросы") for text in _OUTSIDE]
    # One question was published under two headings, another one twice under the same.
    found += [Question("", found[3].text, found[3].matters, found[3].act, "Прочие вопросы"), found[40]]
    ordered = Draws("live-order").shuffled("all", found)
    return tuple(
        Question(f"live{i:04d}", q.text, q.matters, q.act, q.section, q.topic) for i, q in enumerate(ordered, 1)
    )


@cache
def manual() -> tuple[Question, ...]:
    """The hand-written queries."""
    return tuple(
        Question(
            row["query_id"],
            row["text"],
            (Matter(row["theme"], row["thing"], row["facet"], row["who"]),),
            row["act"] or None,
        )
        for row in rows("manual.tsv")
    )


def _live(act: Act, way: str, i: int) -> Question:
    entity = f"{act.key}/{way}/{i}"
    draws = Draws("live")
    thing = act.things[(i + len(way)) % len(act.things)]
    own = [facet for facet in act.facets if act.layout != "chapters" or facet != "meaning"]
    asked = draws.sample(f"{entity}/facets", own, draws.number(f"{entity}/n", 1, 2))
    asks = ", а также ".join(
        filled(draws.pick(f"{entity}/{facet}", facets()[facet]["live"]), act, thing, entity) for facet in asked
    )
    numbers = sorted(
        (clause_for(act, thing, facet).number for facet in asked), key=lambda n: [int(part) for part in n.split(".")]
    )
    name = capital(themes()[act.theme]["objects"][thing]["n"])
    by_heading = way in ("topic", "missing") or i % 2 == 0
    topic = {"topic": f"{name} ({', '.join(numbers)})", "missing": f"{name} ({_missing(act, thing, i)})"}.get(way, name)
    text = _opening(act, entity, asks)
    if way == "text":
        called = f"{_genitive(act)} № {act.number}"
        places = " и ".join(numbers)
        word = "п." if len(numbers) == 1 else "пп."
        text = f"Вопрос касается {word} {places} {called}. {text}"
        by_heading = False
    elif not by_heading:
        text = f"{text} Нам известно, что применяется {act.kind} № {act.number} от {short_date(act.date)}."
    dated = "" if act.number == "318-П" else f" от {short_date(act.date)}"
    section = f"{act.kind}{dated} № {act.number} «{act.title}»" if by_heading else "Ответы на разные вопросы"
    matters = tuple(act.matter(thing, facet) for facet in asked)
    return Question("", text, matters, act.key, section, topic if by_heading else None)


def _missing(act: Act, thing: str, i: int) -> str:
    """A clause of the thing's chapter that a later act added: our text has none of that number."""
    chapter = next(c for c in chapters(act)[::-1] if c.clauses and c.clauses[0].matter.thing == thing)
    last = chapter.clauses[-1].number
    return f"{last.split('.')[0]}.{int(last.split('.')[1]) + 3 + i}"


def _opening(act: Act, entity: str, asks: str) -> str:
    draws = Draws("live-opening")
    month = draws.number(f"{entity}/m", 1, 12)
    return draws.pick(entity, _OPENINGS).format(
        case=draws.pick(f"{entity}/case", themes()[act.theme]["cases"]),
        asks=asks,
        who=f"{act.who}ая организация",
        Who=capital(f"{act.who}ая организация"),
        whom=f"{act.who}ой организации",
        date=short_date(f"{draws.number(f'{entity}/y', 2016, 2021)}-{month:02d}-{draws.number(f'{entity}/d', 10, 28)}"),
        million=f"{draws.number(f'{entity}/mm', 1, 9)}.{draws.number(f'{entity}/mk', 1, 9)}",
        rate=f"{draws.number(f'{entity}/r', 3, 9)}.25",
    )


def _genitive(act: Act) -> str:
    return {"Положение": "Положения", "Указание": "Указания", "Инструкция": "Инструкции"}[act.kind]
