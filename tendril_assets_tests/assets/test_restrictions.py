"""Restrictions that stand where no passage is made of them."""

from pathlib import Path

import pytest

from tendril_assets_tests.assets.toy_landing import prepared
from tendril_assets_tests.corpus.documents import lines, pdf

FOOTER = "Diese Ausschreibungsunterlagen dürfen nicht an Dritte weitergegeben werden."


def test_a_restriction_in_a_repeated_footer_excludes_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = prepared(tmp_path, monkeypatch, "free", "limited")
    pages = [
        [*lines(f"Die Anbieterin nennt für Los {n} die Herkunft des Holzes."), (70, 40, f"{FOOTER} Seite {n} von 4")]
        for n in range(1, 5)
    ]
    folder = toy.folder / "documents" / "limited"
    pdf(folder / "c.pdf", pages)
    assert toy.run().success
    assert not toy.table("passages").filter(text=FOOTER).height, "the footer is no passage"
    found = toy.table("restricted_projects").select("project", "document", "page", "rule", "sentence")
    assert found.rows() == [("limited", "c.pdf", 1, "no_third_parties", FOOTER)]
    assert toy.states() == {"free": "in_corpus", "limited": "restricted"}
