"""Judging: which pairs are asked, how the question is worded, how an answer is read, how far the judge can be trusted.

Tables: ``candidates`` (one row per pair of query and passage, with the request that answers it; equal texts share a
request), ``judge_calls`` (final answers of the ledger that this collection asked for), ``judgments`` (the answers read
and fanned out: a failure is a status, never a grade), ``judge_agreement`` (judge against humans, humans among
themselves). The modules here are pure; ``assets.judging`` joins them to the warehouse, the ledger and the gateway.

Decisions:

- A request's key is the hash of its body. Whatever changes an answer is in the body; timeouts and concurrency are not.
- Guideline, then query, then passage: requests ordered by query share the longest possible prefix, which providers
  cache and charge less for.
- The grammar of a verdict is strict. A better parser costs no calls, for replies are kept as they came.
"""
