"""Credentials: passwords, user names, access codes, keys. The value is masked, the word in front of it stays.

A colon, an equals sign or "lautet" makes what follows a value, if it does not read like the next word of a sentence. Behind
"ist", "est", "è" or a blank alone it must look like one: digits or symbols in it, or quoted. A user name without any counts
where a password follows. Values elsewhere are found by ``credential_places`` and ``credential_vicinity``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tendril_assets.corpus.credential_places import (
    AROUND_PASSWORDS,
    NETWORK_STEMS,
    NETWORKS,
    find_in_tables,
)
from tendril_assets.corpus.credential_vicinity import BESIDE_PASSWORDS, PAIR_STEMS, PAIRS, built_words, lock_numbers
from tendril_assets.corpus.credential_words import (
    CODE,
    CODE_VALUE,
    KEY,
    PASSWORD,
    SOFT,
    STRONG,
    USER,
    VALUE,
    behind_blank,
    behind_colon,
    is_value,
    secret,
    stems,
    user_behind_colon,
)
from tendril_assets.corpus.lazy_pattern import lazy_pattern
from tendril_assets.corpus.personal_patterns import Pattern
from tendril_assets.corpus.signs import Signs, signs_of, starts

CREDENTIAL_VERSION = "2"


@dataclass(frozen=True)
class Group:
    """Patterns that need one of ``stems`` (lower case, single blanks) or a word that begins with one of ``words``."""

    patterns: tuple[Pattern, ...]
    stems: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()

    def is_worth_trying(self, plain: str, signs: Signs) -> bool:
        return signs.has(self.words) or any(map(plain.__contains__, self.stems))


PASSWORDS = Group(
    (
        secret(rf"(?<![\w-]){PASSWORD}(?!\w){STRONG}{VALUE}", behind_colon),
        secret(rf"(?<![\w-]){PASSWORD}(?!\w){SOFT}{VALUE}", behind_blank),
        *AROUND_PASSWORDS,
        *BESIDE_PASSWORDS,
    ),
    # In compounds such as "Projektpasswort" the word does not stand at the start.
    stems(
        "asswor asswö assphrase asscode asswd ass_wor p_a_s_s ennwor enn_wor k_e_n_n ot_de_pas ots_de_pas zugangswor wi-fi"
    ),
    starts("passw passwort kennw losung mdp psw pw pwd mot phrase parola frase wlan wifi wpa wpa2 wpa3 clé chiave"),
)
GROUPS = (
    PASSWORDS,
    Group(
        (
            secret(rf"(?<![\w-]){CODE}(?!\w){STRONG}{CODE_VALUE}", behind_colon),
            secret(rf"(?<![\w-]){CODE}(?!\w){SOFT}(?:\*[ ])?{CODE_VALUE}", behind_blank),
        ),
        stems(
            "code codice kennung zugangsd zugangsn zugangss zugangs- zugriffsd zugriffsn zugriffss zugriffs- einwahl kennnummer "
            "teilnehmern teilnehmer-n sicherheitssch sicherheits-sch alarmn alarm-n -pin -id"
        ),
        starts("pin pin-code puk nip meeting meetingid webinar konferenz"),
    ),
    Group(
        (
            secret(
                r"\b(?:(?:zoom|teams|webex|réunion|riunione)\b[^.\n]{0,40}?\bid|konferenzraum"
                r"|numéro\s{1,12}de\s{1,12}(?:conférence|réunion)"
                r"|(?:meeting|webinar|konferenz|besprechungs|sitzungs)-?(?:id|nummer|kennnummer)|id(?:entifiant)?\s{1,12}(?:de\s{1,12})?(?:réunion"
                r"|riunione|conférence|conferenza))[ \t]{0,12}:?[ \t]{0,12}(?P<value>\d{3,4}(?:[ -]?\d{1,4}){1,3}|\d{6,12})(?!\d)"
            ),
        ),
        stems("zoom teams webex meeting webinar konferenz besprechungs sitzungs réunion riunione conf"),
    ),
    Group(
        (
            secret(rf"(?<![\w-]){USER}(?!\w){STRONG}{VALUE}", user_behind_colon),
            secret(rf"(?<![\w-]){USER}(?!\w)[ \t]{{1,12}}(?:\|[ \t]*)?{VALUE}", behind_blank),
            # Login submittent / Passwort Anbieter2025: both are values where one follows the other
            secret(
                rf"(?<![\w-]){USER}(?!\w)[ \t]{{0,12}}[:=]?[ \t]{{0,12}}(?P<value>[\w.@-]+)"
                r"(?=[ \t]{0,12}(?:/|,|;|–|\||und|et|e|\n)[ \t]{0,12}(?:dem|das|le|la|il|du|au|con\s{1,12}la)?[ \t]{0,12}"
                rf"{PASSWORD}(?:{STRONG}|[ \t]{{1,12}}\S))",
                is_value,
            ),
        ),
        ("enutzer ",),
        starts(
            "benutzer benutzername benutzerkennung user username userid login log loginname nutzername anmeldename "
            "zugangskennung identifiant nom utilisateur nome utente account b"
        ),
    ),
    Group(
        (secret(rf"(?<![\w-]){KEY}(?!\w)(?:{STRONG}|[ \t]{{1,12}}){VALUE}", behind_blank),),
        ("privatschl",),
        starts(
            "api apikey apitoken apischlüssel access accesstoken token secret secretkey client clientsecret bearer "
            "clé chiave jeton private privatekey"
        ),
    ),
    Group(
        (
            Pattern("secret", lazy_pattern(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}")),
            Pattern(
                "secret",
                lazy_pattern(r"\b(?:sk-[\w-]{16,}|gh[po]_\w{20,}|xox[bp]-[\w-]{10,}|AKIA[A-Z0-9]{12,}|AIza[\w-]{20,})"),
            ),
            Pattern(
                "secret",
                lazy_pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----"),
            ),
        ),
        ("eyj", "sk-", "ghp_", "gho_", "xox", "akia", "aiza", "private key"),
    ),
    Group(NETWORKS, NETWORK_STEMS),
    Group(PAIRS, PAIR_STEMS),
)


def find_credentials(text: str, signs: Signs | None = None) -> Iterator[tuple[int, int]]:
    """Start and end of each value, without its quotation marks; matches of different patterns may overlap."""
    signs = signs or signs_of(text)
    plain = " ".join(text.lower().split())
    tried = [group for group in GROUPS if group.is_worth_trying(plain, signs)]
    for group in tried:
        for one in group.patterns:
            for start, end in one.find(text):
                yield _unquoted(text, start, end)
    of_passwords = PASSWORDS in tried
    if of_passwords:
        yield from find_in_tables(text)
    yield from built_words(text, plain, of_passwords=of_passwords)
    yield from lock_numbers(text, plain, signs)


def _unquoted(text: str, start: int, end: int) -> tuple[int, int]:
    if text[start] in '"«„“‹' and text[end - 1] in '"»“”›' and end - start > 2:
        return start + 1, end - 1
    # A bracket that opened in front of the value is not its end.
    closing = text[end - 1] == ")" and "(" not in text[start:end] and end - start > 1
    return start, end - closing
