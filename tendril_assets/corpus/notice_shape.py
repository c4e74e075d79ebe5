"""Records of SIMAP's answers: how they are declared, checked and compared with what came.

Every field that is read is declared with its type; absent and null are the same, as the API itself answers null for
whatever was left empty. What the API has besides and is left alone is listed in ``passed_over``. Anything else is
*unknown*: it stays in the stored answer and is counted (``unknown_fields``), and is no error. A field of another type, a
required one that is missing and an unknown type of publication are errors (``check``).
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tendril_assets.errors import SimapShapeChanged

_MAX_SHOWN = 5


def _day(value: object) -> object:
    return dt.date.fromisoformat(value) if isinstance(value, str) else value


def _moment(value: object) -> object:
    return dt.datetime.fromisoformat(value) if isinstance(value, str) else value


Day = Annotated[dt.date, BeforeValidator(_day)]
Moment = Annotated[dt.datetime, BeforeValidator(_moment)]
# They become parts of addresses and names of files.
Uuid = Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$")]
Number = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class Record(BaseModel):
    """An object of the API; unknown fields are kept in ``model_extra``."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    passed_over: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def missing(cls, answer: Mapping[str, Any]) -> list[str]:
        """What a checked ``answer`` still lacks, beyond what the fields say."""
        return []


RecordT = TypeVar("RecordT", bound=Record)


def names(listed: str) -> frozenset[str]:
    """Names of fields, separated by blanks."""
    return frozenset(listed.split())


class Texts(Record):
    """One text in up to four languages; plain, or HTML."""

    de: str | None = None
    en: str | None = None
    fr: str | None = None
    it: str | None = None


def check(model: type[RecordT], answer: object, url: str) -> RecordT:
    """``answer`` (parsed JSON) as a record.

    Raises SimapShapeChanged naming ``url``, the path of each field that does not fit, and what came.
    """
    try:
        record = model.model_validate(answer)
    except ValidationError as error:
        found = [
            f"{'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}, came {_shown(e['input'], e['type'])}"
            for e in error.errors(include_url=False)
        ]
        raise SimapShapeChanged(url, found[:_MAX_SHOWN], len(found)) from error
    if isinstance(answer, Mapping) and (missing := model.missing(answer)):
        raise SimapShapeChanged(url, missing, len(missing))
    return record


def _shown(value: object, kind: str) -> str:
    if kind == "missing":
        return f"an object with {', '.join(map(str, value)) or 'no field'}"[:200] if isinstance(value, dict) else "none"
    text = f"{type(value).__name__} {value!r}"
    return text if len(text) <= 120 else f"{text[:117]}..."


def unknown_fields(record: Record) -> Counter[str]:
    """Path -> how often, of fields that are neither declared nor passed over. Items of lists share one path."""
    return Counter(_unknown(record, ""))


def _unknown(record: Record, path: str) -> Iterator[str]:
    for name in record.model_extra or ():
        if name not in record.passed_over:
            yield f"{path}{name}"
    for name, field in type(record).model_fields.items():
        value = getattr(record, name)
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, Record):
                yield from _unknown(item, f"{path}{field.alias or name}.")
