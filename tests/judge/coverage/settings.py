"""The settings in which intervals are tried, each with the truth that an interval should include."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cognireview.types.estimates import Estimate
from reviews.statistics import alt_test, betting, clusters, coefficients, reliability
from reviews.statistics.coefficients import Confusion
from reviews.statistics.contrasts import difference_of_means
from reviews.statistics.extrapolation import Sample, cluster_totals
from reviews.statistics.paired import compare_verdicts
from reviews.statistics.sums import FloatArray
from tests.judge.coverage import runs
from tests.judge.coverage.paired import TWO_RUNS, TwoRuns
from tests.judge.coverage.ratings import (
    BALANCED,
    ONLY_MILDER,
    PREVALENT,
    TWO_SCORES,
    Generator,
    Pairs,
    Run,
    confusion,
    draw_like_neighbours,
)


@dataclass(frozen=True)
class Setting:
    """A figure of simulated ratings."""

    figure: str
    setting: str
    truth: float
    #: Simulates ratings and estimates the figure.
    estimate: Callable[[Generator], Estimate]


def all_settings() -> Iterator[Setting]:
    yield from _accuracy()
    yield from _coefficients()
    yield from _reliability()
    yield from _differences()
    yield from _shifts()
    yield from _compared_with_reviewers()
    yield from _runs()
    yield from _few_ratings()
    yield from _sequences()


def _of_pairs(
    figure: str, population: Pairs, n: int, *, each: int = 1, likeness: float = 0.7, setting: str = ""
) -> Setting:
    """Estimate a figure of `n` ratings, `each` of them in a cluster."""
    compute: Callable[[Confusion], Estimate] = getattr(coefficients, figure)
    cluster = np.repeat(np.arange(-(-n // each)), each)[:n]

    def estimate(rng: Generator) -> Estimate:
        alike = likeness if each > 1 else 0.0
        return compute(
            confusion(
                draw_like_neighbours(rng, population.shares.ravel(), cluster, alike), cluster, population
            )
        )

    return Setting(figure, setting or f"n = {n}", truth_of(compute, population), estimate)


def truth_of(compute: Callable[[Confusion], Estimate], population: Pairs) -> float:
    """Compute a figure of a large number of pairs in exact proportion."""
    counts = np.round(population.shares.ravel() * 20_000).astype(int)
    drawn = np.repeat(np.arange(len(counts)), counts)
    value = compute(confusion(drawn, np.arange(len(drawn)), population)).value
    assert value is not None
    return value


def _accuracy() -> Iterator[Setting]:
    for n in (20, 100):
        yield _of_pairs("accuracy", BALANCED, n, setting=f"independent, n = {n}")
    yield _of_pairs("accuracy", PREVALENT, 50, setting="prevalence .9, n = 50")
    yield _of_pairs("accuracy", BALANCED, 200, each=5, setting="5 ratings a task, n = 200")
    yield _of_pairs("accuracy", BALANCED, 60, each=5, setting="5 ratings a task, n = 60")
    yield _of_pairs("accuracy", PREVALENT, 100, each=5, setting="5 ratings a task, prevalence .9, n = 100")
    for reviewers, each in ((10, 20), (4, 50)):
        yield Setting(
            "accuracy",
            f"clustered by reviewer, {reviewers} x {each}",
            0.8,
            partial(_by_reviewer, reviewers, each),
        )
    yield _of_pairs("false_pass", BALANCED, 100)
    yield _of_pairs("false_fail", PREVALENT, 100, each=5, setting="5 ratings a task, prevalence .9, n = 100")
    yield _of_pairs("leniency", BALANCED, 50)
    yield _of_pairs("leniency", PREVALENT, 100, each=5, setting="5 ratings a task, prevalence .9, n = 100")
    yield _of_pairs("leniency", PREVALENT, 400, each=5, setting="5 ratings a task, prevalence .9, n = 400")
    for n in (400, 1_000):
        setting = f"5 ratings a task, only milder, n = {n}"
        yield _of_pairs("leniency", ONLY_MILDER, n, each=5, setting=setting)


def _by_reviewer(reviewers: int, each: int, rng: Generator) -> Estimate:
    """Estimate the accuracy among people who differ: 0.8 with a standard deviation of 0.12."""
    cluster = np.repeat(np.arange(reviewers), each)
    same = rng.random(len(cluster)) < rng.beta(8, 2, reviewers)[cluster]
    sample = Sample(np.zeros_like(cluster), cluster, np.ones(len(cluster)))
    return clusters.ratio(cluster_totals(sample, runs.with_ones(same)), 0, 1)


def _coefficients() -> Iterator[Setting]:
    for figure in ("kappa", "weighted_kappa", "ac1"):
        for n in (10, 20, 50, 200):
            yield _of_pairs(figure, BALANCED, n)
            yield _of_pairs(figure, PREVALENT, n, setting=f"prevalence .9, n = {n}")
        yield _of_pairs(figure, TWO_SCORES, 50, setting="two scores, prevalence .9, n = 50")
        yield _of_pairs(figure, BALANCED, 200, each=5, setting="5 ratings a task, n = 200")
        yield _of_pairs(figure, PREVALENT, 100, each=5, setting="5 ratings a task, prevalence .9, n = 100")


def _reliability() -> Iterator[Setting]:
    """Two or three reviewers, one of whom errs in a share of the records."""
    for errs, passed, n, raters in (
        (0.15, 0.6, 20, 2),
        (0.15, 0.6, 100, 2),
        (0.15, 0.6, 50, 3),
        (0.1, 0.9, 50, 2),
        (0.005, 0.6, 50, 2),
        (0.005, 0.6, 200, 2),
        (0.005, 0.9, 200, 2),
    ):
        either = passed * (1 - errs) + (1 - passed) * errs
        truth = 1 - errs * (1 - errs) / (either * (1 - either))
        name = f"{raters} reviewers, {truth:.2f}, pass rate {passed}, n = {n}"
        for figure in (reliability.alpha, reliability.fleiss_kappa):
            draw = partial(_reviewers, figure, errs, passed, (n, raters))
            yield Setting(figure.__name__, name, truth, draw)
    for errs, each in ((0.15, 1), (0.15, 3), (0.03, 3)):
        pairs = WeightedPairs(errs, each)
        name = f"2 reviewers, {pairs.truth:.2f}, weights 1 and 5, n = 120, by task: {each}"
        yield Setting("alpha", name, pairs.truth, pairs.estimate)


def _reviewers(
    figure: Callable[[reliability.Units], Estimate],
    errs: float,
    passed: float,
    size: tuple[int, int],
    rng: Generator,
) -> Estimate:
    right = (rng.random(size[0]) < passed)[:, None]
    scores = right ^ (rng.random(size) < errs)
    return figure(Counter(tuple(sorted(map(int, row))) for row in scores))


@dataclass(frozen=True)
class WeightedPairs:
    """Two reviewers of flagged records and of a sample of others, about which they differ less often."""

    #: How often a reviewer errs on unflagged records.
    errs: float
    #: The records of a task.
    each: int

    @property
    def truth(self) -> float:
        """Krippendorff's alpha of all records: half of them pass, and one of six is flagged."""
        differ = [2 * rate * (1 - rate) for rate in (self._rate_of_flagged, self.errs)]
        return 1 - (differ[0] + 5 * differ[1]) / 6 / 0.5

    @property
    def _rate_of_flagged(self) -> float:
        return 2 * self.errs

    def estimate(self, rng: Generator) -> Estimate:
        n, tasks = 120, 120 // self.each
        cluster = np.repeat(np.arange(tasks), self.each)
        flagged = rng.random(n) < 0.5
        rate = np.where(flagged, self._rate_of_flagged, self.errs)[:, None]
        # Reviewers err on the same tasks: the random numbers of a task are alike.
        common = np.where(rng.random(n) < 0.7, rng.random(tasks)[cluster], rng.random(n))
        passed = rng.random(n) < 0.5
        wrong = np.column_stack([common, rng.random(n)]) < rate
        scores = tuple(tuple(sorted(map(int, row))) for row in passed[:, None] ^ wrong)
        patterns = reliability.Patterns(scores, np.where(flagged, 1.0, 5.0), cluster)
        return reliability.alpha(patterns.counts, weighing=patterns.weighing)


def _differences() -> Iterator[Setting]:
    """Two judges of the same responses, who are right in 80% and 70% of them."""
    for n, each, name in (
        (40, 1, "two judges, the same 40 responses"),
        (200, 1, "two judges, the same 200 responses"),
        (200, 5, "two judges, 5 responses a task, n = 200"),
    ):
        yield Setting("difference of accuracies", name, 0.1, partial(_two_judges, n, each))
    for name, two in TWO_RUNS.items():
        yield Setting("difference of runs", name, two.difference, partial(_two_runs, two))


def _compared_with_reviewers() -> Iterator[Setting]:
    """Two reviewers of the same records. The judge errs in 6% of the tasks, in which the reviewers do not."""
    for n, each in ((60, 1), (60, 3), (200, 5)):
        yield Setting(
            "judge compared with a reviewer",
            f"judge only further, n = {n}, {each} a task",
            -0.06,
            partial(_only_further, n, each),
        )


def _only_further(n: int, each: int, rng: Generator) -> Estimate:
    cluster = np.repeat(np.arange(n // each), each)
    errs = draw_like_neighbours(rng, np.array([0.94, 0.06]), cluster, 0.7 if each > 1 else 0.0)
    record, reviewer = np.repeat(np.arange(n), 2), np.tile([0, 1], n)
    score, twice = np.zeros(2 * n, dtype=np.int64), [np.repeat(values, 2) for values in (cluster, errs)]
    ratings = alt_test.JointRatings(record, reviewer, twice[0], score, twice[1], np.ones(2 * n))
    return alt_test.compare_with_reviewers(ratings).reviewers[0].difference


def _shifts() -> Iterator[Setting]:
    """Scores from 0 to 1 that two judges gave to the same responses."""
    for name, draw, truth in (
        ("continuous", _small_changes, 0.02),
        ("1 to 5, most equal", _few_changes, 0.0225),
    ):
        for n, each in ((20, 1), (40, 1), (200, 1), (200, 5)):
            setting = f"{name}, n = {n}" + (f", {each} a task" if each > 1 else "")
            yield Setting("shift of scores", setting, truth, partial(_shift, draw, n, each))


def _shift(draw: Callable[[Generator, int], FloatArray], n: int, each: int, rng: Generator) -> Estimate:
    cluster = np.repeat(np.arange(n // each), each)
    common = draw(rng, n // each)[cluster]
    changes = np.where(rng.random(n) < (0.6 if each > 1 else 0), common, draw(rng, n))
    before = np.full(n, 0.4)
    sample = Sample(np.zeros_like(cluster), cluster, np.ones(n))
    return difference_of_means(sample, before + changes, before).difference


def _small_changes(rng: Generator, n: int) -> FloatArray:
    return rng.normal(0.02, 0.05, n)


def _few_changes(rng: Generator, n: int) -> FloatArray:
    return rng.choice([0.0, 0.25, -0.25, 0.5], n, p=[0.77, 0.13, 0.08, 0.02])


def _two_runs(runs: TwoRuns, rng: Generator) -> Estimate:
    drawn = runs.draw(rng)
    return compare_verdicts(drawn.responses, drawn.ratings).difference.difference


def _two_judges(n: int, each: int, rng: Generator) -> Estimate:
    cluster = np.repeat(np.arange(n // each), each)
    # Both right, only the first, only the second, neither.
    shares = np.array([0.64, 0.16, 0.06, 0.14])
    drawn = draw_like_neighbours(rng, shares, cluster, 0.7 if each > 1 else 0.0)
    columns = np.column_stack([drawn <= 1, drawn % 2 == 0, np.ones(n)])
    totals = cluster_totals(Sample(np.zeros_like(cluster), cluster, np.ones(n)), columns)
    return clusters.difference(totals, (0, 2), (1, 2)).difference


def _sequences() -> Iterator[Setting]:
    """Gates that are asked after every 10 ratings. Every one of the intervals should include the truth."""
    compute = coefficients.kappa
    yield Setting("accuracy, asked 20 times", "independent, n = 10 to 200", 0.8, _asked_accuracy)
    yield Setting("kappa, asked 20 times", "n = 10 to 200", truth_of(compute, BALANCED), _asked_kappa)


def _asked_accuracy(rng: Generator) -> Estimate:
    hits = (rng.random(200) < 0.8).astype(float)
    return _intersection([betting.share_sequence(hits[:n], np.ones(n), n) for n in range(10, 201, 10)])


def _asked_kappa(rng: Generator) -> Estimate:
    drawn = rng.choice(9, 200, p=BALANCED.shares.ravel())
    tables = [confusion(drawn[:n], np.arange(n), BALANCED) for n in range(10, 201, 10)]
    return _intersection([betting.widened(coefficients.kappa(table)) for table in tables])


def _intersection(estimates: list[Estimate]) -> Estimate:
    """Return the limits that all intervals have in common. The lower one is above the upper one if none."""
    low = max(one.low for one in estimates if one.low is not None)
    return replace(estimates[-1], low=low, high=min(one.high for one in estimates if one.high is not None))


def _runs() -> Iterator[Setting]:
    tried = {
        "one judge, 10% sample": Run(passed=(0.6,), tasks=600),
        "3 models on the same 200 tasks": Run(),
        "3 models, 5 samples a task": Run(tasks=60, samples=5),
        "3 models, 100 reviewed records": Run(reviewed=(0.3, 0.1)),
        "3 models, nearly always right": Run(right=(0.03, 0.98), harder=0.1),
    }
    for name, run in tried.items():
        yield Setting("accuracy of the run", name, run.accuracy, partial(runs.accuracy, run))
        yield Setting("leniency of the run", name, run.leniency, partial(runs.leniency, run))
        yield Setting("pass rate", name, run.pass_rates[0], partial(runs.pass_rate, run))
        if len(run.passed) > 1:
            truth = run.pass_rates[1] - run.pass_rates[0]
            yield Setting("difference of models", name, truth, partial(runs.difference, run))
        yield Setting("miss rate", name, run.wrong.mean(axis=1)[0], partial(runs.miss_rate, run))
        yield Setting("flag recall", name, run.flag_recall, partial(runs.flag_recall, run))


def _few_ratings() -> Iterator[Setting]:
    """Runs with so few ratings that those of unflagged records may have no error by chance."""
    for flagged, sampled, tasks in ((10, 10, 250), (20, 20, 250), (25, 5, 250), (50, 10, 500)):
        reviewed = (flagged / tasks / 0.2, sampled / tasks / 0.8)
        run = Run(passed=(0.6,), tasks=tasks, reviewed=reviewed)
        name = f"one judge, about {flagged} flagged and {sampled} sampled ratings"
        yield Setting("accuracy of the run", name, run.accuracy, partial(runs.accuracy, run))
    for sampled in (5, 10, 20, 40):
        run = runs.few_sampled(sampled)
        name = f"10% wrong, about 25 flagged and {sampled} sampled ratings"
        for compute in (
            coefficients.kappa,
            coefficients.ac1,
            coefficients.false_pass,
            coefficients.false_fail,
        ):
            truth = truth_of(compute, Pairs(run.verdicts))
            yield Setting(f"{compute.__name__} of the run", name, truth, partial(runs.of_run, compute, run))
        yield Setting("flag recall", name, run.flag_recall, partial(runs.flag_recall, run))
        yield Setting("pass rate", name, run.pass_rates[0], partial(runs.pass_rate, run))
