"""The headline of the judge's pages: how good the judge is, or why this is unknown."""

from typing import NamedTuple

from django.urls import reverse

from cognireview.types.report_parts import Funnel
from reviews.judge import target
from reviews.judge.accuracy import DEFINITIONS, JudgeVsHuman
from reviews.judge.outcomes import GateOutcome
from reviews.judge.review_plan import why_not_blind
from reviews.judge.scope import JudgeScope
from reviews.judge.target import TargetCheck
from reviews.records.wording import counted
from reviews.views.judge import tables
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.sections import Link, Tone
from reviews.views.tables import FEWEST, Cell, prominent, share

_TONES: dict[GateOutcome, Tone] = {
    GateOutcome.MET: "ok",
    GateOutcome.SHOWN_WORSE: "bad",
    GateOutcome.NOT_SHOWN_YET: "warn",
}
_NO_VERDICTS = "The records have no verdict that could be compared. The accuracy of each criterion is below."


class Answer(NamedTuple):
    """The accuracy, or why it is unknown."""

    #: Its text is “unknown” or “not shown yet” without a value.
    cell: Cell
    #: What else is known, or why nothing is.
    sentences: list[str]
    #: What to do next if the accuracy is unknown.
    action: Link | None = None


class Headline(NamedTuple):
    """The answer to “How good is the judge?”, with the target and the progress of blind review."""

    title: str
    answer: Answer
    followed: Funnel
    check: TargetCheck | None
    help: str = DEFINITIONS["accuracy"]
    target_help: str = target.DEFINITION

    @property
    def tone(self) -> Tone:
        """The colour of the target."""
        return _TONES[self.check.outcome] if self.check else ""

    @property
    def scored(self) -> str:
        """The part of the records assigned to blind review that is scored, as an SVG length."""
        followed = self.followed
        return f"{100 * followed.locked_in / followed.assigned if followed.assigned else 0:.2f}%"


def headline(
    filters: JudgeFilters, compared: JudgeVsHuman, followed: Funnel, check: TargetCheck | None
) -> Headline:
    """Return the answer for the ratings that the filters choose."""
    answer = _known(compared, filters) or _unknown(compared, filters)
    is_whole = compared.scope == JudgeScope(compared.scope.run)
    title = "Blind accuracy over the whole run" if is_whole else "Blind accuracy with these filters"
    return Headline(title, answer, followed, check)


def _known(compared: JudgeVsHuman, filters: JudgeFilters) -> Answer | None:
    found = compared.headline
    if found is None or found.accuracy.value is None or found.accuracy.n < FEWEST:
        return None
    url = filters.address("judge-decisions", basis="blind", part="run")
    same = f"{found.table.same:,} of {counted(found.n, 'rating')} agree with the judge"
    sentences = [f"{same}. The estimate weights each rating by the records that it represents."]
    if found.false_pass.value is not None and found.false_pass.n >= FEWEST:
        passed = share(found.false_pass).words
        sentences.append(f"The judge passes {passed} of the records that reviewers fail.")
    verdict = next((one for one in filters.agreement if one.criterion is None), None)
    if verdict and verdict.unanimous.value is not None:
        agreed = share(verdict.unanimous).words
        sentences.append(f"Reviewers agree with each other on {agreed} of the records that several scored.")
    return Answer(share(found.accuracy, url), [*sentences, *_sentences(compared.left_out)])


def _unknown(compared: JudgeVsHuman, filters: JudgeFilters) -> Answer:
    """Say why the accuracy is unknown, which figures are known, and how to go on."""
    found, run = compared.headline, compared.scope.run
    action = Link("Plan blind reviews", filters.address("judge-plan"))
    if found and found.accuracy.value is not None:
        ratings = counted(found.accuracy.n, "blind rating")
        why = f"The run has {ratings} so far. A figure needs {FEWEST} or more."
        return Answer(Cell("not shown yet"), [why], action)
    if not found and any(basis == "blind" for basis, _ in compared.rated):
        rubric = Link("Check the rubric", reverse("run-settings", args=[run.pk]))
        return Answer(Cell("unknown"), [_NO_VERDICTS], rubric)
    impossible = why_not_blind(run)
    if impossible and not found:
        return Answer(Cell("unknown"), _sentences(impossible, _secondary(compared)))
    if not found and not run.blind_share:
        action = Link("Set up blind review", reverse("run-sampling", args=[run.pk]))
    if compared.unknown:
        return Answer(Cell("unknown"), _sentences(compared.unknown, _secondary(compared)))
    why = found.accuracy.why if found else _why_nothing(compared)
    return Answer(Cell("unknown"), _sentences(why, _secondary(compared)), action)


def _sentences(*sentences: str) -> list[str]:
    return [sentence for sentence in sentences if sentence]


def _why_nothing(compared: JudgeVsHuman) -> str:
    run = compared.scope.run
    if compared.unsampled:
        return "Only unflagged records outside the random sample were scored blind. They represent no others."
    if compared.scope != JudgeScope(run):
        return "No blind rating matches these filters."
    if not run.blind_share:
        return "No record was scored blind, because blind review is off for this run."
    return "No record was scored blind yet."


def _secondary(compared: JudgeVsHuman) -> str:
    """Describe the figures that are known instead of those of the whole run."""
    known = tables.best(compared)
    figures = compared.find(None, *known) if known else None
    if figures is None or figures.accuracy.value is None:
        return ""
    found = prominent(share(figures.accuracy))
    if found.value is None:
        return ""
    if figures.basis == "blind":
        return f"Blind accuracy on {tables.RECORDS[figures.part]}: {found.words}."
    return (
        f"Assisted accuracy on the decided records: {found.words}. The reviewers saw the judge's verdict, so "
        f"this may overstate its accuracy."
    )
