"""All input and output: the warehouse and its snapshot, the reply ledger, the gateway client, hand-over files, landing.

``warehouse`` (one writer at a time behind ``lock``), ``snapshot`` (the analysts' copy), ``artifacts`` (hand-over Parquet
and caches), ``ledger`` (append-only replies), ``gateway`` (the Dagster resource around ``gateway_client``), ``landing``
(files with row-accurate errors), ``detector`` (personal data, local only), ``sql`` (texts of ``sql/``).
"""
