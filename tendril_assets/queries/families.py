"""Which families of language models wrote questions, by what the specification says and by what the models' names tell.

A test that the family of the training questions wrote too measures how well a student learnt its writer's style. A family
is the model that was trained from scratch: what others tuned on it carries its name, or that of a relative, nearly always.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

# Family -> what in a model's name tells it, in lower case. Short ones begin where a word does.
_TOLD: Mapping[str, re.Pattern[str]] = {
    "qwen": re.compile(r"qwen|\bqwq|\bt-(?:pro|lite)-it"),
    "mistral": re.compile(r"mistral|mixtral|ministral|magistral|codestral|(?<![a-z])nemo(?![a-z])|zephyr"),
    "llama": re.compile(r"llama|vicuna|alpaca"),
    "gemma": re.compile(r"gemma|gemini"),
    "gpt": re.compile(r"(?<![a-z])(?:chatgpt|gpt-?[345o])|(?<![a-z0-9])o[134](?![a-z0-9])"),
    "claude": re.compile(r"claude"),
    "deepseek": re.compile(r"deepseek"),
    "phi": re.compile(r"(?<![a-z])phi-?[1-9]"),
    "yandexgpt": re.compile(r"yandexgpt"),
    "gigachat": re.compile(r"gigachat"),
    "command": re.compile(r"(?<![a-z])command-[ar]|(?<![a-z])aya-|c4ai"),
    "yi": re.compile(r"(?<![a-z])yi-[0-9]"),
    "falcon": re.compile(r"falcon"),
    "glm": re.compile(r"(?<![a-z])(?:chat)?glm-?[0-9]"),
}


class Writer(NamedTuple):
    """A model that wrote questions of a split: ``family`` as declared, ``model`` as asked or as the reply names it."""

    question_set: str
    trains: bool
    family: str
    model: str


class Shared(NamedTuple):
    """``family`` wrote the training set ``train`` and the held-out set ``held_out``."""

    family: str
    train: str
    held_out: str


def told_families(model: str) -> frozenset[str]:
    """The families that a model's name tells, none or several: ``DeepSeek-R1-Distill-Qwen-7B`` tells two."""
    name = model.lower()
    return frozenset(family for family, pattern in _TOLD.items() if pattern.search(name))


def families_of(writer: Writer) -> frozenset[str]:
    """What the name tells, the family declared, and the model itself: without a known name one still is itself."""
    return told_families(writer.model) | told_families(writer.family) | {writer.family.lower(), writer.model.lower()}


def shared_families(writers: Iterable[Writer]) -> list[Shared]:
    """Every family that wrote a training set and a held-out one, sorted; each pair of sets once per family."""
    all_writers = list(writers)
    found = {
        Shared(family, train.question_set, other.question_set)
        for train in all_writers
        if train.trains
        for other in all_writers
        if not other.trains
        for family in families_of(train) & families_of(other)
    }
    return sorted(found)


def misnamed(writers: Iterable[Writer]) -> list[str]:
    """One line for each writer whose name tells other families than the declared one, sorted."""
    lines = set()
    for writer in writers:
        told = told_families(writer.model)
        declared = told_families(writer.family) or {writer.family.lower()}
        if told and not told & declared:
            lines.add(
                f"{writer.question_set}: {writer.model} is declared {writer.family}, its name tells {'/'.join(sorted(told))}"
            )
    return sorted(lines)
