"""Which part of a run's decisions the judge's pages show, as it stands in the address."""

from dataclasses import dataclass
from typing import NamedTuple

from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode

from reviews.judge import accuracy
from reviews.judge.accuracy import JudgeScope, ScopeChoices
from reviews.models import Run

# A model's name in an address, where records name none.
NO_MODEL = "-"
_LONGEST = 60
TITLES = {"judge": "Judge", "template": "Prompt", "model": "Model", "reviewer": "Reviewer"}


class Option(NamedTuple):
    """A value to choose, and what people read for it."""

    value: str
    title: str


class Field(NamedTuple):
    """A way to narrow, its options, and the one chosen (empty for all)."""

    name: str
    title: str
    options: list[Option]
    value: str

    @property
    def narrows(self) -> bool:
        """Whether it makes a difference what is chosen."""
        return bool(self.value) or len(self.options) > 1


@dataclass(frozen=True)
class JudgeFilters:
    """`chosen` is what narrows, by name; `problems` are sentences about what could not be understood."""

    scope: JudgeScope
    fields: tuple[Field, ...]
    chosen: dict[str, str]
    problems: tuple[str, ...] = ()

    def address(self, place: str, *arguments: str, **more: str) -> str:
        """An address of the run that keeps what is chosen, and says more."""
        path = reverse(place, args=[self.scope.run.pk, *arguments])
        query = urlencode(self.chosen | more)
        return f"{path}?{query}" if query else path

    def idle(self, narrows: tuple[str, ...]) -> list[str]:
        """What is chosen and does not narrow a page that only these narrow, in words."""
        return [
            f"{TITLES[name].lower()} {value}" for name, value in self.chosen.items() if name not in narrows
        ]


def read_filters(run: Run, query: QueryDict) -> JudgeFilters:
    """What `judge`, `template`, `model` and `reviewer` (a username) of an address leave of a run."""
    offered = accuracy.scope_choices(run)
    options = _options(offered)
    asked = {name: value for name in TITLES if (value := query.get(name))}
    known = {name: {option.value for option in options[name]} for name in TITLES}
    chosen = {name: value for name, value in asked.items() if value in known[name]}
    reviewer = next((one for one in offered.reviewers if one.username == chosen.get("reviewer")), None)
    model = chosen.get("model")
    return JudgeFilters(
        JudgeScope(
            run, chosen.get("judge"), chosen.get("template"), "" if model == NO_MODEL else model, reviewer
        ),
        tuple(Field(name, TITLES[name], options[name], chosen.get(name, "")) for name in TITLES),
        chosen,
        tuple(_unknown(name, value) for name, value in asked.items() if name not in chosen),
    )


def _unknown(name: str, value: str) -> str:
    short = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    return f"No decision in force here is by the {TITLES[name].lower()} “{short}”: it narrows nothing."


def _options(offered: ScopeChoices) -> dict[str, list[Option]]:
    return {
        "judge": [Option(name, name) for name in offered.judges],
        "template": [Option(name, name) for name in offered.templates],
        "model": [Option(name or NO_MODEL, name or "no model") for name in offered.models],
        "reviewer": [Option(person.username, person.name) for person in offered.reviewers],
    }
