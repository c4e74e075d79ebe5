"""From landed projects to anonymised passages that may be judged and published.

Tables: ``sampled_projects`` and ``sampled_documents`` (the lowest keyed hashes), ``project_areas`` (by evidence quota,
then coverage top-up), ``document_status`` (how reading each document ended) and ``passages`` (raw),
``restricted_projects`` (with the sentence that says so), ``passage_decisions`` (one reason per drop), ``guarded_pairs``
(alike but for a number or a negation), ``corpus`` (kept and anonymised), ``passage_texts`` and ``similar_texts`` (the
duplicate index over all projects and the test collection), ``anonymized_entities`` (counts, never entities), ``project_status``.

Decisions:

* Every draw is named by (seed, stage, entity), so a new project never reshuffles the others (``identifiers``).
* A document's text and its masked passages are cached under everything that determines them; a second run reads and
  masks nothing. A time-out or a crash is no property of the document and is not cached.
* Documents are read in child processes with limits on time and memory (``extract_pool``), which import no heavy package.
* A page is read in the order a person would read it: columns, tables row by row, turned text, form values at their
  place (``layout``, ``ruled``, ``pdf_words``). What repeats at the edge of pages is dropped and kept in
  ``document_status.dropped_lines`` (``page_edges``). The rule of passages is stated in ``chunking``.
* Near-duplicates are exact, within the project, keep-first in a stable order: input order and process count change
  nothing (``neardup``). What the last run kept comes first, so nothing that is added takes the place of a published
  passage; the price is that an empty home may keep another copy of a text than one that has grown.
* Every raw passage has one fate, and a check adds them up (``drops``); a restricted project's all have that one reason.
* A restricted project is left out as a whole; a removed passage takes its near-duplicates with it.
* Anonymisation is per document and idempotent; its mapping is never stored (``anonymize``). What a buyer publishes about
  itself stays (organisations, addresses of offices and sites, dates), but for e-mail addresses and phone numbers. A person
  has one number, however the name is written (``people``).
"""
