"""Every warehouse table, declared once: DDL, frame schemas, column comments and UI metadata come from here.

Two vocabularies meet at the corpus. Before it, ``project`` and ``document`` are the raw identifiers of the landing
folder and never leave the machine. From the corpus on, ``group_id``, ``document_id`` and ``passage_id`` are keyed
hashes (see ``corpus.identifiers``) and safe to publish. A *group* is what splits and bootstraps resample.
"""

from tendril_assets.records import Column, Table

# One line per column reads as a table; the formatter would spread each declaration over twice the lines.
# fmt: off


def _table(name: str, stage: str, comment: str, key: str, columns: str) -> Table:
    """Parse the compact notation below: ``name TYPE[?][!] comment`` per line; ``?`` nullable, ``!`` private."""
    parsed = []
    for line in columns.strip().splitlines():
        column, kind, text = line.strip().split(None, 2)
        bare = kind.rstrip("?!")
        parsed.append(Column(column, bare, text, nullable="?" in kind, private="!" in kind))
    return Table(name, stage, comment, tuple(key.split()), tuple(parsed))


LANDING = (
    _table("projects", "landing", "Landed tender projects, one row each.", "project", """
        project VARCHAR SIMAP project number, NFC
        title VARCHAR title of the project
        published DATE? day of publication
        language VARCHAR main language: de, fr or it
        cpv VARCHAR? main CPV code of the procurement"""),
    _table("documents", "landing", "Landed documents, one row each; the bytes stay in the landing folder.",
           "project document", """
        project VARCHAR project the document belongs to
        document VARCHAR file name, NFC
        path VARCHAR absolute path of the file, or of the delivered passages file
        sha256 VARCHAR content hash of the file, or of the delivered passages of this document
        size_bytes BIGINT size of the file; of the delivered text otherwise
        delivered BOOLEAN true where passages came from an upstream pipeline, so that extraction is skipped"""),
    _table("delivered_passages", "landing", "Passages delivered by an upstream pipeline instead of files.",
           "project document page position", """
        project VARCHAR project
        document VARCHAR document
        page INTEGER page of the source document, from 1
        position INTEGER order within the document, from 0
        text VARCHAR! delivered raw text"""),
    _table("areas", "landing", "Areas of action of the catalogs.", "area", """
        catalog VARCHAR catalog id
        area VARCHAR area id, unique over all catalogs
        title VARCHAR title
        text VARCHAR description the summary is written from"""),
    _table("criteria", "landing", "Criteria of the areas, with their ambition levels.", "criterion", """
        catalog VARCHAR catalog id
        area VARCHAR parent area
        criterion VARCHAR criterion id, unique over all catalogs
        text VARCHAR wording
        basis VARCHAR? ambition level Basis
        good_practice VARCHAR? ambition level Gute Praxis
        exemplary VARCHAR? ambition level Vorbild"""),
    _table("evidence", "landing", "Prior relevance evidence per project and area.", "project area", """
        project VARCHAR project
        area VARCHAR area
        tier VARCHAR validated_relevant, unvalidated_relevant, unsure or irrelevant"""),
    _table("removals", "landing", "The one removal list.", "kind id", """
        kind VARCHAR project, document, passage, act or pair
        id VARCHAR raw or published identifier; a document is project/document, a pair query_id/passage_id
        reason VARCHAR why it was removed
        date DATE day of the request"""),
    _table("test_projects", "landing", "Projects of the external test collection: never sampled.", "project", """
        project VARCHAR project"""),
    _table("test_corpus", "landing", "Passages of the external test collection.", "passage_id", """
        passage_id VARCHAR id as published
        text VARCHAR text
        group_id VARCHAR project as published
        document_id VARCHAR? document as published
        page INTEGER? page"""),
    _table("test_queries", "landing", "Queries of the external test collection.", "query_id", """
        query_id VARCHAR id as published
        text VARCHAR text
        level VARCHAR subset: area_of_action or criterion
        catalog VARCHAR? catalog
        area VARCHAR? area"""),
    _table("test_qrels", "landing", "Human grades of the external test collection.", "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        score TINYINT 0, 1 or 2"""),
    _table("calibration_pairs", "landing", "Human-annotated pairs the judge is measured on.", "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        level VARCHAR subset
        query_text VARCHAR wording shown to the annotators
        passage_text VARCHAR anonymised passage shown to the annotators
        curated_grade TINYINT? the grade agreed on after discussion"""),
    _table("calibration_annotations", "landing", "Single annotators' grades of the calibration pairs.",
           "query_id passage_id annotator", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        annotator VARCHAR annotator
        grade TINYINT? 0, 1 or 2; empty where not annotated"""),
)

CORPUS = (
    _table("sampled_projects", "corpus", "The lowest keyed hashes among the eligible projects.", "project", """
        project VARCHAR project
        group_id VARCHAR published keyed hash of the project
        rank INTEGER position in the keyed order, from 1"""),
    _table("sampled_documents", "corpus", "Up to the set number of documents per sampled project.",
           "project document", """
        project VARCHAR project
        document VARCHAR document
        document_id VARCHAR published keyed hash of project and document
        rank INTEGER position in the keyed order within the project, from 1"""),
    _table("project_areas", "corpus", "Areas of action selected per project.", "project area", """
        project VARCHAR project
        area VARCHAR area
        criterion VARCHAR the one criterion selected for this project and area
        tier VARCHAR? evidence tier it was drawn from; empty for a top-up without evidence
        reason VARCHAR quota or coverage"""),
    _table("document_status", "corpus", "Outcome of reading each sampled document.", "project document", """
        project VARCHAR project
        document VARCHAR document
        outcome VARCHAR ok, partial, no_text_layer, encrypted, too_large, garbled, parse_failed or unsupported
        message VARCHAR? what went wrong, for outcomes other than ok
        pages INTEGER number of pages
        empty_pages INTEGER[] pages without text
        dropped_lines VARCHAR[]! repeated headers and footers taken out
        characters BIGINT characters of text kept
        seconds DOUBLE wall time of the extraction
        extractor_version VARCHAR version of the rule"""),
    _table("passages", "corpus", "Raw passages before the filters.", "passage_id", """
        passage_id VARCHAR published id: keyed hash of project, document, text and occurrence
        project VARCHAR project
        document VARCHAR document
        page INTEGER page it starts on, from 1
        position INTEGER order within the document, from 0
        text VARCHAR! raw text
        characters INTEGER length"""),
    _table("passage_decisions", "corpus", "What the filters decided, one row per raw passage.", "passage_id", """
        passage_id VARCHAR passage
        project VARCHAR project
        kept BOOLEAN true where it stays
        reason VARCHAR? too_short, too_long, degenerate_table, digits_or_symbols or near_duplicate
        figure DOUBLE? the measured figure behind the reason: length, share or similarity
        cause VARCHAR? the kept passage a near-duplicate repeats
        rule_version VARCHAR version of the rule"""),
    _table("restricted_projects", "corpus", "Sentences that restrict the use of a project's documents.",
           "project document page rule sentence", """
        project VARCHAR project, excluded as a whole
        document VARCHAR document
        page INTEGER page
        language VARCHAR language of the rule
        rule VARCHAR offer_only, no_publication or no_third_parties
        sentence VARCHAR! the sentence, as evidence"""),
    _table("anonymized_entities", "corpus", "Counts of masked entities, never the entities.", "project document label", """
        project VARCHAR project
        document VARCHAR document
        label VARCHAR entity label
        entities INTEGER masked occurrences"""),
    _table("corpus", "corpus", "Kept, anonymised passages: what is judged and published.", "passage_id", """
        passage_id VARCHAR published id
        text VARCHAR anonymised text
        group_id VARCHAR keyed hash of the project
        document_id VARCHAR keyed hash of the document
        page INTEGER page of the source document, from 1"""),
    _table("project_status", "corpus", "Where each sampled project stands.", "project", """
        project VARCHAR project
        group_id VARCHAR published keyed hash
        state VARCHAR in_corpus, restricted, empty or failed
        input_hash VARCHAR hash of the project's documents
        documents INTEGER documents sampled
        documents_failed INTEGER documents that gave no text
        passages INTEGER raw passages
        passages_kept INTEGER passages kept
        last_error VARCHAR? last extraction error"""),
)

QUERIES = (
    _table("area_summaries", "queries", "Summaries of the areas of action, written by a named model.", "area", """
        area VARCHAR area
        status VARCHAR ok, too_long or a failure of the gateway
        text VARCHAR? summary of at most the set number of words
        words INTEGER? its length
        model VARCHAR model that was asked
        request_key VARCHAR ledger key of the answer used"""),
    _table("queries", "queries", "Queries in the wording that is judged and published.", "query_id", """
        query_id VARCHAR id, stable over re-runs
        text VARCHAR wording
        level VARCHAR subset that is never averaged away: area_of_action or criterion
        catalog VARCHAR catalog
        area VARCHAR area of action; the parent's for a criterion"""),
    _table("project_queries", "queries", "Which queries were selected for which project.", "group_id query_id", """
        project VARCHAR project
        group_id VARCHAR published keyed hash
        query_id VARCHAR query
        level VARCHAR subset"""),
)

JUDGING = (
    _table("candidates", "judging", "The fan-out: every pair to judge and the request that answers it.",
           "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        group_id VARCHAR group
        request_key VARCHAR hash of all that determines the answer; equal texts share it"""),
    _table("judge_calls", "judging", "Every final answer in the ledger, successes and failures.", "request_key sequence", """
        request_key VARCHAR ledger key
        sequence BIGINT order of writing; the highest is the latest
        purpose VARCHAR judge, calibration or area_summary
        model VARCHAR model asked
        answered_model VARCHAR? model that answered
        provider VARCHAR? route that answered
        status VARCHAR answered, truncated, filtered, empty, error or bad_body
        http_status INTEGER? HTTP status
        finish_reason VARCHAR? finish reason
        content VARCHAR? the answer's text
        prompt_tokens BIGINT? tokens in
        completion_tokens BIGINT? tokens out
        cached_tokens BIGINT? tokens read from the provider's prompt cache
        cost DECIMAL(18,9)? USD as charged; empty is unknown, zero is free
        attempts INTEGER HTTP attempts behind this answer
        seconds DOUBLE latency of the last attempt
        called_at TIMESTAMP time of the answer, UTC"""),
    _table("judgments", "judging", "One row per judged pair; a failure is a status, never a grade.",
           "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        group_id VARCHAR group
        request_key VARCHAR request that answered it
        status VARCHAR ok, parse_error or the failure of the call
        grade TINYINT? 0, 1 or 2 where status is ok
        parser_version VARCHAR version of the grammar"""),
    _table("judge_agreement", "judging", "Judge against humans, and humans among themselves.",
           "level scale statistic raters", """
        level VARCHAR subset, or all
        scale VARCHAR graded (0/1/2) or binary (relevant or not)
        statistic VARCHAR kappa, kappa_quadratic or alpha
        raters VARCHAR judge_vs_curated or annotators
        value DOUBLE? the figure; empty where undefined
        low DOUBLE? lower end of the 95 % interval
        high DOUBLE? upper end
        n INTEGER pairs (units) it rests on
        missing INTEGER pairs left out for a missing mark
        reason VARCHAR? why the figure is undefined: single_class or no_overlap
        confusion VARCHAR? JSON table, rows human, columns judge"""),
)

QRELS = (
    _table("qrels", "qrels", "Accepted grades.", "query_id passage_id", """
        query_id VARCHAR query
        passage_id VARCHAR passage
        group_id VARCHAR group
        score TINYINT 0, 1 or 2"""),
    _table("splits", "qrels", "Split of each group.", "group_id", """
        group_id VARCHAR group
        split VARCHAR train or validation"""),
    _table("leakage", "qrels", "Training passages that repeat held-out text; they leave training.",
           "passage_id cause cause_set", """
        passage_id VARCHAR training passage
        cause VARCHAR held-out passage it repeats
        cause_set VARCHAR validation or test
        similarity DOUBLE Jaccard similarity"""),
)

TRAINING = (
    _table("training_examples", "training", "Query, positive and three own negatives.", "query_id positive_id", """
        query_id VARCHAR query
        level VARCHAR subset
        group_id VARCHAR group
        positive_id VARCHAR passage of grade 2
        negative_ids VARCHAR[] three passages of grade 0 of the same query and group; fewer where dropped
        used BOOLEAN true where it is trained on
        reason VARCHAR? too_few_negatives, leak or balance where not used"""),
    _table("learning_curves", "training", "What training reported, step by step.", "model step measure", """
        model VARCHAR fine-tuned model
        step INTEGER optimiser step; 0 is the base
        measure VARCHAR loss, learning_rate, balanced_ndcg@10 or ndcg@10:<subset>
        value DOUBLE value"""),
    _table("trained_models", "training", "Fine-tuned models and what made them.", "model", """
        model VARCHAR name in the collection's specification
        base VARCHAR base model
        revision VARCHAR? pinned revision of the base
        config_hash VARCHAR hash of the recipe
        data_hash VARCHAR hash of the exported training data
        path VARCHAR folder of the kept weights
        best_step INTEGER step kept
        best_value DOUBLE balanced nDCG@10 on the validation groups at that step
        base_value DOUBLE the same of the base
        examples INTEGER training examples
        truncated_inputs INTEGER inputs cut at the maximum length
        steps INTEGER optimiser steps made
        seconds DOUBLE wall time of training, over all resumes
        versions VARCHAR JSON of library versions"""),
)

EVALUATION = (
    _table("retrieval_runs", "evaluation", "Rankings of the external test collection.", "system query_id passage_id", """
        system VARCHAR ranked system
        query_id VARCHAR query
        passage_id VARCHAR passage
        group_id VARCHAR group the passage was ranked in
        rank INTEGER rank, from 1; ties by passage id descending
        score DOUBLE score"""),
    _table("query_scores", "evaluation", "Measures per query.", "system query_id group_id measure", """
        system VARCHAR system
        query_id VARCHAR query
        group_id VARCHAR group
        level VARCHAR subset
        measure VARCHAR measure
        value DOUBLE value
        relevant INTEGER relevant passages of the query in this group"""),
    _table("group_scores", "evaluation", "Measures per group: mean over its queries.", "system group_id level measure", """
        system VARCHAR system
        group_id VARCHAR group
        level VARCHAR subset, or all
        measure VARCHAR measure
        value DOUBLE mean
        queries INTEGER queries with a relevant passage"""),
    _table("system_scores", "evaluation", "Macro means over groups with bootstrap intervals.", "system level measure", """
        system VARCHAR system
        level VARCHAR subset, or all
        measure VARCHAR measure
        value DOUBLE macro mean over groups
        low DOUBLE? lower end of the 95 % percentile interval; empty with one group
        high DOUBLE? upper end
        groups INTEGER groups
        queries INTEGER query and group pairs counted in
        excluded INTEGER query and group pairs left out, without a relevant passage"""),
    _table("comparisons", "evaluation", "Paired bootstrap of each fine-tuned model against its base and BM25.",
           "system baseline level measure", """
        system VARCHAR fine-tuned system
        baseline VARCHAR system it is compared with
        level VARCHAR subset, or all
        measure VARCHAR measure
        difference DOUBLE mean paired difference over groups
        low DOUBLE? lower end of the 95 % interval
        high DOUBLE? upper end
        p DOUBLE? two-sided paired bootstrap
        p_holm DOUBLE? after Holm over the fine-tuned models, per measure
        groups INTEGER groups"""),
)

RELEASE = (
    _table("releases", "release", "Releases written to disk.", "version", """
        version VARCHAR version
        path VARCHAR folder
        content_hash VARCHAR hash of the data files
        key_fingerprint VARCHAR fingerprint of the keyed-hash secret
        sandbox BOOLEAN made with the sandbox secret: cannot be published
        corpus_rows BIGINT passages
        query_rows BIGINT queries
        qrel_rows BIGINT judgments
        created_at TIMESTAMP time, UTC"""),
)

TABLES: dict[str, Table] = {
    t.name: t for t in (*LANDING, *CORPUS, *QUERIES, *JUDGING, *QRELS, *TRAINING, *EVALUATION, *RELEASE)
}
