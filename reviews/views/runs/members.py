"""The members of a run, as a settings page."""

from typing import Any

from django import forms

from reviews.accounts.permissions import loaded_role, people_with_role
from reviews.models import Run, User
from reviews.queue.members import configure_members, current_members
from reviews.rubric.run_settings import fingerprint
from reviews.views.runs.settings_page import SettingsForm

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
