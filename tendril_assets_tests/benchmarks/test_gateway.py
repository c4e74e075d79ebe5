from tendril_assets_tests.benchmarks import gateway


def test_the_benchmark_measures_every_figure() -> None:
    figures = gateway.measure(gateway.Size(latency_s=0.1, rounds=2, calls=300, limited_s=2.0))
    for name in ("ideal_share_64", "ideal_share_256", "cpu_ms_per_call", "calls_per_s_64"):
        assert figures[name] > 0
        assert figures[f"{name}_ratio"] > 0
    assert figures["gateway_cpu_ms_per_call"] > 0
    assert 0 <= figures["refused_share"] < 0.6
    assert figures["limit_share"] > 0
    # Less than the bare baseline by far, and measured in the same run: holds on a busy machine.
    assert figures["cpu_ms_per_call_ratio"] < 0.95
