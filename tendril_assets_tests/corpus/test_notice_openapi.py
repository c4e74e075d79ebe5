"""The records against the API's own description and against recorded answers."""

import datetime as dt
import json
import os
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import pytest
import yaml

from tendril_assets.corpus import notice_records as records
from tendril_assets.corpus import notice_search as search
from tendril_assets.corpus.notice_shape import Record, check, unknown_fields
from tendril_assets_tests.corpus.openapi import OpenApi, Schema

DATA = os.environ.get("TENDRIL_TRIAL_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="TENDRIL_TRIAL_DATA names no folder of public trial data")

ROOTS: dict[type[Record], str] = {
    search.SearchPage: "ProjectsSearch",
    search.SearchEntry: "ProjectsSearchEntry",
    search.PastPublications: "PastPublications",
    records.Publication: "PublicationDetail",
}
# Required there, but not here: said in the records' comments.
LENIENT = {(search.Pagination, "lastItem")}
JSON_TYPES = {str: "string", int: "integer", bool: "boolean", dt.date: "string:date", dt.datetime: "string:date-time"}


@pytest.fixture(scope="module")
def api() -> OpenApi:
    text = (Path(DATA or "") / "simap" / "simap_openapi.yaml").read_text("utf-8")
    return OpenApi(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


@pytest.fixture(scope="module")
def places(api: OpenApi) -> dict[type[Record], list[Schema]]:
    """Record -> every object of the description that it stands for, by walking both from the roots down."""
    found: dict[type[Record], list[Schema]] = {}
    waiting = [(model, api.schema(name)) for model, name in ROOTS.items()]
    while waiting:
        model, schema = waiting.pop()
        found.setdefault(model, []).append(schema)
        fields = api.fields(schema)
        for name, field in model.model_fields.items():
            inner = record_in(field.annotation)
            if inner and (field.alias or name) in fields:
                schemas = fields[field.alias or name].schemas
                schemas = api.items(schemas) if is_list(field.annotation) else schemas
                waiting += [(inner, schema) for schema in schemas]
    return found


def parts(annotation: Any) -> list[Any]:
    """The types of a union, without None."""
    if get_origin(annotation) in (Union, types.UnionType):
        return [part for part in get_args(annotation) if part is not type(None)]
    return [annotation]


def is_list(annotation: Any) -> bool:
    return any(get_origin(part) is list for part in parts(annotation))


def record_in(annotation: Any) -> type[Record] | None:
    for part in parts(annotation):
        part = get_args(part)[0] if get_origin(part) is list else part
        if isinstance(part, type) and issubclass(part, Record):
            return part
    return None


def json_type(part: Any) -> set[str]:
    if get_origin(part) is list:
        return {"array"}
    if isinstance(part, type) and issubclass(part, Record | dict):
        return {"object"}
    if get_origin(part) is Literal:
        return {"string"}
    base = get_args(part)[0] if hasattr(part, "__metadata__") else part
    # A string may be declared for what is an identifier there.
    return {JSON_TYPES[base], "string:uuid"} if base is str else {JSON_TYPES[base]}


def all_fields(places: dict[type[Record], list[Schema]]) -> Iterator[tuple[type[Record], str, Any, bool]]:
    for model in places:
        for name, field in model.model_fields.items():
            yield model, field.alias or name, field.annotation, field.is_required()


def test_every_record_is_found(places: dict[type[Record], list[Schema]]) -> None:
    declared = {
        record
        for name, record in (vars(records) | vars(search)).items()
        if isinstance(record, type) and issubclass(record, Record) and not name.startswith("_") and record is not Record
    }
    assert set(places) == declared


def test_what_is_read_is_there_with_this_type(api: OpenApi, places: dict[type[Record], list[Schema]]) -> None:
    wrong = []
    for model, name, annotation, _ in all_fields(places):
        field = api.merged(places[model]).get(name)
        if field is None or not field.schemas:
            wrong.append(f"{model.__name__}.{name}: not there")
            continue
        there, here = api.types(field.schemas), set().union(*(json_type(p) for p in parts(annotation)))
        if not there <= here:
            wrong.append(f"{model.__name__}.{name}: {there} there, {here} here")
        for part in parts(annotation):
            if get_origin(part) is Literal and set(get_args(part)) != api.values(field.schemas):
                wrong.append(f"{model.__name__}.{name}: {api.values(field.schemas) ^ set(get_args(part))}")
    assert not wrong


def test_what_is_required_here_is_required_there_and_the_other_way_round(
    api: OpenApi, places: dict[type[Record], list[Schema]]
) -> None:
    wrong = [
        (model, name)
        for model, name, _, required in all_fields(places)
        if required != api.merged(places[model])[name].required
    ]
    assert set(wrong) == LENIENT


def test_no_field_of_the_description_is_forgotten(api: OpenApi, places: dict[type[Record], list[Schema]]) -> None:
    """Each is read or passed over on purpose, so that what is counted as unknown is new."""
    for model, schemas in places.items():
        declared = {field.alias or name for name, field in model.model_fields.items()}
        assert set(api.merged(schemas)) == declared | model.passed_over, model
        assert not declared & model.passed_over, model


def test_sections_of_each_type_are_required_there(api: OpenApi) -> None:
    mapping = api.schema("PublicationDetail")["discriminator"]["mapping"]
    assert set(records.SECTIONS) == set(mapping)
    read = {field.alias or name for name, field in records.Publication.model_fields.items()} - {"id", "type"}
    for kind, reference in mapping.items():
        fields = api.fields({"$ref": reference})
        required = {n for n in read if n in fields and fields[n].required} - {"lots", "referencingPub"}
        assert set(records.SECTIONS[kind]) == required, kind


def test_recorded_answers_fit_and_hold_nothing_unknown() -> None:
    folder = Path(DATA or "") / "simap"
    for name in ("publication_details", "publication_details_lot", "publication_details_tender"):
        publication = check(records.Publication, json.loads((folder / f"{name}.json").read_text("utf-8")), name)
        assert not unknown_fields(publication), name
    for name, projects in (("project_search", 3), ("project_search_ti_20", 20)):
        page = check(search.SearchPage, json.loads((folder / f"{name}.json").read_text("utf-8")), name)
        entries = [check(search.SearchEntry, entry, name) for entry in page.projects]
        assert len(entries) == projects
        assert not any(unknown_fields(entry) for entry in (page, *entries))
    past = json.loads((folder / "past_publications.json").read_text("utf-8"))
    assert not unknown_fields(check(search.PastPublications, past, "past"))
