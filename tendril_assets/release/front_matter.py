"""The card's front matter: what the Hugging Face hub and ``datasets`` read, made from the written files."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tendril_assets.release.huggingface import DEFAULT_CONFIG, Config
from tendril_assets.spec import CollectionSpec

# The hub's size classes: label, and the number of rows it ends below.
_SIZES = (
    ("n<1K", 10**3),
    ("1K<n<10K", 10**4),
    ("10K<n<100K", 10**5),
    ("100K<n<1M", 10**6),
    ("1M<n<10M", 10**7),
    ("10M<n<100M", 10**8),
)
# Within which a breach is mended and a removed passage deleted.
REMEDY_DAYS = 30
_LICENCE = Path(__file__).parent / "licence"


def licence_text(spec: CollectionSpec) -> str:
    """LICENSE.md: the terms the specification chooses, under the name it gives them."""
    return _filled(f"{spec.release.licence}.md", spec)


def gating_text(spec: CollectionSpec) -> str:
    """What has to be accepted before access, one paragraph."""
    return _filled("gating.md", spec).strip()


class Provenance(NamedTuple):
    """Where judgments and texts come from, in the hub's words; ``is_judged``: whether a judge's labels are among them."""

    annotations: tuple[str, ...] = ("machine-generated",)
    texts: tuple[str, ...] = ("found",)
    is_judged: bool = True


# Of a collection whose every judgment is a judge's.
BY_A_JUDGE = Provenance()


def front_matter(
    spec: CollectionSpec,
    configs: list[Config],
    sizes: dict[str, dict[str, int]],
    *,
    sandbox: bool,
    provenance: Provenance = BY_A_JUDGE,
) -> str:
    """YAML between two ``---`` lines.

    ``sizes`` are the bytes of the rows of each config and split (``huggingface.plain_bytes``); ``datasets`` compares the
    row counts when it loads. Every figure is one of the rows, none of the compressed files: the same rows give the same
    card whatever version of a library wrote them.
    """
    rows = max(c.rows for c in configs)
    tags = ["retrieval", "relevance-judgments", *(["llm-as-a-judge"] if provenance.is_judged else [])]
    body: dict[str, Any] = {
        "pretty_name": spec.release.title,
        "language": [spec.release.language],
        **_licence(spec),
        "annotations_creators": list(provenance.annotations),
        "language_creators": list(provenance.texts),
        "source_datasets": ["original"],
        "task_categories": ["text-retrieval"],
        "task_ids": ["document-retrieval"],
        "size_categories": [next((label for label, end in _SIZES if rows < end), "100M<n<1B")],
        "tags": [*tags, "sandbox"] if sandbox else tags,
        **(_gate(spec) if spec.release.is_gated else {}),
        "configs": [
            {
                "config_name": c.name,
                **({"default": True} if c.name == DEFAULT_CONFIG else {}),
                "data_files": [{"split": split, "path": f"{c.name}/{split}-*.parquet"} for split in c.splits],
            }
            for c in configs
        ],
        "dataset_info": [
            {
                "config_name": c.name,
                "features": [{"name": name, "dtype": dtype} for name, dtype in c.features.items()],
                "splits": [
                    {"name": split, "num_bytes": sizes[c.name][split], "num_examples": n}
                    for split, n in c.splits.items()
                ],
                "dataset_size": sum(sizes[c.name].values()),
            }
            for c in configs
        ],
    }
    text = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{text}---\n"


def _licence(spec: CollectionSpec) -> dict[str, str]:
    if spec.release.licence == "mit":
        return {"license": "mit", "license_link": "LICENSE.md"}
    name = re.sub(r"[^a-z0-9.]+", "-", spec.release.licence_name.lower()).strip("-")
    return {"license": "other", "license_name": name, "license_link": "LICENSE.md"}


def _gate(spec: CollectionSpec) -> dict[str, str]:
    return {
        "extra_gated_heading": "Accept the conditions to access this dataset",
        "extra_gated_prompt": gating_text(spec),
        "extra_gated_button_content": "Accept",
    }


def _filled(name: str, spec: CollectionSpec) -> str:
    text = (_LICENCE / name).read_text(encoding="utf-8")
    release = spec.release
    return text.format(
        title=release.title,
        licence_name=release.licence_name,
        days=REMEDY_DAYS,
        year=release.copyright_year,
        holder=release.organisation or f"the authors of {release.name}",
    )
