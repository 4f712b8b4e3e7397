"""Evaluate the JMESPath expressions of mappings within a budget.

An expression can multiply its input: `[@,@]` doubles it, and thirty of them in a row need a terabyte. The
budget counts evaluation steps and result characters, and grows with the length of the line. It depends on
the line and the mapping alone, never on time.
"""

from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

MOST_CHARACTERS = 2_000
MOST_NESTING = 50
# The budget of one line, for all expressions of its mapping together.
STEPS_AT_LEAST = 10_000
STEPS_PER_BYTE = 10
CHARACTERS_AT_LEAST = 64 * 1024
CHARACTERS_PER_BYTE = 16
# A result longer than a few of the longest lines is rejected in any case.
LONGEST_LINES = 4

# Nodes that can repeat a value, so that the result is larger than the input.
_MULTIPLIES = {"multi_select_list", "multi_select_dict"}


class ExpressionError(Exception):
    """An expression that is invalid or has no value for a line. The message says why."""


class Budget:
    """Count steps and characters of the expressions of one line. Raises `ExpressionError`."""

    def __init__(self, line_bytes: int, longest_line: int) -> None:
        characters = min(CHARACTERS_PER_BYTE * line_bytes, LONGEST_LINES * longest_line)
        self.steps_left = self._steps = STEPS_AT_LEAST + STEPS_PER_BYTE * line_bytes
        self.characters_left = self._characters = CHARACTERS_AT_LEAST + characters

    def spend(self, steps: int, characters: int = 0) -> None:
        self.steps_left -= steps
        self.characters_left -= characters
        if self.steps_left < 0:
            raise ExpressionError(
                f"takes more than the {self._steps:,} steps that a line of this size allows"
            )
        if self.characters_left < 0:
            reason = f"builds more than the {self._characters:,} characters that a line of this size allows"
            raise ExpressionError(reason)

    def spend_on(self, value: Any) -> None:
        """Count a value with all its parts, as often as they occur."""
        waiting = [value]
        while waiting:
            part = waiting.pop()
            if isinstance(part, dict):
                self.spend(1 + len(part), sum(map(len, part)))
                waiting.extend(part.values())
            elif isinstance(part, list):
                self.spend(1 + len(part))
                waiting.extend(part)
            else:
                self.spend(1, len(part) if isinstance(part, str) else 1)


class _Interpreter(TreeInterpreter):
    """Charge a budget for every step of the evaluation."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self._budget = budget

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self._budget.spend(1)
        value = super().visit(node, *args, **kwargs)
        if node["type"] in _MULTIPLIES:
            self._budget.spend_on(value)
        elif isinstance(value, list | dict):
            self._budget.spend(len(value))
        elif isinstance(value, str) and node["type"] == "function_expression":
            self._budget.spend(1, len(value))
        return value


@lru_cache(maxsize=2000)
def compiled(expression: str) -> Any:
    """Return the expression's syntax tree. Raises `ExpressionError`."""
    shown = repr(expression[:100])
    if len(expression) > MOST_CHARACTERS:
        raise ExpressionError(f"is longer than {MOST_CHARACTERS:,} characters: {shown}")
    try:
        tree = jmespath.compile(expression).parsed
    except RecursionError:
        raise ExpressionError(f"is nested deeper than {MOST_NESTING}: {shown}") from None
    except (JMESPathError, ValueError) as error:
        raise ExpressionError(f"is not valid JMESPath: {shown}: {first_line(error)}") from None
    if _nesting(tree) > MOST_NESTING:
        raise ExpressionError(f"is nested deeper than {MOST_NESTING}: {shown}")
    return tree


def _nesting(tree: Any) -> int:
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in node["children"] if isinstance(child, dict)]
    return depth


def value(expression: str, data: Any, budget: Budget) -> Any:
    """Evaluate the expression on the data. Raises `ExpressionError`."""
    tree = compiled(expression)
    try:
        found = _Interpreter(budget).visit(tree, data)
    except (JMESPathError, ArithmeticError, ValueError, TypeError, RecursionError) as error:
        raise ExpressionError(first_line(error)) from None
    budget.spend_on(found)
    return found


def first_line(error: Exception) -> str:
    """Return the beginning of an error message."""
    return str(error).partition("\n")[0][:200]
