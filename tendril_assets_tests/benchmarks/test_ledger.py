"""The benchmark itself, at a size that takes no time: its figures are there, and their baselines."""

from tendril_assets_tests.benchmarks.ledger import measure


def test_a_small_run_has_its_figures() -> None:
    figures = measure(2000)
    assert figures["replies"] == 2000
    assert 0 < figures["size_ratio"] < 0.5
    assert {
        "append_s",
        "load_s",
        "keys_s",
        "compact_s",
        "load_parquet_s",
        "keys_parquet_s",
        "remove_s",
    } <= figures.keys()
    assert all(figures[f"{name}_ratio"] > 0 for name in ("append_s", "load_s", "compact_s"))
