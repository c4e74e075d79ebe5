"""What stands next to a name and gives a reason to read one there: titles, labels, roles, closings, cells.

Each pattern has a set of words without one of which it cannot match, so that most texts are not searched at all.
"""

from tendril_assets.corpus.first_names import AMBIGUOUS_FIRST_NAMES, FIRST_NAMES
from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.names import BLANK, INITIAL, LOWER, PREFIX, UPPER
from tendril_assets.corpus.personal_words import COMPOUND_ROLES, PLACES, ROLES
from tendril_assets.corpus.word_lists import word_list

LETTERS = lazy_pattern(r"[^\W\d_]+")
_TITLE = (
    r"(?:Herrn?|Herren|Familie|Fam\.|[Ff]amille|[Ff]amiglia|Ehepaar|Eheleute|Frau(?:en)?|Hr\.|(?<!\d )(?<!\d)Fr\."
    r"|Mmes?|Madame|Mesdames|Mlle|Monsieur|Messieurs|MM?\.|[Ss]ignor[aie]?"
    r"|[Ss]ig\.(?:ra|na|ri)?|[Ss]igg\.|Dr\.(?:ssa)?|Prof\.(?:ssa)?|[Dd]ott\.(?:ssa)?|[Dd]ipl\.[ -]?(?:[Ii]ng|[Aa]rch)\."
    r"|[Dd]ipl\.[ -]?\w{0,10}(?:[Ii]ng|[Aa]rch|Bauing)\.(?: ETH| FH| HTL)?(?:/SIA|/BSA)?|[Ii]ng\.|[Aa]rch\.|[Aa]vv\."
    r"|[Gg]eom\.|Me(?= [A-Z]))"
)
TITLED = lazy_pattern(
    rf"(?<![\w.]){_TITLE}(?:{BLANK}|[ \t]{{0,12}}\n[ \t]{{0,12}}|(?<=\.))(?:(?:l[ae] |l['’])(?=[{UPPER}][{LOWER}]+ ))?"
)
# "M. Favre" is "Monsieur Favre" in a French text, and Martin or Monika Favre in others.
FRENCH = lazy_pattern(r"\b(?i:l[ea]s?|de[s]?|du|et|par|pour|tout|une?|est|Mme|dans|sur|aux?)\b|\b[ld]['’]")
MONSIEUR = lazy_pattern(r"MM?\. ?(?=\S)")
PLURAL = ("Herren", "Frauen", "MM", "Mmes", "Messieurs", "Mesdames", "Sigg", "sigg", "Signori", "signori")
TITLE_WORDS = word_list(
    """Familie Fam Famille famille Famiglia famiglia Ehepaar Eheleute Herr Herrn Herren Frau Frauen Hr Fr Mme Mmes Madame
    Mesdames Mlle Monsieur Messieurs M MM Signora Signore Signori Signor signor signora signore signori Sig sig Sigg
    sigg Dr Prof Dott dott dipl Dipl ing Ing arch Arch avv Avv geom Geom Me"""
)
_AND = r"(?:und|sowie|et|e|ed|&|\+|ainsi que)"
_LIST_MARK = (
    rf"(?:[ \t]{{0,12}}(?:\([^()\n]{{1,40}}\))?[ \t]{{0,12}}(?:[,;/|]\s{{0,12}}(?:{_AND}\s{{1,12}})?"
    rf"|\s{{1,12}}{_AND}\s{{1,12}}))"
)
NEXT_ITEM = lazy_pattern(rf"{_LIST_MARK}(?:{_TITLE}{BLANK})?")
ITEM_END = lazy_pattern(r"\s{0,12}(?:$|[,;/|()\n.!?:\t]|[–-]\s|\s{2,}|(?:und|sowie|et|e|ed|&)\s|[a-z(])")

# Behind these stands a person, if anything that looks like a name ...
_STRONG = (
    r"(?:Kontaktpersone?n?|Ansprechperson(?:en)?|Ansprechpartner(?:in)?|Auskunftspersone?n?|Referenzpersone?n?"
    r"|Schlüsselpersone?n?"
    r"|Ersatz(?:mitglied|person)?|Suppléante?|Supplente|Delegat[oa]|Délégué(?:e)?|Custode|Concierge|Hauswart(?:in)?"
    r"|Sitzungsleitung"
    r"|Eigentümer(?:in|schaft)?|Einsprecher(?:in)?|Bauherrschaft|Propriétaire|Proprietari[oa]|PL|BL|GPL|OBL|Stv"
    r"|Répondant(?:e)?"
    r"|Moderation|Leitung|Präsidium|Aktuariat|Koordination|Présidence|Coordination|Modération|Interlocuteur"
    r"|Interlocutrice"
    r"|Projektleitung|Bauleitung|Oberbauleitung|Geschäftsleitung|Stellvertret(?:er|erin|ung)|Stv\.?"
    r"|Verantwortliche?r?(?: Person)?"
    r"|Zuständige?r?(?: Person)?|Bearbeiter(?:in)?|Unterzeichnete?r?|Verfasser(?:in|innen)?|Vorsitz"
    r"|Protokoll(?:führung)?"
    r"|Personne de contact|Chef(?:fe)? de projet|Responsable(?: d[eu][s']?[ \w]{1,20})?|Persona di contatto"
    r"|Capoprogetto"
    r"|Responsabile(?: d[ei]l?[ \w]{1,20})?|Referente)"
)
# ... behind these a person or a firm, and behind the participles anything: a known first name or an initial tells.
_WEAK = (
    r"(?:Kontakt|Auskunft|Auskünfte|Name|Vorname|Nachname|Name,? (?:und )?Vorname|Vor- und Nachname|Autor(?:in)?"
    r"|Unterschrift|Visum"
    r"|Geprüft|Freigabe|Freigegeben|Erstellt|Gezeichnet|Bearbeitet|Kopie(?: an)?|Verteiler|Zirkulation|Besetzung|Team"
    r"|Jury|Preisgericht"
    r"|Teilnehme(?:nde|r)|Anwesend"
    r"|Entschuldigt|Urheber(?:in)?|Contact|Nom|Prénom|Nom et prénom|Signature|Copie(?: à)?|Contatto|Nome|Cognome"
    r"|Nome e cognome|Firma"
    r"|Présents?|Excusés?|Presenti|Für die \w+|Pour l[ea] \w+|Per il \w+)"
)
_PASSIVE = (
    r"(?:[Vv]ertreten durch|[Bb]earbeitet (?:durch|von)|[Gg]eprüft (?:durch|von)|[Ee]rstellt (?:durch|von)"
    r"|[Gg]eleitet von"
    r"|[Uu]nterzeichnet (?:durch|von)|[Aa]uskunft (?:erteilt|gibt)|[Rr]eprésentée?s? par|[Ss]uivie? par"
    r"|[Ss]ignée? par|[Dd]irigée? par"
    r"|[Rr]appresentat[oa] da|[Ff]irmat[oa] da|[Rr]ivolgersi a|s['’]adresser à|[Aa]ngaben von|[Ss]elon|Stv\.)"
)
# A label is in front of one of these, a name behind it.
SEPARATOR = lazy_pattern(
    r"(?<![ \u00a0\t])(?:[ \u00a0\t]{0,8}[:|\t]|[ ][–-](?=[ ])|[ ]{3})[\s.…_|–-]{0,60}(?=[^\W\d_])"
)
LABEL_IN_FRONT = lazy_pattern(
    rf"(?:(?<!\w)(?:(?P<strong>{_STRONG})|(?P<weak>{_WEAK}))"
    rf"|(?<![\w-])(?P<word>[\w/-]+))(?:[ ]\([^()\n]{{1,40}}\))?[ ]?$"
)
LABEL_REACHES = 60
# "durch P. Kohli", "z. Hd. B. Marending"
INITIALLED = lazy_pattern(
    rf"(?<![\w.])(?:durch|von|mit|an|bei|visiert|par|avec|da|con|Hd\.|Handen|H\."
    rf"|visé)[ \n](?={INITIAL}[ \u00a0]{{0,2}}(?:{INITIAL}[ ])?[{UPPER}][{LOWER}])"
)
PASSIVELY = lazy_pattern(rf"(?<!\w){_PASSIVE}[ \n](?={PREFIX}?[{UPPER}])")
PASSIVE_WORDS = word_list(
    """vertreten Vertreten bearbeitet Bearbeitet geprüft Geprüft erstellt Erstellt geleitet Geleitet unterzeichnet
    Unterzeichnet Auskunft auskunft représenté représentée représentés représentées Représenté Représentée Représentés
    Représentées suivi suivie Suivi Suivie signé signée Signé Signée dirigé dirigée Dirigé Dirigée rappresentato
    rappresentata Rappresentato Rappresentata firmato firmata Firmato Firmata rivolgersi Rivolgersi adresser Angaben
    angaben Selon selon Stv"""
)
ROLE_ENDS = frozenset(
    f"{role}{ending}"[-3:] for role in f"{ROLES}|{COMPOUND_ROLES}".split("|") for ending in ("", "in")
)
ROLE_THEN = lazy_pattern(rf"(?<![\w-])(?P<role>[{UPPER}][{LOWER}]{{3,}}),?{BLANK}(?=[{UPPER}])")
SIGNED = lazy_pattern(
    r"(?<!\w)(?:gez\.?|[Ss]ig\.|[Ss]igné|(?:i\. ?A\.|i\. ?V\.|ppa\.|p\. ?o\.)|f\.to)[ \t]{0,12}:?(?:[ \t]{1,12}"
    r"|[ \t]{0,12}\n[ \t]{0,12})"
)
SIGNED_WORDS = frozenset(["gez", "sig", "Sig", "signé", "Signé", "i", "ppa", "p", "f", "A", "V"])
INITIAL_WORDS = frozenset(UPPER) | {"Ch", "Chr", "Th", "Ph", "Joh", "Jos", "Hs"}
CLOSED = lazy_pattern(
    r"(?:[Ff]reundlichen? Grüss?(?:en|e)|[Bb]esten? Grüss?(?:en|e)|[Hh]erzlichen? Grüss?(?:en|e)|(?<!\w)(?:Gruss"
    r"|Grüsse)|Hochachtungsvoll"
    r"|[Mm]eilleures salutations|[Ss]alutations (?:distinguées|les meilleures)|Cordialement|[Cc]ordiali saluti"
    r"|[Dd]istinti saluti"
    r"|[Ss]aluti)[ \t]{0,12}[,.]?[ \t]{0,12}(?:\n|$)"
)
CLOSING_WORDS = frozenset(
    [
        "Grüsse",
        "Grüssen",
        "Gruss",
        "Grüsse",
        "Hochachtungsvoll",
        "salutations",
        "Salutations",
        "Cordialement",
        "saluti",
        "Saluti",
    ]
)
LINES_OF_SIGNATURE = 6
SALUTATION = lazy_pattern(
    r"(?<!\w)(?:[Ll]iebe[rs]?|[Hh]allo|[Cc]h(?:er|ère)|[Cc]ar[oa]|Salut|Ciao|Hoi|Guten Tag|Bonjour|Buongiorno)[ ]"
    rf"(?=(?P<first>[{UPPER}][{LOWER}]+(?:-[{UPPER}][{LOWER}]+)?)(?!\w))"
)
GREETING_WORDS = word_list(
    """Liebe Lieber Liebes liebe lieber Hallo hallo Cher cher Chère chère Caro caro Cara cara Salut Ciao Hoi Tag Bonjour
    Buongiorno"""
)
FIRST_WORD = lazy_pattern(
    rf"(?=[{UPPER}][{LOWER}{UPPER}])(?<![\w'’-])(?<!St\. )(?<!Ste\. )(?<!Sankt )(?<!Saint )(?<!Santa )(?<!San )"
)
# In front of a name they make a place, a school or a foundation of it.
NAMED_AFTER = lazy_pattern(
    r"(?:\b(?:[Vv]ia(?:le)?|[Pp]iazza(?:le)?|[Vv]icolo|[Cc]ontrada|[Cc]orso|[Ll]argo|[Rr]ues?|[Aa]v(?:enue|\.)"
    r"|[Cc]h(?:emin|\.)|[Pp]lace"
    r"|[Bb]oulevard|[Qq]uai|[Rr](?:ou)?te|[Ii]mpasse|[Aa]llée|[Pp]ont|[Cc]ollège|[Éé]cole|[Ss]tade|[Mm]usée"
    r"|[Ff]ond(?:ation|azione)"
    r"|[Ss]cuola|[Ii]stituto|[Pp]alazzo|[Vv]illa|[Cc]asa|[Cc]entro|[Hh]ôpital|[Cc]linique|[Ss]alle|[Ee]space|MS|Marke"
    r"|System|Typ"
    r"|Modell|Serie|Fabrikat|Produkt|Hersteller|Lieferant|Baufeld|Trakt|Gebäude|Kloster|Restaurant|Pfarrei|Heim"
    r"|Klinik|Saal)"
    r"|\w*(?:[Ss]tiftung|[Ss]chulhaus|[Pp]reis|[Mm]useum|[Zz]entrum|[Kk]irche|[Kk]apelle|[Ss]chiff|[Hh]aus))[ ]$"
)
FIRM_BEHIND = lazy_pattern(
    r"(?:[ ]?[&+/-]?[ ]?(?:und |et |e )?(?:[A-ZÀ-Ö&+][\w.&+'’/-]*|Söhne|Partner|Fils|Figli|& Co\.?)){0,4}?"
    r"[ ,](?:AG|SA|GmbH|Sàrl|Sagl|KG|SE|Ltd|Inc|S\.A\.|[+&] Co|Genossenschaft|Stiftung|Foundation|Cie|& Co)\b"
)
STREET_BEHIND = lazy_pattern(
    r"[ -](?:[Ss]trasse|[Ww]eg|[Pp]latz|[Gg]asse|[Ss]chule|[Ss]chulhaus|[Aa]llee|[Pp]ark|[Ss]tiftung)\b"
)
# "Annas Telefonnummer", not "Peters Kirche" nor "Jakobs Brücke"
THING = lazy_pattern(rf"[ \u00a0](?=[{UPPER}])(?!(?i:\w*(?:{PLACES}|foundation|stiftung|bank)|AG|GmbH|SA)\b)")
LOCAL_PART = lazy_pattern(r"[^\W\d_]+")
_BULLET = r"(?:(?:[-–•*·▪]|\d{1,2}[.)]|[a-z]\))[ \t]{1,12})?"
CELL = lazy_pattern(rf"(?:^|(?<=[|\t;,:(/\n]))[ \t]{{0,12}}{_BULLET}(?:{PREFIX})*(?=(?:{INITIAL}|[{UPPER}{LOWER}]))")
CELL_END = lazy_pattern(r"[ \t]{0,12}(?:$|[|\t;,)/\n]|:|[ ]{3}|[ ][–-][ ]|(?=\+?\d{2,}))")

FIRST_FORMS = frozenset(form for name in FIRST_NAMES for form in (name.title(), name.upper()))
ANY_FIRST_FORMS = FIRST_FORMS | {form for name in AMBIGUOUS_FIRST_NAMES for form in (name.title(), name.upper())}
