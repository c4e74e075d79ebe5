"""What the stand-in models make of Russian texts: objects, facets and kinds of organisation, told by beginnings of words.

They know the sample's objects by their names and by what acts say of them, and nothing of single questions or passages: a
query in words of its own is often misread, as by a language model.
"""

import functools
import re
from collections import Counter
from dataclasses import dataclass, field
from math import log

from tendril_assets.sandbox.regulations.content_files import acts, facets, themes

_STEM_LETTERS = 5
_MIN_LETTERS = 4
_WORD = re.compile(r"[а-я]+")
_SLOT = re.compile(r"\{\w+\}|[\[\]|]")
_CLAUSE = re.compile(r"^(?=\d+(?:\.\d+)*\.\s)", re.MULTILINE)
_COMMON_WORDS = """
банка заречья организация организации организацией организацию если также этом случае должна нужно можно какие какой какая
каких при для что или как когда настоящего положения указания инструкции документа порядок пункта просим разъяснить пояснить
вопрос верно понимаем требования договор заключен сумма сделки составляет рублей ставка процента годовых
"""
_COMMON = frozenset(_COMMON_WORDS.split())
# Everyday words, by their beginnings, and the words of acts that a reader puts in their place.
_SYNONYMS = {
    "кредит": "ссуды",
    "верну": "возврат",
    "ошибке": "ошибочного",
    "деньги": "перевода",
    "порван": "поврежденных",
    "показ": "раскрытие",
    "комисси": "тарифов",
    "провер": "ревизия проверка",
    "ценност": "денежного",
    "акци": "бумаг",
    "переоформ": "переход",
    "дивиденд": "выплата доходов",
    "перечисл": "выплата",
    "жалоб": "обращение обращений",
    "отвеча": "ответ",
    "продав": "продающих работников",
    "паспорт": "идентификация клиента",
    "отозва": "отзыв распоряжения",
    "авари": "восстановления деятельности",
    "однородн": "объединение требований",
    "заем": "займа",
    "банкомат": "загрузка",
    "касс": "остатка кассы",
}
# How people call the organisations; the regulator and a bank that is somebody else are none of them.
_CALLED = {"банк": "кредитн", "страховщик": "страхов", "депозитари": "депозитарн", "ломбард": "ломбардн"}
_NOT_THE_ORGANISATION = re.compile(r"банк\w* заречья|друг\w+ банк\w*|нов\w+ банк\w*")
# Characters below which a query is one that people type.
SHORT = 120
# Share of a name's weight that a text must have, and what each further word of the surroundings adds.
_RECOGNISED = 0.55
_AROUND = 0.08

Thing = tuple[str, str]


@dataclass(frozen=True)
class Known:
    """``names``: stems of each form of an object's name; ``around``: of what acts say of it; ``asked``: of how people ask for
    a facet. ``weight``: how telling a stem is.
    """

    names: dict[Thing, tuple[frozenset[str], ...]] = field(repr=False)
    around: dict[Thing, frozenset[str]] = field(repr=False)
    asked: dict[str, frozenset[str]] = field(repr=False)
    weight: dict[str, float] = field(repr=False)


@dataclass(frozen=True)
class Said:
    """What stands in a text, as the stand-in reads it: for each clause, its object and its facets."""

    clauses: tuple[tuple[Thing, frozenset[str], str], ...]

    @property
    def facets(self) -> dict[Thing, set[str]]:
        found: dict[Thing, set[str]] = {}
        for thing, told, _ in self.clauses:
            found.setdefault(thing, set()).update(told)
        return found


def stems(text: str) -> frozenset[str]:
    """Beginnings of the longer Russian words, lower case."""
    words = (w for w in _WORD.findall(plain(text)) if len(w) >= _MIN_LETTERS and w not in _COMMON)
    return frozenset(word[:_STEM_LETTERS] for word in words)


def _with_synonyms(text: str) -> frozenset[str]:
    """Stems of a query, and of the words of acts that its everyday words stand for."""
    read = plain(text)
    return stems(" ".join([read, *(formal for word, formal in _SYNONYMS.items() if re.search(rf"\b{word}", read))]))


def plain(text: str) -> str:
    """Lower case, one kind of blank, е for ё."""
    return " ".join(text.lower().replace("ё", "е").split())


def organisations(text: str) -> frozenset[str]:
    """Kinds of organisation that a text names, as the stems of their adjectives."""
    read = _NOT_THE_ORGANISATION.sub(" ", plain(text))
    named = {who for who in {act.who for act in acts()} if re.search(rf"\b{who}\w* (?:организаци|кооператив)", read)}
    return frozenset(named | {who for word, who in _CALLED.items() if re.search(rf"\b{word}", read)})


def thing_of(text: str) -> Thing | None:
    """The object that a text is about; None where none is recognised. In a short one everyday words are understood."""
    known, own = knowledge(), _with_synonyms(text) if len(text) < SHORT else stems(text)

    def likeness(thing: Thing) -> float:
        best = max(_share(own, name, known.weight) for name in known.names[thing])
        return best + _AROUND * sum(known.weight[stem] for stem in own & known.around[thing]) / log(len(known.names))

    found = max(known.names, key=likeness)
    return found if likeness(found) >= _RECOGNISED else None


def asked_facets(query: str) -> frozenset[str]:
    """The facets that a query asks for, at most two, one in a short query."""
    most = 1 if len(query) < SHORT else 2
    known, own = knowledge(), stems(query)
    lowered = plain(query)
    points: dict[str, float] = {}
    for facet, words in known.asked.items():
        points[facet] = sum(known.weight.get(stem, 1.0) for stem in own & words)
        points[facet] += sum(cue in lowered for cue in facets()[facet]["asked_cues"])
    best = sorted(points.items(), key=lambda point: -point[1])[:most]
    return frozenset(facet for facet, value in best if value >= 1.0 and value >= 0.5 * best[0][1])


def said_in(passage: str) -> Said:
    """The clauses of a passage. The lines above the first one take their object from the heading line."""
    heading, _, body = passage.partition("\n")
    above = thing_of(heading.rsplit(".", 2)[-1]) or thing_of(heading)
    found = []
    for part in filter(None, _CLAUSE.split(body)):
        thing = thing_of(part) or above
        if thing is not None and (told := told_facets(part)):
            found.append((thing, told, part.strip()))
    return Said(tuple(found))


def told_facets(clause: str) -> frozenset[str]:
    """The facet whose cues a clause has most of; none where it has none."""
    first = plain(clause)
    points = {facet: sum(cue in first for cue in source["cues"]) for facet, source in facets().items()}
    most = max(points.values())
    return frozenset(facet for facet, n in points.items() if n == most) if most else frozenset()


@functools.cache
def knowledge() -> Known:
    """Read from the sample's sources once per process."""
    names, around = {}, {}
    for theme, subject in themes().items():
        for thing, forms in subject["objects"].items():
            names[theme, thing] = (stems(forms["n"]), stems(forms["i"]))
            around[theme, thing] = stems(" ".join([forms["is"], *forms["items"]])) - stems(forms["n"])
    asked = {
        facet: stems(_SLOT.sub(" ", " ".join([*source["live"], *source["short"]])))
        for facet, source in facets().items()
    }
    holders = Counter(stem for thing in names for stem in frozenset().union(*names[thing]) | around[thing])
    weight = {stem: log(1 + len(names) / n) for stem, n in holders.items()}
    facet_holders = Counter(stem for words in asked.values() for stem in words)
    weight = {stem: log(1 + len(asked) / n) for stem, n in facet_holders.items()} | weight
    return Known(names, around, asked, weight)


def _share(own: frozenset[str], name: frozenset[str], weight: dict[str, float]) -> float:
    total = sum(weight[stem] for stem in name)
    return sum(weight[stem] for stem in name & own) / total if total else 0.0
