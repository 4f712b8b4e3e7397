"""A part of a run."""

from collections.abc import Mapping
from typing import Any, TypeVar

from cognireview.client.dual_methods import Area, B
from cognireview.client.transport import Content, Transport
from cognireview.types.operations import Operation

T = TypeVar("T")


class RunArea(Area[B]):
    """A part of the run with a name."""

    def __init__(self, transport: Transport[B], name: str) -> None:
        super().__init__(transport)
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def _send(
        self,
        operation: Operation[T],
        *,
        query: Mapping[str, Any] | None = None,
        body: Content | None = None,
        key: str | None = None,
        **path: object,
    ) -> T:
        """Carry out an operation of the run."""
        return await self._transport.send(operation, query=query, body=body, key=key, run=self.name, **path)
