"""Qrels, splits and leakage: from judgments to what is trained on and published.

Tables: ``qrels`` (accepted grades), ``splits`` (the split of each group), ``split_sizes`` (what each split holds of each
level), ``leakage`` (passages that repeat held-out text, read from the duplicate index of the corpus stage). Splits are
by group, never by passage.
"""
