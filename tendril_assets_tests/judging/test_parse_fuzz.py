"""The parser against a second reader of the grammar (``verdict_oracle``), on drawn texts and on mutated answers."""

import json
import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tendril_assets.judging.answer_form import GRADE_FORM
from tendril_assets.judging.parse import parse_verdict
from tendril_assets.judging.prompts import load_guideline
from tendril_assets_tests.judging.verdict_oracle import PAIRS, expected

bounded = settings(max_examples=50, deadline=None)
TWO = load_guideline("ru_two_questions").answer
RULE = dict(TWO.rule)
FORMS = {"grade": (GRADE_FORM, ()), "two_questions": (TWO, (RULE, TWO.keys))}
VALID = {
    "grade": ["0", "1", "2", '{"relevanz": 1}', '{"begruendung": "so", "relevanz": 2}'],
    "two_questions": [json.dumps(dict(zip(TWO.keys, pair, strict=True)), ensure_ascii=False) for pair in RULE],
}
BLANKS = ["", " ", "\n", "\r\n", "\t", "\ufeff", "\u00a0", "\u2028", "\x85"]
# What models, routers and editors are known to put in, around or in place of an answer.
PIECES = [
    *BLANKS,
    *("0", "1", "2", "3", "1.0", "1e0", "+1", "-0", "01", "１", "²", "true", "null", "NaN", "Infinity", "1" * 400),
    *('"', "'", "„", "“", "«", "»", "‘", "’", "`", "```", "~~~", "```json\n", "**", "/*x*/", "//x\n", "#"),
    *("{", "}", "[", "]", ":", ",", ",}", "{}", "[]", "\\", "\\u0031", "\\ud800", "\ud800", "\x00", "\u200b"),
    *("<think>", "</think>", "<thinking>", "</THINKING>", "<think>1</think>", "Antwort: ", " - relevant", "."),
    *('"relevanz": 1', '"relevanz": 2, ', '"предмет": "да"', '"ответ": "нет", ', '"да"', '"нет"', '"1"', "relevanz"),
]


def check(content: str, form: str) -> None:
    answer, rule = FORMS[form]
    verdict = parse_verdict(content, "stop", answer=answer)
    assert (verdict.status, verdict.grade) == expected(content, *rule), repr(content)
    assert (verdict.grade is None) == (verdict.status != "ok")
    assert (verdict.answers is not None) == (form == "two_questions" and verdict.status in ("ok", "contradiction"))


@pytest.mark.parametrize("form", FORMS)
@bounded
@given(st.text(max_size=40))
def test_any_text_is_read_as_the_grammar_says(form, content):
    check(content, form)


@pytest.mark.parametrize("form", FORMS)
@bounded
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_texts_of_the_grammars_own_signs_are_read_as_the_grammar_says(form, content):
    check(content, form)


def mutated(answer: str, draw: random.Random) -> str:
    """One to three mistakes in an answer: a piece put in, a part left out, doubled, moved or changed in case."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        start, end = sorted((draw.randint(0, len(answer)), draw.randint(0, len(answer))))
        before, part, after = answer[:start], answer[start:end], answer[end:]
        answer = draw.choice(
            (
                before + draw.choice(PIECES) + part + after,
                before + draw.choice(PIECES) + after,
                before + after,
                before + part + part + after,
                after + before + part,
                before + part.swapcase() + after,
                draw.choice(PIECES) + answer,
                answer + draw.choice(PIECES),
                answer + draw.choice(BLANKS) + answer,
            )
        )
    return answer


@pytest.mark.parametrize("form", FORMS)
def test_four_thousand_mutations_are_read_as_the_grammar_says(form):
    draw = random.Random(20_261_130)
    seen: set[str] = set()
    for _ in range(2_000):
        content = mutated(draw.choice(VALID[form]), draw)
        check(content, form)
        seen.add(expected(content, *FORMS[form][1])[0])
    # Both sides of the grammar's border were met.
    assert {"ok", "parse_error"} <= seen


@st.composite
def dressed_answers(draw):
    """(content, form, status, grade): an answer with every dressing the grammar allows, drawn without the parser."""
    form = draw(st.sampled_from(sorted(FORMS)))
    if form == "grade":
        grade = draw(st.sampled_from((0, 1, 2)))
        status, own = "ok", {"relevanz": grade}
    else:
        pair, grade = draw(st.sampled_from(sorted(RULE.items())))
        status, own = "contradiction" if grade is None else "ok", dict(zip(TWO.keys, pair, strict=True))
    others = draw(st.dictionaries(st.text(max_size=8), st.text(max_size=20) | st.integers() | st.none(), max_size=3))
    fields = draw(st.permutations([*((k, v) for k, v in others.items() if k not in own), *own.items()]))
    digit = form == "grade" and draw(st.booleans())
    core = str(grade) if digit else json.dumps(dict(fields), ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        opening, closing = draw(st.sampled_from(PAIRS))
        core = opening + core + closing
    mark = draw(st.sampled_from(("", "```", "~~~")))
    if mark:
        core = f"{mark}{draw(st.sampled_from(('', 'json', 'JSON', 'text')))}\r\n{core}\n{mark}"
    blank = st.sampled_from(BLANKS)
    for thought in draw(st.lists(st.text(max_size=30).filter(lambda text: "<" not in text), max_size=2)):
        core = f"<think>{thought}</think>{draw(blank)}{core}"
    return draw(blank) + core + draw(blank), form, status, grade


@bounded
@given(dressed_answers())
def test_every_dressing_gives_the_verdict_inside(answer):
    content, form, status, grade = answer
    verdict = parse_verdict(content, "stop", answer=FORMS[form][0])
    assert (verdict.status, verdict.grade) == (status, grade)
    check(content, form)


@pytest.mark.parametrize(("before", "after"), list(product(BLANKS, BLANKS)))
def test_blanks_on_either_side_change_nothing(before, after):
    assert parse_verdict(f"{before}1{after}", "stop").grade == 1
