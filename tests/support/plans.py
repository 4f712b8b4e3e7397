"""Read from PostgreSQL's query plans how many rows a statement reads."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.db import connection

from reviews.database.statements import fetch_all


def rows_read(statement: str, params: Sequence[Any] | None = None) -> Counter[str]:
    """Run a statement, and return how many rows it reads from each table, filtered ones included."""
    [[[found]]] = fetch_all(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", params)
    read: Counter[str] = Counter()
    for node in _nodes(found["Plan"]):
        if "Relation Name" in node:
            rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            read[node["Relation Name"]] += rows * node["Actual Loops"]
    return read


def rows_read_by(action: Callable[[], object]) -> Counter[str]:
    """Do the same for the last statement that an action sends, whether it is prepared or not."""
    sent: list[tuple[str, Any]] = []

    def record(execute: Callable[..., Any], sql: str, params: Any, *rest: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, *rest)

    with connection.execute_wrapper(record):
        action()
    return rows_read(*sent[-1])


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)
