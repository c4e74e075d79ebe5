"""Checks of passages' texts; the digests are those of sha256sum."""

import polars as pl

from tendril_assets.corpus.content_check import content_check, standing_of


def test_case_white_space_and_composition_do_not_count() -> None:
    # printf 'и\xcc\x86' is composed first: printf 'йод есть' | sha256sum
    assert content_check("йод есть") == "be7cb2aefc0adf9d"
    assert content_check("  И\u0306од \n ЕСТЬ") == "be7cb2aefc0adf9d"
    assert content_check("йод нет") != "be7cb2aefc0adf9d"


def test_a_published_text_that_moved_is_found_where_it_stands_now() -> None:
    corpus = pl.DataFrame({"passage_id": ["a#0000", "a#0001", "a#0002"], "text": ["Новое.", "Первое.", "Второе."]})
    first, second, lost = (content_check(text) for text in ("Первое.", "Второе.", "Третье."))
    published = pl.DataFrame(
        {
            "passage_id": ["a#0000", "a#0001", "a#0002", "a#0003", "a#0000", "a#0009"],
            "content_check": [first, second, second, lost, None, None],
        }
    )
    assert standing_of(published, corpus).select("state", "now_at").rows() == [
        ("moved", "a#0001"),
        ("moved", "a#0002"),
        ("stands", None),
        ("gone", None),
        ("stands", None),
        ("gone", None),
    ]
