"""Catalogs, evidence and the external test collection of the published size, in invented words."""

import json
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from tendril_assets.records import TIERS
from tendril_assets_tests.published_words import compound, generator, item, sentence

# Queries (areas and criteria together) per catalog; of 1,041 of them 413 are areas.
CATALOGS = {
    "construction_buildings": 152,
    "construction_area": 127,
    "light_elect_appl": 126,
    "construction_civil": 124,
    "info_com_tech": 123,
    "road_transport": 114,
    "furniture": 63,
    "product_independent": 61,
    "print_services": 48,
    "green_spaces": 41,
    "food": 26,
    "paper_stationery": 16,
    "electricity": 12,
    "it_software": 8,
}
N_AREAS, N_CRITERIA = 413, 628
# Most areas a project has evidence for, per tier; the quotas (2, 1, 1, 1) take some of them. With this skew a third of
# the areas is asked for by so few projects that coverage tops them up, to 5.3 areas per project in all.
EVIDENCE_PER_TIER = {"validated_relevant": 4, "unvalidated_relevant": 3, "unsure": 2, "irrelevant": 2}
SKEW = 1.45
TEST_PROJECTS, TEST_PASSAGES, TEST_QUERIES = 33, 140, 24


class Area(NamedTuple):
    catalog: str
    area: str
    title: str
    text: str
    criteria: tuple[dict[str, Any], ...]
    nouns: tuple[str, ...]


def areas(share: float) -> list[Area]:
    """The areas of all catalogs at ``share`` of the published number, at least one per catalog."""
    n_areas_of = _apportioned(round(N_AREAS * share))
    n_criteria_of = _apportioned(round(N_CRITERIA * share))
    found: list[Area] = []
    for catalog, n_areas in n_areas_of.items():
        n_criteria = max(n_areas, n_criteria_of[catalog])
        for i in range(n_areas):
            own = range(i, n_criteria, n_areas)
            found.append(_area(catalog, f"{catalog}-{i + 1:03d}", len(own)))
    return found


def _apportioned(total: int) -> dict[str, int]:
    """``total`` over the catalogs by their queries: the largest remainders get what rounding down leaves; at least 1."""
    exact = {catalog: total * n / sum(CATALOGS.values()) for catalog, n in CATALOGS.items()}
    found = {catalog: int(share) for catalog, share in exact.items()}
    by_remainder = sorted(exact, key=lambda catalog: found[catalog] - exact[catalog])
    for catalog in by_remainder[: total - sum(found.values())]:
        found[catalog] += 1
    return {catalog: max(1, n) for catalog, n in found.items()}


def _area(catalog: str, area: str, n_criteria: int) -> Area:
    rng = generator("area", area)
    nouns = tuple(compound(rng) for _ in range(5))
    text = " ".join(sentence(rng, "de", nouns) for _ in range(rng.randint(5, 16)))
    criteria = []
    for i in range(n_criteria):
        steps = {"basis": item(rng, "de", nouns) + ".", "vorbild": item(rng, "de", nouns) + "."}
        if rng.random() < 0.6:
            steps["gute_praxis"] = item(rng, "de", nouns) + "."
        criteria.append({"id": f"{area}-{i + 1}", "text": sentence(rng, "de", nouns), "levels": steps})
    return Area(catalog, area, " und ".join(n[2:] for n in nouns[:2]), text, tuple(criteria), nouns)


def catalog_files(found: Sequence[Area]) -> dict[str, str]:
    """``catalogs/*.yaml``; JSON is YAML, and written a hundred times faster."""
    files = {}
    for catalog in dict.fromkeys(a.catalog for a in found):
        body = {
            "catalog": catalog,
            "title": catalog.replace("_", " ").title(),
            "areas": [
                {"id": a.area, "title": a.title, "text": a.text, "criteria": list(a.criteria)}
                for a in found
                if a.catalog == catalog
            ],
        }
        files[f"catalogs/{catalog}.yaml"] = json.dumps(body, ensure_ascii=False, indent=1) + "\n"
    return files


def evidence(project: str, found: Sequence[Area]) -> list[tuple[str, str]]:
    """(area, tier) of one project, mostly of two catalogs; a few areas are asked for by many projects, most by few."""
    rng = generator("evidence", project)
    catalogs = set(rng.sample(sorted(CATALOGS), 2))
    weights = [(6.0 if a.catalog in catalogs else 0.1) / (1 + i % 17) ** SKEW for i, a in enumerate(found)]
    places = list(accumulate(weights))
    tiers: dict[str, str] = {}
    for tier in TIERS:
        wanted = min(len(found), len(tiers) + rng.randint(EVIDENCE_PER_TIER[tier] - 1, EVIDENCE_PER_TIER[tier]))
        while len(tiers) < wanted:
            area = found[min(bisect(places, rng.random() * places[-1]), len(found) - 1)].area
            tiers.setdefault(area, tier)
    return sorted(tiers.items())


def test_files(projects: Sequence[str], found: Sequence[Area], share: float) -> dict[str, str]:
    """``test/``: passages of the test projects, queries from the catalogs and a grade for each pair of a project."""
    n_queries = max(2, round(TEST_QUERIES * min(1.0, 4 * share)))
    n_passages = max(12, round(TEST_PASSAGES * min(1.0, 4 * share)))
    queries: dict[str, dict[str, Any]] = {}
    corpus, qrels = [], ["query-id\tcorpus-id\tscore"]
    for project in projects:
        rng = generator("test", project)
        chosen = rng.sample(found, min(n_queries // 2, len(found)))
        own = [q for area in chosen for q in _queries(area)]
        queries |= {q["id"]: q for q in own}
        for i in range(n_passages):
            passage = f"t{project}-{i:04d}"
            about = rng.choice(chosen)
            text = " ".join(sentence(rng, "de", about.nouns if i % 3 == 0 else ()) for _ in range(rng.randint(1, 7)))
            place = {"project": f"tg-{project}", "document": f"td-{project}-{i % 4}", "page": 1 + i // 8}
            corpus.append({"id": passage, "text": text, **place})
            for query in own:
                fits = i % 3 == 0 and query["area"] == about.area
                qrels.append(f"{query['id']}\t{passage}\t{rng.choice((1, 2, 2)) if fits else int(rng.random() < 0.02)}")
    return {
        "test/projects.csv": "\n".join(["project", *projects]) + "\n",
        "test/corpus.jsonl": _jsonl(corpus),
        "test/queries.jsonl": _jsonl([queries[name] for name in sorted(queries)]),
        "test/qrels.tsv": "\n".join(qrels) + "\n",
    }


def _queries(area: Area) -> list[dict[str, Any]]:
    place = {"catalog": area.catalog, "area": area.area}
    criterion = area.criteria[0]
    return [
        {"id": f"a-{area.area}", "text": f"{area.title}: {area.text[:400]}", "level": "area_of_action", **place},
        {"id": f"c-{criterion['id']}", "text": criterion["text"], "level": "criterion", **place},
    ]


def _jsonl(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
