"""Records are indexed with their import, or later by a job."""

import pytest
from procrastinate.contrib.django.models import ProcrastinateJob

from reviews.database.statements import execute, fetch_all, fetch_value
from reviews.models import (
    Evaluation,
    EvaluationFacets,
    EvaluationWords,
    Import,
    Run,
    StratumCount,
    UnindexedImport,
)
from reviews.records.clusters import task_cluster
from reviews.records.rubric import Rubric
from reviews.rubric import inference
from reviews.search import facets, filter_options, indexing
from reviews.search.filters import Filters
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db


def imported(*lines: bytes) -> Import:
    """A finished import, with its records covered if there are few."""
    done = import_data(file_of(*lines))
    if not UnindexedImport.objects.filter(source=done).exists():
        indexing.index_import(done)
    return done


def found(**query: str) -> set[str]:
    condition = Filters.parse(query).condition(Run.objects.get(), None, is_indexed=True)
    return set(Evaluation.objects.filter(condition).values_list("evaluation_id", flat=True))


@pytest.fixture
def by_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports of more than one line are left to the job, which takes two lines at a time.

    The rubric of a new run is unknown before its end, as if the first records had no scores.
    """
    monkeypatch.setattr(inference, "foresee_rubric_from", lambda _run, _records: None)
    monkeypatch.setattr(indexing, "MAX_RECORDS_INLINE", 1)
    monkeypatch.setattr(indexing, "CHUNK_LINES", 2)


class TestFacets:
    def test_facets_use_parsed_scores(self) -> None:
        imported(line("a", parsed_rubric_scores={"Clarity": {"score": "No"}, "Rigor": {"score": 4}}))
        assert found(score="Clarity=No") == found(score="Rigor=4") == {"a"}
        assert found(score="Clarity=Yes") == set()

    def test_facets_use_scores_extracted_from_raw_output(self) -> None:
        raw = '```json\n{"clarity": {"score": "Partial", "justification": "Skips a step."}}\n```'
        imported(line("a", parsed_rubric_scores={}, raw_judge_output={"raw_content": raw}))
        assert found(score="clarity=Partial") == {"a"}

    def test_facets_group_flag_reasons_in_families(self) -> None:
        imported(
            line("a", review_reasons=["Invalid JSON: line 1 column 2 (char 1)"]),
            line("b", review_reasons=["Invalid JSON: line 9 column 8 (char 70)", "Sampled"]),
            line("c", review_reasons=[]),
        )
        assert found(reason="invalid-json") == {"a", "b"}
        assert found(reason="sampled") == {"b"}

    @pytest.mark.parametrize(
        ("verified", "message", "value"),
        [
            (True, "Match (Extracted: '2', Correct: '2')", "yes"),
            (False, "Mismatch (Extracted: '1', Correct: '2')", "no"),
            (False, "Mismatch (Extracted: '1', Correct: '')", "no reference"),
            (None, "Verification skipped: Extracted answer was None.", "none"),
            (None, None, "none"),
        ],
    )
    def test_facets_use_outcome_of_verifier(
        self, verified: bool | None, message: str | None, value: str
    ) -> None:
        imported(line("a", final_answer_verified=verified, verification_message=message))
        assert found(verified=value) == {"a"}

    @pytest.mark.parametrize("scores", [{"a": None}, {"a": []}, {"a": {"score": {}}}, {"": {"score": ""}}])
    def test_facets_ignore_invalid_scores(self, scores: dict[str, object]) -> None:
        record = EvaluationFactory.create(parsed_rubric_scores=scores)
        named = {facet.name for facet in facets.facets_of(record, facets.judged_criteria(record), Rubric())}
        assert "score" not in named

    @pytest.mark.slow
    def test_number_of_facets_is_limited(self) -> None:
        scores = {f"criterion {number}": {"score": "Yes"} for number in range(2 * facets.MAX_FACETS)}
        imported(line("a", parsed_rubric_scores=scores))
        assert len(EvaluationFacets.objects.get().keys) == facets.MAX_FACETS

    def test_facets_become_filter_options(self) -> None:
        done = imported(line("a"), line("b", model_id="o1", review_reasons=["Sampled (1 of 10)"]))
        chosen = filter_options.facet_options(done.target_run, "model", "reason", "score")
        assert [choice.value for choice in chosen["model"]] == ["o1", "openai/o4-mini"]
        assert ("sampled-of", "Sampled (… of …)") in chosen["reason"]
        assert chosen["score"] == [("Clarity=Yes", "Clarity: Yes")]

    def test_index_has_the_cluster_of_the_task(self) -> None:
        imported(line("a", task_id="sums"), line("b", task_id=None))
        clusters = EvaluationFacets.objects.order_by("evaluation").values_list("cluster", flat=True)
        assert [*clusters] == [task_cluster("sums", "a"), task_cluster(None, "b")]


class TestWords:
    @pytest.mark.parametrize(
        "text",
        ["eval_17", "eva 17", "4711", "o4-mini", "states", r"\frac", "mismatch", "clarity"],
    )
    def test_record_is_found_by_ids_and_texts(self, text: str) -> None:
        imported(
            line("eval_17"),
            line(
                "other",
                **dict.fromkeys(("task_id", "model_id", "response_id", "verification_message"), "zero"),
                review_reasons=[],
                parsed_rubric_scores={},
                raw_judge_output={"raw_content": "nothing"},
            ),
        )
        assert found(q=text) == {"eval_17"}

    def test_record_must_have_all_words(self) -> None:
        imported(line("a", parsing_error="alpha"), line("b", parsing_error="beta"))
        assert found(q="alpha beta") == set()

    def test_escaped_newline_separates_words(self) -> None:
        imported(
            line("a", parsed_rubric_scores={"Clarity": {"score": "Yes", "justification": "First\nsecond"}})
        )
        assert found(q="second") == {"a"}


class TestAfterImport:
    def test_small_import_is_indexed_at_once(self) -> None:
        done = imported(line("a"), line("b"))
        assert indexing.is_indexed(done.target_run)
        assert EvaluationWords.objects.count() == 2

    def test_large_import_is_indexed_by_job(self, by_the_job: None) -> None:
        done = imported(*(line(str(number)) for number in range(5)))
        assert not indexing.is_indexed(done.target_run)
        assert indexing.unindexed_count(done.target_run) == 5
        assert ProcrastinateJob.objects.filter(task_name=indexing.JOB).exists()

    @pytest.mark.slow
    def test_job_indexes_in_chunks(self, by_the_job: None) -> None:
        done = imported(*(line(str(number)) for number in range(5)))
        left = []
        while indexing.index_next_chunk():
            left.append(indexing.unindexed_count(done.target_run))
        assert left == [3, 1, 0]
        assert found(verdict="Pass") == {"0", "1", "2", "3", "4"}
        assert not UnindexedImport.objects.exists()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("records", "known"),
        [
            (3, set()),
            (4, {("evaluation_facets", "run_id"), ("evaluation", "run_id")}),
            (5, {("evaluation_facets", "run_id"), ("evaluation", "run_id"), ("evaluation", "model_id")}),
        ],
    )
    def test_query_planner_knows_the_columns_of_an_import_by_its_size(
        self, records: int, known: set[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(indexing, "MAX_RECORDS_UNANALYSED", 3)
        monkeypatch.setattr(indexing, "MAX_RECORDS_LEFT_TO_AUTOVACUUM", 4)
        done = imported(*(line(str(number), model_id="of this test") for number in range(records)))
        columns = fetch_all(
            "SELECT tablename, attname FROM pg_stats WHERE attname IN ('run_id', 'model_id')"
            " AND most_common_vals::text = ANY(%s)",
            [[f"{{{done.target_run.pk}}}", '{"of this test"}']],
        )
        analysed = {"evaluation", "evaluation_facets"}
        assert {column for column in columns if column[0] in analysed} == known
        assert fetch_value("SHOW default_statistics_target") == "100"

    @pytest.mark.slow
    @pytest.mark.parametrize(("growth", "counted"), [(0.1, 10), (0.09, 11)])
    def test_words_are_analysed_if_an_import_adds_many(
        self, growth: float, counted: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        imported(*(line(str(number)) for number in range(10)))
        execute("ANALYZE evaluation_facets, evaluation_words")
        monkeypatch.setattr(indexing, "MAX_RECORDS_UNANALYSED", 0)
        monkeypatch.setattr(indexing, "GROWTH_LEFT_TO_AUTOVACUUM", growth)
        import_data(file_of(line("b")), run="small")
        assert (
            fetch_value("SELECT reltuples FROM pg_class WHERE oid = 'evaluation_words'::regclass") == counted
        )
        assert fetch_value(
            "SELECT n_distinct FROM pg_stats WHERE (tablename, attname) = ('evaluation_facets', 'run_id')"
        ) == pytest.approx(-2 / 11)  # two runs, as a share of the rows

    @pytest.mark.slow
    def test_small_import_into_large_run_is_counted_by_job(self, monkeypatch: pytest.MonkeyPatch) -> None:
        imported(line("a"))
        monkeypatch.setattr(indexing, "MAX_RECORDS_INLINE", 1)
        done = imported(line("b"))
        assert found(verdict="Pass") == {"a", "b"}
        assert (indexing.is_indexed(done.target_run), indexing.unindexed_count(done.target_run)) == (False, 0)
        assert ProcrastinateJob.objects.filter(task_name=indexing.JOB).exists()
        assert indexing.index_next_chunk()
        assert indexing.is_indexed(done.target_run)
        assert sum(StratumCount.objects.values_list("evaluations", flat=True)) == 2

    @pytest.mark.slow
    def test_changed_record_is_indexed_again(self) -> None:
        imported(line("a"), line("b"))
        imported(line("a", review_reasons=["Sampled"], parsing_error="cut off"), line("b"))
        assert found(reason="sampled") == found(q="cut") == {"a"}
        assert found(reason="final-answer-does-not-match") == {"b"}

    @pytest.mark.slow
    def test_changed_record_is_indexed_again_by_job(self, by_the_job: None) -> None:
        for reason in ("First", "Second"):
            imported(*(line(name, review_reasons=[reason]) for name in "abc"))
        while indexing.index_next_chunk():
            pass
        assert found(reason="first") == set()
        assert found(reason="second") == {"a", "b", "c"}

    def test_import_without_changes_is_not_indexed(self, by_the_job: None) -> None:
        imported(line("a"))
        indexing.index_import(import_data(file_of(line("a"), line("a"), b"{}")))
        assert not UnindexedImport.objects.exists()

    def test_run_without_facets_is_not_indexed(self) -> None:
        assert not indexing.is_indexed(Run.objects.create(name="empty"))


class TestResponse:
    def responses(self, *lines: bytes) -> list[int | None]:
        imported(*lines)
        rows = EvaluationFacets.objects.order_by("evaluation__first_line")
        return list(rows.values_list("response", flat=True))

    def test_response_is_equal_for_the_same_task_model_and_json(self) -> None:
        one, other = {"final_answer": "54", "steps": ["a"]}, {"steps": ["a"], "final_answer": "54"}
        columns = {"task_id": 1, "model_id": "o1"}
        first, second, task, model, text = self.responses(
            line("a", **columns, structured_model_response=one),
            line("b", **columns, structured_model_response=other, judge_llm_model="another"),
            line("c", **columns | {"task_id": 2}, structured_model_response=one),
            line("d", **columns | {"model_id": "o3"}, structured_model_response=one),
            line("e", **columns, structured_model_response=one | {"final_answer": "55"}),
        )
        assert first == second
        assert len({first, task, model, text}) == 4

    def test_response_of_a_record_without_task_is_its_own(self) -> None:
        answer = {"final_answer": "54"}
        first, second = self.responses(
            line("a", task_id=None, structured_model_response=answer),
            line("b", task_id=None, structured_model_response=answer),
        )
        assert None not in {first, second}
        assert first != second

    @pytest.mark.slow
    def test_response_is_null_without_an_answer(self) -> None:
        assert self.responses(line("a", structured_model_response=None)) == [None]
        assert self.responses(line("b", structured_model_response={"final_answer": ""}))[-1] is None
