"""The verdicts of ratings follow the rubric of their run."""

import orjson
import pytest
from django.db import transaction

from reviews.judge import accuracy
from reviews.judge.judge_data import JudgeDataOptions, export_judge_data
from reviews.judge.scope import JudgeScope
from reviews.models import Rating, Run, User
from reviews.queue import claims
from reviews.records.rubric import Rubric
from reviews.records.scales import ValueScale
from reviews.review import blind_scoring, decisions
from reviews.review.rubric_changes import change_rubric
from tests.support.lines import file_of, import_data, line
from tests.support.threads import start_and_wait_for_lock
from tests.support.work import decide

pytestmark = pytest.mark.django_db

# Partial is a pass by this rubric.
LENIENT = Rubric(scale=ValueScale(("Yes", "Partial", "No"), pass_from="Partial"))
CLARITY = "Clarity"


@pytest.fixture
def run(lea: User) -> Run:
    """A run whose judge gives Partial to all records. Only record "file" has a verdict of its own."""
    judged = {"parsed_rubric_scores": {CLARITY: {"score": "Partial", "justification": ""}}}
    usual = judged | {"needs_human_review": True, "human_review_status": "Needs Review"}
    answer = {"structured_model_response": {"final_answer": "4"}}
    import_data(
        file_of(
            line("same", aggregated_score=None, **usual, **answer),
            line("other", aggregated_score=None, **usual, **answer),
            line("file", aggregated_score="Fail", **usual, **answer),
            line("assisted", aggregated_score=None, **usual, structured_model_response=None),
        )
    )
    run = Run.objects.get()
    run.blind_share = 1
    run.save()
    return run


def lock_in(run: Run, name: str, reviewer: User, score: str) -> None:
    record = run.evaluations.get(evaluation_id=name)
    claimed = claims.claim(evaluation_id=record.pk, reviewer=reviewer)
    scores = {CLARITY: score}
    blind_scoring.lock_in(
        evaluation_id=record.pk,
        reviewer=reviewer,
        version=claimed.version,
        scores=scores,
        fields=[],
        active_ms=None,
    )


def submit(run: Run, name: str, reviewer: User, score: str) -> None:
    record = run.evaluations.get(evaluation_id=name)
    scores = {CLARITY: {"score": score, "justification": ""}}
    decide(record, reviewer, scores=scores, origins={}, judged={CLARITY: "Partial"})


def verdicts(run: Run) -> dict[str, list[str | None]]:
    """Return the verdicts of the judge and of the person, before and after the reveal, by record."""
    ratings = Rating.objects.filter(cell__stratum__run=run, cell__criterion=None)
    rows = ratings.values_list("evaluation__evaluation_id", "cell__judge", "cell__human", "final")
    return {name: given for name, *given in rows}


@pytest.mark.slow
def test_change_of_the_rule_changes_the_verdicts_of_earlier_ratings(
    run: Run, ana: User, bo: User, lea: User
) -> None:
    for name, score in {"same": "Partial", "other": "No", "file": "Yes"}.items():
        lock_in(run, name, ana, score)
    submit(run, "other", ana, "Partial")
    submit(run, "assisted", bo, "Partial")
    assert verdicts(run) == {
        "same": ["Partial", "Partial", None],
        "other": ["Partial", "Fail", "Partial"],
        "file": ["Fail", "Pass", None],
        "assisted": ["Partial", "Partial", None],
    }
    change_rubric(run_id=run.pk, actor=lea, rubric=LENIENT)
    run.refresh_from_db()
    after = verdicts(run)
    assert after == {
        "same": ["Pass", "Pass", None],
        "other": ["Pass", "Fail", "Pass"],
        "file": ["Fail", "Pass", None],
        "assisted": ["Pass", "Pass", None],
    }
    # All ratings still represent records, also those of criteria.
    found = accuracy.compare_with_humans(JudgeScope(run))
    counts = [(one.criterion, one.basis, one.accuracy.n) for one in found.overall if one.part == "run"]
    assert counts == [
        (None, "blind", 3),
        (None, "assisted", 1),
        (CLARITY, "blind", 3),
        (CLARITY, "assisted", 1),
    ]
    assert found.headline
    assert found.headline.accuracy.value == pytest.approx(1 / 3)
    exported = map(
        orjson.loads, b"".join(export_judge_data(options=JudgeDataOptions(run), reader=None)).splitlines()
    )
    assert {one["evaluation_id"]: [one["judge_verdict"], one["verdict"]] for one in exported} == {
        name: given[:2] for name, given in after.items()
    }


class TestConcurrentReviews:
    pytestmark = pytest.mark.django_db(transaction=True)

    @pytest.mark.slow
    def test_change_of_the_rubric_reaches_reviews_that_are_being_saved(
        self, run: Run, ana: User, bo: User, lea: User
    ) -> None:
        with transaction.atomic():
            lock_in(run, "same", ana, "Partial")
            submit(run, "assisted", bo, "Partial")
            change = start_and_wait_for_lock(lambda: change_rubric(run_id=run.pk, actor=lea, rubric=LENIENT))
        change.result()
        assert verdicts(run) == {"same": ["Pass", "Pass", None], "assisted": ["Pass", "Pass", None]}

    @pytest.mark.slow
    def test_reviews_wait_for_a_change_of_the_rubric_and_follow_it(
        self, run: Run, ana: User, bo: User, lea: User
    ) -> None:
        lock_in(run, "other", ana, "No")
        with transaction.atomic():
            change_rubric(run_id=run.pk, actor=lea, rubric=LENIENT)
            saved = [
                start_and_wait_for_lock(save)
                for save in (
                    lambda: lock_in(run, "same", ana, "Partial"),
                    lambda: submit(run, "other", ana, "Partial"),
                    lambda: submit(run, "assisted", bo, "Partial"),
                )
            ]
        for one in saved:
            one.result()
        assert verdicts(run) == {
            "same": ["Pass", "Pass", None],
            "other": ["Pass", "Fail", "Pass"],
            "assisted": ["Pass", "Pass", None],
        }


@pytest.mark.slow
def test_earlier_decision_that_becomes_current_again_follows_the_rubric(
    run: Run, bo: User, lea: User
) -> None:
    submit(run, "assisted", bo, "Partial")
    change_rubric(run_id=run.pk, actor=lea, rubric=LENIENT)
    record = run.evaluations.select_related("run").get(evaluation_id="assisted")
    revised = decide(
        record,
        bo,
        by=decisions.revise,
        scores={CLARITY: {"score": "No", "justification": ""}},
        origins={},
        judged={CLARITY: "Partial"},
    )
    assert verdicts(run) == {"assisted": ["Pass", "Fail", None]}
    decisions.undo(review=revised)
    assert verdicts(run) == {"assisted": ["Pass", "Pass", None]}
