"""What is done with the texts of a document: masked, looked through for personal data, for restricting clauses.

Each kind of work is a function from bytes to bytes: a JSON list of texts (or of [page, text]) in, a JSON answer out. It
runs in this process or, the same function made from the same argument, in child processes (``child_pool``), where many
texts wait and the work may run several times side by side. A model may not: each process would need its memory.

An error that a document raises is its own answer, ``{"failed": ...}``, with the kind of error and the place in the code,
for the message of an error may quote the text. What is wrong with the machine (memory) or the installation (a
TendrilError) is raised.
"""

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tendril_assets.child_pool import Job, answers
from tendril_assets.corpus.anonymize import Anonymizer, Detector, residual
from tendril_assets.corpus.restrictions import RULE_VERSION, document_restrictions
from tendril_assets.errors import TendrilError
from tendril_assets.resources.detector import build_detector, rule_detector
from tendril_assets.spec_corpus import AnonymizationSpec

Answer = Callable[[bytes], bytes]

# Starting two children costs about as much as masking so many characters does in one process.
SPREAD_FROM_CHARACTERS = 1_500_000
_MODULE = "tendril_assets.resources.text_work"


@dataclass(frozen=True)
class TextWork:
    """``identity`` names all that determines an answer besides the texts; ``factory`` and ``argument`` make ``answer``
    in a child process, None where it stays in this one."""

    identity: str
    answer: Answer
    factory: str | None = None
    argument: str = ""


def masking_work(anonymizer: Anonymizer, spec: AnonymizationSpec | None = None) -> TextWork:
    """Answers [masked texts, counts]. ``spec``: the one ``anonymizer`` was built from; with rules it may be spread."""
    may_spread = spec is not None and spec.detector == "rules"
    return TextWork(
        anonymizer.identity,
        _failing_alone(lambda texts: _masked(anonymizer, texts)),
        f"{_MODULE}:masking_answer" if may_spread else None,
        spec.model_dump_json() if spec is not None else "",
    )


def residual_search(detector: Detector | None = None) -> TextWork:
    """Answers one sorted list of labels per text. Without ``detector`` the rules look, and may be spread."""
    own = rule_detector() if detector is None else detector
    return TextWork(
        own.identity,
        _failing_alone(lambda texts: _labels_left(own, texts)),
        f"{_MODULE}:residual_answer" if detector is None else None,
    )


def restriction_search() -> TextWork:
    """Of one document as [page, text] in reading order; answers [page, language, rule, sentence] of each clause."""
    return TextWork(f"restrictions-{RULE_VERSION}", restriction_answer(""), f"{_MODULE}:restriction_answer")


def done(work: TextWork, jobs: Iterable[Job], characters: int, workers: int) -> Iterator[tuple[str, bytes]]:
    """(name, answer) of each job; in order where it is done in this process, else as they are finished.

    ``characters``: about how much text the jobs hold, which decides whether children are worth their start.
    """
    if work.factory is None or workers == 1 or characters < SPREAD_FROM_CHARACTERS:
        return ((job.name, work.answer(job.data)) for job in jobs)
    return answers(work.factory, work.argument, jobs, workers)


# Made in a child process by name --------------------------------------------------------------------------------------
def masking_answer(argument: str) -> Answer:
    return masking_work(Anonymizer(build_detector(AnonymizationSpec.model_validate_json(argument)))).answer


def residual_answer(argument: str) -> Answer:
    return residual_search().answer


def restriction_answer(argument: str) -> Answer:
    return _failing_alone(
        lambda texts: [(page, f.language, f.rule, f.sentence) for page, f in document_restrictions(texts)]
    )


def _masked(anonymizer: Anonymizer, texts: Sequence[str]) -> Any:
    document = anonymizer.document(texts)
    return [document.texts, document.counts]


def _labels_left(detector: Detector, texts: Sequence[str]) -> list[list[str]]:
    return [sorted({span.label for span in residual(text, detector)}) for text in texts]


def _failing_alone(work: Callable[[list[Any]], Any]) -> Answer:
    def answer(data: bytes) -> bytes:
        try:
            found = work(json.loads(data))
        except (MemoryError, TendrilError):
            raise
        except Exception as error:  # rules and models raise what they like; the other documents go on
            place = traceback.extract_tb(error.__traceback__)[-1]
            found = {"failed": f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"}
        return json.dumps(found).encode()

    return answer
