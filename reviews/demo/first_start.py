"""Set up a new installation: the link to the welcome page and, with `--demo`, people and runs to try."""

import secrets

from django.db import transaction

from reviews.accounts import people
from reviews.accounts.permissions import role_of
from reviews.demo import reviews, run
from reviews.imports import importer, task_context
from reviews.models import Run, User
from reviews.queue.members import configure_members

DEMO_PEOPLE = {"ana": "reviewer", "bo": "reviewer", "lea": "lead", "max": "admin"}


def start_message(url: str) -> str:
    """Return a line with the URL of the site, or with the link to become its first admin."""
    if people.needs_first_admin():
        return f"Open this link once, to become the first admin: {url}/welcome/{people.welcome_token()}/"
    return f"CogniReview runs at {url}/"


@transaction.atomic
def create_demo() -> list[str]:
    """Create missing demo runs and people. Returns a line for each person added."""
    if not Run.objects.filter(name=run.DEMO_RUN).exists():
        done = importer.import_stream(
            blocks=run.demo_lines(), run_name=run.DEMO_RUN, file_name="demo.jsonl", actor=None
        )
        configure_members(run_id=done.target_run.pk, actor=None, members=None)
        task_context.import_context(
            blocks=run.demo_context(), run_name=run.DEMO_RUN, file_name="demo-tasks.jsonl", actor=None
        )
    known = {name.lower() for name in User.objects.values_list("username", flat=True)}
    added = [_added(name) for name in DEMO_PEOPLE if name not in known]
    if not Run.objects.filter(name=reviews.REVIEWED_RUN).exists():
        _review()
    return added


def _review() -> None:
    """Import the reviewed demo runs, unless other people use the names of their reviewers."""
    people = {user.username: user for user in User.objects.filter(username__in=DEMO_PEOPLE)}
    if all(name in people and role_of(people[name]) == role for name, role in DEMO_PEOPLE.items()):
        reviews.import_reviewed_runs(reviewers=[people["ana"], people["bo"]], lead=people["lea"])


def _added(name: str) -> str:
    password = secrets.token_urlsafe(12)
    people.add_user(username=name, password=password, role=DEMO_PEOPLE[name], actor=None)
    return f"{name} ({DEMO_PEOPLE[name]}) signs in with {password}"
