"""Credentials: passwords, user names, access codes, keys. The value is masked, the word in front of it stays.

A colon, an equals sign or "lautet" makes what follows a value, if it does not read like the next word of a sentence. Behind
"ist", "est", "è" or a blank alone it must look like one: digits or symbols in it, or quoted. A user name without any counts
where a password follows.
"""

import re
from collections.abc import Iterator

from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.personal_patterns import Pattern
from tendril_assets.corpus.signs import Signs, signs_of, starts

CREDENTIAL_VERSION = "1"

_PASSWORD = (
    r"(?:(?:\w+-?)?(?:pass(?:wort|word|wörter|wd|phrase|code)|kennwort|zugangswort)|mot\s{1,12}de\s{1,12}passe"
    r"|parola\s{1,12}d['’]ordine|parola\s{1,12}chiave"
    r"|(?:WLAN|WiFi|WPA|Netzwerk)-?(?:schlüssel|key)|clé\s{1,12}(?:wifi|réseau)|code\s{1,12}wi-?fi|PWD?(?=[:= ]))"
)
_CODE = (
    r"(?:(?:zugangs|zutritts|einwahl|kenn|tür|tor|safe|schlüsselsafe|tresor|alarm|pin|puk|freischalt|aktivierungs"
    r"|teilnehmer|zugriffs"
    r"|sicherheits|event|meeting|konferenz)-?(?:code|kennung|daten|nummer|schlüssel)|(?:\w+-)?PIN(?:-?Code)?|PUK"
    r"|code\s{1,12}(?:d['’]accès|PIN|secret"
    r"|de\s{1,12}la\s{1,12}porte)|codice\s{1,12}(?:d['’]accesso|PIN|segreto)|Meeting-?ID|Webinar-?ID|Konferenz-?ID"
    r"|access\s{1,12}code"
    r"|Code(?=[ ](?:für|zu[mr]|pour|per)\b))"
)
_USER = (
    r"(?:benutzer(?:name|kennung|konto|-?id)?|user(?:name|-?id)?|log-?in(?:-?name)?|nutzername|anmeldename"
    r"|zugangskennung|identifiant"
    r"|nom\s{1,12}d['’]utilisateur|utilisateur|nome\s{1,12}utente|utente|account)"
)
_KEY = (
    r"(?:api[- _]?(?:key|schlüssel|token)|access[- _]?token|token|secret(?:[- _]key)?|client[- _]secret|bearer"
    r"|clé\s{1,12}(?:d['’])?api|chiave\s{1,12}api)"
)
_QUOTED = r"[\"«„“'‹][^\"»“”'›\n]{1,60}[\"»“”'›]"
_FOR = r"(?:[ \t]{1,12}(?:zu[mr]|für|von|pour|per|du|del?|des)(?:[ \t]{1,12}[\w'’«»-]+){1,4}?)?"
_STRONG = (
    rf"{_FOR}"
    r"(?:(?:[ \t]{1,12}[\w-]{3,20}){0,2}?[ \t]{0,12}(?::(?!innen|in\b)|=)\s{0,12}|[ \t]{1,12}(?:lautet|lauten"
    r"|heisst)\b:?\s{0,12}|[ \t]{1,12}(?:ist"
    r"|est|è|is)[ \t]{0,12}:\s{0,12})"
)
_SOFT = rf"{_FOR}" r"(?:[ \t]{1,12}(?:ist|est|è|is|sei|lautet)|[ \t]{0,12}[-–])?[ \t]{1,12}"
# No values: what is said about a password, not the password.
_NO_VALUE = lazy_pattern(
    r"(?:erforderlich|ja|nein|keine?s?|siehe|folgt|vertraulich|nötig|notwendig|obligatoire|oui|non|requis|voir|no|sì"
    r"|si|vedi|per|wird|werden"
    r"|gemäss|mindestens|selon|secondo|nach|auf|bei|im|in|am|an|und|oder|et|ou|e|o|the|der|die|das|le|la|il|un|une"
    r"|una|alle|tba|tbd|xxx+"
    r"|\*+|\.+|_+|\d+-?(?:stellig\w*|fach|mal)|\d{1,2})",
    re.IGNORECASE,
)
_UNIT_BEHIND = lazy_pattern(
    r"[ \u00a0](?:Zeichen|Stellen|Tage|Monate|Jahre|Minuten|caractères|chiffres|jours|caratteri|cifre|giorni|mal|x)\b"
)


def _is_code(value: str) -> bool:
    """Digits or symbols among letters, mixed case, or four digits and more."""
    core = value.strip("'\"«»„“”‹›()")
    if core.isdigit():
        return len(core) >= 4
    mixed = any(c.isupper() for c in core[1:]) and any(c.islower() for c in core)
    odd = any(c.isdigit() for c in core) or any(c in "!#$%&*+=?@^_~§" for c in core)
    return len(core) >= 4 and (
        odd or (mixed and not core[:1].islower() and "-" not in core) or (mixed and core[:1].islower())
    )


def _behind_colon(text: str, start: int, end: int) -> bool:
    """A value, not the next word of a sentence: it looks like a code, or nothing stands behind it."""
    value = text[start:end]
    if value.startswith((">", "<")) or _NO_VALUE.fullmatch(value) or _UNIT_BEHIND.match(text, end):
        return False
    if _is_code(value) or any(not c.isalpha() for c in value.strip("'\"«»„“”-/")):
        return True
    return re.match(r"[.]?[ \t]{0,12}(?:[,;/)\n]|$)", text[end:]) is not None


def _user_behind_colon(text: str, start: int, end: int) -> bool:
    """As above; a capitalised word alone is no user name but the next noun ("Benutzer: Gemeinde")."""
    value = text[start:end]
    return _behind_colon(text, start, end) and (
        _is_code(value) or not value[:1].isupper() or value.startswith(('"', "«", "„"))
    )


def _behind_blank(text: str, start: int, end: int) -> bool:
    value = text[start:end]
    if _NO_VALUE.fullmatch(value) or _UNIT_BEHIND.match(text, end):
        return False
    return _is_code(value) or value[:1] in '"«„“‹'


def _is_value(text: str, start: int, end: int) -> bool:
    return _NO_VALUE.fullmatch(text[start:end]) is None


def _re(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(pattern, re.IGNORECASE)


_CODE_VALUE = rf"(?P<value>{_QUOTED}|\d{{2,4}}(?:[ ]\d{{2,4}}){{1,3}}(?![\w.,]\d)|[^\s,;<>]+)"
_VALUE = rf"(?P<value>{_QUOTED}|[^\s,;<>]+)"
_ID_DIGITS = r"(?P<value>\d{3}(?:[ -]?\d{2,4}){2,3})"
# In a compound such as "Projektpasswort" the word does not stand at the start.
_PASSWORD_MARKS = ("asswo", "asswö", "asswd", "assphrase", "asscode", "ennwort", "ugangswort")
_PASSWORD_STARTS = starts("mot parola wlan wifi wpa netzwerk netzwerkschlüssel pw pwd clé passwort kennwort")
_CODE_MARKS = ("code", "Code", "CODE", "codice", "Codice", "ennung", "ugangsda", "ugangsnum", "chlüssel")
_CODE_STARTS = starts(
    "pin puk meeting meetingid webinar konferenz teilnehmernummer einwahlnummer einwahldaten alarmnummer zugangsdaten"
)
_USER_STARTS = starts(
    "benutzer benutzername benutzerkennung user username userid login log loginname nutzername anmeldename "
    "zugangskennung identifiant nom "
    "utilisateur nome utente account"
)

CREDENTIALS = (
    Pattern(
        "secret",
        _re(
            rf"\b(?:meeting|webinar|konferenz|besprechungs)-?(?:id|nummer|k"
            rf"ennnummer)[ \t]{{0,12}}:?[ \t]{{0,12}}{_ID_DIGITS}(?!\d)"
        ),
        group="value",
        starts=starts("meeting meetingid webinar konferenz konferenznummer besprechungs besprechung"),
    ),
    Pattern(
        "secret",
        _re(rf"(?<![\w-]){_PASSWORD}(?!\w){_STRONG}{_VALUE}"),
        "value",
        _behind_colon,
        _PASSWORD_MARKS,
        _PASSWORD_STARTS,
    ),
    Pattern(
        "secret",
        _re(rf"(?<![\w-]){_PASSWORD}(?!\w){_SOFT}{_VALUE}"),
        "value",
        _behind_blank,
        _PASSWORD_MARKS,
        _PASSWORD_STARTS,
    ),
    Pattern(
        "secret",
        _re(rf"(?<![\w-]){_CODE}(?!\w){_STRONG}{_CODE_VALUE}"),
        "value",
        _behind_colon,
        _CODE_MARKS,
        _CODE_STARTS,
    ),
    Pattern(
        "secret", _re(rf"(?<![\w-]){_CODE}(?!\w){_SOFT}{_VALUE}"), "value", _behind_blank, _CODE_MARKS, _CODE_STARTS
    ),
    Pattern("secret", _re(rf"(?<![\w-]){_USER}(?!\w){_STRONG}{_VALUE}"), "value", _user_behind_colon, (), _USER_STARTS),
    Pattern("secret", _re(rf"(?<![\w-]){_USER}(?!\w)[ \t]{{1,12}}{_VALUE}"), "value", _behind_blank, (), _USER_STARTS),
    Pattern(
        "secret",
        _re(rf"(?<![\w-]){_KEY}(?!\w)(?:{_STRONG}|[ \t]{{1,12}}){_VALUE}"),
        "value",
        _behind_blank,
        starts=starts(
            "api apikey apitoken apischlüssel access accesstoken token secret secretkey client clientsecret bearer "
            "clé chiave"
        ),
    ),
    # Login submittent / Passwort Anbieter2025: both are values where one follows the other
    Pattern(
        "secret",
        _re(
            rf"(?<![\w-]){_USER}(?!\w)[ \t]{{0,12}}[:=]?[ \t]{{0,12}}(?P<value>[\w.@-]+)"
            rf"(?=[ \t]{{0,12}}(?:/|,|;|und|et|e|\n)[ \t]{{0,12}}{_PASSWORD}(?:{_STRONG}|[ \t]{{1,12}}\S))"
        ),
        "value",
        _is_value,
        (),
        _USER_STARTS,
    ),
    Pattern("secret", lazy_pattern(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"), marks=("eyJ",)),
    Pattern(
        "secret",
        lazy_pattern(r"\b(?:sk-[\w-]{16,}|gh[po]_\w{20,}|xox[bp]-[\w-]{10,}|AKIA[A-Z0-9]{12,}|AIza[\w-]{20,})"),
        marks=("sk-", "ghp_", "gho_", "xox", "AKIA", "AIza"),
    ),
    Pattern(
        "secret",
        lazy_pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----"),
        marks=("PRIVATE KEY",),
    ),
)


def find_credentials(text: str, signs: Signs | None = None) -> Iterator[tuple[int, int]]:
    """Start and end of each value, without its quotation marks; matches of different patterns may overlap."""
    signs = signs or signs_of(text)
    for pattern in CREDENTIALS:
        if pattern.is_worth_trying(text, signs):
            for start, end in pattern.find(text):
                quoted = text[start] in '"«„“‹' and text[end - 1] in '"»“”›' and end - start > 2
                yield start + quoted, end - quoted
