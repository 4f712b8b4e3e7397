"""Tables of the dashboard, and the decisions that they count."""

from typing import Any

from django.test import Client
from django.utils import timezone

from reviews.models import Evaluation, Run, User
from reviews.views.dashboard.key_figures import KeyFigure
from reviews.views.tables import Table
from tests.support.factories import EvaluationFactory
from tests.support.work import SCORES, decide

DESK = "/dashboard/"


def today() -> str:
    return f"{timezone.now():%Y-%m-%d}"


def done(run: Run, reviewer: User, **values: Any) -> Evaluation:
    """Create a record decided by the reviewer, with one of two scores changed."""
    record = EvaluationFactory.create(run=run, **values)
    decide(record, reviewer, judged=dict.fromkeys(SCORES, "Yes"))
    record.refresh_from_db()
    return record


def table(response: Any, name: str) -> list[dict[str, str]]:
    """Return the rows of a table on a page, as cells by column name."""
    shown = next(one for one in tables(response) if one.name == name)
    return [{column.name: cell.text for column, cell in line} for line in shown.lines]


def tables(response: Any) -> list[Table]:
    context = response.context
    return [one.table for one in (context["runs"], context["days"], *context["tables"])]


def figure(response: Any, name: str) -> KeyFigure:
    found: KeyFigure = next(one for one in response.context["figures"] if one.name == name)
    return found


def listed(client: Client, place: str) -> set[str]:
    """Return the addresses of the records in a list of decisions."""
    return {line[0][1].url for line in client.get(place).context["table"].lines}
