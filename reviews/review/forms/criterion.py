"""One row of the review form: a criterion, and what a person makes of what the judge said there."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from reviews.models import BlindScores, Evaluation
from reviews.records.score_extraction import Repair
from reviews.records.scores import criterion_title, identity, is_score, score_of
from reviews.review.file_decisions import text_of
from reviews.rubric.definition import Choice, Rubric
from reviews.rubric.proposals import Proposal

MAX_TEXT = 100_000
LINE_END = re.compile(r"\r\n?")


def same_text(one: str, other: str) -> bool:
    """Whether two texts are the same but for line ends, which a browser rewrites."""
    return LINE_END.sub("\n", one) == LINE_END.sub("\n", other)


def kept_text(value: str, offered: str = "") -> str:
    """The text to keep. An offered text that came back is exactly what was offered, however long."""
    if same_text(value, offered):
        return offered
    if len(value) > MAX_TEXT:
        raise ValidationError(f"This is {len(value):,} characters long; at most {MAX_TEXT:,} are kept.")
    return LINE_END.sub("\n", value)


@dataclass(frozen=True, slots=True)
class Option:
    """One radio button of a score. `judged` marks the judge's choice, `own` what was committed blind."""

    choice: Choice
    checked: bool
    judged: bool
    own: bool

    @property
    def begins_with_key(self) -> bool:
        """Whether the key need not be printed: it is the first letter of the word."""
        return bool(self.choice.key) and self.choice.label[:1].lower() == self.choice.key


@dataclass(frozen=True, slots=True)
class CauseOption:
    """One radio button of a cause; the one without a word takes it back."""

    word: str
    title: str
    key: str
    checked: bool


@dataclass(frozen=True, slots=True)
class Earlier:
    """A criterion in an earlier decision, or among the scores committed blind.

    `entry` is the whole JSON value of a decision, which may be of any shape where a file brought it; None for
    committed scores. `is_in_file` marks a decision that came with a file: its score is one to choose.
    """

    criterion: str
    score: Any
    justification: str
    cause: str
    entry: Any = None
    is_in_file: bool = False


def earlier_scores(evaluation: Evaluation) -> dict[str, Earlier]:
    """Return the scores of the current review, or else of the file, by criterion."""
    review = evaluation.review
    scores = review.corrected_scores if review else evaluation.human_corrected_scores
    causes = review.causes if review else {}
    return {
        name: Earlier(name, score_of(entry), text_of(entry), causes.get(name, ""), entry, review is None)
        for name, entry in (scores or {}).items()
    }


def earlier_comments(evaluation: Evaluation) -> str:
    """Return the comments of the current review, or else of the file."""
    review = evaluation.review
    return (review.comments if review else evaluation.human_review_comments) or ""


def committed_scores(committed: BlindScores | None, proposals: Iterable[Proposal]) -> dict[str, Earlier]:
    """The scores that were committed before the judge's were shown, by criterion, with the judge's texts.

    What the judge scored and the reviewer left out has no score.
    """
    if committed is None:
        return {}
    texts = {proposal.criterion: proposal.justification for proposal in proposals}
    names = [*texts, *(name for name in committed.scores if name not in texts)]
    return {name: Earlier(name, committed.scores.get(name), texts.get(name, ""), "") for name in names}


def choices_of(rubric: Rubric, proposal: Proposal | None, earlier: Earlier | None) -> tuple[Choice, ...]:
    """The scores to choose from for a criterion, with those that the judge and the file's decision gave."""
    if earlier and earlier.is_in_file:
        return rubric.choices(proposal.score if proposal else None, earlier.score)
    return proposal.options if proposal else rubric.choices()


class CriterionForm(forms.Form):
    """One row: a criterion, its score and justification, and what the judge offered for it, if anything.

    Rows are numbered from 0; the row that the page copies to add another has `__n__` for a number.
    """

    name = forms.CharField(max_length=200, error_messages={"required": "Name the criterion."})
    score = forms.ChoiceField(
        error_messages={"required": "Choose a score.", "invalid_choice": "Choose one of the scores."}
    )
    cause = forms.ChoiceField(required=False, error_messages={"invalid_choice": "Choose one of the causes."})
    justification = forms.CharField(required=False, strip=False, widget=forms.Textarea(attrs={"rows": 2}))
    removed = forms.BooleanField(required=False)
    use_required_attribute = False

    def __init__(
        self,
        data: Mapping[str, Any] | None,
        *,
        number: int | str,
        rubric: Rubric,
        proposal: Proposal | None = None,
        earlier: Earlier | None = None,
        own: Any = None,
    ) -> None:
        self.number = number
        self.rubric = rubric
        self.proposal = proposal
        self.earlier = earlier
        self.choices = choices_of(rubric, proposal, earlier)
        self.own = self._posted(own)
        super().__init__(data, prefix=f"criteria-{number}", initial=self._initial(earlier))
        self.fields["score"].choices = [(choice.value, choice.label) for choice in self.choices]  # type: ignore[attr-defined]
        self.fields["cause"].choices = [("", ""), *((cause.word, cause.title) for cause in rubric.causes)]  # type: ignore[attr-defined]
        if proposal:
            self.fields["name"] = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)
        elif earlier and earlier.entry is not None:
            self.fields["name"] = forms.CharField(required=False, strip=False)

    def _initial(self, earlier: Earlier | None) -> dict[str, str]:
        if earlier:
            return {
                "name": earlier.criterion,
                "score": self._posted(earlier.score),
                "cause": earlier.cause if self.rubric.cause(earlier.cause) else "",
                "justification": earlier.justification,
            }
        if self.proposal:
            proposal = self.proposal
            return {
                "name": proposal.criterion,
                "score": proposal.level,
                "justification": proposal.justification,
            }
        return {}

    def _posted(self, score: Any) -> str:
        """What the form posts for a score; empty for none and for one that it does not have."""
        if not is_score(score):
            return ""
        same = (choice.value for choice in self.choices if identity(choice.score) == identity(score))
        return next(same, "")

    def clean_name(self) -> str:
        if self.proposal:
            return self.proposal.criterion
        return self.earlier.criterion if self.earlier else str(self.cleaned_data["name"])

    def clean_justification(self) -> str:
        text = self.cleaned_data["justification"]
        if self.earlier and same_text(text, self.earlier.justification):
            return self.earlier.justification
        return kept_text(text, self.proposal.justification if self.proposal else "")

    @property
    def value(self) -> str:
        """The score as it stands in the form; empty where none is chosen."""
        return str(self["score"].value() or "")

    @property
    def is_removed(self) -> bool:
        return bool(self["removed"].value())

    @property
    def is_blank(self) -> bool:
        """An added row nobody wrote into."""
        texts = (self["name"].value(), self["justification"].value(), self.value)
        return self.proposal is None and not any(str(text or "").strip() for text in texts)

    @property
    def is_kept(self) -> bool:
        return not self.is_removed and not self.is_blank

    @property
    def typed_name(self) -> str:
        return str(self["name"].value() or "")

    @property
    def title(self) -> str:
        return criterion_title(self.typed_name)

    @property
    def place(self) -> int | str:
        """The number people read, from 1."""
        return self.number + 1 if isinstance(self.number, int) else "__place__"

    @property
    def judged(self) -> str:
        """What the form posts for the judge's score; empty where it gave none."""
        return self.proposal.level if self.proposal else ""

    @property
    def judged_word(self) -> str:
        return self.proposal.word if self.proposal else ""

    @property
    def is_extracted(self) -> bool:
        return self.proposal is not None and self.proposal.origin == "extracted"

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was mended where the criterion was read out of raw output."""
        return self.proposal.repairs if self.proposal else ()

    @property
    def fingerprint(self) -> str:
        """What the page posts back as `seen`; empty where the judge said nothing."""
        return self.proposal.fingerprint if self.proposal else ""

    @property
    def is_outdated(self) -> bool:
        """Whether the judge says something else now than on the page this was posted from."""
        return bool(self.data.get(self.add_prefix("seen"), self.fingerprint) != self.fingerprint)

    @property
    def options(self) -> list[Option]:
        return [
            Option(
                choice,
                checked=choice.value == self.value,
                judged=choice.value == self.judged,
                own=choice.value == self.own,
            )
            for choice in self.choices
        ]

    @property
    def causes(self) -> list[CauseOption]:
        chosen = str(self["cause"].value() or "")
        said = [CauseOption(*cause, cause.word == chosen) for cause in self.rubric.causes]
        return [*said, CauseOption("", "None", "", checked=False)]

    @property
    def choice(self) -> Choice | None:
        """The chosen score; None where none is chosen."""
        return next((choice for choice in self.choices if choice.value == self.value), None)

    @property
    def current_score(self) -> Any:
        """The chosen score as a JSON value, the judge's with its own type; None where none is chosen."""
        if self.proposal and self.judged and self.value == self.judged:
            return self.proposal.score
        return self.choice.score if self.choice else None

    @property
    def text(self) -> str:
        return str(self["justification"].value() or "")

    @property
    def is_edited(self) -> bool:
        return not same_text(self.text, self.proposal.justification if self.proposal else "")

    @property
    def is_changed(self) -> bool:
        """Whether the row differs from what was offered."""
        if self.proposal is None:
            return not self.is_blank
        return self.is_removed or self.is_edited or self.value != self.judged

    @property
    def change(self) -> str:
        """The judge's score and the person's where they differ."""
        if not self.judged or self.value in {"", self.judged}:
            return ""
        return f"{self.judged_word} → {self.choice.label if self.choice else self.value}"

    @property
    def decision(self) -> dict[str, Any]:
        """Return the entry of a valid row.

        It is the whole entry of the earlier decision, or of the judge, where nothing in it was changed.
        """
        earlier = self.earlier
        if earlier and isinstance(earlier.entry, Mapping) and self._is_as_decided(earlier):
            return dict(earlier.entry)
        if self.proposal and not self.is_changed:
            return dict(self.proposal.given)
        return {"score": self.current_score, "justification": self.cleaned_data["justification"]}

    def _is_as_decided(self, earlier: Earlier) -> bool:
        is_same = self.value == self._posted(earlier.score)
        return is_same and same_text(self.text, earlier.justification)

    @property
    def stated_cause(self) -> str:
        """Why the judge was wrong (of a valid row); empty where it was not, or nobody said why."""
        return str(self.cleaned_data["cause"]) if self.judged and self.is_changed else ""

    @property
    def origin(self) -> str:
        """Where the score came from: judge, extracted or human."""
        return self.proposal.origin if self.proposal and self.value == self.judged else "human"
