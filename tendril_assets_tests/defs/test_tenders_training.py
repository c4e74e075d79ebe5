"""What the tenders collection says about splits and examples."""

from tendril_assets.defs import collection_files
from tendril_assets.spec import read_spec

FILE = collection_files()["tenders"]


def test_projects_are_held_out_each_by_its_own_draw() -> None:
    splits = read_spec(FILE).splits
    assert (splits.policy, splits.validation_share) == ("independent", 0.1)


def test_the_number_of_examples_comes_from_the_data() -> None:
    """4,500 + 4,500 of the published set is what balancing leaves, not a cap; the sample has one, for time."""
    assert read_spec(FILE).training.max_examples_per_level is None
    assert read_spec(FILE, "sandbox").training.max_examples_per_level == 48
