"""Releases, cards and the report: everything that leaves the warehouse.

A release is the folder ``release/<collection>/<version>/``:

=========================================  =====================================================================
``corpus/ queries/ qrels/``                one Parquet file each, the configs of ``datasets.load_dataset(folder)``
``beir/``                                  the same rows as ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/train.tsv``
``README.md``                              data card: front matter read off the written files, prose from queries
``LICENSE.md`` ``CHANGELOG.md``            licence text; what changed since the version before
``manifest.json``                          sha256 of each file, fingerprints of secret and specification, sandbox stamp
=========================================  =====================================================================

A fine-tuned model is the folder ``release/<collection>/models/<published name>/``: what ``SentenceTransformer(folder)``
loads, with ``README.md`` (its card), ``LICENSE`` and ``NOTICE``. ``model_inputs`` says why a card is refused: other data,
another recipe or other weights than those that were trained, kept and ranked; ``model_folder`` writes it.

Modules: ``figures`` names the queries (``sql/release/*.sql``) that every number comes from and asserts their sums;
``invariants`` says why a release must not be written; ``huggingface`` and ``beir`` write rows; ``cards`` and
``model_cards`` write prose; ``publish`` puts the folder together and ``folders`` sets it in place with one rename;
``verify`` loads it the way a user would, in a process of its own. ``svg``, ``pictures`` and ``report`` make the
self-contained page.

Decisions. A version is a promise: equal content is left alone, different content under the same version is refused,
but for sandbox releases, which can never be published. Parquet bytes change with the library that writes them, so
"equal" is decided on the text files, which hold the same rows. No file carries a time of day, so the same tables give
the same folder. Models are folders beside the versions, not in them: data must not wait for training.
"""
