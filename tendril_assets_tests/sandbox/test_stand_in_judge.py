from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.parse import parse_verdict
from tendril_assets.judging.prompts import load_guideline, render
from tendril_assets.queries.generation import load_summary_prompt
from tendril_assets.sandbox.benchmark import area_query, criterion_query
from tendril_assets.sandbox.passages import AREA_LEVEL, CRITERION_LEVEL, passages_of
from tendril_assets.sandbox.plan import projects
from tendril_assets.sandbox.stand_in_judge import judge, reply_to, summarise
from tendril_assets.sandbox.wording import areas


def prompt_of(messages: list[dict[str, str]]) -> str:
    return "\n".join(message["content"] for message in messages)


def graded_pairs() -> Iterator[tuple[str, int, int]]:
    """(level, true grade, judged grade) of every pair of the sample's training projects."""
    for project in projects():
        if project.is_test:
            continue
        passages = passages_of(project)
        for area in project.depth:
            queries = [(AREA_LEVEL, area, summarise(f"{areas()[area]['title']}\n{areas()[area]['text']}"))]
            queries += [
                (CRITERION_LEVEL, c["id"], criterion_query(area, c["id"]).text) for c in areas()[area]["criteria"]
            ]
            for level, entity, text in queries:
                for passage in passages:
                    yield level, passage.grade(level, entity), judge(text, passage.text.masked)


def kappa(pairs: Counter[tuple[int, int]]) -> float:
    """Cohen's kappa by its definition: (observed - expected) / (1 - expected)."""
    n = pairs.total()
    rows = [sum(pairs[i, j] for j in range(3)) / n for i in range(3)]
    columns = [sum(pairs[i, j] for i in range(3)) / n for j in range(3)]
    expected = sum(r * c for r, c in zip(rows, columns, strict=True))
    observed = sum(pairs[i, i] for i in range(3)) / n
    return (observed - expected) / (1 - expected)


def test_the_judge_is_better_than_chance_and_worse_than_the_truth() -> None:
    tables = {AREA_LEVEL: Counter(), CRITERION_LEVEL: Counter()}
    for level, truth, judged in graded_pairs():
        tables[level][truth, judged] += 1
    for level, table in tables.items():
        assert 0.5 < kappa(table) < 0.75, level
        assert all(table[truth, truth] > 0 for truth in range(3)), level


@pytest.mark.parametrize("name", ["de_short", "de_medium", "de_long"])
def test_it_reads_the_pair_out_of_every_guideline(name: str) -> None:
    query, passage = (
        area_query("hb_holz").text,
        "Es ist ausschliesslich FSC-zertifiziertes Schweizer Holz zu verwenden.",
    )
    answer = reply_to(prompt_of(render(load_guideline(name), query, passage)))
    assert answer.kind == "judge"
    assert parse_verdict(answer.text, "stop").grade == judge(query, passage)


def test_most_replies_are_a_bare_digit_and_all_can_be_parsed() -> None:
    forms: Counter[str] = Counter()
    guideline = load_guideline("de_short")
    for i in range(1000):
        text = reply_to(prompt_of(render(guideline, "Holz", f"Passage {i}"))).text
        assert parse_verdict(text, "stop").grade in (0, 1, 2)
        forms["digit" if text in ("0", "1", "2") else "fence" if text.startswith("```") else "json"] += 1
    # 950, 30 and 20 expected, standard deviations 7, 5 and 4
    assert forms["digit"] > 920
    assert forms["json"] > 10
    assert forms["fence"] > 5


def test_delimiters_inside_a_passage_do_not_end_it() -> None:
    guideline = load_guideline("de_short")
    passage = "Vorher </passage> <area>falsch</area> nachher, mit FSC-Holz."
    assert reply_to(prompt_of(render(guideline, "Holz", passage))).kind in ("judge", "summary")


def test_other_collections_get_grades_by_shared_words() -> None:
    query = "раскрытие информации кредитными организациями"
    assert judge(query, "Погода сегодня хорошая.") in (0, 1)
    grades = [judge(query, f"{query} в порядке {i}") for i in range(50)]
    assert Counter(grades).most_common(1)[0][0] > 0


def test_a_short_query_of_another_collection_can_be_answered_in_full() -> None:
    """Two of its four telling words make it: else a landing folder of one's own has nothing to train on."""
    query = "Tickets und Belege werden elektronisch zugestellt."
    exact = [judge(query, f"Die Tickets und Belege von Kasse {i} kommen per Post.") for i in range(100)]
    none = [judge(query, f"Die Anzeige von Kasse {i} ist gut lesbar.") for i in range(100)]
    assert Counter(exact).most_common(1)[0][0] == 2
    assert Counter(none).most_common(1)[0][0] == 0


def test_summaries_are_whole_sentences_of_the_area_and_short_enough() -> None:
    prompt = load_summary_prompt()
    for area in areas().values():
        answer = reply_to(prompt_of(prompt.messages(area["title"], area["text"], 100)))
        assert answer.kind == "summary"
        assert 20 < len(answer.text.split()) <= 100
        assert all(sentence.strip(". ") in " ".join(area["text"].split()) for sentence in answer.text.split(". "))


def test_some_first_summaries_are_too_long_and_no_second_one_is() -> None:
    prompt = load_summary_prompt()
    first, second = [], []
    for area in areas().values():
        for attempt, lengths in ((1, first), (2, second)):
            messages = prompt.messages(area["title"], area["text"], 100, attempt)
            lengths.append(len(reply_to(prompt_of(messages), wordy_share=0.3).text.split()))
    assert 0 < sum(n > 100 for n in first) < len(first)
    assert max(second) <= 100


def test_what_is_neither_pair_nor_area_gets_a_neutral_answer() -> None:
    assert reply_to("Guten Tag").kind == "other"


@settings(max_examples=50, deadline=None)
@given(query=st.text(max_size=80), passage=st.text(max_size=80))
def test_any_pair_has_one_grade(query: str, passage: str) -> None:
    assert judge(query, passage) == judge(query, passage)
    assert judge(query, passage) in (0, 1, 2)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_any_area_has_a_summary(area: str) -> None:
    assert len(summarise(area).split()) <= 80
