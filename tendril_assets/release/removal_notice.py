"""The card's section on removals: how to ask for one, what it takes, and what earlier versions still hold elsewhere."""

from collections.abc import Sequence

from tendril_assets.release.front_matter import REMEDY_DAYS
from tendril_assets.release.withdrawn import Withdrawal
from tendril_assets.release.wording import markdown_table, plural
from tendril_assets.spec import CollectionSpec


def removal_notice(spec: CollectionSpec, withdrawn: Sequence[Withdrawal]) -> str:
    """Markdown; ``withdrawn`` are the withdrawn versions, each with what its copies and its tag still hold."""
    parts = [
        f"{_how_to_ask(spec)} A request may name a passage, a document or a whole {spec.group}; near-duplicates of a passage "
        f"in the same {spec.group} go with it. From the next version on the passages and their judgments are left out, and "
        "`CHANGELOG.md` counts what was.",
        _what_is_left(withdrawn),
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
        "Passages are removed on request, for example where personal data remains. To report one, "
        f"{whom}, and name it by its `id`: do not repeat what it says."
    )


def _what_is_left(withdrawn: Sequence[Withdrawal]) -> str:
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
        f"{table}\n\n"
        "Under the licence, whoever has a copy of one deletes the removed passages and their judgments, and tells those who "
        f"have them from there, within {REMEDY_DAYS} days of learning of it."
    )
