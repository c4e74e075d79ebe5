"""The passages of a project, each with what is true of it: the source of documents, test grades and curated grades."""

from dataclasses import dataclass
from typing import Any

from tendril_assets.sandbox.draws import Draws
from tendril_assets.sandbox.plan import LIGHT, STRONG, WEAK, Project, text_of
from tendril_assets.sandbox.wording import Text, areas, foreign, general

AREA_LEVEL, CRITERION_LEVEL = "area_of_action", "criterion"
# Of 100 relevant passages, how many repeat the area's title, the criterion or one of its ambition levels.
SHARE_TITLE, SHARE_CRITERION, SHARE_LEVEL = 26, 30, 14
TITLE_LEADS = ("{titel}:", "Zum Thema «{titel}» gilt:", "[Nachhaltigkeit|Umwelt und Soziales], {titel}:")
CRITERION_TAILS = ("Ziel: {kriterium}", "Damit wird erreicht: {kriterium}", "Kriterium {ziffer}: {kriterium}")
LEVEL_LEADS = ("[Mindestens gilt|Verlangt ist|Angestrebt wird]: {stufe}", "{stufe}")


@dataclass(frozen=True)
class Passage:
    """One paragraph and its truth.

    ``depth`` is 2 where it is relevant to ``area``, 1 where partially, 0 for a distractor or general prose.
    ``criteria`` are the criteria it answers. ``kind`` tells general prose, personal data and the rest apart.
    """

    text: Text
    kind: str
    area: str | None = None
    depth: int = 0
    criteria: tuple[str, ...] = ()

    def grade(self, level: str, catalog_id: str) -> int:
        """The true grade for an area or a criterion; what answers only another criterion of the area is partial."""
        if level == AREA_LEVEL:
            return self.depth if self.area == catalog_id else 0
        if catalog_id in self.criteria:
            return 2
        siblings = {c["id"] for c in areas()[self.area]["criteria"]} if self.area and self.depth == 2 else set()
        return 1 if catalog_id in siblings else 0


def passages_of(project: Project) -> list[Passage]:
    """All passages of a project, in keyed order. No two are equal; ``documents`` repeats some of them on purpose."""
    if project.language != "de":
        found = _foreign(project)
    else:
        found = [p for area, depth in project.depth.items() for p in _about(project, area, depth)]
        found += _prose(project)
    found += _personal(project)
    if project.restriction:
        found.append(Passage(Text(project.restriction, project.restriction), "restriction"))
    return Draws("passages").shuffled(project.number, found)


def _about(project: Project, area_id: str, depth: str) -> list[Passage]:
    """What a German project says on one area: grade 2, grade 1 and distractors, in amounts that follow ``depth``."""
    draws = Draws("about")
    name = f"{project.number}/{area_id}"
    area = areas()[area_id]
    cores = _cores(project, area, depth)
    if depth == STRONG:
        n_partial, n_distractors = (2, 1) if project.is_test else (1, draws.number(f"{name}/d", 1, 2))
    elif depth in (LIGHT, WEAK):
        n_partial, n_distractors = 1, 1
    else:
        n_partial, n_distractors = 0, 1
    found = _pair_up(project, area_id, cores)
    for i, template in enumerate(draws.sample(f"{name}/partial", _own(project, area["partial"]), n_partial)):
        text = _dressed(project, template, f"{area_id}/p{i}", tail=0.3)
        found.append(Passage(text, "partial", area_id, 1))
    for i, template in enumerate(draws.sample(f"{name}/distractor", _own(project, area["distractors"]), n_distractors)):
        text = _dressed(project, template, f"{area_id}/d{i}", tail=0.2)
        found.append(Passage(text, "distractor", area_id))
    return found


def _cores(project: Project, area: dict[str, Any], depth: str) -> list[tuple[str, str]]:
    """(criterion, template) of the relevant sentences. Test projects draw on wordings that no other project has."""
    draws = Draws("cores")
    name = f"{project.number}/{area['id']}"
    pool = "held_out" if project.is_test else "relevant"
    per_criterion = [
        [(c["id"], t) for t in draws.shuffled(f"{name}/{c['id']}", c[pool])]
        for c in draws.shuffled(name, area["criteria"])
    ]
    if depth == STRONG:
        first = [templates[0] for templates in per_criterion]
        more = [t for templates in per_criterion for t in templates[1:]]
        return first + more[: draws.number(f"{name}/n", 1, 3)]
    if depth == LIGHT:
        return [templates[0] for templates in per_criterion]
    if depth == WEAK and draws.chance(f"{name}/weak", 0.5):
        return per_criterion[0][:1]
    return []


def _pair_up(project: Project, area_id: str, cores: list[tuple[str, str]]) -> list[Passage]:
    """One passage per core sentence; now and then two share one, or general prose comes before."""
    draws = Draws("pairing")
    found: list[Passage] = []
    i = 0
    while i < len(cores):
        criterion, template = cores[i]
        entity = f"{area_id}/c{i}"
        text = _named(project, area_id, criterion, entity, template)
        criteria = [criterion]
        if i + 1 < len(cores) and draws.chance(f"{project.number}/{entity}/two", 0.15):
            i += 1
            text += text_of(project, cores[i][1], f"{area_id}/c{i}")
            criteria.append(cores[i][0])
        elif draws.chance(f"{project.number}/{entity}/embedded", 0.15):
            before = draws.pick(f"{project.number}/{entity}/before", _own(project, general()["prose"]))
            text = text_of(project, before, f"{entity}/before") + text
        found.append(Passage(text, "relevant", area_id, 2, tuple(dict.fromkeys(criteria))))
        i += 1
    return found


def _named(project: Project, area_id: str, criterion_id: str, entity: str, template: str) -> Text:
    """The requirement, more often than not beside the catalog's own words, as buyers copy them into their tenders.

    Without this no relevant passage would share a word with its query, and a lexical ranker would win nothing.
    """
    draws = Draws("named")
    name = f"{project.number}/{entity}"
    area = areas()[area_id]
    criterion = next(c for c in area["criteria"] if c["id"] == criterion_id)
    share = draws.number(name, 0, 99)
    titled = share < SHARE_TITLE
    text = _dressed(project, template, entity, tail=0.3, lead=0.0 if titled else 0.2)
    if titled:
        return text_of(project, draws.pick(f"{name}/title", TITLE_LEADS), f"{entity}/title", titel=area["title"]) + text
    if share < SHARE_TITLE + SHARE_CRITERION:
        quotation = draws.pick(f"{name}/criterion", CRITERION_TAILS)
        return text + text_of(project, quotation, f"{entity}/criterion", kriterium=criterion["text"])
    if share < SHARE_TITLE + SHARE_CRITERION + SHARE_LEVEL:
        level = draws.pick(f"{name}/level", list(criterion["levels"].values()))
        return text_of(project, draws.pick(f"{name}/lead2", LEVEL_LEADS), f"{entity}/lead2", stufe=level) + text
    return text


def _own(project: Project, pool: list[str]) -> list[str]:
    """The last third of a pool is for test projects alone, so that leakage is what was put there on purpose."""
    cut = len(pool) - max(1, len(pool) // 3)
    return pool[cut:] if project.is_test else pool[:cut]


def _dressed(project: Project, template: str, entity: str, tail: float, lead: float = 0.2) -> Text:
    draws = Draws("dress")
    name = f"{project.number}/{entity}"
    text = text_of(project, template, entity)
    if draws.chance(f"{name}/lead", lead):
        text = text_of(project, draws.pick(f"{name}/lead", general()["leads"]), f"{entity}/lead") + text
    if draws.chance(f"{name}/tail", tail):
        text += text_of(project, draws.pick(f"{name}/tail", general()["tails"]), f"{entity}/tail")
    return text


def _prose(project: Project) -> list[Passage]:
    """General prose, boilerplate that other projects share word for word, and clauses that look like a restriction."""
    draws = Draws("prose")
    pools = general()
    name = project.number
    n = 12 if project.is_test else draws.number(name, 5, 8)
    found = [
        Passage(text_of(project, template, f"prose{i}"), "prose")
        for i, template in enumerate(draws.sample(f"{name}/prose", _own(project, pools["prose"]), n))
    ]
    for text in draws.sample(f"{name}/boilerplate", pools["boilerplate"], 2):
        found.append(Passage(Text(text, text), "boilerplate"))
    shared = pools["relevant_boilerplate"]
    if shared["area"] in project.strong_areas:
        text = Text(shared["text"], shared["text"])
        found.append(Passage(text, "boilerplate", shared["area"], 2, (shared["criterion"],)))
    for pool, share in (("bidder_secrecy", 0.5), ("open_use", 0.15), ("norms", 0.4)):
        if draws.chance(f"{name}/{pool}", share) and not (pool == "open_use" and project.restriction):
            found.append(Passage(text_of(project, draws.pick(f"{name}/{pool}", pools[pool]), pool), pool))
    return found


def _personal(project: Project) -> list[Passage]:
    draws = Draws("personal")
    name = project.number
    contacts = general()["contacts"] if project.language == "de" else foreign()[project.language]["contacts"]
    found = [Passage(text_of(project, draws.pick(f"{name}/contact", contacts), "contact"), "personal")]
    if project.language == "de":
        for pool, share in (("identity", 0.7), ("secrets", 0.5)):
            if draws.chance(f"{name}/{pool}", share):
                template = draws.pick(f"{name}/{pool}", general()[pool])
                found.append(Passage(text_of(project, template, pool), "personal"))
    return found


def _foreign(project: Project) -> list[Passage]:
    source = foreign()[project.language]
    found = [
        Passage(text_of(project, template, f"core{i}"), "relevant", area, 2, (criterion,))
        for i, (area, criterion, template) in enumerate(source["relevant"])
        if area in project.strong_areas
    ]
    found += [Passage(text_of(project, t, f"prose{i}"), "prose") for i, t in enumerate(source["prose"])]
    return found
