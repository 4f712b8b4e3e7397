"""The due date of a run, as a settings page."""

from typing import Any

from reviews.models import Run, User
from reviews.queue.due_dates import configure_due_date
from reviews.templatetags.times import due
from reviews.views.form_fields import DayField
from reviews.views.runs.settings_page import SettingsForm


class DueDateForm(SettingsForm):
    """The due date. An empty field means none."""

    place = "run-due-date"
    path = "due-date"
    saved = "Saved."

    due_on = DayField(
        required=False,
        label="Due date",
        help_text="For records without a due date of their own.",
    )

    @classmethod
    def summary(cls, run: Run) -> str:
        return f"The run is {due(run.due_on)}." if run.due_on else "The run has no due date."

    def stored_values(self, run: Run) -> dict[str, Any]:
        return {"due_on": run.due_on}

    def configure(self, run: Run, actor: User) -> None:
        configure_due_date(run_id=run.pk, actor=actor, due_on=self.cleaned_data["due_on"])
