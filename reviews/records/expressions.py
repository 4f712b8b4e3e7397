"""Evaluate the JMESPath expressions of mappings within a budget.

`$doc`, `$file` and other names with a dollar sign are values from outside the record. JMESPath has no such
names: outside quotes, `$doc` is replaced by a call of a function without arguments, which is allowed wherever
an expression is.

An expression can multiply its input: `[@,@]` doubles it, and thirty of them in a row need a terabyte. The
budget counts evaluation steps and result characters, and grows with the length of the line. It depends on
the line and the mapping alone, never on time.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.visitor import Options, TreeInterpreter

from reviews.records.mapping_functions import MappingFunctions, call_problem
from reviews.records.patterns import repeated

MOST_CHARACTERS = 2_000
MOST_NESTING = 50
# The budget of one line, for all expressions of its mapping together.
STEPS_AT_LEAST = 10_000
STEPS_PER_BYTE = 10
CHARACTERS_AT_LEAST = 64 * 1024
CHARACTERS_PER_BYTE = 16
# A result longer than a few of the longest lines is rejected in any case.
LONGEST_LINES = 4

#: Names of values from outside the record, without their dollar sign.
OUTSIDE_NAMES = ("doc", "file", "line", "import", "run", "received_at")
#: The whole record, also where an expression applies to a part of it.
RECORD_NAME = "record"
_DOLLAR_NAMES = (*OUTSIDE_NAMES, RECORD_NAME)
_CALLS = {f"dollar_value_{name}": name for name in _DOLLAR_NAMES}
# Quoted text, in which a dollar sign is itself, or a name with a dollar sign.
_QUOTED = "|".join(quote + repeated(rf"[^{quote}\\]++|\\.") + quote for quote in ("'", '"', "`"))
_QUOTED_OR_NAME = re.compile(rf"{_QUOTED}|\$(\w*)", re.DOTALL)
_NO_VALUES: Mapping[str, Any] = MappingProxyType({})

# Nodes that can repeat a value, so that the result is larger than the input.
_MULTIPLIES = {"multi_select_list", "multi_select_dict"}


class ExpressionError(Exception):
    """An expression that is invalid or has no value for a line. The message says why."""


class ExpressionBudget:
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

    def __init__(self, budget: ExpressionBudget, outside: Mapping[str, Any]) -> None:
        super().__init__(Options(custom_functions=MappingFunctions(budget.spend_on)))
        self._budget = budget
        self._outside = outside

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

    def visit_comparator(self, node: Any, value: Any) -> Any:
        try:
            return super().visit_comparator(node, value)
        except TypeError as error:
            if "between instances" not in str(error):
                raise  # from within one of the two sides
            raise ExpressionError("compares a text with a number, which have no order") from None

    def visit_function_expression(self, node: Any, value: Any) -> Any:
        name = _CALLS.get(node["value"])
        return self._outside.get(name) if name else super().visit_function_expression(node, value)


@lru_cache(maxsize=2000)
def compiled(expression: str) -> Any:
    """Return the expression's syntax tree. Raises `ExpressionError`."""
    shown = repr(expression[:100])
    if len(expression) > MOST_CHARACTERS:
        raise ExpressionError(f"is longer than {MOST_CHARACTERS:,} characters: {shown}")
    try:
        tree = jmespath.compile(_QUOTED_OR_NAME.sub(_called, expression)).parsed
    except RecursionError:
        raise ExpressionError(f"is nested deeper than {MOST_NESTING}: {shown}") from None
    except (JMESPathError, ValueError) as error:
        raise ExpressionError(f"is not valid JMESPath: {shown}: {first_line(error)}") from None
    if _nesting(tree) > MOST_NESTING:
        raise ExpressionError(f"is nested deeper than {MOST_NESTING}: {shown}")
    for name, arguments in _calls(tree):
        if name not in _CALLS and (problem := call_problem(name, arguments)):
            raise ExpressionError(f"{problem}: {shown}")
    return tree


def outside_names(expression: str) -> set[str]:
    """Return the names of the values from outside the record that an expression uses."""
    used = {_CALLS[name] for name, _ in _calls(compiled(expression)) if name in _CALLS}
    return used - {RECORD_NAME}


def plain_path(expression: str) -> tuple[str, ...]:
    """Return the keys of a path such as `results.results`. Raises `ExpressionError` for anything else."""
    node, keys = compiled(expression), []
    while node["type"] == "subexpression" and node["children"][1]["type"] == "field":
        node, last = node["children"]
        keys.append(last["value"])
    if node["type"] != "field":
        raise ExpressionError(
            f"is not a path of keys such as results.results, which can be read without loading the whole "
            f"document: {expression[:100]!r}"
        )
    return (node["value"], *reversed(keys))


def _called(found: re.Match[str]) -> str:
    name = found[1]
    if name is None:
        return found[0]
    if name not in _DOLLAR_NAMES:
        known = ", ".join(f"${known}" for known in _DOLLAR_NAMES)
        raise ExpressionError(f"has ${name}, which is not one of {known}")
    return f"dollar_value_{name}()"


def _calls(tree: Any) -> Iterator[tuple[str, int]]:
    """Yield the name of each called function with the number of its arguments."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node["type"] == "function_expression":
            yield node["value"], len(node["children"])
        waiting.extend(child for child in node["children"] if isinstance(child, dict))


def _nesting(tree: Any) -> int:
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in node["children"] if isinstance(child, dict)]
    return depth


def value(
    expression: str, data: Any, budget: ExpressionBudget, outside: Mapping[str, Any] = _NO_VALUES
) -> Any:
    """Evaluate the expression on the data. `outside` has the values of the dollar names.

    Raises `ExpressionError`.
    """
    tree = compiled(expression)
    try:
        found = _Interpreter(budget, outside).visit(tree, data)
    except (JMESPathError, ArithmeticError, ValueError, TypeError, RecursionError) as error:
        raise ExpressionError(first_line(error)) from None
    budget.spend_on(found)
    return found


def first_line(error: Exception) -> str:
    """Return the beginning of an error message."""
    return str(error).partition("\n")[0][:200]
