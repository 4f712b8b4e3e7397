"""One row of the review form: a criterion, its score, its justification and its cause."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms

from reviews.records.score_extraction import Repair
from reviews.records.scores import criterion_title
from reviews.review.decision import CriterionEntry, EarlierScore, find_choice, same_text, score_choices
from reviews.review.forms.fields import FormRow, row_prefix
from reviews.rubric.definition import Choice, Rubric
from reviews.rubric.proposals import Proposal


@dataclass(frozen=True, slots=True)
class ScoreOption:
    """One radio button of a score."""

    choice: Choice
    checked: bool
    #: Whether the judge chose it.
    judged: bool
    #: Whether the reviewer chose it in the blind review.
    own: bool

    @property
    def begins_with_key(self) -> bool:
        """Whether the label begins with the key, so that the key need not be printed."""
        return bool(self.choice.key) and self.choice.label[:1].lower() == self.choice.key


@dataclass(frozen=True, slots=True)
class CauseOption:
    """One radio button of a cause. An empty word removes the cause."""

    word: str
    title: str
    key: str
    checked: bool


class CriterionForm(forms.Form):
    """A row of the form. `build_decision` checks its entry.

    Rows are numbered from 0. The row that the page copies to add another has the number `__n__`.
    """

    name = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)
    score = forms.CharField(required=False, strip=False)
    cause = forms.CharField(required=False, strip=False)
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
        earlier: EarlierScore | None = None,
        own: Any = None,
    ) -> None:
        self.number = number
        self.rubric = rubric
        self.proposal = proposal
        self.earlier = earlier
        self.choices = score_choices(rubric, proposal, earlier)
        self.own = self._posted(own)
        super().__init__(data, prefix=row_prefix(number), initial=self._initial(earlier))

    def _initial(self, earlier: EarlierScore | None) -> dict[str, str]:
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
        """Return the value of a score's radio button; empty without such a button."""
        choice = find_choice(self.choices, score)
        return choice.value if choice else ""

    @property
    def entry(self) -> CriterionEntry:
        """The row as `build_decision` takes it. An unknown radio button stays as text, which is no score."""
        return CriterionEntry(
            criterion=self.criterion,
            score=self.choice.score if self.choice else self.value or None,
            justification=self.text,
            cause=str(self["cause"].value() or ""),
            is_excluded=not self.is_kept,
        )

    @property
    def as_fields(self) -> FormRow:
        """The values to post for the row as it is."""
        return FormRow(
            self.criterion, self.value, self.text, str(self["cause"].value() or ""), self.is_removed
        )

    @property
    def criterion(self) -> str:
        """The criterion. A known one is not taken from the post, as browsers change line ends."""
        known = self.proposal or self.earlier
        return known.criterion if known else self.typed_name

    @property
    def value(self) -> str:
        """Value of the checked radio button; empty if none is."""
        return str(self["score"].value() or "")

    @property
    def is_removed(self) -> bool:
        return bool(self["removed"].value())

    @property
    def is_blank(self) -> bool:
        """Whether the row was added and nothing was entered."""
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
        """The row's number on the page, from 1."""
        return self.number + 1 if isinstance(self.number, int) else "__place__"

    @property
    def judged(self) -> str:
        """Value of the judge's radio button; empty if the judge gave no score."""
        return self.proposal.level if self.proposal else ""

    @property
    def judged_word(self) -> str:
        return self.proposal.word if self.proposal else ""

    @property
    def is_extracted(self) -> bool:
        return self.proposal is not None and self.proposal.origin == "extracted"

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """Repairs to the raw output that the score was extracted from."""
        return self.proposal.repairs if self.proposal else ()

    @property
    def fingerprint(self) -> str:
        """Value of the field `seen`; empty without a proposal."""
        return self.proposal.fingerprint if self.proposal else ""

    @property
    def is_outdated(self) -> bool:
        """Whether the judge's output has changed since the page was loaded."""
        return bool(self.data.get(self.add_prefix("seen"), self.fingerprint) != self.fingerprint)

    @property
    def options(self) -> list[ScoreOption]:
        return [
            ScoreOption(
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
        options = [CauseOption(*cause, cause.word == chosen) for cause in self.rubric.causes]
        return [*options, CauseOption("", "None", "", checked=False)]

    @property
    def choice(self) -> Choice | None:
        """The chosen score; None if none is chosen."""
        return next((choice for choice in self.choices if choice.value == self.value), None)

    @property
    def current_score(self) -> Any:
        """The chosen score as JSON; None if none is chosen."""
        return self.choice.score if self.choice else None

    @property
    def text(self) -> str:
        return str(self["justification"].value() or "")

    @property
    def is_edited(self) -> bool:
        return not same_text(self.text, self.proposal.justification if self.proposal else "")

    @property
    def is_changed(self) -> bool:
        """Whether the row differs from the judge's proposal."""
        if self.proposal is None:
            return not self.is_blank
        return self.is_removed or self.is_edited or self.value != self.judged

    @property
    def change(self) -> str:
        """The judge's score and the reviewer's, if they differ."""
        if not self.judged or self.value in {"", self.judged}:
            return ""
        return f"{self.judged_word} → {self.choice.label if self.choice else self.value}"
