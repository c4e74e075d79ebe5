"""The SIMAP client over HTTP: pages, filters, waits, and what a platform does on a bad day."""

import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tendril_assets.errors import SimapDown, SimapError, SimapShapeChanged
from tendril_assets.resources import simap
from tendril_assets.resources.simap import SEARCH, SEARCH_PARAMETERS, Patience, SimapClient, search_parameters
from tendril_assets.spec import SimapSpec
from tendril_assets_tests.corpus.openapi import OpenApi
from tendril_assets_tests.simap_answers import entry, past, texts, uid
from tendril_assets_tests.simap_server import Asked, Given, Platform, SimapServer, given

DATA = os.environ.get("TENDRIL_TRIAL_DATA")
SPEC = SimapSpec(project_sub_types=("construction",))
QUICK = Patience(attempts=3, rate_limited=4, first_wait=0.01, max_wait=0.02, read_s=2, attempt_s=2)


def platform(n: int = 5) -> Platform:
    made = Platform()
    for i in range(n):
        number = f"{100 + i}-01"
        made.publish(entry(str(100 + i), number, "tender", f"2026-08-{10 + i:02}", texts(f"Projekt {i}")))
        made.details[uid(number)] = json.dumps({"id": uid(number)}).encode()
    return made


def client(server: SimapServer, **changes) -> SimapClient:
    return SimapClient(server.base_url, changes.pop("rate", 100), patience=changes.pop("patience", QUICK), **changes)


def numbers(server: SimapServer, spec: SimapSpec = SPEC) -> list[str]:
    with client(server) as asking:
        return [found.entry["projectNumber"] for found in asking.search(spec)]


def details(server: SimapServer, **changes) -> bytes:
    with client(server, **changes) as asking:
        return asking.details(uid("100"), uid("100-01")).body


def only(kind: str, answer: Given, times: int = 10**6) -> Callable[[Asked], Given | None]:
    return lambda asked: answer if asked.kind == kind and asked.number <= times else None


# Search ---------------------------------------------------------------------------------------------------------------


def test_all_pages_are_read_newest_first_and_the_cursor_is_passed_on() -> None:
    with SimapServer(platform(5)) as server:
        assert numbers(server) == ["104", "103", "102", "101", "100"]
        assert [a.about for a in server.asked] == ["", "20260813|103", "20260811|101", "20260810|100"]
        assert all(a.parameters["projectSubTypes"] == ["construction"] for a in server.asked)


def test_a_page_without_a_cursor_is_the_last_one() -> None:
    for end in ({"itemsPerPage": 2}, {"lastItem": None, "itemsPerPage": 2}, {"lastItem": ""}):
        page = {"projects": [entry("1", "1-01", "tender", "2026-08-01", texts("A"))], "pagination": end}
        with SimapServer(Platform(), only("search", given(page))) as server:
            assert numbers(server) == ["1"]
            assert server.counts["search"] == 1


def test_a_project_that_comes_twice_is_given_once() -> None:
    made = platform(4)
    made.entries.insert(2, made.entries[0])
    with SimapServer(made, page_size=5) as server:
        assert numbers(server) == ["103", "102", "101", "100"]


def test_pages_that_go_round_are_noticed() -> None:
    made = platform(2)

    def same_page(asked: Asked) -> Given | None:
        return given({"projects": made.entries, "pagination": {"lastItem": "20260811|101"}})

    def new_cursors(asked: Asked) -> Given | None:
        return given({"projects": made.entries, "pagination": {"lastItem": f"cursor {asked.number}"}})

    def two_in_turn(asked: Asked) -> Given | None:
        page = [entry(str(asked.number), f"{asked.number}-01", "tender", "2026-08-01", texts("A"))]
        return given({"projects": page, "pagination": {"lastItem": f"cursor {asked.number % 2}"}})

    for fault in (same_page, new_cursors, two_in_turn):
        with SimapServer(made, fault) as server:
            with pytest.raises(SimapError, match="come round again"):
                numbers(server)
            assert server.counts["search"] <= 3


def test_a_page_of_another_shape_names_field_and_address() -> None:
    with SimapServer(Platform(), only("search", given({"projects": {}, "pagination": {"lastItem": 7}}))) as server:
        with pytest.raises(SimapShapeChanged) as caught:
            numbers(server)
        assert "projects: Input should be a valid list, came dict {}" in str(caught.value)
        assert "pagination.lastItem: Input should be a valid string, came int 7" in str(caught.value)
        assert f"{server.base_url}/{SEARCH}?projectSubTypes=construction" in str(caught.value)
    with SimapServer(Platform(), only("search", given([1]))) as server, pytest.raises(SimapShapeChanged, match="list"):
        numbers(server)


def test_filters_are_named_as_the_api_names_them() -> None:
    spec = SimapSpec(
        search="Holzbau & Dach",
        search_languages=("de", "fr"),
        project_sub_types=("service", "supply"),
        only_switzerland=True,
        cantons=("BE", "ZH"),
        cpv_codes=("45000000",),
        published_from="2026-01-01",  # ty: ignore[invalid-argument-type]
    )
    assert search_parameters(spec) == [
        ("search", "Holzbau & Dach"),
        ("lang", "de"),
        ("lang", "fr"),
        ("projectSubTypes", "service"),
        ("projectSubTypes", "supply"),
        ("cpvCodes", "45000000"),
        ("orderAddressCountryOnlySwitzerland", "true"),
        ("orderAddressCantons", "BE"),
        ("orderAddressCantons", "ZH"),
        ("newestPublicationFrom", "2026-01-01"),
    ]
    with SimapServer(platform(3)) as server:
        numbers(server, spec)
        assert server.asked[0].parameters["search"] == ["Holzbau & Dach"]
        assert server.asked[1].parameters["lastItem"] == ["20260811|101"]


@pytest.mark.skipif(not DATA, reason="TENDRIL_TRIAL_DATA names no folder of public trial data")
def test_filters_and_their_values_are_those_of_the_description() -> None:
    text = (Path(DATA or "") / "simap" / "simap_openapi.yaml").read_text("utf-8")
    api = OpenApi(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    parameters = api.parameters(f"/{SEARCH}")
    assert set(parameters) == {*SEARCH_PARAMETERS, "lastItem"}
    schema = SimapSpec.model_json_schema()["properties"]
    for name, field in SEARCH_PARAMETERS.items():
        there, here = api.resolved(parameters[name]), schema[field]
        assert (there["type"] == "array") == (here.get("type") == "array"), name
        if there["type"] == "array" and (values := api.values([there["items"]])):
            assert set(here["items"]["enum"]) == values, name
    for path in (
        "/publications/v1/project/{projectId}/publication-details/{publicationId}",
        "/publications/v1/publication/{currentPublicationId}/past-publications",
    ):
        assert "get" in api.description["paths"][path]
    assert "lotId" in api.parameters("/publications/v1/publication/{currentPublicationId}/past-publications")


# Details and past publications ----------------------------------------------------------------------------------------


def test_the_answer_is_kept_byte_by_byte() -> None:
    made = platform(1)
    made.details[uid("100-01")] = '{ "b" : "\u00e9\\u00e9",\n "a": 1 }'.encode()
    with SimapServer(made) as server:
        assert details(server) == made.details[uid("100-01")]


def test_past_publications_of_a_lot_are_asked_for_with_the_lot() -> None:
    made = platform(1)
    made.past[uid("100-01")] = [past("100-00", "advance_notice", "2026-07-01")]
    with SimapServer(made) as server, client(server) as asking:
        [earlier] = asking.past_publications(uid("100-01"), "a-lot") or []
        assert (earlier.publicationNumber, earlier.pubType) == ("100-00", "advance_notice")
        asking.past_publications(uid("100-01"), None)
        assert [a.parameters for a in server.asked] == [{"lotId": ["a-lot"]}, {}]


@pytest.mark.parametrize("status", [400, 404])
def test_past_publications_that_are_refused_are_unknown_and_not_asked_again(status: int) -> None:
    with SimapServer(platform(1), only("past", given({"message": "Bad request!"}, status))) as server:
        with client(server) as asking:
            assert asking.past_publications(uid("100-01"), None) is None
        assert server.counts["past"] == 1


# Faults ---------------------------------------------------------------------------------------------------------------

PAGE_524 = Given(524, b"<!DOCTYPE html><html><head><title>524: A timeout occurred</title></head></html>")


@pytest.mark.parametrize(
    "fault",
    [
        given({"message": "boom"}, 500),
        PAGE_524,
        Given(200, b"<html><body>Wartungsarbeiten</body></html>"),
        Given(200, b'{"id": NaN}'),
        Given(200, b"[" * 100_000),
        Given(200, b'{"id": "half', cut=True),
        Given(200, gzip.compress(b"{}")[:-9] + b"rubbish!!", {"Content-Encoding": "gzip"}),
        Given(429, b""),
    ],
    ids=["500", "524", "html", "nan", "deep", "cut", "gzip", "429"],
)
def test_what_passes_is_tried_again(fault: Given) -> None:
    with SimapServer(platform(1), only("details", fault, times=2)) as server:
        assert json.loads(details(server)) == {"id": uid("100-01")}
        assert server.counts["details"] == 3


def test_a_request_is_given_up_after_its_attempts_and_says_what_it_saw() -> None:
    with SimapServer(platform(1), only("details", PAGE_524)) as server:
        with pytest.raises(SimapDown, match=r"answered 524 \(it begins with '<!DOCTYPE.* after 3 attempts") as caught:
            details(server)
        assert caught.value.status == 524
        assert server.counts["details"] == 3
    with SimapServer(platform(1), only("details", given({"message": "slow down"}, 429))) as server:
        with pytest.raises(SimapDown, match=r"answered 429 \(slow down\)"):
            details(server)
        assert server.counts["details"] == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 410, 418, 204])
def test_other_statuses_are_final(status: int) -> None:
    with SimapServer(platform(1), only("details", given({"message": "no such thing"}, status))) as server:
        with pytest.raises(SimapError, match=rf"answered {status}") as caught:
            details(server)
        assert (type(caught.value), caught.value.status) == (SimapError, status)
        assert server.counts["details"] == 1


def test_nobody_listening_is_given_up_too() -> None:
    with SimapServer(platform(1)) as server:
        address = server.base_url
    with SimapClient(address, 100, patience=QUICK) as asking, pytest.raises(SimapDown, match="ConnectError"):
        asking.details(uid("100"), uid("100-01"))


def test_retry_after_is_waited_for_and_bounded() -> None:
    waits: list[float] = []
    fault = Given(429, b"", {"Retry-After": "7"})
    with SimapServer(platform(1), only("details", fault, times=1)) as server:
        details(server, sleep=waits.append)
        # Up to a second more by jitter; the pace between requests is far below.
        assert 7 <= max(waits) < 8
    waits.clear()
    with SimapServer(platform(1), only("details", Given(503, b"", {"Retry-After": "86400"}), times=1)) as server:
        details(server, sleep=waits.append, patience=Patience(first_wait=0.01, retry_after_cap=30))
        assert 30 <= max(waits) < 31


def test_a_slow_body_ends_the_attempt_although_each_part_comes_in_time() -> None:
    slow = Given(200, json.dumps({"id": "x" * 400}).encode(), drip_s=0.5)
    patience = Patience(attempts=2, first_wait=0.01, read_s=1, attempt_s=0.2)
    with SimapServer(platform(1), only("details", slow)) as server:
        begin = time.monotonic()
        with pytest.raises(SimapDown, match="took longer than"):
            details(server, patience=patience)
        assert time.monotonic() - begin < 10  # a single whole body takes 20 x 0.5 s


def test_an_answer_that_does_not_come_ends_the_attempt() -> None:
    # The second answer comes at once; a busy machine has a second for it.
    with SimapServer(platform(1), only("details", Given(delay_s=30), times=1)) as server:
        details(server, patience=Patience(attempts=2, first_wait=0.01, read_s=1))
        assert server.counts["details"] == 2


def test_a_body_over_the_bound_is_not_read() -> None:
    big = Given(200, gzip.compress(b'{"id": "' + b"x" * 1_000_000 + b'"}'), {"Content-Encoding": "gzip"})
    with SimapServer(platform(1), only("details", big)) as server:
        with pytest.raises(SimapError, match="larger than 10,000 bytes"):
            details(server, max_bytes=10_000)
        assert server.counts["details"] == 1


def test_redirects_are_followed_on_the_same_host_only() -> None:
    def moved(asked: Asked) -> Given | None:
        return (
            Given(302, b"", {"Location": f"/api/x/publication-details/{uid('100-01')}"}) if asked.number == 1 else None
        )

    with SimapServer(platform(1), moved) as server:
        assert json.loads(details(server)) == {"id": uid("100-01")}
        assert server.counts["details"] == 2
    for target in ("http://elsewhere.example/login", "//127.0.0.1:1/api", "ftp://127.0.0.1/x"):
        with SimapServer(platform(1), only("details", Given(302, b"", {"Location": target}))) as server:
            with pytest.raises(SimapError, match="another host, which is not followed"):
                details(server)
            assert server.counts["details"] == 1
    round_and_round = only("details", Given(302, b"", {"Location": "publication-details/x"}))
    with SimapServer(platform(1), round_and_round) as server, pytest.raises(SimapError, match="more than 3 times"):
        details(server)


def test_requests_keep_their_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only waiting moves: what a machine takes for a request shortens the wait for the next one."""
    waits: list[float] = []
    monkeypatch.setattr(simap, "time", SimpleNamespace(monotonic=lambda: 1000 + sum(waits)))
    with SimapServer(platform(9)) as server, client(server, rate=25, sleep=waits.append) as asking:
        list(asking.search(SPEC))
        assert asking.requests == server.counts == {"search": 6}
    # 40 ms and up to a quarter more.
    assert len(waits) == 5
    assert 0.0399 < min(waits) < max(waits) < 0.0501


def test_the_distance_is_kept_in_real_time() -> None:
    with SimapServer(platform(9)) as server, client(server, rate=25) as asking:
        begin = time.monotonic()
        list(asking.search(SPEC))
        assert time.monotonic() - begin > 5 * 0.04
        assert server.counts == {"search": 6}
