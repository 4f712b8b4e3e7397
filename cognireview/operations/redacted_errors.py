"""Describe errors for logs and job states, without record contents.

PostgreSQL quotes rows and values in the details and context of an error, and sometimes in its first line.
"""

import re
import sys
from traceback import TracebackException
from types import TracebackType
from typing import Any

import psycopg
from django.db import Error as DjangoError

# Data exceptions and syntax errors: their first line may quote a value.
_QUOTING = ("22", "42601")
# A value may contain quotes.
_QUOTED = re.compile(r'".*"', re.DOTALL)


def describe(error: BaseException) -> str:
    """Return the class and the message of an error."""
    return f"{type(error).__name__}: {_message(error)}"


def format_traceback(error: BaseException) -> str:
    trace = TracebackException.from_exception(error)
    _clean(trace, error)
    return "".join(trace.format()).rstrip("\n")


def report_uncaught(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """Print the traceback of an uncaught error (a `sys.excepthook`)."""
    sys.stderr.write(f"{format_traceback(error)}\n")


def _message(error: BaseException) -> str:
    source = error.__cause__ if isinstance(error, DjangoError) else error
    if not isinstance(source, psycopg.Error) or not source.diag.message_primary:
        return str(error)
    primary = source.diag.message_primary
    return _QUOTED.sub('"..."', primary) if (source.sqlstate or "").startswith(_QUOTING) else primary


def _clean(trace: Any, error: BaseException) -> None:
    """Replace the messages in a traceback. The standard library stores them in `_str`."""
    if isinstance(error, psycopg.Error | DjangoError):
        trace._str = _message(error)  # noqa: SLF001 there is no public way
    for name in ("__cause__", "__context__"):
        if (inner := getattr(trace, name)) is not None:
            _clean(inner, getattr(error, name))
    for inner, member in zip(trace.exceptions or (), getattr(error, "exceptions", ()), strict=False):
        _clean(inner, member)
