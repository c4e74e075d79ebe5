"""Writes down which pairs of the sample count as published: ``python -m tendril_assets.sandbox.regulations.publish``.

They are a file of their own, and not made with the landing folder, so that a rule of cutting that moves a passage is found
out on the sample as it would be on published data. Run it where the rule was changed on purpose, and look at the difference.
"""

import sys
from collections import Counter
from functools import cache
from pathlib import Path

from tendril_assets.corpus.acts import act_text as as_landed
from tendril_assets.corpus.clause_chunks import Chunk, chunks_of
from tendril_assets.corpus.clause_passages import act_title
from tendril_assets.corpus.content_check import content_check
from tendril_assets.corpus.tokens import token_counter
from tendril_assets.defs import collection_spec
from tendril_assets.sandbox.regulations.clauses import clause_for
from tendril_assets.sandbox.regulations.content_files import Act, act_of, acts
from tendril_assets.sandbox.regulations.questions import live
from tendril_assets.sandbox.regulations.texts import act_text
from tendril_assets.sandbox.regulations.wording import short_date
from tendril_assets.spec_corpus import ChunkingSpec

PAIRS = 36
PLACE = Path(__file__).parent / "content" / "published_qrels.tsv"
HEADER = "query-id\tcorpus-id\tscore\tcheck"


def published_lines() -> list[str]:
    """Pairs of grade 2 of the live questions whose topic names clauses, each in a passage of its own."""
    texts = Counter(question.text for question in live())
    several = {number for number, n in Counter(act.number for act in acts()).items() if n > 1}
    found = []
    for question in live():
        if not question.act or not question.topic or texts[question.text] > 1:
            continue
        act = act_of(question.act)
        numbers = {clause_for(act, matter.thing, matter.facet).number for matter in question.matters}
        # A question whose topic names a clause that is not there, or none, or that leaves the revision open, has no gold.
        named = set(question.topic.rpartition("(")[2].rstrip(")").split(", "))
        if act.source != "file" or act.number in several or named != numbers:
            continue
        for place, chunk in enumerate(chunks(act)):
            own = numbers & set(chunk.clauses)
            if own and all(sum(number in other.clauses for other in chunks(act)) == 1 for number in own):
                found.append(f"{question.query_id}\t{act.key}#{place:04d}\t2\t{content_check(chunk.text)}")
    return [HEADER, *found[:PAIRS]]


@cache
def chunks(act: Act) -> tuple[Chunk, ...]:
    """The act's passages as the corpus cuts them."""
    title = act_title(act.number, short_date(act.date), act.title)
    chunking = _chunking()
    return tuple(chunks_of(as_landed(act_text(act)), title, chunking, token_counter(chunking.tokenizer)))


@cache
def _chunking() -> ChunkingSpec:
    return collection_spec("regulations", "sandbox").chunking


def main() -> int:
    lines = published_lines()
    PLACE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sys.stdout.write(f"{len(lines) - 1} pairs in {PLACE}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
