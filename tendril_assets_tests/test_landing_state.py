"""What a sensor sees of a landing folder: new states and nothing else."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets import landing_state
from tendril_assets.errors import LandingError
from tendril_assets.files import file_hash
from tendril_assets.landing_state import HashOf, Tick, tick

LIST = "removals.csv"


class Watched:
    """A folder, its cursor, and the run keys asked for so far; time since the last write counts from ``settle_s``."""

    def __init__(self, root: Path) -> None:
        self.folder, self.store = root / "landing", root / "home" / "state.json"
        self.cursor: str | None = None
        self.keys: list[str] = []
        self.wrong: str | None = None
        self.write("documents/p/a.txt", "Holz")
        self.write(LIST, "A")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_ctime_ns if path.exists() else 0
        path.write_text(text, encoding="utf-8")
        # Some systems count time in steps of milliseconds; the sensor waits for files to rest, these tests do not.
        while path.stat().st_ctime_ns == before:
            path.write_text(text, encoding="utf-8")
        return path

    def check(self, hash_of: HashOf) -> None:
        if self.wrong:
            raise LandingError(self.wrong)

    def tick(self, settle_s: float = 0.0, budget_s: float = 60.0) -> Tick:
        found = tick(
            self.folder, self.cursor, self.store, self.check, leave_out={"simap"}, settle_s=settle_s, budget_s=budget_s
        )
        self.cursor = found.cursor or self.cursor
        if found.run_key:
            self.keys.append(found.run_key)
        assert (found.run_key is None) != (found.reason is None)
        return found


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def counting(path: Path) -> str:
        names.append(path.name)
        return file_hash(path)

    monkeypatch.setattr(landing_state, "file_hash", counting)
    return names


def test_a_list_that_goes_and_comes_back_starts_three_runs(watched: Watched) -> None:
    for content in ("A", "B", "A"):
        watched.write(LIST, content)
        assert watched.tick().run_key
        assert watched.tick().reason == "nothing changed"
    assert len(set(watched.keys)) == 3
    assert [key.split("-")[1] for key in watched.keys] == ["1", "2", "3"]
    assert watched.keys[0].split("-")[2] == watched.keys[2].split("-")[2]


def test_each_kind_of_change_is_one_run_and_reads_only_new_files(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = hashed(monkeypatch)
    watched.tick()
    assert sorted(read) == ["a.txt", LIST]
    read.clear()
    watched.write("documents/p/b.txt", "Beton")
    assert watched.tick().run_key
    assert read == ["b.txt"]
    read.clear()
    (watched.folder / "documents/p/b.txt").rename(watched.folder / "documents/p/c.txt")
    assert watched.tick().run_key
    (watched.folder / "documents/p/c.txt").unlink()
    read.clear()
    assert watched.tick().run_key
    assert read == []
    assert len(set(watched.keys)) == 4


def test_an_edit_of_equal_length_and_time_is_seen(watched: Watched) -> None:
    path = watched.folder / "documents/p/a.txt"
    watched.tick()
    times = path.stat()
    watched.write("documents/p/a.txt", "Kies")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert watched.tick().run_key


def test_a_touched_or_copied_folder_is_no_new_state(watched: Watched) -> None:
    watched.tick()
    os.utime(watched.folder / LIST)
    found = watched.tick()
    assert found.reason == "nothing changed but times or places"
    assert watched.tick().reason == "nothing changed"
    assert len(watched.keys) == 1


def test_names_in_either_unicode_form_are_one_state(watched: Watched) -> None:
    path = watched.write("documents/p/Pru\u0308fung.txt", "x")
    watched.tick()
    path.rename(path.with_name("Pr\u00fcfung.txt"))
    assert watched.tick().run_key is None


def test_what_the_online_step_writes_and_what_systems_leave_do_not_count(watched: Watched) -> None:
    watched.tick()
    for name in ("simap/1.json", ".DS_Store", "documents/p/~$a.docx", "documents/p/.a.txt.12.partial"):
        watched.write(name, "x")
    assert watched.tick().reason == "nothing changed"
    watched.write("documents/simap/a.txt", "a project of this name")
    assert watched.tick().run_key


def test_a_wrong_list_is_told_and_the_cursor_stays(watched: Watched) -> None:
    watched.tick()
    before = watched.cursor
    watched.write(LIST, "B")
    watched.wrong = "removals.csv: row 2: kind is 'company'"
    for _ in range(2):
        assert watched.tick() == Tick("no run until this is corrected: removals.csv: row 2: kind is 'company'")
    assert watched.cursor == before
    watched.wrong = None
    assert watched.tick().run_key
    assert [key.split("-")[1] for key in watched.keys] == ["1", "2"]


def test_no_folder_is_told(tmp_path: Path) -> None:
    found = tick(tmp_path / "none", None, tmp_path / "s.json", lambda _: None)
    assert found == Tick(f"the landing folder {tmp_path / 'none'} does not exist")


def test_a_first_look_at_much_goes_on_over_several_ticks(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(3):
        watched.write(f"documents/p/{i}.txt", str(i))
    read = hashed(monkeypatch)
    reasons = [watched.tick(budget_s=0.0).reason for _ in range(5)]
    assert reasons[:4] == [f"{n} of 5 files looked at; going on at the next tick" for n in (1, 2, 3, 4)]
    assert reasons[4] is None
    assert sorted(read) == sorted({*read})
    assert len(watched.keys) == 1


def test_files_still_being_written_are_waited_for(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def while_somebody_writes(seconds: float) -> None:
        waits.append(seconds)
        watched.write("documents/p/a.txt", "H" * len(waits))

    monkeypatch.setattr(landing_state.time, "sleep", while_somebody_writes)
    assert watched.tick(settle_s=60).reason == "files are still being written; looking again at the next tick"
    assert waits == [60]
    monkeypatch.setattr(landing_state.time, "sleep", waits.append)
    assert watched.tick(settle_s=60).run_key
    assert len(waits) == 2


def test_files_at_rest_cost_no_wait(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    time.sleep(0.05)
    monkeypatch.setattr(landing_state.time, "sleep", lambda _: pytest.fail("waited"))
    assert watched.tick(settle_s=0.04).run_key


def test_a_change_during_the_look_is_left_to_the_next(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(path: Path) -> str:
        watched.write(LIST, "longer now")
        return file_hash(path)

    monkeypatch.setattr(landing_state, "file_hash", busy)
    assert watched.tick().reason == "files changed while they were looked at; looking again at the next tick"
    monkeypatch.setattr(landing_state, "file_hash", file_hash)
    assert watched.tick().run_key


def test_an_unreadable_file_is_named(watched: Watched) -> None:
    (watched.folder / "documents/p/link.txt").symlink_to(watched.folder / "gone.txt")
    found = watched.tick()
    assert found.reason is not None
    assert "link.txt cannot be read: No such file" in found.reason


@pytest.mark.parametrize("damage", [b"", b"{", b"[2, {}]", b"[1, []]", b'[1, {"a": 3}]', b"null"])
def test_lost_hashes_cost_reading_again_and_start_nothing(watched: Watched, damage: bytes) -> None:
    watched.tick()
    watched.store.write_bytes(damage)
    watched.write("documents/p/b.txt", "Beton")
    assert watched.tick().run_key
    watched.store.write_bytes(damage)
    os.utime(watched.folder / LIST)
    assert watched.tick().run_key is None
    assert len(watched.keys) == 2


def test_a_foreign_cursor_is_refused_and_one_of_another_format_starts_anew(watched: Watched) -> None:
    watched.cursor = "12345"
    with pytest.raises(LandingError, match="cursor '12345' is not its own; reset it"):
        watched.tick()
    watched.cursor = '[0, "x", "y", 7]'
    assert watched.tick().run_key


def test_the_check_reads_no_document_twice(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    read = hashed(monkeypatch)
    path = watched.folder / "documents/p/a.txt"
    seen: list[str] = []
    tick(watched.folder, None, watched.store, lambda hash_of: seen.append(hash_of(path)), settle_s=0)
    assert seen == [file_hash(path)]
    assert read.count("a.txt") == 1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from("ABC"), max_size=8))
def test_one_run_per_change_of_state(tmp_path_factory: pytest.TempPathFactory, contents: list[str]) -> None:
    watched = Watched(tmp_path_factory.mktemp("states"))
    changes, last = 0, None
    for content in contents:
        watched.write(LIST, content)
        found = watched.tick()
        changes += content != last
        assert (found.run_key is not None) == (content != last)
        last = content
    assert len(watched.keys) == len({*watched.keys}) == changes


def test_a_quiet_tick_over_the_published_number_of_files_takes_moments(watched: Watched) -> None:
    for project in range(100):
        for document in range(29):
            watched.write(f"documents/{project}/{document}.txt", f"{project} {document}")
    watched.tick()
    started = time.process_time()
    assert watched.tick().reason == "nothing changed"
    assert time.process_time() - started < 2
