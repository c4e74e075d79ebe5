"""Slots of a clause's wordings: forms of the organisation and of the object, and values drawn by name."""

import re

from tendril_assets.sandbox.draws import Draws
from tendril_assets.sandbox.regulations.content_files import Act, themes
from tendril_assets.sandbox.wording import Slots, expand

# Genitive of an act that speaks of itself.
OF_THIS = {
    "Положение": "настоящего Положения",
    "Указание": "настоящего Указания",
    "Инструкция": "настоящей Инструкции",
    "Методические рекомендации": "настоящего документа",
    "Официальное разъяснение": "настоящего разъяснения",
}
# "об оценке", but "о единой оценке".
_PREPOSITION = re.compile(r"\b([Оо]) (?=[аиоуэАИОУЭ])")
PERIODS = ("месяц", "квартал", "полугодие", "год", "два года", "десять рабочих дней", "две недели")
MONTHS = [
    "января",
    "февраля",
    "марта",
    "апреля",
    "мая",
    "июня",
    "июля",
    "августа",
    "сентября",
    "октября",
    "ноября",
    "декабря",
]


def filled(template: str, act: Act, thing: str, entity: str) -> str:
    """``template`` for an object of the act; values and choices are drawn for ``entity``."""
    values = slots(act.who, act.theme, thing, entity) | {"act": OF_THIS[act.kind]}
    return _PREPOSITION.sub(r"\1б ", expand(template, entity, Slots(values, {})).raw)


def values_for(template: str, who: str, theme: str, thing: str) -> str:
    """``template`` with the forms of an object and of a kind of organisation."""
    return _PREPOSITION.sub(r"\1б ", expand(template, template, Slots(slots(who, theme, thing, template), {})).raw)


def slots(who: str, theme: str, thing: str, entity: str) -> dict[str, str]:
    """Every slot but ``act`` and ``list``."""
    subject = themes()[theme]
    forms = {"a": subject["objects"][thing]["n"], **subject["objects"][thing]}
    draws = Draws("clause-values")
    role = draws.pick(f"{entity}/role", subject["roles"])
    found = {form: str(forms[form]) for form in ("n", "g", "a", "p", "i", "is", "event")}
    return found | {
        "N": capital(found["n"]),
        "who": f"{who}ая организация",
        "Who": capital(f"{who}ая организация"),
        "whose": f"{who}ой организации",
        "Whose": capital(f"{who}ой организации"),
        "whom": f"{who}ую организацию",
        "by": f"{who}ой организацией",
        "role": role,
        "Role": capital(role),
        "measure": subject["measure"],
        "exc": draws.pick(f"{entity}/exc", subject["exceptions"]),
        "top": subject["ratio"][0],
        "bottom": subject["ratio"][1],
        # Every number fits the genitive plural.
        "days": str(draws.pick(f"{entity}/days", (5, 6, 7, 8, 9, 10, 12, 14, 15, 20, 25, 30, 45))),
        "extra": str(draws.pick(f"{entity}/extra", (5, 6, 7, 10, 15))),
        "years": str(draws.pick(f"{entity}/years", (5, 6, 7, 8, 10, 15, 25))),
        "sum": f"{draws.number(f'{entity}/sum', 3, 95) * 5} тысяч рублей",
        "sum2": f"{draws.number(f'{entity}/sum2', 20, 90) * 25} тысяч рублей",
        "period": draws.pick(f"{entity}/period", PERIODS),
        "share": draws.pick(f"{entity}/share", ("15", "35", "40", "55", "60", "75", "80", "90")),
        "form": f"04{draws.number(f'{entity}/form', 10_000, 99_999)}",
        "day": str(draws.number(f"{entity}/day", 5, 28)),
    }


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def long_date(date: str) -> str:
    """``12 марта 2019 года`` of ``2019-03-12``."""
    year, month, day = date.split("-")
    return f"{int(day)} {MONTHS[int(month) - 1]} {year} года"


def short_date(date: str) -> str:
    """``12.03.2019`` of ``2019-03-12``."""
    year, month, day = date.split("-")
    return f"{day}.{month}.{year}"
