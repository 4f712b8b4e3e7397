"""How far the judge of a run can be trusted, in a few figures: for the page of the run."""

from typing import NamedTuple

from reviews.judge import accuracy, missed_errors
from reviews.judge.accuracy import DEFINITIONS, AccuracyFigures, JudgeScope
from reviews.models import Run
from reviews.views.tables import Cell, share


class Answer(NamedTuple):
    """A figure: how it is called, what it is, how it reads, and what to think of it before believing it."""

    name: str
    title: str
    explained: str
    cell: Cell
    caution: str = ""


class Card(NamedTuple):
    """`reviews` is how many decisions there are to measure by; without any there are no answers."""

    reviews: int
    answers: list[Answer]


_BIASED = "Biased upward: the reviewers saw the judge's verdict."


def of(run: Run) -> Card:
    """By all decisions in force: how often people come to the judge's verdict, and what the flags miss."""
    compared = accuracy.compare_with_humans(JudgeScope(run))
    verdicts = [one for one in compared.overall if one.criterion is None and one.population == "flagged"]
    answers = [answer for one in verdicts for answer in _of_verdict(one)]
    escapes = missed_errors.estimate_missed_errors(JudgeScope(run))
    if escapes.reviewed:
        figures = {
            "rate": ("Escape rate", escapes.rate.share),
            "recall": ("Recall of the flags", escapes.recall),
        }
        for name, (title, estimate) in figures.items():
            answers.append(Answer(name, title, missed_errors.DEFINITIONS[name], share(estimate)))
    return Card(sum(compared.reviews.values()), answers)


def _of_verdict(of: AccuracyFigures) -> list[Answer]:
    caution = _BIASED if of.basis == "assisted" else ""
    figures = {"agreement": ("Same verdict", of.agreement), "false_pass": ("False pass", of.false_pass)}
    return [
        Answer(f"{of.basis}-{name}", f"{title}, {of.basis}", DEFINITIONS[name], share(estimate), caution)
        for name, (title, estimate) in figures.items()
    ]
