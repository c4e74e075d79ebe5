"""Words that announce a credential, what joins them to its value, and what a value looks like.

Sources of patterns, to be read with IGNORECASE; German, French and Italian, as they stand in specifications and their annexes.
"""

import re
from collections.abc import Callable

from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.personal_patterns import Pattern

PASSWORD = (
    r"(?:(?:\w+-?)?(?:pass(?:wort|word|wörter|wd|phrase|code)|kennwort|zugangswort)(?:e?s)?"
    r"|(?:p[ ]?a[ ]?s[ ]?s[ ]?w[ ]?o[ ]?r[ ]?[td]|k[ ]?e[ ]?n[ ]?n[ ]?w[ ]?o[ ]?r[ ]?t)|kennw\.|passw\.|losung|mdp|psw"
    r"|m[ ]?ots?[ ]{0,2}de[ ]{0,2}pas[ ]?se|(?:mot|phrase)\s{1,12}de\s{1,12}passe"
    r"|parola\s{1,12}d['’]ordine|parola\s{1,12}chiave|frase\s{1,12}(?:d['’]accesso|segreta)"
    r"|(?:WLAN|Wi-?Fi|WPA[23]?|Netzwerk)-?(?:schlüssel|key)|clé\s{1,12}(?:wi-?fi|wpa[23]?|réseau)"
    r"|chiave\s{1,12}(?:wi-?fi|wpa[23]?|di\s{1,12}rete)|code\s{1,12}wi-?fi|PWD?(?=[:= ]))"
)
CODE = (
    r"(?:(?:tür|tor|schranken|safe|schlüssel(?:safe|box|tresor|depot)|tresor|service|bediener|zahlen)-?(?:code|pin)"
    r"|(?:zugangs|zutritts|zufahrts|einwahl|kenn|alarm"
    r"|pin|puk|freischalt|freigabe|aktivierungs|bestätigungs|einmal|(?:sms-)?ersatz|sms"
    r"|teilnehmer|zugriffs"
    r"|sicherheits|event|meeting|konferenz)-?(?:code|kennung)|(?:zugangs|zugriffs|einwahl)-?(?:daten|nummer|schlüssel)"
    r"|teilnehmer-?nummer|kennnummer|sicherheits-?schlüssel|alarm-?nummer|(?:\w+-)?PIN(?:-?Code)?|PUK"
    r"|kennung(?=[ ]?:[ ]?\S*\d)|NIP|digicode"
    r"|code\s{1,12}(?:d['’](?:accès|entrée|alarme|activation)|PIN|NIP|PUK|secret|à\s{1,12}usage\s{1,12}unique"
    r"|de\s{1,12}(?:conférence|réunion|déverrouillage|mise\s{1,12}(?:hors|en)\s{1,12}service|l['’]alarme"
    r"|la\s{1,12}(?:porte|boîte\s{1,12}à\s{1,12}clés)))"
    r"|codice\s{1,12}(?:d['’]accesso|di\s{1,12}(?:accesso|sblocco|sicurezza)|PIN|segreto|(?:dell['’]|di\s{1,12})allarme"
    r"|della\s{1,12}cassetta)"
    r"|Meeting-?ID|Webinar-?ID|Konferenz-?ID|access\s{1,12}code"
    r"|Code(?=[ ](?:für|zu[mr]|pour|per)\b))"
)
USER = (
    r"(?:benutzer(?:namens?|kennung|konto|-?id)?|user(?:name|-?id)?|log-?in(?:-?name)?|nutzernamen?|anmeldenamen?"
    r"|zugangskennung|identifiant|b[ ]?enutzer[ ]?name"
    r"|nom\s{1,12}d['’]utilisateur|utilisateur|nome\s{1,12}utente|utente|account)"
)
KEY = (
    r"(?:api[- _]?(?:key|schlüssel|token)|access[- _]?token|token|secret(?:[- _]key)?|client[- _](?:secret|id)"
    r"|bearer(?:-token)?|private[- _]?key|privatschlüssel|jeton(?:\s{1,12}d['’]accès)?"
    r"|clé\s{1,12}(?:d['’])?api|chiave\s{1,12}api)"
)
QUOTED = r"[\"«„“'‹][^\"»“”'›\n]{1,60}[\"»“”'›]"
# Between the word and what joins it to its value: what it is for ("der bestehenden Anlage"), a note in brackets.
_BELONGING = (
    r"(?:(?:zu[mr]?|für|vo[nm]|de[rsmn]|im|in|am|bei|pour|par|per|du|de|des|dell[aeo]|degli|dei|del|di|sull[ao])[ \t]{1,12}"
    r"|d['’]|dell['’]|sull['’])"
)
_NOTE = r"(?:[ \t]{0,12}\([^()\n]{1,60}\))?"
_WORD = r"[\w'’«»/.-]{1,40}"
_BELONGS = rf"{_NOTE}[ \t]{{1,12}}{_BELONGING}{_WORD}(?:[ \t]{{1,12}}{_WORD}){{0,5}}?{_NOTE}"
_FOR = rf"(?:{_BELONGS}|{_NOTE})"
# "Passwort: Passwort: X", as forms that were filled in by copying
_AGAIN = rf"(?:{PASSWORD}[ \t]{{0,4}}[:=][ \t]{{0,4}})?"
STRONG = (
    rf"{_FOR}"
    r"(?:(?:[ \t]{1,12}[\w-]{3,20}){0,2}?[ \t]{0,12}(?::(?!innen|in\b)|=)\s{0,12}|[ \t]{1,12}(?:lautet|lauten"
    r"|heisst)\b:?\s{0,12}|[ \t]{1,12}(?:ist"
    rf"|est|è|is)[ \t]{{0,12}}:\s{{0,12}}){_AGAIN}"
)
_IS = r"[ \t]{1,12}(?:ist|est|è|is|sei|lautet)"
# Behind what it is for, a verb, a line end or a value with a digit: else each next word would do.
SOFT = (
    rf"(?:{_BELONGS}(?={_IS}\b|[ \t]{{0,12}}\n|[ \t]{{1,12}}\S*\d)|{_NOTE})"
    rf"(?:{_IS}|[ \t]{{0,12}}[-–|])?[ \t]{{0,12}}(?:[ \t]|\n)[ \t]{{0,12}}"
)
# No values: what is said about a password, not the password.
_NO_VALUE = lazy_pattern(
    r"(?:erforderlich|ja|nein|keine?s?|siehe|folgt|vertraulich|nötig|notwendig|obligatoire|oui|non|requis|voir|no|sì"
    r"|si|vedi|per|wird|werden|initiale?|provisoire|provvisoria|provisorisch|lauten|vergessen\?|oublié\?|dimenticata\?"
    r"|gemäss|mindestens|selon|secondo|nach|auf|bei|im|in|am|an|und|oder|et|ou|e|o|the|der|die|das|le|la|il|un|une"
    r"|una|alle|tba|tbd|xxx+"
    r"|\*+|\.+|_+|\d+-?(?:stellig\w*|fach|mal)|\d{1,2})",
    re.IGNORECASE,
)
_UNIT_BEHIND = lazy_pattern(
    r"[ \u00a0](?:Zeichen|Stellen|Tage|Monate|Jahre|Minuten|caractères|chiffres|jours|caratteri|cifre|giorni|mal|x"
    r"|Arbeitsplätze|Benutzer|Personen|Lizenzen|postes|licences|utilisateurs|postazioni|utenti)\b"
)


def is_code(value: str) -> bool:
    """Digits or symbols among letters, mixed case, or four digits and more."""
    core = value.strip("'\"«»„“”‹›()")
    if core.isdigit():
        return len(core) >= 4
    mixed = any(c.isupper() for c in core[1:]) and any(c.islower() for c in core)
    odd = any(c.isdigit() for c in core) or any(c in "!#$%&*+=?@^_~§" for c in core)
    return len(core) >= 4 and (
        odd or (mixed and not core[:1].islower() and "-" not in core) or (mixed and core[:1].islower())
    )


# Not secret: the word on an envelope that says which tender is in it.
_ENVELOPE = lazy_pattern(
    r"offert|angebot|eingabe|submission|ausschreibung|nicht öffnen|offre|ne pas ouvrir|soumission|non aprire|concorso",
    re.IGNORECASE,
)
DIGITS = r"\d{2,4}(?:[ -]\d{2,4}){1,3}(?![\w.,]\d)|\d(?:[ -]\d){3,7}(?!\w)"
VALUE = rf"(?P<value>{QUOTED}|[^\s,;<>|]+)"
CODE_VALUE = rf"(?P<value>{QUOTED}|{DIGITS}|[^\s,;<>|]+)"


def stems(text: str) -> tuple[str, ...]:
    """Signs of a group of patterns; "_" stands for a blank."""
    return tuple(stem.replace("_", " ") for stem in text.split())


def any_case(source: str) -> re.Pattern[str]:
    return lazy_pattern(source, re.IGNORECASE)


def secret(source: str, accept: Callable[[str, int, int], bool] | None = None) -> Pattern:
    """What the group ``value`` holds is a secret, in any case, if ``accept`` does not refuse it."""
    return Pattern("secret", any_case(source), "value", accept)


def behind_colon(text: str, start: int, end: int) -> bool:
    """A value, not the next word of a sentence: it looks like a code, or nothing stands behind it."""
    value = text[start:end]
    if value.startswith((">", "<", "(")) or not is_value(text, start, end):
        return False
    if is_code(value) or any(not c.isalpha() for c in value.strip("'\"«»„“”-/")):
        return True
    return re.match(r"[.]?[ \t]{0,12}(?:[,;/)(\n|–]|$)", text[end:]) is not None


def user_behind_colon(text: str, start: int, end: int) -> bool:
    """As above; a capitalised word alone is no user name but the next noun ("Benutzer: Gemeinde")."""
    value = text[start:end]
    return behind_colon(text, start, end) and (
        is_code(value) or not value[:1].isupper() or value.startswith(('"', "«", "„"))
    )


def behind_blank(text: str, start: int, end: int) -> bool:
    value = text[start:end]
    if not is_value(text, start, end) or value.startswith("("):
        return False
    return is_code(value) or value[:1] in '"«„“‹' or re.fullmatch(r"\d(?:[ -]\d+)+", value) is not None


def is_value(text: str, start: int, end: int) -> bool:
    """False for what is said about a password, a count of something, and the word on an envelope."""
    value = text[start:end]
    quoted = value[:1] in '"«„“‹' and " " in value
    return not (_NO_VALUE.fullmatch(value) or _UNIT_BEHIND.match(text, end) or (quoted and _ENVELOPE.search(value)))
