"""Position bias of a judge that compares two responses."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.judge.comparison.position_bias import PositionBias, measure_position_bias
from reviews.judge.report import build_report
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, EvaluationFacets, Run, User
from reviews.search import indexing
from tests.support.commands import Capture, manage
from tests.support.factories import EvaluationFactory, ImportFactory, RunFactory
from tests.support.pages import text
from tests.support.rubrics import rubric_data
from tests.support.work import lock_in_many

pytestmark = pytest.mark.django_db

WINNER, SWAPPED = "Winner", "Winner with swapped answers"


def pairwise_run(*criteria: str, **scale: Any) -> Run:
    rubric = {
        **rubric_data(*criteria),
        "scale": {"kind": "pairwise", "a": "A", "b": "B", "tie": "tie", **scale},
    }
    return RunFactory.create(name="pairs", rubric=rubric, blind_share=0)


def judged(
    run: Run, choices: list[dict[str, str]], *, reverses: bool = False, **values: Any
) -> list[Evaluation]:
    """Import a comparison of two responses to each task, with the judge's choices by criterion."""
    source = ImportFactory.create(run=run, lines=len(choices))
    records = []
    for task, scores in enumerate(choices):
        responses = [{"name": name, "response": f"{name} {task}"} for name in ("x", "y")]
        given: dict[str, Any] = {
            "structured_model_response": None,
            "task_context": {"responses": responses[::-1] if reverses else responses},
            "parsed_rubric_scores": {name: {"score": score} for name, score in scores.items()},
            "aggregated_score": None,
        }
        place = {"run": run, "first_import": source, "first_line": task + 1, "task_id": str(task)}
        records.append(EvaluationFactory.build(**(place | given | values)))
    Evaluation.objects.bulk_create(records)
    indexing.index_at_once(run, [source])
    return records


def choices_of(words: str, criterion: str = WINNER) -> list[dict[str, str]]:
    """Return a choice for each letter; `t` is a tie."""
    return [{criterion: "tie" if word == "t" else word} for word in words]


def measure(run: Run) -> PositionBias:
    [found] = measure_position_bias(JudgeScope(run))
    return found


class TestOrders:
    def test_share_of_the_first_counts_choices_without_ties(self) -> None:
        run = pairwise_run(WINNER)
        judged(run, choices_of("AAABtt"))
        found = measure(run)
        assert (found.first_share.value, found.first_share.n) == (0.75, 4)
        assert (found.balanced_share.value, found.outcome) == (None, "not shown")
        assert found.changed.why == "No pair of responses was judged in both orders."

    @pytest.mark.slow
    def test_records_in_both_orders_show_a_preference_for_the_first(self) -> None:
        run = pairwise_run(WINNER)
        judged(run, choices_of("A" * 12 + "ABt"))
        judged(run, choices_of("A" * 12 + "BAt"), reverses=True)
        found = measure(run)
        # 12 pairs got the first both times; one each the same response in both orders, and a tie twice.
        assert found.changed.value == pytest.approx(12 / 15)
        assert found.first_twice.value == pytest.approx(12 / 15)
        assert found.second_twice.value == 0
        assert (found.changed.n, found.changed.clusters) == (15, 15)
        assert found.balanced_share.value == pytest.approx(26 / 28)
        assert found.outcome == "first"

    @pytest.mark.slow
    def test_judge_that_follows_the_response_has_no_bias(self) -> None:
        run = pairwise_run(WINNER)
        judged(run, choices_of("A" * 15))
        judged(run, choices_of("B" * 15), reverses=True)
        found = measure(run)
        assert (found.changed.value, found.balanced_share.value, found.outcome) == (0, 0.5, "not shown")

    def test_tie_in_one_order_is_a_change(self) -> None:
        run = pairwise_run(WINNER)
        judged(run, choices_of("At"))
        judged(run, choices_of("tt"), reverses=True)
        assert measure(run).changed.value == 0.5

    def test_criterion_of_the_other_order_is_the_same_choice(self) -> None:
        run = pairwise_run(WINNER, SWAPPED)
        # The same response in both orders, then the first position both times, then the second.
        scores = [("A", "A"), ("B", "B"), ("A", "B"), ("B", "A")]
        judged(run, [{WINNER: one, SWAPPED: other} for one, other in scores])
        found = measure(run)
        assert (found.criterion, found.changed.value) == (WINNER, 0.5)
        assert (found.first_twice.value, found.second_twice.value) == (0.25, 0.25)
        assert found.balanced_share.value == 0.5

    def test_several_records_of_an_order_share_the_weight_of_the_pair(self) -> None:
        run = pairwise_run(WINNER)
        judged(run, choices_of("AA"))
        judged(run, choices_of("A"))
        judged(run, choices_of("BA"), reverses=True)
        assert measure(run).changed.value == pytest.approx(0.5)

    def test_words_of_the_judge_are_those_of_the_scale(self) -> None:
        run = pairwise_run(WINNER, a="model_1", b="model_2", both_bad="neither")
        judged(run, choices_of(["model_1", "model_2", "Model_1", "neither", "error"]))  # type: ignore[arg-type]
        share = measure(run).first_share
        assert share.value == pytest.approx(2 / 3)
        assert share.n == 3

    def test_each_judge_has_figures_of_its_own(self) -> None:
        run = pairwise_run(WINNER)
        judged(run, choices_of("AA"))
        judged(run, choices_of("BB"), reverses=True, judge_llm_model="judge-2")
        found = measure_position_bias(JudgeScope(run))
        assert [(one.judge, one.first_share.value) for one in found] == [("judge-1", 1), ("judge-2", 0)]
        assert {one.changed.value for one in found} == {None}
        [second] = measure_position_bias(JudgeScope(run, judge="judge-2"))
        assert second.first_share == found[1].first_share

    def test_run_without_pairwise_scale_has_no_figures(self) -> None:
        assert measure_position_bias(JudgeScope(RunFactory.create())) == ()


class TestReviewers:
    @pytest.mark.slow
    def test_accuracy_is_split_by_the_position_of_the_reviewers_choice(self, ana: User) -> None:
        run = pairwise_run(WINNER)
        records = judged(run, choices_of("A" * 16 + "B" * 4))
        lock_in_many(records, ana, [{WINNER: choice} for choice in "A" * 8 + "B" * 12])
        found = measure(run)
        assert found.accuracy_first.value == 1
        assert found.accuracy_second.value == pytest.approx(4 / 12)
        assert found.accuracy_difference.value == pytest.approx(8 / 12)
        assert (found.accuracy_first.n, found.accuracy_second.n) == (8, 12)
        assert found.outcome == "first"

    def test_words_of_the_judge_count_in_any_case(self, ana: User) -> None:
        run = pairwise_run(WINNER)
        records = judged(run, choices_of("a" * 6 + "b" * 4))
        lock_in_many(records, ana, [{WINNER: choice} for choice in "A" * 6 + "B" * 4])
        found = measure(run)
        assert (found.first_share.value, found.first_share.n) == (0.6, 10)
        assert (found.accuracy_first.value, found.accuracy_first.n) == (1, 6)
        assert (found.accuracy_second.value, found.accuracy_second.n) == (1, 4)


def test_few_records_to_score_blind_do_not_count(ana: User) -> None:
    run = pairwise_run(WINNER)
    judged(run, choices_of("A" * 12 + "BBB"))
    Run.objects.filter(pk=run.pk).update(blind_share=1)
    run.refresh_from_db()
    Evaluation.objects.exclude(task_id__in=["0", "14"]).update(was_shown=True)
    found = measure(run)
    assert (found.first_share.n, len(found.notes)) == (13, 1)


def test_key_of_a_pair_differs_between_orders_in_the_last_bit_only() -> None:
    run = pairwise_run(WINNER)
    judged(run, choices_of("A"))
    judged(run, choices_of("A"), reverses=True)
    judged(run, choices_of("A"), structured_model_response={"response": "x"}, task_context=None)
    same = [{"name": name, "response": "same"} for name in "xy"]
    judged(run, choices_of("A"), task_context={"responses": same})
    one, other, *none = EvaluationFacets.objects.order_by("pk").values_list("pair", flat=True)
    assert one is not None
    assert other is not None
    assert one ^ other == 1
    assert none == [None, None]


@pytest.mark.slow
def test_page_and_report_show_the_bias(client: Client, ana: User, lea: User, capfdbinary: Capture) -> None:
    # As in the mapping of MT-Bench, the rubric lists no criteria and gives no verdict.
    rubric = {"verdict": {"rule": "none"}, "scale": {"kind": "pairwise", "a": "A", "b": "B", "tie": "tie"}}
    run = RunFactory.create(name="pairs", rubric=rubric, blind_share=0)
    first = judged(run, choices_of("A" * 15))
    lock_in_many(first, ana, [{WINNER: choice} for choice in "A" * 8 + "B" * 7])
    run.evaluations.filter(pk__in=[record.pk for record in first]).update(human_review_status="Completed")
    judged(run, choices_of("A" * 15), reverses=True)
    client.force_login(lea)
    assert "The accuracy of each criterion is below." in text(client.get(reverse("judge", args=[run.pk])))
    page = client.get(reverse("judge-errors", args=[run.pk]))
    assert "Most errors by criterion: Winner, 47%" in text(page)
    assert "Winner: the judge favours the first response. The order changed 100%" in text(page)
    table = client.get(reverse("judge-table", args=[run.pk, "position-orders"])).getvalue().decode()
    assert table.splitlines()[1].startswith('"Winner","judge-1","prompts/judge.txt",1.0,')
    section = next(one for one in page.context["sections"] if one.name == "position-bias")
    sizes = [
        [len(client.get(cell.url).context["table"].rows) for cell in cells[3:] if cell.value]
        for cells in (table.table.rows[0] for table in section.tables)
    ]
    # First chosen, first in both orders, changed, first both times; then by the reviewer's choice.
    assert sizes == [[30, 15, 15, 15], [8, 15]]
    listed = client.get(section.plot.dots[0].cell.url)
    assert len(listed.context["table"].rows) == 15
    lines = client.get(listed.context["csv_url"]).getvalue().decode().splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == ['"first"'] * 15
    [found] = build_report(JudgeScope(run)).as_json()["position_bias"]
    assert (found["outcome"], found["changed"]["value"]) == ("first", 1)
    printed = manage(capfdbinary, "judge_report", "pairs").out.decode()
    assert "Choices by order" in printed
