from decimal import Decimal

import pytest

from tendril_assets.release.wording import (
    figure,
    interval,
    listed,
    markdown_table,
    named,
    p_value,
    plural,
    scientific,
    share,
    signed,
    spread,
    system_name,
    usd,
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("ndcg@10", "nDCG@10"),
        ("judged@10", "Judged@10"),
        ("area_of_action", "Area of action"),
        ("all", "All levels"),
        ("bm25", "BM25"),
        ("new@5", "new@5"),
    ],
)
def test_names(key: str, expected: str) -> None:
    assert named(key) == expected


def test_system_names() -> None:
    assert [system_name(s) for s in ("bm25", "mini_base", "big_one_tuned")] == [
        "BM25",
        "mini, base",
        "big_one, fine-tuned",
    ]


def test_numbers() -> None:
    assert [plural(n, "query") for n in (0, 1, 1041)] == ["0 queries", "1 query", "1,041 queries"]
    assert plural(2, "day") == "2 days"
    assert plural(4, "process") == "4 processes"
    assert [scientific(v) for v in (1e-5, 2.5e-6, 0.01)] == ["1e-5", "2.5e-6", "0.01"]
    assert spread([0.53, 0.484], 2) == "0.48-0.53"
    assert spread([0.501, 0.499], 2) == "0.50"
    assert [
        share(p, w).replace("\u00a0", " ") for p, w in ((839_805, 911_540), (1, 77), (1, 5_000), (0, 5), (1, 0))
    ] == [
        "92 %",
        "1.3 %",
        "< 0.1 %",
        "0 %",
        "-",
    ]
    assert [signed(v) for v in (0.095, -0.0031, 0.0004, None)] == ["+0.095", "−0.003", "0.000", "-"]
    assert interval(0.5956, 0.69) == "[0.596, 0.690]"
    assert interval(-0.003, 0.044, sign=True) == "[−0.003, +0.044]"
    assert interval(None, 0.1) == ""
    assert figure(None) == "-"
    assert [p_value(p) for p in (0.00019998, 0.05, None)] == ["< 0.001", "0.050", "-"]
    assert [usd(Decimal(a)) for a in ("0", "0.0288", "1234.5")] == ["USD 0.00", "USD 0.0288", "USD 1,234.50"]


def test_lists_and_tables() -> None:
    assert [listed(x) for x in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    table = markdown_table(("x", "n"), [("a|b\nc", 1)])
    assert table.splitlines() == ["| x | n |", "|---|---:|", "| a\\|b c | 1 |"]
