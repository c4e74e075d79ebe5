"""Queries: the wording that is judged, published and used in the test set alike.

Tables: ``area_summaries`` (a summary of each selected area of action, or why there is none), ``queries`` (one row per
selected area with a summary and per selected criterion), ``project_queries`` (which queries were selected for which
project). Summaries are answers of the gateway like any other: asked once, kept in the ledger under the hash of the
request. An area without an accepted summary has no query and stays a row with a status.
"""
