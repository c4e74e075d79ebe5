"""The brake on lines and events, and files that are replaced as a whole."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tendril_assets.progress_file import Author, Every, Watched, replace_file


def test_every_is_true_once_in_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("tendril_assets.progress_file.time.monotonic", lambda: now[0])
    due, due_at_once = Every(5), Every(5, at_once=True)
    assert (due(), due_at_once(), due_at_once()) == (False, True, False)
    now[0] += 5
    assert (due(), due(), due_at_once()) == (True, False, True)


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "progress.json"
    replace_file(path, {"step": 1})
    replace_file(path, {"step": 2})
    assert json.loads(path.read_text("utf-8")) == {"step": 2}
    assert [found.name for found in path.parent.iterdir()] == ["progress.json"]
    with pytest.raises(TypeError):
        replace_file(path, {"step": object()})
    assert [found.name for found in path.parent.iterdir()] == ["progress.json"]


def test_a_writer_that_cannot_be_looked_up_is_known_by_the_age_of_its_file() -> None:
    now = datetime.now(UTC)
    far = Author(1, "1", "another-host", None)
    assert far.lives() is None
    assert far.goes_on(now - timedelta(minutes=1), timedelta(minutes=2), now)
    assert not far.goes_on(now - timedelta(minutes=3), timedelta(minutes=2), now)
    assert Author.me().goes_on(now - timedelta(days=3), timedelta(minutes=2), now), "this process lives"


@dataclass(frozen=True)
class Digging(Watched):
    STALE_AFTER = timedelta(minutes=1)
    VERSION = 3
    WHAT = "digging"

    author: Author
    metres: int


def test_a_file_with_fields_that_nobody_knows_is_refused() -> None:
    written = Digging(Author(1, None, "here", None), 2)
    fields = written.to_json()
    assert Digging.from_json(fields) == written
    with pytest.raises(ValueError, match=r"no progress of digging: \('depth',\): "):
        Digging.from_json(fields | {"depth": 1})
    with pytest.raises(ValueError, match=r"no progress of digging: \('author', 'name'\): "):
        Digging.from_json(fields | {"author": fields["author"] | {"name": "x"}})
