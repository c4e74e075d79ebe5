"""The card's front matter: what the Hugging Face hub and ``datasets`` read, made from the written files."""

import re
from pathlib import Path
from typing import Any

import yaml

from tendril_assets.release.huggingface import DEFAULT_CONFIG, SPLIT, Config
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
    """LICENSE.md: the Open RAIL-D style terms under the name the specification gives them."""
    return _filled("open_rail_d.md", spec)


def gating_text(spec: CollectionSpec) -> str:
    """What has to be accepted before access, one paragraph."""
    return _filled("gating.md", spec).strip()


def front_matter(spec: CollectionSpec, configs: list[Config], sizes: dict[str, int], *, sandbox: bool) -> str:
    """YAML between two ``---`` lines.

    ``sizes`` are the bytes of each config's rows (``huggingface.plain_bytes``); ``datasets`` compares the row counts when
    it loads. Every figure is one of the rows, none of the compressed files: the same rows give the same card whatever
    version of a library wrote them.
    """
    rows = max(c.rows for c in configs)
    tags = ["retrieval", "relevance-judgments", "llm-as-a-judge"]
    body: dict[str, Any] = {
        "pretty_name": spec.release.title,
        "language": [spec.release.language],
        "license": "other",
        "license_name": re.sub(r"[^a-z0-9.]+", "-", spec.release.licence_name.lower()).strip("-"),
        "license_link": "LICENSE.md",
        "annotations_creators": ["machine-generated"],
        "language_creators": ["found"],
        "source_datasets": ["original"],
        "task_categories": ["text-retrieval"],
        "task_ids": ["document-retrieval"],
        "size_categories": [next((label for label, end in _SIZES if rows < end), "100M<n<1B")],
        "tags": [*tags, "sandbox"] if sandbox else tags,
        "extra_gated_heading": "Accept the conditions to access this dataset",
        "extra_gated_prompt": gating_text(spec),
        "extra_gated_button_content": "Accept",
        "configs": [
            {
                "config_name": c.name,
                **({"default": True} if c.name == DEFAULT_CONFIG else {}),
                "data_files": [{"split": SPLIT, "path": f"{c.name}/{SPLIT}-*.parquet"}],
            }
            for c in configs
        ],
        "dataset_info": [
            {
                "config_name": c.name,
                "features": [{"name": name, "dtype": dtype} for name, dtype in c.features.items()],
                "splits": [{"name": SPLIT, "num_bytes": sizes[c.name], "num_examples": c.rows}],
                "dataset_size": sizes[c.name],
            }
            for c in configs
        ],
    }
    text = yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{text}---\n"


def _filled(name: str, spec: CollectionSpec) -> str:
    text = (_LICENCE / name).read_text(encoding="utf-8")
    return text.format(title=spec.release.title, licence_name=spec.release.licence_name, days=REMEDY_DAYS)
