"""Which passages a model's weights come from: those of the examples in use, and those its best step was chosen by."""

import polars as pl

TRAIN_PART, VALIDATION_PART = "train", "validation"


def trained_on(examples: pl.DataFrame, validation: pl.DataFrame, corpus: pl.DataFrame) -> pl.DataFrame:
    """``passage_id document_id group_id part``, one row per passage, sorted.

    Args:
        examples: table ``training_examples``; the rows in use count, positives and negatives alike.
        validation: passages that validation queries rank (``ExchangeSet.corpus``). One that is trained on too counts as
            that.
        corpus: table ``corpus``, which every one of them is in.
    """
    used = examples.filter("used")
    passages = pl.concat([used["positive_id"], used["negative_ids"].explode()]).drop_nulls().unique()
    parts = pl.concat(
        [
            pl.DataFrame({"passage_id": passages}).with_columns(part=pl.lit(TRAIN_PART)),
            validation.select("passage_id", part=pl.lit(VALIDATION_PART)),
        ]
    ).unique("passage_id", keep="first", maintain_order=True)
    places = corpus.select("passage_id", "document_id", "group_id")
    return places.join(parts, on="passage_id").sort("passage_id")
