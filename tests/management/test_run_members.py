"""`manage.py run_members`."""

import pytest

from reviews.models import AuditEvent, Run, User
from tests.support.commands import Capture, manage
from tests.support.factories import RunFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="algebra")


def test_command_restricts_and_opens_a_run(run: Run, ana: User, lea: User, capfdbinary: Capture) -> None:
    assert manage(capfdbinary, "run_members", "algebra") == (0, b"", "algebra is open to everybody.\n")
    restricted = (0, b"ana\nlea\n", "algebra is open to 2 members and all admins.\n")
    assert manage(capfdbinary, "run_members", "algebra", "--set", "lea", "ana") == restricted
    assert manage(capfdbinary, "run_members", "algebra") == restricted
    assert manage(capfdbinary, "run_members", "algebra", "--set").err.startswith("algebra is open to 0 mem")
    assert (
        manage(capfdbinary, "run_members", "algebra", "--everybody").err == "algebra is open to everybody.\n"
    )
    assert AuditEvent.objects.filter(action="configure members", actor=None).count() == 3


def test_command_reports_unknown_names(run: Run, ana: User, capfdbinary: Capture) -> None:
    assert manage(capfdbinary, "run_members", "algebra", "--set", "ana", "zoe") == (
        2,
        b"",
        "There is no reviewer, lead or admin named zoe.",
    )
    assert manage(capfdbinary, "run_members", "geometry").status == 2
    run.refresh_from_db()
    assert not run.is_restricted
