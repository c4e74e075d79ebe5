"""The benchmark runs and says what it measured; how fast is for its published size to tell."""

import json

from tendril_assets.judging.parse import parse_calls
from tendril_assets.judging.prompts import load_guideline
from tendril_assets_tests.benchmarks import parsing


def test_its_replies_are_what_they_are_said_to_be():
    replies = parsing.reasoned(300, lambda i: {"relevanz": i % 3})
    read = parse_calls(parsing.calls_of(replies), load_guideline("de_long"))
    assert len(set(replies)) == 300
    assert read["grade"].to_list() == [0, 1, 2] * 100
    read = parse_calls(parsing.calls_of(parsing.alike(2_000)), load_guideline("de_short"))
    # 1 % of the replies is none: 20 expected, standard deviation 4.4.
    assert 3 <= read.filter(read["status"] == "parse_error").height <= 40


def test_it_ends_with_its_figures(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["parsing"])
    parsing.main()
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"distinct_grade_per_s", "distinct_two_questions_per_s", "run_per_s", "ratio_json_loads"} <= set(figures)
    assert min(figures.values()) > 0
