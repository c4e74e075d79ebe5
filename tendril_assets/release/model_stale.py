"""The notice on a model folder whose weights were trained on passages that are removed since.

Such a model gets no new card, since its card would describe data that are not there any more. The card it has stays with
the weights, and whoever opens the folder must learn of it there; the next card, of the model trained again, is without.
"""

import os
import re
from pathlib import Path

from tendril_assets.files import write_atomically
from tendril_assets.release.model_folder import CARD

_HEAD = "> **Stale.** "
_NOTICE = re.compile(rf"^{re.escape(_HEAD)}[^\n]*\n\n", re.MULTILINE)
_FRONT = re.compile(r"\A---\n.*?^---\n\n*", re.MULTILINE | re.DOTALL)


def mark(folder: Path, reason: str) -> bool:
    """Put the notice below the card's front matter, above all else; returns whether the card changed.

    A folder without a card, and one that has the same notice, is left alone.
    """
    path = folder / CARD
    if not path.is_file():
        return False
    text = path.read_text(encoding="utf-8")
    bare = _NOTICE.sub("", text, count=1)
    front = found.end() if (found := _FRONT.match(bare)) else 0
    notice = f"{_HEAD}This model was {reason}. Do not use or publish it; its measures no longer hold.\n\n"
    wanted = bare[:front] + notice + bare[front:]
    if wanted == text:
        return False
    mode = path.stat().st_mode & 0o777
    write_atomically(path, wanted.encode())
    os.chmod(path, mode)
    return True


def is_marked(folder: Path) -> bool:
    """Whether the folder's card carries the notice: it must not be published."""
    path = folder / CARD
    return path.is_file() and _NOTICE.search(path.read_text(encoding="utf-8")) is not None
