"""The judge's step sends the leads of each query ahead: the order in which a real server gets the requests."""

import pytest

from tendril_assets_tests.assets.http_stub import serving
from tendril_assets_tests.assets.toy_judging import REQUESTS, judge, resources_in, run, spec

UP_TO_REQUESTS = "summary_requests area_summary_replies area_summaries queries project_queries candidates"


@pytest.mark.parametrize(("in_flight", "fewest", "most"), [(1, 2, 2), (2, 3, 4)])
def test_leads_of_several_queries_come_before_the_rest_of_the_first(tmp_path, monkeypatch, in_flight, fewest, most):
    monkeypatch.setenv("TENDRIL_HOME", str(tmp_path))
    order: list[str] = []

    def noting(query: str, passage: str) -> tuple[int, str, str]:
        if query:
            order.append(query)
        return judge(query, passage)

    with serving(noting) as stub:
        given = resources_in(tmp_path, stub.base_url, concurrency=in_flight)
        run(spec(), given, f"{UP_TO_REQUESTS} judge_replies", raise_on_error=True)
    assert len(order) == REQUESTS
    # Four queries with three passages each. By query alone the first four requests are of two queries; with leads they are
    # of all four, but that two workers may swap neighbours.
    assert fewest <= len(set(order[:4])) <= most
