"""Evaluation: rankings of the external test collection, measures, intervals and comparisons.

Tables: ``retrieval_runs`` (who ranked what where), ``query_scores``, ``group_scores``, ``system_scores`` (macro means
with intervals) and ``comparisons`` (paired tests). Decisions, each stated where it is made: graded nDCG with linear
gain and trec_eval's ties (``metrics``), queries averaged inside their group before groups are averaged (``aggregate``),
groups as what is resampled (``significance``), ranking within the query's own group or the whole corpus
(``collection``), BM25 with every passage ranked (``bm25``), exact dense search over stored embeddings (``dense``).
"""
