"""List the statements that a block sends to PostgreSQL, as libpq's own trace shows them."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection
from psycopg.pq import Trace

# A simple query, or the binding of parameters. Parsing and executing are messages of their own.
_SENT = re.compile(r"^F\t\d+\t(?:Query|Bind)\t (.*?)(?=^[FB]\t)", re.MULTILINE | re.DOTALL)
_TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK")
# Statements of the tests themselves (`audit_check.py`).
_OF_TESTS = "audit_check.writes"


@dataclass
class Statements:
    """The statements of a block."""

    #: Everything that waits for the server, savepoints included, without the next.
    sent: list[str] = field(default_factory=list)
    #: BEGIN, COMMIT and ROLLBACK of whole transactions.
    transactions: list[str] = field(default_factory=list)


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
    for sent in _SENT.findall(text):
        statement = sent.strip().strip('"')
        if _OF_TESTS not in statement:
            of = found.transactions if statement.startswith(_TRANSACTION) else found.sent
            of.append(statement)
