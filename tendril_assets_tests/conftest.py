"""One finished demo for all tests that look at one: it takes minutes, and being killed three times is part of it."""

from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings

from tendril_assets_tests.demo import DemoRun, demo_killed_at, is_judging, left_over, tendril

# The same examples in every run: a gate that fails by chance stops the wrong change. `--hypothesis-seed` looks further.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")


class FinishedDemo(NamedTuple):
    home: Path
    killed: tuple[str, ...]
    finished: DemoRun
    left_over: tuple[str, ...]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> FinishedDemo:
    """The demo, killed while reading documents, while judging and while training, then run to its end."""
    home = tmp_path_factory.mktemp("demo") / "home"
    left: list[str] = []
    killed = []
    # While the first documents are read; in the middle of the paid requests; after the first training checkpoint.
    moments = (r"document_status__passages: .* to read", is_judging, r"models__minilm: step 8/\d+ +checkpoint written")
    for moment in moments:
        killed.append(demo_killed_at(home, moment))
        left += left_over(home)
    return FinishedDemo(home, tuple(killed), tendril(home, "demo"), tuple(left))


@pytest.fixture(scope="session")
def regulations(demo: FinishedDemo) -> FinishedDemo:
    """The demo of the second collection on the same data folder, killed while the pool is ranked, then run to its end."""
    arguments = ("--collection", "regulations")
    killed = demo_killed_at(demo.home, r"regulations__pool: minilm_base: ", *arguments)
    left = left_over(demo.home)
    return FinishedDemo(demo.home, (killed,), tendril(demo.home, "demo", *arguments), tuple(left))
