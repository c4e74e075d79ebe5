"""The page is whole without a network, shows every section, and says so where tables are empty."""

import re
from functools import cache
from html.parser import HTMLParser

import polars as pl
import pytest

from tendril_assets.release.figures import REPORT_FIGURES, REPORT_TABLES, REPORT_VIEWS, read_figures
from tendril_assets.release.report import render_report
from tendril_assets.release.report_data import cost
from tendril_assets.release.report_inputs import ReportInputs
from tendril_assets.release.report_results import training
from tendril_assets.tables import TABLES
from tendril_assets_tests.release import toy

VOID = {"meta", "br", "line", "rect", "circle", "polyline"}


@cache
def read_inputs(empty: bool) -> ReportInputs:
    tables = {n: t.empty() for n, t in TABLES.items()} if empty else toy.tables()
    read = toy.reader(toy.database(tables))
    return ReportInputs(
        spec=toy.spec(),
        figures=read_figures(read, REPORT_FIGURES),
        tables={name: tables[name] for name in REPORT_TABLES},
        views={name: read(f"views/{name}") for name in REPORT_VIEWS},
        sandbox=False,
    )


def inputs(*, empty: bool = False, **changes) -> ReportInputs:
    return read_inputs(empty)._replace(**changes)


@pytest.fixture(scope="module")
def page() -> str:
    return render_report(inputs())


class _Balance(HTMLParser):
    """Collects tags that are closed out of order, and everything that could make a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.fetched += [f"{tag} {k}={v}" for k, v in attrs if k in ("src", "srcset", "href") and not v.startswith("#")]
        if tag in ("script", "link", "iframe", "img", "object"):
            self.fetched.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


@pytest.mark.parametrize("empty", [False, True])
def test_the_page_is_well_formed_and_fetches_nothing(empty: bool) -> None:
    text = render_report(inputs(empty=empty))
    parser = _Balance()
    parser.feed(text)
    assert (parser.wrong, parser.open, parser.fetched) == ([], [], [])
    assert set(re.findall(r"https?://[^\"' <)]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "url(" not in text
    assert "@import" not in text


def test_it_is_made_for_phone_paper_and_dark_rooms(page: str) -> None:
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert "@media print" in page
    assert "prefers-color-scheme: dark" in page
    assert page.count('class="wide"') == page.count('class="narrow"') == 13


def test_every_section_has_its_figures(page: str) -> None:
    for anchor in ("corpus", "labels", "agreement", "cost", "training", "quality", "differences", "making"):
        assert f'<section id="{anchor}">' in page
        assert f'<a href="#{anchor}">' in page
    assert "What became of 110 raw passages" in page
    assert "75\u00a0%  (72)" in page
    assert ">0.52 [0.42, 0.61]</text>" in page  # text stays text, to be selected and found
    assert "kept: step 168, 0.823" in page
    assert "+0.095 [+0.065, +0.130]" in page
    assert "USD 0.0288" in page
    assert "unknown for 3 answers" in page
    assert toy.spec().fingerprint() in page


def test_results_are_shown_by_catalog(page: str) -> None:
    assert "<h3>By catalog</h3>" in page
    assert (
        "Catalog_3<small>60 rankings in 23 projects; without a relevant passage and left out: 4 rankings, 1 project"
        in page
    )
    assert "Difference in nDCG@10 by catalog" in page


def test_every_picture_of_figures_has_them_as_a_table_too(page: str) -> None:
    """A picture of the wide page is followed by its table or by one that holds its figures."""
    assert page.count("<summary>The figures as a table</summary>") == 8
    assert "<td class=left>g-test" in page  # differences per project
    assert "<td class=left>168, kept</td><td>0.823</td>" in page


def test_cost_by_day_is_drawn_where_there_are_days_to_compare(page: str) -> None:
    assert "All of it was on 2026-10-05 (UTC)." in page
    assert "Known cost by day" not in page
    first = inputs().views["cost_by_day"]
    two = pl.concat([first, first.with_columns(pl.col("day").dt.offset_by("1d"))])
    drawn = cost(inputs(views=inputs().views | {"cost_by_day": two}))
    assert "All of it was on" not in drawn
    assert "Known cost by day (UTC) and model" in drawn
    assert "<td class=left>2026-10-05</td>" in drawn
    assert "<td class=left>2026-10-06</td>" in drawn


def test_the_hardest_queries_of_the_best_system_are_named(page: str) -> None:
    assert "The hardest queries of mini, fine-tuned" in page
    lowest = min(toy.noise("mini_tuned", n) for n in range(8))
    row = re.search(r"hardest queries.*?<td class=left>Frage (\d)<small>.*?</td><td>([\d.]+)</td>", page, re.DOTALL)
    assert float(row[2]) == pytest.approx(lowest, abs=0.0005)


def test_the_confusion_tables_are_the_judges(page: str) -> None:
    head = "<th class=left>All levels</th><th>0</th><th>1</th><th>2</th>"
    assert f"{head}</tr></thead><tbody><tr><td class=left>0</td><td>41</td><td>6</td><td>1</td></tr>" in page


def test_stale_measures_are_marked_wherever_they_are_shown() -> None:
    reason = "trained on 3 passages that are removed <since>"
    marked = render_report(inputs(stale={"mini_tuned": reason}))
    assert marked.count("mini, fine-tuned is stale: trained on 3 passages that are removed &lt;since&gt;") == 3
    assert "; stale, see below" in marked
    assert "stale" not in render_report(inputs()).partition("</style>")[2]


def test_the_best_result_stands_at_the_top(page: str) -> None:
    best = toy.tables()["system_scores"].filter(
        (pl.col("measure") == "ndcg@10") & (pl.col("level") == "all") & (pl.col("system") == "mini_tuned")
    )["value"][0]
    tile = (
        f"<dt>Best nDCG@10</dt><dd>{best:.3f}<small>mini, fine-tuned; over its base +0.095 [+0.065, +0.130]; over BM25 "
    )
    assert tile in page


def test_on_paper_what_is_folded_stands_open_but_for_the_long_tables(page: str) -> None:
    assert "details::details-content { content-visibility: visible" in page
    assert "details.long { display: none; }" in page
    long = re.findall(r'<details class="long"><summary>([^<]+)</summary>', page)
    # Fates, grades, catalogs and levels, agreement, systems by catalog: their figures stand in the picture above.
    assert long == [*["The figures as a table"] * 5, "The hardest queries of mini, fine-tuned"]
    # The pictures give a few of the comparisons: the rest is on paper too.
    assert "<h3>All comparisons</h3><details><summary>Every level and measure</summary>" in page


def test_empty_tables_are_said_to_be_empty() -> None:
    page = render_report(inputs(empty=True))
    assert "<svg" not in page
    for text in (
        "No passage has been read yet.",
        "No pair has been judged yet.",
        "The judge has not been measured yet.",
        "Nothing has been asked yet.",
        "No model has been trained yet.",
        "No system has been evaluated yet.",
        "No fine-tuned model has been compared yet.",
    ):
        assert text in page


def test_the_same_tables_give_the_same_page(page: str) -> None:
    read_again = read_inputs.__wrapped__(empty=False)
    assert render_report(read_again) == page


def test_only_a_sandbox_page_is_stamped(page: str) -> None:
    assert "Sandbox." not in page
    assert "Sandbox." in render_report(inputs(sandbox=True))


def test_names_from_the_specification_are_escaped() -> None:
    spec = toy.spec(release=toy.spec().release.model_dump() | {"title": "<script>alert(1)</script>"})
    assert "<script>" not in render_report(inputs(spec=spec))


@pytest.mark.parametrize(
    ("base", "origin", "told"),
    [
        ("package:mini_weights", None, "mini_weights"),
        ("package:mini_weights", "sentence-transformers/mini", "sentence-transformers/mini"),
        ("/srv/secret/place/mini-copy", None, "mini-copy"),
        ("/srv/secret/place/mini-copy", "sentence-transformers/mini", "sentence-transformers/mini"),
    ],
)
def test_a_base_is_named_as_on_the_card_and_never_by_its_path(base: str, origin: str | None, told: str) -> None:
    spec = toy.spec()
    entry = spec.models["mini"].model_copy(update={"base": base, "origin": origin})
    trained = inputs().tables["trained_models"]
    trained = trained.with_columns(
        base=pl.lit(base), recipe=trained["recipe"].str.replace_all("package:mini_weights", base, literal=True)
    )
    for models in (spec.models, {"mini": entry}):  # Case: the specification has another base by now.
        given = inputs(spec=spec.model_copy(update={"models": models}))
        page = training(given._replace(tables=given.tables | {"trained_models": trained}))
        assert "<h3>Models</h3>" in page
        assert "secret" not in page
    assert f"mini<small>{told}</small>" in page
