"""Requirements about a gold set: `gold NAME accuracy >= 0.8`."""

import re
from typing import NamedTuple

from cognireview.types.estimates import Estimate
from cognireview.types.judge import GoldBasis
from reviews.judge import accuracy_figures
from reviews.judge.gold.measurement import measure
from reviews.judge.scope import JudgeScope
from reviews.judge.sequences import figure_sequence
from reviews.models import GoldSet, User
from reviews.statistics.intervals import undefined

FORM = f"[adjudicated] gold NAME {'|'.join(accuracy_figures.FIGURES)}"
# The name may contain any word, so the last metric counts.
_WORDS = re.compile(
    rf"(?P<adjudicated>adjudicated )?gold (?P<name>.+) (?P<figure>{'|'.join(accuracy_figures.FIGURES)})"
    r"( of (?P<criterion>.+))?"
)


class GoldFigure(NamedTuple):
    """A figure of a judge against a gold set."""

    name: str
    basis: GoldBasis
    figure: str
    #: None for the verdict.
    criterion: str | None


def parse_figure(text: str) -> GoldFigure | None:
    """Parse `FORM`, followed by `of CRITERION` unless it is about the verdict. None for other figures."""
    found = _WORDS.fullmatch(text.strip())
    if found is None:
        return None
    basis: GoldBasis = "adjudicated" if found["adjudicated"] else "blind"
    return GoldFigure(found["name"], basis, found["figure"], found["criterion"])


def estimate(wanted: GoldFigure, scope: JudgeScope, reader: User | None) -> Estimate:
    """Return the figure with its confidence sequence. It is undefined for an unknown gold set.

    A command has no `reader`.
    """
    sets = GoldSet.objects.all() if reader is None else GoldSet.objects.visible_to(reader)
    gold_set = sets.filter(name=wanted.name).first()
    if gold_set is None:
        return undefined(f"There is no gold set named {wanted.name!r}.")
    measured = measure(gold_set, scope)
    for one in measured.figures.get(wanted.basis, ()):
        if (one.criterion and one.criterion.strip()) == wanted.criterion:
            return figure_sequence(wanted.figure, getattr(one, wanted.figure), one.confusion)
    return undefined(measured.unknown or "The gold set has no such rating of a response of this run.")
