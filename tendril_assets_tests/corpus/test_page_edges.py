from tendril_assets.corpus.page_edges import repeated_edges


def test_digit_free_forms_that_repeat_go():
    pages = [[f"Amt – Seite {n} von 4", body, f"{n}"] for n, body in enumerate(("a", "3 Kriterien", "c", "d"), start=1)]
    assert repeated_edges(pages) == [(1, 1)] * 4


def test_at_least_three_pages_and_half_of_them():
    # On 3 of 6 pages: exactly half. On 3 of 7: not.
    with_header, without = ["Kopf", "x"], ["a"]
    six = [with_header] * 3 + [["a", "1"], ["b", "1"], ["c", "1"]]
    assert repeated_edges(six)[0][0] == 1
    seven = [["Kopf", word] for word in "xyz"] + [[word] for word in "abcd"]
    assert repeated_edges(seven) == [(0, 0)] * 7
    assert repeated_edges([with_header, with_header, *[without] * 2])[0] == (0, 0)


def test_no_line_goes_behind_one_that_stays():
    pages = [[word, "Kopf", f"Text {word}"] for word in ("eins", "zwei", "drei", "vier")]
    assert repeated_edges(pages) == [(0, 0)] * 4


def test_short_documents_are_left_alone():
    assert repeated_edges([["Kopf", "a"], ["Kopf", "b"]]) == [(0, 0)] * 2
    assert repeated_edges([]) == []


def test_a_page_of_edges_only_counts_no_line_twice():
    assert repeated_edges([["Kopf"]] * 3) == [(1, 0)] * 3
