"""The kinds of items in the inbox: which rows wait for whom.

Each item is a row with a `position`. Positions order the items of a kind, the oldest first. An index finds
the rows of each kind, so counting them does not depend on the size of the runs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from reviews.accounts.permissions import can
from reviews.dashboard import spot_checks
from reviews.models import Escalation, Export, FileConflict, Import, Notification, Run, User
from reviews.models.evaluations import LARGE_COLUMNS
from reviews.models.runs import in_visible_runs
from reviews.review.known_answer_rows import answers_to_give
from reviews.sampling.planned_shares import finished_plans
from reviews.webhooks.deliveries import active_webhooks, failed_deliveries

Rows = QuerySet[Any]
_NOT_ARCHIVED = Q(run__archived_at=None)
_LARGE = [f"evaluation__{column}" for column in LARGE_COLUMNS]


class Kind(NamedTuple):
    #: The name in addresses.
    name: str
    #: The heading of the group; neighbouring kinds with the same heading are one group.
    heading: str
    #: The permission of people who settle its items.
    permission: str
    #: Returns the rows that wait for a person. It may use the person's key and which runs they see, but
    #: neither the time nor another value that changes: the statement that counts the rows is compiled once.
    rows: Callable[[User], Rows]
    #: The column with the run of a row; empty if it has none.
    run: str = "run"

    def has_rows_for(self, person: User, run: Run | None = None) -> bool:
        """Return whether items of this kind may wait for a person, of one run or of all."""
        return can(person, self.permission) and bool(self.run or not run)

    def rows_for(self, person: User, run: Run | None = None) -> Rows:
        """Return the rows that wait for a person, of one run or of all, with their `position`."""
        if not self.has_rows_for(person, run):
            return Run.objects.none().annotate(position=F("pk"))
        return self.all_rows(person, run.pk if run else None)

    def all_rows(self, person: User, run: int | None) -> Rows:
        """Return the rows as `rows_for` does, by the key of the run and whatever the person may do."""
        rows = self.rows(person)
        return rows.filter(**{self.run: run}) if run else rows


_IS_DISAGREEMENT = Q(kind=Escalation.Kind.DISAGREEMENT)


def _escalations(condition: Q, person: User) -> Rows:
    rows = Escalation.objects.filter(
        condition, _NOT_ARCHIVED, in_visible_runs(person), outcome=Escalation.Outcome.OPEN
    )
    rows = rows.select_related("evaluation", "run", "raised_by").defer(*_LARGE)
    return rows.annotate(position=F("pk"))


def _conflicts(person: User) -> Rows:
    """Return the runs with open conflicts. The position is that of the oldest one."""
    is_open = FileConflict.objects.filter(outcome=FileConflict.Outcome.OPEN)
    # Starts from the open conflicts, not from the runs, of which most have none.
    runs = Run.objects.visible_to(person).filter(pk__in=is_open.values("run").distinct(), archived_at=None)
    oldest = is_open.filter(run=OuterRef("pk")).order_by("pk").values("pk")[:1]
    return runs.annotate(position=Subquery(oldest))


def _spot_checks(person: User) -> Rows:
    return spot_checks.pending_checks(person).annotate(position=F("pk"))


def _known_answers(person: User) -> Rows:
    rows = answers_to_give(person).filter(
        known_answer_check__run__in=Run.objects.visible_to(person), known_answer_check__run__archived_at=None
    )
    return rows.annotate(position=F("pk"))


def _imports(person: User) -> Rows:
    is_listed = Q(run=None) | _NOT_ARCHIVED
    rows = Import.objects.filter(
        is_listed, in_visible_runs(person), state=Import.State.FAILED, dismissed_at=None
    )
    return rows.select_related("run", "created_by", "progress").annotate(position=F("pk"))


def _exports(person: User) -> Rows:
    rows = Export.objects.filter(
        _NOT_ARCHIVED, in_visible_runs(person), state=Export.State.FAILED, dismissed_at=None
    )
    return rows.select_related("run", "created_by").annotate(position=F("pk"))


def _mails(person: User) -> Rows:  # noqa: ARG001 (the same for every admin)
    """Return the people whose e-mails could not be delivered."""
    failed = Notification.objects.filter(person=OuterRef("pk"), state=Notification.State.FAILED)
    return User.objects.filter(Exists(failed)).annotate(position=F("pk"))


def _webhooks(person: User) -> Rows:
    """Return the webhooks with messages that could not be delivered."""
    webhooks = active_webhooks().filter(pk__in=failed_deliveries().values("webhook").distinct())
    return webhooks.filter(Q(run=None) | in_visible_runs(person)).annotate(position=F("pk"))


def _rubrics(person: User) -> Rows:
    """Return the runs whose rubric was inferred and is not confirmed: see `Run.is_rubric_proposed`."""
    runs = Run.objects.visible_to(person).filter(archived_at=None, is_rubric_declared=False)
    return runs.exclude(rubric={}).annotate(position=F("pk"))


def _plans(person: User) -> Rows:
    """Return the runs whose plan of blind reviews has no record left."""
    return finished_plans().visible_to(person).filter(archived_at=None).annotate(position=F("pk"))


KINDS = (
    Kind("question", "Questions and “can't judge”", "lead_review", partial(_escalations, ~_IS_DISAGREEMENT)),
    Kind("disagreement", "Disagreements", "lead_review", partial(_escalations, _IS_DISAGREEMENT)),
    Kind("conflict", "File conflicts", "resolve_conflict", _conflicts, run="pk"),
    Kind("check", "Spot checks", "lead_review", _spot_checks),
    Kind("answer", "Known answers", "lead_review", _known_answers, run="known_answer_check__run"),
    Kind("import", "Failed jobs", "import_file", _imports),
    Kind("export", "Failed jobs", "export_run", _exports),
    Kind("mail", "Failed jobs", "manage_people", _mails, run=""),
    Kind("webhook", "Failed jobs", "manage_webhooks", _webhooks),
    Kind("plan", "Review plans", "configure_run", _plans, run="pk"),
    Kind("rubric", "Rubrics to confirm", "configure_run", _rubrics, run="pk"),
)
BY_NAME = {kind.name: kind for kind in KINDS}
