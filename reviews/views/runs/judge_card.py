"""The key figures of judge accuracy, for the page of a run."""

from typing import NamedTuple

from reviews.judge import accuracy, missed_errors
from reviews.judge.accuracy import DEFINITIONS, AccuracyFigures
from reviews.judge.scope import JudgeScope
from reviews.models import Run
from reviews.views.tables import Cell, share


class CardFigure(NamedTuple):
    """A figure with its definition and a caution."""

    name: str
    title: str
    definition: str
    cell: Cell
    caution: str = ""


class JudgeCard(NamedTuple):
    """The figures, measured by this number of `reviews`; without reviews there are no figures."""

    reviews: int
    figures: list[CardFigure]


_BIASED = "May overstate agreement: the reviewers saw the judge's verdict."


def judge_card(run: Run) -> JudgeCard:
    """Measure verdict agreement and missed errors by all current decisions."""
    compared = accuracy.compare_with_humans(JudgeScope(run))
    verdicts = [one for one in compared.overall if one.criterion is None and one.population == "flagged"]
    figures = [figure for one in verdicts for figure in _verdict_figures(one)]
    escapes = missed_errors.estimate_missed_errors(JudgeScope(run))
    if escapes.reviewed:
        estimates = {
            "miss_rate": ("Miss rate", escapes.miss_rate.share),
            "flag_recall": ("Flag recall", escapes.flag_recall),
        }
        figures += [
            CardFigure(name, title, missed_errors.DEFINITIONS[name], share(estimate))
            for name, (title, estimate) in estimates.items()
        ]
    return JudgeCard(sum(compared.reviews.values()), figures)


def _verdict_figures(verdict: AccuracyFigures) -> list[CardFigure]:
    caution = _BIASED if verdict.basis == "assisted" else ""
    estimates = {
        "agreement": ("Verdict agreement", verdict.agreement),
        "false_pass": ("False pass", verdict.false_pass),
    }
    return [
        CardFigure(
            f"{verdict.basis}-{name}",
            f"{title} ({verdict.basis})",
            DEFINITIONS[name],
            share(estimate),
            caution,
        )
        for name, (title, estimate) in estimates.items()
    ]
