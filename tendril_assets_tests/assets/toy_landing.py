"""A small landing folder on disk that tests change, and the landing and corpus stages over it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets.corpus import corpus_assets
from tendril_assets.assets.landing import landing_assets
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.defs import collection_spec
from tendril_assets.defs.tenders.sources import landing_tables
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_corpus import SamplingSpec

KEY = "k" * 40
HASHER = KeyedHasher(KEY.encode())
COLLECTION = "tenders"
DRAWN = 3
SANDBOX = collection_spec(COLLECTION, "sandbox")
SPEC = SANDBOX.model_copy(update={"sampling": SamplingSpec(n_projects=DRAWN, min_projects_per_area=0)})

CATALOG = "catalog: c\ntitle: C\nareas:\n- {id: wood, title: Holz, text: Holz., criteria: [{id: w1, text: Label.}]}\n"
THINGS = ("Holz", "Beton", "Kies", "Stahl", "Glas", "Lehm", "Kalk", "Ton")


def paragraph(project: str, number: int) -> str:
    """A paragraph that shares no run of five words with any other."""
    thing, other = THINGS[number % len(THINGS)], THINGS[(number + 3) % len(THINGS)]
    return (
        f"{thing} für {project} wird {project}{number} Mal geprüft; {other} bleibt {project}{number} Wochen liegen und "
        f"{thing} {project}{number} trägt ein Label von {other} {project}{number} oder mehr."
    )


class Run(NamedTuple):
    """Data version of each table, and the metadata figures of all tables by name."""

    success: bool
    versions: dict[str, str]
    figures: dict[str, Any]
    checks: dict[str, dg.AssetCheckEvaluation]

    def work(self) -> dict[str, int]:
        return {name: self.figures[name] for name in ("read_now", "read_before", "masked_now", "masked_before")}


class Toy:
    """``root`` holds ``landing/tenders`` and ``home``."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "landing" / COLLECTION
        home = root / "home"
        self.warehouse = Warehouse(database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"))
        self.artifacts = Artifacts(root=str(home / "artifacts"))

    def projects(self, *names: str) -> None:
        rows = [f"{name},Titel {name},,de," for name in names]
        self._text("projects.csv", "project,title,published,language,cpv", *rows)

    def removals(self, *rows: str) -> None:
        self._text("removals.csv", "kind,id,reason,date", *(f"{row},Begehren,2026-05-01" for row in rows))

    def document(self, project: str, name: str, *paragraphs: str) -> Path:
        path = self.folder / "documents" / project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(paragraphs), encoding="utf-8")
        return path

    def _text(self, name: str, *lines: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def fill(self, *projects: str) -> None:
        """Two documents of two paragraphs each per project, and the files a landing needs."""
        self._text("evidence.csv", "project,area,tier")
        self._text("catalogs/c.yaml", CATALOG)
        self._text("test/projects.csv", "project", "tested")
        for name in ("corpus.jsonl", "queries.jsonl"):
            self._text(f"test/{name}", *_TEST[name])
        self._text("test/qrels.tsv", "query-id\tcorpus-id\tscore", "q\tt\t1")
        self.projects(*projects)
        for project in projects:
            self.document(project, "a.txt", paragraph(project, 1), paragraph(project, 2) + CONTACT)
            self.document(project, "b.txt", paragraph(project, 3), paragraph(project, 4))

    def run(
        self, spec: CollectionSpec = SPEC, *, check: bool = False, instance: dg.DagsterInstance | None = None
    ) -> Run:
        """All assets of both stages, and with ``check`` their checks."""
        stages = [landing_assets(spec, landing_tables), corpus_assets(spec)]
        result = dg.materialize(
            [part for stage in stages for part in (*stage.assets, *(stage.checks if check else ()))],
            resources={"warehouse": self.warehouse, "artifacts": self.artifacts},
            instance=instance or dg.DagsterInstance.ephemeral(),
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        versions, figures = {}, {}
        for event in result.get_asset_materialization_events():
            made = event.step_materialization_data.materialization
            versions[made.asset_key.path[-1]] = (made.tags or {})["dagster/data_version"]
            figures |= {name: value.value for name, value in made.metadata.items()}
        checks = {e.check_name: e for e in result.get_asset_check_evaluations()}
        return Run(result.success, versions, figures, checks)

    def table(self, name: str) -> pl.DataFrame:
        return self.warehouse.load(COLLECTION, name)

    def texts(self, **where: str) -> set[str]:
        return set(self.table("corpus").filter(**where)["text"])

    def states(self) -> dict[str, str]:
        return dict(self.table("project_status").select("project", "state").iter_rows())


_TEST = {
    "corpus.jsonl": ['{"id": "t", "text": "Text", "project": "g", "document": "d", "page": 1}'],
    "queries.jsonl": ['{"id": "q", "text": "Holz", "level": "criterion", "catalog": "c", "area": "wood"}'],
}
CONTACT = " Auskunft erteilt Frau Petra Odermatt unter petra.odermatt@bsp.ch gerne."


def prepared(tmp: Path, patch: pytest.MonkeyPatch, *projects: str) -> Toy:
    """A filled folder and the settings for it."""
    toy = Toy(tmp / "toy")
    for name, value in {
        "TENDRIL_HOME": str(toy.root / "home"),
        "TENDRIL_LANDING": str(toy.folder.parent),
        "TENDRIL_HASH_KEY": KEY,
        "TENDRIL_WORKERS": "1",
        "TENDRIL_PROFILE": "sandbox",
    }.items():
        patch.setenv(name, value)
    patch.delenv("GHEIM_API_KEY", raising=False)
    toy.fill(*projects)
    return toy


class Base(NamedTuple):
    """A toy after one run, and a copy of it to go back to: every test starts there, in the same place."""

    toy: Toy
    first: Run
    copy: Path

    def restored(self) -> Toy:
        shutil.rmtree(self.toy.root)
        shutil.copytree(self.copy, self.toy.root)
        return self.toy


def built(tmp: Path, *projects: str) -> Iterator[Base]:
    with pytest.MonkeyPatch.context() as patch:
        toy = prepared(tmp, patch, *projects)
        first = toy.run()
        assert first.success
        shutil.copytree(toy.root, tmp / "copy")
        yield Base(toy, first, tmp / "copy")
