"""LLM-judged retrieval collections as Dagster assets over DuckDB.

``definitions`` is the code location, ``cli`` the ``tendril`` command. Imports run one way::

    records, tables, spec, settings, errors  <-  corpus, queries, judging, qrels, training, evaluation, release
        <-  resources  <-  assets  <-  components  <-  defs, definitions  <-  running, summary, cli

The stage packages are pure functions over frames (``corpus.extract`` and the model code adapt libraries); each explains
its tables and decisions in its docstring. ``sandbox`` makes the sample and the stand-in gateway; only ``cli`` knows it.
"""
