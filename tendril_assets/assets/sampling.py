"""The sample: projects, their documents, and the areas and criteria they are judged against."""

from collections.abc import Iterator

import dagster as dg

from tendril_assets.assets.common import Stage, counts, store, table_assets, table_check
from tendril_assets.assets.keys import published_identifiers
from tendril_assets.assets.removal import removal_list
from tendril_assets.corpus.identifiers import NAMED, refuse_collisions, refuse_lookalikes
from tendril_assets.corpus.named_identifiers import refuse_unnameable
from tendril_assets.corpus.sampling import Standing, sample_areas, sample_criterion, sample_documents, sample_projects
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import TABLES


def sampling_assets(spec: CollectionSpec) -> Stage:
    """sampled_projects, sampled_documents, project_areas."""
    collection, rules = spec.collection, spec.sampling

    @table_assets(
        spec, ["sampled_projects", "sampled_documents"], deps=["projects", "documents", "test_projects", "removals"]
    )
    def sample(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        hasher = published_identifiers(warehouse, spec)
        removals = removal_list(warehouse, collection)
        held_out = set(warehouse.load(collection, "test_projects")["project"])
        landed = warehouse.load(collection, "projects", ["project"])["project"].to_list()
        refuse_lookalikes(landed)
        if spec.identifiers.policy == NAMED:
            refuse_unnameable(landed)
        standing = Standing.of(landed, held_out, removals, hasher)
        refuse_collisions("project", standing.groups.items())
        chosen = sample_projects(standing.eligible, rules.n_projects, spec.seed)

        files: dict[str, list[str]] = {project: [] for project in chosen}
        document_of: dict[tuple[str, str], str] = {}
        for project, document in warehouse.load(collection, "documents", ["project", "document"]).iter_rows():
            document_id = hasher.document(project, document)
            if project in files and not removals.has_document(project, document, document_id):
                files[project].append(document)
                document_of[project, document] = document_id
        refuse_collisions("document", ((f"{p}/{d}", i) for (p, d), i in document_of.items()))

        projects = [(project, standing.groups[project], rank) for rank, project in enumerate(chosen, start=1)]
        documents = [
            (project, document, document_of[project, document], rank)
            for project in chosen
            for rank, document in enumerate(
                sample_documents(project, files[project], rules.documents_per_project, spec.seed), start=1
            )
        ]
        frames = {
            "sampled_projects": TABLES["sampled_projects"].frame(projects),
            "sampled_documents": TABLES["sampled_documents"].frame(documents),
        }
        figures = {
            "landed": len(landed),
            "in_test_collection": len(standing.tested),
            "removed": len(standing.removed),
            "wanted": rules.n_projects,
        }
        yield from store(context, warehouse, spec, frames, {"sampled_projects": figures})

    @table_assets(
        spec, ["project_areas"], deps=["sampled_projects", "sampled_documents", "areas", "criteria", "evidence"]
    )
    def project_areas(context: dg.AssetExecutionContext, warehouse: Warehouse) -> Iterator[dg.MaterializeResult]:
        # A project without documents has nothing to judge: an area drawn for it would be paid for and counted in vain.
        with_documents = warehouse.load(collection, "sampled_documents", ["project"]).unique()
        sampled = warehouse.load(collection, "sampled_projects").sort("rank")
        projects = sampled.join(with_documents, on="project", how="semi")["project"].to_list()
        criteria: dict[str, list[str]] = {}
        for area, criterion in warehouse.load(collection, "criteria", ["area", "criterion"]).iter_rows():
            criteria.setdefault(area, []).append(criterion)
        areas = sorted(warehouse.load(collection, "areas", ["area"])["area"])
        usable = [area for area in areas if area in criteria]
        evidence: dict[str, dict[str, str]] = {}
        for project, area, tier in warehouse.load(collection, "evidence").iter_rows():
            evidence.setdefault(project, {})[area] = tier
        drawn = sample_areas(projects, usable, evidence, rules.quotas, rules.min_projects_per_area, spec.seed)
        frame = TABLES["project_areas"].frame(
            [
                (
                    row.project,
                    row.area,
                    sample_criterion(row.project, row.area, criteria[row.area], spec.seed),
                    row.tier,
                    row.reason,
                )
                for row in drawn.selected
            ]
        )
        figures = {
            "by_reason": counts(frame, "reason"),
            "by_tier": counts(frame, "tier"),
            "projects_without_documents": sampled.height - len(projects),
            "areas_per_project": len(drawn.selected) / len(projects) if projects else 0.0,
            "areas_without_criteria": [area for area in areas if area not in criteria],
            "shortfall": dict(drawn.shortfall),
        }
        yield from store(context, warehouse, spec, {"project_areas": frame}, {"project_areas": figures})

    @table_check(
        spec,
        "project_areas",
        "every_area_is_covered",
        description="Areas that appear in fewer projects than the specification asks for.",
        blocking=False,
    )
    def every_area_is_covered(warehouse: Warehouse) -> dg.AssetCheckResult:
        short = warehouse.frame(
            collection,
            "SELECT a.area, count(p.project) AS projects FROM areas a LEFT JOIN project_areas p USING (area) "
            "GROUP BY a.area HAVING count(p.project) < $least ORDER BY a.area",
            least=rules.min_projects_per_area,
        )
        return dg.AssetCheckResult(
            passed=short.is_empty(),
            severity=dg.AssetCheckSeverity.WARN,
            metadata={
                "areas": short.height,
                "least": rules.min_projects_per_area,
                "shortfall": dict(short.head(50).iter_rows()),
            },
        )

    return Stage([sample, project_areas], [every_area_is_covered])
