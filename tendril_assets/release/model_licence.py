"""The licence of a fine-tuned model: that of its base, carried over, with the attributions that go along.

``LICENSE`` holds the base's own licence file where the base lies on this machine, else the text that ships with this
product, else the licence's name and address: no legal text is written from memory.
"""

from pathlib import Path

from tendril_assets.errors import TendrilError
from tendril_assets.evaluation.models import find_base
from tendril_assets.licences import Licence
from tendril_assets.release.model_inputs import CardModel
from tendril_assets.spec_training import ModelSpec

LICENCE, NOTICE = "LICENSE", "NOTICE"
_TEXTS = Path(__file__).parent / "licence"
_ENDINGS = ("", ".txt", ".md")


def banner(licence: Licence) -> str:
    """What stands at the head of a card whose model must not be used for everything; empty where it may."""
    if licence.commercial:
        return ""
    return f"> **Non-commercial use only.** The base model is licensed under {licence_id(licence)}, and so is this fine-tune."


def licence_id(licence: Licence) -> str:
    """The SPDX id, or the name of a licence that has none."""
    return licence.name if licence.id == "other" else licence.id


def licence_section(known: CardModel) -> str:
    """The card's section: name and consequences, what the base rests on, where the texts are."""
    licence = known.entry.licence
    parts = [
        f"[{_full_name(licence)}]({licence.url}), the same as the base model.",
        *licence.consequences,
        *(
            f"The underlying {_linked(u.name, u.url)} is licensed under {_full_name(u.licence)}."
            for u in known.entry.upstream
        ),
        f"See `{LICENCE}` and `{NOTICE}` for the text and the upstream attributions.",
    ]
    return " ".join(parts)


def licence_files(known: CardModel, title: str, data: str) -> dict[str, str]:
    """``LICENSE`` and ``NOTICE`` of the model folder; ``data`` names what the weights were changed on."""
    own = base_documents(known.entry)
    licence = known.entry.licence
    shipped = _TEXTS / f"{licence.id}.txt"
    text = own.get(LICENCE) or (shipped.read_text(encoding="utf-8") if shipped.is_file() else _pointer(licence))
    return {LICENCE: text, NOTICE: _notice(known, title, data, own.get(NOTICE))}


def base_documents(entry: ModelSpec) -> dict[str, str]:
    """``LICENSE`` and ``NOTICE`` of the base, where it lies on this machine: in its folder, or in the hub's cache."""
    found = {}
    for name in (LICENCE, NOTICE):
        for ending in _ENDINGS:
            path = _base_file(entry, f"{name}{ending}")
            if path is not None:
                found[name] = path.read_text(encoding="utf-8")
                break
    return found


def _base_file(entry: ModelSpec, name: str) -> Path | None:
    try:
        path = find_base(entry).folder / name
    except TendrilError:
        # Trained elsewhere, or the base is gone since: it is not needed any more.
        return None
    return path if path.is_file() else None


def _pointer(licence: Licence) -> str:
    """A file that names the licence and does not repeat it."""
    along = (
        "\nThis file does not repeat the text. Where copies of the model are passed on, the text goes along: put it in place "
        "of this file.\n"
        if licence.notice
        else ""
    )
    spdx = f"SPDX-License-Identifier: {licence.id}\n" if licence.id != "other" else ""
    sentences = "\n".join(licence.consequences)
    return f"{licence.name}\n{spdx}Text: {licence.url}\n\n{sentences}\n{along}"


def _notice(known: CardModel, title: str, data: str, upstream: str | None) -> str:
    entry = known.entry
    where = f" (https://huggingface.co/{entry.base})" if known.from_hub else ""
    at = f", revision {known.row['revision']}" if known.row["revision"] else ""
    unchanged = known.row["best_step"] == 0
    change = (
        "The weights are those of the base model: no step of the fine-tuning was better."
        if unchanged
        else f"Changed: the weights were fine-tuned on {data}."
    )
    lines = [
        title,
        "",
        f"A fine-tuned version of {entry.base}{where}{at},",
        f"licensed under {_full_name(entry.licence)}: {entry.licence.url}",
        change,
    ]
    if entry.upstream:
        rests = [
            f"{u.name}, {_full_name(u.licence)}: {u.licence.url}" + (f" ({u.url})" if u.url else "")
            for u in entry.upstream
        ]
        lines += ["", "The base model rests on:", *(f"- {line}" for line in rests)]
    if upstream:
        lines += ["", f"The notice of {entry.base}:", "", upstream.rstrip()]
    return "\n".join(lines) + "\n"


def _full_name(licence: Licence) -> str:
    return licence.name if licence.id == "other" else f"{licence.name} ({licence.id})"


def _linked(name: str, url: str | None) -> str:
    return f"[{name}]({url})" if url else name
