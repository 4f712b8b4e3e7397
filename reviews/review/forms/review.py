"""The forms of the review screen: a record's criteria as one person decides on them, and the way to a lead.

A review posts `version`, `submission`, `comments`, `active_ms`, `keys`, and for each row from 0
`criteria-0-name`, `criteria-0-score`, `criteria-0-cause`, `criteria-0-justification`, `criteria-0-removed`,
`criteria-0-seen`. A row whose name is a criterion of the record is compared with what the judge said there:
what came from whom is decided here, not by what is posted.
"""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.core.exceptions import ValidationError

from reviews.evidence.reading_time import count_words_to_read
from reviews.models import BlindScores, Draft, Escalation, Evaluation, IndependentReview
from reviews.records import extracted_scores
from reviews.records.scores import is_score
from reviews.review import adjudication, file_decisions
from reviews.review.escalations import REASONS
from reviews.review.forms.criterion import (
    LINE_END,
    CriterionForm,
    Earlier,
    choices_of,
    committed_scores,
    earlier_comments,
    earlier_scores,
    kept_text,
    same_text,
)
from reviews.rubric import definition
from reviews.rubric.definition import Choice
from reviews.rubric.overrides import is_same_score
from reviews.rubric.proposals import Proposal, read_proposals

MAX_CRITERIA = 150
MAX_FORMATTED = 200_000
_STALE = "This form is out of date. Reload the page; what you typed is kept."
_STALE_MESSAGES = {"required": _STALE, "invalid": _STALE, "min_value": _STALE, "max_value": _STALE}


class Measure(forms.IntegerField):
    """A number the script counts. One that cannot be is none: no review fails for it."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=forms.HiddenInput)

    def clean(self, value: Any) -> int | None:
        try:
            number: int | None = super().clean(value)
        except ValidationError:
            return None
        return number if number is not None and 0 <= number < 2**31 else None


class ReviewForm(forms.Form):
    """All rows of a record, the comment, and what the record was when the form was made.

    A new form is filled with what the judge said, or with the review in force or else the decision of the
    file, or with a draft; or with the scores that the reviewer `committed` before the judge's were shown; or,
    for a lead who decides between `independent reviews`, with what these have in common. While rows are added
    `shows_errors` is off: what is half typed is not wrong yet.
    """

    version = forms.IntegerField(
        min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput, error_messages=_STALE_MESSAGES
    )
    submission = forms.UUIDField(widget=forms.HiddenInput, error_messages=_STALE_MESSAGES)
    active_ms = Measure()
    keys = Measure()
    comments = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 1}))
    use_required_attribute = False
    is_blind = False

    def __init__(
        self,
        evaluation: Evaluation,
        data: Mapping[str, Any] | None = None,
        *,
        added: int = 0,
        draft: Draft | None = None,
        committed: BlindScores | None = None,
        independent_reviews: Sequence[IndependentReview] = (),
    ) -> None:
        self.evaluation = evaluation
        self.rubric = definition.of(evaluation.run)
        found = read_proposals(evaluation, self.rubric)
        self.proposals = self._shown(found[:MAX_CRITERIA])
        self.left_out = len(found) - len(self.proposals)
        self.shows_errors = data is not None and not added
        self.revision = draft.revision if draft else 0
        self.committed = committed
        self.file_decision = None if self.is_blind else file_decisions.of(evaluation)
        self._agreed = adjudication.agreed(independent_reviews, self.proposals)
        self._earlier = self._scores_so_far()
        names = [
            name for name in self._earlier if name not in {proposal.criterion for proposal in self.proposals}
        ]
        self._added_earlier = names[: MAX_CRITERIA - len(self.proposals)]
        self.left_out += len(names) - len(self._added_earlier)
        spent = committed.active_ms if committed else None
        fresh = {"version": evaluation.version, "submission": uuid.uuid4(), "active_ms": spent}
        if data is None and draft:
            data = {str(name): value for name, value in draft.fields} | fresh
        comments = "" if self.is_blind else earlier_comments(evaluation)
        super().__init__(data, initial=fresh | {"comments": comments})
        self.rows = list(self._make_rows(data, added))

    def _scores_so_far(self) -> dict[str, Earlier]:
        """Return the scores that a new form is filled with in place of the judge's, by criterion."""
        decided = {} if self.is_blind else earlier_scores(self.evaluation)
        if self.evaluation.review_id is not None:
            return decided
        return self._agreed or committed_scores(self.committed, self.proposals) or decided

    def _shown(self, found: list[Proposal]) -> list[Proposal]:
        """What the form shows of what the judge said."""
        return found

    def _make_rows(self, data: Mapping[str, Any] | None, added: int) -> Iterator[CriterionForm]:
        """The posted rows, each with its offer by name, then offers that no row is about, then others.

        Those are, in a new form, what the review in force scored beside them, and blank ones.
        """
        waiting = {LINE_END.sub("\n", proposal.criterion): proposal for proposal in self.proposals}
        by_posted_name = {_posted_name(name): earlier for name, earlier in self._earlier.items()}
        posted = _row_count(data)
        for number in range(posted):
            name = LINE_END.sub("\n", str(data[f"criteria-{number}-name"])) if data else ""
            proposal, own = waiting.pop(name, None), self._own_score(name)
            earlier = by_posted_name.get(_posted_name(name))
            yield CriterionForm(
                data, number=number, rubric=self.rubric, proposal=proposal, earlier=earlier, own=own
            )
        offered = {proposal.criterion: proposal for proposal in waiting.values()}
        names = [*offered, *(self._added_earlier if data is None else ())]
        names += [""] * (added or int(not posted and not names))
        for number, name in enumerate(names, start=posted):
            yield CriterionForm(
                None,
                number=number,
                rubric=self.rubric,
                proposal=offered.get(name),
                earlier=self._earlier.get(name),
                own=self._own_score(name),
            )

    def _own_score(self, name: str) -> Any:
        """What the reviewer committed for a criterion; None where that is nothing."""
        return self.committed.scores.get(name) if self.committed else None

    def clean_comments(self) -> str:
        """Keep an earlier comment that comes back unchanged exactly as it was, however long."""
        comments, earlier = str(self.cleaned_data["comments"]), earlier_comments(self.evaluation)
        if same_text(comments, earlier.strip()):
            return earlier
        kept_text(comments)  # raises if it is too long
        return comments

    def clean(self) -> dict[str, Any]:
        kept = self.kept
        if f"criteria-{MAX_CRITERIA}-name" in self.data:
            raise ValidationError(f"A review takes at most {MAX_CRITERIA} criteria.")
        if not kept:
            raise ValidationError("A review needs at least one criterion with a score.")
        if not all(row.is_bound for row in kept):
            raise ValidationError("The record has criteria that were not in this form. Check the last rows.")
        names: set[str] = set()
        for row in kept:
            name = row.cleaned_data.get("name") if row.is_valid() else None
            if name in names:
                row.add_error("name", "Another criterion has this name.")
            if name:
                names.add(name)
        wrong = sum(not row.is_valid() for row in kept)
        if wrong:
            need = "criterion needs" if wrong == 1 else "criteria need"
            raise ValidationError(f"Nothing is submitted yet: {wrong} {need} your attention.")
        return dict(self.cleaned_data)

    # What a valid form decides

    @property
    def decision(self) -> dict[str, Any]:
        """The arguments of `workflow.submit_review` and `workflow.revise` that people enter."""
        names = [(row.cleaned_data["name"], row) for row in self.kept]
        origins = {name: row.origin for name, row in names}
        return {
            "version": self.cleaned_data["version"],
            "scores": {name: row.decision for name, row in names},
            "comments": self.cleaned_data["comments"],
            "origins": origins,
            "submission": self.cleaned_data["submission"],
            "causes": {name: row.stated_cause for name, row in names if row.stated_cause},
            "active_ms": self.cleaned_data["active_ms"],
            "keys": self.cleaned_data["keys"],
            "extractor": extracted_scores.read_extracted(self.evaluation).version
            if "extracted" in origins.values()
            else None,
            "judged": {
                proposal.criterion: proposal.score for proposal in self.proposals if is_score(proposal.score)
            },
            "words": count_words_to_read(self.evaluation, self.proposals),
        }

    # What the page shows

    @property
    def kept(self) -> list[CriterionForm]:
        """The rows that make up the decision."""
        return [row for row in self.rows if row.is_kept]

    @property
    def outdated(self) -> int:
        """On how many criteria the judge says something else now than on the page this was posted from."""
        return sum(row.is_outdated for row in self.rows)

    @property
    def missing(self) -> int:
        """How many rows want a score."""
        rows = self.kept or [row for row in self.rows if not row.is_removed]
        return sum(not row.value for row in rows)

    @property
    def blind_result(self) -> str:
        """How far what was committed is from what the judge said, in words; empty where nothing was."""
        if not self.committed:
            return ""
        given = self.committed.scores
        both = [
            proposal
            for proposal in self.proposals
            if is_score(proposal.score) and proposal.criterion in given
        ]
        differ = sum(not is_same_score(proposal.score, given[proposal.criterion]) for proposal in both)
        if not both:
            return "The judge scored none of these."
        if not differ:
            return f"The judge scored the same on {_counted(len(both), 'criterion', 'criteria')}."
        return f"The judge scored {differ} of {_counted(len(both), 'criterion', 'criteria')} differently."

    @property
    def changes(self) -> int:
        """How many rows differ from what was offered."""
        return sum(row.is_changed for row in self.rows)

    @property
    def is_readable(self) -> bool:
        """Whether the judge gave a score, or one could be read."""
        return any(proposal.level for proposal in self.proposals)

    @property
    def source_title(self) -> str:
        """Where the scores that are filled in come from."""
        if self.is_entered_from_file:
            return "The decision in the file"
        if self.evaluation.review_id is not None and self._earlier:
            return self._title_of_decision
        if self._agreed:
            return "Where the independent reviews agree"
        if self.committed:
            return "Your scores beside the judge's"
        if self.evaluation.parsed_rubric_scores and self.is_readable:
            return "The judge's scores"
        read = sum(bool(proposal.level) for proposal in self.proposals)
        return f"Suggested from raw output, {read} of {len(self.proposals)}" if read else "Your scores"

    @property
    def _title_of_decision(self) -> str:
        in_force = "The decision in force" if self.evaluation.is_decided else "The decision so far"
        return "What you entered" if self.shows_errors else in_force

    @property
    def is_entered_from_file(self) -> bool:
        """Whether the form holds the decision of the file, and nothing that anybody entered here."""
        return bool(self.file_decision) and not (self.is_bound or self._agreed or self.committed)

    def choices_of(self, criterion: str) -> tuple[Choice, ...]:
        """The scores that the form takes for a criterion."""
        proposal = next((proposal for proposal in self.proposals if proposal.criterion == criterion), None)
        return choices_of(self.rubric, proposal, self._earlier.get(criterion))

    @property
    def earlier(self) -> Mapping[str, Earlier]:
        """Return the scores that a new form is filled with in place of the judge's, by criterion."""
        return self._earlier

    @property
    def submit_label(self) -> str:
        if self.missing:
            return f"{_counted(self.missing, 'score', 'scores')} missing"
        if not self.is_readable:
            return "Submit & next"
        return f"Submit {_counted(self.changes, 'change', 'changes')}" if self.changes else "Agree & next"

    @property
    def blank_row(self) -> CriterionForm:
        """What the page copies to add a row."""
        return CriterionForm(None, number="__n__", rubric=self.rubric)

    @property
    def comment(self) -> str:
        return str(self["comments"].value() or "")

    @property
    def is_heavy(self) -> bool:
        """Whether formatting all justifications would hold the page up."""
        return sum(len(row.text) for row in self.rows) > MAX_FORMATTED

    @property
    def rule_json(self) -> str:
        """The run's rule, for the script that shows the verdict as scores change."""
        return json.dumps(self.rubric.rule.as_json())

    @property
    def verdict_change(self) -> str:
        """The verdict in words: the judge's, the person's, or both where they differ."""
        before, after = self.judged_verdict, self.verdict or "incomplete"
        return after if before in {"", after} or after == "incomplete" else f"{before} → {after}"

    @property
    def judged_verdict(self) -> str:
        """What the judge's scores come to; empty where they come to nothing."""
        scores = (proposal.score for proposal in self.proposals if proposal.origin != "rubric")
        return self.evaluation.aggregated_score or self.rubric.rule.aggregate(scores) or ""

    @property
    def verdict(self) -> str:
        """What the scores in the form come to; empty while one is missing."""
        return self.rubric.rule.aggregate(row.current_score for row in self.kept) or ""


def _posted_name(name: str) -> str:
    """A criterion's name as it comes back from a field of one line."""
    return name.replace("\r", "").replace("\n", "").strip()


def _row_count(data: Mapping[str, Any] | None) -> int:
    """How many rows were posted: those that are there, whatever the count says."""
    count = 0
    while data and count < MAX_CRITERIA and f"criteria-{count}-name" in data:
        count += 1
    return count


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


# The way to a lead


class Preset(NamedTuple):
    """One radio button."""

    value: str
    label: str
    checked: bool


class EscalationForm(forms.Form):
    """Cannot judge, for one of the reasons or in one's own words; or a question, which needs words."""

    CANNOT_JUDGE, QUESTION = Escalation.Kind.CANNOT_JUDGE.value, Escalation.Kind.QUESTION.value
    KINDS = ((CANNOT_JUDGE, "I cannot judge this"), (QUESTION, "I have a question"))
    PRESETS = tuple((word, title) for word, title in REASONS.items() if word != "question")

    kind = forms.ChoiceField(choices=KINDS, initial=CANNOT_JUDGE)
    reason = forms.ChoiceField(choices=[("", ""), *PRESETS], required=False)
    note = forms.CharField(required=False, max_length=5_000)

    def clean(self) -> dict[str, Any]:
        values = dict(self.cleaned_data)
        note = values.get("note", "")
        if values.get("kind") == self.QUESTION:
            values["reason"] = "question"
            if not note and "note" not in self.errors:
                self.add_error("note", "Write your question.")
        elif not values.get("reason") and not note and not self.errors:
            self.add_error("reason", "Choose a reason, or write one.")
        return values

    @property
    def kinds(self) -> list[Preset]:
        return self._presets("kind", self.KINDS)

    @property
    def reasons(self) -> list[Preset]:
        return self._presets("reason", self.PRESETS)

    @property
    def typed_note(self) -> str:
        return str(self["note"].value() or "")

    def _presets(self, name: str, choices: Iterable[tuple[str, str]]) -> list[Preset]:
        chosen = self[name].value()
        return [Preset(value, label, value == chosen) for value, label in choices]
