"""From landed projects to anonymised passages that may be judged and published.

Tables: ``sampled_projects`` and ``sampled_documents`` (the lowest keyed hashes), ``project_areas`` (by evidence quota,
then coverage top-up), ``document_status`` (how reading each document ended) and ``passages`` (raw),
``restricted_projects`` (with the sentence that says so), ``passage_decisions`` (one reason per drop), ``corpus`` (kept
and anonymised), ``anonymized_entities`` (counts, never entities), ``project_status``.

Decisions:

* Every draw is named by (seed, stage, entity), so a new project never reshuffles the others (``identifiers``).
* A document's text and its masked passages are cached under everything that determines them; a second run reads and
  masks nothing. A time-out or a crash is no property of the document and is not cached.
* Documents are read in child processes with limits on time and memory (``extract_pool``), which import no heavy package.
* Near-duplicates are exact, within the project, keep-first in a stable order: input order and process count change
  nothing (``neardup``).
* A restricted project is left out as a whole; a removed passage takes its near-duplicates with it.
* Anonymisation is per document and idempotent; its mapping is never stored (``anonymize``).
"""
