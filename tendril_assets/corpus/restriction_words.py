"""The words of restricting clauses, per language; how they combine is in ``restrictions``."""

import re
from dataclasses import dataclass

_DENIED_REACH = 140


@dataclass(frozen=True)
class Words:
    """Patterns looked for in one sentence.

    ``tender_documents`` names them in so many words, ``documents`` in general, ``not_ours`` are other papers, ``duty``
    is a duty of the bidder or contractor. ``denied`` takes every limit back.

    An act is forbidden by its noun or infinitive (``publication``, ``passing_on``) with a word of ``forbidden``, or by
    a ``modal`` verb with "not" in front of the act (``not_publish``, ``not_pass``). ``only_for_offer`` limits a use to
    the offer, ``use`` is the verb that goes with it, ``other_use`` is any other use, ``not_elsewhere`` the same denied.
    """

    tender_documents: re.Pattern[str]
    documents: re.Pattern[str]
    not_ours: re.Pattern[str]
    duty: re.Pattern[str]
    denied: re.Pattern[str]
    forbidden: re.Pattern[str]
    modal: re.Pattern[str]
    only_for_offer: re.Pattern[str]
    use: re.Pattern[str]
    other_use: re.Pattern[str]
    not_elsewhere: re.Pattern[str]
    publication: re.Pattern[str]
    not_publish: re.Pattern[str]
    third: re.Pattern[str]
    passing_on: re.Pattern[str]
    not_pass: re.Pattern[str]


def _words(**patterns: str) -> Words:
    return Words(**{name: re.compile(pattern, re.IGNORECASE) for name, pattern in patterns.items()})


def _before(first: str, second: str, stop: str) -> str:
    """``first``, then ``second`` within reach, with no word of ``stop`` between them."""
    return rf"{first}(?:(?!{stop}).){{0,{_DENIED_REACH}}}?{second}"


# German --------------------------------------------------------------------------------------------------------------
_DE_DOCS = r"\b(?:\w*unterlagen|\w*dokument(?:e|en|s|ation)?|pläne?n?)\b"
_DE_PREPARE = (
    r"(?:erstell|ausarbeit|bearbeit|erarbeit|vorbereit|einreich|abfass|unterbreit|berechn|kalkul|abgabe|eingabe|zweck)"
)
_DE_OFFER = (
    rf"(?:(?:angebot|offert)(?:e?[ns]?|s)-?(?:{_DE_PREPARE}|stellung)\w*"
    rf"|{_DE_PREPARE}\w*\s+(?:\w+\s+){{0,4}}?(?:angebot|offert)\w*"
    rf"|(?:angebot|offert)\w*\s+(?:\w+\s+)?(?:zu\s+)?{_DE_PREPARE}\w*)"
)
_DE_NOT = (
    r"(?:\b(?:nicht|weder|keinesfalls|niemals|kein(?:e[mnrs]?)?)\b"
    r"|\bnur\s+(?:mit|nach|bei)\s+(?:\w+\s+){0,5}?\w*(?:zustimmung|einwilligung|genehmigung|bewilligung|einverständnis))"
)
_DE_BUT = r"\b(?:aber|jedoch|sondern|hingegen)\b"
_DE_PASS = (
    r"(?:weiter(?:ge|zuge|zu)?(?:geben|leiten|leitet|geleitet|verbreiten|verbreitet)|weitergegeben|überlassen|zugänglich"
    r"|ausgehändigt|auszuhändigen|abgegeben|abzugeben|mitgeteilt|mitzuteilen|bekannt\s?gegeben|bekanntzugeben"
    r"|offengelegt|offenzulegen|herausgegeben|herauszugeben|übermittelt|preisgegeben|zur\s+kenntnis|verfügung\s+(?:ge|zu\s)?stell\w+)"
)
_DE_OTHER_USE = r"\b(?:ander\w+|weitere\w*)\s+(?:verwendung|nutzung|zwecke?n?|gebrauch|weise)"

GERMAN = _words(
    tender_documents=(
        r"\b(?:(?:ausschreibungs|submissions|vergabe|wettbewerbs|beschaffungs)-?(?:unterlagen|dokument\w*|akten|plän\w+)"
        r"|pflichtenheft\w*|leistungsverzeichnis\w*|devis\b|(?:vorliegende|diese|abgegebene)[nrsm]?\s+(?:unterlagen|dokument\w*))"
    ),
    documents=_DE_DOCS,
    not_ours=(
        r"(?:eingereicht|einzureichend|eingegangen)\w*\s+(?:\w+\s+){0,2}(?:\w*unterlagen|\w*dokumente?)"
        r"|\b(?:ihre|seine|eigene)[nrsm]?\s+\w*(?:unterlagen|dokumente?)"
        r"|\w*(?:unterlagen|dokumente)\s+(?:des|der|von)\s+(?:\w+\s+)?(?:anbiet|bewerb|unternehm)"
        r"|weitergabe\s+(?:von|der|des)\s+(?:\w+\s+)?\w*(?:auftr[aä]g|arbeit|leistung)\w*"
    ),
    duty=(
        r"\b(?:anbiet|bewerb|auftragnehm|unternehm|beauftragt|vertragspart|zuschlagsempf)\w*\b.{0,80}?"
        r"\b(?:verpflichte\w*|behandel\w*|wahr(?:t|en)|verschwiegenheit|stillschweigen|geheim\w*)"
        r"|\bverpflichte\w*\s+sich\b|bei\s+der\s+(?:ausführung|erfüllung)|nach\s+(?:auftrags|vertrags)\w*"
        r"|während\s+der\s+(?:ausführung|vertragsdauer)|im\s+rahmen\s+(?:des\s+auftrag|der\s+vertrag)\w*"
    ),
    denied=(
        r"\bnicht\s+(?:nur|ausschliesslich|ausschließlich|allein|bloss|lediglich)\b"
        r"|\bnicht\s+(?:\w+\s+)?(?:verboten|untersagt|unzulässig|ausgeschlossen|eingeschränkt)\b"
    ),
    forbidden=(
        r"\b(?:untersagt|verboten|unzulässig|ausgeschlossen)\b"
        r"|\b(?:nicht|weder)\s+(?:\w+\s+){0,2}?(?:gestattet|erlaubt|zulässig|zugelassen)\b"
        r"|\b(?:nur\s+mit|bedarf|bedürfen|erfordert)\b.{0,80}?(?:zustimmung|einwilligung|genehmigung|bewilligung)"
    ),
    modal=r"\b(?:dürfen|darf|zu)\b|\w+zu(?:geben|leiten|händigen|legen|teilen)\b",
    only_for_offer=_before(
        r"\b(?:nur|ausschliesslich|ausschließlich|einzig|lediglich|allein)\b",
        _DE_OFFER,
        rf"{_DE_DOCS}|pflichtenheft|devis|\b(?:wenn|falls|sofern)\b",
    ),
    use=r"\b(?:verwend|benutz|benütz|genutz|nutz|gebrauch|dien|bestimm|einsetz|eingesetz|überlassen|abgegeben)\w*",
    other_use=_DE_OTHER_USE,
    not_elsewhere=_before(r"\b(?:nicht|keinesfalls|keine[mnrs]?)\b", _DE_OTHER_USE, _DE_BUT),
    publication=r"veröffentlichung\w*|publikation\w*|zu\s+veröffentlichen|zu\s+publizieren",
    not_publish=_before(_DE_NOT, r"(?:veröffentlich(?:t|en)|publizier(?:t|en)|öffentlich\s+zugänglich)", _DE_BUT),
    third=r"\b(?:dritte[nrm]?|drittperson(?:en)?|drittfirm(?:a|en)|unbeteiligte[nr]?)\b",
    passing_on=r"weitergabe|weiterleitung|überlassung|abgabe|offenlegung|bekanntgabe|\w+zu(?:geben|leiten|händigen|legen|teilen)\b",
    not_pass=_before(_DE_NOT, _DE_PASS, _DE_BUT),
)

# French --------------------------------------------------------------------------------------------------------------
_FR_OFFER = (
    r"(?:élabor\w*|établi\w*|prépar\w*|rédac\w*|rédig\w*|dépôt|remise|constitution|calcul\w*|fins?|but)\s+"
    r"(?:\w+['’\s]\s*){0,4}?(?:offres?|soumissions?)\b"
)
_FR_BUT = r"\b(?:mais|cependant|toutefois)\b"
_FR_PASS = (
    r"(?:transmi(?:s|se|ses|ssibles?)|communiqué\w*|remis(?:e|es)?|divulgué\w*|cédé\w*|diffusé\w*"
    r"|mis(?:e|es)?\s+à\s+(?:la\s+)?disposition|rendue?s?\s+accessibles?|transmettre|communiquer|remettre|divulguer|céder)"
)
_FR_OTHER_USE = r"\b(?:autre\s+(?:usage|utilisation|fin|but)|autres\s+(?:fins|usages|buts))"

FRENCH = _words(
    tender_documents=(
        r"\b(?:documents?|dossiers?|pièces)\s+(?:d['’]\s?appel|de\s+(?:la\s+)?soumission|d['’]\s?adjudication|de\s+mise\s+au)"
        r"|\bcahiers?\s+des\s+charges|\b(?:présents?|ces|ce)\s+(?:documents?|dossiers?)"
    ),
    documents=r"\b(?:documents?|dossiers?|pièces|documentation|plans)\b",
    not_ours=(
        r"\b(?:ses|leurs?|propres|vos)\s+(?:documents?|dossiers?|pièces)"
        r"|\b(?:documents?|dossiers?|pièces)\s+(?:remis|déposé|fourni)\w*\s+par\s+l"
        r"|\b(?:documents?|dossiers?|pièces)\s+(?:du|des)\s+(?:soumissionnaire|candidat|concurrent)"
    ),
    duty=(
        r"\b(?:soumissionnaire|candidat|mandataire|adjudicataire|prestataire|entrepreneur|entreprise)\w*\b.{0,80}?"
        r"\b(?:s['’]engage\w*|tenue?s?|traite\w*|confiden\w*|secret)|\bs['’]engage\w*|dans\s+l['’]exécution|durant\s+l['’]exécution"
    ),
    denied=r"\bpas\s+(?:seulement|uniquement|exclusivement)\b|\bpas\s+(?:interdit|prohibé|exclu|défendu)\w*",
    forbidden=r"\b(?:interdit|prohibé|proscrit)e?s?\b|\bpas\s+(?:autorisé|permis|admis)e?s?\b|\binterdiction\b",
    modal=r"\b(?:ne|n['’])\s*(?:peu(?:t|vent)|doi(?:t|vent)|saurai(?:t|ent)|pourr\w+|devr\w+|est|sont)\b",
    only_for_offer=_before(
        r"(?:\b(?:que|uniquement|exclusivement|seulement|seules?|réservé\w*)\b|\bqu['’])",
        _FR_OFFER,
        r"\bdocuments?\b|\bdossiers?\b",
    ),
    use=r"\b(?:utilis|destin|employ|emploi|usage|serv|réserv)\w*",
    other_use=_FR_OTHER_USE,
    not_elsewhere=_before(r"\bne\b", _FR_OTHER_USE, _FR_BUT),
    publication=r"\bpublications?\b|\bdiffusion\b|\bpublier\b|\bdiffuser\b",
    not_publish=_before(r"(?:\bne\b|\bni\b)", r"(?:publiée?s?|publier|diffusée?s?|rendue?s?\s+publi\w+)", _FR_BUT),
    third=r"\b(?:tiers|tierces?)\b",
    passing_on=r"\b(?:transmission|communication|remise|divulgation|cession|diffusion|transmettre|communiquer|remettre|divulguer|céder)\b",
    not_pass=_before(r"(?:\bne\b|\bni\b)", _FR_PASS, _FR_BUT),
)

# Italian -------------------------------------------------------------------------------------------------------------
_IT_OFFER = (
    r"(?:elabor\w*|allesti\w*|prepara\w*|redazion\w*|presentazion\w*|formulazion\w*|fini|scopo)\s+"
    r"(?:\w+['’\s]\s*){0,4}?offert[ae]\b"
)
_IT_BUT = r"\b(?:ma|tuttavia|però|bensì)\b"
_IT_PASS = (
    r"(?:trasmess\w*|cedut\w*|comunicat\w*|consegnat\w*|divulgat\w*|inoltrat\w*|mess[aeio]\s+a\s+disposizione"
    r"|res[aeio]\s+accessibil\w*|trasmettere|cedere|comunicare|consegnare|divulgare)"
)
_IT_OTHER_USE = r"\b(?:altr[oi]\s+(?:uso|usi|scop[oi]|utilizzo|fin[ei])|altra\s+(?:utilizzazione|finalità))"

ITALIAN = _words(
    tender_documents=(
        r"\b(?:document[oi]|documentazione|atti)\s+(?:di\s+gara|d['’]\s?appalto|di\s+appalto|di\s+concorso|del\s+(?:concorso|bando))"
        r"|\bcapitolat[oi]\b|\b(?:presenti?|quest[aeio])\s+(?:document\w*|atti)"
    ),
    documents=r"\b(?:document[oi]|documentazione|atti|piani|elaborati)\b",
    not_ours=(
        r"\b(?:suoi|propri|loro|vostri)\s+document|\bdocumenti\s+(?:presentati|inoltrati|consegnati)\s+da"
        r"|\bdocument\w+\s+(?:del|dei|degli|dell['’])\s*(?:offerent|concorrent|candidat)"
    ),
    duty=(
        r"\b(?:offerent|concorrent|mandatari|appaltator|aggiudicatari|imprenditor)\w*\b.{0,80}?"
        r"\b(?:si\s+impegna\w*|tenut[oi]|tratta\w*|riserv\w*|confiden\w*|segret\w*)|\bsi\s+impegna\w*|durante\s+l['’]esecuzione"
    ),
    denied=r"\bnon\s+(?:solo|soltanto|unicamente|esclusivamente)\b|\bnon\s+(?:è|sono)\s+(?:vietat|proibit|esclus)\w+",
    forbidden=r"\b(?:vietat|proibit)[aeio]\b|\bdivieto\b|\bnon\s+(?:è|sono)\s+(?:consentit|permess|ammess|autorizzat)[aeio]\b",
    modal=r"\b(?:possono|può|devono|deve|potranno|potrà|va|vanno|sono|è)\b",
    only_for_offer=_before(r"\b(?:solo|soltanto|unicamente|esclusivamente|solamente)\b", _IT_OFFER, r"\bdocument\w*"),
    use=r"\b(?:utilizz|usat|uso|impieg|destinat|serv|riservat)\w*",
    other_use=_IT_OTHER_USE,
    not_elsewhere=_before(r"\bnon\b", _IT_OTHER_USE, _IT_BUT),
    publication=r"\bpubblicazion\w*|\bpubblicare\b|\bdiffusione\b|\bdiffondere\b",
    not_publish=_before(
        r"(?:\bnon\b|\bné\b)", r"(?:pubblicat[aeio]|pubblicare|diffus[aeio]\b|rese?\s+pubblic\w+)", _IT_BUT
    ),
    third=r"\bterz[iae]\b",
    passing_on=r"\b(?:trasmission\w*|cession\w*|comunicazion\w*|consegna|divulgazion\w*|trasmettere|cedere|comunicare|consegnare|divulgare)\b",
    not_pass=_before(r"(?:\bnon\b|\bné\b)", _IT_PASS, _IT_BUT),
)

LANGUAGES = {"de": GERMAN, "fr": FRENCH, "it": ITALIAN}
# A text can break a rule only if it names documents, and an act or a use: looked for in lower case before all else.
OBJECT_HINTS = (
    *("unterlage", "dokument", "pflichtenheft", "leistungsverzeichnis", "devis", "pläne", "ausschreibungsplän", "plan"),
    *("document", "dossier", "pièce", "cahier", "atti", "capitolat", "piani", "elaborati", "vergabeakten", "akten"),
)
ACT_HINTS = (
    *(
        "dritt",
        "unbeteiligt",
        "veröffentlich",
        "publi",
        "pubblic",
        "öffentlich zugänglich",
        "diffus",
        "tiers",
        "tierce",
    ),
    *(
        "terz",
        "angebot",
        "offert",
        "offre",
        "soumission",
        "verwendung",
        "nutzung",
        "zweck",
        "gebrauch",
        "weise",
        "usage",
    ),
    *("utilisation", "autre", "utilizz", "altr", " uso", "scop"),
)


def worth_a_look(text: str) -> bool:
    lowered = text.lower()
    return any(hint in lowered for hint in OBJECT_HINTS) and any(hint in lowered for hint in ACT_HINTS)
