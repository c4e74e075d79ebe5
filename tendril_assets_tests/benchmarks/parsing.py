"""Reading verdicts: how many replies a second, where all differ and where most are alike.

``python -m tendril_assets_tests.benchmarks.parsing [--size small|published]``

The baseline is ``json.loads`` over the same replies, which checks nothing. Seconds are CPU seconds of this process, best
of three: other programs on the machine do not slow them down.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from typing import Any

import polars as pl

from tendril_assets.judging.parse import parse_calls
from tendril_assets.judging.prompts import load_guideline

# (replies that all differ, replies of a run)
SIZES = {"small": (3_000, 9_000), "published": (300_000, 907_000)}
SEED = 42


def best_of(n: int, work: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(n):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def calls_of(contents: list[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "request_key": [f"{i:064x}" for i in range(len(contents))],
            "status": "answered",
            "finish_reason": "stop",
            "content": contents,
        }
    )


def reasoned(n: int, answers: Callable[[int], dict[str, Any]]) -> list[str]:
    """JSON replies with a reason of their own in some 160 characters."""
    draw = random.Random(SEED)
    words = [f"Wort{i}" for i in range(5_000)]
    reasons = (" ".join(draw.choices(words, k=20)) for _ in range(n))
    fields = ({"begruendung": reason, "nr": i, **answers(i)} for i, reason in enumerate(reasons))
    return [json.dumps(one, ensure_ascii=False) for one in fields]


def alike(n: int) -> list[str]:
    """Replies of a run whose guideline asks for a digit: nearly all are one of three, some are dressed."""
    draw = random.Random(SEED)
    forms = ("{}", '{{"relevanz": {}}}', '```json\n{{"relevanz": {}}}\n```', "Relevanz: {}")
    return [draw.choices(forms, (94, 3, 2, 1))[0].format(draw.randrange(3)) for _ in range(n)]


def measured(size: str) -> dict[str, float]:
    """Figures by name, in replies a second of CPU time."""
    n_distinct, n_run = SIZES[size]
    digit, two = load_guideline("de_long"), load_guideline("ru_two_questions")
    graded = reasoned(n_distinct, lambda i: {"relevanz": i % 3})
    asked = reasoned(n_distinct, lambda i: {"предмет": "да", "ответ": ("полный", "частичный", "нет")[i % 3]})
    frames = {"distinct_grade": (calls_of(graded), digit), "distinct_two_questions": (calls_of(asked), two)}
    frames["run"] = (calls_of(alike(n_run)), digit)
    figures: dict[str, float] = {"replies_distinct": n_distinct, "replies_run": n_run}
    for name, (calls, guideline) in frames.items():
        seconds = best_of(3, lambda calls=calls, guideline=guideline: parse_calls(calls, guideline))
        figures[f"{name}_per_s"] = calls.height / seconds
        figures[f"{name}_s"] = seconds
    bare = best_of(3, lambda: [json.loads(content) for content in graded])
    figures["json_loads_per_s"] = n_distinct / bare
    figures["ratio_json_loads"] = figures["distinct_grade_s"] / bare
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    figures = measured(parser.parse_args().size)
    for name, value in figures.items():
        print(f"{name:28}{value:>14,.2f}")
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
