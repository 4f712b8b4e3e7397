"""Measure agreement between reviewers on records that several reviewed independently."""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from reviews.judge.accuracy import figure_title
from reviews.judge.plain_json import members
from reviews.judge.scales import ScoreCategories
from reviews.models import Run
from reviews.review import agreement_counts
from reviews.rubric.run_rubric import run_rubric
from reviews.statistics import reliability as coefficients
from reviews.statistics.intervals import Estimate

FIGURES = ("alpha", "ordinal_alpha", "fleiss_kappa", "unanimous")
DEFINITIONS = {name: coefficients.DEFINITIONS[name] for name in FIGURES}


@dataclass(frozen=True)
class ReviewerAgreement:
    """Agreement on one criterion or on the verdict. The `n` of each estimate counts records."""

    #: None for the verdict.
    criterion: str | None
    alpha: Estimate
    ordinal_alpha: Estimate
    fleiss_kappa: Estimate
    unanimous: Estimate

    @property
    def title(self) -> str:
        return figure_title(self.criterion)

    def as_json(self) -> dict[str, Any]:
        return members(self, "criterion", *FIGURES)


def measure_reviewer_agreement(run: Run) -> tuple[ReviewerAgreement, ...]:
    """Return the agreement on the verdict, then on each criterion in the order of the rubric.

    The result is empty without a second independent review.
    """
    rubric = run_rubric(run)
    patterns = agreement_counts.load_patterns(run)
    known = {name: place for place, name in enumerate(rubric.names)}
    names = sorted(
        patterns, key=lambda name: (name is not None, known.get(name or "", len(known)), name or "")
    )
    found = []
    for name in names:
        scores = [score for pattern in patterns[name] for score in pattern]
        scale = (
            ScoreCategories.of_verdicts()
            if name is None
            else ScoreCategories.from_scores(rubric, name, scores)
        )
        found.append(_figures(name, scale, patterns[name]))
    return tuple(found)


def _figures(
    criterion: str | None, scale: ScoreCategories, patterns: Mapping[tuple[Any, ...], int]
) -> ReviewerAgreement:
    places, ranks = Counter[tuple[Hashable, ...]](), Counter[tuple[Hashable, ...]]()
    for pattern, records in patterns.items():
        found = [place for score in pattern if (place := scale.place(score)) is not None]
        places[tuple(sorted(found))] += records
        ranked = (scale.categories[place].rank for place in found)
        ranks[tuple(sorted(rank for rank in ranked if rank is not None))] += records
    order = sorted({category.rank for category in scale.categories if category.rank is not None})
    return ReviewerAgreement(
        criterion,
        alpha=coefficients.alpha(places),
        ordinal_alpha=coefficients.alpha(ranks, order=order),
        fleiss_kappa=coefficients.fleiss_kappa(places),
        unanimous=coefficients.unanimous(places),
    )
