"""Factories for rows with realistic defaults. Only a real import has a stored source file."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from itertools import count
from typing import Any, ClassVar, Generic, TypeVar

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group
from django.db.models import Model

from reviews.models import Evaluation, Export, ExportProgress, GoldSet, Import, Run, User
from reviews.records.extracted_scores import encode_extracted
from tests.support.quick_insert import insert

Row = TypeVar("Row", bound=Model)

PASSWORD = "a pass phrase for tests"
SCORES = {
    "Problem Understanding": {"score": "Yes", "justification": "Restates the task."},
    "Conclusion Accuracy": {"score": "No", "justification": r"Ends with \(\frac{1}{2}\), not \(2\)."},
}


class _Draft(dict[str, Any]):
    """The values of a row so far."""

    def __init__(self, given: Mapping[str, Any], *, number: int, is_saved: bool) -> None:
        super().__init__(given)
        self.number = number  # counts the rows of a factory
        self.is_saved = is_saved

    def related(self, factory: type["_Factory[Any]"], **given: Any) -> Any:
        """Make a row that this one refers to."""
        return factory.create(**given) if self.is_saved else factory.build(**given)


class _Factory(Generic[Row]):
    """Makes rows of a model: `create` inserts them, and the rows that they refer to, and `build` does not."""

    model: type[Row]
    # The values that a test does not give, or functions that compute them from the values before them.
    defaults: ClassVar[dict[str, Any]]
    _numbers: ClassVar[Iterator[int]]

    def __init_subclass__(cls) -> None:
        cls._numbers = count()

    @classmethod
    def create(cls, **given: Any) -> Row:
        row = cls._make(given, is_saved=True)
        insert(row)
        return row

    @classmethod
    def create_batch(cls, size: int, **given: Any) -> list[Row]:
        return [cls.create(**given) for _ in range(size)]

    @classmethod
    def build(cls, **given: Any) -> Row:
        return cls._make(given, is_saved=False)

    @classmethod
    def _make(cls, given: dict[str, Any], *, is_saved: bool) -> Row:
        draft = _Draft(given, number=next(cls._numbers), is_saved=is_saved)
        for name, value in cls.defaults.items():
            if name not in draft:
                draft[name] = value(draft) if callable(value) else value
        return cls.model(**draft)


class UserFactory(_Factory[User]):
    """`role="lead"` adds the user to that group; without `role`, the user has no role."""

    model = User
    defaults: ClassVar = {
        "username": lambda draft: f"person{draft.number:05}"
    }  # in the order of their creation

    @classmethod
    def create(cls, *, role: str = "", **given: Any) -> User:
        user = super().create(**given)
        if role:
            insert(user.groups.through(user_id=user.pk, group_id=_group_id(role)))
        return user

    @classmethod
    def _make(cls, given: dict[str, Any], *, is_saved: bool) -> User:
        password = _hash(given.get("password", PASSWORD))
        return super()._make(given | {"password": password}, is_saved=is_saved)


@cache
def _hash(password: str) -> str:
    return make_password(password)


@cache
def _group_id(role: str) -> int:
    """Return the id that the migrated database gives the role's group. No test may change it."""
    return Group.objects.get(name=role).pk


class RunFactory(_Factory[Run]):
    model = Run
    defaults: ClassVar = {"name": lambda draft: f"run {draft.number}"}


class ImportFactory(_Factory[Import]):
    model = Import
    defaults: ClassVar = {
        "run": lambda draft: draft.related(RunFactory),
        "file_name": "evaluations.jsonl",
        "state": Import.State.DONE,
    }


class EvaluationFactory(_Factory[Evaluation]):
    """A record in the queue, on a line of its own in the single import of its run."""

    model = Evaluation
    defaults: ClassVar = {
        "run": lambda draft: draft.related(RunFactory),
        "first_import": lambda draft: draft.related(ImportFactory, run=draft["run"]),
        "first_line": lambda draft: draft.number + 1,
        "source_import": lambda draft: draft["first_import"],
        "source_line": lambda draft: draft["first_line"],
        "evaluation_id": lambda draft: f"00000000-0000-4000-8000-{draft.number:012d}",
        "content_hash": lambda draft: blake2b(draft["evaluation_id"].encode(), digest_size=16).digest(),
        "task_id": lambda draft: f"{draft.number // 5}",
        "model_id": "openai/gpt-4o",
        "response_id": lambda draft: f"response-{draft.number}",
        "ideal_response_id": lambda draft: f"ideal-{draft['task_id']}",
        "judge_llm_model": "judge-1",
        "judge_prompt_template_path": "prompts/judge.txt",
        "raw_judge_output": lambda _: {"raw_content": "{}"},
        "parsed_rubric_scores": lambda _: dict(SCORES),
        "extracted_scores": lambda draft: encode_extracted(
            draft["parsed_rubric_scores"], draft["raw_judge_output"]
        ),
        "aggregated_score": "Fail",
        "final_answer_verified": False,
        "verification_message": "Mismatch (Extracted: '1/2', Correct: '2')",
        "needs_human_review": True,
        "review_reasons": lambda _: ["Final answer does not match."],
        "human_review_status": "Needs Review",
        "created_at": datetime(2025, 4, 30, 12, tzinfo=UTC),
    }


class ExportFactory(_Factory[Export]):
    """A queued export of all lines."""

    model = Export
    defaults: ClassVar = {
        "run": lambda draft: draft.related(RunFactory),
        "only": "all",
        "with_rejected": False,
        "format": "jsonl",
        "created_by": lambda draft: draft.related(UserFactory),
    }

    @classmethod
    def create(cls, **given: Any) -> Export:
        export = super().create(**given)
        insert(ExportProgress(export=export, bytes_to_read=0))
        return export


class GoldSetFactory(_Factory[GoldSet]):
    """A gold set without ratings."""

    model = GoldSet
    defaults: ClassVar = {
        "run": lambda draft: draft.related(RunFactory),
        "run_name": lambda draft: draft["run"].name,
        "name": "gold",
        "filters": lambda _: {},
        "rubric": lambda _: {},
        "frozen_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
