"""The real card over tables of the published size: every figure of the published description comes out of the queries.

The tables are made so that the published counts hold; what the description does not say (which passage has which grade)
is filled in plainly. Counts are those of TENDRIL-Train's own description.
"""

import re

import polars as pl
import pytest

from tendril_assets.errors import ExportInvariantError
from tendril_assets.release.cards import CardInputs, dataset_card
from tendril_assets.release.figures import CARD_FIGURES, Figures, read_figures, sum_checks
from tendril_assets.release.huggingface import Config
from tendril_assets_tests.release import toy

CATALOGS = {
    "Construction_Buildings": 152,
    "Construction_Area": 127,
    "Light_Elect_Appl": 126,
    "Construction_Civil_Engineering_Infrastructure": 124,
    "Info_Com_Tech": 123,
    "Road_Transport": 114,
    "Furniture": 63,
    "Product_Independent_Criteria": 61,
    "Print_Services": 48,
    "Green_Spaces": 41,
    "Food": 26,
    "Paper_and_Stationery": 16,
    "Electricity": 12,
    "IT_Software": 8,
}
GRADES = {"area_of_action": (413_877, 30_631, 12_141), "criterion": (425_928, 22_570, 6_393)}
QUERIES = {"area_of_action": 413, "criterion": 628}
PASSAGES, GROUPS, DOCUMENTS, SAMPLED, RESTRICTED = 85_772, 631, 2_892, 800, 169
JUDGMENTS, REQUESTS, UNPARSED, TRUNCATED = 911_540, 906_984, 7, 47
MEDIAN, MOST = 349, 22_170


def judgments_per_query() -> list[tuple[int, str, int]]:
    """(number, level, judgments): 520 queries below the median, one on it, one with the most, the rest alike."""
    below = {"area_of_action": 20, "criterion": 500}
    fixed = {"area_of_action": [300] * 20 + [MOST], "criterion": [300] * 500 + [MEDIAN]}
    rows = []
    for level, wanted in GRADES.items():
        left, n = sum(wanted) - sum(fixed[level]), QUERIES[level] - below[level] - 1
        counts = fixed[level] + [left // n + (i < left % n) for i in range(n)]
        rows += [(len(rows) + i, level, count) for i, count in enumerate(counts)]
    return rows


@pytest.fixture(scope="module")
def figures() -> Figures:
    con = toy.database({name: frame.clear() for name, frame in toy.tables().items()})
    counts = judgments_per_query()
    catalogs = [name for name, n in CATALOGS.items() for _ in range(n)]
    made = pl.DataFrame(
        [(n, level, count, catalogs[n]) for n, level, count in counts],
        schema=["n", "level", "judgments", "catalog"],
        orient="row",
    )
    con.register("made", made)
    con.execute(f"""
    INSERT INTO queries BY NAME SELECT 'q-' || n AS query_id, 'x' AS text, level, catalog, 'a' AS area FROM made;
    INSERT INTO corpus BY NAME SELECT 'p-' || i AS passage_id, 'x' AS text, 'g-' || (i % {GROUPS}) AS group_id,
        'd-' || (i % {DOCUMENTS}) AS document_id, 1 AS page FROM range({PASSAGES}) t(i);
    INSERT INTO passages BY NAME SELECT passage_id, 'P' AS project, 'd' AS document, 1 AS page, 0 AS position, '' AS text,
        1 AS characters FROM corpus;
    INSERT INTO passage_decisions BY NAME SELECT passage_id, 'P' AS project, true AS kept, '1' AS rule_version FROM corpus;
    INSERT INTO sampled_projects BY NAME SELECT 'P-' || i AS project, 'g-' || i AS group_id, i AS rank FROM range({SAMPLED}) t(i);
    INSERT INTO project_status BY NAME SELECT project, group_id, CASE WHEN rank < {GROUPS} THEN 'in_corpus' ELSE 'restricted' END
        AS state, '' AS input_hash, 1 AS documents_landed, 1 AS documents, 0 AS documents_failed, 1 AS passages,
        1 AS passages_kept, 0 AS passages_dropped FROM sampled_projects;
    CREATE TEMP TABLE pairs AS
        SELECT n, level, 'q-' || n AS query_id, 'p-' || i AS passage_id, 'g-' || (i % {GROUPS}) AS group_id,
            row_number() OVER (PARTITION BY level ORDER BY n, i) AS nth, row_number() OVER (ORDER BY n, i) - 1 AS total
        FROM made, range({MOST}) t(i) WHERE i < judgments;
    """)
    ends = {level: (zero, zero + one) for level, (zero, one, _) in GRADES.items()}
    score = " ".join(
        f"WHEN level = '{level}' THEN CASE WHEN nth <= {a} THEN 0 WHEN nth <= {b} THEN 1 ELSE 2 END"
        for level, (a, b) in ends.items()
    )
    accepted, failed = REQUESTS - UNPARSED - TRUNCATED, UNPARSED + TRUNCATED
    con.execute(f"""
    INSERT INTO qrels BY NAME SELECT query_id, passage_id, group_id, CASE {score} END AS score FROM pairs;
    -- {JUDGMENTS:,} judgments from {accepted:,} requests: the last ones share a request with the first.
    INSERT INTO candidates BY NAME
        SELECT query_id, passage_id, group_id, 'k' || (total % {accepted}) AS request_key FROM pairs
        UNION ALL BY NAME
        SELECT 'q-0' AS query_id, 'p-' || ({PASSAGES} - 1 - i) AS passage_id, 'g-0' AS group_id, 'f' || i AS request_key
        FROM range({failed}) t(i);
    INSERT INTO judgments BY NAME
        SELECT c.query_id, c.passage_id, c.group_id, c.request_key, r.score AS grade, '1' AS parser_version,
            CASE WHEN r.score IS NOT NULL THEN 'ok'
                WHEN c.request_key IN (SELECT 'f' || i FROM range({UNPARSED}) t(i)) THEN 'parse_error'
                ELSE 'truncated' END AS status
        FROM candidates c LEFT JOIN qrels r USING (query_id, passage_id);
    INSERT INTO judge_calls BY NAME
        SELECT DISTINCT request_key, 0 AS sequence, 'judge' AS purpose, 'z-ai/glm-5.3-flash' AS model, 'provider-a' AS provider,
            'answered' AS status, 1 AS attempts, 1.0 AS seconds, TIMESTAMP '2026-10-05 08:00:00' AS called_at FROM candidates;
    INSERT INTO test_queries BY NAME SELECT 't-' || c AS query_id, 'x' AS text, 'criterion' AS level, c AS catalog
        FROM (SELECT unnest(['Textiles', 'Wastepaper_Cleaning_Refuse', 'Food', 'Furniture', 'Electricity', 'IT_Software',
            'Green_Spaces', 'Print_Services', 'Road_Transport', 'Info_Com_Tech']) AS c);
    INSERT INTO calibration_pairs BY NAME SELECT 't-' || (['Textiles', 'Wastepaper_Cleaning_Refuse', 'Food', 'Furniture',
        'Electricity', 'IT_Software', 'Green_Spaces', 'Print_Services', 'Road_Transport', 'Info_Com_Tech'])[i % 10 + 1]
        AS query_id, 'c-' || i AS passage_id, 'criterion' AS level, '' AS query_text, '' AS passage_text, 1 AS curated_grade
        FROM range(1425) t(i);
    INSERT INTO calibration_annotations BY NAME SELECT query_id, passage_id, who AS annotator, 1 AS grade
        FROM calibration_pairs, (SELECT unnest(['a', 'b', 'c']) AS who);
    """)
    return read_figures(toy.reader(con), CARD_FIGURES)


def inputs(figures: Figures) -> CardInputs:
    tables = toy.tables()
    judge = {"llm": {"model": "maker/judge-2", "reasoning_effort": None}}
    configs = [
        Config("corpus", {"id": "string"}, {"train": PASSAGES}),
        Config("queries", {"id": "string"}, {"train": 1_041}),
        Config("qrels", {"score": "int64"}, {"train": JUDGMENTS}),
    ]
    sizes = {name: {"train": 1} for name in ("corpus", "queries", "qrels")}
    return CardInputs(
        toy.spec(judge=judge), figures, tables["judge_agreement"], tables["judge_choice"], configs, sizes, False
    )


@pytest.fixture(scope="module")
def card(figures: Figures) -> str:
    return dataset_card(inputs(figures))


def test_the_published_sums_hold(figures: Figures) -> None:
    assert sum(map(sum, GRADES.values())) == JUDGMENTS == 839_805 + 53_201 + 18_534
    assert sum(CATALOGS.values()) == 1_041 == 413 + 628
    assert SAMPLED - RESTRICTED == GROUPS
    by_name = {check.what: (check.left, check.right) for check in sum_checks(figures)}
    assert all(left == right for left, right in by_name.values())
    assert by_name["judgments over levels and grades"] == (911_540, 911_540)
    assert by_name["queries over catalogs"] == (1_041, 1_041)
    assert by_name["groups in the corpus"] == (631, 631)
    assert by_name["requests over statuses"] == (906_984, 906_984)
    # 911,540 judgments and 54 failed pairs of 906,984 requests: 4,610 pairs share another's.
    assert by_name["candidates over statuses"][0] - by_name["requests over statuses"][0] == 4_610


# One per figure of the published description, as our card words it.
FIGURES = [
    "| `corpus` | `id` | 85,772 |",
    "| `queries` | `id` | 1,041 |",
    "| `qrels` (default) | `score` | 911,540 |",
    "`area_of_action` (413 queries) or `criterion` (628 queries)",
    "(631 projects, 2,892 documents)",
    "| Area of action | 413,877 | 30,631 | 12,141 |",
    "| Criterion | 425,928 | 22,570 | 6,393 |",
    "| Total | 839,805 | 53,201 | 18,534 |",
    *(f"| {catalog} | {n} |" for catalog, n in CATALOGS.items()),
    "| Catalog | Queries (1,041) | Projects (631) | Documents (2,892) | Passages (85,772) | Judgments (911,540) | Positives |",
    "800 projects were sampled, with up to 5 documents each: 631 in corpus and 169 restricted",
    "(validated relevant 2, unvalidated relevant 1, unsure 1 and irrelevant 1)",
    "every area appears in at least 3 projects",
    "The seed is 42",
    "20-5,000 characters",
    "5-grams >= 0.7",
    "at most 100 words",
    "(Basis, Gute Praxis, Vorbild)",
    "in October 2026",
    "911,594 pairs needed 906,984 requests",
    "906,930 requests gave the 911,540 judgments; 54 gave no grade (47 truncated and 7 unparsed; < 0.1\u00a0%)",
    "(169 of the 800 projects)",
    "1,425 query-passage pairs by 3 annotators from 10 catalogs",
    "| Area of action | 0.48 [0.38, 0.57] (n = 90) | 0.62 [0.52, 0.71] (n = 90) |",
    "| Criterion | 0.53 [0.43, 0.62] (n = 90) | 0.65 [0.55, 0.74] (n = 90) |",
    "0.57 (area of action), 0.59 (criterion)",
    "No query comes from Textiles and Wastepaper_Cleaning_Refuse",
    "(median 349, maximum 22,170), and 92\u00a0% of the judgments are 0",
]


@pytest.mark.parametrize("text", FIGURES)
def test_every_published_figure_is_in_the_card(card: str, text: str) -> None:
    assert text in card


def test_positives_of_the_catalogs_sum_to_the_relevant_judgments(card: str) -> None:
    rows = re.findall(r"^\| (\w+) \| (?:[\d,]+ \| ){5}([\d,]+) \|$", card, re.MULTILINE)
    assert {name for name, _ in rows} == set(CATALOGS)
    assert sum(int(n.replace(",", "")) for _, n in rows) == 53_201 + 18_534


@pytest.mark.parametrize(
    ("name", "column", "said"),
    [
        ("grades", "judgments", "judgments over levels and grades: 911,541 against 911,540"),
        ("catalogs", "queries", "queries over catalogs: 1,042 against 1,041"),
        ("group_states", "groups", "sampled groups over their states: 801 against 800"),
        ("verdicts", "requests", "requests over statuses: 906,985 against 906,984"),
    ],
)
def test_a_published_figure_that_is_off_by_one_is_refused(figures: Figures, name: str, column: str, said: str) -> None:
    off = figures[name].with_columns(pl.col(column) + pl.int_range(pl.len()).eq(0).cast(pl.Int64))
    with pytest.raises(ExportInvariantError, match=said):
        dataset_card(inputs({**figures, name: off}))
