"""How long a claim lasts in a run, as a settings page."""

from typing import Any

from django.conf import settings

from reviews.models import Run, User
from reviews.queue.claim_length import MAX_MINUTES, claim_length, configure_claim_length
from reviews.records.wording import counted
from reviews.views.form_fields import WholeNumberField
from reviews.views.runs.settings_page import SettingsForm


class ClaimLengthForm(SettingsForm):
    """The length of a claim. An empty field means the setting of the site."""

    place = "run-claim-length"
    path = "claims"
    intro = "How long a claimed record is reserved for its reviewer. Open pages renew their claim."
    saved = "Saved. Claims have the new length from their next renewal on."

    minutes = WholeNumberField(
        required=False, min_value=1, max_value=MAX_MINUTES, label="Claim length in minutes"
    )

    def __init__(self, data: Any, run: Run) -> None:
        super().__init__(data, run)
        site_minutes = settings.CLAIM_LENGTH.total_seconds() / 60
        self.fields["minutes"].help_text = f"If you leave it empty, a claim lasts {site_minutes:g} minutes."

    @classmethod
    def summary(cls, run: Run) -> str:
        return f"A claim lasts {counted(round(claim_length(run).total_seconds() / 60), 'minute')}."

    def stored_values(self, run: Run) -> dict[str, Any]:
        return {"minutes": run.claim_minutes}

    def configure(self, run: Run, actor: User) -> None:
        configure_claim_length(run_id=run.pk, actor=actor, minutes=self.cleaned_data["minutes"])
