import pytest
from packaging.licenses import canonicalize_license_expression
from pydantic import ValidationError

from tendril_assets.licences import Licence, Upstream, known_licences


def licence(given: object) -> Licence:
    return Licence.model_validate(given)


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        # Creative Commons: NC in the name, SA in the name; attribution, the text or its URI, and an indication of changes
        # (section 3(a)(1)) in all but CC0.
        ("CC-BY-NC-4.0", (False, False, True, "link", True)),
        ("CC-BY-NC-SA-4.0", (False, True, True, "link", True)),
        ("CC-BY-SA-4.0", (True, True, True, "link", True)),
        ("CC-BY-4.0", (True, False, True, "link", True)),
        ("CC0-1.0", (True, False, False, "none", False)),
        # Apache 2.0, section 4 (a), (b) and (d); MIT and BSD: "shall be included in all copies"; none is share-alike.
        ("Apache-2.0", (True, False, True, "required", True)),
        ("MIT", (True, False, True, "required", False)),
        ("BSD-3-Clause", (True, False, True, "required", False)),
    ],
)
def test_consequences_follow_from_the_licence(given: str, facts: tuple) -> None:
    found = licence(given)
    assert (found.commercial, found.same_licence, found.notice, found.text, found.changes) == facts
    commercial, same_licence, notice, text, changes = facts
    assert ("Non-commercial use only." in found.consequences) is not commercial
    assert ("Its text must go along with every copy." in found.consequences) is (text == "required")
    assert ("Its text or a link to it must go along with every copy." in found.consequences) is (text == "link")
    assert ("Changes must be said." in found.consequences) is changes
    assert len(found.consequences) == 1 + same_licence + notice + (text != "none") + changes


def test_spdx_ids_are_on_the_list_that_packagers_use() -> None:
    ids = [name for name, entry in known_licences().items() if entry["spdx"]]
    assert [canonicalize_license_expression(name) for name in ids] == ids
    assert "OpenMDW-1.1" not in ids


def test_an_id_is_known_in_any_case_and_named_as_spdx_does() -> None:
    assert licence("cc-by-nc-4.0") == licence("CC-BY-NC-4.0")
    assert licence("apache-2.0").id == "Apache-2.0"


def test_every_known_licence_is_whole_and_survives_a_dump() -> None:
    for name in known_licences():
        assert licence(licence(name).model_dump(mode="json")) == licence(name)
        assert licence(name).front_matter["license"] in (name.lower(), "other")


def test_front_matter_names_the_licence_as_the_hub_does() -> None:
    assert licence("CC-BY-NC-4.0").front_matter == {"license": "cc-by-nc-4.0"}
    assert licence("OpenMDW-1.1").front_matter == {
        "license": "other",
        "license_name": "openmdw-1.1",
        "license_link": licence("OpenMDW-1.1").url,
    }


def test_another_licence_is_declared_with_its_consequences() -> None:
    own = {"id": "other", "name": "House Model Terms (2)", "url": "https://example.org/terms"}
    consequences = {"commercial": False, "same_licence": True, "notice": False, "text": "none", "changes": False}
    found = licence(own | consequences)
    assert found.consequences == (
        "Non-commercial use only.",
        "What is derived from it must carry the same or a compatible licence.",
    )
    assert licence(own | consequences | {"id": "Other"}) == found
    assert licence(found.model_dump(mode="json")) == found
    bounded = licence(own | consequences | {"commercial": True, "conditions": "fewer than 100 users."})
    assert bounded.consequences[0] == "Commercial use is allowed, under conditions: fewer than 100 users."
    assert found.front_matter["license_name"] == "house-model-terms-2"
    for missing in consequences:
        with pytest.raises(ValidationError, match=missing):
            licence(own | {name: value for name, value in consequences.items() if name != missing})


def test_what_is_not_known_is_told_with_the_way_to_declare_it() -> None:
    with pytest.raises(
        ValidationError, match=r"licence 'GPL-9' is not known; known are Apache-2\.0, .*id: other, name:"
    ):
        licence("GPL-9")
    with pytest.raises(ValidationError, match="says nothing alone; declare what it is"):
        licence("other")
    with pytest.raises(ValidationError, match="licence 'Mine' is not known"):
        licence({"id": "Mine", "name": "Mine", "url": "https://example.org"})


def test_the_consequences_of_a_known_licence_are_not_for_the_writer_to_choose() -> None:
    with pytest.raises(ValidationError, match=r"licence CC-BY-NC-4\.0: commercial is not as in licences\.yaml"):
        licence({"id": "CC-BY-NC-4.0", "commercial": True})


def test_an_upstream_work_carries_its_own_licence() -> None:
    work = Upstream.model_validate({"name": "A base", "licence": "MIT"})
    assert (work.name, work.licence.id, work.url) == ("A base", "MIT", None)
