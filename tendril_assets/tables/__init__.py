"""Every warehouse table, declared once: DDL, frame schemas, column comments and UI metadata come from here.

Two vocabularies meet at the corpus. Before it, ``project`` and ``document`` are the raw identifiers of the landing
folder and never leave the machine. From the corpus on, ``group_id``, ``document_id`` and ``passage_id`` are keyed
hashes (see ``corpus.identifiers``) and safe to publish. A *group* is what splits and bootstraps resample.
"""

from tendril_assets.records import Table
from tendril_assets.tables.corpus import CORPUS
from tendril_assets.tables.judging import DRIFT, JUDGING, QRELS, QUERIES
from tendril_assets.tables.landing import LANDING
from tendril_assets.tables.registers import (
    ACTS,
    CLAUSES,
    EVIDENCE,
    MINING,
    POOL,
    PUBLISHED,
    REGISTER_RESULTS,
    REGISTERS,
    STAGES,
)
from tendril_assets.tables.results import EVALUATION, RELEASE, TRAINING

__all__ = ["ACTS", "LANDING", "OF_REGISTERS", "TABLES"]

_OF_EVERY_COLLECTION = (*LANDING, *CORPUS, *QUERIES, *JUDGING, *DRIFT, *QRELS, *TRAINING, *EVALUATION, *RELEASE)
# Those that only a collection has whose queries are of several registers.
OF_REGISTERS = (*ACTS, *CLAUSES, *REGISTERS, *POOL, *EVIDENCE, *MINING, *REGISTER_RESULTS, *STAGES, *PUBLISHED)

TABLES: dict[str, Table] = {t.name: t for t in (*_OF_EVERY_COLLECTION, *OF_REGISTERS)}
