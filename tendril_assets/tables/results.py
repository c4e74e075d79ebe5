"""Training, evaluation and releases. See ``tables``."""

from tendril_assets.records import declare

# One line per column reads as a table; the formatter would spread each declaration over twice the lines.
# fmt: off

TRAINING = (
    declare("training_examples", "training", "Query, positive and three own negatives.", "query_id positive_id", """
        query_id VARCHAR query
        level VARCHAR subset
        group_id VARCHAR group
        positive_id VARCHAR passage of grade 2
        negative_ids VARCHAR[] passages of grade 0 of the same query and group; fewer than the recipe asks for where dropped
        used BOOLEAN true where it is trained on
        reason VARCHAR? leak, repeat, too_few_negatives, balance or cap where not used"""),
    declare("learning_curves", "training", "What training reported, step by step.", "model step measure", """
        model VARCHAR fine-tuned model
        step INTEGER optimiser step; 0 is the base
        measure VARCHAR loss, learning_rate, balanced_ndcg@10 or ndcg@10:<subset>
        value DOUBLE value"""),
    declare("trained_models", "training", "Fine-tuned models and what made them.", "model", """
        model VARCHAR name in the collection's specification
        base VARCHAR base model
        revision VARCHAR? commit of the base that was loaded; empty for a folder or package
        base_weights VARCHAR weights trained from: SHA-256, or hub id and commit, as ranked_systems names them
        config_hash VARCHAR hash of the recipe
        data_hash VARCHAR hash of the exported training data
        path VARCHAR folder of the kept weights
        best_step INTEGER step kept
        best_value DOUBLE balanced nDCG@10 on the validation groups at that step
        best_measured_on VARCHAR device, precision, libraries and token budget of that measurement
        reproduced_value DOUBLE the same of the kept weights, loaded again once training was over
        reproduced_on VARCHAR device, precision, libraries and token budget of this one
        base_value DOUBLE the same of the base
        examples INTEGER training examples
        validation VARCHAR JSON of groups and queries per subset that the balanced value is over
        inputs INTEGER different inputs of training and validation
        query_inputs INTEGER those read as queries
        document_inputs INTEGER those read as documents
        truncated_inputs INTEGER inputs cut at the maximum length
        truncated_queries INTEGER queries among them
        truncated_documents INTEGER documents among them
        steps INTEGER optimiser steps made
        stop_reason VARCHAR epochs or early_stop
        seconds DOUBLE wall time of training, over all resumes
        parameters BIGINT parameters of the model
        device VARCHAR what it was trained on, of each process
        processes INTEGER training processes
        precision VARCHAR bf16 or fp32
        recipe VARCHAR JSON of recipe, model entry and seed as trained
        weights_sha256 VARCHAR SHA-256 of the kept weights
        versions VARCHAR JSON of library versions"""),
    declare("trained_passages", "training", "Passages whose text the kept weights of a model were trained on.",
            "model weights_sha256 passage_id", """
        model VARCHAR fine-tuned model
        weights_sha256 VARCHAR SHA-256 of the kept weights
        passage_id VARCHAR passage
        document_id VARCHAR document
        group_id VARCHAR group
        part VARCHAR train, or validation for a passage that the best step was chosen by"""),
)

EVALUATION = (
    declare("retrieval_runs", "evaluation", "Rankings of the external test collection.", "system query_id passage_id", """
        system VARCHAR ranked system
        query_id VARCHAR query
        passage_id VARCHAR passage
        group_id VARCHAR group the passage was ranked in
        rank INTEGER rank, from 1; ties by passage id descending
        score DOUBLE score"""),
    declare("ranked_systems", "evaluation", "Which weights ranked which test collection.", "system", """
        system VARCHAR ranked system
        weights VARCHAR? SHA-256 of model.safetensors, or hub id and revision; several joined by ' + '; empty without weights
        test_hash VARCHAR hash of the texts ranked and of who ranks what"""),
    declare("query_scores", "evaluation", "Measures per query.", "system query_id group_id measure", """
        system VARCHAR system
        query_id VARCHAR query
        group_id VARCHAR group
        level VARCHAR subset
        measure VARCHAR measure
        value DOUBLE value
        relevant INTEGER relevant passages of the query in this group"""),
    declare("group_scores", "evaluation", "Measures per group: mean over its queries.", "system group_id level measure", """
        system VARCHAR system
        group_id VARCHAR group
        level VARCHAR subset, or all
        measure VARCHAR measure
        value DOUBLE mean
        queries INTEGER queries with a relevant passage"""),
    declare("system_scores", "evaluation", "Macro means over groups with bootstrap intervals.", "system level measure", """
        system VARCHAR system
        level VARCHAR subset, or all
        measure VARCHAR measure
        value DOUBLE macro mean over groups
        low DOUBLE? lower end of the percentile interval, by default of 95 %; empty with one group
        high DOUBLE? upper end
        groups INTEGER groups
        queries INTEGER query and group pairs counted in
        excluded INTEGER query and group pairs left out, without a relevant passage
        excluded_groups INTEGER groups left out, for none of their judged queries has a relevant passage
        weights VARCHAR? what was ranked, as in ranked_systems
        test_hash VARCHAR test collection, as in ranked_systems"""),
    declare("comparisons", "evaluation", "Paired bootstrap of each fine-tuned model against its base and BM25.",
            "system baseline level measure", """
        system VARCHAR fine-tuned system
        baseline VARCHAR system it is compared with
        level VARCHAR subset, or all
        measure VARCHAR measure
        difference DOUBLE mean paired difference over groups
        low DOUBLE? lower end of the percentile interval, by default of 95 %; empty with one group
        high DOUBLE? upper end
        p DOUBLE? two-sided paired bootstrap
        p_holm DOUBLE? after Holm over the fine-tuned models, per measure
        groups INTEGER groups
        p_permutation DOUBLE? two-sided sign-flip test of the same differences, uncorrected; trust it where groups are few"""),
    declare("catalog_scores", "evaluation", "Macro means over groups of the queries of one catalog, with intervals.",
            "system catalog level measure", """
        system VARCHAR system
        catalog VARCHAR catalog of the queries, or (none); queries add up over catalogs, groups do not
        level VARCHAR subset, or all
        measure VARCHAR measure
        value DOUBLE macro mean over the groups that have such queries
        low DOUBLE? lower end of the percentile interval, by default of 95 %; empty with one group
        high DOUBLE? upper end
        groups INTEGER groups
        queries INTEGER query and group pairs counted in
        excluded INTEGER query and group pairs left out, without a relevant passage
        excluded_groups INTEGER groups left out, for none of their judged queries of this catalog has a relevant passage"""),
    declare("catalog_comparisons", "evaluation", "The comparisons within each catalog; not corrected over catalogs.",
            "system baseline catalog level measure", """
        system VARCHAR fine-tuned system
        baseline VARCHAR system it is compared with
        catalog VARCHAR catalog of the queries, or (none)
        level VARCHAR subset, or all
        measure VARCHAR measure
        difference DOUBLE mean paired difference over groups
        low DOUBLE? lower end of the percentile interval, by default of 95 %; empty with one group
        high DOUBLE? upper end
        p DOUBLE? two-sided paired bootstrap
        p_holm DOUBLE? after Holm over the fine-tuned models, per measure
        groups INTEGER groups that have such queries
        p_permutation DOUBLE? two-sided sign-flip test of the same differences, uncorrected; trust it where groups are few"""),
)

RELEASE = (
    declare("releases", "release", "Releases written to disk.", "version", """
        version VARCHAR version
        path VARCHAR folder
        content_hash VARCHAR hash of the data files
        key_fingerprint VARCHAR fingerprint of the keyed-hash secret
        sandbox BOOLEAN made with the sandbox secret: cannot be published
        corpus_rows BIGINT passages
        query_rows BIGINT queries
        qrel_rows BIGINT judgments
        created_at TIMESTAMP time, UTC
        withdrawn_at TIMESTAMP? when removed passages were taken out of this version's folder, UTC
        removed_rows BIGINT? passages that this version was published with and that are removed since
        removed_judgments BIGINT? judgments of those passages"""),
    declare("released_passages", "release", "Passages of each version as it was published: ids alone, which stay when the "
            "version is withdrawn.", "version passage_id", """
        version VARCHAR version
        passage_id VARCHAR passage
        document_id VARCHAR document
        group_id VARCHAR group"""),
)
