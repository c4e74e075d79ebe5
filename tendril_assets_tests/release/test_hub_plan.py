"""What publishing would change, decided on content, and what on the hub speaks against it."""

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.release.hub_plan import RemoteFile, RemoteState, differing, holds_all, make_plan
from tendril_assets.release.outgoing import LocalFile, Outgoing
from tendril_assets.release.withdrawn import Withdrawal

HEAD = "c" * 40
names = st.dictionaries(
    st.sampled_from(["README.md", "qrels/a", "qrels/b", "corpus/a", "manifest.json"]), st.binary(max_size=3)
)


def local(tree: dict[str, bytes], *, version: str = "1.0.0", kind: str = "dataset", reasons=()) -> Outgoing:
    """Hashes here are the bytes themselves: what they are of is none of the plan's business."""
    files = tuple(LocalFile(n, Path(n), len(d), d.hex(), "git" + d.hex()) for n, d in sorted(tree.items()))
    return Outgoing(kind, "Maker/toy", Path("/folder"), version, "auto" if kind == "dataset" else None, files, reasons)


def there(tree: dict[str, bytes], *, large: bool = True) -> dict[str, RemoteFile]:
    return {n: RemoteFile(len(d), "git" + d.hex(), d.hex() if large else None) for n, d in tree.items()}


def state(tree: dict[str, bytes], **fields) -> RemoteState:
    return RemoteState(**{"exists": True, "sha": HEAD, "private": False, "files": there(tree), **fields})


def withdrawal(version: str, passages: int) -> Withdrawal:
    ids = tuple(f"p-{i}" for i in range(passages))
    return Withdrawal(version, Path(version), datetime(2026, 11, 30), ids, 3 * passages)


def test_each_file_has_one_fate() -> None:
    outgoing = local({"README.md": b"1", "qrels/a": b"2", "qrels/c": b"3"})
    remote = state({"README.md": b"1", "qrels/a": b"x", "qrels/b": b"4", ".gitattributes": b"z"})
    plan = make_plan(outgoing, remote)
    assert [(c.what, c.name) for c in plan.changes] == [
        ("same", "README.md"),
        ("changed", "qrels/a"),
        ("gone", "qrels/b"),
        ("new", "qrels/c"),
    ]
    assert (plan.size, plan.reasons, plan.is_published) == (2, (), False)


def test_small_files_are_told_by_the_git_id_and_size_counts() -> None:
    outgoing = local({"README.md": b"1"})
    assert holds_all(there({"README.md": b"1"}, large=False), outgoing)
    assert not holds_all({"README.md": RemoteFile(1, "another", None)}, outgoing)
    assert not holds_all({"README.md": RemoteFile(2, "", b"1".hex())}, outgoing)


@given(names, names)
def test_a_tree_holds_a_folder_only_where_they_are_equal(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert holds_all(there(other), local(one)) == (one == other)
    wrong = {n for n in one.keys() | other.keys() if one.get(n) != other.get(n)}
    assert set(differing(there(other), local(one))) == wrong
    plan = make_plan(local(one), state(other))
    after = {n: d for n, d in other.items() if n not in {c.name for c in plan.named("gone")}}
    after |= {c.name: one[c.name] for c in plan.named("new", "changed")}
    assert after == one


def test_a_version_that_is_there_is_not_sent_again() -> None:
    outgoing = local({"README.md": b"1"})
    # Main has moved on to a later version since.
    remote = state({"README.md": b"9"}, tags={"v1.0.0": "a" * 40, "v2.0.0": HEAD}, tagged=there({"README.md": b"1"}))
    plan = make_plan(outgoing, remote)
    assert (plan.is_published, plan.reasons, plan.size) == (True, (), 0)
    assert [c.what for c in plan.changes] == ["same"]


def test_a_tag_with_other_content_is_never_moved() -> None:
    remote = state({"README.md": b"1"}, tags={"v1.0.0": HEAD}, tagged=there({"README.md": b"2"}))
    [reason] = make_plan(local({"README.md": b"1"}), remote).reasons
    assert "has a tag v1.0.0 with other content (1 file other, README.md for one)" in reason
    assert "raise release.version" in reason


@pytest.mark.parametrize(
    ("tags", "refused"),
    [
        (["v0.9.0"], False),
        (["v1.0.1"], True),
        (["v1.10.0", "v1.9.0"], True),
        (["v0.10.0"], False),
        (["latest", "v2"], False),
    ],
)
def test_main_never_goes_back(tags: list[str], refused: bool) -> None:
    plan = make_plan(local({"README.md": b"1"}), state({"README.md": b"2"}, tags=dict.fromkeys(tags, HEAD)))
    assert bool(plan.reasons) is refused
    if refused:
        assert f"already has {tags[0]}" in plan.reasons[0]


def test_files_of_somebody_else_are_not_deleted_by_the_way() -> None:
    remote = state({"README.md": b"1", "images/plot.png": b"2", "notes.md": b"3"})
    [reason] = make_plan(local({"README.md": b"1"}), remote).reasons
    assert "(images/plot.png, notes.md)" in reason
    plan = make_plan(local({"README.md": b"1"}), remote, take_over=True)
    assert (plan.reasons, len(plan.named("gone"))) == ((), 2)
    ours = state({"README.md": b"1", "corpus/train-00002-of-00003.parquet": b"2", "beir/qrels/train.tsv": b"3"})
    assert make_plan(local({"README.md": b"1"}), ours).reasons == ()


def test_files_of_a_model_are_other_ones() -> None:
    outgoing = local({"README.md": b"1"}, kind="model")
    assert make_plan(outgoing, state({"2_Dense/model.safetensors": b"2", "2_Dense/config.json": b"3"})).reasons == ()
    assert "corpus/a.parquet" in make_plan(outgoing, state({"corpus/a.parquet": b"2"})).reasons[0]


def test_who_sees_it() -> None:
    outgoing = local({"README.md": b"1"})
    first = make_plan(outgoing, RemoteState(exists=False))
    assert (first.visibility, first.gate) == ("public", "auto")
    # A first publishing that was cut off left it private, without a version: it goes on to public.
    assert make_plan(outgoing, state({}, private=True)).visibility == "public"
    assert make_plan(outgoing, state({"README.md": b"1", ".gitattributes": b"z"}, private=True)).visibility == "public"
    # The tag of its one version was taken off, or somebody keeps other files there: it is not opened by the way.
    assert make_plan(outgoing, state({"README.md": b"0"}, private=True)).visibility == "private"
    # Somebody made it private after a version was there: it stays so.
    assert make_plan(outgoing, state({}, private=True, tags={"v0.1.0": HEAD})).visibility == "private"
    assert make_plan(outgoing, state({}, tags={"v0.1.0": HEAD})).visibility == "public"
    assert make_plan(outgoing, state({}, tags={"v0.1.0": HEAD}), visibility="private").visibility == "private"


def test_a_closer_gate_is_not_opened_by_the_way() -> None:
    outgoing = local({"README.md": b"1"})
    assert make_plan(outgoing, state({}, gate="manual")).gate == "manual"
    assert make_plan(outgoing, state({}, gate="manual"), gate="auto").gate == "auto"
    assert make_plan(outgoing, state({})).gate == "auto"
    assert make_plan(local({}, kind="model"), state({}, gate="manual")).gate == "manual"
    assert make_plan(local({}, kind="model"), state({})).gate is None


def test_tags_that_still_hold_removed_passages() -> None:
    remote = state({}, tags={"v0.1.0": HEAD, "v0.3.0": HEAD})
    old = (withdrawal("0.1.0", 12), withdrawal("0.2.0", 1))
    plan = make_plan(local({"README.md": b"1"}), remote, withdrawn=old)
    assert [(w.version, len(w.passages)) for w in plan.stale_tags] == [("0.1.0", 12)]


def test_reasons_of_the_folder_come_first_and_write_access_counts() -> None:
    plan = make_plan(local({"README.md": b"1"}, reasons=("it is damaged",)), state({}, may_write=False))
    assert plan.reasons[0] == "it is damaged"
    assert "the token may not write to Maker/toy" in plan.reasons[1]
    assert make_plan(local({"README.md": b"1"}), state({}, may_write=None)).reasons == ()


def test_without_the_hub_every_file_counts_as_new() -> None:
    plan = make_plan(local({"README.md": b"1", "qrels/a": b"22"}), None)
    assert ([c.what for c in plan.changes], plan.size, plan.remote) == (["new", "new"], 3, None)
