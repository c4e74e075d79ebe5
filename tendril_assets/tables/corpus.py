"""From the sample to the corpus and its duplicate index. See ``tables``."""

from tendril_assets.records import declare

# One line per column reads as a table; the formatter would spread each declaration over twice the lines.
# fmt: off

CORPUS = (
    declare("sampled_projects", "corpus", "The lowest keyed hashes among the eligible projects.", "project", """
        project VARCHAR project
        group_id VARCHAR published keyed hash of the project
        rank INTEGER position in the keyed order, from 1"""),
    declare("sampled_documents", "corpus", "Up to the set number of documents per sampled project.",
            "project document", """
        project VARCHAR project
        document VARCHAR document
        document_id VARCHAR published keyed hash of project and document
        rank INTEGER position in the keyed order within the project, from 1"""),
    declare("project_areas", "corpus", "Areas of action selected per project.", "project area", """
        project VARCHAR project
        area VARCHAR area
        criterion VARCHAR the one criterion selected for this project and area
        tier VARCHAR? evidence tier it was drawn from; empty for a top-up without evidence
        reason VARCHAR quota or coverage"""),
    declare("document_status", "corpus", "Outcome of reading each sampled document.", "project document", """
        project VARCHAR project
        document VARCHAR document
        outcome VARCHAR ok, partial, no_text_layer, encrypted, too_large, garbled, parse_failed or unsupported
        message VARCHAR? what went wrong, for outcomes other than ok
        pages INTEGER number of pages
        empty_pages INTEGER[] pages without text
        dropped_lines VARCHAR[]! repeated headers and footers taken out
        characters BIGINT characters of text kept
        page_characters INTEGER[] characters of text on each page, the first one first; empty for delivered passages
        seconds DOUBLE wall time of the extraction
        extractor_version VARCHAR version of the rule"""),
    declare("passages", "corpus", "Raw passages before the filters.", "passage_id", """
        passage_id VARCHAR published id: keyed hash of project, document, text and occurrence
        project VARCHAR project
        document VARCHAR document
        page INTEGER page it starts on, from 1
        position INTEGER order within the document, from 0
        text VARCHAR! raw text
        characters INTEGER length"""),
    declare("passage_decisions", "corpus", "What was decided on each raw passage: one row each, kept or with one reason.",
            "passage_id", """
        passage_id VARCHAR passage
        project VARCHAR project
        kept BOOLEAN true where it is in the corpus
        reason VARCHAR? of the filters (too_short, ..., near_duplicate), restricted_project or masking_failed; empty where kept
        figure DOUBLE? the measured figure behind the reason: length, share or similarity
        cause VARCHAR? the kept passage a near-duplicate repeats
        rule_version VARCHAR version of the rule"""),
    declare("guarded_pairs", "corpus", "Pairs of a project alike enough to be near-duplicates that differ in a number or a "
            "negation. They are two passages while the guard is on.", "passage_id other_id", """
        passage_id VARCHAR passage
        other_id VARCHAR the older of the two
        project VARCHAR project
        similarity DOUBLE n-gram Jaccard similarity
        difference VARCHAR number (bounds and months too) or negation"""),
    declare("restricted_projects", "corpus", "Sentences that restrict the use of a project's documents.",
            "project document page rule sentence", """
        project VARCHAR project, excluded as a whole
        document VARCHAR document; restriction_reviews.csv for a person's verdict
        page INTEGER page the sentence begins on; 0 for a person's verdict
        language VARCHAR language of the sentence: de, fr or it; of the project for a person's verdict
        rule VARCHAR offer_only, no_publication or no_third_parties; review for a person's verdict
        sentence VARCHAR! the sentence, as evidence; the reason of a person's verdict"""),
    declare("cleared_restrictions", "corpus", "Sentences found in projects that a person declared free of restrictions.",
            "project document page rule sentence", """
        project VARCHAR project, not excluded
        document VARCHAR document
        page INTEGER page the sentence begins on
        language VARCHAR language of the sentence: de, fr or it
        rule VARCHAR offer_only, no_publication or no_third_parties
        sentence VARCHAR! the sentence the rules took for a restriction
        reason VARCHAR why the project is free all the same
        date DATE day of the verdict"""),
    declare("anonymized_entities", "corpus", "Counts of masked entities, never the entities.", "project document label", """
        project VARCHAR project
        document VARCHAR document
        label VARCHAR entity label
        entities INTEGER masked occurrences"""),
    declare("masked_samples", "corpus", "A few placeholders of each label between their neighbours, to see by eye what is "
            "masked and what is not.", "label passage_id context", """
        label VARCHAR entity label
        passage_id VARCHAR a passage of the corpus that holds it
        context VARCHAR the placeholder with a few words on either side"""),
    declare("corpus", "corpus", "Kept, anonymised passages: what is judged and published.", "passage_id", """
        passage_id VARCHAR published id
        text VARCHAR anonymised text
        group_id VARCHAR keyed hash of the project
        document_id VARCHAR keyed hash of the document
        page INTEGER page of the source document, from 1"""),
    declare("passage_texts", "corpus", "Which text each passage of the corpus and of the test collection holds; equal "
            "texts, by their normal form, are one text.", "passage_id source", """
        passage_id VARCHAR published id
        source VARCHAR corpus or test
        group_id VARCHAR group of the passage
        text_id VARCHAR hash of the normalised text"""),
    declare("similar_texts", "corpus", "Pairs of different texts at or above the near-duplicate threshold that stand in "
            "different groups; with passage_texts the duplicate index of the whole collection.", "text_id other_id", """
        text_id VARCHAR text, the lower id of the two
        other_id VARCHAR text
        similarity DOUBLE n-gram Jaccard similarity, without the guard
        containment DOUBLE share of the n-grams of the smaller text that the larger one holds too"""),
    declare("removed_passages", "corpus", "Passages the removal list takes out, known again without their text.",
            "entry passage_id", """
        entry VARCHAR id of the entry in the removal list
        passage_id VARCHAR published id of the passage
        project VARCHAR project it was found in
        document VARCHAR document it was found in
        page INTEGER page it was found on
        how VARCHAR listed (the entry names it), copy (it repeats one), remembered (not found any more)
        rules VARCHAR[] restrictions it states, as language:rule; they go on to exclude the project
        whole VARCHAR?! keyed hash of its letters and digits; empty for copies
        runs VARCHAR[]! keyed hashes of each run of twelve of them, by which it is known again under another id"""),
    declare("removal_effects", "corpus", "What each entry of the removal list hit: one row per project, document or "
            "passage entry.", "kind id", """
        kind VARCHAR project, document or passage
        id VARCHAR identifier as in the list
        state VARCHAR effective, absent (it took effect before and finds nothing now) or no_match (it never found anything)
        projects INTEGER landed projects it takes out
        documents INTEGER landed documents it takes out, those of its projects included
        passages INTEGER passages it took out of documents that were read, copies included
        suggestion VARCHAR? nearest landed name, where nothing matched"""),
    declare("erased_ids", "corpus", "Published ids of all that the removal list names or hit, known without its text.",
            "kind id", """
        kind VARCHAR project, document or passage
        id VARCHAR published keyed hash
        entry VARCHAR id of the entry in the removal list
        since TIMESTAMP when the first run that erased it did so, UTC"""),
    declare("erasures", "corpus", "What was erased where: one row per place and erasing run; nothing of what it was.",
            "erased_at place name", """
        erased_at TIMESTAMP time, UTC
        place VARCHAR warehouse, snapshot, ledger, cache, hand_over, training or release
        name VARCHAR table, kind of cache, file, model or version
        items BIGINT rows, replies or files that were erased"""),
    declare("project_status", "corpus", "Where each landed project stands. The input hash covers its sampled documents "
            "(else the landed ones), the removals that touch it and the versions of all rules.", "project", """
        project VARCHAR project
        group_id VARCHAR published keyed hash
        state VARCHAR in_corpus, restricted, failed, empty, not_sampled, test_collection or removed
        reason VARCHAR? why it stands there
        input_hash VARCHAR changes when anything does that this project's passages depend on
        documents_landed INTEGER documents in the landing folder
        documents INTEGER documents sampled
        documents_failed INTEGER sampled documents that gave no text or could not be masked
        passages INTEGER raw passages
        passages_kept INTEGER passages in the corpus
        passages_dropped INTEGER passages the filters dropped
        last_error VARCHAR? last error of a document"""),
)
