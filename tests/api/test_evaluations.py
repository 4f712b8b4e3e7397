"""Lists of records and single records over the API."""

from typing import Any
from urllib.parse import quote

import pytest

from reviews.models import Evaluation, Run, User
from reviews.search import listing
from reviews.search.filters import FILTERS
from reviews.search.listing import PAGE_SIZE
from tests.support.api_requests import Program, path_of
from tests.support.contexts import bring, task
from tests.support.factories import SCORES, EvaluationFactory, RunFactory
from tests.support.questions import CONVERSATION, PAIR, import_question, import_questions, source_line
from tests.support.work import SCORES as DECIDED
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="one")


def listed(program: Program, query: str) -> Any:
    answer = program.get(f"runs/one/evaluations?{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()


class TestList:
    @pytest.mark.slow
    def test_list_pages_contain_every_record_once(self, run: Run, of_ana: Program) -> None:
        made = evaluations(run, tasks=[str(n) for n in range(2 * PAGE_SIZE + 1)])
        EvaluationFactory.create()
        found, after, pages = [], "", 0
        while after is not None:
            page = listed(of_ana, f"sort=task&after={after}")
            found += [each["evaluation_id"] for each in page["evaluations"]]
            after, pages = page["next"], pages + 1
        assert (pages, page["total"]) == (3, len(made))
        assert found == [each.evaluation_id for each in made]

    def test_total_is_null_if_matches_are_not_counted_to_the_end(
        self, run: Run, of_ana: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(listing, "MAX_COUNTED", 3)
        monkeypatch.setattr(listing, "MAX_COUNTED_OF_MANY", 2)
        evaluations(run, tasks=["7"] * 4)
        assert listed(of_ana, "task=7")["total"] is None
        assert listed(of_ana, "status=waiting")["total"] == 4

    def test_link_header_has_the_address_of_the_next_page(self, of_ana: Program) -> None:
        run = RunFactory.create(name="één #1?")
        evaluations(run, tasks=[str(n) for n in range(PAGE_SIZE + 1)])
        first = of_ana.get(f"runs/{quote(run.name)}/evaluations?sort=task&model=openai%2Fgpt-4o")
        address, relation = first["Link"].split("; ")
        assert relation == 'rel="next"'
        second = of_ana.get(address.strip("<>").removeprefix("/api/v1/"))
        assert [len(page.json()["evaluations"]) for page in (first, second)] == [PAGE_SIZE, 1]
        assert "Link" not in second

    def test_list_supports_the_filters_of_the_page(self, run: Run, ana: User, of_ana: Program) -> None:
        one, _other = (EvaluationFactory.create(run=run, model_id=model) for model in ("o1", "o2"))
        decide(one, ana)
        [found] = listed(of_ana, "model=o1&model=o3&status=done&decided-by=ana")["evaluations"]
        assert found["evaluation_id"] == one.evaluation_id
        assert (found["status"], found["reviewer"], found["judge_verdict"]) == ("Completed", "ana", "Fail")
        assert listed(of_ana, "model=o3") == {
            "evaluations": [],
            "total": 0,
            "is_complete": True,
            "next": None,
        }

    @pytest.mark.parametrize(
        "query",
        ["verdict=Good", "colour=red", "run=one", "sort=best", "after=x", "after=[1]", "created-from=now"],
    )
    def test_list_rejects_unknown_input(self, query: str, run: Run, of_ana: Program) -> None:
        answer = of_ana.get(f"runs/one/evaluations?{query}")
        assert answer.status_code == 422
        assert [error["field"] for error in answer.json()["errors"]] == [query.partition("=")[0]]

    def test_list_names_each_invalid_parameter(self, run: Run, of_ana: Program) -> None:
        problem = of_ana.get("runs/one/evaluations?verdict=Good&model=o1&sort=best").json()
        assert [error["field"] for error in problem["errors"]] == ["verdict", "sort"]
        many = "&".join(f"model=o{number}" for number in range(300))
        assert of_ana.get(f"runs/one/evaluations?{many}").json()["errors"]

    def test_list_of_unknown_run_is_not_found(self, of_ana: Program) -> None:
        assert of_ana.get("runs/none/evaluations").status_code == 404

    def test_rows_have_scores_of_judge_and_people(self, run: Run, ana: User, of_bo: Program) -> None:
        odd = {"Clarity": {"score": ["a", "list"]}, "Depth": 2}
        one, _other = (
            EvaluationFactory.create(run=run, parsed_rubric_scores=scores) for scores in (SCORES, odd)
        )
        decide(one, ana)
        [first, second] = listed(of_bo, "")["evaluations"]
        assert first["judge_scores"] == {name: entry["score"] for name, entry in SCORES.items()}
        assert first["human_scores"] == {name: entry["score"] for name, entry in DECIDED.items()}
        assert (second["judge_scores"], second["human_scores"]) == ({"Clarity": None, "Depth": 2}, None)
        assert first["updated_at"] > first["created_at"]
        assert second["updated_at"] is None

    def test_rows_of_blind_records_have_no_scores(self, of_bo: Program) -> None:
        run = RunFactory.create(name="one", blind_share=1)
        EvaluationFactory.create(run=run, structured_model_response={"final_answer": "2"})
        [row] = listed(of_bo, "")["evaluations"]
        assert (row["judge_scores"], row["human_scores"], row["judge_verdict"]) == (None, None, None)

    def test_list_schema_has_every_filter(self, of_ana: Program) -> None:
        answer = of_ana.get("openapi.json").json()["paths"]["/api/v1/runs/{run}/evaluations"]["get"]
        assert {each["name"] for each in answer["parameters"]} == {"run", "sort", "after", "limit", *FILTERS}

    def test_list_query_count_is_constant(
        self, run: Run, of_ana: Program, django_assert_max_num_queries: Any
    ) -> None:
        evaluations(run, tasks=["1"] * 20)
        with django_assert_max_num_queries(12):
            listed(of_ana, "")


class TestRecord:
    def test_record_is_complete(self, run: Run, of_ana: Program) -> None:
        record = EvaluationFactory.create(run=run, extra={"seed": 7})
        answer = of_ana.get(path_of(record)).json()
        assert answer["run"] == "one"
        assert answer["fields"]["raw_judge_output"] == {"raw_content": "{}"}
        assert answer["fields"]["extra"] == {"seed": 7}
        assert (answer["is_blind"], answer["decision"], answer["context"]) == (False, None, None)

    def test_record_has_the_current_decision(self, run: Run, ana: User, of_ana: Program) -> None:
        record = EvaluationFactory.create(run=run)
        review = decide(record, ana, comments="So it is.")
        decision = of_ana.get(path_of(record)).json()["decision"]
        assert (decision["reviewer"], decision["comments"]) == ("ana", "So it is.")
        assert decision["corrected_scores"] == review.corrected_scores

    def test_record_hides_reasons_in_queue_with_random_samples(self, run: Run, of_ana: Program) -> None:
        record = EvaluationFactory.create(run=run)
        Run.objects.update(sample_share=0.5)
        fields = of_ana.get(path_of(record)).json()["fields"]
        assert not {"needs_human_review", "review_reasons"} & set(fields)

    @pytest.mark.parametrize("key", ["none", "%00", "%FF", "x" * 5_000, "%0A", "a/review", "/claim"])
    def test_unknown_record_is_not_found(self, key: str, run: Run, of_max: Program) -> None:
        assert not Evaluation.objects.exists()
        assert of_max.get(f"runs/one/evaluations/{key}").status_code == 404

    def test_parameter_of_record_is_unknown(self, run: Run, of_ana: Program) -> None:
        record = EvaluationFactory.create(run=run)
        answer = of_ana.get(f"{path_of(record)}?run=other")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "run")


class TestQuestion:
    """The question and the responses of a record."""

    def context(self, program: Program) -> Any:
        return program.get("runs/questions/evaluations/a").json()["context"]

    @pytest.mark.slow
    def test_api_record_has_its_own_question(self, of_ana: Program) -> None:
        import_question(prompt="Why?", context="One.", responses=PAIR, reference="54", metadata={"x": 1})
        assert self.context(of_ana) == {
            "prompt": "Why?",
            "context": [{"text": "One."}],
            "conversation": [],
            "reference": "54",
            "final_answer": None,
            "responses": PAIR,
            "metadata": {"x": 1},
        }

    @pytest.mark.slow
    def test_api_record_has_the_question_of_its_task(self, of_ana: Program) -> None:
        import_question(task=7, conversation=CONVERSATION)
        bring(task())
        found = self.context(of_ana)
        assert (found["prompt"], found["conversation"]) == ("", CONVERSATION)
        assert (found["reference"], found["final_answer"]) == ("It is 60.", "60")

    def test_api_record_without_question_has_no_context(self, of_ana: Program) -> None:
        import_question()
        assert self.context(of_ana) is None

    def test_api_record_reviewed_blind_omits_its_own_metadata(self, of_ana: Program) -> None:
        import_questions(source_line(prompt="Why?", responses=PAIR, metadata={"judge": "No"}), blind_share=1)
        found = of_ana.get("runs/questions/evaluations/a").json()
        assert (found["is_blind"], found["context"]["responses"]) == (True, PAIR)
        assert found["context"]["metadata"] == {}
