"""The tasks of the demo run (questions with random numbers, solutions and typical mistakes) and its rubrics.

tasks.toml has the texts of tasks, with placeholders `@name` for the numbers that numbers.py draws. The
rubrics are in rubrics.toml.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from reviews.demo.numbers import NUMBERS, Numbers


class Criterion(NamedTuple):
    """The judge's sentences about a criterion."""

    name: str
    #: Sentences for Yes.
    praise: list[str]
    #: The sentence for No on a wrong response. Without it, a wrong response gets Yes.
    blame: str = ""
    #: The sentence for Partial on a right response.
    quibble: str = ""


class Rubric(NamedTuple):
    """The criteria of a prompt template."""

    template: str
    criteria: tuple[Criterion, ...]


class Mistake(NamedTuple):
    """A wrong solution: `after` right steps, the wrong `step`, and its `answer`."""

    after: int
    step: str
    answer: str
    criticism: str


class Task(NamedTuple):
    """A question with its solution. Results and answers are LaTeX without dollar signs."""

    #: Continues "We are asked to".
    asked: str
    #: Continues "We assume that".
    assumes: str
    method: str
    steps: tuple[str, ...]
    result: str
    answer: str
    #: The answer as plain text, spelled differently.
    respelled: str
    mistakes: tuple[Mistake, ...]


class Pattern(NamedTuple):
    """A task with placeholders, and the function that draws its numbers."""

    numbers: Callable[[Random], Numbers]
    task: Task


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / name).read_text("utf-8"))


def _patterns() -> Iterator[Pattern]:
    for name, text in _read("tasks.toml").items():
        lists = {"steps": tuple(text["steps"]), "mistakes": tuple(Mistake(**one) for one in text["mistakes"])}
        yield Pattern(NUMBERS[name], Task(**text | lists))


PATTERNS = tuple(_patterns())
RUBRICS = tuple(
    Rubric(rubric["template"], tuple(Criterion(**criterion) for criterion in rubric["criteria"]))
    for rubric in _read("rubrics.toml")["rubrics"]
)


def draw(pattern: Pattern, rng: Random) -> Task:
    """Draw the numbers of a task, and put them into its texts."""
    numbers = pattern.numbers(rng)

    def fill(text: str) -> str:
        return re.sub(r"@([a-z]+)", lambda name: str(numbers[name[1]]), text)

    task = pattern.task
    texts: dict[str, Any] = {
        name: fill(text) for name, text in task._asdict().items() if isinstance(text, str)
    }
    steps = tuple(map(fill, task.steps))
    mistakes = tuple(Mistake(wrong.after, *map(fill, wrong[1:])) for wrong in task.mistakes)
    return Task(**texts, steps=steps, mistakes=mistakes)
