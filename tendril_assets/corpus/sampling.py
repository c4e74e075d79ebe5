"""Which projects, documents, areas and criteria are drawn.

Every draw is a bottom-k of named hashes (``identifiers.keyed_order``): an entity's place depends on the seed, the draw
and the entity alone. Adding a project can only push others out of the sample, never reorder or exchange them, and a
project's own documents, areas and criteria do not depend on the other projects (coverage top-ups apart, which a new
project can only make unnecessary). A removed project takes nothing from the others: each area it held gets at most one
further top-up. Projects that restrictions exclude later were drawn like all others and are not replaced.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tendril_assets.corpus.identifiers import Identifiers, keyed_order
from tendril_assets.corpus.removals import Removals
from tendril_assets.records import TIERS


@dataclass(frozen=True)
class Standing:
    """Every landed project: ``groups`` maps it to its published id; ``tested`` and ``removed`` ones are not eligible."""

    groups: Mapping[str, str]
    tested: frozenset[str]
    removed: frozenset[str]

    @classmethod
    def of(cls, landed: Iterable[str], held_out: Iterable[str], removals: Removals, hasher: Identifiers) -> "Standing":
        """``held_out`` are the test collection's projects, by raw or published id."""
        groups, test = {project: hasher.group(project) for project in landed}, set(held_out)
        return cls(
            groups,
            frozenset(p for p, g in groups.items() if p in test or g in test),
            frozenset(p for p, g in groups.items() if removals.has_project(p, g)),
        )

    @property
    def eligible(self) -> frozenset[str]:
        return frozenset(self.groups) - self.tested - self.removed


@dataclass(frozen=True)
class SelectedArea:
    """One area drawn for one project; ``tier`` is None for a top-up without evidence."""

    project: str
    area: str
    tier: str | None
    reason: str


@dataclass(frozen=True)
class AreaSample:
    """``shortfall`` maps each area that stays under the wanted number of projects to the number it reached."""

    selected: tuple[SelectedArea, ...]
    shortfall: Mapping[str, int]


def sample_projects(eligible: Iterable[str], n: int | None, seed: int) -> list[str]:
    """The ``n`` projects with the lowest keyed hashes, in that order; all of them where there are fewer, or ``n`` is None."""
    return _in_order(set(eligible), seed, "projects")[:n]


def sample_documents(project: str, documents: Iterable[str], n: int, seed: int) -> list[str]:
    """Up to ``n`` documents of one project, in keyed order."""
    return _in_order(set(documents), seed, "documents", project)[:n]


def sample_areas(
    projects: Sequence[str],
    areas: Sequence[str],
    evidence: Mapping[str, Mapping[str, str]],
    quotas: Mapping[str, int],
    min_projects: int,
    seed: int,
) -> AreaSample:
    """Areas per project: a quota per evidence tier, then a top-up for areas in too few projects.

    ``evidence`` maps project -> area -> tier. For each tier in the order of ``records.TIERS``, a project gets up to
    ``quotas[tier]`` of the areas with that evidence. Then every area that appears in fewer than ``min_projects``
    projects is given to further ones: those with evidence for it first, by tier, then any, each in keyed order.
    Evidence on areas outside ``areas`` is ignored. Rows come by project, quotas before top-ups.
    """
    known = set(areas)
    selected: list[SelectedArea] = []
    holders: dict[str, set[str]] = defaultdict(set)
    for project in projects:
        by_tier: dict[str, list[str]] = defaultdict(list)
        for area, tier in evidence.get(project, {}).items():
            if area in known:
                by_tier[tier].append(area)
        for tier in TIERS:
            for area in _in_order(by_tier[tier], seed, "areas", project)[: quotas.get(tier, 0)]:
                selected.append(SelectedArea(project, area, tier, "quota"))
                holders[area].add(project)

    shortfall: dict[str, int] = {}
    for area in areas:
        missing = min_projects - len(holders[area])
        if missing <= 0:
            continue
        for project in _top_up_order(area, projects, holders[area], evidence, seed)[:missing]:
            selected.append(SelectedArea(project, area, evidence.get(project, {}).get(area), "coverage"))
            holders[area].add(project)
        if len(holders[area]) < min_projects:
            shortfall[area] = len(holders[area])

    rank = {project: i for i, project in enumerate(projects)}
    selected.sort(key=lambda row: rank[row.project])  # stable: the order above holds within a project
    return AreaSample(tuple(selected), shortfall)


def sample_criterion(project: str, area: str, criteria: Iterable[str], seed: int) -> str:
    """The one criterion of ``area`` for ``project``. Raises ValueError for an area without criteria."""
    ordered = _in_order(set(criteria), seed, "criteria", project, area)
    if not ordered:
        raise ValueError(f"area {area!r} has no criteria: leave it out of the areas to sample")
    return ordered[0]


def _top_up_order(
    area: str,
    projects: Iterable[str],
    holders: set[str],
    evidence: Mapping[str, Mapping[str, str]],
    seed: int,
) -> list[str]:
    def place(project: str) -> tuple[int, int, str]:
        tier = evidence.get(project, {}).get(area)
        return (
            TIERS.index(tier) if tier else len(TIERS),
            keyed_order(seed, "coverage", f"{area}\x1f{project}"),
            project,
        )

    return sorted((p for p in projects if p not in holders), key=place)


def _in_order(entities: Iterable[str], seed: int, stage: str, *owners: str) -> list[str]:
    """Entities by keyed hash; a tie of hashes falls back on the entity itself."""
    prefix = "".join(owner + "\x1f" for owner in owners)
    return sorted(entities, key=lambda entity: (keyed_order(seed, stage, prefix + entity), entity))
