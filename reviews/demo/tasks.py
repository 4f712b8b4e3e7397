"""The tasks of the demo run: questions with random numbers, worked solutions and typical mistakes.

A `Pattern` is prose with placeholders `@name` for the values of its `numbers`; LaTeX is between dollar
signs. `draw` makes a `Task` of it.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import NamedTuple

Numbers = dict[str, object]


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
    numbers: Callable[[Random], Numbers]
    task: Task


def draw(pattern: Pattern, rng: Random) -> Task:
    numbers = pattern.numbers(rng)

    def fill(text: str) -> str:
        return re.sub(r"@([a-z]+)", lambda name: str(numbers[name[1]]), text)

    task = pattern.task
    return Task(
        asked=fill(task.asked),
        assumes=fill(task.assumes),
        method=task.method,
        steps=tuple(fill(step) for step in task.steps),
        result=fill(task.result),
        answer=fill(task.answer),
        respelled=fill(task.respelled),
        mistakes=tuple(
            Mistake(wrong.after, fill(wrong.step), fill(wrong.answer), fill(wrong.criticism))
            for wrong in task.mistakes
        ),
    )


def latex(value: Fraction) -> str:
    if value.denominator == 1:
        return str(value.numerator)
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
