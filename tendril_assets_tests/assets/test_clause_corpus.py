"""A collection of acts up to the corpus: cut once, named, unmasked, with its published gold in its place."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl
import pytest

from tendril_assets.assets import clause_reading
from tendril_assets.assets.corpus import corpus_assets
from tendril_assets.assets.erasure import erasure_assets
from tendril_assets.assets.keys import published_identifiers
from tendril_assets.assets.landing import landing_assets
from tendril_assets.corpus.content_check import content_check
from tendril_assets.defs import collection_spec
from tendril_assets.defs.regulations.sources import landing_tables
from tendril_assets.errors import HashKeyChanged
from tendril_assets.resources.artifacts import Artifacts
from tendril_assets.resources.warehouse import Warehouse
from tendril_assets.spec_corpus import ChunkingSpec
from tendril_assets_tests.assets.toy_landing import KEY

COLLECTION = "regulations"
SPEC = collection_spec(COLLECTION, "sandbox").model_copy(
    update={"chunking": ChunkingSpec(policy="clauses", max_tokens=64, overlap_tokens=0)}
)
FIRST, SECOND = "1-П_01062020", "2-У_02062020"
THINGS = ("залог", "резерв", "отчет", "вклад", "заем", "кредит", "лимит", "баланс")


def act(*clauses: str) -> str:
    return "\n".join(["Глава 1. Общие положения", *clauses])


def clause(number: int, thing: str) -> str:
    return f"1.{number}. Банк оценивает {thing} ежегодно и хранит {thing} в отдельном помещении под ключом."


class Acts:
    """``root`` holds ``landing/regulations`` and ``home``."""

    def __init__(self, root: Path) -> None:
        self.folder, home = root / "landing" / COLLECTION, root / "home"
        self.folder.mkdir(parents=True)
        self.texts = {
            ("1-П", "2020-06-01"): [clause(n, THINGS[n]) for n in range(1, 7)],
            ("2-У", "2020-06-02"): [clause(n, THINGS[-n]) for n in range(1, 4)],
        }
        self.warehouse = Warehouse(database=str(home / "warehouse.duckdb"), snapshot=str(home / "snapshot.duckdb"))
        self.artifacts = Artifacts(root=str(home / "artifacts"))

    def write(self, *qrels: tuple[str, str, str], removals: tuple[str, ...] = ()) -> None:
        rows = [
            {"number": number, "date": date, "title": f"О порядке {number}", "text": act(*clauses)}
            for (number, date), clauses in self.texts.items()
        ]
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (self.folder / "acts.jsonl").write_text(lines + "\n", encoding="utf-8")
        table = ["query-id\tcorpus-id\tscore\tcheck", *("\t".join([q, p, "2", check]) for q, p, check in qrels)]
        (self.folder / "published_qrels.tsv").write_text("\n".join(table) + "\n", encoding="utf-8")
        entries = ["kind,id,reason,date", *(f"{entry},Begehren,2026-05-01" for entry in removals)]
        (self.folder / "removals.csv").write_text("\n".join(entries) + "\n", encoding="utf-8")

    def run(self) -> tuple[dict[str, Any], dict[str, dg.AssetCheckEvaluation]]:
        """Figures of the materialisations, and the checks."""
        stages = [landing_assets(SPEC, landing_tables), corpus_assets(SPEC), erasure_assets(SPEC)]
        result = dg.materialize(
            [part for stage in stages for part in (*stage.assets, *stage.checks)],
            resources={"warehouse": self.warehouse, "artifacts": self.artifacts},
            instance=dg.DagsterInstance.ephemeral(),
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
        figures: dict[str, Any] = {}
        for event in result.get_asset_materialization_events():
            figures |= {
                name: value.value for name, value in event.step_materialization_data.materialization.metadata.items()
            }
        return figures, {one.check_name: one for one in result.get_asset_check_evaluations()}

    def table(self, name: str) -> pl.DataFrame:
        return self.warehouse.load(COLLECTION, name)

    def texts_of(self, group: str) -> dict[str, str]:
        return dict(self.table("corpus").filter(group_id=group).select("passage_id", "text").iter_rows())


@pytest.fixture
def acts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Acts:
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TENDRIL_LANDING", str(tmp_path / "landing"))
    monkeypatch.setenv("TENDRIL_HASH_KEY", KEY)
    monkeypatch.setenv("TENDRIL_WORKERS", "1")
    return Acts(tmp_path)


def test_acts_are_cut_once_and_gold_is_watched(acts: Acts, monkeypatch: pytest.MonkeyPatch) -> None:
    acts.write()
    figures, checks = acts.run()
    assert (figures["read_now"], figures["read_before"], figures["detector"]) == (2, 0, "none")
    assert {name for name, check in checks.items() if not check.passed} == set()
    assert {"every_passage_has_its_place", "gold_stands_where_it_stood"} <= checks.keys()
    # nothing is looked for that a public document may hold
    assert not {"no_residual_personal_data", "every_document_was_masked"} & checks.keys()
    first, second = acts.texts_of(FIRST), acts.texts_of(SECOND)
    assert list(first) == [f"{FIRST}#{n:04d}" for n in range(len(first))]
    heading, _, body = first[f"{FIRST}#0000"].partition("\n")
    assert heading == "1-П от… Глава 1. Общие положения"  # of 64 tokens an eighth for the title
    assert body.startswith(acts.texts["1-П", "2020-06-01"][0])
    places = acts.table("passage_clauses").filter(project=FIRST)
    assert [n for row in places["clauses"] for n in row] == [f"1.{n}" for n in range(1, 7)]
    assert set(places["section"]) == {"Глава 1. Общие положения"}
    text = act(*acts.texts["1-П", "2020-06-01"])
    for passage, start, end, check in places.select("passage_id", "starts_at", "ends_at", "content_check").iter_rows():
        assert first[passage].endswith(text[start:end])
        assert check == content_check(first[passage])

    # Of two acts the changed one alone is cut, and of four published pairs the one whose text moved is named.
    cut = []
    chunks_of = clause_reading.chunks_of
    monkeypatch.setattr(clause_reading, "chunks_of", lambda *given: cut.append(given[0]) or chunks_of(*given))
    acts.texts["2-У", "2020-06-02"].insert(0, clause(0, "сейф").replace("1.0", "1.1"))
    moved, stands = f"{SECOND}#0001", f"{FIRST}#0001"
    acts.write(
        *(("q1", moved, content_check(second[moved])), ("q2", stands, content_check(first[stands]))),
        *(("q3", f"{FIRST}#0002", ""), ("q4", f"{SECOND}#0099", "")),
    )
    figures, checks = acts.run()
    assert (figures["read_now"], figures["read_before"], len(cut)) == (1, 1, 1)
    assert acts.texts_of(FIRST) == first
    check = checks["gold_stands_where_it_stood"]
    assert not check.passed
    told = {name: check.metadata[name].value for name in ("published", "moved", "gone", "without_a_check", "pairs")}
    assert {name: told[name] for name in ("published", "moved", "gone", "without_a_check")} == {
        "published": 4,
        "moved": 1,
        "gone": 1,
        "without_a_check": 2,
    }
    assert [str(pair).split(";")[0] for pair in told["pairs"]] == [
        f"q1 / {moved}: another text stands there",
        f"q4 / {SECOND}#0099: no such passage",
    ]


def test_a_removed_passage_leaves_its_number_empty(acts: Acts) -> None:
    acts.write()
    acts.run()
    before = acts.texts_of(FIRST)
    gone = f"{FIRST}#0001"
    removed = before[gone].partition("\n")[2]
    published = [("q1", gone, content_check(before[gone])), ("q2", f"{FIRST}#0000", "")]
    acts.write(*published, removals=(f"passage,{gone}", f"act,{SECOND}"))
    _, checks = acts.run()
    assert {name for name, check in checks.items() if not check.passed} == set()
    assert acts.texts_of(FIRST) == {passage: text for passage, text in before.items() if passage != gone}
    assert gone not in set(acts.table("passage_clauses")["passage_id"])
    assert SECOND not in set(acts.table("corpus")["group_id"])
    assert dict(acts.table("project_status").select("project", "state").iter_rows()) == {
        FIRST: "in_corpus",
        SECOND: "removed",
    }
    # no cache holds the text: not of the act, nor of the passage
    held = [p for p in Path(acts.artifacts.root).rglob("*") if p.is_file() and removed.encode() in p.read_bytes()]
    assert not held
    # Behind a clause before it the text has another number: it stays out, and so does what has come under its own.
    acts.texts["1-П", "2020-06-01"].insert(0, clause(0, " и ".join(THINGS * 2)).replace("1.0", "1.1"))
    acts.write(removals=(f"passage,{gone}", f"act,{SECOND}"))
    _, checks = acts.run()
    assert {name for name, check in checks.items() if not check.passed} == set()
    left = acts.texts_of(FIRST)
    assert gone not in left
    assert len(left) > 1
    assert not any(removed in text for text in left.values())


def test_another_policy_of_identifiers_is_refused(acts: Acts) -> None:
    assert published_identifiers(acts.warehouse, SPEC).policy == "named"
    keyed = SPEC.model_copy(update={"identifiers": SPEC.identifiers.model_copy(update={"policy": "keyed"})})
    with pytest.raises(HashKeyChanged, match="built with identifiers: named"):
        published_identifiers(acts.warehouse, keyed)
    assert published_identifiers(acts.warehouse, SPEC).group(FIRST) == FIRST
