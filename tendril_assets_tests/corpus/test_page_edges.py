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


def test_headers_that_alternate_between_left_and_right_pages_go_though_the_first_page_has_none():
    pages = [["Titelblatt"], *([["Amt", "Reinigung"][n % 2], f"Text {'abcdefg'[n]}", f"- {n + 2} -"] for n in range(7))]
    assert repeated_edges(pages) == [(0, 0)] + [(1, 1)] * 7


def test_a_chapter_title_on_three_left_pages_alone_stays():
    pages = [["Kriterien" if n in (1, 3, 5) else f"Titel {'abcdefgh'[n]}", f"Text {'abcdefgh'[n]}"] for n in range(8)]
    assert repeated_edges(pages) == [(0, 0)] * 8


def test_rows_of_a_table_are_no_header_though_they_differ_in_digits_only():
    pages = [
        [f"Position {n} Menge {n * 7 % 5}", f"Position {n + 1} Menge 3", f"Ende {'abcd'[n % 4]}"]
        for n in (1, 30, 63, 88)
    ]
    assert repeated_edges(pages) == [(0, 0)] * 4


def test_page_numbers_of_a_file_of_several_documents_and_in_roman_letters_go():
    numbers = [f"Seite {n}/4" for n in (1, 2, 3, 4, 1, 2, 3, 4)]
    assert repeated_edges([[f"Text {'abcdefgh'[i]}", line] for i, line in enumerate(numbers)]) == [(0, 1)] * 8
    roman = [[f"Text {'wxyz'[i]}", f"– {line} –"] for i, line in enumerate(("i", "ii", "iii", "iv"))]
    assert repeated_edges(roman) == [(0, 1)] * 4


def test_a_figure_beside_the_page_number_stays():
    pages = [["Text", str(100 - n), str(n)] for n in range(1, 5)]
    assert [bottom for _, bottom in repeated_edges(pages)] == [1] * 4
