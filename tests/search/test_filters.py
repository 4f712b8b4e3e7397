"""Filters: what an address says, and which records that are."""

import datetime as dt
from typing import Any
from urllib.parse import quote

import pytest
from django.http import QueryDict
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from reviews.database.statements import execute
from reviews.models import Evaluation, Import, Run, User
from reviews.queue import claims
from reviews.search import indexing
from reviews.search.filters import FILTERS, MAX_VALUES, STATUSES, Filters
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.filter_values import FILTER_VALUES
from tests.support.lines import file_of, import_data, line
from tests.support.plans import rows_read
from tests.support.work import decide, evaluations

SOON = timezone.now() + dt.timedelta(hours=1)
OPEN = Run(blind_share=0, sample_share=1)  # Without a query: it has no key.
AGO = timezone.now() - dt.timedelta(hours=1)
SECOND = dt.timedelta(seconds=1)


def found(query: str) -> set[str | None]:
    return set(
        Evaluation.objects.filter(Filters.from_query_string(query).condition(OPEN, None)).values_list(
            "task_id", flat=True
        )
    )


class TestQueryString:
    def test_query_string_is_canonical(self) -> None:
        filters = Filters.from_query_string("model=o1&verdict=Fail&task=7&model=gpt-4o&model=o1&judge=")
        assert filters.query_string == "task=7&model=gpt-4o&model=o1&verdict=Fail"
        assert Filters.from_query_string(filters.query_string) == filters

    def test_query_string_without_filters_is_empty(self) -> None:
        assert not Filters.from_query_string("sort=task&after=[1]")
        assert not Filters.from_query_string("").query_string

    def test_filters_can_be_parsed_from_a_mapping(self) -> None:
        assert Filters.parse({"model": " o1 "}) == Filters.parse(QueryDict("model=o1"))

    def test_filter_can_be_removed_and_replaced(self) -> None:
        filters = Filters.from_query_string("status=waiting&model=o1&model=gpt-4o")
        assert filters.without(("model", "o1")).query_string == "status=waiting&model=gpt-4o"
        assert filters.with_only("status", "done").query_string == "status=done&model=gpt-4o&model=o1"
        assert filters.with_only("status", "").query_string == "model=gpt-4o&model=o1"

    @pytest.mark.parametrize(
        ("query", "sentence"),
        [
            ("colour=red", "Unknown filter “colour”."),
            ("verdict=Great", "“Great” is not one of: Pass, Fail, Partial, none."),
            ("created-from=yesterday", "“yesterday” is not a date. Write it as 2026-11-21."),
            *(
                (f"updated-since={text}", f"“{text}” is not a time. Write it as 2026-11-21T09:30:00Z.")
                for text in ("2026-11-21T09:30", "9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00Z", "now")
            ),
            ("created-from=0001-01-01", "“0001-01-01” is not in the years from 1900 to 9998."),
            ("q=%21%21", "“!!” contains no word to search for."),
            ("model=a%00b", "“a�b” is not a valid value for model."),
            (f"model={'x' * 513}", f"“{'x' * 60}…” is not a valid value for model."),
            ("&".join(f"model={n}" for n in range(MAX_VALUES + 1)), "Use at most 50 filters."),
        ],
    )
    def test_invalid_filter_is_reported_and_ignored(self, query: str, sentence: str) -> None:
        filters = Filters.from_query_string(query)
        assert filters.problems == (sentence,)
        assert not filters

    @pytest.mark.slow
    @pytest.mark.django_db
    @given(st.lists(st.tuples(st.sampled_from([*FILTERS, "other"]), st.text())))
    def test_any_query_string_can_be_parsed(self, pairs: list[tuple[str, str]]) -> None:
        query = QueryDict(mutable=True)
        for name, text in pairs:
            query.appendlist(name, text)
        filters = Filters.parse(query)
        assert Filters.from_query_string(filters.query_string).values == filters.values
        for is_indexed in (False, True):
            list(Evaluation.objects.filter(filters.condition(OPEN, None, is_indexed=is_indexed)))


@pytest.mark.django_db
class TestCondition:
    @pytest.mark.parametrize("is_indexed", [False, True])
    def test_every_filter_has_a_valid_condition(self, is_indexed: bool) -> None:
        for name, one in FILTERS.items():
            filters = Filters.parse({name: next(iter(one.options), "") or FILTER_VALUES[name]})
            assert filters, filters.problems
            found = filters.condition(OPEN, None, is_indexed=is_indexed)
            assert not Evaluation.objects.filter(found).exists()

    @pytest.mark.parametrize(
        ("query", "matching", "other"),
        [
            ("task=yes", {}, {}),
            ("model=o1", {"model_id": "o1"}, {"model_id": "o1-mini"}),
            ("judge=j", {"judge_llm_model": "j"}, {}),
            ("template=a/b.txt", {"judge_prompt_template_path": "a/b.txt"}, {}),
            ("verdict=Pass", {"aggregated_score": "Pass"}, {"aggregated_score": "Fail"}),
            ("parse-error=yes", {"parsing_error": ""}, {"parsing_error": None}),
            ("parse-error=no", {"parsing_error": None}, {"parsing_error": "broken"}),
            ("decided-by=kim", {"human_reviewer_id": "kim"}, {"human_reviewer_id": "ana"}),
            ("created-from=2025-04-30", {}, {"created_at": dt.datetime(2025, 4, 29, 23, 59, tzinfo=dt.UTC)}),
            ("created-until=2025-04-30", {}, {"created_at": dt.datetime(2025, 5, 1, tzinfo=dt.UTC)}),
            (
                "reviewed-from=2025-05-01&reviewed-until=2025-05-01",
                {"human_review_timestamp": dt.datetime(2025, 5, 1, 12, tzinfo=dt.UTC)},
                {"human_review_timestamp": dt.datetime(2025, 5, 2, tzinfo=dt.UTC)},
            ),
            ("status=waiting", {"claimed_until": AGO}, {"claimed_until": SOON}),
            ("status=waiting", {"human_review_status": "Pending"}, {"human_review_status": "Completed"}),
            ("status=waiting", {}, {"is_escalated": True}),
            ("status=escalated", {"is_escalated": True}, {}),
            ("status=done", {"human_review_status": "Reviewed"}, {}),
            ("status=not-required", {"human_review_status": "Not Required"}, {}),
            ("status=outdated", {"is_outdated": True}, {}),
            (
                "updated-since=2025-05-01T12:00:00%2B02:00",
                {"updated_at": dt.datetime(2025, 5, 1, 10, tzinfo=dt.UTC)},
                {"updated_at": dt.datetime(2025, 5, 1, 9, 59, tzinfo=dt.UTC)},
            ),
        ],
    )
    def test_condition_matches_the_filter(
        self, query: str, matching: dict[str, Any], other: dict[str, Any]
    ) -> None:
        EvaluationFactory.create(task_id="yes", **matching)
        EvaluationFactory.create(task_id="no", **other)
        assert found(query) == {"yes"}

    @pytest.mark.slow
    def test_updated_since_finds_new_files_and_every_change(self, ana: User) -> None:
        def since(moment: dt.datetime) -> set[str]:
            filters = Filters.from_query_string(f"updated-since={quote(moment.isoformat())}")
            records = Evaluation.objects.filter(filters.condition(Run.objects.get(), None))
            return set(records.values_list("evaluation_id", flat=True))

        import_data(file_of(line("a"), line("b"), line("c")))
        before, after = timezone.now() - dt.timedelta(hours=1), timezone.now() + dt.timedelta(hours=1)
        assert (since(before), since(after)) == ({"a", "b", "c"}, set())
        Import.objects.update(finished_at=before - dt.timedelta(hours=1))
        assert since(before) == set()
        decide(Evaluation.objects.get(evaluation_id="a"), ana)
        import_data(file_of(line("b", task_id="another"), line("c")))
        assert since(before) == {"a", "b"}

    @pytest.mark.slow
    def test_updated_since_reads_the_changed_records_only(self) -> None:
        run = RunFactory.create()
        made = evaluations(run, tasks=[str(number) for number in range(200)])
        Import.objects.update(finished_at=AGO)
        Evaluation.objects.filter(pk__in=[one.pk for one in made[:3]]).update(version=2)
        execute("ANALYZE evaluation")
        filters = Filters.from_query_string(f"updated-since={quote((AGO + SECOND).isoformat())}")
        found = Evaluation.objects.filter(filters.condition(run, None), run=run).values("pk")
        assert rows_read(*found.query.sql_with_params())["evaluation"] == 3

    def test_filters_by_people_use_usernames(self, ana: User, bo: User) -> None:
        EvaluationFactory.create(task_id="held", claimed_by=ana, claimed_until=SOON)
        EvaluationFactory.create(task_id="was held", claimed_by=ana, claimed_until=AGO)
        EvaluationFactory.create(task_id="assigned", assigned_to=bo)
        assert found("claimed-by=ana") == found("status=claimed") == {"held"}
        assert found("assigned-to=bo") == {"assigned"}
        assert found("assigned-to=nobody") == {"held", "was held"}
        assert found("claimed-by=nobody-we-know") == set()

    @pytest.mark.parametrize("is_due_with_its_run", [True, False])
    @pytest.mark.parametrize(
        ("word", "days"),
        [("overdue", {-1}), ("today", {0}), ("tomorrow", {1}), ("week", {-1, 0, 1, 6}), ("none", {None})],
    )
    def test_due_dates_are_those_of_the_record_or_its_run(
        self, word: str, days: set[int | None], is_due_with_its_run: bool
    ) -> None:
        today = timezone.now().date()
        matching = set()
        for left in (-1, 0, 1, 6, 7, None):
            due_on = None if left is None else today + dt.timedelta(left)
            run = RunFactory.create(due_on=due_on if is_due_with_its_run else None)
            one = EvaluationFactory.create(run=run, due_on=None if is_due_with_its_run else due_on)
            EvaluationFactory.create(run=run, due_on=due_on, human_review_status="Completed")
            condition = Filters.parse({"due": word}).condition(run, None)
            if run.evaluations.filter(condition, pk=one.pk).exists():
                matching.add(left)
            if word != "none":
                assert not run.evaluations.filter(condition).exclude(pk=one.pk).exists()
        assert matching == days

    def test_due_date_is_a_day_or_a_word(self) -> None:
        EvaluationFactory.create(task_id="yes", due_on="2026-11-27")
        EvaluationFactory.create(task_id="no", due_on="2026-11-28")
        assert found("due=2026-11-27") == {"yes"}
        [problem] = Filters.from_query_string("due=friday").problems
        assert problem == "“friday” is neither a date nor one of: overdue, today, tomorrow, week, none."

    def test_values_are_joined_by_or_and_filters_by_and(self) -> None:
        for task, model, verdict in (
            ("1", "a", "Pass"),
            ("2", "b", "Pass"),
            ("3", "c", "Pass"),
            ("4", "a", "Fail"),
        ):
            EvaluationFactory.create(task_id=task, model_id=model, aggregated_score=verdict)
        assert found("model=a&model=b&verdict=Pass") == {"1", "2"}

    @pytest.mark.parametrize("is_escalated", [True, False])
    @pytest.mark.parametrize("claimed_until", [None, AGO, SOON])
    @pytest.mark.parametrize("status", ["Needs Review", "Pending", "Completed", "Reviewed", "Not Required"])
    def test_every_record_has_exactly_one_status(
        self, status: str, claimed_until: dt.datetime | None, is_escalated: bool, ana: User
    ) -> None:
        EvaluationFactory.create(
            human_review_status=status,
            claimed_by=ana if claimed_until else None,
            claimed_until=claimed_until,
            is_escalated=is_escalated,
        )
        statuses = [name for name in STATUSES if Evaluation.objects.filter(STATUSES[name]).exists()]
        assert len(statuses) == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query", ["score=Clarity%3DNo", "q=skips", "model=b", "reason=sampled", "verified=no&status=waiting"]
)
def test_claims_can_use_any_filter(query: str, ana: User) -> None:
    other: dict[str, Any] = {
        "parsed_rubric_scores": {"Clarity": {"score": "No", "justification": "Skips a step."}}
    }
    other |= {"model_id": "b", "review_reasons": ["Sampled"]}
    done = import_data(file_of(line("a", final_answer_verified=True), line("b", **other)))
    indexing.index_import(done)
    claimed = claims.claim_next(
        run=done.target_run,
        reviewer=ana,
        condition=Filters.from_query_string(query).condition(done.target_run, ana),
    )
    assert claimed
    assert claimed.evaluation_id == "b"
