"""The mark on a report made before a removal."""

from datetime import datetime
from pathlib import Path

import pytest

from tendril_assets.release import report_mark
from tendril_assets.release.report import render_report
from tendril_assets.release.report_mark import mark_report
from tendril_assets_tests.release.test_report import inputs

AT = datetime(2026, 11, 30, 18)
LINE = (
    '<p class="stamp" id="before-removal" role="note">Made before a removal of 2026-11-30: figures and models may rest on '
    "what is removed. The next whole run makes it anew.</p>\n"
)


def test_a_report_is_marked_once_at_its_top_and_is_otherwise_as_it_was(tmp_path: Path) -> None:
    page, path = render_report(inputs(empty=True)), tmp_path / "toy.html"
    assert "before-removal" not in page, "a new report has no mark"
    path.write_text(page, encoding="utf-8")
    assert mark_report(path, AT)
    marked = path.read_text(encoding="utf-8")
    assert marked.replace(LINE, "") == page
    assert f"<body>\n<header>{LINE}<h1>" in marked
    # A further removal, or the same one gone on with: the first since the page was made is named.
    assert not mark_report(path, datetime(2026, 12, 2))
    assert path.read_text(encoding="utf-8") == marked
    assert [one.name for one in tmp_path.iterdir()] == ["toy.html"]


def test_a_page_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert not mark_report(tmp_path / "reports" / "toy.html", AT)
    assert list(tmp_path.iterdir()) == []


def test_a_page_without_our_head_and_not_in_utf_8_is_marked_too(tmp_path: Path) -> None:
    path = tmp_path / "toy.html"
    path.write_bytes(b"<body class=x>\xfc")
    assert mark_report(path, AT)
    assert path.read_bytes() == b"<body class=x>" + LINE.encode() + b"\xfc"


def test_a_full_disk_leaves_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "toy.html"
    path.write_bytes(b"<header>")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report_mark, "write_atomically", full)
    with pytest.raises(OSError, match="No space"):
        mark_report(path, AT)
    assert path.read_bytes() == b"<header>"
