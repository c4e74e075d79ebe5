"""The clauses of an act: their numbers, their texts and the matter each one answers."""

from dataclasses import dataclass
from functools import cache

from tendril_assets.sandbox.draws import Draws
from tendril_assets.sandbox.regulations.content_files import Act, Matter, acts, facets, themes
from tendril_assets.sandbox.regulations.wording import OF_THIS, capital, filled

# Share of clauses of a later revision whose values and wording differ from the earlier one.
REVISED_SHARE = 0.35
# Recommendations ask where other kinds of act demand.
_SOFTER = (("{Who} обязана", "{Whose} рекомендуется"), ("{who} обязана", "{whose} рекомендуется"))


@dataclass(frozen=True)
class Clause:
    """``number`` as printed, without its last full stop; ``text`` may have several lines."""

    number: str
    text: str
    matter: Matter


@dataclass(frozen=True)
class Chapter:
    heading: str
    clauses: tuple[Clause, ...]


@cache
def chapters(act: Act) -> tuple[Chapter, ...]:
    """The act's chapters, one for each object. Their headings are empty in a flat act, whose clauses are 1., 1.1, 1.2."""
    found = []
    # The first chapter of an act with chapters holds what its terms mean.
    first = 2 if act.layout == "chapters" else 1
    if act.layout == "chapters":
        found.append(_general(act))
    for place, thing in enumerate(act.things, first):
        own = [facet for facet in _order(act, thing) if act.layout != "chapters" or facet != "meaning"]
        clauses = [
            Clause(f"{place}.{i}", _text(act, thing, facet, f"{place}.{i}"), act.matter(thing, facet))
            for i, facet in enumerate(own, 1)
        ]
        name = capital(themes()[act.theme]["objects"][thing]["n"])
        heading = f"Глава {place}. {name}" if act.layout == "chapters" else f"{place}. {name}."
        found.append(Chapter(heading, tuple(clauses)))
    return tuple(found)


def clauses(act: Act) -> tuple[Clause, ...]:
    return tuple(clause for chapter in chapters(act) for clause in chapter.clauses)


def clause_for(act: Act, thing: str, facet: str) -> Clause:
    """The clause of the act that answers it. Raises KeyError."""
    return {(c.matter.thing, c.matter.facet): c for c in clauses(act)}[thing, facet]


def _general(act: Act) -> Chapter:
    if "meaning" not in act.facets:
        return Chapter("Глава 1. Общие положения", ())
    found = [
        Clause(f"1.{i}", _text(act, thing, "meaning", f"1.{i}"), act.matter(thing, "meaning"))
        for i, thing in enumerate(act.things, 2)
    ]
    return Chapter("Глава 1. Общие положения", tuple(found))


def _order(act: Act, thing: str) -> list[str]:
    """Facets in an order of the act's own, the meaning first."""
    order = Draws("clause-order").shuffled(f"{act.number}/{thing}", act.facets)
    return sorted(order, key=lambda facet: facet != "meaning")


def _text(act: Act, thing: str, facet: str, number: str) -> str:
    entity = f"{act.number}/{thing}/{facet}"
    draws = Draws("clause-text")
    if is_revision(act) and draws.chance(f"{entity}/revised", REVISED_SHARE):
        entity += "/revised"
    source = facets()[facet]
    template = draws.pick(entity, source["texts"])
    if act.kind == "Методические рекомендации":
        for hard, soft in _SOFTER:
            template = template.replace(hard, soft)
    body = filled(template.replace("{list}", _items(act, thing, entity)), act, thing, entity)
    # People ask about sentences of their own: an act that live questions are about leaves none of them out.
    told = len(source["tails"]) if act.split == "test_live" else 1
    tails = draws.sample(f"{entity}/tails", source["tails"], told)
    # A sentence may be a clause of its own below this one, and the next one a clause below that.
    own = number
    for i, tail in enumerate(tails):
        more = filled(tail, act, thing, f"{entity}/tail{i}")
        if draws.chance(f"{entity}/sub{i}", 0.2) and (i == 0 or own != number):
            own = f"{own}.1"
            more = f"{own}. {more}"
        body += f"\n{more}"
    if draws.chance(f"{entity}/reference", 0.2):
        body += "\n" + _reference(act, entity)
    return f"{number}. {body}"


def _items(act: Act, thing: str, entity: str) -> str:
    items = themes()[act.theme]["objects"][thing]["items"]
    marks = Draws("clause-marks").pick(entity, ("1234", "абвг", "----"))
    end = {"1": ") ", "а": ") ", "-": " "}[marks[0]]
    return "\n".join(
        f"{m}{end}{item}{';' if i < len(items) - 1 else '.'}"
        for i, (m, item) in enumerate(zip(marks, items, strict=True))
    )


def _reference(act: Act, entity: str) -> str:
    """A sentence that names clauses, dates, acts and figures, and starts none of them."""
    draws = Draws("clause-reference")
    other = draws.pick(entity, acts())
    templates = (
        f"Порядок, предусмотренный пунктом {draws.number(f'{entity}/a', 2, 6)}.{draws.number(f'{entity}/b', 1, 4)} "
        f"{OF_THIS[act.kind]}, применяется с учетом части {draws.number(f'{entity}/part', 2, 9)}.1 статьи "
        f"{draws.number(f'{entity}/article', 4, 60)} Закона Заречья от 04.07.2011 № 38-ЗЗ.",
        f"Действия, начатые до {draws.number(f'{entity}/d', 10, 28)}.12.{draws.number(f'{entity}/y', 2012, 2018)}, завершаются "
        f"по прежним правилам; ставка при этом не превышает {draws.number(f'{entity}/p', 2, 9)}.25 процента.",
        f"Правила документа № {other.number} «{other.title}» применяются в части, которая настоящему тексту не противоречит.",
    )
    return draws.pick(f"{entity}/kind", templates)


def is_revision(act: Act) -> bool:
    """Whether an earlier act has the same number."""
    return any(other.number == act.number and other.date < act.date for other in acts())
