"""Measure agreement between reviewers on records that several of them scored blind.

Only scores that were locked in before the judge's scores were shown count: reviewers who see the judge's
scores agree with each other more often than without them. Records are weighted by the inverse of their
probability, so that figures are about all records: reviewers disagree more often about flagged ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cognireview.types.report_parts import ReviewerAgreement
from reviews.judge.figure_cache import cache_figures
from reviews.judge.joint_ratings import JointRatings, load_joint_ratings
from reviews.judge.scope import JudgeScope
from reviews.statistics import reliability as coefficients

FIGURES = ("alpha", "ordinal_alpha", "fleiss_kappa", "unanimous")
DEFINITIONS = {name: coefficients.DEFINITIONS[name] for name in FIGURES}


@cache_figures
def measure_reviewer_agreement(scope: JudgeScope) -> tuple[ReviewerAgreement, ...]:
    """Return the agreement on the verdict, then on each criterion in the order of the rubric.

    The result is empty without a record that two reviewers scored blind. The filter by reviewer is ignored.
    """
    found = load_joint_ratings(scope)
    return tuple(_figures(criterion, ratings) for criterion, ratings in found.items())


@cache_figures
def criteria_in_parts(scope: JudgeScope) -> tuple[str | None, ...]:
    """Return the criteria whose scores the agreement compares as parts of their range."""
    found = load_joint_ratings(scope)
    return tuple(criterion for criterion, ratings in found.items() if ratings.scale.has_parts)


def _figures(criterion: str | None, ratings: JointRatings) -> ReviewerAgreement:
    patterns = ratings.only(lambda kind: kind.is_representative).patterns()
    ranks = [category.rank for category in ratings.scale.categories]
    order = sorted({rank for rank in ranks if rank is not None})
    place_of = [None if rank is None else order.index(rank) for rank in ranks]
    ranked = replace(patterns, scores=tuple(_ranked(scores, place_of) for scores in patterns.scores))
    counts, weighing = patterns.counts, patterns.weighing
    return ReviewerAgreement(
        criterion,
        alpha=coefficients.alpha(counts, weighing=weighing),
        ordinal_alpha=coefficients.alpha(ranked.counts, order=range(len(order)), weighing=ranked.weighing),
        fleiss_kappa=coefficients.fleiss_kappa(counts, weighing=weighing),
        unanimous=coefficients.unanimous(counts, weighing=weighing),
    )


def _ranked(scores: Iterable[int], place_of: Sequence[int | None]) -> tuple[int, ...]:
    """Return the places of the scores that have one in the order, sorted."""
    return tuple(sorted(place for score in scores if (place := place_of[score]) is not None))
