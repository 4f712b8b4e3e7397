"""A run that is restricted to its members."""

from django.test import Client

from reviews.models import Evaluation, User
from reviews.queue.members import configure_members
from tests.support.addresses import one_of_everything
from tests.support.factories import SCORES, EvaluationFactory, RunFactory

# It is part of the name of the run, and of its task and model ids and criteria.
SECRET = "zebra"


def record_with_everything(admin: User) -> Evaluation:
    """Create a record of an open run, with a row for every address."""
    values = {
        "task_id": SECRET,
        "model_id": SECRET,
        "parsed_rubric_scores": {SECRET: SCORES[next(iter(SCORES))]},
    }
    run = RunFactory.create(name=f"{SECRET} run")
    return one_of_everything(admin, EvaluationFactory.create(run=run, **values))


def restrict(record: Evaluation, *members: User) -> None:
    names = [member.username for member in members]
    configure_members(run_id=record.run_id, actor=None, members=names)


def visit(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client
