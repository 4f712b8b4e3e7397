"""The review form: the criteria of a record as one person decides on them.

Names in the posted data: `version`, `submission`, `comments`, and for each row from 0 `criteria-0-name`,
`criteria-0-score`, `criteria-0-justification`, `criteria-0-removed`. A row whose name is a criterion of the
record is compared with what the judge said there: what came from whom is decided here, not by what is posted.
"""

import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from reviews.criteria import AS_JUDGED, LEVELS, Offer, criterion_title, offers
from reviews.models import Evaluation
from reviews.verdict import aggregate

MAX_CRITERIA = 150
MAX_TEXT = 100_000
MAX_FORMATTED = 200_000
_STALE = "This form is out of date. Reload the page; what you typed is kept."
_STALE_MESSAGES = {"required": _STALE, "invalid": _STALE, "min_value": _STALE, "max_value": _STALE}
_LINE_END = re.compile(r"\r\n?")


def _same_text(one: str, other: str) -> bool:
    """Whether two texts are the same but for line ends, which a browser rewrites."""
    return _LINE_END.sub("\n", one) == _LINE_END.sub("\n", other)


def _text(value: str, offered: str = "") -> str:
    """The text to keep. An offered text that came back is exactly what was offered, however long."""
    if _same_text(value, offered):
        return offered
    if len(value) > MAX_TEXT:
        raise ValidationError(f"This is {len(value):,} characters long; at most {MAX_TEXT:,} are kept.")
    return _LINE_END.sub("\n", value)


@dataclass(frozen=True, slots=True)
class Option:
    """One radio button. `judged` marks the judge's choice."""

    value: str
    label: str
    checked: bool
    judged: bool


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a review that is stale by now said of a criterion."""

    criterion: str
    score: Any
    justification: str

    def level(self, offer: Offer | None) -> str:
        """What the form posts for that score; empty where the form has no such choice any more."""
        if self.score in LEVELS:
            return str(self.score)
        return offer.level if offer and json.dumps(self.score) == json.dumps(offer.score) else ""


def _earlier(evaluation: Evaluation) -> dict[str, Earlier]:
    """The scores of a stale review, by criterion."""
    scores = evaluation.human_corrected_scores if evaluation.is_stale else None
    return {
        name: Earlier(name, entry.get("score"), text if isinstance(text, str) else "")
        for name, entry in (scores or {}).items()
        if isinstance(entry, dict)
        for text in [entry.get("justification")]
    }


class CriterionForm(forms.Form):
    """One row: a criterion, its score and justification, and what the judge offered for it, if anything.

    Rows are numbered from 0; the row that the page copies to add another has `__n__` for a number.
    """

    name = forms.CharField(max_length=200, error_messages={"required": "Name the criterion."})
    score = forms.ChoiceField(
        error_messages={"required": "Choose a score.", "invalid_choice": "Choose one of the scores."}
    )
    justification = forms.CharField(required=False, strip=False, widget=forms.Textarea(attrs={"rows": 2}))
    removed = forms.BooleanField(required=False)
    use_required_attribute = False

    def __init__(
        self,
        data: Mapping[str, Any] | None,
        *,
        number: int | str,
        offer: Offer | None,
        earlier: Earlier | None = None,
    ) -> None:
        initial = {}
        if offer:
            initial = {"name": offer.criterion, "score": offer.level, "justification": offer.justification}
        if earlier:
            initial = {
                "name": earlier.criterion,
                "score": earlier.level(offer),
                "justification": earlier.justification,
            }
        super().__init__(data, prefix=f"criteria-{number}", initial=initial)
        self.number = number
        self.offer = offer
        self.levels = [*LEVELS, AS_JUDGED] if offer and offer.level == AS_JUDGED else list(LEVELS)
        self.fields["score"].choices = [(level, level) for level in self.levels]  # type: ignore[attr-defined]
        if offer:
            self.fields["name"] = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)

    def clean_name(self) -> str:
        return self.offer.criterion if self.offer else str(self.cleaned_data["name"])

    def clean_justification(self) -> str:
        return _text(self.cleaned_data["justification"], self.offer.justification if self.offer else "")

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
        return self.offer is None and not any(str(text or "").strip() for text in texts)

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
        """The level the judge chose; empty where it chose none."""
        return self.offer.level if self.offer else ""

    @property
    def judged_word(self) -> str:
        return self.offer.word if self.offer else ""

    @property
    def is_extracted(self) -> bool:
        return self.offer is not None and self.offer.origin == "extracted"

    @property
    def repairs(self) -> tuple[str, ...]:
        return self.offer.repairs if self.offer else ()

    @property
    def options(self) -> list[Option]:
        words = {AS_JUDGED: self.judged_word}
        return [
            Option(level, words.get(level, level), level == self.value, level == self.judged)
            for level in self.levels
        ]

    @property
    def current_score(self) -> Any:
        """The chosen score as a JSON value, the judge's with its own type; None where none is chosen."""
        return self.offer.score if self.offer and self.value == self.offer.level else self.value or None

    @property
    def text(self) -> str:
        return str(self["justification"].value() or "")

    @property
    def is_edited(self) -> bool:
        return not _same_text(self.text, self.offer.justification if self.offer else "")

    @property
    def is_changed(self) -> bool:
        """Whether the row differs from what was offered."""
        if self.offer is None:
            return not self.is_blank
        return self.is_removed or self.is_edited or self.value != self.judged

    @property
    def change(self) -> str:
        """The judge's score and the person's where they differ."""
        if not self.judged or self.value in {"", self.judged}:
            return ""
        return f"{self.judged_word} → {self.value}"

    @property
    def decision(self) -> dict[str, Any]:
        """What a person stands by (of a valid row): the judge's whole entry where nothing was changed."""
        if self.offer and not self.is_changed:
            return dict(self.offer.given)
        return {"score": self.current_score, "justification": self.cleaned_data["justification"]}

    @property
    def origin(self) -> str:
        """Where the score came from: judge, extracted or human."""
        return self.offer.origin if self.offer and self.value == self.offer.level else "human"


class ReviewForm(forms.Form):
    """All rows of a record, the comment, and what the record was when the form was made.

    `shows_errors` is off while rows are added: what is half typed is not wrong yet.
    """

    version = forms.IntegerField(
        min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput, error_messages=_STALE_MESSAGES
    )
    submission = forms.UUIDField(widget=forms.HiddenInput, error_messages=_STALE_MESSAGES)
    comments = forms.CharField(
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 1, "maxlength": None}),
    )
    use_required_attribute = False

    def __init__(
        self, evaluation: Evaluation, data: Mapping[str, Any] | None = None, *, added: int = 0
    ) -> None:
        found = offers(evaluation)
        self.offers = found[:MAX_CRITERIA]
        self.left_out = len(found) - len(self.offers)
        self.evaluation = evaluation
        self.shows_errors = data is not None and not added
        self._earlier = _earlier(evaluation)
        initial = {"version": evaluation.version, "submission": uuid.uuid4()}
        if evaluation.is_stale:
            initial["comments"] = evaluation.human_review_comments or ""
        super().__init__(data, initial=initial)
        self.rows = list(self._make_rows(data, added))

    def _make_rows(self, data: Mapping[str, Any] | None, added: int) -> Iterator[CriterionForm]:
        """The posted rows, each with its offer by name, then offers that no row is about, then others.

        Those are, in a new form, what a stale review scored beside them, and blank ones.
        """
        waiting = {_LINE_END.sub("\n", offer.criterion): offer for offer in self.offers}
        posted = _row_count(data)
        for number in range(posted):
            name = _LINE_END.sub("\n", str(data[f"criteria-{number}-name"])) if data else ""
            yield CriterionForm(data, number=number, offer=waiting.pop(name, None))
        offered = {offer.criterion: offer for offer in waiting.values()}
        names = [*offered, *(name for name in self._earlier if name not in offered and data is None)]
        names += [""] * (added or int(not posted and not names))
        for number, name in enumerate(names, start=posted):
            earlier = self._earlier.get(name)
            yield CriterionForm(None, number=number, offer=offered.get(name), earlier=earlier)

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

    @property
    def kept(self) -> list[CriterionForm]:
        """The rows that make up the decision."""
        return [row for row in self.rows if row.is_kept]

    @property
    def scores(self) -> dict[str, dict[str, Any]]:
        """The decision of a valid form, criterion -> {score, justification}."""
        return {row.cleaned_data["name"]: row.decision for row in self.kept}

    @property
    def origins(self) -> dict[str, str]:
        """Where each score of a valid form came from, criterion -> judge, extracted or human."""
        return {row.cleaned_data["name"]: row.origin for row in self.kept}

    @property
    def missing(self) -> int:
        """How many rows want a score."""
        rows = self.kept or [row for row in self.rows if not row.is_removed]
        return sum(not row.value for row in rows)

    @property
    def changes(self) -> int:
        """How many rows differ from what was offered."""
        return sum(row.is_changed for row in self.rows)

    @property
    def submit_label(self) -> str:
        if self.missing:
            return f"{_counted(self.missing, 'score', 'scores')} missing"
        if not self.offers:
            return "Submit & next"
        return f"Submit {_counted(self.changes, 'change', 'changes')}" if self.changes else "Agree & next"

    @property
    def blank_row(self) -> CriterionForm:
        """What the page copies to add a row."""
        return CriterionForm(None, number="__n__", offer=None)

    @property
    def comment(self) -> str:
        return str(self["comments"].value() or "")

    @property
    def is_heavy(self) -> bool:
        """Whether formatting all justifications would hold the page up."""
        return sum(len(row.text) for row in self.rows) > MAX_FORMATTED

    @property
    def verdict_change(self) -> str:
        """The verdict in words: the judge's, the person's, or both where they differ."""
        before, after = self.judged_verdict, self.verdict or "open"
        return after if before in {"", after} or after == "open" else f"{before} → {after}"

    @property
    def judged_verdict(self) -> str:
        """What the judge's scores come to; empty where they come to nothing."""
        found = self.evaluation.aggregated_score or aggregate(offer.score for offer in self.offers)
        return found or ""

    @property
    def verdict(self) -> str:
        """What the scores in the form come to; empty while one is missing."""
        return aggregate(row.current_score for row in self.kept) or ""


def _row_count(data: Mapping[str, Any] | None) -> int:
    """How many rows were posted: those that are there, whatever the count says."""
    count = 0
    while data and count < MAX_CRITERIA and f"criteria-{count}-name" in data:
        count += 1
    return count


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
