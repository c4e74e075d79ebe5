"""The citation of cards, as BibTeX."""

import re

from tendril_assets.spec import CollectionSpec
from tendril_assets.spec_release import CitationSpec

_WIDTH = 104


def bibtex(spec: CollectionSpec) -> str:
    """The entry the specification gives, or one for the release itself where it gives none."""
    given = spec.release.citation
    return _entry(given.kind, given.key, _given(given)) if given else _own(spec)


def _given(citation: CitationSpec) -> dict[str, str]:
    fields = {"title": citation.title, "author": " and ".join(citation.authors), "year": str(citation.year)}
    return fields | ({"url": citation.url} if citation.url else {})


def _own(spec: CollectionSpec) -> str:
    """Only what is known: no year, for no file of a release carries a time."""
    release = spec.release
    fields = {"title": _escaped(release.title)}
    if release.organisation:
        fields["author"] = f"{{{_escaped(release.organisation)}}}"
        fields["url"] = f"https://huggingface.co/datasets/{release.hub_id(release.name)}"
    key = re.sub(r"[^a-z0-9]+", "", release.name.lower())
    return _entry("misc", key, fields | {"note": f"Version {release.version}"})


def _escaped(text: str) -> str:
    """Plain text as BibTeX: the characters that TeX reads as commands."""
    return re.sub(r"([&%$#_])", r"\\\1", text)


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    wide = max(map(len, fields))
    lines = ",\n".join(f"  {name:<{wide}} = {{{_wrapped(value, wide + 6)}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}"


def _wrapped(value: str, indent: int) -> str:
    """Long lists of authors go on below each other, between two of them."""
    lines, line = [], ""
    for part in value.split(" and "):
        longer = f"{line} and {part}" if line else part
        if line and len(longer) > _WIDTH:
            lines.append(f"{line} and")
            line = part
        else:
            line = longer
    return f"\n{' ' * indent}".join([*lines, line])
