"""Build a decision from the entries of a reviewer or a program, with the same checks for both."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Required, TypedDict

from reviews.records.rubric import Rubric
from reviews.records.scores import is_alike, is_score
from reviews.rubric.overrides import is_same_score
from reviews.rubric.proposals import Proposal
from reviews.rubric.score_input import ScoreInput

MAX_CRITERIA = 150
MAX_NAME = 200
MAX_TEXT = 100_000
LINE_END = re.compile(r"\r\n?")

Scores = Mapping[str, Mapping[str, Any]]


class Decision(TypedDict, total=False):
    #: Criterion -> {score, justification, justification_by}, for each criterion that is not excluded.
    #: `justification_by` is "judge" or "reviewer", where the entry differs from the judge's.
    scores: Required[Scores]
    comments: Required[str]
    #: Criterion -> source of the score: judge, extracted or human.
    origins: Required[Mapping[str, str]]
    #: Criterion -> why the judge was wrong, a cause of the run's rubric.
    causes: Mapping[str, str]
    #: Milliseconds of active work.
    active_ms: int | None
    #: Key presses outside text fields.
    keys: int | None
    #: `score_extraction.VERSION` where scores were extracted.
    extractor: int | None
    #: Criterion -> the judge's score at that time.
    judged: Mapping[str, Any] | None
    #: Words of evidence to read.
    words: int | None


@dataclass(frozen=True, slots=True)
class EarlierScore:
    """A score to prefill a new form with, from a decision, a file, blind scores or independent reviews."""

    criterion: str
    score: Any
    justification: str
    cause: str
    #: Whole JSON value of a decision's entry. In a file it may have any shape. None for other sources.
    entry: Any = None
    #: Whether the score comes from a decision in the imported file, and can be chosen for that reason.
    is_in_file: bool = False
    #: Whether the justification is the judge's, perhaps that of an earlier import.
    has_judges_text: bool = False
    #: Whether a new form excludes the criterion.
    is_excluded: bool = False

    def own_words(self, judged: str) -> str:
        """Return the reviewer's own words; empty for the judge's, which are `judged` now."""
        return "" if self.has_judges_text or same_text(self.justification, judged) else self.justification


class CriterionEntry(NamedTuple):
    criterion: str
    #: A JSON score, or None if none was chosen.
    score: Any
    #: None keeps the reviewer's words of the earlier decision if the score is the same, or else the judge's.
    justification: str | None = None
    cause: str = ""
    is_excluded: bool = False


class EntryError(NamedTuple):
    #: Position of the entry from 0, or None if no entry is wrong by itself.
    position: int | None
    #: Empty where the error is about all entries.
    criterion: str
    #: name, score, justification, cause or comments; empty where the error is about all entries.
    field: str
    reason: str


class InvalidDecision(Exception):
    """The entries do not make a decision. `errors` names criterion and field of each error."""

    def __init__(self, errors: Sequence[EntryError]) -> None:
        super().__init__(" ".join(error.reason for error in errors))
        self.errors = errors


def same_text(one: str, other: str) -> bool:
    """Return whether two texts are equal except for line ends, which browsers rewrite."""
    return LINE_END.sub("\n", one) == LINE_END.sub("\n", other)


def has_judges_text(entry: Any, origin: str) -> bool:
    """Return whether the justification in a decision's entry is the judge's.

    An entry without an author and with a score of the judge is the judge's as a whole.
    """
    author = entry.get("justification_by") if isinstance(entry, Mapping) else None
    return author == "judge" or (author is None and origin in {"judge", "extracted"})


def clean_text(text: str, *known: str) -> str:
    """Return the known text that comes back unchanged, or else the text with Unix line ends.

    Raises `ValueError` if a new text is too long or has null characters.
    """
    for unchanged in known:
        if same_text(text, unchanged):
            return unchanged
    if len(text) > MAX_TEXT:
        raise ValueError(f"This has {len(text):,} characters. The limit is {MAX_TEXT:,}.")
    if "\0" in text:
        raise ValueError("Null characters are not allowed.")
    return LINE_END.sub("\n", text)


def score_input(
    rubric: Rubric, criterion: str, proposal: Proposal | None, earlier: EarlierScore | None
) -> ScoreInput:
    """Return the scores that can be entered, including the judge's and that of a decision in the file."""
    in_file = earlier.score if earlier and earlier.is_in_file else None
    return ScoreInput(rubric, criterion, proposal.score if proposal else None, in_file)


def build_decision(
    proposals: Sequence[Proposal],
    entries: Sequence[CriterionEntry],
    rubric: Rubric,
    *,
    earlier: Mapping[str, EarlierScore],
    comments: str = "",
) -> Decision:
    """Build the decision that the entries make. Raises `InvalidDecision`.

    Each criterion of `proposals` needs an entry. `earlier` has the scores of the decision so far. An entry
    that changes nothing keeps the JSON value of that decision or of the judge.
    """
    by_name = {proposal.criterion: proposal for proposal in proposals}
    checked = [
        _CheckedEntry(position, entry, rubric, by_name.get(entry.criterion), earlier.get(entry.criterion))
        for position, entry in enumerate(entries)
        if not entry.is_excluded
    ]
    checked = [each for each in checked if not each.is_skipped]
    errors = _errors_of_all(by_name, entries, checked)
    errors += [error for each in checked for error in each.errors()]
    if errors:
        raise InvalidDecision(errors)
    return {
        "scores": {each.name: each.value() for each in checked},
        "comments": comments,
        "origins": {each.name: each.origin for each in checked},
        "causes": {each.name: each.entry.cause for each in checked if each.has_cause},
        "judged": {one.criterion: one.score for one in proposals if is_score(one.score)},
    }


def _errors_of_all(
    wanted: Iterable[str], entries: Sequence[CriterionEntry], checked: "Sequence[_CheckedEntry]"
) -> list[EntryError]:
    given = {entry.criterion for entry in entries}
    missing = "Missing: give a score, or exclude the criterion."
    errors = [EntryError(None, name, "score", missing) for name in wanted if name not in given]
    if len(checked) > MAX_CRITERIA:
        errors.append(EntryError(None, "", "", f"A review takes at most {MAX_CRITERIA} criteria."))
    if not checked and not errors:
        errors.append(EntryError(None, "", "", "A review needs at least one criterion with a score."))
    names: set[str] = set()
    for each in checked:
        if each.name in names:
            errors.append(each.error("name", "Another criterion has this name."))
        names.add(each.name)
    return errors


@dataclass(frozen=True)
class _CheckedEntry:
    """An entry with the judge's proposal and the earlier score of its criterion."""

    position: int
    entry: CriterionEntry
    rubric: Rubric
    proposal: Proposal | None
    earlier: EarlierScore | None

    @property
    def name(self) -> str:
        """The criterion, without outer spaces if it is a new one."""
        name = self.entry.criterion
        return name if self.proposal or self.earlier else name.strip()

    @property
    def input(self) -> ScoreInput:
        return score_input(self.rubric, self.name, self.proposal, self.earlier)

    @property
    def is_skipped(self) -> bool:
        """Whether an optional criterion was left without a score and a text."""
        is_blank = self.entry.score is None and not (self.entry.justification or "").strip()
        return (
            is_blank and self.name in self.rubric.names and not self.rubric.criterion(self.name).is_required
        )

    @property
    def judged_score(self) -> Any:
        return self.proposal.score if self.proposal else None

    @property
    def keeps_judges_score(self) -> bool:
        return is_score(self.judged_score) and is_same_score(self.entry.score, self.judged_score)

    @property
    def text(self) -> str:
        """The justification as entered, or else that of the earlier decision or of the judge."""
        if self.entry.justification is not None:
            return self.entry.justification
        judged = self.proposal.justification if self.proposal else ""
        if self.earlier is None or not is_same_score(self.earlier.score, self.entry.score):
            return judged
        return judged if self.proposal and self.earlier.has_judges_text else self.earlier.justification

    def clean_justification(self) -> str:
        return clean_text(self.text, *(one.justification for one in (self.earlier, self.proposal) if one))

    def error(self, field: str, reason: str) -> EntryError:
        return EntryError(self.position, self.entry.criterion, field, reason)

    def errors(self) -> list[EntryError]:
        return [self.error(field, reason) for field, reason in self._reasons()]

    def _reasons(self) -> Iterable[tuple[str, str]]:
        if not (self.proposal or self.earlier):
            yield from _reasons_of_name(self.name)
        if self.entry.score is None:
            yield "score", "Choose a score."
        elif self.input.find(self.entry.score) is None:
            yield "score", self.input.requirement
        if self.entry.cause and self.rubric.cause(self.entry.cause) is None:
            yield "cause", "Choose one of the causes."
        try:
            self.clean_justification()
        except ValueError as error:
            yield "justification", str(error)

    def value(self) -> dict[str, Any]:
        """Return the entry to save. An unchanged entry keeps all members of its JSON value."""
        earlier, text = self.earlier, self.clean_justification()
        if (
            earlier
            and isinstance(earlier.entry, Mapping)
            and text == earlier.justification
            and is_same_score(self.entry.score, earlier.score)
        ):
            return dict(earlier.entry)
        if self.proposal and self.keeps_judges_score:
            if same_text(text, self.proposal.justification):
                return dict(self.proposal.given)
            return {"score": self.proposal.score, "justification": text} | self._author(text)
        return {"score": self.input.find(self.entry.score), "justification": text} | self._author(text)

    def _author(self, text: str) -> dict[str, str]:
        """Return whose words a justification is, as a member of the entry; empty without a text."""
        if not text.strip():
            return {}
        is_judges = self.proposal is not None and same_text(text, self.proposal.justification)
        return {"justification_by": "judge" if is_judges else "reviewer"}

    @property
    def origin(self) -> str:
        return self.proposal.origin if self.proposal and self.keeps_judges_score else "human"

    @property
    def has_cause(self) -> bool:
        """Whether the cause counts: only where the entry differs from the judge's."""
        if not self.entry.cause or self.proposal is None or not is_score(self.judged_score):
            return False
        is_overridden = not is_alike(self.entry.score, self.judged_score)
        return is_overridden or not same_text(self.text, self.proposal.justification)


def _reasons_of_name(name: str) -> Iterable[tuple[str, str]]:
    if not name:
        yield "name", "Name the criterion."
    if "\0" in name:
        yield "name", "Null characters are not allowed."
    if len(name) > MAX_NAME:
        yield "name", f"The name of a criterion has at most {MAX_NAME} characters."
