"""The first inputs of a training as the model reads them, in a file beside its result.

They are texts of the collection. A log is kept for ever and may be sent to anybody; this file can be erased, and the
erasure of removed passages does so. The log tells prompts, lengths and where to look.
"""

import hashlib
from pathlib import Path

from tendril_assets.training.events import Note, Report
from tendril_assets.training.examples import ExchangeSet, text_columns
from tendril_assets.training.job import TrainingJob, write_json

FILE = "first_inputs.json"
_SHOWN_INPUTS, _SHOWN_CHARACTERS = 3, 200


def tell_first_inputs(job: TrainingJob, exchange: ExchangeSet, report: Report) -> Path:
    """Write the query, the positive and the first negative of the first example, and tell of them without their texts.

    One row each: ``column``, ``prompt``, ``characters`` of the text, its start ``shown`` behind the prompt, and of a passage
    the ``sha256`` of its whole text, by which it is known when it is removed.
    """
    rows, told = [], []
    columns = text_columns(exchange)[:_SHOWN_INPUTS]
    for column, text in zip(columns, exchange.train.select(columns).row(0), strict=True):
        is_query = column == "query"
        prompt = job.spec.query_prompt if is_query else job.spec.document_prompt
        digest = None if is_query else hashlib.sha256(text.encode()).hexdigest()
        rows.append(
            {
                "column": column,
                "prompt": prompt,
                "characters": len(text),
                "sha256": digest,
                "shown": shown(prompt + text),
            }
        )
        told.append(f"{column.replace('_', ' ')}: {prompt!r} and {len(text):,} characters")
    path = write_json(job.folder / FILE, rows)
    report(Note(f"the first inputs are in {path}: {'; '.join(told)}"))
    return path


def shown(text: str) -> str:
    """At most ``_SHOWN_CHARACTERS`` of it, cut between words where there are any, and how much is left out."""
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    head, following = text[:_SHOWN_CHARACTERS], text[_SHOWN_CHARACTERS]
    is_inside_word = not (head[-1].isspace() or following.isspace())
    head = (head.rsplit(maxsplit=1)[0] if is_inside_word else head).rstrip()
    return f"{head} … ({len(text) - len(head):,} more characters)"
