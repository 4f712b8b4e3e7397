"""The settings of a run's queue: how long a claim lasts, and the due date."""

from typing import Any

from django import forms
from django.conf import settings

from cognireview.types.encoding import members
from cognireview.types.runs import QueueSettings
from reviews.models import Run, User
from reviews.queue.claim_columns import claim_length
from reviews.queue.queue_settings import MAX_CLAIM_MINUTES, configure_queue
from reviews.records.wording import counted
from reviews.rubric.run_settings import fingerprint
from reviews.templatetags.times import due
from reviews.views.form_fields import DayField, WholeNumberField
from reviews.views.runs.settings_page import SettingsForm


class QueueForm(SettingsForm):
    """The settings of the queue. An empty field means the setting of the site, or none."""

    place = "run-queue"
    path = "queue"
    saved = "Saved. Claims have a new length from their next renewal on."

    seen = forms.CharField(widget=forms.HiddenInput)
    claim_minutes = WholeNumberField(
        required=False, min_value=1, max_value=MAX_CLAIM_MINUTES, label="Claim length in minutes"
    )
    due_on = DayField(
        required=False,
        label="Due date",
        help_text="For records without a due date of their own.",
    )

    def __init__(self, data: Any, run: Run) -> None:
        super().__init__(data, run)
        site_minutes = settings.CLAIM_LENGTH.total_seconds() / 60
        self.fields["claim_minutes"].help_text = (
            "How long a claimed record is reserved for its reviewer. Open pages renew their claim."
            f" If you leave the field empty, a claim lasts {site_minutes:g} minutes."
        )

    @classmethod
    def summary(cls, run: Run) -> str:
        minutes = counted(round(claim_length(run).total_seconds() / 60), "minute")
        due_date = f"The run is {due(run.due_on)}." if run.due_on else "The run has no due date."
        return f"A claim lasts {minutes}. {due_date}"

    def stored_values(self, run: Run) -> dict[str, Any]:
        known = members(QueueSettings, run)
        return known | {"seen": fingerprint(known)}

    def configure(self, run: Run, actor: User) -> None:
        entered = dict(self.cleaned_data)
        seen = entered.pop("seen")
        configure_queue(run_id=run.pk, actor=actor, settings=QueueSettings(**entered), seen=seen)
