"""What is looked for before all else: most texts hold no restriction, and are left after some microseconds.

A text can break a rule only if it names papers or the procedure, and an act or a use. The hints are plain substrings of
folded text (``sentences.fold``): they let through what the patterns of ``restriction_words`` could find, and more.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from tendril_assets.corpus.sentences import fold, mended

OBJECT_HINTS = {
    "de": (
        *(
            "unterlage",
            "dokument",
            "dossier",
            "pflichtenheft",
            "lastenheft",
            "leistungs",
            "devis",
            "grundlage",
            "akten",
        ),
        *("plan", "zeichnung", "beilage", "ausschreib", "submission", "wettbewerb", "beschaffung", "verfahren"),
        *(
            "datens",
            "modell",
            "dateien",
            "vorlage",
            "ansicht",
            "kubatur",
            "tabelle",
            "schriftst",
            "programm",
            "beschrieb",
            "offertanfrage",
        ),
        *("raumbuch", "gutachten", "datenr", "datenpaket", "fragebeantwortung"),
    ),
    "fr": (
        *("document", "dossier", "cahier", "pieces", "plans", "fichier", "annexe", "soumission", "appel", "procedure"),
        *("descripti", "formulaire", "modele", "donnees", "serie de", "adjudication", "concours", "marche"),
    ),
    "it": (
        *("document", "dossier", "capitolat", "atti", "piani", "elaborati", "incart", "fascicol", "allegat", "gara"),
        *("concorso", "bando", "appalto", "modul", "descrittiv", "elenco", "procedura", "commessa", "disegni"),
    ),
}

# Terms of use without papers by name: a purpose, data, or an act that a notice forbids.
TERM_HINTS = {
    "de": (
        *("offert", "offerier", "angebot", "submission", "kalkul", "teilnahmeant", "mengenerm", "wettbewerb", "preis"),
        *(
            "eingabe",
            "daten",
            "modell",
            "foto",
            "bilder",
            "luftbild",
            "skizz",
            "grundriss",
            "aufnahme",
            "liste",
            "karten",
        ),
        *(
            "weiterg",
            "weiterl",
            "weiterr",
            "weiterverb",
            "nachdruck",
            "reprodu",
            "veroffentl",
            "publi",
            "abbild",
            "abdruck",
        ),
        *(
            "vertraulich",
            "empfanger",
            "adressat",
            "punktwolke",
            "baugrund",
            "schema",
            "visualis",
            "drohne",
            "ifc",
            "cad",
            "dateien",
        ),
        *(
            "niemand",
            "aussensteh",
            "subplan",
            "lieferant",
            "gesicht",
            "vorenth",
            "verlassen",
            "plan",
            "karte",
            "ausschreib",
        ),
        *("beschrieb", "unterlagen", "projektr", "kataster"),
    ),
    "fr": (
        *("offre", "soumission", "concours", "chiffr", "prix", "candidat", "adjudic", "procedure", "donnees", "modele"),
        *(
            "releve",
            "schema",
            "photo",
            "vues",
            "image",
            "carte",
            "croquis",
            "esquisse",
            "maquette",
            "nuage",
            "inventaire",
        ),
        *(
            "reprodu",
            "diffus",
            "publi",
            "transm",
            "divulg",
            "confidentiel",
            "destinataire",
            "communic",
            "nul autre",
            "quitt",
            "plans",
            "fichier",
            "site",
        ),
    ),
    "it": (
        *("offert", "prezz", "concorso", "appalto", "gara", "bando", "calcol", "geodati", "dati", "modell", "riliev"),
        *(
            "planimetr",
            "foto",
            "immagin",
            "schem",
            "schizz",
            "mapp",
            "carte",
            "inventar",
            "riproduz",
            "diffus",
            "pubblic",
        ),
        *("divulg", "trasm", "cession", "confidenzial", "riservat", "destinatari", "riprodu", "trasmett"),
    ),
}
LIMIT_HINTS = (
    *("weiterg", "weiterz", "weiterl", "weiterr", "weiterv", "dritt", "befugt", "beteiligt", "rechtigt", "stehende"),
    *("konkurren", "mitbewerb", "extern", "fremd", "niemand", "medien", "presse", "ffentlich", "publi", "verbreit"),
    *(
        "internet",
        "netz",
        "vertraul",
        "geheim",
        "schweig",
        "diskret",
        "anderweit",
        "andere",
        "anders",
    ),
    *(
        "aufschalt",
        "hochlad",
        "upload",
        "offenleg",
        "offenzu",
        "offengel",
        "preisg",
        "preiszu",
        "zugriff",
    ),
    *("zweck", "missbr", "ausschlie", "exklusiv", "einzig", "nur", "ledig", "allein", "bloss", "beschr", "begrenz"),
    *("ausser", "hinaus", "eigene", "kommerz", "gewerb", "verraten", "verschl", "abdruck", "abgedruckt", "wiederg"),
    *(
        "kauf",
        "verleih",
        "nichts",
        "verlassen",
        "ubertragbar",
        "soweit",
        "zustimm",
        "erschopf",
        "gegen",
        "medium",
        "sozial",
    ),
    *("verzicht", "unterbl", "nicht der", "hochlad", "weitere", "werb", "intern", "behalt", "personlich"),
    *(
        "untersag",
        "verbot",
        "unzul",
        "unstatt",
        "verwehr",
        "geschlossen",
        "zuschliess",
        "ausschluss",
        "strafbar",
        "sonst",
    ),
    *("abstand", "bewillig", "genehmig", "willigung", "einverst", "erlaub", "gestatt", "interdi", "prohib", "proscri"),
    *("defend", "renonc", "abst", "accord", "autoris", "consente", "sortir", "cessib", "vieta", "proibi", "divieto"),
    *("esclu", "consenso", "autorizz", "rinunc", "rivist", "sito", "ligne", "reseaux"),
    *(
        "se non",
        "schwieg",
        "einblick",
        "lieh",
        "der hand",
        "tausch",
        "abgebild",
        "nirgend",
        "drittp",
        "unique",
        "personne",
        "nessun",
        "hierfur",
        "behalt",
        "zitier",
        "post",
        "einwillig",
        "wunscht",
        "auswert",
    ),
    *("tiers", "tierce", "personnes", "autre", "autrui", "quiconque", "divers", "divulg", "diffus", "voil"),
    *("revel", "confiden", "secret", "discr", "ligne", "dehors", "hors", "fins", "exclusi", "uniquement", "seul"),
    *("que", "qu'", "strict", "limit", "restrei", "reserv", "medias"),
    *("terz", "persone", "estran", "estern", "altr", "chiunque", "pubblic", "diffond", "riserv", "riserb", "segret"),
    *(
        "etrang",
        "gesicht",
        "vorenth",
        "zeitung",
        "nachdruck",
        "transm",
        "quitt",
        "paraitre",
        "paru",
        "finire",
        "quitte",
    ),
    *(
        "iten sie",
        "eben sie",
        "ne peu",
        "ne doi",
        "ammess",
        "propri",
        "permess",
        "consentit",
        "lecit",
        "weder",
        "nicht zu",
        "darf nicht",
        "kein",
        " rien d",
    ),
    *("solo", "sola", "soli", "solamente", "soltanto", "unicamente", "esclusiv", "circoscr", "fuori", "nota", "noto"),
)


_NAMES = {language: 1 << i for i, language in enumerate(OBJECT_HINTS)}
_TERMS = {language: 8 << i for i, language in enumerate(OBJECT_HINTS)}
_LIMITS = 64
_ANY_NAME, _ANY_TERM = sum(_NAMES.values()), sum(_TERMS.values())
_HINTS = (
    *((_NAMES[language], hints) for language, hints in OBJECT_HINTS.items()),
    *((_TERMS[language], hints) for language, hints in TERM_HINTS.items()),
    (_LIMITS, tuple(hint for hint in LIMIT_HINTS if " " not in hint)),
)
_LIMITS_OF_WORDS = tuple(hint for hint in LIMIT_HINTS if " " in hint)


def worth_a_look(text: str) -> bool:
    """False where no rule can be broken."""
    words = mended(text).split()
    kinds = _of_words(words)
    return bool(kinds & (_ANY_NAME | _ANY_TERM)) and _limits(kinds, words)


def names_papers(folded: str, language: str) -> bool:
    """False where ``folded`` names no papers in this language (de, fr or it)."""
    return bool(_of_sentence(folded) & _NAMES[language])


def speaks_of_terms(folded: str, before: str, language: str) -> bool:
    """False where neither ``folded`` nor what stands before it names a purpose, data or an act of this language."""
    return bool((_of_sentence(folded) | _of_sentence(before)) & _TERMS[language])


def may_limit(folded: str) -> bool:
    """False where nothing in ``folded`` limits anything."""
    return bool(_of_sentence(folded) & _LIMITS) or _limits(0, folded.split())


def _limits(kinds: int, words: Sequence[str]) -> bool:
    if kinds & _LIMITS:
        return True
    joined = " ".join(words).casefold()
    return any(hint in joined for hint in _LIMITS_OF_WORDS)


@lru_cache(maxsize=1 << 8)
def _of_sentence(folded: str) -> int:
    return _of_words(folded.split())


def _of_words(words: Iterable[str]) -> int:
    kinds = 0
    for kind in set(map(_of_word, words)):
        kinds |= kind
    return kinds


@lru_cache(maxsize=1 << 16)
def _of_word(word: str) -> int:
    """What a word hints at, as bits. Documents repeat their words: looking one up is ten times faster than searching."""
    folded = fold(word)
    return sum(bit for bit, hints in _HINTS if any(hint in folded for hint in hints))
