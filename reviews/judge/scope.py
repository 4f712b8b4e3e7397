"""The filters of the judge's figures: judge, prompt, evaluated model, reviewer, task and dates.

Pages, the report, the API and the command line build a `JudgeScope` with `read_scope`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet

from reviews.days import midnight, next_midnight, read_day
from reviews.models import Evaluation, Rating, RatingCell, Reveal, Review, Run, Stratum, User
from reviews.models.evaluations import EvaluationQuerySet
from reviews.records.wording import abbreviate
from reviews.search.facets import facet_key

#: The filters and their titles. Their names are those of query parameters and command-line options.
SCOPE_FILTERS = {
    "judge": "Judge",
    "template": "Prompt",
    "model": "Model",
    "reviewer": "Reviewer",
    "task": "Task",
    "since": "From",
    "until": "To",
}
DATES = ("since", "until")
#: Stands for records without a model where "" means no filter.
NO_MODEL = "-"


@dataclass(frozen=True)
class JudgeScope:
    """The ratings that figures count. None does not filter."""

    run: Run
    judge: str | None = None
    template: str | None = None
    #: "" for records without a model.
    model: str | None = None
    reviewer: User | None = None
    task: str | None = None
    #: The first and the last day (UTC) of the ratings.
    since: date | None = None
    until: date | None = None

    def strata(self) -> QuerySet[Stratum]:
        """Return the strata of the scope. Other filters are about ratings."""
        return Stratum.objects.filter(**self._columns())

    def records(self) -> EvaluationQuerySet:
        """Return the records of the scope. The filters by reviewer and date are about ratings."""
        columns = self._columns() | ({} if self.task is None else {"task_id": self.task})
        model = columns.pop("model_id", None)
        records: EvaluationQuerySet = Evaluation.objects.filter(**columns)
        return records if model is None else records.filter(model_id=model or None)

    def condition(self, stratum: str = "stratum") -> Q:
        """Return the same condition for a query with a foreign key to the stratum."""
        return Q(**{f"{stratum}__{column}": value for column, value in self._columns().items()})

    @property
    def rating_conditions(self) -> tuple[str, dict[str, Any]]:
        """The other filters, those of ratings, as SQL about `rating`, and its parameters."""
        conditions: dict[str, tuple[str, Any]] = {
            "reviewer": ("rating.reviewer_id = %(reviewer)s", self.reviewer and self.reviewer.pk),
            "since": ("rating.at >= %(since)s", self.since and midnight(self.since)),
            "until": ("rating.at < %(until)s", self.until and next_midnight(self.until)),
            "task": (
                "EXISTS (SELECT FROM evaluation WHERE id = rating.evaluation_id AND task_id = %(task)s)",
                self.task,
            ),
        }
        given = {name: value for name, (_, value) in conditions.items() if value is not None}
        return " AND ".join(conditions[name][0] for name in given) or "true", given | {"run": self.run.pk}

    def facet_conditions(self, facets: str) -> tuple[str, dict[str, Any]]:
        """Return the filters of records as SQL about rows of facets, and its parameters.

        `facets` is the alias of rows with `run_id`, `evaluation_id` and `keys`.
        """
        names = {"judge": self.judge, "template": self.template, "model": self.model or None}
        keys = [facet_key(name, value) for name, value in names.items() if value is not None]
        conditions = [f"{facets}.keys @> %(chosen_keys)s::bigint[]"] if keys else []
        of_record = ["chosen.model_id IS NULL"] if self.model == "" else []
        if self.task is not None:
            of_record.append(f"chosen.task_id = %(chosen_task)s AND chosen.run_id = {facets}.run_id")
        if of_record:
            both = " AND ".join((f"chosen.id = {facets}.evaluation_id", *of_record))
            conditions.append(f"EXISTS (SELECT FROM evaluation AS chosen WHERE {both})")
        return " AND ".join(conditions) or "true", {"chosen_keys": keys, "chosen_task": self.task}

    def rating_filters(self) -> Q:
        """Return the filters by reviewer, date and task, for a query of ratings."""
        return self._work_filters("", "at")

    def decision_filters(self) -> Q:
        """Return these filters for a query of rows with a foreign key to a review."""
        return self._work_filters("review__", "submitted_at")

    def _work_filters(self, path: str, at: str) -> Q:
        conditions = {
            "reviewer": self.reviewer,
            f"{at}__gte": self.since and midnight(self.since),
            f"{at}__lt": self.until and next_midnight(self.until),
            "evaluation__task_id": self.task,
        }
        return Q(**{path + name: value for name, value in conditions.items() if value is not None})

    def _columns(self) -> dict[str, Any]:
        columns = {
            "judge_llm_model": self.judge,
            "judge_prompt_template_path": self.template,
            "model_id": self.model,
        }
        return {"run": self.run} | {name: value for name, value in columns.items() if value is not None}


class ScopeChoices(NamedTuple):
    """The values of each filter that some rating of the run has."""

    judges: tuple[str, ...]
    templates: tuple[str, ...]
    #: "" for records without a model.
    models: tuple[str, ...]
    reviewers: tuple[User, ...]


def scope_choices(run: Run) -> ScopeChoices:
    """List the filter values of a run."""
    strata = _rated_strata([run])
    return choices_of(strata, _reviewers([run], strata))


def reviewers_of(runs: Collection[Run]) -> tuple[User, ...]:
    """Return the people with ratings of some runs."""
    return _reviewers(runs, _rated_strata(runs))


def choices_of(strata: Collection[Stratum], reviewers: tuple[User, ...]) -> ScopeChoices:
    """Return the judges, prompts and models of strata as filter values."""
    return ScopeChoices(
        tuple(sorted({stratum.judge_llm_model for stratum in strata})),
        tuple(sorted({stratum.judge_prompt_template_path for stratum in strata})),
        tuple(sorted({stratum.model_id for stratum in strata})),
        reviewers,
    )


def _rated_strata(runs: Collection[Run]) -> list[Stratum]:
    cells = RatingCell.objects.filter(Exists(Rating.objects.filter(cell=OuterRef("pk"))))
    return [*Stratum.objects.filter(Exists(cells.filter(stratum=OuterRef("pk"))), run__in=runs)]


def _reviewers(runs: Collection[Run], strata: Collection[Stratum]) -> tuple[User, ...]:
    verdicts = RatingCell.objects.filter(stratum__in=strata, criterion=None)
    of_person = Rating.objects.filter(
        reviewer=OuterRef("pk"), cell__in=[*verdicts.values_list("pk", flat=True)]
    )
    # To find no rating of a person takes reading all ratings, so only people who worked on a run are asked.
    worked = [model.objects.filter(run__in=runs, reviewer=OuterRef("pk")) for model in (Reveal, Review)]
    found = User.objects.filter(Exists(worked[0]) | Exists(worked[1]), Exists(of_person))
    return tuple(found.order_by("username"))


class ReadScope(NamedTuple):
    """A scope, and the filter values it was read from."""

    scope: JudgeScope
    choices: ScopeChoices
    #: The known filter values, by filter name.
    chosen: dict[str, str]
    #: A sentence for each value that is invalid or that no rating has, by filter name. The scope ignores it.
    problems: dict[str, str]


def read_scope(
    run: Run,
    values: Mapping[str, str],
    choices: ScopeChoices | None = None,
    *,
    missing: str = "No rating has",
) -> ReadScope:
    """Build the scope of a run from the values of `SCOPE_FILTERS`.

    A reviewer is given by username, a date as year-month-day. `choices` are the possible values, by default
    those of the run's ratings. The sentence about another value begins with `missing`.
    """
    choices = choices or scope_choices(run)
    reviewers = {person.username: person for person in choices.reviewers}
    known = {
        "judge": {*choices.judges},
        "template": {*choices.templates},
        "model": {name or NO_MODEL for name in choices.models},
        "reviewer": {*reviewers},
    }
    given = {name: value for name in SCOPE_FILTERS if (value := values.get(name))}
    found = {name: _problem(run, name, value, known, missing) for name, value in given.items()}
    problems = {name: problem for name, problem in found.items() if problem}
    chosen = {name: value for name, value in given.items() if not found[name]}
    dates = {name: read_day(chosen[name]) for name in DATES if name in chosen}
    chosen |= {name: day.isoformat() for name, day in dates.items()}
    if len(dates) == len(DATES) and dates["since"] > dates["until"]:
        problems["until"] = f"To: {dates.pop('until')} is before {dates['since']}."
        del chosen["until"]
    model = chosen.get("model")
    scope = JudgeScope(
        run,
        chosen.get("judge"),
        chosen.get("template"),
        "" if model == NO_MODEL else model,
        reviewers.get(chosen.get("reviewer", "")),
        chosen.get("task"),
        **dates,
    )
    return ReadScope(scope, choices, chosen, problems)


def read_record_scope(run: Run, values: Mapping[str, str]) -> ReadScope:
    """Build the scope of figures about the records of a run, which need no ratings, from the same values."""
    choices = choices_of([*run.strata.all()], reviewers_of([run]))
    return read_scope(run, values, choices, missing="No record has")


def _problem(run: Run, name: str, value: str, known: Mapping[str, Collection[str]], missing: str) -> str:
    """Return why the value of a filter is invalid, as a sentence, or an empty string."""
    title = SCOPE_FILTERS[name]
    if name in DATES:
        try:
            read_day(value)
        except ValueError as error:
            return f"{title}: {error}"
    elif name == "task":
        if not _has_task(run, value):
            return f"No record of this run has the task “{abbreviate(value)}”."
    elif value not in known[name]:
        return f"{missing} the {title.lower()} “{abbreviate(value)}”."
    return ""


def _has_task(run: Run, task: str) -> bool:
    # PostgreSQL stores no text with a zero byte.
    return "\0" not in task and run.evaluations.filter(task_id=task).exists()
