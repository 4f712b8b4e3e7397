"""Export corrected decisions as few-shot examples for a judge, as JSON lines."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any

import orjson

from reviews.database.held_transaction import HeldTransaction
from reviews.database.replica import yield_from_replica
from reviews.evidence import task_context
from reviews.evidence.task_context import RecordContext
from reviews.judge import error_analysis
from reviews.judge.scope import JudgeScope
from reviews.models import CauseMention

# Each example loads a record with all its texts.
_BATCH = 50


@yield_from_replica
def stream_examples(scope: JudgeScope) -> Iterator[bytes]:
    """Yield one example per named cause, oldest first, reading a batch of records at a time."""
    with HeldTransaction():
        mentions = error_analysis.find_mentions(scope).order_by("review", "criterion")
        named = iter(mentions.select_related("review__evaluation", "review__reviewer").iterator(_BATCH))
        while batch := list(islice(named, _BATCH)):
            records = [mention.review.evaluation for mention in batch]
            for mention, context in zip(batch, task_context.find_contexts(records), strict=True):
                yield orjson.dumps(_example(mention, context), option=orjson.OPT_APPEND_NEWLINE)


def _example(mention: CauseMention, context: RecordContext | None) -> dict[str, Any]:
    """Build an example. `input` is null if neither the record nor its task context has it.

    The response of a record that compares two is a list of both, with their names.
    """
    review, record = mention.review, mention.review.evaluation
    quoted = error_analysis.quote(review, mention.criterion)
    context = context or RecordContext()
    compared = [asdict(one) for one in context.responses] if context.compares_two else None
    return {
        "evaluation_id": record.evaluation_id,
        "task_id": record.task_id,
        "model_id": record.model_id,
        "judge_llm_model": record.judge_llm_model,
        "judge_prompt_template_path": record.judge_prompt_template_path,
        "criterion": mention.criterion,
        "cause": mention.cause,
        "input": {
            "question": context.prompt or context.conversation or None,
            "context": context.passages or None,
            "response": compared or record.structured_model_response or context.response,
            "ideal_response": record.structured_ideal_response or context.ideal_response,
            "final_answer": context.final_answer,
        },
        "judge": {"score": quoted.judge_score, "justification": quoted.judge_justification or None},
        "corrected": {"score": quoted.human_score, "justification": quoted.human_justification or None},
        "comment": review.comments,
    }
