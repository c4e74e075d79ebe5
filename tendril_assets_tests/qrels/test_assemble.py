"""Qrels hold accepted grades only, and an incomplete set is refused by name."""

import pytest

from tendril_assets.errors import IncompleteJudgments
from tendril_assets.qrels.assemble import assemble, require_complete
from tendril_assets.tables import TABLES


def test_only_accepted_grades_become_qrels():
    judgments = TABLES["judgments"].frame(
        [
            ("q2", "p1", "g", "k1", "ok", 0, None, "1"),
            ("q1", "p2", "g", "k2", "parse_error", None, None, "1"),
            ("q1", "p1", "g", "k3", "ok", 2, None, "1"),
            ("q1", "p3", "g", "k4", "truncated", None, None, "1"),
            ("q1", "p4", "g", "k5", "contradiction", None, '{"a": "x", "b": "y"}', "1"),
        ]
    )
    qrels = assemble(judgments)
    assert qrels.rows() == [("q1", "p1", "g", 2), ("q2", "p1", "g", 0)]
    assert dict(qrels.schema) == TABLES["qrels"].schema


def test_open_requests_are_refused_with_their_number():
    with pytest.raises(IncompleteJudgments, match="toy: 7 of 10 judge requests are open") as raised:
        require_complete(7, 10, allow_incomplete=False, where="toy")
    assert raised.value.n_open == 7


@pytest.mark.parametrize(("n_open", "allowed"), [(0, False), (7, True)])
def test_a_whole_set_or_a_named_permission_passes(n_open, allowed):
    assert require_complete(n_open, 10, allow_incomplete=allowed, where="toy") is None
