"""Home addresses and years of birth: they are personal by what stands beside them, not by their form.

A buyer's office, a site or a place of delivery has an address too, and that is what a tender is about: it stays. An
address is masked behind "wohnhaft an der", "Privatadresse", "domicilié" and the like, and where it follows a person's name
with nothing but punctuation between. A year alone is a birth where a person stands in the same line before it.
"""

from collections.abc import Iterator, Sequence

from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.names import is_place
from tendril_assets.corpus.signs import Signs, signs_of, starts

PRIVATE_LIFE_VERSION = "1"

_UPPER = "A-ZÀ-ÖØ-Þ"
_NUMBER = r"\d{1,4}(?:[ ]?[a-hA-H](?!\w))?(?:[ ]?[-/–][ ]?\d{1,4}[a-h]?)?(?!\d)"
_GERMAN = (
    rf"(?:[{_UPPER}][\w.'’-]*[ ]){{0,2}}(?:[{_UPPER}][\w'’-]*(?:[Ss]tr(?:asse|aße|\.)|[Gg]asse|[Gg]ässli|[Ww]eg"
    rf"|[Ww]egli|[Pp]latz|allee|rain"
    r"|halde|matt(?:e|en)?|acker|wies(?:e|en)?|hof|ring|quai|ufer|promenade|steig|graben|garten|park|reben|bühl|egg"
    r"|au|weid|höhe|berg|feld"
    r"|holz|stutz|tal|dörfli|boden|rank)"
    rf"|(?:Im|In der|Am|An der|Auf der|Auf dem|Zum|Zur|Unterm?|Hinterm?|Vorderm?|Ob der|Bei der"
    rf"|Beim)[ ](?:[{_UPPER}][\w'’-]+)(?:[ ][{_UPPER}][\w'’-]+)?)"
    rf"[ ]{_NUMBER}"
)
_WAY_FR = (
    r"(?:[Rr]ue|[Aa]v(?:enue|\.)|[Cc]h(?:emin|\.)|[Rr](?:ou)?te|[Pp]l(?:ace|\.)|[Bb](?:oulevar)?d|[Qq]uai|[Ii]mpasse"
    r"|[Aa]llée|[Rr]uelle|[Ss]entier|[Pp]assage|[Ss]quare|[Pp]romenade)"
)
_WAY_IT = r"(?:[Vv]ia(?:le)?|[Pp]iazza(?:le)?|[Vv]icolo|[Cc]ontrada|[Cc]orso|[Ss]alita|[Ss]trada|[Rr]iva|[Ss]entiero)"
_ROMANCE = (
    rf"(?:\d{{1,3}}[a-h]?,?[ ])?(?:{_WAY_FR}|{_WAY_IT})(?:[ ][\w'’.-]+){{1,5}}?,?[ ]{_NUMBER}"
    rf"|\d{{1,3}}[a-h]?,?[ ]{_WAY_FR}(?:[ ](?!\d)[\w'’.-]+){{1,5}}"
)
_TOWN = (
    rf"(?:[ ]*[,\n·|–-][ \n]*|[ ])(?:(?:CH|D|F|I|A"
    rf"|FL)[ -])?\d{{4,5}}[ ][{_UPPER}][\w.'’-]+(?:[ /-](?:[{_UPPER}][\w.'’-]+|[a-z]{{2,3}}(?=[ /-][{_UPPER}])"
    rf"|[A-Z]{{2}}\b))*"
)
_ADDRESS = lazy_pattern(
    rf"(?<![\w-])(?:(?:{_GERMAN}|{_ROMANCE})(?:{_TOWN})?"
    rf"|[{_UPPER}][\w'’-]+(?:[ ][{_UPPER}][\w'’-]+)?[ ]{_NUMBER}(?:{_TOWN})"
    rf"|\d{{4}}[ ][{_UPPER}][\w'’-]+(?:[ ][{_UPPER}][\w'’-]+)?,[ ](?:{_GERMAN}|{_ROMANCE}))"
)
_AT_HOME = lazy_pattern(
    r"(?i:wohnhaft|wohnend|wohnt|privat(?:adresse|anschrift|e adresse)?|wohn(?:adresse|ort|sitz)|(?:heim"
    r"|domizil)adresse"
    r"|domiciliée?s?|domicile(?: privé)?"
    r"|adresse (?:privée|personnelle)|habitant|habite|residente|residenza|domiciliat[oa]|abitante|abita"
    r"|indirizzo (?:privato|personale))"
    r"(?:[ ][\w ]{1,30}(?=:))?[ ]?:?[ ]?(?:(?:in|à|a)[ ][\w.-]+,?[ ])?(?:in|an der|an|am|im|à la|à|au|auprès|a"
    r"|in via)?[ ,:\n]*(?:[A-Z][\w ]{2,25},[ ])?$"
)
# "<" hides the placeholder of a person; see ``anonymize.hide_placeholders``.
_BEHIND_PERSON = lazy_pattern(
    r"[ \u00a0]{0,12}(?:,|\n|·|\||–|-|;|\(|,?[ ]?(?:wohnhaft|domiciliée?|residente)[ ](?:an der|am|im|in|à|au"
    r"|a)?)[ \n]*"
)
# In front of a person they say that the address is where the person works.
_FOR_THE_OFFICE = lazy_pattern(
    r"z\. ?H(?:d|anden)?\.|[Zz]uhanden|[Àà] l['’]att|[Aa]ll['’]att|[Ll]ieferadresse|[Ee]ingabe(?:ort|stelle)"
    r"|[Aa]bgabe(?:ort|stelle)"
    r"|[Rr]echnungsadresse|[Aa]nlieferung|[Tt]reffpunkt"
)
_YEAR = lazy_pattern(
    r"(?:Jahrgang|Jg\.|(?<!\w)geb\.|(?<!\w)né(?:e)? en|classe|(?<=[ (,])\*)[ ]?:?[ ]?(?P<year>(?:19[2-9]|200)\d)(?!\d"
    r"|\.\d)"
)
_HIDDEN_PERSON = lazy_pattern("<{6,}")


_HOME_STARTS = starts(
    "wohnhaft wohnend wohnt wohnadresse wohnort wohnsitz privat privatadresse privatanschrift private heimadresse "
    "domiziladresse "
    "domicilié domiciliée domiciliés "
    "domicile habitant habite adresse residente residenza domiciliato abitante abita indirizzo"
)
_YEAR_STARTS = starts("jahrgang jg geb né née classe")


def find_addresses(
    text: str, persons: Sequence[tuple[int, int]], signs: Signs | None = None
) -> Iterator[tuple[int, int]]:
    """Start and end of each home address."""
    ends = _ends_of_persons(text, persons)
    if not ends and not (signs or signs_of(text)).has(_HOME_STARTS):
        return
    reached = {
        match.end()
        for end in ends
        if (match := _BEHIND_PERSON.match(text, end)) and not _FOR_THE_OFFICE.search(_line_before(text, end))
    }
    for match in _ADDRESS.finditer(text):
        if match.start() in reached or _AT_HOME.search(text, max(0, match.start() - 60), match.start()):
            yield match.start(), match.start() + len(match[0].rstrip(".,"))


def find_birth_years(
    text: str, persons: Sequence[tuple[int, int]], signs: Signs | None = None
) -> Iterator[tuple[int, int]]:
    """Start and end of each year of birth behind a person in the same line."""
    ends = _ends_of_persons(text, persons)
    if not ends or not ("*" in text or (signs or signs_of(text)).has(_YEAR_STARTS)):
        return
    for match in _YEAR.finditer(text):
        if any(end <= match.start() <= end + 60 and "\n" not in text[end : match.start()] for end in ends):
            yield match.span("year")


def _line_before(text: str, end: int) -> str:
    return text[text.rfind("\n", 0, end) + 1 : end]


def _ends_of_persons(text: str, persons: Sequence[tuple[int, int]]) -> set[int]:
    ends = {end for _, end in persons}
    return ends | {match.end() for match in _HIDDEN_PERSON.finditer(text)} if "<<<" in text else ends


_BEFORE = lazy_pattern(r"[^\W\d_][\w.&-]*")
_LEGAL_FORMS = ("AG", "SA", "GmbH", "Sàrl", "Sagl", "KG", "Genossenschaft")
_AN_ADDRESS_REACHES = 60


def is_office_address(text: str, start: int) -> bool:
    """The words right in front of an address, in its line or the one above, name an office, a firm or a site."""
    before = text[max(0, start - _AN_ADDRESS_REACHES) : start]
    before = before.rsplit("\n\n", 1)[-1]
    if _HIDDEN_PERSON.search(before) or _AT_HOME.search(before):
        return False
    words = _BEFORE.findall(before)[-4:]
    return any(word in _LEGAL_FORMS or is_place(word) for word in words if word[:1].isupper())
