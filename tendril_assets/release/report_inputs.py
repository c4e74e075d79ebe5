"""What a report is made from."""

from collections.abc import Mapping
from typing import NamedTuple

from tendril_assets.release.figures import Figures
from tendril_assets.spec import CollectionSpec


class ReportInputs(NamedTuple):
    """What a report is made from.

    ``figures`` are ``figures.report_figures``, ``tables`` the tables ``figures.report_tables``, ``views`` the analysts'
    views ``figures.REPORT_VIEWS``. ``stale`` says of each ranked system whose measures no longer hold why.
    """

    spec: CollectionSpec
    figures: Figures
    tables: Figures
    views: Figures
    sandbox: bool
    stale: Mapping[str, str] = {}


def headline_measure(spec: CollectionSpec) -> str:
    """The measure pictures show: the first that the specification names."""
    return spec.evaluation.measures[0]
