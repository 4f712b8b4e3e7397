"""Estimate missed errors, wrong verdicts among unflagged records, from blind ratings of a random sample.

A verdict is wrong if a blind rating has another one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from cognireview.types import report_parts
from cognireview.types.estimates import Estimate
from cognireview.types.report_parts import CriterionMissRate
from reviews.judge.accuracy_figures import parts_sentence_of
from reviews.judge.cells import load_cells
from reviews.judge.criterion_ratings import load_blind_ratings
from reviews.judge.figure_cache import cache_figures
from reviews.judge.loading import why_not_counted
from reviews.judge.rated_run import WHY_NO_VERDICT, RatedRun, VerdictsByFlag, combine
from reviews.judge.ratings import NO_RATINGS, Ratings, load_ratings
from reviews.judge.scope import JudgeScope
from reviews.judge.sequences import share_of_columns
from reviews.records.scores import is_score
from reviews.records.wording import counted
from reviews.rubric.run_rubric import run_rubric
from reviews.statistics import clusters
from reviews.statistics.coefficients import Confusion
from reviews.statistics.intervals import scale, undefined
from reviews.statistics.score_categories import ScoreCategories

DEFINITIONS = {
    "miss_rate": "How many of the unflagged records have a wrong verdict that nobody would look at. It says "
    "nothing about single scores.\n\n"
    "The share of unflagged records on which a reviewer who does not see the judge's scores comes to another "
    "verdict. It is estimated from blind ratings of a random sample, weighted by the number of records of "
    "each judge, prompt, model and verdict.",
    "flagged_error_rate": "How many of the flagged records have a wrong verdict. Flags are worth their "
    "reviews if this is higher than the miss rate.\n\n"
    "The share of flagged records with a wrong verdict, in the same sense as the miss rate. Flagged records "
    "without a blind rating are taken to be like those with the same verdict, judge, prompt and model.",
    "flag_recall": "How many of the judge's wrong verdicts the flags find. The rest stays unseen unless you "
    "review unflagged records.\n\n"
    "The estimated number of wrong verdicts among flagged records, divided by that among all records. The "
    "interval follows from those of the two error rates (Donner & Zou 2012, Statistical Methods in Medical "
    "Research 21:347).",
    "missed": "How many wrong verdicts are among the unflagged records. Nobody sees them unless unflagged "
    "records are reviewed.\n\n"
    "The miss rate times the number of unflagged records.",
    "criteria": "How often a score of the criterion is wrong in unflagged records. The verdict may still be "
    "right.\n\n"
    "The share of unflagged records in which a reviewer who does not see the judge's score of the criterion "
    "gives another one or removes the criterion. Only records with a score by the judge count.",
}

_NO_VERDICTS = "No record has a verdict by the judge."
_ALL_FLAGGED = "Every record with a verdict is flagged."
_NONE_DRAWABLE = "No unflagged record can be sampled."
_NONE_SAMPLED = "No unflagged record has a blind rating with a verdict."
_NONE_CAUGHT = "No flagged record has a blind rating with a verdict."
_NO_FLAGS = "No record with a verdict is flagged."


@dataclass(frozen=True)
class MissedErrors(report_parts.MissedErrors):
    """The missed errors of a run, with the ratings that their confidence sequences need."""

    #: The weighted ratings by task. None while the records are unknown.
    verdicts: VerdictsByFlag | None = field(repr=False, compare=False)

    def sequence(self, name: str) -> Estimate:
        """Return the miss rate, the flagged error rate or the flag recall with its confidence sequence."""
        estimate: Estimate = getattr(self, name)
        if self.verdicts is None:
            return estimate
        return share_of_columns(estimate, self.verdicts.totals, *_columns(self.verdicts)[name])


@cache_figures
def estimate_missed_errors(scope: JudgeScope) -> MissedErrors:
    """Estimate the missed errors of a scope from blind ratings."""
    if unknown := why_not_counted(scope.run):
        return _unknown(scope, unknown)
    records = load_cells(scope)
    if records.withheld and not records.cells:
        return _unknown(scope, records.sentence)
    by_criterion = load_blind_ratings(scope)
    rated = combine(by_criterion.get(None, NO_RATINGS), records)
    unflagged = rated.records.only(lambda cell: bool(cell.verdict) and not cell.is_flagged)
    verdicts = rated.verdicts_by_flag
    if any(cell.verdict for cell in rated.records.cells):
        none = _NONE_DRAWABLE if records.undrawable else _ALL_FLAGGED
        has_flags = any(cell.verdict and cell.is_flagged for cell in rated.records.cells)
        figures = _flag_figures(
            verdicts,
            why_not_caught=_NONE_CAUGHT if has_flags else _NO_FLAGS,
            why_not_missed=_NONE_SAMPLED if unflagged.cells else none,
        )
    else:
        figures = (undefined(_NO_VERDICTS),) * 3
    miss_rate, flagged_error_rate, flag_recall = figures
    of_criteria = {name: found for name, found in by_criterion.items() if name is not None}
    scales = _scales(scope, of_criteria)
    total = int(unflagged.sizes.sum())
    found = MissedErrors(
        share=scope.run.sample_share,
        records=total,
        ratings=rated.ratings.count(lambda kind: not kind.cell.is_flagged and kind.is_rated),
        unsampled=rated.unsampled,
        miss_rate=miss_rate,
        flagged_error_rate=flagged_error_rate,
        flag_recall=flag_recall,
        missed=scale(miss_rate, total),
        criteria=_by_criterion(
            {name: combine(found, records) for name, found in of_criteria.items()}, scales
        ),
        sentences=[],
        verdicts=verdicts,
    )
    of_all = int(rated.records.only(lambda cell: not cell.is_flagged).sizes.sum())
    others = counted(total, "unflagged record") + (" with a verdict" if of_all > total else "")
    undecided = rated.judged.ratings.count(lambda kind: not kind.cell.is_flagged and not kind.human)
    sentences = _sentences(found, others, undecided)
    in_parts = parts_sentence_of(one.criterion for one in found.criteria if scales[one.criterion].has_parts)
    return replace(found, sentences=[*sentences, *filter(None, [records.sentence, in_parts])])


def _unknown(scope: JudgeScope, why: str) -> MissedErrors:
    """Count the ratings of a scope whose records are unknown."""
    unflagged = load_ratings(scope).only(lambda kind: not kind.cell.is_flagged and kind.is_rated)
    none = undefined(why)
    return MissedErrors(
        share=scope.run.sample_share,
        records=None,
        ratings=unflagged.count(lambda kind: kind.is_sampled),
        unsampled=unflagged.count(lambda kind: not kind.is_sampled),
        miss_rate=none,
        flagged_error_rate=none,
        flag_recall=none,
        missed=none,
        criteria=[],
        sentences=[why],
        verdicts=None,
    )


def _columns(verdicts: VerdictsByFlag) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return numerator and denominator of each figure, as columns of the totals."""
    flagged, of_flagged = _wrong_and_all(verdicts.flagged)
    unflagged, of_unflagged = _wrong_and_all(verdicts.unflagged) if verdicts.unflagged else ((), ())
    return {
        "flagged_error_rate": (flagged, of_flagged),
        "miss_rate": (unflagged, of_unflagged),
        "flag_recall": (flagged, flagged + unflagged),
    }


def _wrong_and_all(verdicts: Confusion) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return verdicts.where(lambda judge, human: judge is not human), verdicts.columns


def _flag_figures(
    verdicts: VerdictsByFlag, *, why_not_caught: str, why_not_missed: str
) -> tuple[Estimate, Estimate, Estimate]:
    """Return the miss rate, the error rate of flagged records, and the flag recall.

    The reasons are for undefined error rates of flagged and of unflagged records.
    """
    caught, missed, recall = clusters.ratios(verdicts.totals, [*_columns(verdicts).values()])
    if caught.value is None:
        caught = undefined(why_not_caught)
    if missed.value is None:
        missed = undefined(why_not_missed)
    why = caught.why or missed.why
    if why or recall.value is None:
        recall = undefined(why) if why else undefined("No wrong verdict was found.", caught.n + missed.n)
    elif verdicts.unflagged:
        # The few ratings of a sample may have no error by chance.
        of_flagged, of_unflagged = (_wrong_and_all(one) for one in (verdicts.flagged, verdicts.unflagged))
        [recall] = clusters.combine_sums([recall], verdicts.totals, [([of_flagged], [of_unflagged])])
    return missed, caught, recall


def _scales(scope: JudgeScope, found: Mapping[str, Ratings]) -> dict[str, ScoreCategories]:
    """Return the scores of each criterion as categories, as in the figures of its accuracy."""
    rubric = run_rubric(scope.run)
    return {name: ScoreCategories.from_ratings(rubric, name, one.kinds) for name, one in found.items()}


def _by_criterion(
    found: Mapping[str, RatedRun], scales: Mapping[str, ScoreCategories]
) -> list[CriterionMissRate]:
    """Return the miss rate of each criterion, highest first."""
    rates = []
    for criterion, rated in found.items():
        unflagged = rated.only(lambda cell: not cell.is_flagged)
        if unflagged.ratings.count(lambda kind: is_score(kind.judge)):
            rates.append(CriterionMissRate(criterion, _miss_rate(unflagged, scales[criterion])))
    return sorted(rates, key=lambda one: (-(one.miss_rate.value or 0), one.criterion))


def _miss_rate(unflagged: RatedRun, scale: ScoreCategories) -> Estimate:
    """Return how often the judge's score of a criterion is wrong."""
    totals = unflagged.totals(
        lambda kind: is_score(kind.judge) and not scale.is_same(kind.judge, kind.human),
        lambda kind: is_score(kind.judge),
    )
    return clusters.ratio(totals, 0, 1)


def _sentences(found: MissedErrors, others: str, undecided: int) -> Iterator[str]:
    """Yield the base of the figures in words. `others` names the unflagged records that they are about.

    `undecided` is the number of ratings of these whose reviewer came to no verdict.
    """
    if found.miss_rate.why == _NO_VERDICTS:
        yield _NO_VERDICTS
    elif found.miss_rate.why == _NONE_DRAWABLE:
        yield f"{_NONE_DRAWABLE} What the flags miss is unknown."
    elif not found.records:
        yield "Every record with a verdict is flagged, so the flags cannot miss any."
    elif found.ratings:
        verb = "represents" if found.ratings == 1 else "represent"
        yield f"{counted(found.ratings, 'blind rating')} of sampled records {verb} {others}."
    elif undecided:
        yield (
            f"None of {others} has a blind rating with a verdict, so their error rate is unknown. "
            f"{WHY_NO_VERDICT}"
        )
    elif found.share:
        yield f"None of {others} has a blind rating yet. Their error rate is unknown."
    else:
        yield (
            f"None of {others} is sampled. Their error rate is unknown. Set a share under “Sampling and "
            f"blind review”."
        )
    if undecided:
        yield f"Not counted: {counted(undecided, 'blind rating')} without a verdict by the reviewer."
    if found.unsampled:
        yield (
            f"Not counted: {counted(found.unsampled, 'blind rating')} of records that were neither flagged "
            f"nor sampled."
        )
