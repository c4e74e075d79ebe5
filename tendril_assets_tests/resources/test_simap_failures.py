"""What failures leave in the mirror, and that the next run gets past them."""

import re
from pathlib import Path

import pytest

from tendril_assets.errors import SimapError, SimapShapeChanged, SimapStopped
from tendril_assets_tests.resources.test_simap_mirror import about, files, many, mirror, projects, texts_in, three
from tendril_assets_tests.simap_answers import entry, past, texts, uid
from tendril_assets_tests.simap_server import Asked, Given, SimapServer, given


def test_a_publication_that_fails_is_noted_and_tried_again(tmp_path: Path) -> None:
    platform = three()
    gone = platform.details.pop(uid("200-01"))
    with SimapServer(platform) as server:
        summary = mirror(server, tmp_path)
        [(what, why)] = summary.failed
        assert what == "200-01"
        assert f"publication-details/{uid('200-01')}: answered 404 (Not found)" in why
        assert texts_in(tmp_path) == ["100/100-01.txt", "300/300-01.txt"]
        assert [p["texts"] for p in projects(tmp_path)] == [1, 0, 1]
        server.forget()
        assert len(mirror(server, tmp_path).failed) == 1
        assert server.counts == {"search": 3, "details": 1}
        platform.details[uid("200-01")] = gone
        assert not mirror(server, tmp_path).failed
    assert "200/200-01.txt" in texts_in(tmp_path)


def test_what_cannot_be_fetched_again_keeps_its_text(tmp_path: Path) -> None:
    platform = three()
    with SimapServer(platform) as server:
        mirror(server, tmp_path)
        before = files(tmp_path)["100/100-01.txt"]
        platform.entries = [
            {**e, "title": texts("Neu")} if e["projectNumber"] == "100" else e for e in platform.entries
        ]
        platform.details[uid("100-01")] = b'{"id": 1}'
        summary = mirror(server, tmp_path)
        assert [what for what, _ in summary.failed] == ["100-01"]
        assert "id: Input should be a valid string, came int 1" in summary.failed[0][1]
    assert files(tmp_path)["100/100-01.txt"] == before


def test_strange_entries_do_not_cost_the_others_unless_all_are(tmp_path: Path) -> None:
    platform = three()
    platform.entries[1] = {**platform.entries[1], "pubType": "contract_change"}
    platform.entries.append({**entry("../../x", "x-01", "tender", "2026-01-01", texts("A")), "id": uid("x")})
    with SimapServer(platform) as server:
        summary = mirror(server, tmp_path)
        assert [what for what, _ in summary.failed] == ["200", "../../x"]
        assert "pubType: Input should be 'advance_notice'" in summary.failed[0][1]
        assert summary.texts == 2
        platform.entries = [{**e, "publicationId": None} for e in platform.entries]
        with pytest.raises(SimapShapeChanged, match="publicationId"):
            mirror(server, tmp_path)
    assert len(projects(tmp_path)) == 2


def test_two_publications_under_one_number_are_an_error_of_that_project(tmp_path: Path) -> None:
    platform = three()
    double = entry("100", "100-01", "tender", "2026-08-10", texts("Schulhaus"))
    platform.publish(double, past=[{**past("100-01", "tender", "2026-08-01"), "id": uid("another")}])
    with SimapServer(platform) as server:
        [(what, why)] = mirror(server, tmp_path).failed
        assert what == "100"
        assert "publication 100-01 is" in why


def test_a_gap_in_what_each_publication_names_does_not_hide_the_rest(tmp_path: Path) -> None:
    platform = three()
    tender_before = platform.details.pop(uid("300-01"))
    award_of_lot_2 = platform.details.pop(uid("300-03"))
    with SimapServer(platform) as server:
        assert {what for what, _ in mirror(server, tmp_path).failed} == {"300-01", "300-03"}
        server.forget()
        platform.details[uid("300-03")] = award_of_lot_2
        assert [what for what, _ in mirror(server, tmp_path).failed] == ["300-01"]
        # The first lot's award is here, and its search entry is the same.
        assert sorted(about(server, "details")) == sorted((uid("300-01"), uid("300-03")))
        platform.details[uid("300-01")] = tender_before
        assert not mirror(server, tmp_path).failed
        server.forget()
        mirror(server, tmp_path)
        assert server.counts == {"search": 3}
    assert "300/300-01.txt" in texts_in(tmp_path)


def test_a_list_that_cannot_be_had_is_noted_and_tried_again(tmp_path: Path) -> None:
    with SimapServer(three(), lambda asked: Given(500) if asked.kind == "past" else None) as server:
        summary = mirror(server, tmp_path)
        assert [what for what, _ in summary.failed] == ["300", "200", "100"]
        assert re.search(r"past-publications\?lotId=[0-9a-f-]{36}: answered 500", summary.failed[0][1])
        # The newest publication is known all the same.
        assert texts_in(tmp_path) == ["100/100-01.txt"]
        server.fault = lambda asked: None
        assert not mirror(server, tmp_path).failed
    assert len(texts_in(tmp_path)) == 3


def test_a_wrong_answer_is_not_stored_under_another_name(tmp_path: Path) -> None:
    platform = three()
    platform.details[uid("100-01")] = platform.details[uid("300-01")]
    with SimapServer(platform) as server:
        [(what, why)] = mirror(server, tmp_path).failed
        assert what == "100-01"
        assert f"id: {uid('300-01')} of type tender, asked for {uid('100-01')}" in why
    assert "100/100-01.json" not in files(tmp_path)


def test_a_platform_that_is_down_is_left_alone_and_what_was_fetched_is_kept(tmp_path: Path) -> None:
    def down(asked: Asked) -> Given | None:
        return Given(503, b"") if asked.kind == "details" and asked.number > 3 else None

    with SimapServer(many(20), down, page_size=50) as server:
        with pytest.raises(SimapStopped, match=r"stopped after 5 failures in a row, the last: .*answered 503"):
            mirror(server, tmp_path)
        assert server.counts["details"] == 3 + 5 * 2
    assert len(texts_in(tmp_path)) == 3
    assert sum(p["texts"] for p in projects(tmp_path)) == 3


def test_failure_after_failure_stops_but_the_next_run_gets_past_them(tmp_path: Path) -> None:
    platform = many(25)
    bad = [platform.entries[i]["publicationId"] for i in range(12)]
    for publication in bad:
        del platform.details[publication]
    with SimapServer(platform, page_size=50) as server:
        with pytest.raises(SimapStopped, match="stopped after 10 failures in a row"):
            mirror(server, tmp_path)
        summary = mirror(server, tmp_path)
        assert (len(summary.failed), summary.texts) == (12, 13)


def test_where_nothing_at_all_can_be_mirrored_the_run_fails(tmp_path: Path) -> None:
    platform = three()
    platform.details.clear()
    with SimapServer(platform) as server, pytest.raises(SimapError, match="nothing could be mirrored; 4 failed"):
        mirror(server, tmp_path)


def test_a_failed_search_leaves_the_list_as_it_is(tmp_path: Path) -> None:
    platform = three()
    with SimapServer(platform) as server:
        mirror(server, tmp_path)
        before = files(tmp_path)
        server.fault = lambda asked: given({"message": "no"}, 403)
        with pytest.raises(SimapError, match="answered 403"):
            mirror(server, tmp_path)
    assert files(tmp_path) == before
