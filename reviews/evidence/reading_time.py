"""Estimate the amount of text to read in a record, and the reading time."""

from collections.abc import Iterable, Iterator
from typing import Any

from reviews.models import Evaluation
from reviews.rubric.proposals import Proposal

# Silent reading of non-fiction in English by adults: 238 words a minute on average (Brysbaert 2019, "How many
# words do we read per minute?", Journal of Memory and Language 109). Checking a proof takes longer.
WORDS_PER_MINUTE = 240
MS_PER_WORD = 60_000 // WORDS_PER_MINUTE
# The members of a record's task context that make up its question.
_QUESTION = ("prompt", "conversation", "context")


def count_words_to_read(evaluation: Evaluation, proposals: Iterable[Proposal]) -> int:
    """Count the words that are new in this record: the responses and the judge's justifications.

    The question and the reference answer do not count: the records of a task share them. The question counts
    in a record without a task.
    """
    own = evaluation.task_context or {}
    counted = ("responses",) if evaluation.task_id is not None else ("responses", *_QUESTION)
    texts = [
        *_texts(evaluation.structured_model_response),
        *_texts([own.get(name) for name in counted]),
        *(proposal.justification for proposal in proposals),
    ]
    return sum(len(text.split()) for text in texts)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value at any depth."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            waiting += one.values()
