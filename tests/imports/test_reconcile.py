"""Repeated imports: unchanged lines, new evidence and repeated ids."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from reviews.database.statements import fetch_all
from reviews.imports import reconcile
from reviews.models import Evaluation, User
from reviews.records.schema import Limits
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.repeated_imports import THREE, evaluation, outcomes
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def respelled(evaluation_id: str) -> bytes:
    """Return a line with the same record in different bytes."""
    return line(rb'  "\u0065%b"' % evaluation_id[1:].encode())


class TestUnchangedLine:
    def test_same_bytes_change_nothing(self) -> None:
        import_data(file_of(*THREE))
        before = list(Evaluation.objects.order_by("pk").values())
        again = import_data(file_of(*THREE))
        assert outcomes(again) == [(n, "unchanged", "", "the same bytes as before") for n in (1, 2, 3)]
        assert list(Evaluation.objects.order_by("pk").values()) == before
        assert export_data() == file_of(*THREE)

    def test_respelled_line_is_exported_as_respelled(self) -> None:
        import_data(file_of(*THREE))
        again = import_data(file_of(respelled("eval_2")))
        assert outcomes(again) == [(1, "updated", "", "has the same values, spelled differently")]
        assert evaluation("eval_2").version == 1
        assert export_data() == file_of(THREE[0], respelled("eval_2"), THREE[2])

    def test_respelled_line_keeps_the_review(self, ana: User) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        import_data(file_of(respelled("eval_1")))
        assert evaluation().human_reviewer_id == "ana"
        exported = export_data()
        assert exported.startswith(respelled("eval_1")[:40])
        assert b'"human_reviewer_id": "ana"' in exported

    def test_boolean_differs_from_a_number(self) -> None:
        import_data(file_of(line(parsed_rubric_scores={"Clarity": {"score": 1}})))
        import_data(file_of(line(parsed_rubric_scores={"Clarity": {"score": True}})))
        assert evaluation().parsed_rubric_scores["Clarity"]["score"] is True
        assert evaluation().version == 2


class TestNewerEvidence:
    def test_new_evidence_is_accepted_and_increases_the_version(self) -> None:
        import_data(file_of(*THREE))
        newer = line("eval_2", aggregated_score="Fail", run="b")
        again = import_data(file_of(newer))
        assert outcomes(again) == [(1, "updated", "", "aggregated_score, extra taken from the file")]
        assert evaluation("eval_2").aggregated_score == "Fail"
        assert evaluation("eval_2").extra == {"run": "b"}
        assert evaluation("eval_2").version == 2

    def test_new_evidence_is_exported_at_the_first_place_of_the_record(self) -> None:
        import_data(file_of(*THREE))
        newer = [line(name, aggregated_score="Fail") for name in ("eval_3", "eval_1")]
        import_data(file_of(*newer))
        assert export_data() == file_of(newer[1], THREE[1], newer[0])

    def test_new_evidence_in_one_field_names_it(self) -> None:
        import_data(file_of(line()))
        again = import_data(file_of(line(task_id=4712)))
        assert outcomes(again) == [(1, "updated", "task_id", "taken from the file")]

    def test_new_evidence_in_every_field_is_accepted(self) -> None:
        import_data(file_of(line(human_review_status="Pending")))
        again = import_data(
            file_of(
                line(
                    **dict.fromkeys(("task_id", "model_id", "response_id", "ideal_response_id"), "other"),
                    judge_prompt_template_path="prompts/other.txt",
                    raw_judge_output={},
                    parsed_rubric_scores={},
                    aggregated_score=None,
                    review_reasons=[],
                    structured_model_response="1/2",
                    structured_ideal_response="2",
                    created_at="2026-01-01T00:00:00Z",
                )
            )
        )
        assert (again.updated, evaluation().structured_ideal_response) == (1, "2")

    @pytest.mark.slow
    def test_new_evidence_needs_no_query_per_line(self) -> None:
        queries = []
        for count in (3, 30):
            names = [f"eval_{count}_{n}" for n in range(count)]
            import_data(file_of(*(line(name) for name in names)), run=str(count))
            with CaptureQueriesContext(connection) as captured:
                again = import_data(file_of(*(line(name, task_id="4712") for name in names)), run=str(count))
            assert again.updated == count
            queries.append(len(captured))
        assert queries[0] == queries[1]

    def test_new_evidence_is_compared_with_lines_over_todays_limit(self, settings: Settings) -> None:
        import_data(file_of(line(task_id="x" * 60)))
        settings.LIMITS = Limits(id_bytes=40)
        assert import_data(file_of(line(task_id="4712"))).updated == 1


class TestTakenId:
    def test_repeated_id_names_its_first_line(self) -> None:
        done = import_data(file_of(line("eval_1"), b"", line("eval_2"), line("eval_1", task_id="other")))
        assert outcomes(done) == [(4, "rejected", "evaluation_id", "is already in line 1")]
        assert evaluation().task_id == "4711"

    def test_repeated_id_is_rejected_each_time(self) -> None:
        import_data(file_of(line()))
        again = import_data(file_of(line(task_id="b"), line(), line(task_id="c")))
        assert [outcome for _, outcome, _, _ in outcomes(again)] == ["updated", "rejected", "rejected"]
        assert {reason for _, _, _, reason in outcomes(again)[1:]} == {"is already in line 1"}

    def test_id_of_a_rejected_line_is_free(self) -> None:
        done = import_data(file_of(line(task_id=True), line()))
        assert (done.new, done.rejected) == (1, 1)

    def test_same_id_in_another_run_is_another_record(self) -> None:
        import_data(file_of(line()), run="first")
        second = file_of(line(task_id="other"), line("eval_2"))
        done = import_data(second, run="second")
        assert (done.new, outcomes(done)) == (2, [])
        assert Evaluation.objects.get(run__name="first").task_id == "4711"
        assert (export_data(run="first"), export_data(run="second")) == (file_of(line()), second)
        again = import_data(file_of(line(task_id="changed")), run="first")
        assert again.updated == 1
        assert export_data(run="second") == second


@pytest.mark.slow
def test_known_records_are_found_by_an_index_in_a_table_that_has_grown() -> None:
    # Not analysed, as in the transaction of an import.
    done = import_data(file_of(*(line(f"eval_{number}") for number in range(1_500))))
    ids = json.dumps([f"new_{number}" for number in range(300)])
    plan = "\n".join(
        row
        for (row,) in fetch_all(
            f"EXPLAIN {reconcile._KNOWN}", {"import": done.pk, "run": done.run_id, "ids": ids}
        )
    )
    assert "evaluation_id_is_unique_in_run" in plan
    assert "Seq Scan on evaluation" not in plan
