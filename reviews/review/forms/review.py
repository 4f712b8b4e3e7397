"""The review form: all criteria of a record, and the comments."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from reviews.models import BlindScores, Draft, Evaluation, IndependentReview
from reviews.records.rubric import Circumstance
from reviews.records.scores import is_alike, is_score
from reviews.records.verification import read_verification
from reviews.records.wording import counted
from reviews.review.entries import LINE_END, MAX_CRITERIA, EntryError, InvalidDecision
from reviews.review.forms.criterion import CriterionForm
from reviews.review.forms.fields import Fields, encode_fields, has_too_many_rows, row_names
from reviews.review.forms.quick_parts import HiddenInput
from reviews.review.forms.segments import SegmentLayout, segment_layout
from reviews.review.sheet import load_sheet
from reviews.rubric.score_input import Choice

MAX_FORMATTED = 200_000
_OUTDATED = "This form is outdated. Reload the page; what you entered is kept."
_OUTDATED_MESSAGES = dict.fromkeys(("required", "invalid", "min_value", "max_value"), _OUTDATED)


class CountField(forms.IntegerField):
    """A number that the script counts. An impossible number becomes None, so that no review fails for it."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=HiddenInput)

    def clean(self, value: Any) -> int | None:
        try:
            number: int | None = super().clean(value)
        except ValidationError:
            return None
        return number if number is not None and 0 <= number < 2**31 else None


class ReviewForm(forms.Form):
    """The criteria of a record, the comments, and the record's version when the page was loaded.

    A new form is prefilled from the first of: the draft, what `independent_reviews` agree on, the current
    decision, the `blind_scores` that the reviewer locked in, the decision in the file, the judge's scores.
    `added` is the number of blank rows to append; such a form shows no errors yet.
    """

    version = forms.IntegerField(
        min_value=1, max_value=2**31 - 1, widget=HiddenInput, error_messages=_OUTDATED_MESSAGES
    )
    submission = forms.UUIDField(widget=HiddenInput, error_messages=_OUTDATED_MESSAGES)
    active_ms = CountField()
    keys = CountField()
    comments = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 1}))
    use_required_attribute = False
    is_blind = False
    #: Whether the page has anything to read besides the judge's output.
    has_evidence = True

    def __init__(
        self,
        evaluation: Evaluation,
        data: Mapping[str, Any] | None = None,
        *,
        added: int = 0,
        draft: Draft | None = None,
        blind_scores: BlindScores | None = None,
        independent_reviews: Sequence[IndependentReview] = (),
    ) -> None:
        self.evaluation = evaluation
        self.blind_scores = blind_scores
        self.sheet = load_sheet(
            evaluation,
            is_blind=self.is_blind,
            blind_scores=blind_scores,
            independent_reviews=independent_reviews,
        )
        self.rubric, self.proposals = self.sheet.rubric, self.sheet.proposals
        self.file_decision = self.sheet.file_decision
        self.shows_errors = data is not None and not added
        self.revision = draft.revision if draft else 0
        self._has_entries = data is not None or draft is not None
        proposed = {proposal.criterion for proposal in self.proposals}
        earlier = [name for name in self.sheet.earlier if name not in proposed]
        self._only_earlier = earlier[: MAX_CRITERIA - len(proposed)]
        self.left_out = self.sheet.left_out + len(earlier) - len(self._only_earlier)
        spent = blind_scores.active_ms if blind_scores else None
        fresh = {"version": evaluation.version, "submission": uuid.uuid4(), "active_ms": spent}
        if data is None and draft:
            data = {str(name): value for name, value in draft.fields} | fresh
        comments = "" if self.is_blind else self.sheet.comments
        super().__init__(data, initial=fresh | {"comments": comments})
        self.rows = list(self._make_rows(data, added))

    def _make_rows(self, data: Mapping[str, Any] | None, added: int) -> Iterator[CriterionForm]:
        """Yield the posted rows, then rows for the other proposals, then blank ones.

        A new form also has the criteria that only the earlier scores have.
        """
        waiting = {LINE_END.sub("\n", proposal.criterion): proposal for proposal in self.proposals}
        by_posted_name = {_posted_name(name): earlier for name, earlier in self.sheet.earlier.items()}
        posted = row_names(data)
        for number, posted_name in enumerate(posted):
            name = LINE_END.sub("\n", posted_name)
            proposal, earlier = waiting.pop(name, None), by_posted_name.get(_posted_name(name))
            yield self._make_row(data, number, name, proposal=proposal, earlier=earlier)
        proposed = {proposal.criterion: proposal for proposal in waiting.values()}
        names = [*proposed, *(self._only_earlier if data is None else ())]
        names += [""] * (added or int(not posted and not names))
        for number, name in enumerate(names, start=len(posted)):
            earlier = self.sheet.earlier.get(name)
            yield self._make_row(None, number, name, proposal=proposed.get(name), earlier=earlier)

    def _make_row(
        self, data: Mapping[str, Any] | None, number: int, name: str, **known: Any
    ) -> CriterionForm:
        own = self.blind_scores.scores.get(name) if self.blind_scores else None
        return CriterionForm(
            data,
            number=number,
            rubric=self.rubric,
            own=own,
            words=self.sheet.words.get(name),
            circumstances=self._circumstances,
            **known,
        )

    @cached_property
    def _circumstances(self) -> set[Circumstance]:
        """The circumstances of the record, for its causes, as far as they follow from the verification."""
        message, verified = self.evaluation.verification_message, self.evaluation.final_answer_verified
        outcome = read_verification(verified, message).outcome
        found: set[Circumstance] = {"reference"} if outcome in {"match", "mismatch"} else set()
        return found if outcome == "none" else {*found, "verifier"}

    def note_evidence(self, *, has_evidence: bool, has_reference: bool) -> None:
        """Adapt the button and the causes to the evidence on the page."""
        self.has_evidence = has_evidence
        if has_reference:
            for row in self.rows:
                row.circumstances = {*row.circumstances, "reference"}

    @property
    def score_keys(self) -> list[Choice]:
        """The scores of the record's criteria that have a shortcut key."""
        choices = (choice for row in self.rows for choice in row.input.choices if choice.key)
        return list({(choice.key, choice.label): choice for choice in choices}.values())

    @property
    def scores_by_digit(self) -> bool:
        """Whether digits are scores. They pick a cause with Shift then, and go to no criterion."""
        return any(choice.key.isdigit() for choice in self.score_keys)

    def clean_comments(self) -> str:
        try:
            return self.sheet.clean_comments(str(self.cleaned_data["comments"]))
        except ValueError as error:
            raise ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        """Build the decision, and attach each error to its row."""
        if has_too_many_rows(self.data):
            raise ValidationError(f"A review takes at most {MAX_CRITERIA} criteria.")
        rows, comments = [row for row in self.rows if row.is_bound], self.cleaned_data.get("comments", "")
        try:
            self.decision = self.sheet.build_decision([row.entry for row in rows], comments)
        except InvalidDecision as invalid:
            _attach_errors(rows, invalid.errors)
        return dict(self.cleaned_data)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `decisions.submit` and `decisions.revise` from a valid form."""
        names = ("version", "submission", "active_ms", "keys")
        return {**self.decision, **{name: self.cleaned_data[name] for name in names}}

    # Values that the page shows

    @property
    def kept(self) -> list[CriterionForm]:
        """The rows of the decision."""
        return [row for row in self.rows if row.is_kept]

    @property
    def outdated(self) -> int:
        """Number of criteria on which the judge's output has changed since the page was loaded."""
        return sum(row.is_outdated for row in self.rows)

    @property
    def missing(self) -> int:
        """Number of rows without a score."""
        rows = self.kept or [row for row in self.rows if not row.is_removed]
        return sum(not row.value and row.is_required for row in rows)

    @property
    def changes(self) -> int:
        """Number of rows that differ from the judge's proposals."""
        return sum(row.is_changed for row in self.rows)

    @property
    def blind_result(self) -> str:
        """How far the blind scores differ from the judge's; empty without blind scores."""
        if not self.blind_scores:
            return ""
        given = self.blind_scores.scores
        both = [one for one in self.proposals if is_score(one.score) and one.criterion in given]
        differ = sum(not is_alike(one.score, given[one.criterion]) for one in both)
        if not both:
            return "The judge scored none of these"
        if not differ:
            return f"The judge scored the same on {counted(len(both), 'criterion', 'criteria')}"
        return f"The judge scored {differ} of {counted(len(both), 'criterion', 'criteria')} differently"

    @property
    def has_judged_scores(self) -> bool:
        """Whether the judge gave a score, or one could be extracted."""
        return any(is_score(proposal.score) for proposal in self.proposals)

    @property
    def source_title(self) -> str:
        """Source of the prefilled scores."""
        if self.is_entered_from_file:
            return "The decision in the file"
        if self.sheet.is_adjudication:
            return "Your decision"
        if self.evaluation.review_id is not None and self.sheet.earlier:
            return self._decision_title
        return self.blind_result or self._judge_title

    @property
    def read_title(self) -> str:
        """Source of the scores that the page of an undecided record shows without the form."""
        return "The decision in the file" if self.file_decision else self._judge_title

    @property
    def _decision_title(self) -> str:
        current = "The current decision" if self.evaluation.is_decided else "The decision so far"
        return "Your entries" if self._has_entries else current

    @property
    def _judge_title(self) -> str:
        if self.evaluation.parsed_rubric_scores and self.has_judged_scores:
            return "The judge's scores"
        if extracted := sum(is_score(proposal.score) for proposal in self.proposals):
            return f"Scores extracted from raw output ({extracted} of {len(self.proposals)})"
        return "Your scores"

    @property
    def is_entered_from_file(self) -> bool:
        """Whether the form shows the decision of the file, and nothing that was entered here."""
        return bool(self.file_decision) and not (
            self.is_bound or self.sheet.is_adjudication or self.blind_scores
        )

    @property
    def submit_label(self) -> str:
        if self.missing:
            return f"{counted(self.missing, 'score')} missing"
        if not self.has_judged_scores:
            return "Submit & next"
        return f"Submit {counted(self.changes, 'change')}" if self.changes else self.agree_label

    @property
    def agree_label(self) -> str:
        """The label of the button that submits the judge's scores."""
        if self.sheet.is_adjudication:
            return "Submit decision"
        return "Agree & next" if self.has_evidence else "Accept scores as read"

    @cached_property
    def blank_row(self) -> CriterionForm:
        """The row that the page copies to add another."""
        return CriterionForm(None, number="__n__", rubric=self.rubric)

    @property
    def has_descriptions(self) -> bool:
        """Whether the rubric describes one of the criteria."""
        return any(row.known.description for row in self.rows)

    @cached_property
    def segments(self) -> SegmentLayout:
        return segment_layout(row.input for row in [*self.rows, self.blank_row])

    @property
    def comment(self) -> str:
        return str(self["comments"].value() or "")

    @property
    def is_heavy(self) -> bool:
        """Whether rendering all justifications would slow down the page."""
        return sum(len(row.judged_text) + len(row.reason) for row in self.rows) > MAX_FORMATTED

    @property
    def rule_json(self) -> str:
        """The run's verdict rule, for the script that updates the verdict as scores change."""
        return json.dumps(self.rubric.rule.as_json())

    @property
    def verdict_change(self) -> str:
        """The reviewer's verdict, after the judge's if the two differ."""
        before, after = self.judged_verdict, self.verdict or "incomplete"
        return after if before in {"", after} or after == "incomplete" else f"{before} → {after}"

    @property
    def judged_verdict(self) -> str:
        """The judge's verdict, or that of the judge's scores; empty without either."""
        scores = {one.criterion: one.score for one in self.proposals if one.origin != "rubric"}
        return self.rubric.judge_verdict(self.evaluation.aggregated_score, scores) or ""

    @property
    def verdict(self) -> str:
        """The verdict of the scores in the form; empty while one is missing."""
        return self.rubric.aggregate({row.criterion: row.current_score for row in self.kept}) or ""


def _attach_errors(rows: Sequence[CriterionForm], errors: Sequence[EntryError]) -> None:
    """Attach each error to its row, and raise `ValidationError` for the form."""
    of_form = [error for error in errors if error.position is None]
    if any(error.criterion for error in of_form):
        raise ValidationError("The record has criteria that were not in this form. Check the last rows.")
    if of_form:
        raise ValidationError([error.reason for error in of_form])
    for error in errors:
        row = rows[error.position or 0]
        if error.reason not in row.errors.get(error.field, ()):
            row.add_error(error.field, error.reason)
    wrong = sum(not row.is_valid() for row in rows)
    needs = "criterion needs" if wrong == 1 else "criteria need"
    raise ValidationError(f"Nothing is submitted yet: {wrong} {needs} your attention.")


def _posted_name(name: str) -> str:
    """Return a criterion's name as a one-line field posts it."""
    return name.replace("\r", "").replace("\n", "").strip()


class BlindForm(ReviewForm):
    """The criteria of a record without the judge's scores and texts."""

    is_blind = True
    judged_verdict = ""
    source_title = read_title = "Your scores"

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `blind_scoring.lock_in` from a valid form."""
        return {
            "version": self.cleaned_data["version"],
            "scores": {name: entry["score"] for name, entry in self.decision["scores"].items()},
            "fields": self.fields_after_reveal,
            "active_ms": self.cleaned_data["active_ms"],
        }

    @property
    def fields_after_reveal(self) -> Fields:
        """The fields of the review form once the judge's scores are shown.

        An empty comment becomes that of the decision in the file.
        """
        return encode_fields([row.as_fields for row in self.rows], self.comment or self.sheet.comments)
