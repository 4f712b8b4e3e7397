"""What a program decides, entered into the form of the review screen: the same checks, the same decision."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from ninja import Field

from reviews.api.bodies import Body
from reviews.api.problems import Problem
from reviews.models import BlindScores, Evaluation, Review
from reviews.records.scores import format_score, identity, is_score, score_of
from reviews.review.file_decisions import text_of
from reviews.review.forms.blind import BlindForm
from reviews.review.forms.review import ReviewForm
from reviews.rubric.definition import Choice
from reviews.rubric.overrides import is_same_score
from reviews.rubric.proposals import Proposal

Errors = list[tuple[str, str]]


class Entry(Body):
    """A score, and why.

    Without a justification that of the decision so far is kept where its score is the same, else the judge's.
    """

    score: Any
    justification: str | None = None


class DecisionIn(Body):
    """Every criterion of the record and of its `file_decision`: its score, or null for one to leave out."""

    corrected_scores: dict[str, Entry | None]
    comments: str | None = Field(
        default=None,
        description="Left out, the comments of the decision so far stay: that in force, or `file_decision`. "
        "Null or an empty text removes them.",
    )
    causes: dict[str, str] = Field(default={}, description="Criterion -> why the judge was wrong there.")
    version: int | None = Field(
        default=None,
        description="The record's as it was read: then a decision on what has changed since is refused.",
    )

    @property
    def has_comments(self) -> bool:
        """Whether `comments` was sent, be it as null."""
        return "comments" in self.model_fields_set


class BlindIn(Body):
    """Criterion -> score, of every criterion; null for one that is left out."""

    scores: dict[str, Any]
    version: int | None = None


def decision(
    record: Evaluation, sent: DecisionIn, submission: uuid.UUID, committed: BlindScores | None
) -> dict[str, Any]:
    """The arguments of `workflow.submit_review`. Raises `Problem` (422) with what is wrong by field."""
    form = ReviewForm(record, committed=committed)
    errors = list(_errors(form, sent.corrected_scores, "corrected_scores", ".score"))
    unknown = [name for name in sent.causes if sent.corrected_scores.get(name) is None]
    errors += [(f"causes.{name}", "There is no score for this criterion.") for name in unknown]
    _raise(errors)
    data = _fields(form, sent.corrected_scores, sent.causes)
    data |= {
        "version": _version(record, sent.version),
        "submission": str(submission),
        "comments": (sent.comments or "") if sent.has_comments else form.comment,
    }
    return _valid(ReviewForm(record, data, committed=committed), "corrected_scores").decision


def came_of(sent: DecisionIn, kept: Review) -> bool:
    """Whether a review can be what was made of this; texts are the same but for spaces and line ends."""
    scores = {name.strip(): entry for name, entry in (kept.corrected_scores or {}).items()}
    entries = {name.strip(): entry for name, entry in sent.corrected_scores.items() if entry is not None}
    causes = {name.strip(): cause for name, cause in sent.causes.items()}
    return (
        {name: score_of(entry) for name, entry in scores.items()}
        == {name: entry.score for name, entry in entries.items()}
        and all(
            entry.justification is None or _words(entry.justification) == _words(text_of(scores[name]))
            for name, entry in entries.items()
        )
        and (not sent.has_comments or _words(sent.comments) == _words(kept.comments))
        # A cause is kept only where the score is not the judge's.
        and kept.causes.items() <= causes.items()
    )


def _words(text: str | None) -> list[str]:
    return (text or "").split()


def blind_scores(record: Evaluation, sent: BlindIn) -> dict[str, Any]:
    """The arguments of `blind.commit`. Raises `Problem` (422) with what is wrong by field."""
    form = BlindForm(record)
    entries = {
        name: None if score is None else Entry(score=score, justification="")
        for name, score in sent.scores.items()
    }
    _raise(list(_errors(form, entries, "scores", "")))
    data = _fields(form, entries, {})
    data |= {"version": _version(record, sent.version), "submission": str(uuid.uuid4()), "comments": ""}
    return _valid(BlindForm(record, data), "scores").decision


def _version(record: Evaluation, sent: int | None) -> str:
    return str(record.version if sent is None else sent)


def _errors(
    form: ReviewForm, entries: Mapping[str, Entry | None], field: str, of_score: str
) -> Iterator[tuple[str, str]]:
    """What the form could not say by the names that were sent."""
    wanted = [proposal.criterion for proposal in form.proposals]
    if form.file_decision:
        # So that no criterion of a person's decision goes because a program does not know of it.
        wanted += [name for name in form.file_decision.scores if name not in wanted]
    for name in wanted:
        if name not in entries:
            yield f"{field}.{name}", "Is missing: give a score, or null to leave the criterion out."
    for name, entry in entries.items():
        known = form.choices_of(name)
        if entry is not None and _chosen(known, entry.score) is None:
            words = ", ".join(format_score(choice.score) for choice in known)
            yield f"{field}.{name}{of_score}", f"Is none of the scores: {words}."


def _chosen(options: Iterable[Choice], score: Any) -> str | None:
    """What the form posts for a score; None for one that it does not have."""
    if not is_score(score):
        return None
    same = (choice.value for choice in options if identity(choice.score) == identity(score))
    return next(same, None)


def _fields(
    form: ReviewForm, entries: Mapping[str, Entry | None], causes: Mapping[str, str]
) -> dict[str, str]:
    """The rows as the review form posts them."""
    by_name = {proposal.criterion: proposal for proposal in form.proposals}
    data: dict[str, str] = {}
    for number, (name, entry) in enumerate(entries.items()):
        row, proposal = f"criteria-{number}", by_name.get(name)
        data[f"{row}-name"] = name
        if entry is None:
            data[f"{row}-removed"] = "yes"
            continue
        usual = _usual_justification(form, name, proposal, entry)
        data[f"{row}-score"] = _chosen(form.choices_of(name), entry.score) or ""
        data[f"{row}-justification"] = usual if entry.justification is None else entry.justification
        data[f"{row}-cause"] = causes.get(name, "")
    return data


def _usual_justification(form: ReviewForm, name: str, proposal: Proposal | None, entry: Entry) -> str:
    """The text that a score has where none was sent."""
    earlier = form.earlier.get(name)
    if earlier and is_same_score(earlier.score, entry.score):
        return earlier.justification
    return proposal.justification if proposal else ""


def _valid(form: ReviewForm, field: str) -> ReviewForm:
    if not form.is_valid():
        own = [(name, reason) for name, reasons in form.errors.items() for reason in reasons]
        errors: Errors = [(field if name == "__all__" else name, str(reason)) for name, reason in own]
        for row in form.kept:
            for name, reasons in row.errors.items() if row.is_bound else ():
                place = f"causes.{row.typed_name}" if name == "cause" else f"{field}.{row.typed_name}.{name}"
                errors += [(place, str(reason)) for reason in reasons]
        _raise(errors)
    return form


def _raise(errors: Errors) -> None:
    if errors:
        sentence = "Nothing is saved: something in the request is not what the record takes."
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, errors)
