"""What SIMAP's project search and its past publications say; see ``notice_shape`` for how they are read."""

from typing import Any

from tendril_assets.corpus.notice_shape import Day, Number, Record, Texts, Uuid, names
from tendril_assets.records import PubType


class Pagination(Record):
    # Required by the description; what the last page says is not described, so none ends the search.
    lastItem: str | None = None
    passed_over = names("itemsPerPage")


class SearchPage(Record):
    """``projects`` are checked one by one, so that a strange one does not cost the others."""

    projects: list[dict[str, Any]]
    pagination: Pagination


class SearchLot(Record):
    lotId: Uuid
    publicationId: Uuid
    publicationNumber: Number
    publicationDate: Day
    pubType: PubType
    passed_over = names("lotNumber lotTitle corrected orderAddressOnlyDescription orderAddress")


class SearchEntry(Record):
    """A project with its newest publication; with lots, the newest one of each lot."""

    id: Uuid
    title: Texts
    projectNumber: Number
    publicationId: Uuid
    publicationNumber: Number
    publicationDate: Day
    pubType: PubType
    lots: list[SearchLot]
    passed_over = names(
        "projectType projectSubType processType lotsType corrected procOfficeName orderAddressOnlyDescription orderAddress"
    )


class PastPublication(Record):
    id: Uuid
    publicationNumber: Number
    publicationDate: Day
    pubType: PubType
    passed_over = names("projectType projectSubType processType corrected lotNumber")


class PastPublications(Record):
    pastPublications: list[PastPublication]
