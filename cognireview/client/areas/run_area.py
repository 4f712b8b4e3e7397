"""The base of areas whose operations are about one run."""

from typing import Any, TypeVar

from cognireview.client.dual_methods import Area, B
from cognireview.client.transport import Transport
from cognireview.types.operations import Operation

T = TypeVar("T")


class RunArea(Area[B]):
    """Operations about the run with this name."""

    def __init__(self, transport: Transport[B], name: str) -> None:
        super().__init__(transport)
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def _send(self, operation: Operation[T], **given: Any) -> T:
        """Carry out an operation of the run, with the arguments of `Transport.send`."""
        return await self._transport.send(operation, run=self.name, **given)
