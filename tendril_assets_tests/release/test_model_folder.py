"""A model's folder is whole or absent, is left alone where nothing changes, and loads as its card says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tendril_assets.errors import ExportInvariantError
from tendril_assets.files import file_hash
from tendril_assets.release import model_folder
from tendril_assets.release.model_folder import write_folder, write_model
from tendril_assets.release.model_inputs import card_model
from tendril_assets.release.model_licence import LICENCE, NOTICE, documents
from tendril_assets.release.weights import read_weights_folder
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy
from tendril_assets_tests.release.toy_models import described, folder, front, inputs, published, weights_folder
from tendril_assets_tests.training.toy import DIMENSIONS, tiny_encoder

REPOSITORY = Path(__file__).parents[2]
TEXTS = {"README.md": b"card", "LICENSE": b"licence"}


def names(place: Path) -> list[str]:
    return sorted(p.relative_to(place).as_posix() for p in place.rglob("*") if p.is_file())


def test_the_folder_holds_weights_card_licence_and_notice(tmp_path: Path) -> None:
    weights = folder(tmp_path / "kept")
    made = write_model(tmp_path / "out", "mini", inputs(spec=published()), weights)
    assert (made.path, made.outcome) == (tmp_path / "out" / "Toy-mini", "written")
    assert names(made.path) == sorted([*names(weights.path), "LICENSE", "NOTICE", "README.md"])
    assert made.path.joinpath("README.md").read_text().count("# Toy mini") == 1
    assert made.path.joinpath("LICENSE").read_text() == (REPOSITORY / "LICENSE").read_text()
    notice = made.path.joinpath("NOTICE").read_text()
    assert notice.startswith("Toy mini\n")
    assert "Changed: the weights were fine-tuned on Maker/toy-train, version 1.0.0." in notice


def test_an_unchanged_model_is_not_written_again(tmp_path: Path) -> None:
    weights = folder(tmp_path / "kept")
    write_model(tmp_path / "out", "mini", inputs(), weights)
    target = tmp_path / "out" / "toy-train-mini"
    before = {name: (target / name).stat().st_mtime_ns for name in (*names(target), "")}
    assert write_model(tmp_path / "out", "mini", inputs(), weights).outcome == "unchanged"
    assert {name: (target / name).stat().st_mtime_ns for name in (*names(target), "")} == before


@pytest.mark.parametrize("change", ["card", "weights", "foreign file", "missing file"])
def test_any_difference_replaces_the_folder_whole(tmp_path: Path, change: str) -> None:
    weights = weights_folder(tmp_path / "kept")
    write_folder(tmp_path / "out", "m", weights, TEXTS)
    texts = TEXTS | ({"README.md": b"another card"} if change == "card" else {})
    target = tmp_path / "out" / "m"
    if change == "weights":
        (weights / "model.safetensors").write_bytes(b"other weights!!!!!")
    if change == "foreign file":
        (target / "notes.txt").write_text("mine")
    if change == "missing file":
        (target / "modules.json").unlink()
    assert write_folder(tmp_path / "out", "m", weights, texts).outcome == "replaced"
    assert names(target) == sorted([*names(weights), *TEXTS])
    assert (target / "README.md").read_bytes() == texts["README.md"]
    assert file_hash(target / "model.safetensors") == file_hash(weights / "model.safetensors")
    assert [p.name for p in target.parent.iterdir()] == ["m"]


def test_a_failure_half_way_leaves_the_former_folder_and_nothing_else(tmp_path: Path, monkeypatch) -> None:
    weights = weights_folder(tmp_path / "kept")
    write_folder(tmp_path / "out", "m", weights, TEXTS)
    before = {n: file_hash(tmp_path / "out" / "m" / n) for n in names(tmp_path / "out" / "m")}

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model_folder, "sync_tree", full)
    with pytest.raises(OSError, match="No space left"):
        write_folder(tmp_path / "out", "m", weights, TEXTS | {"README.md": b"new"})
    assert {n: file_hash(tmp_path / "out" / "m" / n) for n in names(tmp_path / "out" / "m")} == before
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["m"]


def test_what_a_killed_run_left_is_swept_and_a_folder_set_aside_comes_back(tmp_path: Path) -> None:
    weights, root = weights_folder(tmp_path / "kept"), tmp_path / "out"
    write_folder(root, "other-v2.0", weights, TEXTS)
    with subprocess.Popen(["true"]) as ended:
        dead = ended.pid
    (root / "other-v2.0").rename(root / f".other-v2.0.{dead}.old")
    (root / f".m.{dead}.tmp").mkdir()
    (root / ".hidden").mkdir()
    (root / ".odd.name").mkdir()
    write_folder(root, "m", weights, TEXTS)
    assert sorted(p.name for p in root.iterdir()) == [".hidden", ".odd.name", "m", "other-v2.0"]


def test_an_edit_in_the_folder_does_not_reach_what_training_kept(tmp_path: Path) -> None:
    weights = weights_folder(tmp_path / "kept")
    (weights / "model.safetensors").write_bytes(b"x" * (1 << 20))
    (weights / "model.safetensors").chmod(0o600)
    target = write_folder(tmp_path / "out", "m", weights, TEXTS).path
    with (target / "model.safetensors").open("r+b") as file:
        file.write(b"spoilt")
    assert (weights / "model.safetensors").read_bytes() == b"x" * (1 << 20)
    assert write_folder(tmp_path / "out", "m", weights, TEXTS).outcome == "replaced"
    assert {path.stat().st_mode & 0o777 for path in target.rglob("*") if path.is_file()} == {0o644}
    assert write_folder(tmp_path / "out", "m", weights, TEXTS).outcome == "unchanged"


def test_a_folder_of_links_becomes_one_of_copies(tmp_path: Path) -> None:
    weights = weights_folder(tmp_path / "kept")
    target = write_folder(tmp_path / "out", "m", weights, TEXTS).path / "model.safetensors"
    target.unlink()
    target.hardlink_to(weights / "model.safetensors")
    assert write_folder(tmp_path / "out", "m", weights, TEXTS).outcome == "replaced"
    assert not target.samefile(weights / "model.safetensors")


def test_a_refused_card_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ExportInvariantError):
        write_model(tmp_path / "out", "mini", inputs(present_data="f" * 64), folder(tmp_path / "kept"))
    assert not (tmp_path / "out").exists()


def files_of(made, tmp_path: Path) -> dict[str, str]:
    found = documents(card_model("mini", made, folder(tmp_path / "kept")), made)
    return {name: content.decode() for name, content in found.files.items()}


def test_a_licence_without_text_at_hand_is_named_and_not_invented(tmp_path: Path) -> None:
    upstream = [{"name": "Deep-Base", "licence": "OpenMDW-1.1", "url": "https://example.org/deep"}]
    files = files_of(described({"licence": "CC-BY-NC-4.0", "upstream": upstream}), tmp_path)
    assert files["LICENSE"].startswith(
        "Creative Commons Attribution-NonCommercial 4.0 International\nSPDX-License-Identifier: CC-BY-NC-4.0\n"
        "Text: https://creativecommons.org/licenses/by-nc/4.0/\n\nNon-commercial use only.\n"
    )
    # Section 3(a)(1)(C): the text, or the URI or hyperlink to it.
    assert "put it in place" not in files["LICENSE"]
    assert "Changed: the weights were fine-tuned on toy-train, version 1.0.0." in files["NOTICE"]
    for licence, spdx in (("OpenMDW-1.1", False), ("MIT", True)):
        text = files_of(described({"licence": licence}), tmp_path)["LICENSE"]
        assert ("SPDX-License-Identifier" in text) is spdx
        assert "the text goes along: put it in place of this file." in text
    assert "- Deep-Base, OpenMDW License v1.1 (OpenMDW-1.1): https://" in files["NOTICE"]
    assert "(https://example.org/deep)" in files["NOTICE"]


def test_the_base_s_own_licence_and_notice_go_along(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "LICENSE.txt").write_text("The base's own text.\n")
    (base / "NOTICE").write_text("Copyright somebody.\n")
    made = described({"base": str(base), "licence": "MIT"}, {"base": str(base)})
    files = files_of(made, tmp_path)
    assert files["LICENSE"] == "The base's own text.\n"
    assert files["NOTICE"].endswith("The notice of base:\n\nCopyright somebody.\n")
    # Whatever its encoding, it is passed on as it is.
    (base / "LICENSE.txt").write_bytes("© Bäse".encode("latin-1"))
    (base / "NOTICE").write_bytes("© Bäse".encode("latin-1"))
    path = write_model(tmp_path / "out", "mini", made, folder(tmp_path / "kept")).path
    assert (path / LICENCE).read_bytes() == "© Bäse".encode("latin-1")
    assert (path / NOTICE).read_bytes().endswith("© Bäse\n".encode("latin-1"))


def test_a_licence_under_another_name_goes_along_and_is_named(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    made = described({"base": str(base), "licence": "MIT"}, {"base": str(base)})
    out = write_model(tmp_path / "out", "mini", made, folder(tmp_path / "kept"))
    assert out.lacking == (
        f"the text of MIT is missing: put it as LICENSE into {base}, and it goes along when the cards are made"
    )
    assert "names the licence without its text" in (out.path / "README.md").read_text()
    (base / "Copying.md").write_text("Copyright (c) somebody.\n")
    out = write_model(tmp_path / "out", "mini", made, folder(tmp_path / "kept"))
    assert (out.lacking, out.outcome) == (None, "replaced")
    assert (out.path / LICENCE).read_text() == "Copyright (c) somebody.\n"
    assert "`LICENSE` is the base model's own (`Copying.md` there);" in (out.path / "README.md").read_text()


def test_a_licence_s_text_that_a_person_put_there_stays(tmp_path: Path, monkeypatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    weights, commit = folder(tmp_path / "kept"), "a" * 40

    def made(licence: str = "MIT", base: str = "maker/model"):
        row = {"base": base, "base_weights": f"{base}@{commit}", "revision": commit}
        found = described({"base": base, "revision": commit, "licence": licence}, row)
        return found._replace(scores=found.scores.clear())

    first = write_model(tmp_path / "out", "mini", made(), weights)
    assert first.lacking.startswith("the text of MIT is missing: put it in place of LICENSE in the model's folder")
    # Our own pointer is no text, however often it is written.
    assert write_model(tmp_path / "out", "mini", made(), weights).lacking == first.lacking
    (first.path / LICENCE).write_text("Copyright (c) somebody.\n")
    second = write_model(tmp_path / "out", "mini", made(), weights)
    assert (second.lacking, second.outcome) == (None, "replaced")
    assert (first.path / LICENCE).read_text() == "Copyright (c) somebody.\n"
    card = (first.path / "README.md").read_text()
    assert "`LICENSE` holds the licence's text;" in card
    assert write_model(tmp_path / "out", "mini", made(), weights).outcome == "unchanged"
    # Nor is it lost with a run that died between its two renames.
    with subprocess.Popen(["true"]) as ended:
        dead = ended.pid
    first.path.rename(tmp_path / "out" / f".{first.path.name}.{dead}.old")
    assert write_model(tmp_path / "out", "mini", made(), weights).outcome == "unchanged"
    # It is of this base under this licence, of no other.
    other = write_model(tmp_path / "out", "mini", made(licence="BSD-3-Clause"), weights)
    assert other.lacking.startswith("the text of BSD-3-Clause is missing")
    assert "somebody" not in (first.path / LICENCE).read_text()
    (first.path / LICENCE).write_text("Copyright (c) somebody.\n")
    assert write_model(tmp_path / "out", "mini", made("BSD-3-Clause", "maker/other"), weights).lacking is not None
    # The shipped text is Apache's alone.
    write_model(tmp_path / "out", "mini", made(licence="Apache-2.0"), weights)
    assert write_model(tmp_path / "out", "mini", made(), weights).lacking == first.lacking


def test_the_licence_is_that_of_the_commit_that_was_trained_from(tmp_path: Path, monkeypatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    then, now = "a" * 40, "b" * 40
    home = tmp_path / "hub" / "models--maker--model"
    for commit in (then, now):
        (home / "snapshots" / commit).mkdir(parents=True)
        (home / "snapshots" / commit / "LICENSE").write_text(f"Terms at {commit}.")
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(now)
    row = {"base": "maker/model", "base_weights": f"maker/model@unpinned-{then}"}
    made = described({"base": "maker/model"}, row | {"revision": then})
    made = made._replace(scores=made.scores.clear())
    assert files_of(made, tmp_path)["LICENSE"] == f"Terms at {then}."
    gone = described({"base": "maker/model"}, row | {"revision": "c" * 40})
    assert "Terms" not in files_of(gone._replace(scores=gone.scores.clear()), tmp_path)["LICENSE"]


def test_no_path_of_this_machine_is_published(tmp_path: Path) -> None:
    base = tmp_path / "secret" / "copied-base"
    base.mkdir(parents=True)
    (base / "NOTICE").write_text("Copyright somebody.\n")
    for origin in (None, "maker/model"):
        made = described({"base": str(base), "origin": origin, "upstream": [{"name": "Deep", "licence": "MIT"}]})
        path = write_model(tmp_path / "out", "mini", made, folder(tmp_path / "kept")).path
        published_texts = [(path / name).read_text() for name in ("README.md", "LICENSE", "NOTICE")]
        assert not any(str(tmp_path) in text or "secret" in text for text in published_texts)
        card, _, notice = published_texts
        assert ("A fine-tuned version of `copied-base`" in card) == (origin is None)
        assert ("[maker/model](https://huggingface.co/maker/model)" in card) == (origin is not None)
        assert front(card).get("base_model") == origin
        assert f"A fine-tuned version of {origin or 'copied-base'}" in notice


def test_weights_that_are_the_base_s_are_not_called_changed(tmp_path: Path) -> None:
    row = toy.trained_model(best_step=0)
    files = files_of(inputs(trained=TABLES["trained_models"].frame([row])), tmp_path)
    assert "The weights are those of the base model" in files["NOTICE"]
    assert "Changed" not in files["NOTICE"]


@pytest.mark.parametrize(
    ("owner", "place"), [("Maker", "Maker"), (None, f"release/{toy.spec().collection}/models")], ids=["hub", "folder"]
)
def test_the_card_s_code_runs_on_the_folder_in_a_process_of_its_own(
    tmp_path: Path, owner: str | None, place: str
) -> None:
    """The code block as it stands: from TENDRIL_HOME, or where a folder is named as the hub's model is."""
    from tendril_assets.evaluation.models import load_model
    from tendril_assets.spec_training import ModelSpec

    encoder = tiny_encoder(tmp_path / "encoder")
    entry = {
        "base": str(encoder),
        "query_prompt": "query: ",
        "document_prompt": "passage: ",
        "dimensions": DIMENSIONS,
        "max_length": 32,
        "licence": "Apache-2.0",
    }
    kept = tmp_path / "kept"
    load_model(ModelSpec.model_validate(entry), device="cpu").save_pretrained(str(kept), create_model_card=False)
    weights = read_weights_folder(kept)
    made = described(entry, {"base": str(encoder), "weights_sha256": weights.sha256})
    spec = published(models={"mini": entry})
    spec = spec.model_copy(update={"release": spec.release.model_copy(update={"organisation": owner})})
    made = made._replace(spec=spec, scores=made.scores.clear())
    path = write_model(tmp_path / place, "mini", made, weights).path
    card = (path / "README.md").read_text()
    [code] = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    assert f'SentenceTransformer("{place}/Toy-mini")' in code
    tell = (
        "print(queries.shape, passages.shape, tuple(scores.shape), model.max_seq_length, model.prompts, "
        "round(float((queries ** 2).sum()), 4))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tell}"],
        cwd=tmp_path,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    shapes, _, rest = done.stdout.strip().splitlines()[-1].partition(" (1, 1) ")
    assert shapes == f"(1, {DIMENSIONS}) (1, {DIMENSIONS})"
    length, _, after = rest.partition(" ")
    assert length == "32"
    assert "'query': 'query: '" in after
    assert "'document': 'passage: '" in after
    # What the card says of normalisation is true of what the code gives.
    assert "are L2-normalised" in card
    assert after.endswith(" 1.0")
    texts = [p for p in path.rglob("*") if p.suffix in (".md", ".json", ".txt") or p.name in (LICENCE, NOTICE)]
    assert [p.name for p in texts if str(tmp_path) in p.read_text()] == []
