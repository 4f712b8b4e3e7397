"""What a new installation gets: the link to the welcome page, and with `--demo` people and a run to try."""

import secrets

from django.db import transaction

from reviews import context_import, demo, importer, people
from reviews.models import Run, User

DEMO_PEOPLE = {"ana": "reviewer", "lea": "lead", "max": "admin"}


def address(url: str) -> str:
    """The line that says where to open the site at `url`, or where to become its first admin."""
    if people.needs_first_admin():
        return f"Open this link once, to become the first admin: {url}/welcome/{people.welcome_token()}/"
    return f"CogniReview runs at {url}/"


@transaction.atomic
def demonstrate() -> list[str]:
    """Bring in the demo run and people where they are missing; return a line for each person added."""
    if not Run.objects.filter(name=demo.DEMO_RUN).exists():
        importer.import_stream(demo.demo_lines(), run_name=demo.DEMO_RUN, file_name="demo.jsonl", actor=None)
        context_import.import_context(
            demo.demo_context(), run_name=demo.DEMO_RUN, file_name="demo-tasks.jsonl", actor=None
        )
    known = {name.lower() for name in User.objects.values_list("username", flat=True)}
    return [_added(name) for name in DEMO_PEOPLE if name not in known]


def _added(name: str) -> str:
    password = secrets.token_urlsafe(12)
    people.add_user(username=name, password=password, role=DEMO_PEOPLE[name], actor=None)
    return f"{name} ({DEMO_PEOPLE[name]}) logs in with {password}"
