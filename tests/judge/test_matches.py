"""Which records of two judges are of the same response, and which of them are compared."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.database.statements import execute
from reviews.judge.comparison import judged_records
from reviews.judge.comparison.paired import SIDES, compare_runs
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, User
from tests.support.contexts import bring, task
from tests.support.gold import judged, rate
from tests.support.lines import file_of, import_data, line
from tests.support.plans import rows_read

pytestmark = pytest.mark.django_db


def test_records_without_a_task_are_matched_by_their_ids(first: Run, second: Run, ana: User) -> None:
    rate(judged(first, ["Pass"], tasks=[None], evaluation_id="e1"), ana, ["Fail"])
    judged(second, ["Fail"], tasks=[None], evaluation_id="e1")
    judged(second, ["Pass"], tasks=[None], evaluation_id="e2")
    assert compare_runs(first, JudgeScope(second)).counts == {
        "both": 0,
        "first": 0,
        "second": 1,
        "neither": 0,
    }


def test_other_answers_tasks_and_models_are_not_the_same_response(first: Run, second: Run, ana: User) -> None:
    rate(judged(first, ["Pass", "Pass", "Pass"]), ana, ["Pass", "Pass", "Pass"])
    judged(second, ["Pass"], tasks=["0"], structured_model_response={"response": "Other"})
    judged(second, ["Pass"], tasks=["1"], model_id="other")
    judged(second, ["Pass"], tasks=["3"], structured_model_response={"response": "Answer 2"})
    found = compare_runs(first, JudgeScope(second))
    assert (found.n, found.difference.value) == (0, None)
    assert found.difference.why == "The two have no response in common."


class TestHiddenRecords:
    @pytest.mark.slow
    def test_few_records_to_score_blind_do_not_count(
        self, first: Run, second: Run, rated: list[Evaluation]
    ) -> None:
        Run.objects.filter(pk=second.pk).update(blind_share=1)
        Evaluation.objects.exclude(pk__in=[one.pk for one in rated[:3]]).update(was_shown=True)
        second.refresh_from_db()
        found = compare_runs(first, JudgeScope(second))
        assert (found.n, found.hidden) == (15, 0)
        assert any("3 pairs with a record that can still be scored blind" in note for note in found.notes)

    def test_many_records_to_score_blind_count_but_are_not_listed(
        self, first: Run, second: Run, ana: User
    ) -> None:
        rate(judged(first, ["Pass"] * 12), ana, ["Pass"] * 12)
        judged(second, ["Fail"] * 2 + ["Pass"] * 10)
        Evaluation.objects.filter(run=second, aggregated_score="Fail").update(was_shown=True)
        Run.objects.filter(pk=second.pk).update(blind_share=1)
        second.refresh_from_db()
        found = compare_runs(first, JudgeScope(second))
        assert (found.n, found.hidden) == (12, 10)
        assert [side for side in SIDES if found.lists(side)] == ["first"]

    @pytest.mark.slow
    @pytest.mark.parametrize(("waiting", "described"), [(3, 18), (12, 30)])
    def test_few_unrated_records_to_score_blind_are_not_described(
        self, first: Run, second: Run, rated: list[Evaluation], waiting: int, described: int
    ) -> None:
        tasks = [f"new {number}" for number in range(waiting)]
        judged(first, ["Pass"] * waiting, tasks=tasks)
        judged(second, ["Pass"] * waiting, tasks=tasks)
        Evaluation.objects.filter(pk__in=[one.pk for one in rated]).update(was_shown=True)
        Run.objects.filter(pk=second.pk).update(blind_share=1)
        second.refresh_from_db()
        assert compare_runs(first, JudgeScope(second)).responses == described


@pytest.mark.slow
def test_answers_of_task_context_are_read_for_tasks_that_have_one() -> None:
    unanswered = {"structured_model_response": None, "task_context": ...}
    lines = (line(f"e-{number}", task_id=str(number), model_id="o1", **unanswered) for number in range(60))
    run = import_data(file_of(*lines)).target_run
    answer = {"model_id": "o1", "response_text": "54"}
    bring(task(task_id="7", model_responses=[answer]), task(task_id="other", model_responses=[answer]))
    execute("ANALYZE; SET LOCAL enable_seqscan = off")
    with CaptureQueriesContext(connection) as captured:
        found = judged_records.load_records(JudgeScope(run))
    assert [*found.record] == [run.evaluations.get(task_id="7").pk]
    assert rows_read(captured.captured_queries[-1]["sql"])["evaluation"] == 1
