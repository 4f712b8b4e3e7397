"""Parts of the pages about the judge, and the decisions that they show."""

from typing import Any

from django.urls import reverse

from reviews.models import Evaluation, Run, User
from reviews.search import strata
from reviews.views.judge.confusion import ConfusionTable
from reviews.views.judge.sections import Section
from tests.support.work import decide, evaluations, lock_in_scores

CLARITY = "Clarity"


def review(
    run: Run, reviewer: User, judge: Any, human: Any, *, blind: Any = None, cause: str = "", **record: Any
) -> Evaluation:
    """Create a decided record with a judge score and a reviewer score."""
    [evaluation] = evaluations(run, tasks=["1"], **{"aggregated_score": None} | record)
    if blind is not None:
        lock_in_scores(evaluation, reviewer, {CLARITY: blind}, judged={CLARITY: judge})
    decide(
        evaluation,
        reviewer,
        scores={CLARITY: {"score": human, "justification": "Step 3 follows."}},
        origins={CLARITY: "human"},
        judged={CLARITY: judge},
        causes={CLARITY: cause} if cause else {},
        active_ms=60_000,
    )
    strata.recount(run, {})
    return evaluation


def place(name: str, run: Run, **query: str) -> str:
    return reverse(name, args=[run.pk], query=query)


def sections(response: Any) -> dict[str, Section]:
    """Return the sections of a page by name."""
    return {section.name: section for section in response.context["sections"]}


def confusions(response: Any) -> list[ConfusionTable]:
    """Return the confusion matrices of a page."""
    shown = [one for one in response.context["sections"] if one.template == "judge/confusions.html"]
    return [confusion for section in shown for confusion in section.data]
