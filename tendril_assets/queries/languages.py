"""What the filters of generated questions know of a language: one module per language, chosen by the prompt's language."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tendril_assets.errors import SettingsError
from tendril_assets.queries import questions_russian


@dataclass(frozen=True)
class LanguageRules:
    """``label``: what a model may write before a question. ``asks``: what a text without a question mark asks by.

    ``foreign``: the share of foreign letters among a text's letters and the words that tell it is not in the language, or
    None. ``points_at_passage``: the words by which a question refers to the passage itself, or None.
    """

    label: re.Pattern[str] = field(repr=False)
    asks: re.Pattern[str] = field(repr=False)
    foreign: Callable[[str], tuple[float, str] | None]
    points_at_passage: Callable[[str], str | None]


LANGUAGES: Mapping[str, LanguageRules] = {
    "ru": LanguageRules(
        questions_russian.LABEL,
        questions_russian.ASKS,
        questions_russian.not_russian,
        questions_russian.points_at_passage,
    ),
}


def language_rules(language: str) -> LanguageRules:
    """The rules of a two-letter code. Raises SettingsError for a language without rules: its questions would pass unseen."""
    if language not in LANGUAGES:
        raise SettingsError(
            f"there are no rules for questions in {language!r}, only for {', '.join(sorted(LANGUAGES))}: choose another prompt "
            "(registers.generation.prompt), or add a module of rules and name it in queries/languages.py"
        )
    return LANGUAGES[language]
