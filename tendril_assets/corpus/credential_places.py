"""Credentials that do not stand behind a word of their own: in front of it, in a pair, in a table, beside a network's name.

"X ist das Passwort", "Login/Passwort: a / b", a column headed "Kennwort", "SSID ..., Schlüssel: ...". A passphrase is several
words up to the end of its line.
"""

from collections.abc import Iterator

from tendril_assets.corpus.credential_words import PASSWORD, QUOTED, STRONG, USER, any_case, is_code, is_value, secret
from tendril_assets.corpus.lazy_pattern import lazy_pattern

_NAMED = r"(?:das|dem|le|la|il|als|comme|come)"
_TOKEN = r"[^\s,;<>|«»\"]+"
_LABEL = rf"(?:{USER}|{PASSWORD})"
_PAIR = rf"(?<![\w-]){USER}[ ]?(?:/|\+|&|und|et|e)[ ]?{PASSWORD}[)]?[ ]{{0,4}}(?::|=|lauten|sont|sono)\s{{0,12}}"
_AND = r"[ ]{0,4}(?:/|\||,|und|resp\.|beziehungsweise|bzw\.|et|e)[ ]{0,4}"
# Words in lower case or with a number among them: no sentence that begins with a capital and ends with a full stop.
_PHRASE = r"[^\s|;:]+(?:[ ][^\s|;:.]+){1,7}(?=[ \t]{0,12}(?:[.;|\n]|$))"
_SAID_OF_PASSWORDS = lazy_pattern(
    "(?:Pflicht|Bestandteil|Sache|Voraussetzung|Bedingung|Teil|Eigentum|Standard|Vorschrift|Aufgabe|Geheimnis|Thema)"
)


def _looks_like_one(text: str, start: int, end: int) -> bool:
    return is_value(text, start, end) and is_code(text[start:end])


def _no_noun(text: str, start: int, end: int) -> bool:
    """Not what a password is called or is part of ("Das Passwort ist Pflicht", "ist Bestandteil der ...")."""
    return is_value(text, start, end) and not _SAID_OF_PASSWORDS.fullmatch(text, start, end)


def _phrase(text: str, start: int, end: int) -> bool:
    first = text[start:end].split()[0]
    return is_value(text, start, start + len(first))


AROUND_PASSWORDS = (
    # X ist das Passwort; mit X als Passwort
    secret(
        rf"(?<!\S)(?P<value>{QUOTED}|{_TOKEN})[ ](?:(?:ist|lautet|est|è)[ ]{_NAMED}|als|comme|come)[ ]{_LABEL}(?!\w)",
        _looks_like_one,
    ),
    # das Kennwort ist Sommerwind und bleibt
    secret(
        rf"(?:das|le|la)[ ]{PASSWORD}(?:[ ]{{1,3}}(?:für|zu[rm]|pour|per)(?:[ ][\w-]+){{1,3}})?[ ](?:ist|lautet|est|è)[ ]"
        r"(?P<value>(?-i:[A-ZÄÖÜÉÈ])[\w-]{4,30})(?=[ ](?:und|et|e|oder)\b|[.,;]|$)",
        _no_noun,
    ),
    # Login/Passwort: a / b
    secret(rf"{_PAIR}(?P<value>[^\s,;/]+){_AND}[^\s,;/]+", is_value),
    secret(rf"{_PAIR}[^\s,;/]+{_AND}(?P<value>[^\s,;/]+)", is_value),
    # Passphrase: vier graue Esel tragen Zement
    secret(
        r"(?<![\w-])(?:\w*passphrase|phrase\s{1,12}de\s{1,12}passe|frase\s{1,12}(?:d['’]accesso|segreta))(?!\w)"
        rf"{STRONG}(?P<value>{QUOTED}|{_PHRASE})",
        _phrase,
    ),
    # Passwort: Ahorn Ahorn 12
    secret(
        rf"(?<![\w-]){PASSWORD}(?!\w){STRONG}(?P<value>(?-i:[A-ZÄÖÜ])\w+(?:[ ](?-i:[A-ZÄÖÜ])\w+){{0,2}}[ ]\d{{1,6}})"
        r"(?=[ \t]{0,12}(?:[.,;|\n]|$))",
        is_value,
    ),
)
NETWORK_STEMS = ("wlan", "wifi", "wi-fi", "ssid", "wpa")
NETWORKS = (
    # SSID: Gast, Schlüssel: drei Tannen im Nebel
    secret(
        rf"(?:wlan|wi-?fi|ssid|wpa[23]?)[^.]{{0,80}}?(?<![\w-])(?:schlüssel|key|clé|chiave|code)[ ]?[:=][ \t]{{0,4}}"
        rf"(?P<value>{_PHRASE}|{_TOKEN})",
        _phrase,
    ),
)
_PASSWORD_HEAD = any_case(rf"{PASSWORD}(?:[ ]?\([^()]*\))?[ ]?:?")
_USER_HEAD = any_case(rf"(?:{USER}|konto|kürzel|name|compte|nom|conto)(?:[ ]?\([^()]*\))?[ ]?:?")
_SAME = any_case(r"(?:wie oben|dito|idem|come sopra|voir ci-dessus|id\.|\"|-+|–|—|)")


def find_in_tables(text: str) -> Iterator[tuple[int, int]]:
    """Cells in a column headed by a word for a password, the user names in their rows, and such a word's neighbour.

    Cells stand between ``|``, tabs or ``;``.
    """
    rows = [(separator, cells) for line in _lines(text) for separator, cells in [_cells(text, *line)] if len(cells) > 1]
    for at, (separator, heads) in enumerate(rows):
        passwords = [k for k, head in enumerate(heads) if _PASSWORD_HEAD.fullmatch(text, *head)]
        if len(heads) == 2 and passwords == [0]:
            if _looks_like_one(text, *heads[1]):
                yield heads[1]
            continue
        users = [k for k, head in enumerate(heads) if _USER_HEAD.fullmatch(text, *head)]
        for below, cells in rows[at + 1 :] if passwords else ():
            if below != separator or len(cells) != len(heads):
                break
            if given := [cells[k] for k in passwords if _is_given(text, *cells[k])]:
                yield from given
                yield from (cells[k] for k in users if _is_given(text, *cells[k]))


def _is_given(text: str, start: int, end: int) -> bool:
    return is_value(text, start, end) and not _SAME.fullmatch(text, start, end)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _cells(text: str, start: int, end: int) -> tuple[str, list[tuple[int, int]]]:
    """The separator of a line and the ends of its cells, without blanks; no cells where the line is no row."""
    line = text[start:end]
    separator = next((s for s in "|\t;" if s in line), "")
    if not separator:
        return "", []
    cells = []
    for cell in line.split(separator):
        left = start + len(cell) - len(cell.lstrip())
        cells.append((left, max(left, start + len(cell.rstrip()))))
        start += len(cell) + 1
    if separator == "|":  # a frame around the row is no cell
        cells = cells[cells[0][0] == cells[0][1] : len(cells) - (cells[-1][0] == cells[-1][1])]
    return separator, cells
