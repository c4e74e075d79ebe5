from tendril_assets.corpus.page_edges import repeated_edges


def test_digit_free_forms_that_repeat_go():
    pages = [[f"Amt – Seite {n} von 4", body, f"{n}"] for n, body in enumerate(("a", "3 Kriterien", "c", "d"), start=1)]
    assert repeated_edges(pages) == [(1, 1)] * 4


def test_at_least_three_pages_and_half_of_them():
    # On 3 of 6 pages: exactly half. On 3 of 7: not. On 2 of 4: half, but not three.
    headed, plain = [["Kopf", word] for word in "xyz"], [[word] for word in "abcd"]
    assert repeated_edges(headed + plain[:3]) == [(1, 0)] * 3 + [(0, 0)] * 3
    assert repeated_edges(headed + plain) == [(0, 0)] * 7
    assert repeated_edges(headed[:2] + plain[:2]) == [(0, 0)] * 4


def test_no_line_goes_behind_one_that_stays():
    pages = [[word, "Kopf", f"Text {word}"] for word in ("eins", "zwei", "drei", "vier")]
    assert repeated_edges(pages) == [(0, 0)] * 4


def test_short_documents_are_left_alone():
    assert repeated_edges([["Kopf", "a"], ["Kopf", "b"]]) == [(0, 0)] * 2
    assert repeated_edges([]) == []


def test_a_page_of_edges_only_counts_no_line_twice():
    assert repeated_edges([["Kopf"]] * 3) == [(1, 0)] * 3
