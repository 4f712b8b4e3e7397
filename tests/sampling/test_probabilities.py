"""Probabilities and weights of sampled records."""

from collections import defaultdict
from math import sqrt
from random import Random

import pytest

from reviews.models import Draft, Rating, Run, User
from reviews.queue import claims
from tests.support.lines import file_of, import_data
from tests.support.sampled_runs import drawn, one_drawn, reload, run_with_sample, set_share, unflagged
from tests.support.work import agree, lock_in_many, lock_in_scores

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def rate(run: Run, reviewer: User, part: float, **columns: str) -> None:
    """Score a part of the sampled records blind that nobody has scored."""
    waiting = run.evaluations.filter(is_sampled=True, blind_scores=None, **columns).select_related("run")
    records = [*waiting.order_by("pk")[: round(part * waiting.count())]]
    lock_in_many(records, reviewer, [{"Clarity": "No"}] * len(records))


class TestProbabilities:
    def probabilities(self, run: Run) -> dict[str, float | None]:
        sampled = run.evaluations.filter(is_sampled=True)
        return dict(sampled.values_list("evaluation_id", "sample_probability"))

    def test_probability_is_the_part_of_the_first_import_that_is_drawn(self) -> None:
        run, _ = run_with_sample(0.25)
        assert self.probabilities(run) == dict.fromkeys(drawn(run), 0.3)
        assert len(drawn(run)) == 3
        assert not run.evaluations.filter(is_sampled=False).exclude(sample_probability=None).exists()

    def test_probability_of_a_record_of_a_later_import_is_the_share(self) -> None:
        run, _ = run_with_sample(0.25)
        import_data(file_of(*(unflagged(f"v{number}") for number in range(20))))
        later = {one: p for one, p in self.probabilities(run).items() if one.startswith("v")}
        assert later == dict.fromkeys(later, 0.25)
        assert later

    def test_larger_share_raises_the_probability_of_all_sampled_records(self, ana: User) -> None:
        run, _ = run_with_sample(0.3)
        agree(one_drawn(), ana)
        set_share(run, 0.5)
        assert self.probabilities(run) == dict.fromkeys(drawn(run), 0.5)

    def test_larger_share_raises_the_probability_of_blind_ratings(self, ana: User, bo: User) -> None:
        run, _ = run_with_sample(0.2)
        rated, assisted = run.evaluations.filter(is_sampled=True)
        agree(reload(assisted), bo)
        Run.objects.update(blind_share=0.5)
        lock_in_scores(reload(rated), ana, {"Clarity": "No"})
        for share, expected in ((0.8, 0.4), (0.1, 0.1), (0.5, 0.25)):
            set_share(run, share)
            found = Rating.objects.filter(cell__criterion=None)
            assert {one.evaluation.evaluation_id: one.probability for one in found} == {
                rated.evaluation_id: pytest.approx(expected),
                assisted.evaluation_id: 1,
            }

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("reviewed", [0, 0.5, 1], ids=["none", "half", "all"])
    def test_ratings_represent_all_records_if_a_larger_share_is_reduced(
        self, ana: User, reviewed: float
    ) -> None:
        """People reach the first of two tasks, then a part of the records that a larger share adds to it."""
        data = file_of(*(unflagged(f"u{number}", task_id=f"{number % 2}") for number in range(600)))
        run = Run.objects.create(name="evaluations", sample_share=0.1, blind_share=1)
        import_data(data)
        rate(run, ana, 1, task_id="0")
        set_share(run, 0.3)
        rate(run, ana, reviewed, task_id="0")
        set_share(run, 0.1)
        rate(run, ana, 1)
        weights = {"0": 0.0, "1": 0.0}
        for one in Rating.objects.filter(cell__criterion=None).select_related("evaluation"):
            weights[one.evaluation.task_id or ""] += 1 / one.probability
        assert sum(weights.values()) == pytest.approx(600, rel=0.05)
        # The number of sampled records of a task is a matter of chance.
        assert weights == pytest.approx({"0": 300, "1": 300}, abs=3 * sqrt(300 * 9))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "is_later_import",
        [False, pytest.param(True, marks=pytest.mark.exhaustive)],
        ids=["first import", "later import"],
    )
    @pytest.mark.parametrize(
        "seed", [3, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (2, 4, 8, 10))]
    )
    def test_weights_are_those_of_the_largest_share_that_people_reviewed(
        self, seed: int, ana: User, *, is_later_import: bool
    ) -> None:
        """The share changes at random, and each time people review the sample of a random part of the tasks.

        All records of a task that was reviewed at a share had the chance of that share.
        """
        random = Random(seed)
        tasks, size, shares = 20, 24, (0.1, 0.25, 0.4, 0.6)
        changes = [(random.choice(shares), random.choice((0, 5, 10, 15))) for _ in range(5)]
        changes.append((random.choice(shares[:2]), tasks))
        run = Run.objects.create(name="evaluations", sample_share=changes[0][0], blind_share=1)
        if is_later_import:
            import_data(file_of(unflagged("first", task_id="99", aggregated_score="Pass")))
        numbers = range(tasks * size)
        import_data(file_of(*(unflagged(f"u{number}", task_id=f"{number % tasks}") for number in numbers)))
        reviewed = dict.fromkeys(range(tasks), 0.0)
        for share, until in changes:
            set_share(run, share)
            for task in range(until):
                reviewed[task] = max(reviewed[task], share)
                rate(run, ana, 1, task_id=f"{task}")
        found, expected = defaultdict[float, float](float), defaultdict[float, float](float)
        ratings = Rating.objects.filter(cell__criterion=None).exclude(evaluation__task_id="99")
        for task_id, probability in ratings.values_list("evaluation__task_id", "probability"):
            share = reviewed[int(task_id or "")]
            found[share] += 1 / probability
            expected[share] += 1 / share
        # A rated record at the border of the reviewed tasks has neighbours on both sides of it.
        assert found == pytest.approx(expected, rel=0.1)
        assert sum(found.values()) == pytest.approx(sum(expected.values()), rel=0.03)

    def test_smaller_share_keeps_the_probability_of_records_that_somebody_has_worked_on(
        self, ana: User, bo: User
    ) -> None:
        run, _ = run_with_sample(1)
        held, decided, typed, *free = run.evaluations.filter(is_sampled=True)
        agree(reload(decided), ana)
        claims.claim(evaluation_id=held.pk, reviewer=bo)
        typed.drafts.create(reviewer=bo, fields=[], revision=1)
        set_share(run, 0.6)
        found = self.probabilities(run)
        worked_on = {one.evaluation_id for one in (held, decided, typed)}
        assert {found.pop(name) for name in worked_on} == {1}
        assert set(found.values()) == {0.6}
        assert set(found) < {one.evaluation_id for one in free}
        removed = run.evaluations.exclude(evaluation_id__in=[*worked_on, *found])
        assert not removed.filter(needs_human_review=False).exclude(sample_probability=None).exists()

    def test_file_that_flags_a_sampled_record_removes_its_probability(self) -> None:
        run, _ = run_with_sample(1, count=1)
        flagged = {"needs_human_review": True, "human_review_status": "Needs Review", "review_reasons": ["x"]}
        import_data(file_of(unflagged("u0", **flagged)))
        assert self.probabilities(run) == {}
        assert not run.evaluations.exclude(sample_probability=None).exists()

    @pytest.mark.exhaustive
    def test_weighted_records_represent_all_after_changes_of_the_share_and_a_later_import(
        self, ana: User
    ) -> None:
        """Each judge prompt is a replication of the same three groups of records."""
        prompts, sizes = range(250), {"early": 9, "late": 9, "later": 7}

        def lines_of(group: str) -> list[bytes]:
            return [
                unflagged(f"{group}-{prompt}-{number}", judge_prompt_template_path=f"{prompt}")
                for prompt in prompts
                for number in range(sizes[group])
            ]

        def reach(group: str) -> None:
            found = run.evaluations.filter(
                is_sampled=True, evaluation_id__startswith=f"{group}-", drafts=None
            )
            Draft.objects.bulk_create(
                Draft(evaluation=one, reviewer=ana, fields=[], revision=1) for one in found
            )

        run = Run.objects.create(name="evaluations", sample_share=0.3)
        import_data(file_of(*lines_of("early"), *lines_of("late")))
        reach("early")
        set_share(run, 0.1)
        import_data(file_of(*lines_of("later")))
        set_share(run, 0.2)
        for group in sizes:
            reach(group)
        set_share(run, 0.6)
        for group in sizes:
            reach(group)
        set_share(run, 0.15)
        weights: dict[str, list[float]] = {group: [] for group in sizes}
        for name, probability in self.probabilities(run).items():
            weights[name.split("-")[0]].append(1 / (probability or 0))
        for group, size in sizes.items():
            # The variance of the sum of independent draws, which fixed sizes can only reduce.
            error = sqrt(sum(weight * (weight - 1) for weight in weights[group]))
            assert abs(sum(weights[group]) - size * len(prompts)) < 3 * error, group
