"""Comparing records with an OpenAPI description: what an object has there, merged over its variants."""

from collections.abc import Iterator
from typing import Any, NamedTuple

Schema = dict[str, Any]


class Field(NamedTuple):
    schemas: list[Schema]  # what it may be, in the different variants
    required: bool  # in every variant


class OpenApi:
    def __init__(self, description: Schema) -> None:
        self.description = description
        self._schemas: dict[str, Schema] = description["components"]["schemas"]

    def schema(self, name: str) -> Schema:
        return self._schemas[name]

    def resolved(self, schema: Schema) -> Schema:
        """``schema`` behind its references; an ``allOf`` of one is that one."""
        while True:
            if "$ref" in schema:
                schema = self._schemas[schema["$ref"].rsplit("/", 1)[1]]
            elif len(schema.get("allOf", ())) == 1 and not {"properties", "required"} & set(schema):
                schema = schema["allOf"][0]
            else:
                return schema

    def fields(self, schema: Schema) -> dict[str, Field]:
        """Name -> field of an object: joined over ``allOf``, and over ``oneOf``, where required means in each."""
        schema = self.resolved(schema)
        found: dict[str, list[Schema]] = {}
        required = set(schema.get("required", ()))
        for name, part in schema.get("properties", {}).items():
            found.setdefault(name, []).append(part)
        for part in schema.get("allOf", ()):
            for name, field in self.fields(part).items():
                found.setdefault(name, []).extend(field.schemas)
                required |= {name} if field.required else set()
        variants = [self.fields(part) for part in schema.get("oneOf", ())]
        for variant in variants:
            for name, field in variant.items():
                found.setdefault(name, []).extend(field.schemas)
        for name in list(found) + [n for variant in variants for n in variant]:
            if variants and all(name in v and v[name].required for v in variants):
                required.add(name)
        for name in required:
            found.setdefault(name, [])
        return {name: Field(schemas, name in required) for name, schemas in found.items()}

    def merged(self, schemas: list[Schema]) -> dict[str, Field]:
        """Fields of what may be any of several objects."""
        return self.fields({"oneOf": schemas})

    def types(self, schemas: list[Schema]) -> set[str]:
        """JSON types, with the format where it decides the value: ``string:date``, ``string:date-time``, ``string:uuid``."""
        return {t for schema in schemas for t in self._types(self.resolved(schema))}

    def _types(self, schema: Schema) -> Iterator[str]:
        if "oneOf" in schema or "allOf" in schema or "properties" in schema:
            yield "object"
        elif schema.get("format") in ("date", "date-time", "uuid"):
            yield f"string:{schema['format']}"
        else:
            yield schema["type"]

    def values(self, schemas: list[Schema]) -> set[str]:
        """All values of enumerations."""
        return {value for schema in schemas for value in self.resolved(schema).get("enum", ())}

    def items(self, schemas: list[Schema]) -> list[Schema]:
        return [resolved["items"] for s in schemas if (resolved := self.resolved(s)).get("type") == "array"]

    def parameters(self, path: str) -> dict[str, Schema]:
        """Name -> schema of the query parameters of a path, behind their references."""
        entry = self.description["paths"][path]
        listed = [*entry.get("parameters", ()), *entry["get"].get("parameters", ())]
        known = self.description["components"]["parameters"]
        found = [known[p["$ref"].rsplit("/", 1)[1]] if "$ref" in p else p for p in listed]
        return {p["name"]: p["schema"] for p in found if p["in"] == "query"}
