"""The first split of a collection of acts, and the acts that queries are to be written for.

A split is fixed in a file and then a matter of people: this makes the first one, and adds acts that came later. Acts that
live questions are about and kinds that are held out as a whole go to splits of their own. Of the other acts validation and
unseen acts are drawn by name, in equal shares over the kinds. Acts of one kind with the same title are drawn together: the
later is the earlier one's revision, and a test on it would measure what training read.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from tendril_assets.corpus.identifiers import keyed_order
from tendril_assets.errors import SettingsError

TRAIN, DEV = "train", "dev"
DEV_SHARE, UNSEEN_SHARE = 0.03, 0.09


class Act(NamedTuple):
    """An act to be placed; ``kind`` is ``-`` where it is not known, ``characters`` the length of its text."""

    key: str
    kind: str
    title: str
    characters: int


class Places(NamedTuple):
    """Names of the test splits: of acts with live questions, of held-out kinds, of unseen acts; None where there is none."""

    live: str | None
    held_out: str | None
    unseen: str | None

    @classmethod
    def of(cls, test: Sequence[str], live: str | None, held_out_kinds: Collection[str]) -> "Places":
        """From the specification's test splits: what is not for live questions is, in its order, for held-out kinds (where
        there are any) and for unseen acts.

        Raises SettingsError where there are fewer or more splits than that.
        """
        others = [name for name in test if name != live]
        held_out = others.pop(0) if held_out_kinds and others else None
        unseen = others.pop(0) if others else None
        if others or (held_out_kinds and held_out is None):
            raise SettingsError(
                f"the specification's test splits are {', '.join(test) or 'none'}; a first split can be made of at most one for "
                "live questions (splits.live), one for splits.held_out_kinds and one for unseen acts: write split.json by hand"
            )
        return cls(live, held_out, unseen)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(name for name in self if name is not None)


def first_split(
    acts: Iterable[Act],
    asked: Collection[str],
    held_out_kinds: Collection[str],
    places: Places,
    seed: int,
    dev: int | None = None,
    unseen: int | None = None,
    written_for: Collection[str] = (),
) -> dict[str, list[str]]:
    """Split -> sorted keys: every act in one split.

    Args:
        asked: keys of acts that live questions are about; each goes to ``places.live``, whatever its kind.
        written_for: keys of acts that have hand-written queries; each of them that no other split takes is an unseen one.
        dev, unseen: how many acts of the others are held out for validation and as unseen ones; None: 3 and 9 in a hundred
            of all acts, as published.

    Raises:
        SettingsError: more are to be held out than would leave one act to train on, or live questions without a split.
    """
    everything = sorted(acts)
    if asked and places.live is None:
        raise SettingsError("there are live questions about these acts, but the specification has no splits.live")
    split: dict[str, str] = {}
    rest = []
    for act in everything:
        if act.key in asked and places.live is not None:
            split[act.key] = places.live
        elif act.kind in held_out_kinds and places.held_out is not None:
            split[act.key] = places.held_out
        elif act.key in written_for and places.unseen is not None:
            split[act.key] = places.unseen
        else:
            rest.append(act)
    n_dev = max(1, round(DEV_SHARE * len(everything))) if dev is None else dev
    n_unseen = (
        0 if places.unseen is None else max(1, round(UNSEEN_SHARE * len(everything))) if unseen is None else unseen
    )
    n_unseen = max(0, n_unseen - sum(name == places.unseen for name in split.values()))
    if n_dev + n_unseen >= len(rest):
        raise SettingsError(
            f"{len(everything)} acts: {len(split)} are held out for live questions, kinds and hand-written queries, so "
            f"{len(rest)} are left: too few for "
            f"{n_dev} of {DEV}, {n_unseen} unseen ones and one to train on. Ask for fewer (--dev, --unseen)"
        )
    # A revision of an act that is held out already is no unseen one; trained on, its repeated passages leave as leaks.
    titles = {(act.kind, _title(act)) for act in everything if act.key in split and act.title}
    free = [act for act in rest if not act.title or (act.kind, _title(act)) not in titles]
    for name, n in ((places.unseen, n_unseen), (DEV, n_dev)):
        if name is None:
            continue
        drawn = _drawn([act for act in free if act.key not in split], n, seed, f"split_{name}")
        split |= dict.fromkeys(drawn, name)
    split |= {act.key: TRAIN for act in rest if act.key not in split}
    return _by_split(split, (TRAIN, DEV, *places.all))


def with_new_acts(
    present: Mapping[str, Sequence[str]],
    acts: Iterable[Act],
    asked: Collection[str],
    held_out_kinds: Collection[str],
    places: Places,
) -> dict[str, list[str]]:
    """``present`` with the acts that it lacks: those of live questions and held-out kinds to their splits, others to train.

    What is placed stays where it is, also where it would go elsewhere today.
    """
    split = {key: name for name, keys in present.items() for key in keys}
    for act in acts:
        if act.key in split:
            continue
        if act.key in asked and places.live is not None:
            split[act.key] = places.live
        else:
            held_out = act.kind in held_out_kinds and places.held_out is not None
            split[act.key] = places.held_out if held_out and places.held_out is not None else TRAIN
    return _by_split(split, tuple(dict.fromkeys((TRAIN, DEV, *places.all, *present))))


def tasks(acts: Iterable[Act], n: int, seed: int) -> list[Act]:
    """``n`` acts to write queries for, as even over the kinds as there are acts of them, drawn by name; all where there are
    fewer. Ordered by kind, then as drawn."""
    of_kind: dict[str, list[Act]] = defaultdict(list)
    for act in acts:
        of_kind[act.kind].append(act)
    sizes = even_shares({kind: len(members) for kind, members in of_kind.items()}, n)
    return [
        act
        for kind in sorted(of_kind)
        for act in sorted(of_kind[kind], key=lambda act: (keyed_order(seed, "manual_tasks", act.key), act.key))[
            : sizes[kind]
        ]
    ]


def even_shares(available: Mapping[str, int], n: int) -> dict[str, int]:
    """``n`` dealt out one each in rounds over the kinds, the larger kinds first, none more than it has."""
    sizes = dict.fromkeys(available, 0)
    order = sorted(available, key=lambda kind: (-available[kind], kind))
    left = min(n, sum(available.values()))
    while left:
        for kind in order:
            if left and sizes[kind] < available[kind]:
                sizes[kind] += 1
                left -= 1
    return sizes


def proportional_shares(available: Mapping[str, int], n: int) -> dict[str, int]:
    """``n`` in proportion to the kinds' sizes, whole by largest remainder; n must not be above their sum."""
    total = sum(available.values())
    exact = {kind: n * size / total if total else 0.0 for kind, size in available.items()}
    sizes = {kind: int(value) for kind, value in exact.items()}
    by_remainder = sorted(available, key=lambda kind: (sizes[kind] - exact[kind], kind))
    for kind in by_remainder[: n - sum(sizes.values())]:
        sizes[kind] += 1
    return sizes


def composition(split: Mapping[str, Sequence[str]], acts: Iterable[Act]) -> list[tuple[str, int, int, float, str]]:
    """Rows of split, acts, characters, share of all characters, and its kinds in words."""
    by_key = {act.key: act for act in acts}
    total = max(1, sum(act.characters for act in by_key.values()))
    rows = []
    for name, keys in split.items():
        members = [by_key[key] for key in keys if key in by_key]
        characters = sum(act.characters for act in members)
        kinds = Counter(act.kind for act in members)
        told = ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items(), key=lambda item: (-item[1], item[0])))
        rows.append((name, len(keys), characters, characters / total, told))
    return rows


def _drawn(acts: Sequence[Act], n: int, seed: int, stage: str) -> list[str]:
    """Keys of ``n`` acts over their kinds, in the named order; acts of one title together or not at all.

    A title that many acts share is passed over where it would be more than what is left to draw; the number is then filled
    from the kinds that have some left, and is smaller where only such titles are left.
    """
    units: dict[str, list[list[str]]] = defaultdict(list)
    of_title: dict[tuple[str, str], list[str]] = {}
    for act in sorted(acts):
        title = (act.kind, _title(act) or act.key)
        if title not in of_title:
            of_title[title] = []
            units[act.kind].append(of_title[title])
        of_title[title].append(act.key)
    sizes = proportional_shares({kind: sum(map(len, members)) for kind, members in units.items()}, min(n, len(acts)))
    drawn: list[str] = []
    for kind in sorted(units):
        units[kind].sort(key=lambda unit: (keyed_order(seed, stage, unit[0]), unit[0]))
        taken = 0
        for unit in list(units[kind]):
            if taken + len(unit) <= sizes[kind]:
                taken += len(unit)
                drawn += unit
                units[kind].remove(unit)
    left = sorted((u for kind in units for u in units[kind]), key=lambda u: (keyed_order(seed, stage, u[0]), u[0]))
    for unit in left:
        if len(drawn) + len(unit) <= n:
            drawn += unit
    return drawn


def _title(act: Act) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in act.title.casefold()).split())


def _by_split(split: Mapping[str, str], names: Iterable[str]) -> dict[str, list[str]]:
    return {name: sorted(key for key, of in split.items() if of == name) for name in names}
