"""Repeated imports: unchanged lines, new evidence, and decisions made since."""

import json
from contextlib import suppress

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pytest_django import Settings

from reviews.imports import reconcile
from reviews.models import Evaluation, Import, Run, User
from reviews.queue import claims
from reviews.records.schema import Limits
from reviews.review import decisions
from reviews.storage.errors import ImportRefused
from tests.support.factories import UserFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.threads import start_and_wait_for_lock
from tests.support.work import decide

pytestmark = pytest.mark.django_db

THREE = [line("eval_1"), line("eval_2"), line("eval_3")]


def evaluation(evaluation_id: str = "eval_1") -> Evaluation:
    return Evaluation.objects.get(evaluation_id=evaluation_id)


def respelled(evaluation_id: str) -> bytes:
    """Return a line with the same record in different bytes."""
    return line(rb'  "\u0065%b"' % evaluation_id[1:].encode())


def outcomes(done: Import) -> list[tuple[int, str, str, str]]:
    """Return the outcomes of all lines that are not new or blank."""
    return [tuple(exception.values()) for exception in done.listed_exceptions()]


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


class TestNewerEvidenceAfterReview:
    """The review is kept, but outdated: it was based on other evidence."""

    NEWER = line(task_id="4712", model_id="other")

    @pytest.fixture
    def reviewed(self, ana: User) -> Evaluation:
        import_data(file_of(line()))
        decide(evaluation(), ana, comments="Checked.")
        return evaluation()

    @pytest.mark.slow
    def test_new_evidence_for_a_reviewed_record_is_accepted_and_reported(self, reviewed: Evaluation) -> None:
        again = import_data(file_of(self.NEWER))
        sentence = "task_id, model_id taken from the file: the review by ana is kept, but outdated"
        assert outcomes(again) == [(1, "updated", "", sentence)]
        assert (evaluation().task_id, evaluation().is_outdated) == ("4712", True)
        assert evaluation().version == reviewed.version + 1

    @pytest.mark.slow
    def test_new_evidence_returns_a_reviewed_record_to_the_queue(self, reviewed: Evaluation) -> None:
        import_data(file_of(self.NEWER))
        assert evaluation().human_review_status == "Needs Review"
        kept = ("human_reviewer_id", "human_review_timestamp", "human_corrected_scores", "review_id")
        assert [getattr(evaluation(), name) for name in kept] == [getattr(reviewed, name) for name in kept]
        assert claims.claim_next(run=reviewed.run, reviewer=UserFactory.create(role="reviewer")) == reviewed

    @pytest.mark.slow
    def test_new_evidence_is_exported_with_the_outdated_review(self, reviewed: Evaluation) -> None:
        """A record with unreviewed evidence never counts as done."""
        before = json.loads(export_data())
        import_data(file_of(self.NEWER))
        exported = json.loads(export_data())
        assert exported == before | {
            "task_id": "4712", "model_id": "other", "human_review_status": "Needs Review",
        }  # fmt: skip
        assert export_data(only="reviewed") == b""

    @pytest.mark.slow
    def test_outdated_review_counts_again_after_a_new_decision(self, reviewed: Evaluation, bo: User) -> None:
        import_data(file_of(self.NEWER))
        review = decide(evaluation(), bo)
        assert (review.version, evaluation().review, evaluation().is_outdated) == (2, review, False)
        assert json.loads(export_data())["human_reviewer_id"] == "bo"
        assert import_data(file_of(self.NEWER)).unchanged == 1

    @pytest.mark.slow
    def test_new_evidence_may_be_imported_repeatedly(self, reviewed: Evaluation) -> None:
        for number in range(3):
            assert import_data(file_of(line(task_id=f"again {number}"))).updated == 1
        assert (evaluation().is_outdated, evaluation().human_reviewer_id) == (True, "ana")

    def test_respelled_evidence_keeps_the_review(self, reviewed: Evaluation) -> None:
        import_data(file_of(self.NEWER))
        again = import_data(file_of(self.NEWER.replace(b'"4712"', rb'"\u0034712"')))
        assert (again.updated, evaluation().is_outdated) == (1, True)

    @pytest.mark.slow
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_our_own_export_is_no_conflict(self, reviewed: Evaluation, when: str) -> None:
        before = export_data()
        import_data(file_of(self.NEWER))
        exported = export_data()
        again = import_data(before if when == "before" else exported)
        assert again.conflicts == 0
        assert evaluation().is_outdated
        assert evaluation().human_corrected_scores == reviewed.human_corrected_scores

    def test_new_evidence_with_another_decision_is_a_conflict(self, reviewed: Evaluation) -> None:
        again = import_data(file_of(line(task_id="4712", human_review_comments="Not so.")))
        sentence = (
            "task_id, human_review_comments changed in the file: its evidence is taken, "
            "the review by ana is kept until a lead resolves the conflict"
        )
        assert outcomes(again) == [(1, "conflict", "", sentence)]
        assert (evaluation().task_id, evaluation().human_review_comments) == ("4712", "Checked.")
        assert evaluation().is_outdated


class TestImportedHumanValues:
    @pytest.mark.slow
    def test_human_values_of_a_file_are_accepted_without_a_review_here(self) -> None:
        import_data(file_of(line()))
        decided = line(
            human_review_status="Reviewed",
            human_reviewer_id="carla",
            human_review_timestamp="2026-11-19T10:00:00Z",
            human_corrected_scores={"Clarity": {"score": "No"}},
        )
        again = import_data(file_of(decided))
        assert again.updated == 1
        assert (evaluation().human_review_status, evaluation().human_reviewer_id) == ("Reviewed", "carla")
        assert export_data() == file_of(decided)

    @pytest.mark.slow
    def test_different_human_values_are_a_conflict(self, ana: User) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        again = import_data(file_of(line(human_review_comments="Not so.")))
        sentence = "changed in the file: the review by ana is kept until a lead resolves the conflict"
        assert outcomes(again) == [(1, "conflict", "human_review_comments", sentence)]
        assert (again.conflicts, evaluation().human_review_comments) == (1, None)

    @pytest.mark.slow
    def test_exported_human_values_are_the_current_decision(self, ana: User) -> None:
        import_data(file_of(THREE[0], b"", THREE[1], b"no record", THREE[2], b"", b""))
        decide(
            evaluation("eval_2"), ana, comments="Zähler und Nenner ≠ vertauscht", scores={"A": {"score": 0.1}}
        )
        exported = export_data()
        before = evaluation("eval_2")
        again = import_data(exported)
        assert (again.unchanged, again.blank, again.lines) == (3, 3, 6)
        assert outcomes(again)[1] == (3, "unchanged", "", "has the current decision")
        assert Evaluation.objects.filter(pk=before.pk).values().get() == {
            field.attname: getattr(before, field.attname) for field in Evaluation._meta.concrete_fields
        }
        assert export_data() == exported

    @pytest.mark.parametrize(
        ("comment", "outcome"), [(b"null", "unchanged"), (b'"Not so."', "conflict")], ids=["same", "another"]
    )
    def test_exported_human_values_of_a_reopened_record_are_unchanged(
        self, ana: User, lea: User, comment: bytes, outcome: str
    ) -> None:
        import_data(file_of(line()))
        decide(evaluation(), ana)
        exported = export_data().replace(
            b'"human_review_comments": null', b'"human_review_comments": ' + comment
        )
        decisions.reopen(evaluation_id=evaluation().pk, actor=lea, reason="Look again.")
        again = import_data(exported)
        assert [found for _, found, _, _ in outcomes(again)] == [outcome]
        kept = evaluation()
        assert (kept.human_review_status, kept.human_review_comments) == ("Needs Review", None)


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


def crlf(*lines: bytes) -> bytes:
    return b"".join(one + b"\r\n" for one in lines)


class TestGrownFile:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param(file_of(*THREE[:2]), file_of(*THREE), id="by a line"),
            pytest.param(file_of(*THREE[:2])[:-1], file_of(*THREE), id="from a last line without line end"),
            pytest.param(file_of(*THREE)[:-1], file_of(*THREE), id="by a line end"),
            pytest.param(file_of(*THREE)[:-200], file_of(*THREE), id="from a last line that was cut"),
            pytest.param(file_of(*THREE[:2]), file_of(*THREE)[:-1], id="by a line without line end"),
            pytest.param(
                file_of(THREE[0], b"", THREE[1], b""),
                file_of(THREE[0], b"", THREE[1], b"", b"", THREE[2], b""),
                id="with blank lines",
            ),
            pytest.param(file_of(b"", THREE[0]), file_of(b"", *THREE), id="from a blank first line"),
            pytest.param(crlf(*THREE[:2]), crlf(*THREE), id="with CRLF"),
            pytest.param(crlf(*THREE[:2])[:-1], crlf(*THREE), id="with CRLF, cut between the two"),
            pytest.param(crlf(*THREE[:2])[:-2], crlf(*THREE), id="with CRLF, cut before them"),
            pytest.param(
                b"\xef\xbb\xbf" + file_of(*THREE[:2]), b"\xef\xbb\xbf" + file_of(*THREE), id="with BOM"
            ),
        ],
    )
    def test_grown_file_is_exported_as_it_is_now(self, before: bytes, after: bytes) -> None:
        import_data(before)
        assert export_data() in {before, before.rpartition(b"\n")[0] + b"\n"}
        grown = import_data(after)
        assert grown.conflicts == grown.rejected == 0
        assert export_data() == after
        assert import_data(after).new == 0
        assert export_data() == after

    @pytest.mark.slow
    @examples(max_examples=5, deadline=None)
    @given(
        lines=st.lists(
            st.sampled_from([b"", b"\r", b"no record"])
            | st.integers(1, 6).map(lambda number: line(f"eval_{number}")),
            min_size=1,
            max_size=8,
        ),
        size=st.integers(1, 8000),
    )
    def test_grown_file_has_the_same_records_as_one_import(self, lines: list[bytes], size: int) -> None:
        data = file_of(*lines, line("eval_0"))
        with transaction.atomic():
            import_data(data, run="at once")
            at_once = export_data(run="at once")
            transaction.set_rollback(True)
        with transaction.atomic():
            with suppress(ImportRefused), transaction.atomic():
                import_data(data[:size], run="grown")
            import_data(data, run="grown")
            grown = export_data(run="grown")
            transaction.set_rollback(True)
        assert grown == at_once

    @pytest.mark.slow
    def test_grown_file_may_contain_a_line_rejected_by_narrower_limits(self, settings: Settings) -> None:
        lines = [THREE[0], line("x" * 60), THREE[2]]
        settings.LIMITS = Limits(id_bytes=40)
        import_data(file_of(*lines))
        settings.LIMITS = Limits()
        assert import_data(file_of(*lines)).new == 1
        assert sorted(export_data().splitlines()) == sorted(lines)

    @pytest.mark.slow
    def test_grown_file_is_recognized_after_another_file(self) -> None:
        first, second = file_of(THREE[0], b""), file_of(THREE[1], b"")
        for data in (first, second, first, second):
            import_data(data)
        assert export_data() == first + second

    def test_grown_file_keeps_rejected_lines_in_place_once(self) -> None:
        before = file_of(THREE[0], b"no record", THREE[1])
        import_data(before)
        import_data(before + file_of(THREE[2], b"none either"))
        assert export_data(with_rejected=True) == before + file_of(THREE[2], b"none either")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_concurrent_review_is_not_overwritten_by_an_import() -> None:
    ana = UserFactory.create(username="ana", role="reviewer")
    import_data(file_of(line()))
    with transaction.atomic():
        decide(evaluation(), ana)
        waiting = start_and_wait_for_lock(lambda: import_data(file_of(line(task_id="4712"))))
    assert waiting.result().updated == 1
    assert (evaluation().human_reviewer_id, evaluation().is_outdated) == ("ana", True)


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_concurrent_imports_of_one_file_run_one_after_the_other() -> None:
    with transaction.atomic():
        import_data(file_of(*THREE, b""))
        second = start_and_wait_for_lock(lambda: import_data(file_of(*THREE, b"")))
    assert (second.result().new, second.result().unchanged) == (0, 3)
    assert export_data() == file_of(*THREE, b"")
    assert Run.objects.count() == 1


@pytest.mark.slow
def test_known_records_are_found_by_an_index_in_a_table_that_has_grown() -> None:
    # Not analysed, as in the transaction of an import.
    done = import_data(file_of(*(line(f"eval_{number}") for number in range(1_500))))
    ids = json.dumps([f"new_{number}" for number in range(300)])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {reconcile._KNOWN}", {"import": done.pk, "run": done.run_id, "ids": ids})
        plan = "\n".join(row for (row,) in cursor.fetchall())
    assert "evaluation_id_is_unique_in_run" in plan
    assert "Seq Scan on evaluation" not in plan
