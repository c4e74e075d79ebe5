"""Rules for questions in Russian: what is not Russian, and how a question points at a text its reader does not have.

A pointing question ("what term does this clause set?") is useless as a search query. The rules look for a noun for a piece
of text beside a word that points. They err to the side of finding: a question lost costs one call, a useless one that is
kept costs a wrong row in every table. Nouns are followed in all cases; a rule that would also meet everyday phrases says
what it leaves alone.
"""

import re
import unicodedata

LABEL = re.compile(
    r"(?:поисковый )?(?:вопрос|запрос|question|query)(?: ?№? ?[0-9]{1,2})? ?[:.—–-] *(?=\S)", re.IGNORECASE
)

# Without a question mark: an interrogative or a request among the first words, or right after what the question is about.
# Further on the same words join clauses: a statement or a refusal has them too.
ASKS = re.compile(
    r"(?:\A(?:[\w-]+ ){0,2}|[:—–] ?(?:[\w-]+ )?)"
    r"(?:как(?:ой|ая|ое|ие|ого|ому|ую|им|ом|их|ими|ов[аоы]?)?|что|чего|чему|чем|чей|чь[яюеёи]\w*|кто|кого|кому|кем|ком|где|куда|"
    r"откуда|когда|сколько|скольк\w+|почему|зачем|насколько|котор\w+|ли|объясните|разъясните|поясните|подскажите|расскажите|"
    r"назовите|укажите|перечислите|опишите|уточните)\b",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]+")
# What a Latin abbreviation may end in when it is inflected: IBANа, SWIFTом.
_ENDING = re.compile(r"[a-z]+[а-я]{1,3}", re.IGNORECASE)
_RUSSIAN = frozenset("абвгдеёжзийклмнопрстуфхцчшщъыьэюя")
_STRESS = re.compile("[\u0300\u0301]")

# Nouns that can only mean a piece of text in front of the reader.
_PIECE = r"фрагмент\w*|отрывк\w*|отрывок|выдержк\w*|цитат\w*"
_TEXT = r"текст\w*|контекст\w*|пассаж\w*"
# Nouns that can also mean something else: only beside a word that points.
_NORM = (
    r"положени[еяюйи]\w*|указани[еяюйи]\w*|инструкци[яюией]\w*|рекомендаци[яюией]\w*|разъяснени[еяюйи]\w*|акт(?:а|у|ом|е|ы|ов|ам|ами|ах)?|"
    r"глав(?:а|ы|е|у|ой|ам|ами|ах)?|раздел\w*|стать[яиеюёй]\w*|статей|параграф\w*|приложени[еяюйи]\w*|правил(?:о|а|у|ом|е|ам|ами|ах)?|"
    r"норм(?:а|ы|е|у|ой|ам|ами|ах)?|таблиц\w*|документ(?:а|у|ом|е)?|абзац\w*|подпункт\w*|пункт\w*"
)
# This, the present, the given, the one at hand.
_THIS = (
    r"эт(?:от|а|о|ого|ой|ому|у|им|ом|их|ими)|данн(?:ый|ая|ое|ого|ой|ому|ую|ым|ом)|настоящ(?:ий|ая|ее|его|ей|ему|ую|им|ем|их|ими)|"
    r"приведенн\w+|представленн\w+|предоставленн\w+|предложенн\w+|рассматриваем\w+|упомянут(?:ый|ая|ое|ого|ой|ому|ую|ым|ом|ые|ых|ыми)|"
    r"указанн(?:ый|ая|ое|ого|ой|ому|ую|ым|ом|ые|ых|ыми)|следующ(?:ем|его|ему|им)|процитированн\w+|вышеприведенн\w+"
)
# In the plural "данные" is a noun too (data of an act), so only plural nouns may follow, and never documents.
_THESE = r"эти|данн(?:ые|ых|ым|ыми)"
_PLURALS = (
    r"фрагмент(?:ы|ов|ам|ами|ах)|отрывк(?:и|ов|ам|ами|ах)|абзац(?:ы|ев|ам|ами|ах)|подпункт(?:ы|ов|ам|ами|ах)|пункт(?:ы|ов|ам|ами|ах)|"
    r"положени(?:я|й|ям|ями|ях)|указани(?:я|й|ям|ями|ях)|инструкци(?:и|й|ям|ями|ях)|рекомендаци(?:и|й|ям|ями|ях)|норм(?:ы|ам|ами|ах)?|"
    r"разъяснени(?:я|й|ям|ями|ях)|правил(?:а|ам|ами|ах)?|акт(?:ы|ов|ам|ами|ах)"
)
# Adjectives between the two: this legal act, the present Directive of a bank.
_BETWEEN = r"(?:(?:\w+(?:ый|ий|ой|ая|яя|ое|ее|ого|его|ому|ему|ую|юю|ым|им|ом|ем|ые|ие|ых|их|ыми|ими)) ){0,2}"
_OF_TEXT = (
    r"(?:указан|приведен|сказан|говорит|говорится|упомина|упомянут|описан|описыва|изложен|перечислен|представлен|"
    r"ид[её]т речь|речь ид[её]т|содержит|установлен|определ)\w*"
)
_TELLS = r"содержит|описывает|предусматривает|устанавливает|определяет|регулирует|упоминает|посвящен"
_POINTING = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:{_THIS}) {_BETWEEN}(?P<piece>{_PIECE}|{_TEXT})\b",
        rf"\b(?:{_THIS}) {_BETWEEN}(?P<norm>{_NORM})\b",
        rf"\b(?:{_THESE}) {_BETWEEN}(?P<norm>{_PLURALS})\b",
        # A piece of text by itself: in the fragment, by the excerpt. Plural fragments are pieces of banknotes.
        r"\b(?:во?|из|по|согласно|на основании|исходя из|о чем|содержани[еюя]) "
        r"(?P<piece>(?:фрагмент|отрывк|выдержк|цитат)(?:е|а|у|ом|и|ы|ой)?)\b(?! (?:банкнот|монет|денежн|договор|ценн))",
        r"\b(?:согласно|исходя из|на основ(?:е|ании)|опираясь на|судя по|по|из) "
        r"(?:\w+(?:ому|ого|ым) )?(?P<piece>(?:кон)?текст(?:а|у|е)?)\b(?= выше|[?!.,;:]|$)",
        r"\bв (?P<piece>тексте|отрывке|фрагменте|абзаце)(?= выше|[?!.]|$| (?:" + _OF_TEXT + "))",
        r"\b(?P<piece>(?:фрагмент|отрывок|текст) (?:" + _TELLS + r")|(?:" + _TELLS + r") (?:фрагмент|отрывок|текст))\b",
        r"\b(?P<piece>авторы? (?:текста|документа|фрагмента|отрывка))\b",
        r"\b(?P<piece>(?:выше|ниже)(?:указан|перечислен|назван|приведен|упомянут|изложен|описан|следующ)\w+)",
        r"\b(?P<piece>(?:указан|приведен|описан|перечислен|изложен|назван|упомянут)(?:о|а|ы|н\w+)? (?:выше|ниже))\b",
        # In the document, at the end of the question: nobody knows which.
        r"\bв (?P<norm>документе|положении|указании|инструкции|пункте|разделе|главе|приложении)"
        r"(?=[?!.]|$| (?:говорится|сказано|ид[её]т речь))",
    )
]
# An act or clause that was named before, or is named right after, by its number.
_NUMBERED = re.compile(
    r"№ ?[0-9]|\b(?:пункт|подпункт|стать|раздел|глав|приложени|положени|указани|инструкци)\w* [0-9]", re.IGNORECASE
)
_NUMBER_AFTER = re.compile(r"(?:[^?!.;]{0,60}?№ ?[0-9]| [0-9])")


def not_russian(text: str) -> tuple[float, str] | None:
    """(share of Latin letters, what tells it) where a text is not Russian, else None.

    Not Russian: without a Cyrillic letter; more Latin letters than Cyrillic; a letter of another script but Greek, which
    formulas use; a Cyrillic letter that Russian lacks (і, ї, є, ґ, ў, ј, ...); a word whose letters are of both scripts, but
    for a Latin abbreviation with a Russian ending. Stress marks are no letters.
    """
    seen = unicodedata.normalize("NFC", _STRESS.sub("", unicodedata.normalize("NFD", text)))
    words = _LETTERS.findall(seen)
    scripts = [_script(letter) for word in words for letter in word]
    latin, cyrillic = scripts.count("LATIN"), scripts.count("CYRILLIC")
    share = latin / len(scripts) if scripts else 0.0
    strange = sorted({letter for word in words for letter in word if _is_strange(letter)})
    if strange:
        return share, " ".join(strange)
    if not cyrillic:
        return share, " ".join(words[:8])
    if latin > cyrillic:
        return share, " ".join(word for word in words if _script(word[0]) == "LATIN")
    mixed = [word for word in words if {"LATIN", "CYRILLIC"} <= set(map(_script, word)) and not _ENDING.fullmatch(word)]
    return (share, " ".join(mixed)) if mixed else None


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


def _is_strange(letter: str) -> bool:
    script = _script(letter)
    if script == "CYRILLIC":
        return letter.lower() not in _RUSSIAN
    return script not in ("LATIN", "GREEK", "FEMININE", "MASCULINE", "MICRO", "SUPERSCRIPT", "SUBSCRIPT")


def points_at_passage(text: str) -> str | None:
    """The words by which a question refers to the passage it was written from, or None.

    An act that is named by its number is none of them: "this Directive № 6406-У", or "the said clause" after "clause 3.1".
    """
    flat = re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).replace("ё", "е").replace("Ё", "Е")
    for pattern in _POINTING:
        for match in pattern.finditer(flat):
            is_norm = "norm" in pattern.groupindex and match["norm"] is not None
            if is_norm and (_NUMBERED.search(flat[: match.start()]) or _NUMBER_AFTER.match(flat[match.end() :])):
                continue
            return match[0]
    return None
