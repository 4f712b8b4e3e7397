"""The conditions for hidden records in SQL match `blind_scoring.is_hidden` for each record."""

import json
from typing import Any

import pytest
from django.db import transaction
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from reviews.dashboard import bulk_changes
from reviews.database.statements import fetch_value
from reviews.evidence import siblings
from reviews.models import Evaluation, IndependentReview, Reveal, Run, TaskAnswer, User
from reviews.queue import allocation, claims
from reviews.records import responses
from reviews.review import blind_scoring
from reviews.sampling import draws
from reviews.search import indexing, listing
from reviews.search.filters import Filters
from reviews.search.hidden_records import hidden_from
from tests.support.contexts import bring, task
from tests.support.factories import SCORES, EvaluationFactory, ImportFactory, RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db

ANSWER = {"response": {"final_answer": "54"}}
values: st.SearchStrategy[Any] = st.sampled_from(
    [None, "", "54", 0, 1, 0.0, -0.0, False, True, [], {}, [""], {"": ""}, {"a": {}}, [None]]
)
answers = values | st.dictionaries(st.sampled_from(["response", "model", "final_answer"]), values, max_size=3)
# A random record: its share, its history, and the person to whom it was shown.
records = st.fixed_dictionaries(
    {
        "structured_model_response": st.just(ANSWER) | answers,
        "human_review_status": st.sampled_from(
            ["Needs Review", "Needs Review", "Pending", "Completed", "Not Required"]
        ),
        "task_id": st.sampled_from([None, "7", "8"]),
        "model_id": st.sampled_from([None, "o1", "o3"]),
        "response_id": st.sampled_from([None, "first", "second", "third"]),
        "was_shown": st.sampled_from([*[False] * 5, True]),
        "is_escalated": st.booleans(),
        "is_decided": st.sampled_from([*[False] * 3, True]),
        "independent_review_of": st.sampled_from([*[None] * 5, "ana", "bo"]),
        "reviewed_by": st.sampled_from([*[None] * 5, "ana", "bo"]),
        "shown_to": st.sampled_from([*[None] * 5, "ana", "lea"]),
    }
)
WAITING = {
    "structured_model_response": ANSWER,
    "human_review_status": "Needs Review",
    "task_id": "7",
    "model_id": "o1",
    "response_id": None,
    "was_shown": False,
    "is_escalated": False,
    "is_decided": False,
    "independent_review_of": None,
    "reviewed_by": None,
    "shown_to": None,
}
contexts = st.lists(
    st.tuples(
        st.sampled_from(["7", "8"]),
        st.booleans(),
        st.sampled_from(["o1", "o3"]),
        st.sampled_from([None, "first", "second"]),
        st.sampled_from(["It is 54.", {"steps": []}, {"response": {"final_answer": "54"}}]),
    ),
    unique_by=lambda answer: answer[:4],
    max_size=5,
)


def make(run: Run, number: int, people: dict[str, User], drawn: dict[str, Any]) -> None:
    """Create a record with the drawn properties."""
    happened = ("was_shown", "is_decided", "independent_review_of", "reviewed_by", "shown_to")
    fields = {name: value for name, value in drawn.items() if name not in happened}
    record = EvaluationFactory.create(run=run, evaluation_id=f"record {number}", **fields)
    status, is_escalated = record.human_review_status, record.is_escalated
    for name in (drawn["independent_review_of"], drawn["reviewed_by"]):
        if name:
            Evaluation.objects.filter(pk=record.pk).update(
                human_review_status="Needs Review", is_escalated=False
            )
            record.refresh_from_db()
            given = decide(record, people[name])
            if name == drawn["independent_review_of"] and name != drawn["reviewed_by"]:
                IndependentReview.objects.create(review=given, evaluation=record, reviewer=people[name])
    record.refresh_from_db()
    record.review = record.review if drawn["is_decided"] else None
    record.human_review_status, record.is_escalated = status, is_escalated
    record.save()
    Evaluation.objects.filter(pk=record.pk).update(was_shown=drawn["was_shown"])
    if drawn["shown_to"]:
        Reveal.objects.create(run=run, evaluation=record, reviewer=people[drawn["shown_to"]], how="shown")


def answer_to(run: Run, drawn: tuple[Any, ...]) -> None:
    of_task, is_own, model, response_id, response = drawn
    context, _ = (run.task_contexts if is_own else run.task_contexts.model.objects).get_or_create(
        task_id=of_task,
        run=run if is_own else None,
        defaults={"prompt": "", "source": run.context_imports.get()},
    )
    TaskAnswer.objects.create(context=context, model_id=model, response_id=response_id, response=response)


@pytest.mark.slow
@pytest.mark.parametrize("tried", [8, pytest.param(60, marks=pytest.mark.exhaustive)])
def test_hidden_condition_matches_rule_of_single_record(tried: int, ana: User, bo: User, lea: User) -> None:
    people = {"ana": ana, "bo": bo, "lea": lea}
    seen = set()

    @examples(max_examples=tried)
    @given(
        st.lists(records, min_size=1, max_size=4), contexts, st.sampled_from([0, 0.5, 1, 1]), st.booleans()
    )
    @example([WAITING], [], 1, False)
    @example([WAITING], [], 0, False)
    def check(
        drawn: list[dict[str, Any]], of_tasks: list[tuple[Any, ...]], share: float, is_downloaded: bool
    ) -> None:
        with transaction.atomic():
            run = RunFactory.create(blind_share=0)
            run.context_imports.create(file_name="tasks.jsonl", size=0)
            for answer in of_tasks:
                answer_to(run, answer)
            for number, one in enumerate(drawn):
                make(run, number, people, one)
            run.blind_share = share
            run.save()
            if is_downloaded:
                Reveal.objects.create(run=run, evaluation=None, reviewer=bo, how="downloaded")
            for reader in people.values():
                found = set(run.evaluations.filter(hidden_from(reader, run)))
                expected = {
                    one
                    for one in run.evaluations.select_related("run")
                    if blind_scoring.is_hidden(one, reader)
                }
                assert found == expected
                assert found <= set(run.evaluations.filter(hidden_from(None, run)))
                assert (
                    set(run.evaluations.exclude(hidden_from(reader, run)))
                    == set(run.evaluations.all()) - found
                )
                seen.add(len(found))
            transaction.set_rollback(True)

    check()
    assert {0, 1} <= seen


@pytest.mark.slow
def test_share_in_sql_is_bit_identical() -> None:
    """Each share hides the records whose position is below it, and no others."""
    run = RunFactory.create()
    source = ImportFactory.create(run=run)
    ids = [f"record \u00e4\u4e2d{number}" for number in range(60)]
    Evaluation.objects.bulk_create(
        EvaluationFactory.build(
            run=run, first_import=source, evaluation_id=one, structured_model_response=ANSWER
        )
        for one in ids
    )
    places = sorted(allocation.position(allocation.BLIND, one) for one in ids)
    for below, place in enumerate(places):
        for share, hidden in ((place, below), (place + 2**-48, below + 1)):
            run.blind_share = share
            assert run.evaluations.filter(hidden_from(None, run)).count() == hidden


@pytest.mark.slow
def test_context_answer_in_sql_matches_python() -> None:
    @examples(max_examples=100)
    @given(answers | st.dictionaries(st.just("response"), answers))
    def check(response: Any) -> None:
        assert fetch_value("SELECT has_answer(%s::jsonb)", [json.dumps(response)]) == responses.has_answer(
            response
        )

    check()


@pytest.mark.slow
def test_has_answer_is_set_by_every_import() -> None:
    def kept() -> dict[str, bool]:
        return dict(Evaluation.objects.values_list("evaluation_id", "has_answer"))

    import_data(file_of(line("a"), line("b", structured_model_response=None)))
    assert kept() == {"a": True, "b": False}
    import_data(file_of(line("a", structured_model_response={"response": {}}), line("b")))
    assert kept() == {"a": False, "b": True}


@pytest.fixture
def run(db: None) -> Run:
    """A run with two blind records, Pass and Fail, and a Fail without a response."""
    run = RunFactory.create(blind_share=1)
    source = ImportFactory.create(run=run, lines=3, new=3)
    for number, verdict, answer in ((1, "Pass", ANSWER), (2, "Fail", ANSWER), (3, "Fail", None)):
        EvaluationFactory.create(
            run=run,
            first_import=source,
            first_line=number,
            task_id=str(number),
            aggregated_score=verdict,
            structured_model_response=answer,
        )
    indexing.index_import(source)
    return run


def tasks(page: listing.RecordPage) -> list[str | None]:
    return [row.task_id for row in page.rows]


SECRET = ["verdict=Fail", "verified=no", "parse-error=no", "reason=final-answer-does-not-match"]


class TestLists:
    @pytest.mark.parametrize("query", [*SECRET, "score=Problem+Understanding%3DYes"])
    def test_filter_by_judge_output_excludes_blind_records(self, query: str, run: Run, ana: User) -> None:
        assert tasks(listing.load_page(run, Filters.from_query_string(query), reader=ana)) == ["3"]

    def test_filter_finds_revealed_records(self, run: Run, ana: User, bo: User) -> None:
        second = run.evaluations.get(task_id="2")
        Reveal.objects.create(run=run, evaluation=second, reviewer=ana, how="shown")
        Reveal.objects.create(run=run, reviewer=bo, how="downloaded")
        filters = Filters.from_query_string("verdict=Fail&verdict=Pass")
        assert tasks(listing.load_page(run, filters, reader=ana)) == ["2", "3"]
        assert tasks(listing.load_page(run, filters, reader=bo)) == ["1", "2", "3"]

    def test_sort_by_verdict_excludes_blind_records(self, run: Run, ana: User) -> None:
        page = listing.load_page(run, Filters(), reader=ana, sort="verdict", known=3)
        assert (tasks(page), page.total, page.after) == (["3"], 1, "")

    def test_search_finds_blind_records_by_names_only(self, run: Run, ana: User) -> None:
        assert tasks(listing.load_page(run, Filters.from_query_string("q=restates"), reader=ana)) == ["3"]
        first = run.evaluations.get(task_id="1")
        assert tasks(
            listing.load_page(run, Filters.from_query_string(f"q={first.evaluation_id}"), reader=ana)
        ) == ["1"]

    def test_page_has_keys_of_hidden_records(self, run: Run, ana: User) -> None:
        page = listing.load_page(run, Filters(), reader=ana)
        assert {row.task_id for row in page.rows if row.pk in page.hidden} == {"1", "2"}

    @pytest.mark.slow
    @pytest.mark.parametrize("query", SECRET)
    def test_claim_by_filter_excludes_blind_records(self, query: str, run: Run, ana: User) -> None:
        condition = Filters.from_query_string(query).condition(run, ana)
        first = claims.claim_next(run=run, reviewer=ana, condition=condition)
        assert first
        assert first.task_id == "3"
        claims.skip(evaluation_id=first.pk, reviewer=ana)
        assert claims.claim_next(run=run, reviewer=ana, condition=condition) is None

    def test_bulk_change_by_verdict_excludes_blind_records(self, run: Run, lea: User, bo: User) -> None:
        Reveal.objects.create(run=run, reviewer=lea, how="downloaded")
        order = bulk_changes.BulkOrder(
            run, Filters.from_query_string("verdict=Fail"), bulk_changes.Kind.ASSIGN, bo
        )
        assert bulk_changes.preview(order).changes == 1
        bulk_changes.apply(order=order, actor=lea)
        assert run.evaluations.get(assigned_to=bo).task_id == "3"

    @pytest.mark.parametrize(
        ("query", "sort", "beginning"),
        [
            ("", "file", None),
            ("model=o1", "task", None),
            ("verdict=Fail", "file", "Records that you may still review blind are not listed"),
            ("", "verdict", "Records that you may still review blind are not listed"),
            ("q=restates", "file", "Records that you may still review blind are found only by ids"),
        ],
    )
    def test_list_has_note_about_excluded_records(
        self, query: str, sort: str, beginning: str | None, run: Run
    ) -> None:
        found = listing.hidden_record_notes(run, Filters.from_query_string(query), sort=sort)
        assert [note.startswith(beginning or "") for note in found] == ([True] if beginning else [])
        run.blind_share = 0
        assert listing.hidden_record_notes(run, Filters.from_query_string(query), sort=sort) == []


def test_hidden_verdicts_of_siblings_are_left_out(run: Run, ana: User, bo: User) -> None:
    run.evaluations.update(task_id="7")
    bring(task(model_responses=[{"model_id": "openai/gpt-4o", "response_text": "It is 54."}]))
    first, _, third = run.evaluations.select_related("run").order_by("first_line")
    Reveal.objects.create(run=run, evaluation=third, reviewer=bo, how="shown")

    def judged(reader: User) -> list[str]:
        found = siblings.find_siblings(first, reader, list(SCORES)).records
        return sorted(f"{one.judged} {one.scores[0].judge}" for one in found if not one.is_this)

    # The third has its answer in the task context.
    assert judged(ana) == [" ", " "]
    assert judged(bo) == [" ", f"Fail {next(iter(SCORES.values()))['score']}"]


class TestRandomSamples:
    @pytest.fixture
    def run(self) -> Run:
        run = Run.objects.create(name="evaluations", sample_share=1, blind_share=0)
        calm = {"needs_human_review": False, "review_reasons": [], "human_review_status": "Not Required"}
        done = import_data(file_of(line("a", human_review_status="Pending"), line("b", **calm)))
        indexing.index_import(done)
        return run

    def test_drawing_does_not_change_the_version(self, run: Run) -> None:
        def versions() -> list[int]:
            return list(run.evaluations.values_list("version", flat=True))

        assert versions() == [1, 1]
        for share in (0, 1):
            run.sample_share = share
            run.save()
            assert any(draws.draw_sample(run_id=run.pk))
            assert versions() == [1, 1]

    @pytest.mark.slow
    def test_filter_by_flag_reason_excludes_queue(self, run: Run, ana: User) -> None:
        filters = Filters.from_query_string("reason=final-answer-does-not-match")
        assert listing.load_page(run, filters, reader=ana).rows == []
        assert listing.hidden_record_notes(run, filters) == [
            "Records in the queue are not listed, to hide which ones are random samples."
        ]
        decide(run.evaluations.get(evaluation_id="a"), ana)
        assert [row.evaluation_id for row in listing.load_page(run, filters, reader=ana).rows] == ["a"]

    def test_flag_reasons_are_not_searchable(self, run: Run, ana: User) -> None:
        assert listing.load_page(run, Filters.from_query_string("q=does+not+match"), reader=ana).rows == []

    def test_flagged_and_sampled_records_have_the_same_status(self, run: Run) -> None:
        assert {one.shown_status for one in run.evaluations.select_related("run")} == {"Needs Review"}

    @pytest.mark.slow
    def test_flag_reasons_stay_hidden_while_samples_wait(self, run: Run, ana: User) -> None:
        claims.claim(evaluation_id=run.evaluations.get(evaluation_id="b").pk, reviewer=ana)
        run.sample_share = 0
        run.save()
        draws.draw_sample(run_id=run.pk)
        fresh = Run.objects.get()
        assert fresh.draws_samples
        decide(run.evaluations.get(evaluation_id="b"), ana)
        assert not Run.objects.get().draws_samples
