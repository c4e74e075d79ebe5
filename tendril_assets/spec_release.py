"""What is published and under which names: the release of the data, the models, the test collection and the citation."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tendril_assets.spec_base import Name, Part, field_error

HubName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$")]
HubId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$")]


class CitationSpec(Part):
    """The publication to cite, as BibTeX has it. ``title`` and ``authors`` are BibTeX text: braces and accents as they stand.

    ``authors`` are written ``Surname, Given``.
    """

    key: str = Field(pattern=r"^[A-Za-z0-9:_-]+$")
    kind: str = Field("misc", pattern=r"^[a-z]+$", description="entry type: misc, article, inproceedings ...")
    title: str = Field(min_length=1)
    authors: tuple[str, ...] = Field(min_length=1)
    year: int = Field(ge=1900, le=2200)
    url: str | None = Field(None, pattern=r"^https?://\S+$")


class TestCollectionSpec(Part):
    """The external test collection as it is published."""

    __test__ = False  # the name is the field's; pytest must not take it for a test

    name: HubId
    revision: str | None = Field(None, description="the commit that the landed files are of")


class PublishedModel(Part):
    """The names of a fine-tuned model: ``name`` on the hub and of its folder, ``title`` of its card."""

    name: HubName
    title: str = Field(min_length=1)


class ExampleSpec(Part):
    """A query and a passage that cards show in their code."""

    query: str = Field(min_length=1)
    passage: str = Field(min_length=1)


class ReleaseSpec(Part):
    """``organisation`` owns data and models on the hub; without one their names stand alone."""

    name: HubName
    version: str = Field(pattern=r"^\d+\.\d+\.\d+$")
    title: str
    licence_name: str
    licence: Literal["open_rail_d", "mit"] = Field(
        "open_rail_d",
        description="text of the licence: open_rail_d restricts uses and is accepted before access; mit opens the data to all",
    )
    copyright_year: int | None = Field(None, ge=1900, le=2200, description="of the licence mit")
    group_column: str = Field("project", description="published name of group_id")
    language: str = "de"
    organisation: HubName | None = None
    contact: str | None = Field(
        None,
        pattern=r"^(https://\S+|[^@\s]+@[^@\s]+\.[^@\s]+)$",
        description="page or address that removal requests go to",
    )
    purpose: str = Field("", description="what the models are for; goes on from 'fine-tuned for'")
    queries: str = Field("", description="sentences that say what a query is")
    example: ExampleSpec | None = None
    test_collection: TestCollectionSpec | None = None
    models: dict[Name, PublishedModel] = {}
    plurals: dict[Name, str] = Field({}, description="a level's name in the plural, as cards say it after a number")
    citation: CitationSpec | None = None

    @model_validator(mode="after")
    def _licence_names_its_year(self) -> "ReleaseSpec":
        if self.licence == "mit" and self.copyright_year is None:
            raise field_error(("copyright_year",), "the licence mit names the year of its copyright: give it")
        return self

    @property
    def is_gated(self) -> bool:
        """Whether conditions have to be accepted before access."""
        return self.licence == "open_rail_d"

    def published_model(self, model: str) -> PublishedModel:
        """The names of a model: those given, else made of the release's name and the model's."""
        return self.models.get(model) or PublishedModel(name=f"{self.name}-{model}", title=f"{self.name} {model}")

    def hub_id(self, name: str) -> str:
        """``organisation/name``, or the name alone."""
        return f"{self.organisation}/{name}" if self.organisation else name
