"""``tendril ledger`` as a user runs it."""

import os
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tendril_assets.cli import main
from tendril_assets.doctor import show_doctor
from tendril_assets.resources.ledger import Ledger
from tendril_assets.resources.ledger_files import segments
from tendril_assets.settings import Settings
from tendril_assets_tests.resources.entries import entry, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    monkeypatch.setenv("TENDRIL_PROFILE", "sandbox")
    return tmp_path / "ledger"


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["ledger", *arguments], input=given)


def test_a_sound_ledger(folder: Path) -> None:
    write(folder, entry("a", cost=Decimal("0.25")), entry("b", "error"), entry("a"))
    done = run("verify")
    assert done.exit_code == 0, done.output
    assert "0.25" in done.output
    assert "1 segments and 0 compacted files" in done.output
    assert "answered more than once 1 times" in done.output
    assert f"  {segments(folder)[0].name}, 3" in done.output
    assert done.output.endswith("sound\n")


def test_every_damaged_place_is_named_and_the_exit_code_is_1(folder: Path) -> None:
    write(folder, entry("a"), entry("b"), entry("c"))
    (path,) = segments(folder)
    first, second, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second.replace(b'"v":2', b'"v":9') + third + b"\0\0\n")
    done = run("verify")
    assert done.exit_code == 1
    assert f"damaged {path.name}, line 2: schema version 9" in done.output
    assert f"damaged {path.name}, line 4: " in done.output
    assert "sound" not in done.output


def test_verify_works_while_a_run_writes_and_says_what_it_repaired(folder: Path) -> None:
    write(folder, entry("a"))
    (path,) = segments(folder)
    path.write_bytes(path.read_bytes() + b'{"v":2')
    with Ledger(folder).writer() as writer:
        writer.append(entry("b"))
        done = run("verify")
    assert done.exit_code == 0, done.output
    assert "2 segments (1 being written)" in done.output


def test_compact_then_verify_then_show(folder: Path) -> None:
    write(folder, entry("a", "error", detail="<html>busy</html>"), entry("b"))
    write(folder, entry("a", content="2", repeat="drift 2026-11-30"))
    done = run("compact")
    assert done.exit_code == 0, done.output
    assert "2 segments with 3 replies are 1 Parquet files now" in done.output
    assert "nothing to compact" in run("compact").output
    assert "0 segments and 1 compacted files" in run("verify").output
    shown = run("show", "a").output
    assert shown.index("<html>busy</html>") < shown.index("drift 2026-11-30")
    assert "cost " not in shown  # unknown is left out, not shown as 0
    assert run("show", "none").exit_code == 1


def test_remove_from_a_file_and_from_standard_input(folder: Path, tmp_path: Path) -> None:
    write(folder, entry("a", content="secret"), entry("b"), entry("c"))
    (tmp_path / "keys").write_text("a\n\n  \n")
    done = run("remove", "--keys", str(tmp_path / "keys"))
    assert done.exit_code == 0, done.output
    assert "1 replies are removed, by 1 keys" in done.output
    assert "secret" not in "".join(path.read_bytes().decode(errors="replace") for path in folder.iterdir())
    assert run("remove", "--keys", "-", given="b\nnone\n").exit_code == 0
    assert Ledger(folder).answered_keys() == {"c"}
    assert "removals on record: 2" in run("verify").output
    none = run("remove", "--keys", "-", given="none\nneither\n")
    assert (none.exit_code, none.output) == (1, "none of the 2 keys has a reply: nothing was removed\n")


def test_a_backup_elsewhere_that_shares_the_bytes_is_pointed_out(folder: Path, tmp_path: Path) -> None:
    write(folder, entry("a"))
    os.link(segments(folder)[0], tmp_path / "backup")
    assert "another hard link" in run("remove", "--keys", "-", given="a").output


@pytest.mark.parametrize("command", [("verify",), ("compact",), ("show", "a"), ("remove", "--keys", "-")])
def test_without_a_ledger_each_says_so_and_makes_none(folder: Path, command: tuple[str, ...]) -> None:
    done = run(*command, given="a")
    assert done.exit_code == 1
    assert "there is no ledger in" in done.output
    assert not folder.exists()


def test_an_empty_list_of_keys_is_refused(folder: Path) -> None:
    write(folder, entry("a"))
    done = run("remove", "--keys", "-", given="\n")
    assert done.exit_code == 1
    assert "names no request key" in done.output


def test_another_folder_can_be_checked(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "copy", entry("a"))
    assert run("--folder", str(tmp_path / "copy"), "verify").exit_code == 0


def test_doctor_names_what_is_damaged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    write(folder, entry("a"))
    settings = Settings.from_env()
    show_doctor(settings, Console(soft_wrap=True))
    assert "ok      ledger: 1 replies in 1 files, all readable" in capsys.readouterr().out
    path = segments(folder)[0]
    path.write_bytes(b"no entry\n" + path.read_bytes())
    show_doctor(settings, Console(soft_wrap=True))
    assert f"problem ledger: {folder}: {path.name}, line 1: " in capsys.readouterr().out


def test_show_writes_nothing_and_no_exponent(folder: Path) -> None:
    write(folder, entry("a", cost=Decimal("1E-7")))
    (path,) = segments(folder)
    torn = path.read_bytes() + b'{"v":2'
    path.write_bytes(torn)
    done = run("show", "a")
    assert done.exit_code == 0, done.output
    assert "cost              0.0000001\n" in done.output
    assert path.read_bytes() == torn, "repairing is for those who write"


def test_verify_and_doctor_change_no_byte_and_call_a_cut_line_damage(folder: Path, tmp_path: Path) -> None:
    from rich.console import Console

    write(folder, entry("a"), entry("b"))
    (path,) = segments(folder)
    cut = path.read_bytes()[:-20]
    path.write_bytes(cut)
    done = run("verify")
    assert done.exit_code == 1
    assert f"damaged {path.name}" in done.output
    assert show_doctor(Settings.from_env(), Console(file=(tmp_path / "out").open("w"))) is False
    assert path.read_bytes() == cut
    # Who writes takes the half line off; its request is open again.
    assert Ledger(folder).answered_keys() == {"a"}
    assert run("verify").exit_code == 0


def test_no_figure_and_no_name_is_cut_in_a_narrow_window(folder: Path) -> None:
    model = "somebody/quite-a-long-name-of-a-judge-1"
    write(folder, entry("a", model=model, cost=Decimal("0.123456789")))
    output = run("verify").output
    assert model in output
    assert "0.123456789" in output
