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


@pytest.mark.slow
def test_migrations_match_the_models() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_evaluation_has_the_23_fields_of_the_schema() -> None:
    columns = [field.column for field in Evaluation._meta.concrete_fields]
    mirrored = [column for column in columns if column in FIELDS]
    assert mirrored == list(FIELDS)
    assert len(FIELDS) == 23


class TestConstraints:
    def refused(self, constraint: str, model: Any, **values: Any) -> None:
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            model.objects.create(**values)

    def test_run_name_is_unique(self) -> None:
        RunFactory.create(name="run")
        self.refused("run_name_is_unique", Run, name="run")

    def test_evaluation_id_is_unique_in_a_run(self) -> None:
        known = EvaluationFactory.create()
        with pytest.raises(IntegrityError, match="evaluation_id_is_unique_in_run"), transaction.atomic():
            EvaluationFactory.create(evaluation_id=known.evaluation_id, run=known.run)

    def test_line_has_one_evaluation(self) -> None:
        there = EvaluationFactory.create()
        with pytest.raises(IntegrityError, match="evaluation_place_is_unique"), transaction.atomic():
            EvaluationFactory.create(
                run=there.run, first_import=there.first_import, first_line=there.first_line
            )

    def test_line_has_one_outcome(self) -> None:
        values = {"source": ImportFactory.create(), "line": 1, "outcome": ImportLine.Outcome.REJECTED}
        ImportLine.objects.create(**values)
        self.refused("import_line_place", ImportLine, **values)

    def test_chunk_number_is_unique_in_a_file(self) -> None:
        values = {"source": ImportFactory.create(), "number": 0, "first_line": 1, "lines": 1, "size": 0}
        SourceChunk.objects.create(**values, frame=b"")
        self.refused("source_chunk_place", SourceChunk, **values, frame=b"")

    def test_review_version_and_submission_are_unique(self, ana: User) -> None:
        review = decide(EvaluationFactory.create(), ana)
        values: dict[str, Any] = {"evaluation": review.evaluation, "run": review.run, "reviewer": ana}
        values["submitted_at"] = timezone.now()
        self.refused("review_version_is_unique", Review, **values, version=1, submission=uuid4())
        self.refused("review_submission_is_unique", Review, **values, version=2, submission=review.submission)

    def test_reviewer_skips_a_record_once(self, ana: User) -> None:
        values = {"evaluation": EvaluationFactory.create(), "reviewer": ana}
        Skip.objects.create(**values)
        self.refused("skip_once", Skip, **values)


class TestProtection:
    @pytest.mark.parametrize("name", ["run", "first_import", "claimed_by"])
    def test_rows_that_a_record_refers_to_cannot_be_deleted(self, ana: User, name: str) -> None:
        evaluation = EvaluationFactory.create(claimed_by=ana, claimed_until=timezone.now())
        with pytest.raises(ProtectedError):
            getattr(evaluation, name).delete()


class TestProperties:
    def test_status_is_in_queue_or_done_or_neither(self) -> None:
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

    def test_name_of_a_person_falls_back_to_the_username(self) -> None:
        assert UserFactory.build(username="ana").name == "ana"
        assert UserFactory.build(username="ana", first_name="Ana", last_name="Silva").name == "Ana Silva"

    def test_import_counts_lines_by_outcome(self) -> None:
        counts = {
            "lines": 21, "new": 1, "unchanged": 2, "updated": 3, "conflicts": 4, "rejected": 5, "blank": 6
        }  # fmt: skip
        assert Import(**counts).counts == counts

    def test_import_lists_exceptions_in_line_order(self) -> None:
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

    def test_rows_have_readable_strings(self, ana: User) -> None:
        evaluation = EvaluationFactory.create(evaluation_id="eval_1", run=RunFactory.create(name="o1"))
        review = decide(evaluation, ana)
        [event] = evaluation.events.all()
        assert str(evaluation) == "eval_1"
        assert str(evaluation.run) == "o1"
        assert str(evaluation.first_import) == "evaluations.jsonl into o1"
        assert str(review) == f"{evaluation.pk} version 1"
        assert str(event) == f"{event.at:%Y-%m-%d %H:%M:%S} ana submit"


@pytest.mark.parametrize(
    ("ids", "title"),
    [
        ({"task_id": "81", "model_id": "o1"}, "Task 81 · o1"),
        ({"task_id": None, "model_id": None, "evaluation_id": "a"}, "Record a"),
        ({"task_id": "0123456789abcdef" * 4, "model_id": "o1"}, "Task 01234567… · o1"),
        ({"task_id": None, "model_id": None, "evaluation_id": "0123456789abcdef" * 2}, "Record 01234567…"),
        (
            {"task_id": "t" * 299 + "1", "model_id": "m" * 299 + "2"},
            f"Task {'t' * 34}…{'t' * 19}1 · {'m' * 39}…{'m' * 19}2",
        ),
    ],
)
def test_title_of_record_names_task_and_model_and_shortens_hashes_and_long_ids(
    ids: dict[str, Any], title: str
) -> None:
    assert EvaluationFactory.build(**ids).title == title
