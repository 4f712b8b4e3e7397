"""Factories for rows with realistic defaults. Only a real import has a stored source file."""

from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from typing import Any, TypeVar

import factory
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group
from django.db.models import Model
from factory.django import DjangoModelFactory

from reviews.models import Evaluation, Export, ExportProgress, GoldSet, Import, Run, User
from reviews.records.extracted_scores import encode_extracted
from tests.support.quick_insert import insert

Row = TypeVar("Row", bound=Model)

PASSWORD = "a pass phrase for tests"
SCORES = {
    "Problem Understanding": {"score": "Yes", "justification": "Restates the task."},
    "Conclusion Accuracy": {"score": "No", "justification": r"Ends with \(\frac{1}{2}\), not \(2\)."},
}


class _QuickFactory(DjangoModelFactory[Row]):
    class Meta:
        abstract = True

    @classmethod
    def _create(cls, model_class: type[Row], *args: Any, **values: Any) -> Row:
        row = model_class(*args, **values)
        insert(row)
        return row


@cache
def _hash(password: str) -> str:
    return make_password(password)


class UserFactory(_QuickFactory[User]):
    """`role="lead"` adds the user to that group; without `role`, the user has no role."""

    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"person{n:05}")  # in the order of their creation
    password = factory.Transformer(PASSWORD, transform=_hash)

    @factory.post_generation  # type: ignore[untyped-decorator]
    def role(self: User, create: bool, extracted: str | None, **_: Any) -> None:
        if create and extracted:
            insert(self.groups.through(user_id=self.pk, group_id=_group_id(extracted)))


@cache
def _group_id(role: str) -> int:
    """Return the id that the migrated database gives the role's group. No test may change it."""
    return Group.objects.get(name=role).pk


class RunFactory(_QuickFactory[Run]):
    class Meta:
        model = Run

    name = factory.Sequence(lambda n: f"run {n}")


class ImportFactory(_QuickFactory[Import]):
    class Meta:
        model = Import

    run = factory.SubFactory(RunFactory)
    file_name = "evaluations.jsonl"
    state = Import.State.DONE


class EvaluationFactory(_QuickFactory[Evaluation]):
    """A record in the queue, on a line of its own in the single import of its run."""

    class Meta:
        model = Evaluation

    run = factory.SubFactory(RunFactory)
    first_import = factory.SubFactory(ImportFactory, run=factory.SelfAttribute("..run"))
    first_line = factory.Sequence(lambda n: n + 1)
    source_import = factory.SelfAttribute("first_import")
    source_line = factory.SelfAttribute("first_line")
    content_hash = factory.LazyAttribute(
        lambda made: blake2b(made.evaluation_id.encode(), digest_size=16).digest()
    )
    evaluation_id = factory.Sequence(lambda n: f"00000000-0000-4000-8000-{n:012d}")
    task_id = factory.Sequence(lambda n: f"{n // 5}")
    model_id = "openai/gpt-4o"
    response_id = factory.Sequence(lambda n: f"response-{n}")
    ideal_response_id = factory.LazyAttribute(lambda made: f"ideal-{made.task_id}")
    judge_llm_model = "judge-1"
    judge_prompt_template_path = "prompts/judge.txt"
    raw_judge_output = factory.LazyFunction(lambda: {"raw_content": "{}"})
    parsed_rubric_scores = factory.LazyFunction(lambda: dict(SCORES))
    extracted_scores = factory.LazyAttribute(
        lambda made: encode_extracted(made.parsed_rubric_scores, made.raw_judge_output)
    )
    aggregated_score = "Fail"
    final_answer_verified = False
    verification_message = "Mismatch (Extracted: '1/2', Correct: '2')"
    needs_human_review = True
    review_reasons = factory.LazyFunction(lambda: ["Final answer does not match."])
    human_review_status = "Needs Review"
    created_at = datetime(2025, 4, 30, 12, tzinfo=UTC)


class ExportProgressFactory(DjangoModelFactory[ExportProgress]):
    class Meta:
        model = ExportProgress

    bytes_to_read = 0


class ExportFactory(DjangoModelFactory[Export]):
    """A queued export of all lines."""

    class Meta:
        model = Export
        skip_postgeneration_save = True

    run = factory.SubFactory(RunFactory)
    only = "all"
    with_rejected = False
    format = "jsonl"
    created_by = factory.SubFactory(UserFactory)
    progress = factory.RelatedFactory(ExportProgressFactory, "export")


class GoldSetFactory(DjangoModelFactory[GoldSet]):
    """A gold set without ratings."""

    class Meta:
        model = GoldSet

    run = factory.SubFactory(RunFactory)
    run_name = factory.SelfAttribute("run.name")
    name = "gold"
    filters = factory.Dict({})
    rubric = factory.Dict({})
    frozen_at = datetime(2026, 1, 1, tzinfo=UTC)
