"""Which projects the sample has, and what is true of each: its areas of action, its evidence, its restriction."""

import datetime as dt
from dataclasses import dataclass

from tendril_assets.sandbox.draws import Draws
from tendril_assets.sandbox.people import Person, iban, person, plain
from tendril_assets.sandbox.wording import CATALOGS, Slots, Text, areas, expand, foreign, general

N_TRAINING = 36
N_TEST = 9
# Position among the training projects -> language; the rest is German.
LANGUAGES = {15: "fr", 20: "fr", 18: "it", 29: "it"}
# Position -> index of the German restriction, or the language of the other ones.
RESTRICTED = {5: 0, 14: 1, 26: 2, 20: "fr", 29: "it"}
REMOVED_PROJECT = 31
REMOVED_DOCUMENT_OF = 12
FIRST_DAY = dt.date(2024, 3, 4)

# How much a project says about an area: several sentences per criterion, one per criterion, a little, nothing.
STRONG, LIGHT, WEAK, NONE = "strong", "light", "weak", "none"


@dataclass(frozen=True)
class Project:
    """One invented tender project. ``tiers`` is the landed evidence, ``depth`` what its documents really hold."""

    position: int
    number: str
    title: str
    published: dt.date
    language: str
    cpv: str
    sector: str
    is_test: bool
    tiers: dict[str, str]
    depth: dict[str, str]
    restriction: str | None
    people: tuple[Person, Person]
    slots: Slots

    @property
    def strong_areas(self) -> list[str]:
        return [area for area, depth in self.depth.items() if depth == STRONG]


def projects() -> list[Project]:
    """All projects, training first; their numbers are unique and look like those of the procurement platform."""
    return [_project(position) for position in range(N_TRAINING + N_TEST)]


def _project(position: int) -> Project:
    draws = Draws("project")
    name = str(position)
    is_test = position >= N_TRAINING
    sector = CATALOGS[position % len(CATALOGS)]
    language = LANGUAGES.get(position, "de")
    slots, people = _slots(name)
    titles = general()["sectors"][sector]["titles"]
    if language != "de":
        titles = [foreign()[language]["titles"][0 if position < 20 else 1]]
    tiers, depth = _areas(position, sector, language, is_test)
    return Project(
        position=position,
        number=str(11_800 + 173 * position + draws.number(f"{name}/number", 0, 160)),
        title=expand(draws.pick(f"{name}/title", titles), f"{name}/title", slots).raw,
        published=FIRST_DAY + dt.timedelta(days=draws.number(f"{name}/day", 0, 920)),
        language=language,
        cpv=draws.pick(f"{name}/cpv", general()["sectors"][sector]["cpv"]),
        sector=sector,
        is_test=is_test,
        tiers=tiers,
        depth=depth,
        restriction=_restriction(position),
        people=people,
        slots=slots,
    )


def _areas(position: int, sector: str, language: str, is_test: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Evidence tier and true depth per area. The home areas rotate, so that each of them is reached about equally."""
    if language != "de":
        return _foreign_areas(position, sector, language)
    draws = Draws("areas")
    name = str(position)
    home = [a for a, area in areas().items() if area["catalog"] == sector]
    away = draws.shuffled(name, [a for a, area in areas().items() if area["catalog"] != sector])
    turn = position // len(CATALOGS)
    home = [home[(2 * turn + i) % len(home)] for i in range(len(home))]
    tiers = dict.fromkeys(home[:2], "validated_relevant")
    tiers |= dict.fromkeys([home[2], away[0]], "unvalidated_relevant")
    tiers |= dict.fromkeys([away[1], away[2]], "unsure")
    tiers |= dict.fromkeys([away[3], away[4]], "irrelevant")
    depth = {}
    for area, tier in tiers.items():
        if tier == "validated_relevant" or (is_test and tier == "unvalidated_relevant"):
            depth[area] = STRONG
        elif tier == "unvalidated_relevant":
            depth[area] = LIGHT if draws.chance(f"{name}/{area}", 0.75) else NONE
        elif tier == "unsure":
            depth[area] = WEAK if draws.chance(f"{name}/{area}", 0.6) else NONE
        else:
            depth[area] = NONE
    return tiers, depth


def _foreign_areas(position: int, sector: str, language: str) -> tuple[dict[str, str], dict[str, str]]:
    known = list(dict.fromkeys(area for area, _, _ in foreign()[language]["relevant"]))
    home = [a for a in known if areas()[a]["catalog"] == sector]
    others = Draws("areas").sample(str(position), [a for a in areas() if areas()[a]["catalog"] != sector], 3)
    tiers = dict.fromkeys(home, "validated_relevant") | {others[0]: "unsure"} | dict.fromkeys(others[1:], "irrelevant")
    return tiers, {area: STRONG if area in home else NONE for area in tiers}


def _restriction(position: int) -> str | None:
    which = RESTRICTED.get(position)
    if which is None:
        return None
    return foreign()[which]["restriction"] if isinstance(which, str) else general()["restrictions"][which]


def _slots(name: str) -> tuple[Slots, tuple[Person, Person]]:
    draws = Draws("slots")
    pools = general()
    place = draws.pick(f"{name}/place", pools["places"])
    host = plain(place)
    first, second = person(f"{name}/1", host), person(f"{name}/2", host)
    raw = {
        "ort": place,
        "amt": draws.pick(f"{name}/office", pools["offices"]),
        "gebaeude": draws.pick(f"{name}/building", pools["buildings"]),
        "stichtag": draws.pick(f"{name}/cutoff", pools["cutoff_days"]),
        "person": first.name,
        "person2": second.name,
        "telefon": first.phone,
        "email": first.email,
        "email_worded": second.email_worded,
        "ahv": first.ahv,
        "iban": iban(name),
        "passwort": draws.pick(f"{name}/password", pools["passwords"]),
        "url": f"www.{host}.example.ch/submission",
        "postkonto": f"{draws.number(f'{name}/post', 30, 89)}-{draws.number(f'{name}/post2', 1000, 99999)}-"
        f"{draws.number(f'{name}/post3', 1, 9)}",
    }
    masked = {
        "person": "<PERSON_1>",
        "person2": "<PERSON_2>",
        "telefon": "<PHONE_1>",
        "email": "<EMAIL_1>",
        "email_worded": "<EMAIL_2>",
        "ahv": "<ACCOUNT_1>",
        "iban": "<ACCOUNT_2>",
        "passwort": "<SECRET_1>",
        "url": "<URL_1>",
        "postkonto": "<ACCOUNT_3>",
    }
    return Slots(raw, masked), (first, second)


def text_of(project: Project, template: str, entity: str, **more: str) -> Text:
    """``template`` filled for ``project`` and ``more`` slots; chapter and annex numbers are drawn per ``entity``."""
    draws = Draws("numbering")
    name = f"{project.number}/{entity}"
    chapter = f"{draws.number(f'{name}/chapter', 2, 7)}.{draws.number(f'{name}/section', 1, 9)}"
    raw = {**project.slots.raw, "ziffer": chapter, "anlage": draws.pick(f"{name}/annex", general()["annexes"]), **more}
    return expand(template, name, Slots(raw, project.slots.masked))
