"""Credentials told in a sentence: what looks like one, near what it opens.

A sentence that speaks of a password or of something shared makes a value of each word in it that is built like one (letters
with digits or symbols). A number behind "mit", "Code" or "eingeben" is one where a door, a lock or an alarm stands near.
Sentences that demand ("muss", "mindestens") describe passwords and hold none.
"""

from collections.abc import Iterator

from tendril_assets.corpus.credential_words import DIGITS, PASSWORD, QUOTED, USER, any_case, is_value, secret, stems
from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.signs import Signs


def _any(text: str) -> str:
    """An alternative of the words of ``text``; "_" stands for a blank."""
    return "|".join(word.replace("_", r"\s+") for word in text.split())


# A full stop ends a sentence before a blank and a capital; those of "Nr. 12" and "Sommer.2023" do not. So does a line.
_SENTENCE = lazy_pattern(r"(?:[^.\n;!?]|[.;!?](?!\s+[A-ZÄÖÜÀÉÈ«„])(?!\s*$))+[.;!?]?")
_DEMANDS = any_case(
    r"\b(?:"
    + _any(
        "muss müssen soll sollen sollte sollten dürfen darf mindestens mind\\. maximal höchstens kann können möglich unterstützt "
        "unterstützen verlangt_wird doit doivent devra devront au_moins minimum peut peuvent prend_en_charge "
        "deve devono dovrà dovranno almeno può possono supporta"
    )
    + r")\b|\b(?:ist|sind)\b[^.\n]{0,80}\bzu[ ]\w+en\b"
)
# Words of computing and building that are built like a password.
_STANDARD = _any(
    "AES SHA MD RSA TLS SSL WPA WEP IPv? HTTPS? OAuth FIDO SAML LDAP ISO IEC IEEE EN SN DIN SIA VSS NPK BKP eBKP CFC CAN RAL "
    "IFC BIM USB RJ CAT RS VDE EI REI RC PN DN PSK Wi-?Fi MIFARE DESFire Windows Office Microsoft M SQL X ECO LED PE PVC LTE UHF "
    "RFID NFC PoE VLAN KNX DALI OPC"
)
_PART = _any(
    "Teams Zone Ebene Stufe Phase Los Lot Lotto Haus Trakt Register Beilage Annexe Allegato Typ Type Tipo Version Release Rev v"
)
_TERM = any_case(
    rf"(?:{_STANDARD}|{_PART})[-_ ./]?[\dX][\d.:/+-]{{0,8}}[a-z]?(?:-?(?:PSK|GCM|CBC))?"
    r"|\w{0,3}\d[A-Z]|[A-Z]{1,4}-?\d{1,4}|\d+(?:[.,]\d+)?(?:[a-zµ°²³%]{1,3}|bit|uhr)|[\d.,'’:/-]+(?:er|ten?|[a-z])?"
    r"|argon2\w*|\w*25519|pbkdf2|bcrypt|scrypt|[23]d-?\w*|[23]fa|\w[24]\w"
    r"|\S+\.(?:ch|com|net|org|local|swiss|li|de|fr|it|pdf|docx?|xls[xm]?|zip|dwg|dxf|ifc|crbx?|01s|html?|png|jpe?g|csv|xml|json)"
)
_SHARED = any_case(
    r"blattschutz|freigabelink|(?:link|ordner|datei|archiv|cloud|tabelle|makro)\w*\b[^.]{0,60}geschützt"
    r"|geschützt\b[^.]{0,60}(?:öffnen|eingeben|entsperren)|(?:partage|lien|dossier|archive|fichier)\b[^.]{0,60}protég"
    r"|(?:cartella|link|archivio|file)\b[^.]{0,60}protett|\bjeton\b|chiave api|clé (?:d['’])?api"
    r"|api-?(?:key|schlüssel)|\bs?ftp\b|planserver|planablage"
    r"|(?:wlan|wi-?fi|ssid)\b[^.]{0,60}(?:schlüssel|schluessel|verbinden|clé|chiave|key|:)"
)
_PASSWORD = any_case(rf"(?<![\w-])(?:{PASSWORD}|login|zugangsdaten|identifiants|credenziali)(?!\w)")
_LABEL_IN = any_case("schlüssel|passwor|kennwor|code$|login")
# What is quoted is taken whole and left to the patterns that say why.
_BUILT = lazy_pattern(rf"(?<![\w/@.:-]){QUOTED}|(?<![\w/@.:#-])\w[\w!#$%&*+=?@~^§.-]*[\w!#$%&*+=?~§](?![\w/@])")

_LOCK = (
    "zahlenschloss vorhängeschloss zahlencode türcode torcode einfahrtscode safecode tresorcode digicode cadenas lucchetto "
    "servicecode servicepin"
)
_OPENED = (
    "tor tore tors türe tür türen rolltor bautor werktor hoftor einfahrtstor garagentor hallentor gittertor schiebetor einfahrt "
    "lift aufzug tresor schranke schranken barriere poller parkdienst dachluke zutritt schleuse drehkreuz alarm alarmanlage "
    "alarmzentrale brandmeldeanlage brandmeldezentrale gegensprechanlage tastatur tastenfeld tableau codetableau bedienfeld "
    "bedienpanel bedienteil türöffner schlüssel schlüsselsafe schlüsselbox schlüsseltresor schlüsselrohr schlüsseldepot "
    "schlüsselkasten schlüsselkassette schlüsselschrank portail porte portillon borne barrière tourniquet interphone coffret "
    "coffre clavier ascenseur régulateur alarme boîte boîtier armoire cancello porta cassetta sbarra barriera tornello citofono "
    "allarme ascensore quadro tastiera serratura"
)
_LOCK_WORDS = frozenset(
    written for word in f"{_LOCK} {_OPENED}".split() for written in (word, word.capitalize(), word.upper())
)
_DOORS = ("türe", "tür ", "tür,", "tür.")
_OPENS = any_case(rf"\b(?:{_any(_LOCK)}|{_any(_OPENED)})\b|(?<=\w)türe?\b")
_SAYS = _any("ist lautet heisst gilt neu est passe_à devient c['’]est_le è cambiato_in diventa")
_TELLS = (
    r"(?:mit(?:\s+(?:der\s+eingabe|de[mr]\s+(?:code|nummer|zahl)))?|eingabe(?:\s+von)?|bitte|gilt|"
    rf"(?:(?:\w*code|codes|codice|kombination|combinaison|combinazione|nip|\w*pin)(?:[^.,;:\n]{{0,40}}?\b(?:{_SAYS})"
    r"|\s+[^\W\d]{1,12}|[^.,;:\d\n]{1,30}(?=[ ]?:))?)"
    r"|tastatur\s+\w{1,12},|(?:eingestellt|gestellt|gesetzt)\s+auf|réglée?s?\s+sur|avec(?:\s+le(?:\s+code)?)?"
    r"|con(?:\s+il(?:\s+codice)?)?|[–-](?=[ ]C[ ]\d)|c['’]est\s+le|"
    + _any(
        "lautet heisst einstellung haben_wir tippen wählen resté taper tapez composer composez saisir saisissez digitando "
        "digitare inserendo inserire attualmente aktuell"
    )
    + ")"
)
_NUMBER = rf"(?:{DIGITS}|(?:C[ ])?[A-Z]?\d{{4,6}}[A-Z#]?(?!\w)|\d{{3,6}}\b)"
_TOLD = any_case(rf"(?<![\w-]){_TELLS}[ ]?[:=(]?[ ]{{0,3}}(?P<value>{_NUMBER})")
_TYPED = any_case(
    rf"(?<![\w.,/-])(?P<value>{_NUMBER})[ ](?:(?:zu|und\s+dann|puis|poi)[ ])?(?:"
    + _any("öffnen eingeben eintippen drücken wählen unscharf scharf geöffnet freigegeben entsperrt")
    + ")"
)
_ON_LOCK = any_case(rf"(?<![\w-])(?:{_any(_LOCK)})[ :]{{1,3}}(?P<value>\d(?:-\d){{2,5}}|{_NUMBER})")
# Measures, times, money, numbers that go on, and how many of something.
_NO_LOCK_NUMBER = any_case(
    r"\s?(?:(?:"
    + _any(
        "mm cm m km kg t N kN W kW V A Ah Hz lx lm dB bar Pa Stk\\.? Stück Uhr h CHF EUR Zyklen Personen Minuten Sekunden "
        "Stunden Tage Jahre pièces cycles personnes minutes secondes heures jours ans pezzi cicli persone minuti secondi ore "
        "giorni anni"
    )
    + r")\b|m[²³]|°|%|Fr\.|[.,:/'’-]\d|[ ](?-i:[A-ZÄÖÜ])[\w-]{2,})"
)
_DIGITS = lazy_pattern(r"\d(?:[ -]?\d){2}")
_YEAR = lazy_pattern(r"(?:19|20)\d\d")

_BUILT_TOKEN = r"(?=[^\s,;]*[a-zà-ü])(?=[^\s,;]*[\d!#$%&*+=?~_.-])[^\s,;]{4,40}"
_NO_USER = r"(?!(?:de[mnrs]|das|einem?|eigenem|la|le|il|un|une|und|oder|et|ou|e|o|e-?mail[\w-]*)\b)"
# Konto fw-kaelte, Passwort ...
_USER_BEFORE = secret(
    r"(?<![\w-])(?:konto|kunde|name|kürzel|kennung|rolle\s+\w+|compte|nom|anmeldung\s+als|mit|benutzer(?:namen?)?|login|account|username"
    rf"|utente(?:\s+di\s+servizio\s+è)?)[ :]{{1,2}}{_NO_USER}(?P<value>[\w.-]+)(?:\s+rein)?[ ,;(]{{1,3}}"
    rf"(?:\w{{1,12}}[ ,]{{1,2}}){{0,2}}?{PASSWORD}(?!\w)",
    is_value,
)
# Passwort admin1234 (Benutzer admin)
_USER_BEHIND = secret(
    rf"(?<![\w-]){PASSWORD}[ :]{{1,3}}\S{{4,40}}[ ]?[(,][ ]?{USER}[ :]{{1,2}}(?P<value>[\w.-]+)",
    is_value,
)
# username station12, password Nebel-im-Nov
_WITH_USER = secret(
    rf"(?<![\w-]){USER}[ :]{{1,3}}{_NO_USER}[\w.@-]{{2,40}}[ ]?[,;/]?[ ]{{1,2}}{PASSWORD}[ :]{{1,3}}(?P<value>[^\s,;<>|]+)"
    r"(?=[.,;)\s]|$)",
    is_value,
)
# Das Passwort fehlt. Es lautet ...
_TOLD_LATER = secret(
    rf"(?<![\w-]){PASSWORD}(?!\w)[^.\n]{{0,80}}[.:][^.\n]{{0,60}}?\b(?:es|dieses|il|esso)\s+(?:lautet|heisst|est|è)\s+"
    r"(?P<value>[^\s,;<>|]+)",
    is_value,
)
# mit dem Passwort Alpenrose.
_SPOKEN = secret(
    rf"\b(?:mit\s+dem|des|das|dem|avec\s+le|con\s+la|dalla)\s+(?:{PASSWORD}|parola)\s+"
    r"(?P<value>(?-i:[A-ZÄÖÜÉÈ])[\w-]{4,30}|[a-zà-ü]+(?:-[\wà-ü]+)+)(?=[.,;)]|$|\s(?:und|et|e)\b)",
    is_value,
)
_PHRASE = secret(
    r"\b(?:avec\s+la\s+phrase\s+de\s+passe|mit\s+der\s+passphrase|con\s+la\s+frase\s+\w+)\s+"
    r"(?P<value>[\w'’]+(?:\s[\w'’]+){2,8})(?=[.,;]|$)",
    is_value,
)
# Zugang zum Leitsystem (nur lesend): glt-view / Heizung08
_ACCESS = (
    r"(?<![\w-])(?:\w*zugang|zugriff|\w*zugangsdaten|login|anmeldung|konto|accès|connexion|identifiants|accesso|credenziali)\b"
    r"[^:;\n]{0,80}:[ ]{1,3}"
)
_AND = r"[ ]{1,2}(?:/|\||und|et|e|passw\.|pw)[ ]{1,2}"
PAIRS = (
    secret(rf"{_ACCESS}(?P<value>[^\s,;/]{{3,40}}){_AND}{_BUILT_TOKEN}", is_value),
    secret(rf"{_ACCESS}[^\s,;/]{{3,40}}{_AND}(?P<value>{_BUILT_TOKEN})", is_value),
    secret(rf"(?<![\w-])zugangsdaten[ :]{{1,2}}[^\s,;/]{{3,40}}{_AND}(?P<value>{_BUILT_TOKEN})", is_value),
)
# mit dem Passwort hochwasser öffnen; mot de passe assainissement.
_PLAIN = secret(
    rf"(?<![\w-]){PASSWORD}[ ](?!\w*(?:en|t|lich|bar|ig|isch|los|sam|haft|end|er|es|é|ée|és|ées|oire|aire|able|ible|ato|ata|ati"
    r"|are|ere|ire|oria|orio|abile|iva|ivo|uta|ita)\b)(?P<value>(?-i:[a-zäöüàéè]){5,20})"
    r"(?=[.;]|,|$|[ ](?:öffnen|geöffnet|entsperren|versehen|geschützt)\b)",
    is_value,
)
BESIDE_PASSWORDS = (_PLAIN, _USER_BEFORE, _USER_BEHIND, _WITH_USER, _TOLD_LATER, _SPOKEN, _PHRASE)

# Of texts about passwords, those without one of these are about something shared.
_SHARED_STEMS = stems(
    "geschützt_ geschützt, geschützt. blattschutz freigabelink protég protett ssid schluessel jeton _api api- apik apis apit "
    "login zugangsdaten identifiants credenziali ftp planserver planablage"
)
PAIR_STEMS = stems("zugang zugriff login anmeldung konto accès connexion identifiants accesso credenziali")


def built_words(text: str, plain: str, *, of_passwords: bool) -> Iterator[tuple[int, int]]:
    """Words built like a password in a sentence about one or about something shared.

    ``plain`` is the text in lower case with single blanks; ``of_passwords``: it has a word for a password.
    """
    if not (of_passwords or any(map(plain.__contains__, _SHARED_STEMS))):
        return
    words = [word.span() for word in _BUILT.finditer(text) if is_value(text, *word.span()) and _is_built(word[0])]
    if not words:
        return
    for sentence in _SENTENCE.finditer(text):
        low, high = sentence.span()
        within = [(start, end) for start, end in words if low <= start < high]
        about = within and (_PASSWORD.search(text, low, high) or _SHARED.search(text, low, high))
        if about and not _DEMANDS.search(text, low, high):
            yield from within


def lock_numbers(text: str, plain: str, signs: Signs) -> Iterator[tuple[int, int]]:
    """The numbers that open what stands within 160 characters before them, or 60 behind; ``plain`` as above."""
    if signs.words.isdisjoint(_LOCK_WORDS) and not any(map(plain.__contains__, _DOORS)):
        return
    for regex in (_ON_LOCK, _TOLD, _TYPED) if _DIGITS.search(text) else ():
        for match in regex.finditer(text):
            low, high = match.span("value")
            year = _YEAR.fullmatch(match["value"]) and "cod" not in match[0].lower()
            if not year and not _NO_LOCK_NUMBER.match(text, high) and _OPENS.search(text, max(0, low - 160), high + 60):
                yield low, high


def _is_built(word: str) -> bool:
    """Letters with digits or symbols, five and more; no term, file, date or amount."""
    odd = any(c.isdigit() for c in word) or any(c in "!#$%&*+=?~§_" for c in word[1:-1])
    quoted = word[0] in '"«„“‹'
    return (
        len(word) >= 5
        and odd
        and not quoted
        and any(c.isalpha() for c in word)
        and not (_TERM.fullmatch(word) or _LABEL_IN.search(word))
    )
