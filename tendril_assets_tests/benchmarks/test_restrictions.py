"""The benchmark itself: its figures by hand on four texts, and what it refuses to read."""

from pathlib import Path

import pytest

from tendril_assets_tests.benchmarks.restrictions import COLUMNS, Labelled, measure, quality, read_labelled, rules_of

TEXTS = [
    Labelled("1", "de", True, "no_publication", "Die Ausschreibungsunterlagen dürfen nicht veröffentlicht werden."),
    Labelled("2", "de", True, "offer_only", "Der Beton ist zu liefern."),  # labelled wrongly, so missed
    Labelled("3", "fr", False, "negation", "La publication des documents n'est pas interdite."),
    Labelled("4", "fr", False, "other", "Le dossier est confidentiel."),  # labelled wrongly, so false
]


def test_figures_count_what_is_found_missed_and_taken_wrongly() -> None:
    figures, wrong = quality(TEXTS, rules_of)
    # found: 1 and 4; of two restrictions one is found, of two found one is right
    assert (figures["recall"], figures["precision"]) == (0.5, 0.5)
    assert (figures["recall_de"], figures["precision_de"]) == (0.5, 1.0)
    assert (figures["recall_fr"], figures["precision_fr"]) == (1.0, 0.0)  # nothing to find
    assert (figures["recall_no_publication"], figures["recall_offer_only"]) == (1.0, 0.0)
    assert (figures["clean_negation"], figures["clean_other"]) == (1.0, 0.0)
    assert figures["kind_agreement"] == 1.0
    assert [line.split()[:2] for line in wrong] == [["missed", "2"], ["false", "4"]]


def test_a_small_run_gives_all_figures() -> None:
    figures, _ = measure(TEXTS, 200)
    assert {"recall", "precision", "characters_per_cpu_s", "cpu_ratio_words_alone"} <= figures.keys()
    assert (figures["texts"], figures["restrictions"], figures["passages"]) == (4, 2, 200)
    # the words alone find at least as much, and take more for a restriction that is none
    assert figures["recall_words_alone"] >= figures["recall"]


@pytest.mark.parametrize(
    "row", ["1\tde\t1\tnegation\tText", "1\tde\t0\toffer_only\tText", "1\tde\tyes\tother\tText", "1\tde\t0\tother"]
)
def test_a_line_that_does_not_fit_is_named(tmp_path: Path, row: str) -> None:
    path = tmp_path / "list.tsv"
    path.write_text("\t".join(COLUMNS) + "\n" + row + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="row 2"):
        read_labelled(path)
    path.write_text("id\ttext\n", encoding="utf-8")
    with pytest.raises(ValueError, match="columns"):
        read_labelled(path)
