"""A rule-based detector of person names in German, French and Italian.

It needs a reason next to the name:

* a title ("Frau", "Mme", "Dott."), a role or label with a colon, a cell or "vertreten durch" behind it;
* a closing formula, a signature mark or a salutation;
* a first name that is no word, in front of a last name, or behind one where the two fill a cell or list item;
* an e-mail address built from the name, or a phone or e-mail in the same line as a cell that is a name;
* a place in a list whose other items are persons.

Titles, degrees and roles stay, the name is the span. Names of firms with a legal form ("Peter Meier AG"), of streets,
schools and saints are no persons.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tendril_assets.corpus import person_reasons as reasons
from tendril_assets.corpus.names import (
    UPPER,
    Name,
    is_ambiguous_first_name,
    is_first_name,
    is_last_name,
    is_noun,
    is_role,
    read_name,
)
from tendril_assets.corpus.person_cells import (
    FORM_WORDS,
    accepted,
    cells,
    couples,
    forms,
    initialled,
    initials,
    is_initialled_cell,
    last_name_first,
    last_names_in_a_row,
    with_list_items,
)
from tendril_assets.corpus.signs import Signs, signs_of

PERSON_RULES_VERSION = "2"


def find_persons(
    text: str, contacts: Sequence[tuple[int, int]] = (), signs: Signs | None = None
) -> list[tuple[int, int]]:
    """Start and end of each name, some of them more than once or overlapping.

    ``contacts`` are the e-mail addresses and phone numbers found in the text: next to them stand names.
    """
    signs = signs or signs_of(text)
    words = signs.words
    found: set[tuple[int, int]] = set()
    if not words.isdisjoint(reasons.TITLE_WORDS):
        found.update(_titled(text))
    if any(mark in text for mark in (":", "|", "\t", "   ", " - ", " – ")):
        found.update(_labelled(text))
    if not words.isdisjoint(reasons.PASSIVE_WORDS):
        found.update(_passive(text))
    if any(is_role(word) for word in words if word[-3:] in reasons.ROLE_ENDS and word[:1].isupper()):
        found.update(_behind_roles(text))
    if not words.isdisjoint(reasons.SIGNED_WORDS):
        found.update(_signed(text))
    if not words.isdisjoint(reasons.CLOSING_WORDS):
        found.update(_closing(text))
    if not words.isdisjoint(reasons.GREETING_WORDS):
        found.update(_salutations(text))
    has_first = not words.isdisjoint(reasons.ANY_FIRST_FORMS)
    if has_first or not reasons.FIRST_FORMS.isdisjoint([word[:-1] for word in words if word[-1:] == "s"]):
        found.update(_by_first_name(text))
    if contacts:
        found.update(_by_address(text, contacts))
    if contacts or has_first:
        found.update(cells(text, contacts))
    if "." in text and not words.isdisjoint(reasons.INITIAL_WORDS):
        found.update(initials(text))
        found.update(initialled(text))
    if not words.isdisjoint(FORM_WORDS):
        found.update(forms(text))
    if has_first and found:
        found.update(couples(text, found))
    if not found:
        return []
    listed = with_list_items(text, found)
    if "M" in words or "MM" in words:
        return [_without_monsieur(text, span) for span in listed]
    return listed


def _without_monsieur(text: str, span: tuple[int, int]) -> tuple[int, int]:
    monsieur = reasons.MONSIEUR.match(text, *span)
    return (monsieur.end(), span[1]) if monsieur and reasons.FRENCH.search(text) else span


def _titled(text: str) -> Iterator[tuple[int, int]]:
    for match in reasons.TITLED.finditer(text):
        name = read_name(text, match.end(), lines=True)
        # "Frau Muster Einsicht geben": a noun behind a last name is no part of it
        if name and len(name.words) == 2 and not name.is_personal and is_noun(name.words[1]):
            name = _shortened(text, name)
        at = match.end()
        if name and match[0].startswith("M. ") and reasons.FRENCH.search(text) is None:
            name = replace(name, start=match.start())  # an initial
        while span := (name.start, name.end) if name else None:
            yield span
            at = span[1]
            plural = match[0].startswith(reasons.PLURAL)
            following = reasons.NEXT_ITEM.match(text, at) if plural else None
            name = read_name(text, following.end()) if following else None


def _shortened(text: str, name: Name) -> Name:
    end = text.index(name.words[0], name.start) + len(name.words[0])
    return replace(name, end=end, words=name.words[:1])


def _labelled(text: str) -> Iterator[tuple[int, int]]:
    for separator in reasons.SEPARATOR.finditer(text):
        name = read_name(text, separator.end(), lines=True)
        if name is None:
            continue
        label = reasons.LABEL_IN_FRONT.search(
            text, max(0, separator.start() - reasons.LABEL_REACHES), separator.start()
        )
        if label is None:
            continue
        if label["word"] is not None and not _has_role(text, label.end("word")):
            if name.initial and is_initialled_cell(text, name):
                yield name.start, name.end
            continue
        strong = label["weak"] is None
        last_first = last_name_first(text, name)
        if last_first:
            yield last_first
        elif not strong and len(name.words) == 1 and not name.initial:
            yield from last_names_in_a_row(text, name)
        elif name.is_personal or (strong and name.is_plausible and reasons.ITEM_END.match(text, name.end)):
            span = accepted(text, name, enough=2)
            if span:
                yield span


_WORDS_OF_LABEL = 5


def _has_role(text: str, end: int) -> bool:
    """Some of the last words of the label say what a person does ("Expertin ohne Stimmrecht", "Bauleiter Los 1")."""
    label = re.split(r"[\n|;,.:\t]", text[max(0, end - 60) : end])[-1]
    return any(is_role(part) for word in label.split()[-_WORDS_OF_LABEL:] for part in re.split(r"[/-]", word) if part)


def _passive(text: str) -> Iterator[tuple[int, int]]:
    for match in reasons.PASSIVELY.finditer(text):
        name = read_name(text, match.end(), lines=True)
        if name and (name.is_personal or (name.is_plausible and reasons.ITEM_END.match(text, name.end))):
            span = accepted(text, name, enough=2)
            if span:
                yield span


def _behind_roles(text: str) -> Iterator[tuple[int, int]]:
    for match in reasons.ROLE_THEN.finditer(text):
        if not is_role(match["role"]):
            continue
        name = read_name(text, match.end(), role_first=False)
        if name is None or not reasons.ITEM_END.match(text, name.end):
            continue
        alone = (
            len(name.words) == 1 and is_last_name(name.words[0]) and "," not in match[0]
        )  # "Projektleiter Tschannen"
        if alone or name.is_personal or name.is_plausible:
            span = accepted(text, name, enough=1 if alone else 2)
            if span:
                yield span


def _signed(text: str) -> Iterator[tuple[int, int]]:
    for match in reasons.SIGNED.finditer(text):
        span = accepted(text, read_name(text, match.end()), enough=2)
        if span:
            yield span


def _closing(text: str) -> Iterator[tuple[int, int]]:
    """The first line below a closing formula that is a name, or two in columns; lines above it name the office."""
    for match in reasons.CLOSED.finditer(text):
        for line in list(re.finditer(r"[^\n]+", text[match.end() :]))[: reasons.LINES_OF_SIGNATURE]:
            spans = []
            for cell in re.finditer(r"\S+(?:[ \u00a0]{1,2}\S+)*", line[0]):
                at = match.end() + line.start() + cell.start()
                sign = reasons.SIGNED.match(text, at)
                span = accepted(text, read_name(text, sign.end() if sign else at, role_first=False), enough=2)
                if span and text[span[1] : at + len(cell[0])].strip(" ,") == "":
                    spans.append(span)
            if spans:
                yield from spans
                break


def _salutations(text: str) -> Iterator[tuple[int, int]]:
    for match in reasons.SALUTATION.finditer(text):
        if is_first_name(match["first"]) or is_ambiguous_first_name(match["first"]):
            name = read_name(text, match.end())
            if name:
                yield name.start, name.end


def _by_first_name(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    while match := reasons.FIRST_WORD.search(text, at):
        token = reasons.LETTERS.match(text, match.start())
        word = token[0] if token else ""
        at = match.start() + max(1, len(word))
        if is_first_name(word) or is_ambiguous_first_name(word):
            name = read_name(text, match.start(), lines=True)
            span = accepted(text, name, enough=2)
            # a first name that could be a word needs a last name that could not
            if name and span and name.start == match.start() and (name.firm or is_last_name(name.words[-1])):
                yield span
                at = span[1]
        elif (
            word[-1:] == "s"
            and is_first_name(word[:-1])
            and reasons.THING.match(text, at)
            and not reasons.NAMED_AFTER.search(text, max(0, match.start() - 24), match.start())
        ):
            yield match.start(), at


def _fold(word: str) -> set[str]:
    """Forms a name takes in an e-mail address: "müller" is "mueller" or "muller"."""
    word = word.casefold()
    spelt = word.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    return {"".join(c for c in unicodedata.normalize("NFKD", w) if not unicodedata.combining(c)) for w in (word, spelt)}


def _by_address(text: str, contacts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Names that an e-mail address of the same text is made of: "Loïc Hautier" beside "loic.hautier@ne.ch"."""
    for start, end in contacts:
        local, sign, _ = text[start:end].partition("@")
        parts = [part.casefold() for part in reasons.LOCAL_PART.findall(local)]
        if not sign or not 2 <= len(parts) <= 4 or len(parts[-1]) < 3:
            continue
        for match in re.finditer(rf"(?<![\w@.-])(?=[{UPPER}])", text):
            if start <= match.start() < end:
                continue
            name = read_name(text, match.start(), lines=True, role_first=False)
            if name is None or len(name.words) + name.initial < 2:
                continue
            pieces = [_fold(p) for p in re.split(r"[\s.-]+", text[name.start : name.end]) if p]
            hits = [
                part
                for part in parts
                if any(part in forms or (len(part) == 1 and any(f[:1] == part for f in forms)) for forms in pieces)
            ]
            if len(hits) == len(parts) or (len(hits) >= 2 and any(len(hit) > 2 for hit in hits)):
                yield name.start, name.end
