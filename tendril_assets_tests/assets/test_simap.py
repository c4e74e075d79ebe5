"""From SIMAP to corpus tables by real materialisation: replay server, mirror, landing, extraction, masking."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml

from tendril_assets.assets.corpus import corpus_assets
from tendril_assets.assets.landing import landing_assets
from tendril_assets.assets.simap import PUBLICATIONS, mirror_simap, simap_assets
from tendril_assets.components.retrieval_collection import collection_jobs, stages
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.definitions import resources
from tendril_assets.defs import collection_files
from tendril_assets.defs.tenders.sources import landing_tables
from tendril_assets.errors import LandingError, MissingHashKey
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.settings import Settings
from tendril_assets.spec import CollectionSpec, SimapSpec, read_spec
from tendril_assets_tests.resources.test_simap_mirror import many, three
from tendril_assets_tests.simap_answers import entry, tender, texts
from tendril_assets_tests.simap_server import Platform, SimapServer, recorded

DATA = os.environ.get("TENDRIL_TRIAL_DATA")
KEY = "k" * 40
CATALOG = {
    "catalog": "roads",
    "title": "Strassen",
    "areas": [
        {"id": "beton", "title": "Beton", "text": "Recyclingbeton.", "criteria": [{"id": "b1", "text": "Anteil."}]}
    ],
}


def spec(base_url: str, **simap) -> CollectionSpec:
    asked = {
        "base_url": base_url,
        "requests_per_second": 100,
        "project_sub_types": ["construction", "service", "supply"],
        "publication_types": ["tender"],
    }
    return CollectionSpec.model_validate(
        {
            "collection": "toy",
            "group": "project",
            "subsets": ["area_of_action", "criterion"],
            "simap": asked | simap,
            "sampling": {"n_projects": 50},
            "queries": {"summary": {"model": "m"}},
            "judge": {"llm": {"model": "m"}},
            "models": {},
            "release": {"name": "toy", "version": "1.0.0", "title": "Toy", "licence_name": "x"},
        }
    )


class Home:
    """One installation whose landing folder has catalogs and evidence, and no project or document of its own."""

    def __init__(self, root: Path) -> None:
        self.landing = root / "landing" / "toy"
        (self.landing / "catalogs").mkdir(parents=True)
        (self.landing / "catalogs" / "roads.yaml").write_text(yaml.safe_dump(CATALOG, allow_unicode=True), "utf-8")
        self.evidence()
        self.warehouse = Warehouse(database=str(root / "w.duckdb"), snapshot=str(root / "s.duckdb"))
        self.artifacts = Artifacts(root=str(root / "artifacts"))

    def evidence(self, *rows: str) -> None:
        (self.landing / "evidence.csv").write_text("\n".join(["project,area,tier", *rows]) + "\n", "utf-8")

    def write(self, name: str, text: str) -> None:
        path = self.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def run(self, toy: CollectionSpec, *, corpus: bool = True) -> dg.ExecuteInProcessResult:
        """The job that goes online; without ``corpus`` up to the landing tables, which most tests are about."""
        stages = [simap_assets(toy), landing_assets(toy, landing_tables), *([corpus_assets(toy)] if corpus else [])]
        return dg.materialize(
            [part for stage in stages for part in (*stage.assets, *stage.checks)],
            resources={"warehouse": self.warehouse, "artifacts": self.artifacts},
        )

    def rows(self, table: str, *columns: str) -> list[tuple]:
        return self.warehouse.load("toy", table, list(columns) or None).rows()

    def corpus(self) -> str:
        return "\n\n".join(text for (text,) in self.rows("corpus", "text"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    monkeypatch.setenv("TENDRIL_LANDING", str(tmp_path / "landing"))
    monkeypatch.setenv("TENDRIL_HASH_KEY", KEY)
    monkeypatch.setenv("TENDRIL_WORKERS", "1")
    monkeypatch.delenv("TENDRIL_SIMAP_BASE_URL", raising=False)
    return Home(tmp_path)


@pytest.fixture
def server() -> Iterator[SimapServer]:
    with SimapServer(three()) as running:
        yield running


def figures_of(result: dg.ExecuteInProcessResult) -> dict[str, object]:
    [made] = result.asset_materializations_for_node(f"toy__{PUBLICATIONS}")
    return {name: value.value for name, value in made.metadata.items()}


def test_publications_become_passages_and_only_what_is_new_is_asked_for(home: Home, server: SimapServer) -> None:
    toy = spec(server.base_url)
    first = figures_of(home.run(toy))
    assert (first["projects_found"], first["texts_here"], first["publications_fetched"], first["failed"]) == (
        3,
        3,
        5,
        0,
    )
    projects = {p: (title, str(day), language) for p, title, day, language, _ in home.rows("projects")}
    assert projects == {
        "100": ("Schulhaus Dorf", "2026-08-10", "de"),
        "200": ("École du village", "2026-05-01", "fr"),
        "300": ("Scuola del paese", "2026-01-15", "it"),
    }
    documents = home.rows("documents", "project", "document")
    assert sorted(documents) == [("100", "simap-100-01.txt"), ("200", "simap-200-01.txt"), ("300", "simap-300-01.txt")]
    assert {outcome for (outcome,) in home.rows("document_status", "outcome")} == {"ok"}
    text = home.corpus()
    for sentence in (
        "Der Beton enthält mindestens 40 Prozent Recyclingmaterial.",
        "Le bois provient de forêts gérées durablement.",
        "Il calcestruzzo contiene materiale riciclato.",
        "- Auftragsart: Bauauftrag",
    ):
        assert sentence in text
    assert "simap-" not in text
    assert "100-01" not in text

    server.forget()
    before = home.rows("corpus"), home.rows("documents")
    second = figures_of(home.run(toy))
    assert server.counts == {"search": 3}
    assert (second["publications_fetched"], second["texts_written"]) == (0, 0)
    assert (home.rows("corpus"), home.rows("documents")) == before

    # A new publication is a new document; all the rest keeps its ids.
    title = texts("Brücke")
    described = texts("<p>Für die Brücke wird ausschliesslich Holz aus Schweizer Wäldern verwendet.</p>")
    server.platform.publish(
        entry("400", "400-01", "tender", "2026-09-01", title), tender("400", "400-01", "2026-09-01", title, described)
    )
    home.run(toy)
    assert set(before[0]) < set(home.rows("corpus"))
    assert "Holz aus Schweizer Wäldern" in home.corpus()


def test_removed_projects_go_by_raw_and_by_published_id(home: Home, server: SimapServer) -> None:
    toy = spec(server.base_url)
    home.run(toy, corpus=False)
    published = KeyedHasher(KEY.encode()).group("200")
    home.write("removals.csv", f"kind,id,reason,date\nproject,100,x,2026-09-01\nproject,{published},x,2026-09-01\n")
    server.forget()
    result = home.run(toy, corpus=False)
    assert figures_of(result)["projects_removed"] == 2
    assert server.counts["details"] == 0
    assert home.rows("projects", "project") == [("300",)]
    assert not (home.landing / "simap/100").exists()
    assert home.rows("documents", "document") == [("simap-300-01.txt",)]


def test_a_published_id_needs_the_secret(home: Home, server: SimapServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TENDRIL_HASH_KEY")
    toy = spec(server.base_url)
    assert toy.simap
    home.write("removals.csv", "kind,id,reason,date\nproject,100,x,2026-09-01\n")
    assert mirror_simap(toy.simap, "toy", Settings.from_env(), print).projects == 2
    home.write("removals.csv", f"kind,id,reason,date\nproject,g-{'0' * 20},x,2026-09-01\n")
    with pytest.raises(MissingHashKey):
        mirror_simap(toy.simap, "toy", Settings.from_env(), print)


def test_a_list_of_its_own_gets_texts_only_for_its_projects(home: Home, server: SimapServer) -> None:
    home.write("projects.csv", "project,title,published,language,cpv\n200,Mein Titel,,fr,\nown,Eigenes,,de,\n")
    home.write("documents/own/a.txt", "Der Sand stammt aus einer Grube in der Nähe der Baustelle der Gemeinde.")
    home.run(spec(server.base_url), corpus=False)
    assert sorted(home.rows("projects", "project", "title")) == [("200", "Mein Titel"), ("own", "Eigenes")]
    assert sorted(home.rows("documents", "project", "document")) == [("200", "simap-200-01.txt"), ("own", "a.txt")]


def test_projects_of_the_search_without_text_or_evidence_do_not_land(home: Home, server: SimapServer) -> None:
    home.evidence("300,beton,unsure")
    home.write("documents/200/plan.txt", "Der Beton wird auf der Baustelle gemischt und vor Ort eingebaut.")
    home.run(spec(server.base_url, publication_types=["advance_notice"]), corpus=False)
    # 100 has nothing, 200 a document of its own, 300 evidence.
    assert sorted(home.rows("projects", "project")) == [("200",), ("300",)]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("100/100-01.txt", b"edited", r"simap/100/100-01.txt is not the text that was mirrored; run `tendril simap`"),
        ("100/100-01.txt", None, r"simap/100/100-01.txt cannot be read: No such file .*run `tendril simap`"),
        ("100/.state.json", b"{", r"simap/100/.state.json: .*run `tendril simap`"),
        ("100/.state.json", b"{}", r"simap/100/.state.json: .*run `tendril simap`"),
        ("projects.jsonl", b'{"project": "1", "title": "x"}\n', r"projects.jsonl: column language is missing"),
        (
            "projects.jsonl",
            b'{"project": "1", "title": "x", "language": "de"}\n{"project": "1", "title": "x", "language": "rm"}\n',
            r"projects.jsonl: row 2: language is 'rm'.*This file is the mirror's own: run `tendril simap`",
        ),
        ("projects.jsonl", None, r"projects.jsonl is missing: .*run `tendril simap`"),
        ("100/plan.pdf", b"%PDF", r"simap/100/plan.pdf is no file of the mirror; put it into .*documents/100/"),
    ],
)
def test_a_damaged_mirror_is_named_and_what_to_do(
    home: Home, server: SimapServer, name: str, data: bytes | None, expected: str
) -> None:
    toy = spec(server.base_url)
    assert toy.simap
    mirror_simap(toy.simap, "toy", Settings.from_env(), print)
    whole = landing_tables(home.landing, toy)["documents"]
    path = home.landing / "simap" / name
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)
    with pytest.raises(LandingError, match=expected):
        landing_tables(home.landing, toy)
    if name != "100/plan.pdf":
        mirror_simap(toy.simap, "toy", Settings.from_env(), print)
        assert landing_tables(home.landing, toy)["documents"].equals(whole)


def test_a_text_not_noted_yet_is_left_out(home: Home, server: SimapServer) -> None:
    toy = spec(server.base_url)
    assert toy.simap
    mirror_simap(toy.simap, "toy", Settings.from_env(), print)
    state = home.landing / "simap/100/.state.json"
    noted = json.loads(state.read_bytes())
    noted["publications"]["100-01"] |= {"text": None, "rendered": None}
    state.write_text(json.dumps(noted), "utf-8")
    assert "100" not in set(landing_tables(home.landing, toy)["documents"]["project"])


def test_only_one_job_goes_online(home: Home, server: SimapServer) -> None:
    toy = spec(server.base_url)
    built = [landing_assets(toy, landing_tables), *stages(toy)]
    loaded = dg.Definitions(
        assets=[asset for stage in built for asset in stage.assets],
        jobs=collection_jobs(toy),
        resources=resources(Settings.from_env()),
    )
    online = {
        job.name
        for job in loaded.resolve_all_job_defs()
        if dg.AssetKey(["toy", PUBLICATIONS]) in job.asset_layer.selected_asset_keys
    }
    assert {name for name in online if not name.startswith("__")} == {"toy_simap"}
    graph = loaded.resolve_asset_graph()
    assert graph.get(dg.AssetKey(["toy", "projects"])).parent_keys == {dg.AssetKey(["toy", PUBLICATIONS])}
    node = graph.get(dg.AssetKey(["toy", PUBLICATIONS]))
    assert (node.group_name, node.pools) == ("toy_simap", {"simap"})
    without = toy.model_copy(update={"simap": None})
    assert simap_assets(without) == ([], [])
    assert "toy_simap" not in {job.name for job in collection_jobs(without)}


def test_production_reads_simap_and_the_sample_does_not() -> None:
    for path in collection_files().values():
        assert read_spec(path).simap is None or read_spec(path, "sandbox").simap is None
    assert any(read_spec(path).simap for path in collection_files().values())


def test_where_and_how_fast_is_no_part_of_the_identity() -> None:
    one, other = spec("https://a.example/api"), spec("https://b.example/api", requests_per_second=1)
    assert one.simap
    assert other.simap
    assert one.fingerprint() == other.fingerprint()
    assert one.simap.fingerprint() == other.simap.fingerprint()
    assert one.fingerprint() != spec("https://a.example/api", languages=["fr"]).fingerprint()
    assert one.with_profile(None).simap == one.simap
    overlaid = one.model_copy(update={"profiles": {"x": {"seed": 1}, "y": {"simap": None}}})
    assert overlaid.with_profile("x").simap == one.simap
    assert overlaid.with_profile("y").simap is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"project_sub_types": []}, "needs search, project_sub_types or issued_by_organizations"),
        ({"base_url": "simap.ch"}, "should look like https://host/api"),
        ({"base_url": "https://user:secret@simap.ch/api"}, "should look like https://host/api"),
        ({"published_from": "2026-02-01", "published_until": "2026-01-31"}, "is after published_until"),
        ({"languages": ["de", "de"]}, "a language occurs twice"),
        ({"search": "ab"}, "search"),
        ({"publication_types": ["contract"]}, "publication_types"),
        ({"cantons": ["Bern"]}, "cantons"),
        ({"requests_per_second": 0}, "requests_per_second"),
    ],
)
def test_a_search_that_cannot_be_asked_is_refused_when_the_specification_is_read(changes: dict, expected: str) -> None:
    with pytest.raises(ValueError, match=re.escape(expected)):
        SimapSpec.model_validate({"project_sub_types": ["service"]} | changes)


@pytest.mark.skipif(not DATA, reason="TENDRIL_TRIAL_DATA names no folder of public trial data")
def test_recorded_answers_from_the_search_to_the_corpus(home: Home) -> None:
    platform = recorded(Path(DATA or "") / "simap")
    # Recorded are the details of three; the other twenty are only in the search.
    with SimapServer(platform, page_size=20) as server:
        toy = spec(server.base_url, publication_types=["tender", "award"], search="Bahn")
        known = {json.loads(body)["base"]["projectNumber"] for body in platform.details.values()}
        home.write(
            "projects.csv",
            "project,title,published,language,cpv\n" + "".join(f"{number},x,,de,\n" for number in sorted(known)),
        )
        result = figures_of(home.run(toy))
        assert result["texts_here"] == 3
        # The tenders before both awards are not recorded, nor is the award of the second lot.
        assert result["failed"] == 3
        assert result["new_fields"] == "| field | times |\n|---|---|\n"
        server.forget()
        home.run(toy, corpus=False)
        # What is before the awards of the two lots cannot be known without their tender.
        assert server.counts == {"search": 1, "past": 2, "details": 3}
    text = home.corpus()
    for sentence in (
        "Die Liegenschaften werden von einer Büro- und Labornutzung wieder in Wohnraum umgewandelt. Der Auftrag beinhaltet",
        "Die Anbieterin muss über ein hinreichendes Umweltmanagement verfügen.",
        "ein breites Sortiment sogenannter Marketingartikel",
        "ZK 1 Preis (Gewichtung 55 %)",
    ):
        assert text.count(sentence) == 1, sentence
    assert not re.search(r"<(?!(?:EMAIL|PHONE|URL|PERSON|ADDRESS)_\d+>)|&\w+;|@|\u00a0", text)


def test_a_platform_of_many_is_followed_in_the_log(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tendril_assets.resources.simap_mirror.PROGRESS_EVERY_S", 0.0)
    lines: list[str] = []
    with SimapServer(many(4), page_size=3) as server:
        toy = spec(server.base_url)
        assert toy.simap
        mirror_simap(toy.simap, "toy", Settings.from_env(), lines.append)
    assert "searching: 4 projects so far" in lines
    assert "4 projects found, 4 here or to come, 4 to be asked for" in lines
    assert re.fullmatch(r"1 projects done, 3 open, [\d.]+ projects/s, \d+ requests, about \d+ min left", lines[-4])
    assert re.fullmatch(r"4 projects done, 0 open, [\d.]+ projects/s, \d+ requests", lines[-1])


def test_platform_of_the_tests_refuses_what_the_real_one_refuses(server: SimapServer) -> None:
    assert server.answer("/api/publications/v2/project/project-search?lang=de").status == 400
    assert isinstance(server.platform, Platform)
