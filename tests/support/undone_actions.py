"""Actions that a person can undo."""

from collections.abc import Callable

from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from reviews.review import escalations
from tests.support.factories import EvaluationFactory
from tests.support.work import decide

Act = Callable[[Evaluation, User], object]


def record_in(run: Run, task: str) -> Evaluation:
    return EvaluationFactory.create(run=run, task_id=task, model_id="o1")


def skip(evaluation: Evaluation, reviewer: User) -> None:
    claims.skip(evaluation_id=evaluation.pk, reviewer=reviewer)


def release(evaluation: Evaluation, reviewer: User) -> None:
    claims.release(evaluation_id=evaluation.pk, actor=reviewer)


def escalate(evaluation: Evaluation, reviewer: User, kind: str = "cannot judge") -> None:
    escalations.escalate(evaluation_id=evaluation.pk, reviewer=reviewer, kind=kind, reason="", note="")


def ask(evaluation: Evaluation, reviewer: User) -> None:
    escalate(evaluation, reviewer, "question")


def submit(evaluation: Evaluation, reviewer: User) -> None:
    decide(evaluation, reviewer, comments="Hm.")


def claim(evaluation: Evaluation, reviewer: User) -> None:
    claims.claim(evaluation_id=evaluation.pk, reviewer=reviewer)


KINDS: dict[str, tuple[Act, str, str]] = {
    "submit": (submit, "submitted Task 7 · o1", "undo"),
    "skip": (skip, "skipped Task 7 · o1", "undo skip"),
    "release": (release, "released Task 7 · o1", "undo release"),
    "question": (ask, "asked a lead about Task 7 · o1", "withdraw escalation"),
    "cannot judge": (escalate, "escalated Task 7 · o1", "withdraw escalation"),
}
