"""Choose which flag reasons to keep, so that the error rate among unflagged records stays below a limit.

Reasons are dropped one after the other, those that find fewest errors per record first. After each step, the
error rate of all records without a kept reason is tested. The order comes from assisted decisions, not from
the blind ratings of the test, and the sequence ends at the first step that is not
shown to keep the limit: so the chance of dropping too much is at most 2.5%, however many steps there are
(fixed-sequence testing: Jung, Brahman & Choi 2024, Trust or Escalate, arXiv 2407.18370).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cognireview.types.report_parts import FlagChoice, FlagStep
from reviews.judge.data_summary import family_titles, largest_families
from reviews.judge.figure_cache import cache_figures
from reviews.judge.flag_precision import load_rated_families
from reviews.judge.loading import why_not_counted
from reviews.judge.missed_errors import estimate_missed_errors
from reviews.judge.rated_run import RatedRun
from reviews.judge.ratings import RatingKind, load_ratings_by_families
from reviews.judge.scope import JudgeScope
from reviews.statistics import clusters

#: The limit of the error rate among unflagged records, unless another one is given.
USUAL_LIMIT = 0.10
RECORDS = (
    "How many records reviewers would still have to review. The fewer, the cheaper.\n\n"
    "The estimated number of records with a kept reason."
)
DEFINITION = (
    "Flag reasons that can be dropped while the error rate among unflagged records stays below the limit. "
    "Their records then need no review.\n\n"
    "After each step, records without a remaining reason count as unflagged, and the whole 95% interval of "
    "their error rate has to be below the limit. The sequence ends at the first step for which that is not "
    "shown (fixed-sequence testing: Jung, Brahman & Choi 2024, Trust or Escalate, arXiv 2407.18370)."
)
_NONE_RATED = "No record with a verdict by the judge has a blind rating with a verdict yet."
_NO_REASON = "No record of the run has a flag reason."


@cache_figures
def choose_flags(scope: JudgeScope, limit: float = USUAL_LIMIT) -> FlagChoice:
    """Find the flag reasons that can be dropped. `limit` is a share from 0 to 1."""
    if unknown := why_not_counted(scope.run):
        return FlagChoice(limit, [], 0, unknown, unknown)
    rated = load_rated_families(scope)
    if not rated.ratings.count(lambda kind: kind.is_rated):
        return FlagChoice(limit, [], 0, _NONE_RATED, _NONE_RATED)
    sizes, left_out = largest_families(JudgeScope(scope.run))
    if not sizes:
        return FlagChoice(limit, [], 0, _NO_REASON, _NO_REASON)
    titles = family_titles(scope.run, sizes)
    by_size = sorted(sizes, key=lambda key: (-sizes[key], key))
    start = _start(scope, rated, _named(titles, by_size), limit)
    if not start.is_shown:
        # Nothing can be dropped, so the order does not matter. To find it takes reading all decisions.
        return FlagChoice(limit, [start], left_out, "", _sentence([start], limit))
    order = _in_order(scope, sizes)
    named = _named(titles, order)
    steps = [replace(start, kept=named)]
    while steps[-1].is_shown and len(steps) <= len(order):
        steps.append(_step(rated, order[: len(steps)], named, limit))
    return FlagChoice(limit, steps, left_out, "", _sentence(steps, limit))


def _sentence(steps: Sequence[FlagStep], limit: float) -> str:
    """Return the answer for pages. The steps end at the first one that is not shown to keep the limit."""
    below = f"{limit * 100:g}%"
    kept = [step for step in steps if step.is_shown]
    if not kept:
        return f"It is not shown that fewer than {below} of the verdicts on unflagged records are wrong."
    dropped = [step.dropped for step in kept if step.dropped]
    if not dropped:
        return (
            f"Keep all reasons: it is not shown that without one of them fewer than {below} of the "
            f"verdicts on unflagged records are wrong."
        )
    saved = steps[0].flagged - kept[-1].flagged
    return (
        f"You can drop {_listed(dropped)}: about {saved:,} fewer records to review, and still fewer than "
        f"{below} of the verdicts on unflagged records are wrong."
    )


def _named(titles: Mapping[str, str], families: Sequence[str]) -> list[str]:
    return [titles.get(family, family) for family in families]


def _in_order(scope: JudgeScope, sizes: Mapping[str, int]) -> list[str]:
    """Return the run's families, those that find fewest errors first, by assisted decisions.

    Families with as many errors per decision come by their number of records, the largest first.
    """
    assisted = load_ratings_by_families(scope, basis="assisted")
    rated, wrong = Counter[str](), Counter[str]()
    for kind, count in zip(assisted.kinds, map(int, assisted.counts), strict=True):
        for family in {*kind.families} if kind.is_rated else ():
            rated[family] += count
            wrong[family] += count * kind.is_wrong

    def place(family: str) -> tuple[float, int, str]:
        # A right and a wrong one more, so that a single decision does not decide.
        return (wrong[family] + 1) / (rated[family] + 2), -sizes[family], family

    return sorted(sizes, key=place)


def _start(scope: JudgeScope, rated: RatedRun, named: list[str], limit: float) -> FlagStep:
    """Return the run with all reasons. Its error rate is the miss rate, with the same interval."""
    missed = estimate_missed_errors(scope)
    high = missed.miss_rate.high
    # Without unflagged records, the limit cannot be broken yet.
    is_all_flagged = missed.records == 0 and not rated.records.undrawable
    is_shown = is_all_flagged or (high is not None and high <= limit)
    flagged = rated.records.only(lambda cell: cell.is_flagged)
    return FlagStep(None, named, missed.miss_rate, int(flagged.sizes.sum()), is_shown=is_shown)


def _step(rated: RatedRun, dropped: Sequence[str], named: Sequence[str], limit: float) -> FlagStep:
    """Test the run without the first reason of the order, or several. `named` has the titles of all."""

    def stays(kind: RatingKind) -> bool:
        return kind.cell.is_flagged and not (kind.families and {*kind.families} <= {*dropped})

    totals = rated.judged.totals(
        lambda kind: kind.is_wrong and not stays(kind), lambda kind: kind.is_rated and not stays(kind)
    )
    error_rate = clusters.ratio(totals, 0, 1)
    high = error_rate.high
    return FlagStep(
        named[len(dropped) - 1],
        [*named[len(dropped) :]],
        error_rate,
        round(float(rated.totals(stays).sums[0])),
        is_shown=not totals.uncovered and high is not None and high <= limit,
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
