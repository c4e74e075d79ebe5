"""Judging: which pairs are asked, how the question is worded, how an answer is read, how far the judge can be trusted.

Tables: ``candidates`` (one row per pair of query and passage, with the request that answers it; equal texts share a
request), ``judge_calls`` (final answers of the ledger that this collection asked for), ``judgments`` (the answers read
and fanned out: a failure is a status, never a grade), ``judge_agreement`` (every judge against people, people among
themselves), ``calibration_systems`` (each measured judge: failures, money, time, stability, inference stack) and
``judge_choice`` (which is accepted and chosen, and why). The modules here are pure; ``assets.judging`` and
``assets.calibration`` join them to the warehouse, the ledger and the gateway.

Decisions:

- A request's key is the hash of its body. Whatever changes an answer is in the body; timeouts and concurrency are not.
- Guideline, then query, then passage: requests ordered by query share the longest possible prefix, which providers
  cache and charge less for. Of each query two requests go out well before the others, or all that are in flight when a
  query begins would find the cache cold (``prefix_order``).
- Money is estimated before anything is asked, as an interval with a hard upper bound (``budget``); an unknown price is
  no price of zero (``prices``).
- A judge is a *system*: model, route, effort and guideline. Acceptance and rule of choice are declared in the
  specification before the data; intervals redraw queries within each level, one set of resamples for all systems.
- The calibration reads its replies from the ledger, not from ``judge_calls``: where it decides who judges, it comes before
  the first candidate.
- The grammar of a verdict is strict. A better parser costs no calls, for replies are kept as they came.
- The form of the answer, and the rule that makes a grade of two answers, are data of the guideline and part of its hash.
  The answers are kept beside the grade, so that another rule costs no calls either.
- A human and the judge work by one text: the annotator's document is printed from the guideline file (``annotator``).
"""
