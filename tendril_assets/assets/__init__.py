"""Asset factories, one module per stage: ``<stage>_assets(spec) -> Stage``.

An asset reads through ``Warehouse`` or ``Artifacts``, calls pure functions, writes with ``common.store`` and reports.
Pools: ``duckdb`` for short reads and writes; ``cpu`` for long work that touches the warehouse for moments only;
``judge_api`` and ``gpu`` never open it: an upstream asset hands Parquet files over, a downstream one loads the result.
"""
