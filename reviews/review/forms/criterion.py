"""One row of the review form: a criterion, its score, its justification and its cause."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from django import forms

from reviews.records.rubric import CIRCUMSTANCES, Cause, Circumstance, Criterion, Direction, Rubric
from reviews.records.scales import RangeScale
from reviews.records.score_extraction import Repair
from reviews.records.scores import is_alike
from reviews.review.entries import CriterionEntry, EarlierScore, same_text, score_input
from reviews.review.forms.fields import FormRow, row_prefix
from reviews.review.forms.quick_parts import HiddenInput, shares_fields
from reviews.review.forms.segments import MAX_LABEL
from reviews.rubric.proposals import Proposal
from reviews.rubric.score_input import Choice

#: The page shows so many causes at a time, with the digits from 1 as their keys.
SHOWN_CAUSES = 6


@dataclass(frozen=True, slots=True)
class CauseOption:
    """One radio button of a cause."""

    word: str
    title: str
    #: A digit; empty if the cause is not shown.
    key: str
    checked: bool
    #: The comparisons with the judge's score for which the cause is offered; empty for all.
    directions: tuple[Direction, ...]


def cause_options(
    causes: Sequence[Cause],
    *,
    direction: Direction | None,
    circumstances: Collection[Circumstance],
    chosen: str,
) -> list[CauseOption]:
    """Return the causes for a record with these circumstances, in the order of the rubric.

    The first six that fit the direction have keys. Scores without an order have no direction (None): only
    causes for all directions fit. The chosen cause is always among the options.
    """
    allowed = [one for one in causes if {*circumstances}.issuperset(one.needs) or one.word == chosen]
    fitting = [one for one in allowed if not one.directions or direction in one.directions]
    keys = {one.word: str(place) for place, one in enumerate(fitting[:SHOWN_CAUSES], start=1)}
    return [
        CauseOption(one.word, one.title, keys.get(one.word, ""), one.word == chosen, one.directions)
        for one in allowed
    ]


_FOLDED_FROM = 120


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
    def label(self) -> str:
        """The label on the button; a long one is cut."""
        label = self.choice.label
        return label if len(label) <= MAX_LABEL else f"{label[: MAX_LABEL - 1]}…"

    @property
    def begins_with_key(self) -> bool:
        """Whether the label begins with the key, so that the key need not be printed."""
        return bool(self.choice.key) and self.choice.label[:1].lower() == self.choice.key


@dataclass(frozen=True, slots=True)
class NumberField:
    """A field for a number. The script computes the verdict from its thresholds."""

    minimum: float
    maximum: float
    #: None: any number.
    step: float | None
    value: str
    thresholds: str

    @classmethod
    def of_scale(cls, scale: RangeScale, value: str) -> Self:
        limits = {"pass_from": scale.pass_from, "partial_from": scale.partial_from}
        thresholds = json.dumps({**limits, "lower_is_better": scale.lower_is_better})
        return cls(scale.minimum, scale.maximum, 1 if scale.is_integer else scale.step, value, thresholds)


@shares_fields
class CriterionForm(forms.Form):
    """A row of the form. `build_decision` checks its entry.

    Rows are numbered from 0. The row that the page copies to add another has the number `__n__`.
    """

    name = forms.CharField(required=False, strip=False, widget=HiddenInput)
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
        words: Mapping[str, str] | None = None,
        circumstances: Collection[Circumstance] = CIRCUMSTANCES,
    ) -> None:
        self.number = number
        self.circumstances = circumstances
        self.rubric = rubric
        self.proposal = proposal
        self.earlier = earlier
        #: Reviewer -> the justification that they wrote, for a lead who decides between them.
        self.words = words or {}
        known = proposal or earlier
        self.input = score_input(rubric, known.criterion if known else "", proposal, earlier)
        self.own = self.input.encode(own)
        super().__init__(data, prefix=row_prefix(number), initial=self._initial(earlier))

    def _initial(self, earlier: EarlierScore | None) -> dict[str, Any]:
        if earlier:
            text = earlier.own_words(self.judged_text) if self.proposal else earlier.justification
            return {
                "name": earlier.criterion,
                "score": self.input.encode(earlier.score),
                "cause": earlier.cause if self.rubric.cause(earlier.cause) else "",
                "justification": text,
                "removed": earlier.is_excluded,
            }
        return {"name": self.proposal.criterion, "score": self.judged} if self.proposal else {}

    @property
    def entry(self) -> CriterionEntry:
        """The row as `build_decision` takes it. An unknown radio button stays as text, which is no score."""
        return CriterionEntry(
            criterion=self.criterion,
            score=self.value or None if self.current_score is None else self.current_score,
            justification=self._justification,
            cause=str(self["cause"].value() or ""),
            is_excluded=not self.is_kept,
        )

    @property
    def _justification(self) -> str | None:
        """The justification to save. None keeps the earlier decision's entry, or takes the judge's words."""
        if self.reason.strip() or self.proposal is None:
            return self.reason
        is_cleared = self.earlier is not None and bool(self.earlier.own_words(self.judged_text))
        return self.judged_text if is_cleared else None

    @property
    def as_fields(self) -> FormRow:
        """The values to post for the row as it is."""
        return FormRow(
            self.criterion, self.value, self.reason, str(self["cause"].value() or ""), self.is_removed
        )

    @property
    def criterion(self) -> str:
        """The criterion. A known one is not taken from the post, as browsers change line ends."""
        known = self.proposal or self.earlier
        return known.criterion if known else self.typed_name

    @property
    def value(self) -> str:
        """Value of the checked radio button, or the number entered; empty without either."""
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
        return self.rubric.title(self.criterion)

    @property
    def known(self) -> Criterion:
        return self.rubric.criterion(self.criterion)

    @property
    def has_long_description(self) -> bool:
        """Whether the description is folded, because it would take several lines of the form."""
        return len(self.known.description) > _FOLDED_FROM

    @property
    def is_required(self) -> bool:
        return self.known.is_required

    @property
    def weight(self) -> float:
        """The weight in the mean."""
        return self.rubric.weight(self.criterion)

    @property
    def place(self) -> int | str:
        """The row's number on the page, from 1."""
        return self.number + 1 if isinstance(self.number, int) else "__place__"

    @cached_property
    def judged(self) -> str:
        """Form value of the judge's score; empty if the judge gave none."""
        return self.input.encode(self.proposal.score) if self.proposal else ""

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
        value = self.value
        return [
            ScoreOption(
                choice,
                checked=choice.value == value,
                judged=choice.value == self.judged,
                own=choice.value == self.own,
            )
            for choice in self.input.choices
        ]

    @property
    def field(self) -> NumberField | None:
        """The field for a number; None if all scores have buttons."""
        scale, value = self.input.scale, self.value
        if not self.input.has_field or not isinstance(scale, RangeScale):
            return None
        is_button = any(choice.value == value for choice in self.input.choices)
        return NumberField.of_scale(scale, "" if is_button else value)

    @property
    def own_word(self) -> str:
        """The number that the reviewer entered in the blind review."""
        return self.own if self.field else ""

    @property
    def judged_rank(self) -> float | None:
        """The rank of the judge's score, to find out whether another one raises it."""
        return self.input.scale.rank(self.proposal.score) if self.proposal else None

    @property
    def direction(self) -> Direction | None:
        """How the score compares with the judge's; None if they differ without an order."""
        if not self.is_overridden:
            return "same"
        ours, judges = self.input.scale.rank(self.current_score), self.judged_rank
        if ours is None or judges is None or ours == judges:
            return None
        return "raised" if ours > judges else "lowered"

    @property
    def causes(self) -> list[CauseOption]:
        """The causes for this record. Those with a key fit the change of the score."""
        return cause_options(
            self.rubric.causes,
            direction=self.direction,
            circumstances=self.circumstances,
            chosen=str(self["cause"].value() or ""),
        )

    @property
    def current_score(self) -> Any:
        """The entered score as JSON; None without a valid one."""
        return self.input.decode(self.value) if self.value else None

    @property
    def judged_text(self) -> str:
        """The judge's justification."""
        return self.proposal.justification if self.proposal else ""

    @property
    def reason(self) -> str:
        """The reviewer's own justification; empty where the judge's applies."""
        return str(self["justification"].value() or "")

    @property
    def words_of(self) -> str:
        """The reviewer whose justification the lead has taken unchanged; empty for other texts."""
        return next((who for who, text in self.words.items() if same_text(text, self.reason)), "")

    @property
    def is_edited(self) -> bool:
        """Whether the reviewer's reason takes the place of the judge's justification."""
        return bool(self.reason.strip()) and not same_text(self.reason, self.judged_text)

    @property
    def is_changed(self) -> bool:
        """Whether the row differs from the judge's proposal."""
        if self.proposal is None:
            return not self.is_blank
        return self.is_removed or self.is_edited or self.is_overridden

    @property
    def is_overridden(self) -> bool:
        return not is_alike(self.current_score, self.proposal.score if self.proposal else None)

    @property
    def change(self) -> str:
        """The judge's score and the reviewer's, if they differ."""
        if not self.judged or not self.value or not self.is_overridden:
            return ""
        label = next((one.label for one in self.input.choices if one.value == self.value), self.value)
        return f"{self.judged_word} → {label}"
