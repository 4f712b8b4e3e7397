"""The guideline of a run: what its reviewers should know, in Markdown."""

from django.db import transaction

from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.models import Guideline, Run, User
from reviews.records.conflicts import SettingsChanged
from reviews.rubric.run_settings import InvalidSettings

MAX_GUIDELINE = 50_000


def current_guideline(run: Run) -> Guideline | None:
    """Return the current version of a run's guideline, or None without a text."""
    if run.guideline_version is None:
        return None
    return run.guidelines.filter(version=run.guideline_version).exclude(text="").first()


@transaction.atomic
def write_guideline(*, run_id: int, actor: User, text: str, seen: int | None) -> Run:
    """Add a version of a run's guideline. `seen` is the version that the actor saw.

    The same text adds none. Raises `InvalidSettings`, and `SettingsChanged` if somebody else has changed the
    guideline meanwhile.
    """
    check(actor, "configure_run")
    text = text.replace("\r\n", "\n").strip()
    if len(text) > MAX_GUIDELINE or "\0" in text:
        raise InvalidSettings(
            {"text": [f"A guideline has at most {MAX_GUIDELINE:,} characters, and no null."]}
        )
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    if run.guideline_version != seen:
        raise SettingsChanged
    known = current_guideline(run)
    before = known.text if known else ""
    if text == before:
        return run
    version = (run.guideline_version or 0) + 1
    Guideline.objects.create(run=run, version=version, text=text, created_by=actor)
    run.guideline_version = version
    run.save(update_fields=["guideline_version"])
    events.record("write guideline", actor=actor, run=run, version=version, before=before, after=text)
    return run
