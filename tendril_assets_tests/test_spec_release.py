"""Names under which things are published."""

import pytest
from pydantic import ValidationError

from tendril_assets.defs import collection_spec
from tendril_assets.release.citations import bibtex
from tendril_assets.spec_release import PublishedModel, ReleaseSpec
from tendril_assets_tests.release import toy

BARE = {"name": "Toy", "version": "0.1.0", "title": "Toy", "licence_name": "mit"}


def test_names_are_given_or_made() -> None:
    release = ReleaseSpec.model_validate(BARE | {"models": {"m": {"name": "Toy-M", "title": "Toy M"}}})
    assert release.published_model("m") == PublishedModel(name="Toy-M", title="Toy M")
    assert release.published_model("n") == PublishedModel(name="Toy-n", title="Toy n")
    assert release.hub_id("x") == "x"
    assert release.model_copy(update={"organisation": "Maker"}).hub_id("x") == "Maker/x"


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "a/b"},
        {"organisation": "a b"},
        {"models": {"m": {"name": "../m", "title": "m"}}},
        {"test_collection": {"name": "no owner"}},
        {"citation": {"key": "k", "title": "t", "authors": [], "year": 2026}},
        {"citation": {"key": "k", "title": "t", "authors": ["A"], "year": 2026, "url": "example.org"}},
        {"example": {"query": "", "passage": "p"}},
    ],
)
def test_what_the_hub_or_bibtex_would_refuse_is_refused(changes: dict) -> None:
    with pytest.raises(ValidationError):
        ReleaseSpec.model_validate(BARE | changes)


def test_names_for_a_model_that_is_not_there_are_refused() -> None:
    release = toy.spec().release.model_dump() | {"models": {"mnii": {"name": "x", "title": "x"}}}
    with pytest.raises(ValidationError, match=r"release\.models\.mnii: unknown; did you mean mini\?"):
        toy.spec(release=release)


def test_the_published_reference_is_data() -> None:
    """As both published model cards print it."""
    assert (
        bibtex(collection_spec("tenders", None))
        == """@misc{rolshoven2026tendril,
  title  = {{TENDRIL}: Benchmarking Sustainability-Focused Retrieval in Swiss Public Procurement},
  author = {Rolshoven, Luca and Probst, Sophie and Matoshi, Veton and Ellendorff, Tilia and Meili, Rahel and
            Hostettler, Sarah and Jann, Jeremy Austin and Jans, Meret and Tschumi, Pascal and St{\\"u}rmer, Matthias},
  year   = {2026}
}"""
    )


def test_the_sample_claims_no_published_name() -> None:
    release = collection_spec("tenders", "sandbox").release
    assert (release.organisation, release.test_collection, release.models) == (None, None, {})
