"""The filters of figures about a judge as query parameters."""

from http import HTTPStatus

from ninja import Field, Schema

from reviews.api.problems import Problem
from reviews.judge.comparison.shared_filters import SharedFilters, read_shared_filters
from reviews.judge.scope import SCOPE_FILTERS, JudgeScope, ReadScope, read_record_scope, read_scope
from reviews.models import Run


class ScopeQuery(Schema):
    """The ratings and records to count. An empty value does not filter."""

    judge: str = ""
    template: str = Field("", description="The prompt.")
    model: str = Field("", description="`-` for records without a model.")
    reviewer: str = Field("", description="A username.")
    task: str = ""
    since: str = Field("", description="The first day in UTC, such as `2026-01-31`.")
    until: str = Field("", description="The last day in UTC.")

    def scope_of(self, run: Run) -> JudgeScope:
        """Return the scope of a run. Raises `Problem` for a value that no rating has."""
        return _checked(read_scope(run, self._values))

    def record_scope_of(self, run: Run) -> JudgeScope:
        """Return the scope of a run. Raises `Problem` for a value that no record has."""
        return _checked(read_record_scope(run, self._values))

    def shared_scope(self, first: Run, second: Run) -> JudgeScope:
        """Return the scope of the second of two compared runs. Raises `Problem` for an idle value."""
        return _checked(read_shared_filters(first, second, self._values))

    @property
    def _values(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in SCOPE_FILTERS}


def _checked(read: ReadScope | SharedFilters) -> JudgeScope:
    if read.problems:
        sentence = " ".join(read.problems.values())
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, read.problems.items())
    return read.scope
