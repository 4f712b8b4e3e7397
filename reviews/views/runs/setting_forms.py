"""The settings of a run with a page of their own, each as a form: sampling, guideline, queue and members."""

from dataclasses import asdict
from typing import Any

from django import forms
from django.conf import settings

from cognireview.types.encoding import members
from cognireview.types.runs import QueueSettings, SamplingSettings
from reviews.accounts.permissions import loaded_role, people_with_role
from reviews.judge import sampling_settings
from reviews.judge.sampling_settings import FEWEST_REVIEWERS, MOST_REVIEWERS, percentage
from reviews.models import Run, User
from reviews.queue.claim_columns import claim_length
from reviews.queue.members import configure_members, current_members
from reviews.queue.queue_settings import MAX_CLAIM_MINUTES, configure_queue
from reviews.records.wording import counted
from reviews.rubric.guidelines import MAX_GUIDELINE, current_guideline, write_guideline
from reviews.rubric.run_settings import current_settings, fingerprint
from reviews.templatetags.times import due
from reviews.views.form_fields import DayField, WholeNumberField
from reviews.views.runs.settings_page import SettingsForm

_SHARES = ("blind_share", "sample_share", "overlap_share", "spot_check_share")


class PercentField(forms.FloatField):
    """A share from 0 to 1 that people read and enter as a percentage."""

    def __init__(self, label: str, help_text: str, *, required: bool = True) -> None:
        super().__init__(label=label, help_text=help_text, required=required)
        self.widget.attrs |= {"min": 0, "max": 100, "step": "any", "inputmode": "decimal"}

    def clean(self, value: Any) -> float | None:
        entered = super().clean(value)
        return None if entered is None else entered / 100


class SamplingForm(SettingsForm):
    place = "run-sampling"
    path = "sampling"
    intro = (
        "Sampling is deterministic: raising a share keeps the records already selected. "
        "Changes apply to reviews from now on."
    )
    template = "runs/sampling.html"
    saved = "Saved. The shares apply to reviews from now on."
    next_page = "run-sampling"

    seen = forms.CharField(widget=forms.HiddenInput)
    accuracy_target = PercentField(
        "Target accuracy (%)",
        "The judge should give the verdict of a blind reviewer on at least this share of all records. Leave"
        " the field empty for no target.",
        required=False,
    )
    blind_share = PercentField(
        "Blind review (%)",
        "The share of records whose judge scores are hidden until the reviewer locks in their own. Reviewers"
        " who see a score tend to agree with it, so only blind reviews give an unbiased figure.",
    )
    sample_share = PercentField(
        "Random sample of unflagged records (%)",
        "The share of unflagged records that is queued for review, to estimate the missed errors. Sampled"
        " records look like flagged ones; confirmed ones are exported unchanged.",
    )
    overlap_share = PercentField(
        "Overlap (%)",
        "The share of records that several people review independently, to measure how often they agree."
        " Where they disagree, a lead decides.",
    )
    overlap = forms.IntegerField(
        label="Reviewers per record", help_text=f"{FEWEST_REVIEWERS} to {MOST_REVIEWERS}."
    )
    spot_check_share = PercentField(
        "Spot checks (%)",
        "The share of each reviewer's decisions that is drawn for a spot check as they are made. Any other"
        " lead checks them.",
    )

    def __init__(self, data: Any, run: Run) -> None:
        super().__init__(data, run)
        self.fields["overlap"].widget.attrs |= {"min": FEWEST_REVIEWERS, "max": MOST_REVIEWERS}

    @classmethod
    def summary(cls, run: Run) -> str:
        blind, sample, overlap = map(percentage, (run.blind_share, run.sample_share, run.overlap_share))
        return (
            f"{blind}% are scored blind, {sample}% of unflagged records are sampled, and {overlap}% are"
            " reviewed by several people."
        )

    def stored_values(self, run: Run) -> dict[str, Any]:
        known = current_settings(SamplingSettings, run)
        shares = {name: percentage(getattr(known, name)) for name in _SHARES}
        target = "" if known.accuracy_target is None else percentage(known.accuracy_target)
        return asdict(known) | shares | {"accuracy_target": target, "seen": fingerprint(known)}

    def configure(self, run: Run, actor: User) -> None:
        entered = {name: self.cleaned_data[name] for name in (*_SHARES, "overlap", "accuracy_target")}
        sampling_settings.configure(
            run_id=run.pk,
            actor=actor,
            settings=SamplingSettings(**entered),
            seen=self.cleaned_data["seen"],
        )

    def context(self, run: Run) -> dict[str, Any]:
        return {"shares": sampling_settings.describe_shares(run)}


class GuidelineForm(SettingsForm):
    place = "run-guideline"
    path = "guideline"
    intro = "How reviewers should score this run. Each decision notes the version it was made under."
    template = "runs/guideline.html"
    saved = "Saved. Decisions from now on note this version."

    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)
    text = forms.CharField(
        required=False,
        label="Guideline",
        help_text="Markdown with LaTeX. Reviewers open it next to the scores.",
        max_length=MAX_GUIDELINE,
        widget=forms.Textarea(attrs={"rows": 20}),
    )

    @classmethod
    def summary(cls, run: Run) -> str:
        if run.guideline_version:
            return f"Version {run.guideline_version}, shown next to the scores."
        return "How reviewers should score this run, shown next to the scores."

    def stored_values(self, run: Run) -> dict[str, Any]:
        known = current_guideline(run)
        return {"text": known.text if known else "", "seen": run.guideline_version}

    def configure(self, run: Run, actor: User) -> None:
        said = self.cleaned_data
        write_guideline(run_id=run.pk, actor=actor, text=said["text"], seen=said["seen"])

    def context(self, run: Run) -> dict[str, Any]:
        return {"versions": run.guidelines.select_related("created_by").order_by("-version")}


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


_EVERYBODY, _MEMBERS = "everybody", "members"


class MembersForm(SettingsForm):
    """A run is open to everybody, or restricted to its members and admins."""

    place = "run-members"
    path = "members"
    intro = "Choose who can see this run. Everybody else finds neither the run nor its records."
    template = "runs/members.html"
    saved = "Saved. The change applies immediately."

    seen = forms.CharField(widget=forms.HiddenInput)
    access = forms.ChoiceField(
        label="Access",
        choices=[
            (_EVERYBODY, "Everybody: all reviewers, leads and admins"),
            (_MEMBERS, "Members only: the people selected below, and all admins"),
        ],
        widget=forms.RadioSelect,
    )
    members = forms.MultipleChoiceField(label="Members", required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, data: Any, run: Run) -> None:
        super().__init__(data, run)
        members_field = self.fields["members"]
        assert isinstance(members_field, forms.MultipleChoiceField)
        members_field.choices = _candidates(run)

    @classmethod
    def summary(cls, run: Run) -> str:
        if run.is_restricted:
            return "Only its members and admins can see this run."
        return "Everybody can see this run."

    def stored_values(self, run: Run) -> dict[str, Any]:
        members = current_members(run)
        return {
            "access": _EVERYBODY if members is None else _MEMBERS,
            "members": members,
            "seen": fingerprint(members),
        }

    def configure(self, run: Run, actor: User) -> None:
        said = self.cleaned_data
        configure_members(
            run_id=run.pk,
            actor=actor,
            members=said["members"] if said["access"] == _MEMBERS else None,
            seen=said["seen"],
        )


def _candidates(run: Run) -> list[tuple[str, str]]:
    """Return the people to choose from, by username: reviewers, leads and present members."""
    members = {person.pk: person for person in run.members.prefetch_related("groups")}
    everybody = {person.pk: person for person in people_with_role().prefetch_related("groups")}
    roles = {person: loaded_role(person) or "no role" for person in (members | everybody).values()}
    shown = [person for person, role in roles.items() if role != "admin" or person.pk in members]
    return [
        (person.username, f"{person.name} · {roles[person] if person.is_active else 'deactivated'}")
        for person in sorted(shown, key=lambda person: person.username)
    ]
