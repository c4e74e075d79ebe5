"""The corpus stage on a made-up collection: a temporary warehouse, real files, real child processes."""

import hashlib
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets.corpus import corpus_assets, label_shares, share_jumps
from tendril_assets.corpus.anonymize import PLACEHOLDER
from tendril_assets.corpus.identifiers import KeyedHasher
from tendril_assets.corpus.passages import decide_passages
from tendril_assets.errors import HashKeyChanged
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.delivered import FILE_ROWS, landed_rows, read_delivered
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec import CollectionSpec
from tendril_assets.tables import LANDING, TABLES

KEY = "k" * 40
HASHER = KeyedHasher(KEY.encode())
HOLZ = "Das Holz muss aus nachhaltiger Waldwirtschaft stammen und mit einem anerkannten Label ausgezeichnet sein."
BETON = "Der Beton enthält mindestens vierzig Prozent Recyclingmaterial aus der näheren Umgebung der Baustelle."
SAND = "Der Sand stammt aus einer Grube in höchstens dreissig Kilometern Entfernung vom Bauplatz der Gemeinde."
KONTAKT = (
    "Auskunft erteilt Frau Petra Odermatt, Telefon 031 322 11 11, E-Mail petra.odermatt@bsp.ch, während der Bürozeiten."
)
UNTERSCHRIFT = "Petra Odermatt leitet das Projekt und nimmt die Fragen der Anbietenden zur Ausschreibung entgegen."
NUR_OFFERTE = "Die Ausschreibungsunterlagen dürfen nur für die Ausarbeitung des Angebots verwendet werden."
KURZ = "Mail an: petra.odermatt@bsp.ch"  # masked: "Mail an: <EMAIL_1>", 18 characters

KONTAKT_MASKED = "Auskunft erteilt Frau <PERSON_1>, Telefon <PHONE_1>, E-Mail <EMAIL_1>, während der Bürozeiten."
PUBLISHED = {
    HOLZ,
    KONTAKT_MASKED,
    "<PERSON_1> leitet das Projekt und nimmt die Fragen der Anbietenden zur Ausschreibung entgegen.",
    SAND,
}


def spec(**changes) -> CollectionSpec:
    body = {
        "collection": "toy",
        "group": "project",
        "subsets": ["area_of_action", "criterion"],
        "sampling": {"n_projects": 5, "min_projects_per_area": 2},
        "extraction": {"timeout_s": 60},
        "queries": {"summary": {"model": "m"}},
        "judge": {"llm": {"model": "m"}},
        "models": {},
        "release": {"name": "toy", "version": "1.0.0", "title": "Toy", "licence_name": "x"},
    }
    return CollectionSpec.model_validate(body | changes)


class Home:
    """One installation in a temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.warehouse = Warehouse(database=str(root / "w.duckdb"), snapshot=str(root / "s.duckdb"))
        self.artifacts = Artifacts(root=str(root / "artifacts"))
        self.documents: list[tuple] = []
        self.delivered: list[tuple] = []
        self.removals: list[tuple] = []
        self.reviews: list[tuple] = []
        self.projects = ["alpha", "beta", "gamma", "delta", "tested", "gone"]

    def write(self, project: str, name: str, *paragraphs: str) -> None:
        path = self.root / "landing" / project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(paragraphs), encoding="utf-8")
        data = path.read_bytes()
        self.documents.append((project, name, str(path), hashlib.sha256(data).hexdigest(), len(data), False))

    def land(self) -> None:
        frames = {table.name: table.empty() for table in LANDING}
        documents = list(self.documents)
        if self.delivered:
            path = self.root / "passages.jsonl"
            ordered = pl.DataFrame(self.delivered, schema=FILE_ROWS.schema, orient="row").sort(FILE_ROWS.key)
            ordered.drop("position").write_ndjson(path)
            frames["delivered_passages"], delivered = landed_rows(read_delivered(path), path)
            documents += delivered
        rows = {
            "projects": [(p, f"Title {p}", None, "de", None) for p in self.projects],
            "documents": documents,
            "areas": [("cat", "wood", "Wood", "text"), ("cat", "concrete", "Concrete", "text")],
            "criteria": [
                ("cat", "wood", "w1", "x", None, None, None),
                ("cat", "concrete", "c1", "x", None, None, None),
            ],
            "evidence": [("alpha", "wood", "validated_relevant"), ("beta", "concrete", "unsure")],
            "removals": [(kind, raw, "asked", date(2026, 1, 1)) for kind, raw in self.removals],
            "restriction_reviews": [(project, verdict, "seen", date(2026, 5, 1)) for project, verdict in self.reviews],
            "test_projects": [("tested",)],
        }
        self.warehouse.replace("toy", frames | {n: TABLES[n].frame(r) for n, r in rows.items()}, "landing")

    def run(self, raise_on_error: bool = True, **changes) -> dg.ExecuteInProcessResult:
        self.land()
        stage = corpus_assets(spec(**changes))
        return dg.materialize(
            [*stage.assets, *stage.checks],
            resources={"warehouse": self.warehouse, "artifacts": self.artifacts},
            raise_on_error=raise_on_error,
        )

    def rows(self, table: str, *columns: str) -> list[tuple]:
        return self.warehouse.load("toy", table, list(columns) or None).rows()

    def texts(self) -> set[str]:
        return {text for (text,) in self.rows("corpus", "text")}


def installation(root: Path, patch: pytest.MonkeyPatch) -> Home:
    patch.setenv("TENDRIL_HOME", str(root))
    patch.setenv("TENDRIL_HASH_KEY", KEY)
    patch.setenv("TENDRIL_WORKERS", "1")
    patch.delenv("GHEIM_API_KEY", raising=False)
    made = Home(root)
    made.write("alpha", "a.txt", HOLZ, KONTAKT, UNTERSCHRIFT, KURZ)
    made.write("alpha", "b.txt", HOLZ)
    made.write("beta", "c.txt", NUR_OFFERTE, BETON)
    made.write("gamma", "broken.pdf", "no PDF at all")
    made.write("tested", "t.txt", HOLZ)
    made.delivered += [("delta", "d", 3, 0, SAND), ("delta", "d", 4, 1, "12 34 56 78 90 12 34 56 78 90")]
    made.removals.append(("project", "gone"))
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return installation(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, dg.ExecuteInProcessResult]]:
    """One run that several tests look at; none of them changes it."""
    with pytest.MonkeyPatch.context() as patch:
        made = installation(tmp_path_factory.mktemp("built"), patch)
        yield made, made.run()


def checks(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {e.check_name: e.passed for e in result.get_asset_check_evaluations()}


def check_named(name: str, **changes) -> dg.AssetChecksDefinition:
    return next(c for c in corpus_assets(spec(**changes)).checks if c.check_key.name == name)


Built = tuple[Home, dg.ExecuteInProcessResult]


def test_the_whole_stage(built: Built) -> None:
    home, _ = built
    # sampled: all that are neither in the test collection nor removed
    assert {p for p, _ in home.rows("sampled_projects", "project", "rank")} == {"alpha", "beta", "gamma", "delta"}
    states = dict(home.rows("project_status", "project", "state"))
    assert states == {
        "alpha": "in_corpus",
        "beta": "restricted",
        "gamma": "failed",
        "delta": "in_corpus",
        "tested": "test_collection",
        "gone": "removed",
    }
    assert home.rows("restricted_projects") == [("beta", "c.txt", 1, "de", "offer_only", NUR_OFFERTE)]

    outcomes = {d: (o, v) for d, o, v in home.rows("document_status", "document", "outcome", "extractor_version")}
    assert outcomes["d"] == ("ok", "delivered")
    assert outcomes["broken.pdf"][0] == "parse_failed"

    # HOLZ stands in two documents of alpha: one stays
    reasons = [reason for (reason,) in home.rows("passage_decisions", "reason")]
    # and the two passages of beta, whose documents are for preparing an offer only
    restricted = ["restricted_project"] * 2
    assert sorted(r for r in reasons if r) == ["digits_or_symbols", "near_duplicate", *restricted, "too_short"]
    assert home.texts() == PUBLISHED
    ids = {(g, d, page) for g, d, page in home.rows("corpus", "group_id", "document_id", "page")}
    assert (HASHER.group("delta"), HASHER.document("delta", "d"), 3) in ids
    assert not {"alpha", "delta", "a.txt"} & {v for row in home.rows("corpus") for v in row}
    counted = {
        label: n for d, label, n in home.rows("anonymized_entities", "document", "label", "entities") if d == "a.txt"
    }
    assert counted == {"EMAIL": 2, "PERSON": 2, "PHONE": 1}


def test_blocking_checks_pass_and_one_bad_document_is_only_a_row(built: Built) -> None:
    home, result = built
    assert result.success
    found = checks(result)
    assert found["ids_are_unique_and_texts_within_bounds"]
    assert found["no_residual_personal_data"]
    assert found["nothing_removed_is_left"]
    # one of five documents without text: 0.2 is within the default limit of 0.2, and above 0.1
    assert found["most_documents_were_read"]
    strict = check_named("most_documents_were_read", extraction={"max_failed_share": 0.1})
    assert not strict(home.warehouse).passed
    [(_, error)] = [r for r in home.rows("project_status", "project", "last_error") if r[0] == "gamma"]
    assert error.startswith("broken.pdf: parse_failed")


def test_a_second_run_reads_and_masks_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.run()
    before = {table: home.rows(table) for table in ("corpus", "passages", "document_status", "project_status")}

    def nothing(jobs, *_):
        assert list(jobs) == []
        return iter(())

    def no_detection(*_):
        raise AssertionError("a text was searched again")

    monkeypatch.setattr("tendril_assets.assets.reading.read_documents", nothing)
    monkeypatch.setattr("tendril_assets.resources.detector.LocalDetector.detect", no_detection)
    home.run()
    for table, rows in before.items():
        assert sorted(home.rows(table), key=repr) == sorted(rows, key=repr)


@pytest.mark.parametrize(
    ("removals", "gone"),
    [
        # the copy of a removed passage in another document of the project goes with it
        ([("project", "delta"), ("passage", HASHER.passage("alpha", "b.txt", HOLZ))], {SAND, HOLZ}),
        ([("project", HASHER.group("delta")), ("document", HASHER.document("alpha", "a.txt"))], PUBLISHED - {HOLZ}),
        ([("document", "alpha/a.txt"), ("passage", "delta/d/3/0")], PUBLISHED - {HOLZ}),
    ],
)
def test_what_is_removed_is_in_no_table(home: Home, removals: list[tuple[str, str]], gone: set[str]) -> None:
    home.removals += removals
    result = home.run()
    assert checks(result)["nothing_removed_is_left"]
    assert home.texts() == PUBLISHED - gone
    raw = " ".join(text for (text,) in home.rows("passages", "text"))
    assert SAND not in raw
    assert ("Odermatt" in raw) == (KONTAKT_MASKED not in gone)


def test_another_secret_is_refused_before_anything_is_written(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.run()
    before = home.rows("sampled_projects")
    monkeypatch.setenv("TENDRIL_HASH_KEY", "other" * 10)
    with pytest.raises(HashKeyChanged):
        home.run()
    assert home.rows("sampled_projects") == before
    assert home.warehouse.meta_get("toy", "hash_key_fingerprint") == HASHER.fingerprint


def test_personal_data_in_the_corpus_blocks(home: Home) -> None:
    home.run()
    corpus = home.warehouse.load("toy", "corpus")
    leaky = corpus.with_columns(text=pl.lit("Auskunft gibt Herr Odermatt, Telefon 031 322 11 11."))
    home.warehouse.replace("toy", {"corpus": leaky}, "test")
    check = check_named("no_residual_personal_data")
    outcome = check(home.warehouse, home.artifacts)
    assert not outcome.passed
    assert check.check_key.asset_key == dg.AssetKey(["toy", "corpus"])
    assert "Odermatt" not in repr(outcome.metadata)


def test_areas_left_with_too_few_projects_are_counted(built: Built) -> None:
    home, result = built
    # each area was drawn for two projects; the restricted one is among those of one area at least
    drawn = home.rows("project_areas", "project", "area")
    short = {area for project, area in drawn if project == "beta"}
    assert short
    [evaluation] = [e for e in result.get_asset_check_evaluations() if e.check_name == "areas_keep_their_projects"]
    assert not evaluation.passed
    assert evaluation.severity == dg.AssetCheckSeverity.WARN
    assert evaluation.metadata["areas"].value == len(short)
    assert evaluation.metadata["projects_left"].value == dict.fromkeys(sorted(short), 1)
    # fewer wanted than are left: nothing to warn of
    assert check_named("areas_keep_their_projects", sampling={"min_projects_per_area": 1})(home.warehouse).passed


def test_a_person_decides_over_the_rules_in_both_directions(home: Home) -> None:
    home.reviews = [("beta", "free"), ("alpha", "restricted")]
    home.run()
    assert home.rows("restricted_projects") == [("alpha", "restriction_reviews.csv", 0, "de", "review", "seen")]
    assert home.rows("cleared_restrictions") == [
        ("beta", "c.txt", 1, "de", "offer_only", NUR_OFFERTE, "seen", date(2026, 5, 1))
    ]
    states = dict(home.rows("project_status", "project", "state"))
    assert (states["alpha"], states["beta"]) == ("restricted", "in_corpus")
    assert BETON in home.texts()
    assert HOLZ not in home.texts()
    # taken back, the rules decide again
    home.reviews = []
    home.run()
    assert home.texts() == PUBLISHED
    assert home.rows("cleared_restrictions") == []


def test_areas_come_by_quota_and_are_topped_up(built: Built) -> None:
    home, _ = built
    rows = home.rows("project_areas", "project", "area", "criterion", "tier", "reason")
    assert ("alpha", "wood", "w1", "validated_relevant", "quota") in rows
    assert ("beta", "concrete", "c1", "unsure", "quota") in rows
    # each area in two projects: one by quota, one topped up without evidence
    assert sorted((area, tier, reason) for _, area, _, tier, reason in rows if reason == "coverage") == [
        ("concrete", None, "coverage"),
        ("wood", None, "coverage"),
    ]


def test_placeholders_of_two_documents_both_count_from_one(home: Home) -> None:
    home.write(
        "gamma", "second.txt", "Auskunft gibt Herr Xaver Zgraggen von der Bauherrschaft in allen Fragen der Planung."
    )
    home.run()
    numbers = {m[0] for text in home.texts() for m in PLACEHOLDER.finditer(text) if m[1] == "PERSON"}
    assert numbers == {"<PERSON_1>"}


def test_a_label_share_that_jumps_is_named() -> None:
    entities = TABLES["anonymized_entities"].frame(
        [("p", "d", "URL", 1), ("p", "e", "PERSON", 2), ("q", "d", "URL", 1)]
    )
    assert label_shares(entities) == {"PERSON": 0.5, "URL": 0.5}  # 2 of 4 and 1 + 1 of 4
    assert share_jumps({"PERSON": 0.5, "URL": 0.5}, {"PERSON": 0.75, "URL": 0.25}) == {"PERSON": 0.25, "URL": -0.25}
    assert share_jumps({"PERSON": 0.5, "URL": 0.5}, {"PERSON": 0.55, "URL": 0.45}) == {}
    assert share_jumps({}, {"PERSON": 1.0}) == {}


def test_unchanged_passages_are_not_decided_again(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    decided: list[int] = []

    def count(*arguments):
        decided.append(1)
        return decide_passages(*arguments)

    monkeypatch.setattr("tendril_assets.assets.decisions.decide_passages", count)

    def again() -> int:
        decided.clear()
        home.run()
        return len(decided)

    assert again() == 1
    first = {table: sorted(home.rows(table), key=repr) for table in ("passage_decisions", "guarded_pairs")}
    assert again() == 0
    assert {table: sorted(home.rows(table), key=repr) for table in first} == first
    # another passage, another rule, a damaged hand-over, a table that another run has written since
    home.write("alpha", "d.txt", BETON)
    assert (again(), again()) == (1, 0)
    monkeypatch.setattr("tendril_assets.assets.decisions.RULE_VERSION", "another")
    assert (again(), again()) == (1, 0)
    home.artifacts.exchange("toy", "last_guarded").write_bytes(b"no parquet")
    assert (again(), again()) == (1, 0)
    table = home.warehouse.load("toy", "passage_decisions")
    home.warehouse.replace("toy", {"passage_decisions": table.with_columns(reason=pl.lit(None, pl.String))}, "test")
    assert (again(), again()) == (1, 0)
