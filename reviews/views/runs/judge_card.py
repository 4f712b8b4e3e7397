"""The key figures of judge accuracy, for the page of a run."""

from typing import NamedTuple

from reviews.judge import accuracy, missed_errors
from reviews.judge.accuracy import DEFINITIONS
from reviews.judge.accuracy_figures import AccuracyFigures
from reviews.judge.figure_cache import cache_figures
from reviews.judge.loading import shares_loads
from reviews.judge.scope import JudgeScope
from reviews.models import Run
from reviews.views.tables import Cell, prominent, share


class CardFigure(NamedTuple):
    name: str
    title: str
    definition: str
    cell: Cell
    caution: str = ""


class JudgeCard(NamedTuple):
    """The figures, measured by this number of `ratings`; without ratings there are no figures."""

    ratings: int
    figures: tuple[CardFigure, ...]


_BIASED = "May overstate the judge's accuracy: the reviewers saw its verdict."


def judge_card(run: Run) -> JudgeCard:
    """Measure the accuracy of verdicts and missed errors over the whole run."""
    return _measure(JudgeScope(run))


@cache_figures
@shares_loads
def _measure(scope: JudgeScope) -> JudgeCard:
    compared = accuracy.compare_with_humans(scope)
    figures = [
        figure
        for basis in accuracy.BASES
        if (found := compared.find(None, basis, "run"))
        for figure in _verdict_figures(found)
    ]
    missed = missed_errors.estimate_missed_errors(scope)
    if missed.ratings:
        estimates = {
            "miss_rate": ("Miss rate", missed.miss_rate),
            "flag_recall": ("Flag recall", missed.flag_recall),
        }
        figures += [
            CardFigure(name, title, missed_errors.DEFINITIONS[name], prominent(share(estimate)))
            for name, (title, estimate) in estimates.items()
        ]
    bases = [compared.ratings.get((basis, "run"), 0) for basis in accuracy.BASES]
    return JudgeCard(sum(bases), tuple(figures))


def _verdict_figures(verdict: AccuracyFigures) -> list[CardFigure]:
    caution = _BIASED if verdict.basis == "assisted" else ""
    estimates = {
        "accuracy": ("Accuracy of verdicts", verdict.accuracy),
        "false_pass": ("False pass", verdict.false_pass),
    }
    return [
        CardFigure(
            f"{verdict.basis}-{name}",
            f"{title} ({verdict.basis})",
            DEFINITIONS[name],
            prominent(share(estimate)),
            caution,
        )
        for name, (title, estimate) in estimates.items()
    ]
