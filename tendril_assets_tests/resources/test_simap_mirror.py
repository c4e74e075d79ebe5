"""The mirror over HTTP: what is asked for, what is kept, and what failures leave."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tendril_assets.errors import DatabaseLocked
from tendril_assets.resources import simap_mirror
from tendril_assets.resources.lock import exclusive
from tendril_assets.resources.simap import Patience, SimapClient
from tendril_assets.resources.simap_mirror import Mirror, Summary
from tendril_assets.resources.simap_store import Store
from tendril_assets.spec import SimapSpec
from tendril_assets_tests.simap_answers import Json, award, entry, lot_entry, past, tender, texts, uid
from tendril_assets_tests.simap_server import Asked, Platform, SimapServer

QUICK = Patience(attempts=2, rate_limited=3, first_wait=0.01, max_wait=0.02)
SPEC = SimapSpec(project_sub_types=("construction",), publication_types=("tender",))

GERMAN = texts("<p>Der Beton enthält mindestens 40 Prozent Recyclingmaterial.</p>")
FRENCH = texts(None, "<p>Le bois provient de forêts gérées durablement.</p>" * 5)
ITALIAN = texts("<p><br></p>", None, "<p>Il calcestruzzo contiene materiale riciclato.</p>" * 5)


def three() -> Platform:
    """100: one tender; 200: an award after a tender; 300: two lots, awarded apart, whose past is not told."""
    made = Platform()
    title = texts("Schulhaus Dorf")
    made.publish(
        entry("100", "100-01", "tender", "2026-08-10", title), tender("100", "100-01", "2026-08-10", title, GERMAN)
    )
    title = texts(None, "École du village")
    made.publish(
        entry("200", "200-02", "award", "2026-08-12", title),
        award("200", "200-02", "2026-08-12", title),
        tender("200", "200-01", "2026-05-01", title, FRENCH),
        past=[past("200-01", "tender", "2026-05-01")],
    )
    title = texts(None, None, "Scuola del paese")
    lots = [lot_entry("300", f"300-0{i + 1}", "award", "2026-08-13", i, title) for i in (1, 2)]
    made.publish(
        entry("300", "300-02", "award", "2026-08-13", title, lots),
        award("300", "300-02", "2026-08-13", title, before="300-01"),
        award("300", "300-03", "2026-08-13", title, before="300-01"),
        tender("300", "300-01", "2026-01-15", title, ITALIAN),
        past=None,
    )
    return made


def mirror(server: SimapServer, folder: Path, spec: SimapSpec = SPEC, **changes) -> Summary:
    with SimapClient(server.base_url, 100, patience=QUICK) as client:
        return Mirror(Store(folder), client, spec, **changes).run()


def files(folder: Path) -> dict[str, bytes]:
    root = folder / "simap"
    return {
        p.relative_to(root).as_posix(): p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_file() and not p.name.endswith(".lock")
    }


def times(folder: Path) -> dict[str, int]:
    return {
        p.as_posix(): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file() and not p.name.endswith(".lock")
    }


def texts_in(folder: Path) -> list[str]:
    return [name for name in files(folder) if name.endswith(".txt")]


def projects(folder: Path) -> list[Json]:
    return [json.loads(line) for line in (folder / "simap" / "projects.jsonl").read_text("utf-8").splitlines()]


def about(server: SimapServer, kind: str) -> list[str]:
    return [asked.about for asked in server.asked if asked.kind == kind]


def test_a_first_run_mirrors_answers_texts_and_the_list(tmp_path: Path) -> None:
    platform = three()
    with SimapServer(platform) as server:
        summary = mirror(server, tmp_path)
        assert (summary.found, summary.projects, summary.texts, summary.fetched) == (3, 3, 3, 5)
        assert not summary.failed
        assert not summary.unknown
        # Page by page to the empty one; each publication's past, for lots with the lot; awards only where 400 came.
        assert server.counts == {"search": 3, "past": 4, "details": 5}
        lots = {a.about: a.parameters.get("lotId") for a in server.asked if a.kind == "past"}
        assert lots[uid("300-02")] == [uid("300 lot 1")]
        assert lots[uid("100-01")] is None
        assert sorted(about(server, "details")) == sorted(map(uid, ("100-01", "200-01", "300-01", "300-02", "300-03")))
    assert texts_in(tmp_path) == ["100/100-01.txt", "200/200-01.txt", "300/300-01.txt"]
    found = files(tmp_path)
    assert found["100/100-01.json"] == platform.details[uid("100-01")]
    assert "Der Beton enthält mindestens 40 Prozent Recyclingmaterial." in found["100/100-01.txt"].decode()
    assert "Il calcestruzzo contiene materiale riciclato." in found["300/300-01.txt"].decode()
    assert projects(tmp_path) == [
        {
            "project": "100",
            "title": "Schulhaus Dorf",
            "published": "2026-08-10",
            "language": "de",
            "cpv": "45233120",
            "texts": 1,
        },
        {
            "project": "200",
            "title": "École du village",
            "published": "2026-05-01",
            "language": "fr",
            "cpv": "45233120",
            "texts": 1,
        },
        {
            "project": "300",
            "title": "Scuola del paese",
            "published": "2026-01-15",
            "language": "it",
            "cpv": "45233120",
            "texts": 1,
        },
    ]


def test_a_second_run_asks_for_nothing_and_touches_no_file(tmp_path: Path) -> None:
    with SimapServer(three()) as server:
        first = mirror(server, tmp_path)
        before = times(tmp_path)
        server.forget()
        second = mirror(server, tmp_path)
        assert server.counts == {"search": 3}
        assert times(tmp_path) == before
        assert (second.fetched, second.texts_written, second.texts) == (0, 0, 3)
        assert second.content == first.content


def test_a_new_publication_is_fetched_alone(tmp_path: Path) -> None:
    platform, title = three(), texts("Schulhaus Dorf")
    with SimapServer(platform) as server:
        first = mirror(server, tmp_path)
        server.forget()
        new = texts("<p>Der Beton enthält mindestens 60 Prozent Recyclingmaterial.</p>")
        platform.publish(
            entry("100", "100-02", "tender", "2026-08-20", title),
            tender("100", "100-02", "2026-08-20", title, new),
            past=[past("100-01", "tender", "2026-08-10")],
        )
        second = mirror(server, tmp_path)
        assert about(server, "details") == [uid("100-02")]
        assert about(server, "past") == [uid("100-02")]
    assert texts_in(tmp_path)[:2] == ["100/100-01.txt", "100/100-02.txt"]
    assert (second.texts_written, second.texts) == (1, 4)
    assert second.content != first.content


def test_a_changed_answer_gives_a_new_text_and_an_unchanged_one_none(tmp_path: Path) -> None:
    platform, title = three(), texts("Schulhaus Dorf, neu")
    with SimapServer(platform) as server:
        mirror(server, tmp_path)
        before = times(tmp_path)
        # The search shows another title; the details of 100 have changed with it, those of 200 have not.
        platform.publish(
            entry("100", "100-01", "tender", "2026-08-10", title), tender("100", "100-01", "2026-08-10", title, GERMAN)
        )
        platform.entries = [
            {**e, "procOfficeName": texts("Amt")} if e["projectNumber"] == "200" else e for e in platform.entries
        ]
        summary = mirror(server, tmp_path)
        assert (summary.projects_asked, summary.fetched, summary.texts_written) == (2, 1, 1)
    changed = {Path(p).name for p, stamp in times(tmp_path).items() if before.get(p) != stamp}
    assert changed == {"100-01.json", "100-01.txt", ".state.json", "projects.jsonl"}
    assert projects(tmp_path)[0]["title"] == "Schulhaus Dorf, neu"


def test_a_new_rule_makes_the_texts_anew_without_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SimapServer(three()) as server:
        mirror(server, tmp_path)
        before = {n: data for n, data in files(tmp_path).items() if n.endswith(".txt")}
        (tmp_path / "simap/100/100-01.txt").write_text("of an older rule", "utf-8")
        state = tmp_path / "simap/100/.state.json"
        noted = json.loads(state.read_bytes())
        noted["publications"]["100-01"]["rendered"] = "notice-0 de,fr,it"
        state.write_text(json.dumps(noted), "utf-8")
        server.forget()
        assert mirror(server, tmp_path).texts_written == 1
        assert {n: data for n, data in files(tmp_path).items() if n.endswith(".txt")} == before
        # Another order of languages is another rule (the office's name is French then); so is another version.
        assert mirror(server, tmp_path, SPEC.model_copy(update={"languages": ("it", "fr", "de")})).texts_written == 3
        monkeypatch.setattr(simap_mirror, "NOTICE_VERSION", "notice-99")
        mirror(server, tmp_path)
        assert server.counts["details"] == server.counts["past"] == 0
    rendered = json.loads(state.read_bytes())["publications"]["100-01"]["rendered"]
    assert rendered == "notice-99 de,fr,it"


def test_other_types_are_fetched_when_they_are_wanted_and_their_texts_go_when_not(tmp_path: Path) -> None:
    with SimapServer(three()) as server:
        mirror(server, tmp_path)
        server.forget()
        both = mirror(server, tmp_path, SPEC.model_copy(update={"publication_types": ("tender", "award")}))
        # The awards of 300 are here since they were followed.
        assert about(server, "details") == [uid("200-02")]
        assert both.texts == 6
        server.forget()
        assert mirror(server, tmp_path).texts == 3
        assert server.counts["details"] == 0
    assert texts_in(tmp_path) == ["100/100-01.txt", "200/200-01.txt", "300/300-01.txt"]


@pytest.mark.parametrize("name", ["100/100-01.txt", "100/100-01.json", "100/.state.json"])
@pytest.mark.parametrize("damage", [lambda p: p.unlink(), lambda p: p.write_bytes(b"{ hal")], ids=["gone", "damaged"])
def test_what_is_damaged_is_made_again(tmp_path: Path, name: str, damage: Callable[[Path], object]) -> None:
    with SimapServer(three()) as server:
        mirror(server, tmp_path)
        before = files(tmp_path)
        damage(tmp_path / "simap" / name)
        server.forget()
        mirror(server, tmp_path)
        assert files(tmp_path) == before
        assert about(server, "details") == ([] if name.endswith(".txt") else [uid("100-01")])


def test_projects_that_the_search_no_longer_shows_stay(tmp_path: Path) -> None:
    platform = three()
    with SimapServer(platform) as server:
        mirror(server, tmp_path)
        before = files(tmp_path)
        platform.entries = [e for e in platform.entries if e["projectNumber"] != "200"]
        summary = mirror(server, tmp_path)
        assert (summary.found, summary.no_longer_found, summary.projects) == (2, 1, 3)
        platform.entries.clear()
        assert mirror(server, tmp_path).no_longer_found == 3
    assert files(tmp_path) == before


def test_a_removed_project_is_neither_kept_nor_fetched(tmp_path: Path) -> None:
    with SimapServer(three()) as server:
        mirror(server, tmp_path)
        server.forget()
        summary = mirror(server, tmp_path, is_removed=lambda project: project == "200")
        assert (summary.removed, summary.projects) == (1, 2)
        mirror(server, tmp_path, is_removed=lambda project: project == "200")
        assert server.counts["details"] == 0
        assert not any("200" in name for name in files(tmp_path))
        assert [p["project"] for p in projects(tmp_path)] == ["100", "300"]
        # Taken off the list, it comes back.
        assert mirror(server, tmp_path).projects == 3


def test_of_a_list_only_its_projects_are_mirrored_and_the_search_ends_with_the_last(tmp_path: Path) -> None:
    with SimapServer(three(), page_size=1) as server:
        spec = SPEC.model_copy(update={"max_projects": 1})
        summary = mirror(server, tmp_path, spec, listed=frozenset({"200", "300"}))
        assert (summary.projects, server.counts["search"]) == (2, 2)
        assert mirror(server, tmp_path, spec, listed=frozenset({"200", "unknown"})).not_on_simap == 1
    assert texts_in(tmp_path) == ["200/200-01.txt", "300/300-01.txt"]


def test_the_newest_projects_are_enough(tmp_path: Path) -> None:
    with SimapServer(three(), page_size=2) as server:
        assert mirror(server, tmp_path, SPEC.model_copy(update={"max_projects": 2})).projects == 2
        assert server.counts["search"] == 1
    assert [p["project"] for p in projects(tmp_path)] == ["200", "300"]


def many(n: int) -> Platform:
    made = Platform()
    for i in range(n):
        project, title = f"{500 + i}", texts(f"Projekt {i}")
        number = f"{project}-01"
        made.publish(
            entry(project, number, "tender", "2026-08-10", title), tender(project, number, "2026-08-10", title, GERMAN)
        )
    return made


def test_new_fields_are_counted_and_kept(tmp_path: Path) -> None:
    platform = three()
    for publication, body in platform.details.items():
        platform.details[publication] = json.dumps({**json.loads(body), "ecoScore": 3}).encode()
    with SimapServer(platform) as server:
        assert mirror(server, tmp_path).unknown == {"details: ecoScore": 5}
    assert json.loads(files(tmp_path)["100/100-01.json"])["ecoScore"] == 3


def test_two_mirrors_do_not_write_at_once(tmp_path: Path) -> None:
    with SimapServer(three()) as server, exclusive(tmp_path / "simap" / ".lock", "test", 1):
        child = "import sys; from tendril_assets_tests.resources.test_simap_mirror import mirror_from; mirror_from(*sys.argv[1:])"
        done = subprocess.run(
            [sys.executable, "-c", child, server.base_url, str(tmp_path)], capture_output=True, text=True, timeout=60
        )
        assert DatabaseLocked.__name__ in done.stderr
        assert not server.asked


def mirror_from(base_url: str, folder: str) -> None:
    """One run, as a process of its own."""
    with SimapClient(base_url, 100, patience=QUICK) as client:
        Mirror(Store(Path(folder)), client, SPEC, progress=lambda line: print(line, flush=True)).run()  # noqa: T201


def test_a_run_killed_at_any_point_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    platform = many(30)
    held_from, killed_then = [0], threading.Event()

    def held(asked: Asked) -> None:
        """However late this test looks, the run has not ended then: some requests after its goal it waits."""
        if asked.kind == "details" and 0 < held_from[0] <= asked.number:
            killed_then.wait(120)

    with SimapServer(platform, held, page_size=50) as server:
        mirror(server, whole)
        expected = files(whole)
        server.forget()
        killed, asked = tmp_path / "killed", 0
        child = "import sys; from tendril_assets_tests.resources.test_simap_mirror import mirror_from; mirror_from(*sys.argv[1:])"
        for goal in (1, 10, 22):
            killed_then.clear()
            held_from[0] = goal + 4
            run = subprocess.Popen(
                [sys.executable, "-c", child, server.base_url, str(killed)], stdout=subprocess.DEVNULL
            )
            deadline = time.monotonic() + 60
            while server.counts["details"] < goal and time.monotonic() < deadline:
                time.sleep(0.001)
            os.kill(run.pid, signal.SIGKILL)
            assert run.wait(60) == -signal.SIGKILL, "it had ended before it was killed"
            held_from[0] = 0
            killed_then.set()
            asked += 1
            for text in killed.rglob("*.txt"):
                assert text.read_bytes() == (whole / text.relative_to(killed)).read_bytes()
        mirror(server, killed)
        # At most the one on its way at each kill is asked for twice.
        assert server.counts["details"] <= 30 + asked
    assert files(killed) == expected
    assert not list(killed.rglob("*.partial"))
