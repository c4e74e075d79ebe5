"""The card's section on removals: how to ask for one, what it takes, and what earlier versions still hold elsewhere."""

from collections.abc import Sequence

from tendril_assets.release.front_matter import REMEDY_DAYS
from tendril_assets.release.withdrawn import Withdrawal
from tendril_assets.release.wording import markdown_table, plural
from tendril_assets.spec import CollectionSpec

_EXAMPLE = ", for example where personal data remains"


def removal_notice(spec: CollectionSpec, withdrawn: Sequence[Withdrawal]) -> str:
    """Markdown; ``withdrawn`` are the withdrawn versions, each with what its copies and its tag still hold."""
    parts = [
        f"{_how_to_ask(spec)} A request may name a passage, a {'judgment' if spec.registers else 'document'} or a whole "
        f"{spec.group}; near-duplicates of a passage in the same {spec.group} go with it"
        f"{', and so do the questions written from it' if spec.registers and spec.registers.generation else ''}. From the next "
        "version on the passages and their judgments are left out, and `CHANGELOG.md` counts what was.",
        _what_is_left(spec, withdrawn),
    ]
    return "\n\n".join(parts)


def _how_to_ask(spec: CollectionSpec) -> str:
    release = spec.release
    places = [f"write to {release.contact}"] if release.contact else []
    if release.organisation:
        places.append(
            f"open a discussion on <https://huggingface.co/datasets/{release.hub_id(release.name)}/discussions>"
        )
    whom = " or ".join(places) or "ask whoever gave you the dataset"
    return (
        f"Passages are removed on request{'' if spec.anonymization.detector == 'none' else _EXAMPLE}. To report one, "
        f"{whom}, and name it by its `id`: do not repeat what it says."
    )


def _what_is_left(spec: CollectionSpec, withdrawn: Sequence[Withdrawal]) -> str:
    if not withdrawn:
        return "No passage of an earlier version has been removed so far."
    rows = [
        (f"{one.version} (tag `v{one.version}`)", f"{one.at:%Y-%m-%d}", f"{len(one.passages):,}", f"{one.judgments:,}")
        for one in sorted(withdrawn, key=lambda one: [int(part) for part in one.version.split(".")])
    ]
    ids = {passage for one in withdrawn for passage in one.passages}
    table = markdown_table(
        ("Version", "Withdrawn on", "Removed passages it holds", "Their judgments"), rows, figures=False
    )
    return (
        f"{plural(len(ids), 'passage')} of earlier versions {'has' if len(ids) == 1 else 'have'} been removed. A removal does "
        "not reach copies, nor a git tag that was made before it. These versions were withdrawn and must not be used:\n\n"
        f"{table}\n\n{_duty(spec)}"
    )


def _duty(spec: CollectionSpec) -> str:
    """What holders of a copy have to do: a duty under a licence that has it, else a request."""
    if spec.release.is_gated:
        return (
            "Under the licence, whoever has a copy of one deletes the removed passages and their judgments, and tells those who "
            f"have them from there, within {REMEDY_DAYS} days of learning of it."
        )
    return (
        "Whoever has a copy of one is asked to delete the removed passages and their judgments, and to tell those who have them "
        "from there."
    )
