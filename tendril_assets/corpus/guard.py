"""What sets two texts apart that are alike otherwise: a number, a negation, or the direction of a bound.

The near-duplicate rule must not take "ist nicht zwingend" for "ist zwingend", nor 40 % for 60 %. Compared are the
multisets of

- numbers, in digits and in words ("zwei Jahre", "im Mai"), and of words for an upper or a lower bound ("höchstens"),
- negations, and words of which the other text has the opposite by a prefix ("zulässig", "unzulässig").

Enumeration is no content: a leading mark of a line ("3.2", "4.1.2", "2.", "(3)", "5)", also behind a bullet) does not
count, nor does the bare number of a heading ("3 Preise und Mengen" on a line of its own above another one) or a page
number ("Seite 3 von 12"), so that a section repeated under another number is still a repetition. What only looks like a
mark counts: a decimal before a quantity ("2.5 Liter"), before a small letter ("3.2 mm") or below one ("0.15
Mikrogramm"), an ordinal ("2. Obergeschoss", "3. März"), a date ("12.03.26"), and a bare number anywhere else ("10 Jahre
Garantie", "2 Bildschirme" in a list of things to deliver).
"""

import re
from collections import Counter
from typing import NamedTuple

from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.ngrams import normalise

_ORDINALS = (
    r"Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|(?:Ober|Unter|Zwischen|Erd|Dach)geschoss|[OU]G\b|Stock|Etage|"
    r"Etappe|Phase|Los\b|Quartal|Semester|Halbjahr|Jahr|Auflage|Rang|Platz|Preis\b|Säule|Klasse|Stufe|Priorität|"
    r"Instanz|Mahnung|Lesung|Generation"
)
_QUANTITIES = (
    r"Jahre?n?|Monate?n?|Wochen?|Tage?n?|Stunden?|Std|Minuten?|Sekunden?|(?:Kilo|Zenti|Milli|Quadrat|Kubik)?[Mm]eter|"
    r"Hektaren?|Aren?|Liter|Tonnen?|(?:Kilo|Milli|Mikro)?[Gg]ramm|Kilo|Prozent|Promille|Franken|Rappen|CHF|EUR|Euro|Fr|"
    r"Mio|Mrd|Millionen?|Milliarden?|Grad|(?:Kilo|Mega|Giga)?[Ww]att(?:stunden?)?|Volt|Ampere|Lux|Lumen|Kelvin|Dezibel|"
    r"Punkte?n?|Stück|Stk|Mal|Exemplare?n?|Kopien?|Personen|\w*[Tt]agen?|(?:Vollzeit|Arbeits)?[Ss]tellen?|FTE|[kMG]?Wh?|k?V|V?A|A?h|[KNLJCF]|[kM]N|[kMG]?Hz|"
    r"[kMGT]?B(?:yte|it)?|[kM]?Pa|Nm|°C"
)
_LINE = r"^[ \t|]*(?:[-–—•▪*·][ \t]*)?"
_BREAK = r"(?=[\s|]|$)"
_CAPITAL = r"[^\W\d_a-zß-öø-ÿа-яё]"
_MARK = lazy_pattern(
    rf"{_LINE}(?:"
    # 3.2.1, but no date: 12.03.26
    rf"(?!(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.\d\d{_BREAK})\d{{1,3}}(?:\.\d{{1,3}}){{2,}}[.)]?{_BREAK}"
    # 3.2 Heading
    rf"|[1-9]\d?\.\d{{1,3}}[.)]?[\s|]+(?!(?:{_QUANTITIES})\b)(?={_CAPITAL})"
    # 3 Heading, a line of its own above another one
    rf"|[1-9]\d?[ \t]+(?!(?:{_QUANTITIES})\b)(?!{_ORDINALS})(?={_CAPITAL}[^\n\d]{{1,80}}(?<![.,;:!?])\n[\"»«„(]?{_CAPITAL})"
    # 3. or 3) or (3)
    rf"|\d{{1,3}}\.[ \t]+(?!{_ORDINALS})(?=[^\s\d])|\(?\d{{1,3}}\){_BREAK}"
    r")",
    re.MULTILINE,
)
_PAGE = lazy_pattern(r"\b(?:seite|page|pagina|стр\.) ?\d{1,4}(?: ?(?:von|de|sur|di|из|/) ?\d{1,4})?\b")

_NUMBER = lazy_pattern(r"\d+(?:[.,'’]\d+)*")
_WORD = lazy_pattern(r"[^\W\d_]+")
_SIGNS = {"≤": "at most", "<": "at most", "≥": "at least", ">": "at least"}
_SIGN = lazy_pattern(f"[{''.join(_SIGNS)}]")


def _by_word(spelt: dict[str, str]) -> dict[str, str]:
    return {word: value for value, words in spelt.items() for word in words.split()}


# Word -> what it counts as. One is left out: "ein" and "un" are articles.
_SPELT = _by_word(
    {
        "2": "zwei deux due two два две",
        "3": "drei trois tre three три",
        "4": "vier quatre quattro four четыре",
        "5": "fünf cinq cinque five пять",
        "6": "sechs six sei шесть",
        "7": "sieben sept sette seven семь",
        "8": "acht huit otto eight восемь",
        "9": "neun neuf nove nine девять",
        "10": "zehn dix dieci ten десять",
        "11": "elf onze undici eleven",
        "12": "zwölf douze dodici twelve",
        "15": "fünfzehn quinze quindici fifteen",
        "20": "zwanzig vingt venti twenty",
        "30": "dreissig trente trenta thirty",
        "40": "vierzig quarante quaranta forty",
        "50": "fünfzig cinquante cinquanta fifty",
        "60": "sechzig soixante sessanta sixty",
        "70": "siebzig settanta seventy",
        "80": "achtzig ottanta eighty",
        "90": "neunzig novanta ninety",
        "100": "hundert cent cento hundred",
        "1000": "tausend mille thousand",
        "month 1": "januar janvier gennaio",
        "month 2": "februar février febbraio",
        "month 3": "märz mars marzo",
        "month 4": "april avril aprile",
        "month 5": "mai maggio",
        "month 6": "juni juin giugno",
        "month 7": "juli juillet luglio",
        "month 8": "august août agosto",
        "month 9": "september septembre settembre",
        "month 10": "oktober octobre ottobre",
        "month 11": "november novembre",
        "month 12": "dezember décembre dicembre",
        "at most": "höchstens maximal maximale maximalen maximum max massimo",
        "at least": "mindestens wenigstens minimal minimale minimalen minimum min minimo",
    }
)
_NEGATIONS = frozenset(
    word
    for words in (
        "nicht kein keine keinen keinem keiner keines keinerlei ohne weder nie niemals nirgends nichts niemand",
        "ne n pas non sans jamais aucun aucune aucuns aucunes ni senza mai nessun nessuno nessuna nessuni",
        "not no never without neither nor не нет ни без никогда нельзя",
    )
    for word in words.split()
)
_OPPOSITES = ("un", "nicht", "non", "in", "im", "ir", "il", "не", "бес", "без")  # prefixes


class Marks(NamedTuple):
    """What two texts must have in common to be repetitions of each other; ``words`` of one text only are looked into."""

    numbers: Counter[str]
    negations: Counter[str]
    words: Counter[str]


def marks(text: str) -> Marks:
    """The marks of a text as it stands, in lines and with capitals."""
    content = _PAGE.sub(" ", normalise(without_enumeration(text)))
    words = Counter(_WORD.findall(content))
    numbers = Counter(_NUMBER.findall(content))
    numbers.update(_SIGNS[sign] for sign in _SIGN.findall(content))
    for word in words.keys() & _SPELT.keys():
        numbers[_SPELT[word]] += words[word]
    return Marks(numbers, Counter({word: words[word] for word in words.keys() & _NEGATIONS}), words)


def without_enumeration(text: str) -> str:
    """``text`` without the leading enumeration marks of its lines."""
    return _MARK.sub("", text)


def difference(left: Marks, right: Marks) -> str | None:
    """``number`` (bounds too), ``negation`` or, where nothing of the kind sets the two apart, None."""
    if left.numbers != right.numbers:
        return "number"
    if left.negations != right.negations:
        return "negation"
    ours, theirs = left.words - right.words, right.words - left.words
    return "negation" if _opposed(ours, theirs) or _opposed(theirs, ours) else None


def _opposed(words: Counter[str], others: Counter[str]) -> bool:
    return any(prefix + word in others for word in words for prefix in _OPPOSITES)
