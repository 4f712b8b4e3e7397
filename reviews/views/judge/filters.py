"""The filters of the judge's pages: the scope in the URL, the form fields, and links that keep the scope."""

from typing import NamedTuple

from django.http import QueryDict
from django.urls import reverse

from reviews.judge import scope
from reviews.judge.scope import FILTERS, NO_MODEL, JudgeScope, ScopeChoices
from reviews.models import Run


class FilterOption(NamedTuple):
    """A value of a filter and its label."""

    value: str
    title: str


class FilterField(NamedTuple):
    """A filter as a form field."""

    name: str
    title: str
    options: list[FilterOption]
    #: The chosen value, or empty for all.
    value: str

    @property
    def narrows(self) -> bool:
        """Whether there is a choice."""
        return bool(self.value) or len(self.options) > 1


class JudgeFilters(NamedTuple):
    """The filters of a page, and the scope they choose."""

    scope: JudgeScope
    fields: tuple[FilterField, ...]
    #: The chosen values, by filter name.
    chosen: dict[str, str]
    #: Sentences about values that no decision has.
    problems: tuple[str, ...] = ()

    def address(self, place: str, *arguments: str, **more: str) -> str:
        """Return a URL of the run that keeps the chosen filters and adds parameters."""
        return reverse(place, args=[self.scope.run.pk, *arguments], query=self.chosen | more)

    def idle(self, narrows: tuple[str, ...]) -> list[str]:
        """Describe the chosen filters that a page with the given filters does not apply."""
        return [
            f"{FILTERS[name].lower()} {value}" for name, value in self.chosen.items() if name not in narrows
        ]


def read_filters(run: Run, query: QueryDict) -> JudgeFilters:
    """Read the filters of a run's page from the query string."""
    read = scope.read_scope(run, query)
    options = _options(read.choices)
    return JudgeFilters(
        read.scope,
        tuple(
            FilterField(name, title, options[name], read.chosen.get(name, ""))
            for name, title in FILTERS.items()
        ),
        read.chosen,
        tuple(f"{problem} The filter is ignored." for problem in read.problems),
    )


def _options(choices: ScopeChoices) -> dict[str, list[FilterOption]]:
    return {
        "judge": [FilterOption(name, name) for name in choices.judges],
        "template": [FilterOption(name, name) for name in choices.templates],
        "model": [FilterOption(name or NO_MODEL, name or "no model") for name in choices.models],
        "reviewer": [FilterOption(person.username, person.name) for person in choices.reviewers],
    }
