"""`manage.py run_settings`."""

import pytest

from cognireview.types.runs import QueueSettings, SamplingSettings
from reviews.management.commands.run_settings import OPTIONS
from reviews.models import AuditEvent
from tests.support.commands import Capture, manage
from tests.support.factories import RunFactory

pytestmark = pytest.mark.django_db

SETTINGS = """\
--claim-minutes 45
--due-on 2026-11-27
--blind-share 0.3
--sample-share 0
--overlap-share 0
--overlap 3
--accuracy-target 0.9
--spot-check-share 0
"""


def test_command_shows_and_changes_the_given_settings(capfdbinary: Capture) -> None:
    RunFactory.create(name="algebra", blind_share=0.15, overlap=3)
    whole = (
        "--claim-minutes",
        "45",
        "--due-on",
        "2026-11-27",
        "--accuracy-target",
        "0.9",
        "--blind-share",
        "0.3",
    )
    for change in (whole, (), ("--blind-share", "0.3", "--claim-minutes", "45")):
        assert manage(capfdbinary, "run_settings", "algebra", *change) == (0, SETTINGS.encode(), "")
    changes = AuditEvent.objects.filter(action__startswith="configure", actor=None).order_by("pk")
    assert [event.action for event in changes] == ["configure queue", "configure sampling"]
    unset = manage(capfdbinary, "run_settings", "algebra", "--claim-minutes", "none", "--due-on", "none").out
    assert unset.startswith(b"--claim-minutes none\n--due-on none\n--blind-share 0.3\n")


def test_command_has_an_option_for_each_setting() -> None:
    assert [*OPTIONS] == [*QueueSettings.__annotations__, *SamplingSettings.__annotations__]


def test_command_changes_nothing_if_one_setting_is_invalid(capfdbinary: Capture) -> None:
    run = RunFactory.create(name="algebra")
    invalid = ("--claim-minutes", "45", "--overlap-share", "2", "--accuracy-target", "0")
    assert manage(capfdbinary, "run_settings", "algebra", *invalid) == (
        2,
        b"",
        """\
--overlap-share: Enter a share from 0 to 100%, not 200%.
--accuracy-target: Enter a target between 0 and 100%, not 0%.""",
    )
    run.refresh_from_db()
    assert run.claim_minutes is None
