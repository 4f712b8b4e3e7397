"""The filters of the judge's figures: judge model, prompt template, evaluated model and reviewer.

Pages, the report, the API and the command line build a `JudgeScope` with `read_scope`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from reviews.models import JudgedCount, Run, Stratum, User

#: The filters and their titles. Their names are those of query parameters and command-line options.
FILTERS = {"judge": "Judge", "template": "Prompt", "model": "Model", "reviewer": "Reviewer"}
#: Stands for records without a model where "" means no filter.
NO_MODEL = "-"
_LONGEST = 60


@dataclass(frozen=True)
class JudgeScope:
    """The decisions that figures count. None does not filter."""

    run: Run
    judge: str | None = None
    template: str | None = None
    #: "" for records without a model.
    model: str | None = None
    reviewer: User | None = None

    def strata(self) -> QuerySet[Stratum]:
        """Return the strata of the scope. The reviewer filters decisions, not strata."""
        return Stratum.objects.filter(**self._columns())

    def condition(self, stratum: str = "stratum") -> Q:
        """Return the same condition for a query with a foreign key to the stratum."""
        return Q(**{f"{stratum}__{column}": value for column, value in self._columns().items()})

    def _columns(self) -> dict[str, Any]:
        columns = {
            "judge_llm_model": self.judge,
            "judge_prompt_template_path": self.template,
            "model_id": self.model,
        }
        return {"run": self.run} | {name: value for name, value in columns.items() if value is not None}

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run.name,
            "judge": self.judge,
            "template": self.template,
            "model": self.model,
            "reviewer": self.reviewer.username if self.reviewer else None,
        }


class ScopeChoices(NamedTuple):
    """The values of each filter that some decision of the run has."""

    judges: tuple[str, ...]
    templates: tuple[str, ...]
    #: "" for records without a model.
    models: tuple[str, ...]
    reviewers: tuple[User, ...]


def scope_choices(run: Run) -> ScopeChoices:
    """List the filter values of a run."""
    counted = JudgedCount.objects.filter(reviews__gt=0)
    strata = Stratum.objects.filter(Exists(counted.filter(stratum=OuterRef("pk"))), run=run)
    reviewers = User.objects.filter(
        Exists(counted.filter(reviewer=OuterRef("pk"), stratum__in=[stratum.pk for stratum in strata]))
    )
    return ScopeChoices(
        tuple(sorted({stratum.judge_llm_model for stratum in strata})),
        tuple(sorted({stratum.judge_prompt_template_path for stratum in strata})),
        tuple(sorted({stratum.model_id for stratum in strata})),
        tuple(reviewers.order_by("username")),
    )


class ReadScope(NamedTuple):
    """A scope, and the filter values it was read from."""

    scope: JudgeScope
    choices: ScopeChoices
    #: The known filter values, by filter name.
    chosen: dict[str, str]
    #: A sentence for each value that no decision has. The scope ignores such a value.
    problems: tuple[str, ...]


def read_scope(run: Run, values: Mapping[str, str]) -> ReadScope:
    """Build the scope of a run from the values of `FILTERS`; a reviewer is given by username."""
    choices = scope_choices(run)
    reviewers = {person.username: person for person in choices.reviewers}
    known = {
        "judge": {*choices.judges},
        "template": {*choices.templates},
        "model": {name or NO_MODEL for name in choices.models},
        "reviewer": {*reviewers},
    }
    given = {name: value for name in FILTERS if (value := values.get(name))}
    chosen = {name: value for name, value in given.items() if value in known[name]}
    model, reviewer = chosen.get("model"), reviewers.get(chosen.get("reviewer", ""))
    return ReadScope(
        JudgeScope(
            run, chosen.get("judge"), chosen.get("template"), "" if model == NO_MODEL else model, reviewer
        ),
        choices,
        chosen,
        tuple(_unknown(name, value) for name, value in given.items() if name not in chosen),
    )


def _unknown(name: str, value: str) -> str:
    short = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    return f"No current decision has the {FILTERS[name].lower()} “{short}”."
