"""What later versions, their changelog and card, and the table of releases say of a withdrawn version."""

import shutil

import pytest

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.manifest import file_hashes
from tendril_assets.release.withdrawing import withdraw
from tendril_assets.release.withdrawn import marked, withdrawals
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy
from tendril_assets_tests.release.test_withdrawing import LATER, NOW, removed, write


def test_the_version_has_to_be_raised_and_the_next_one_tells(tmp_path) -> None:
    write(tmp_path, "1.0.0")
    withdraw(tmp_path, removed(groups=[toy.group(10)]), NOW)
    held = file_hashes(tmp_path / "1.0.0")
    with pytest.raises(ExportInvariantError, match=r"withdrawn on 2026-11-30: 8 passages .* raise release\.version"):
        write(tmp_path, "1.0.0", has_project_10=False)
    assert file_hashes(tmp_path / "1.0.0") == held
    names = {"organisation": "Toys", "contact": "removals@toys.example"}
    second = write(tmp_path, "1.1.0", has_project_10=False, release=names).path
    changes = (second / "CHANGELOG.md").read_text()
    assert "- Passages: 72 (0 added, 8 taken out, 0 changed)." in changes
    assert "- Judgments: 216 (0 added, 24 taken out, 0 changed)." in changes
    assert changes.endswith(
        "## 1.0.0\n\nWithdrawn on 2026-11-30: 8 passages with 24 judgments removed on request. Copies and the tag `v1.0.0` "
        "still hold them.\n\n- First release: 80 passages, 8 queries, 240 judgments.\n"
    )
    card = (second / "README.md").read_text()
    assert (
        "write to removals@toys.example or open a discussion on <https://huggingface.co/datasets/Toys/toy-train/"
        in card
    )
    assert "| 1.0.0 (tag `v1.0.0`) | 2026-11-30 | 8 | 24 |" in card
    assert "8 passages of earlier versions have been removed" in card
    # An equal release stays; once more is taken out of the old one, the card would have to say so.
    assert write(tmp_path, "1.1.0", has_project_10=False, release=names).outcome == "unchanged"


def test_a_version_removed_from_later_is_noted_in_the_history_of_the_next(tmp_path) -> None:
    write(tmp_path, "1.0.0")
    write(tmp_path, "1.1.0")
    withdraw(tmp_path, removed(groups=[toy.group(10)]), NOW)
    text = (write(tmp_path, "1.2.0", has_project_10=False).path / "CHANGELOG.md").read_text()
    sections = text.split("\n## ")
    assert [s.splitlines()[0] for s in sections[1:]] == ["1.2.0", "1.1.0", "1.0.0"]
    assert [s.count("Withdrawn on 2026-11-30: 8 passages") for s in sections[1:]] == [0, 1, 1]


def test_a_sandbox_version_is_made_again(tmp_path) -> None:
    write(tmp_path, "1.0.0", sandbox=True)
    withdraw(tmp_path, removed(groups=[toy.group(10)]), NOW)
    again = write(tmp_path, "1.0.0", has_project_10=False, sandbox=True)
    assert again.outcome == "replaced"
    assert withdrawals(tmp_path) == []
    assert "No passage of an earlier version has been removed so far." in (again.path / "README.md").read_text()


def test_the_table_of_releases_says_so_whatever_becomes_of_the_folder(tmp_path) -> None:
    write(tmp_path, "1.0.0")
    write(tmp_path, "1.1.0", has_project_10=False)
    row = ("hash", "key", False, 80, 8, 240, LATER, None, None, None)
    table = TABLES["releases"].frame([(v, str(tmp_path / v), *row) for v in ("1.0.0", "1.1.0")])
    assert marked(table, tmp_path).equals(table)
    withdraw(tmp_path, removed(groups=[toy.group(10)]), NOW)
    told = marked(table, tmp_path)
    figures = ("version", "withdrawn_at", "removed_rows", "removed_judgments")
    assert told.select(figures).rows() == [("1.0.0", NOW, 8, 24), ("1.1.0", None, None, None)]
    (tmp_path / "1.1.0" / "manifest.json").write_text("{")
    shutil.rmtree(tmp_path / "1.0.0")
    assert marked(told, tmp_path).equals(told)
