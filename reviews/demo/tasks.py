r"""The tasks of the demo run: questions with numbers drawn for them, worked answers, and usual mistakes.

A `Pattern` is prose in which `@name` stands for a number that its `numbers` draws or computes; LaTeX is
between dollar signs. `draw` makes a `Task` of it.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import NamedTuple

Numbers = dict[str, object]


class Mistake(NamedTuple):
    """Goes wrong after `after` right steps, in a step that reads `step`; ends with `answer`."""

    after: int
    step: str
    answer: str
    criticism: str


class Task(NamedTuple):
    """`asked` goes on after "We are asked to", `assumes` after "We assume that".

    Results and answers are LaTeX, without the dollar signs; `respelled` is text: the answer, spelled
    in another way.
    """

    asked: str
    assumes: str
    method: str
    steps: tuple[str, ...]
    result: str
    answer: str
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
