"""Database constraints and properties of single rows."""

from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from reviews.models import Evaluation, Import, ImportLine, Review, Run, Skip, SourceChunk, User
from reviews.records.schema import FIELDS
from reviews.records.status import ALL_STATUSES
from tests.support.factories import EvaluationFactory, ImportFactory, RunFactory, UserFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def test_the_migrations_make_these_models() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_an_evaluation_mirrors_the_23_fields_by_their_own_names() -> None:
    columns = [field.column for field in Evaluation._meta.concrete_fields]
    mirrored = [column for column in columns if column in FIELDS]
    assert mirrored == list(FIELDS)
    assert len(FIELDS) == 23


class TestConstraints:
    def refused(self, constraint: str, model: Any, **values: Any) -> None:
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            model.objects.create(**values)

    def test_two_runs_of_one_name(self) -> None:
        RunFactory.create(name="run")
        self.refused("run_name_is_unique", Run, name="run")

    def test_same_evaluation_id_twice_in_one_run(self) -> None:
        known = EvaluationFactory.create()
        with pytest.raises(IntegrityError, match="evaluation_id_is_unique_in_run"), transaction.atomic():
            EvaluationFactory.create(evaluation_id=known.evaluation_id, run=known.run)

    def test_two_evaluations_on_one_line(self) -> None:
        there = EvaluationFactory.create()
        with pytest.raises(IntegrityError, match="evaluation_place_is_unique"), transaction.atomic():
            EvaluationFactory.create(
                run=there.run, first_import=there.first_import, first_line=there.first_line
            )

    def test_two_outcomes_of_one_line(self) -> None:
        values = {"source": ImportFactory.create(), "line": 1, "outcome": ImportLine.Outcome.REJECTED}
        ImportLine.objects.create(**values)
        self.refused("import_line_place", ImportLine, **values)

    def test_two_pieces_of_a_file_in_one_place(self) -> None:
        values = {"source": ImportFactory.create(), "number": 0, "first_line": 1, "lines": 1, "size": 0}
        SourceChunk.objects.create(**values, frame=b"")
        self.refused("source_chunk_place", SourceChunk, **values, frame=b"")

    def test_two_reviews_of_one_version_and_one_submission_twice(self, ana: User) -> None:
        review = decide(EvaluationFactory.create(), ana)
        values: dict[str, Any] = {"evaluation": review.evaluation, "run": review.run, "reviewer": ana}
        values["submitted_at"] = timezone.now()
        self.refused("review_version_is_unique", Review, **values, version=1, submission=uuid4())
        self.refused("review_submission_is_unique", Review, **values, version=2, submission=review.submission)

    def test_a_second_skip_of_one_record(self, ana: User) -> None:
        values = {"evaluation": EvaluationFactory.create(), "reviewer": ana}
        Skip.objects.create(**values)
        self.refused("skip_once", Skip, **values)


class TestNothingIsDeletedFromUnderARecord:
    @pytest.mark.parametrize("name", ["run", "first_import", "claimed_by"])
    def test_whatever_it_refers_to_stays(self, ana: User, name: str) -> None:
        evaluation = EvaluationFactory.create(claimed_by=ana, claimed_until=timezone.now())
        with pytest.raises(ProtectedError):
            getattr(evaluation, name).delete()


class TestReadOffARow:
    def test_a_status_is_in_the_queue_or_done_or_neither(self) -> None:
        found = {
            status: (evaluation.in_queue, evaluation.is_done)
            for status in ALL_STATUSES
            for evaluation in [Evaluation(human_review_status=status)]
        }
        assert found == {
            "Needs Review": (True, False),
            "Pending": (True, False),
            "Not Required": (False, False),
            "Completed": (False, True),
            "Reviewed": (False, True),
        }

    def test_a_person_is_called_by_their_name_or_else_their_username(self) -> None:
        assert UserFactory.build(username="ana").name == "ana"
        assert UserFactory.build(username="ana", first_name="Ana", last_name="Silva").name == "Ana Silva"

    def test_an_import_counts_its_lines_by_outcome(self) -> None:
        counts = {
            "lines": 21, "new": 1, "unchanged": 2, "updated": 3, "conflicts": 4, "rejected": 5, "blank": 6
        }  # fmt: skip
        assert Import(**counts).counts == counts

    def test_an_import_lists_its_exceptions_in_line_order(self) -> None:
        done = ImportFactory.create()
        for line in (9, 10, 2):
            ImportLine.objects.create(
                source=done, line=line, outcome=ImportLine.Outcome.REJECTED, field="task_id", reason="is odd"
            )
        ImportLine.objects.create(source=ImportFactory.create(), line=1, outcome=ImportLine.Outcome.UNCHANGED)
        assert list(done.listed_exceptions()) == [
            {"line": line, "outcome": "rejected", "field": "task_id", "reason": "is odd"}
            for line in (2, 9, 10)
        ]

    def test_rows_name_themselves(self, ana: User) -> None:
        evaluation = EvaluationFactory.create(evaluation_id="eval_1", run=RunFactory.create(name="o1"))
        review = decide(evaluation, ana)
        [event] = evaluation.events.all()
        assert str(evaluation) == "eval_1"
        assert str(evaluation.run) == "o1"
        assert str(evaluation.first_import) == "evaluations.jsonl into o1"
        assert str(review) == f"{evaluation.pk} version 1"
        assert str(event) == f"{event.at:%Y-%m-%d %H:%M:%S} ana submit"
