"""List the statements that a block sends to PostgreSQL, as libpq's own trace shows them."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection
from psycopg.pq import Trace

# A simple query, a statement to parse, or the binding of parameters. Executing is a message of its own.
_SENT = re.compile(r"^F\t\d+\t(Query|Parse|Bind)\t (.*?)(?=^[FB]\t)", re.MULTILINE | re.DOTALL)
# The name of a prepared statement (empty without one) and its text; the portal, and the name to bind.
_PARSE, _BIND = re.compile(r'"(.*?)" "(.*)"', re.DOTALL), re.compile(r'".*?" "(.*?)"')
_TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK")
# Statements of the tests themselves (`audit_check.py`).
_OF_TESTS = "audit_check."


@dataclass
class Statements:
    """The statements of a block."""

    #: Everything that waits for the server, savepoints included, without the next.
    sent: list[str] = field(default_factory=list)
    #: BEGIN, COMMIT and ROLLBACK of whole transactions.
    transactions: list[str] = field(default_factory=list)
    #: Statements with parameters that PostgreSQL had to parse and plan.
    parsed: list[str] = field(default_factory=list)


@contextmanager
def sent_statements() -> Iterator[Statements]:
    """List the statements that the block sends over Django's connection of this thread."""
    found = Statements()
    connection.ensure_connection()
    server = connection.connection.pgconn
    with tempfile.TemporaryFile("w+") as trace:
        server.trace(trace.fileno())
        server.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            yield found
        finally:
            server.untrace()
        trace.seek(0)
        text = trace.read()
    _collect(text, found)


def _collect(trace: str, found: Statements) -> None:
    texts: dict[str, str] = {}
    for kind, message in _SENT.findall(trace):
        if kind == "Parse" and (parsed := _PARSE.match(message)):
            name, statement = parsed.groups()
            texts[name] = statement
            kept = found.parsed
        else:
            bound = _BIND.match(message) if kind == "Bind" else None
            statement = texts.get(bound[1], message) if bound else message.strip().strip('"')
            kept = found.transactions if statement.startswith(_TRANSACTION) else found.sent
        if _OF_TESTS not in statement:
            kept.append(statement)
