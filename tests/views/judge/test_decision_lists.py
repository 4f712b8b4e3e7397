"""Lists of the decisions behind the figures about the judge."""

from typing import Any

import pytest
from django.test import Client

from reviews.models import Rating, Run, User
from reviews.search.listing import QueryTooSlow
from tests.support.judge_pages import CLARITY, confusions, place, review
from tests.support.pages import csv_rows, text, url
from tests.support.work import decide, evaluations, lock_in_scores

pytestmark = pytest.mark.django_db


class TestDecisions:
    @pytest.mark.slow
    def test_removed_criteria_are_counted_outside_the_confusion_table(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        [record] = evaluations(algebra, tasks=["1"], aggregated_score=None)
        both = {CLARITY: "Yes", "Depth": "No"}
        decide(record, ana, scores={CLARITY: {"score": "Yes"}}, origins={}, judged=both)
        response = as_lea.get(url("judge-errors", algebra))
        [confusion] = [one for one in confusions(response) if one.title == "Depth"]
        [(why, cell)] = confusion.excluded
        assert (why, cell.text) == ("the reviewer removed the criterion", "1")
        [line] = as_lea.get(cell.url).context["table"].lines
        assert [one.text for _, one in line[1:4]] == ["No", "none", "none"]

    @pytest.mark.slow
    def test_decision_list_has_pages_and_one_csv_file(
        self, as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reviews.judge.drilldown.PAGE_SIZE", 2)
        for _ in range(3):
            review(algebra, ana, "Yes", "No")
        query = {"criterion": CLARITY, "judge_said": '"Yes"', "human_said": '"No"'}
        first = as_lea.get(place("judge-decisions", algebra, **query))
        assert len(first.context["table"].lines) == 2
        second = as_lea.get(first.context["next"])
        assert (len(second.context["table"].lines), second.context["next"]) == (1, "")
        assert len(csv_rows(as_lea.get(place("judge-decisions-csv", algebra, **query)))) == 3

    @pytest.mark.slow
    def test_decision_list_finds_scores_that_were_changed_after_the_reveal(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "Yes", blind="No", model_id="adopted")
        review(algebra, ana, "Yes", "No", blind="Yes", model_id="left")
        review(algebra, ana, "Yes", "Yes", blind="Yes", model_id="kept")

        def listed(changed: str) -> list[str]:
            query = {"criterion": CLARITY, "basis": "blind", "changed": changed}
            table = as_lea.get(place("judge-decisions", algebra, **query)).context["table"]
            return [line[0][1].text.partition(" · ")[2] for line in table.lines]

        assert listed("any") == ["left", "adopted"]
        assert (listed("to judge"), listed("from judge")) == (["adopted"], ["left"])

    @pytest.mark.slow
    def test_decision_list_finds_ratings_by_flag_reason_and_of_several_reviewers(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        record = review(algebra, ana, "Yes", "No", blind="No", review_reasons=["Odd format"])
        review(algebra, bo, "Yes", "No", blind="No", review_reasons=[])
        Rating.objects.filter(evaluation=record).update(raters=2)
        [family] = Rating.objects.get(evaluation=record, cell__criterion=None).families or []
        for query in ({"reason": family}, {"shared": "yes"}):
            response = as_lea.get(place("judge-decisions", algebra, basis="blind", **query))
            assert len(response.context["table"].lines) == 1
        response = as_lea.get(place("judge-decisions", algebra, reason="none such"))
        assert response.context["table"].lines == []

    def test_ratings_of_records_in_the_queue_are_not_listed(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "No", blind="No")
        [waiting] = evaluations(algebra, tasks=["2"], aggregated_score=None)
        lock_in_scores(waiting, ana, {CLARITY: "No"}, judged={CLARITY: "Yes"})
        listed = as_lea.get(place("judge-decisions", algebra, criterion=CLARITY, basis="blind"))
        assert [line[0][1].text for line in listed.context["table"].lines] == ["Task 1 · openai/gpt-4o"]
        assert "in the queue are counted, but not listed" in text(listed)

    def test_slow_decision_list_is_stopped(
        self, as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def too_slow(*_: Any, **__: Any) -> None:
            raise QueryTooSlow

        monkeypatch.setattr("reviews.views.judge.record_lists.list_ratings", too_slow)
        assert "Too many decisions to search" in text(as_lea.get(url("judge-decisions", algebra)))

    @pytest.mark.slow
    def test_records_to_score_blind_have_pages_and_one_csv_file(
        self, as_lea: Client, ana: User, algebra: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reviews.judge.funnel.PAGE_SIZE", 2)
        for _ in range(3):
            review(algebra, ana, "Yes", "No", blind="No", needs_human_review=True)
        first = as_lea.get(place("judge-blind-records", algebra, state="assigned"))
        assert [[cell.text for _, cell in line[1:]] for line in first.context["table"].lines] == [
            ["Completed", "yes"],
            ["Completed", "yes"],
        ]
        second = as_lea.get(first.context["next"])
        assert (len(second.context["table"].lines), second.context["next"]) == (1, "")
        listed = csv_rows(as_lea.get(place("judge-blind-records-csv", algebra, state="assigned")))
        assert {row["record"] for row in listed} == {
            *algebra.evaluations.values_list("evaluation_id", flat=True)
        }
        assert len(listed) == 3
        assert as_lea.get(place("judge-blind-records", algebra, state="lost")).status_code == 404

    @pytest.mark.parametrize(
        "query",
        [
            {"basis": "twice"},
            {"part": "by hand"},
            {"criterion": "\0"},
            {"judge_said": "!"},
            {"changed": "yes"},
            {"shared": "no"},
            {"reason": "x", "criterion": CLARITY},
        ],
    )
    def test_decision_list_with_impossible_filter_is_not_found(
        self, query: dict[str, str], as_lea: Client, algebra: Run
    ) -> None:
        assert as_lea.get(place("judge-decisions", algebra, **query)).status_code == 404
