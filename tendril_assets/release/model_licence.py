"""The licence of a fine-tuned model: that of its base, carried over, with the attributions that go along.

``LICENSE`` holds the base's own licence file where the base lies on this machine, else the text that ships with this
product, else a text that lies there already, else the licence's name and address: no legal text is written from memory.
"""

import re
from pathlib import Path
from typing import Literal, NamedTuple

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.model_files import LICENCE_NAMES, NOTICE_NAMES, legal_text
from tendril_assets.evaluation.models import find_base
from tendril_assets.hub_cache import cached_snapshot
from tendril_assets.licences import Licence
from tendril_assets.release.model_inputs import CardModel, ModelInputs
from tendril_assets.spec_training import ModelSpec

LICENCE, NOTICE = "LICENSE", "NOTICE"
_TEXTS = Path(__file__).parent / "licence"
# How a file of ``_pointer`` begins, of whatever licence.
_POINTS = re.compile(rb"[^\n]+\n(SPDX-License-Identifier: [^\n]+\n)?Text: https?://[^\n]+\n\n")


class LicenceText(NamedTuple):
    """A file with a licence's text, and whose it is."""

    path: Path
    whole: Literal["base", "shipped", "placed"]


class Documents(NamedTuple):
    """``LICENSE`` and ``NOTICE`` of the model folder, as bytes: a base's own are passed on as they are.

    ``text`` says where the licence's text is from; None where ``LICENSE`` only names it. ``change`` says in a sentence
    what was done to the base. ``lacking`` says where to put a text that copies need and nobody has; None where none lacks.
    """

    licence: bytes
    notice: bytes
    text: LicenceText | None
    change: str
    lacking: str | None

    @property
    def files(self) -> dict[str, bytes]:
        return {LICENCE: self.licence, NOTICE: self.notice}


def documents(known: CardModel, inputs: ModelInputs, there: Path | None = None) -> Documents:
    """The model's licence and notice, resolved once, so that the card says of them what they hold.

    ``there``: the model's folder as it is before, whose ``LICENSE`` stays where nobody else has a text.
    """
    release, licence = inputs.spec.release, known.entry.licence
    change = (
        f"Changed: the weights were fine-tuned on {inputs.data_name or 'data with the SHA-256 ' + known.row['data_hash']}."
        if known.row["best_step"]
        else "The weights are those of the base model: no step of the fine-tuning was better."
    )
    folder = _base_folder(known)
    text = licence_text(licence, folder) or _placed(known, there)
    upstream = legal_text(folder, NOTICE_NAMES) if folder else None
    title = release.published_model(known.name).title
    return Documents(
        licence=text.path.read_bytes() if text else _pointer(licence).encode(),
        notice=_notice(known, title, change, upstream.read_bytes() if upstream else None),
        text=text,
        change=change,
        lacking=where_to_put(known.entry, folder) if text is None and licence.text == "required" else None,
    )


def licence_text(licence: Licence, folder: Path | None) -> LicenceText | None:
    """The text that goes along: the file of the base in ``folder``, else what ships; None where neither is there.

    Only Apache's text ships. That of MIT and BSD is not whole without the holder's line, which no template has.
    """
    own = legal_text(folder, LICENCE_NAMES) if folder else None
    if own is not None:
        return LicenceText(own, "base")
    shipped = _TEXTS / f"{licence.id}.txt"
    return LicenceText(shipped, "shipped") if shipped.is_file() else None


def where_to_put(entry: ModelSpec, folder: Path | None) -> str:
    """What to do about a licence's text that is not at hand. ``folder``: of the base, None where it is not here."""
    if folder is None or entry.is_hub_id:
        # Not into the hub's cache: whoever cleans that would lose it. A copy of the base as a folder is another base.
        return (
            f"put it in place of {LICENCE} in the model's folder below release/, by hand, before copies are passed on; it "
            "stays there when the cards are made again"
        )
    return f"put it as {LICENCE} into {folder}, and it goes along when the cards are made"


def banner(licence: Licence) -> str:
    """What stands at the head of a card whose model must not be used for everything; empty where it may."""
    if licence.commercial:
        return ""
    return f"> **Non-commercial use only.** The base model is licensed under {licence.short}, and so is this fine-tune."


def licence_section(known: CardModel, found: Documents) -> str:
    """The card's section: name and consequences, what the base rests on, what was changed, where the texts are."""
    licence = known.entry.licence
    parts = [
        f"[{licence.title}]({licence.url}), the same as the base model.",
        *licence.consequences,
        *(
            f"The underlying {_linked(u.name, u.url)} is licensed under {u.licence.title}."
            for u in known.entry.upstream
        ),
        found.change,
        f"{_where(licence, found)}; `{NOTICE}` has the attributions and what was changed.",
    ]
    return " ".join(parts)


def _where(licence: Licence, found: Documents) -> str:
    if found.text is not None and found.text.whole == "base":
        name = found.text.path.name
        return f"`{LICENCE}` is the base model's own" + (f" (`{name}` there)" if name != LICENCE else "")
    if found.text is not None:
        return f"`{LICENCE}` holds the licence's text"
    if licence.text == "required":
        return f"`{LICENCE}` names the licence without its text, which must be put there before copies are passed on"
    return f"`{LICENCE}` names the licence and where its text is"


def _base_folder(known: CardModel) -> Path | None:
    """The base as it was trained from, where that lies on this machine."""
    if known.entry.is_hub_id:
        # What the cache holds as main today may be another commit, under another licence.
        commit = known.row["revision"]
        return cached_snapshot(known.entry.base, commit) if commit else None
    try:
        folder = find_base(known.entry).folder
        return folder if folder.is_dir() else None
    except TendrilError:
        # Trained elsewhere, or the base is gone since: it is not needed any more.
        return None


def _placed(known: CardModel, there: Path | None) -> LicenceText | None:
    """A text in the model's folder that is none of ours: a person put it there, or it is of a base that has gone since.

    It counts for the base and licence that the ``NOTICE`` beside it names, no other.
    """
    if there is None or not (there / LICENCE).is_file() or not (there / NOTICE).is_file():
        return None
    path = there / LICENCE
    text = path.read_bytes()
    ours = any(text == shipped.read_bytes() for shipped in _TEXTS.glob("*.txt")) or _POINTS.match(text)
    same = "\n".join(_named(known)).encode() in (there / NOTICE).read_bytes()
    return LicenceText(path, "placed") if text.strip() and same and not ours else None


def _pointer(licence: Licence) -> str:
    """A file that names the licence and does not repeat it."""
    along = (
        "\nThis file does not repeat the text. Where copies of the model are passed on, the text goes along: put it in place "
        "of this file.\n"
        if licence.text == "required"
        else ""
    )
    spdx = f"SPDX-License-Identifier: {licence.id}\n" if licence.spdx else ""
    sentences = "\n".join(licence.consequences)
    return f"{licence.name}\n{spdx}Text: {licence.url}\n\n{sentences}\n{along}"


def _named(known: CardModel) -> list[str]:
    """The lines of the notice that say which base, at which revision, under which licence."""
    entry = known.entry
    where = f" (https://huggingface.co/{entry.published_base})" if entry.published_base else ""
    at = f", revision {known.row['revision']}" if known.row["revision"] else ""
    return [
        f"A fine-tuned version of {entry.base_title}{where}{at},",
        f"licensed under {entry.licence.title}: {entry.licence.url}",
    ]


def _notice(known: CardModel, title: str, change: str, upstream: bytes | None) -> bytes:
    entry = known.entry
    lines = [title, "", *_named(known), change]
    if entry.upstream:
        rests = [
            f"{u.name}, {u.licence.title}: {u.licence.url}" + (f" ({u.url})" if u.url else "") for u in entry.upstream
        ]
        lines += ["", "The base model rests on:", *(f"- {line}" for line in rests)]
    if upstream:
        lines += ["", f"The notice of {entry.base_title}:", "", ""]
    own = "\n".join(lines).encode()
    return own + (upstream.rstrip() if upstream else b"") + b"\n"


def _linked(name: str, url: str | None) -> str:
    return f"[{name}]({url})" if url else name
