"""A tool is a method that calls one operation of the API. Its name is the id of the operation."""

from collections.abc import Callable
from dataclasses import dataclass
from json import dumps
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from cognireview.client import AsyncClient, CogniReviewError
from cognireview.types.operations import Operation

F = TypeVar("F", bound=Callable[..., Any])
Run = Annotated[str, Field(description="The name of the run.")]
RecordId = Annotated[str, Field(description="The evaluation_id of the record.")]
Filters = Annotated[
    dict[str, str | list[str]],
    Field(
        description="Filters such as status (waiting, claimed, escalated, done, not-required), q (words), "
        "task, model, judge, verdict, reason or decided-by. A list means any of its values."
    ),
]


@dataclass(frozen=True)
class Tool:
    """The operation that a tool calls, and the scope that a token needs for it."""

    operation: Operation[Any]
    scope: str

    @property
    def annotations(self) -> ToolAnnotations:
        """Hints for programs that ask people before a tool writes."""
        method = self.operation.method
        return ToolAnnotations(
            read_only_hint=method == "GET",
            destructive_hint=False,
            idempotent_hint=method in {"GET", "PUT", "DELETE"},
            open_world_hint=False,
        )


class Tools:
    """Tools that call a site with the token of a client."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def _call(
        self, operation: Operation[Any], *, query: Any = None, json: Any = None, **path: Any
    ) -> str:
        """Return the JSON of an operation, or null. A refusal becomes an error that the assistant reads."""
        parts = {name: str(value) for name, value in path.items()}
        try:
            found = await self._client.request(
                operation.method, operation.path, query=query, json=json, **parts
            )
        except CogniReviewError as error:
            raise ToolError(str(error)) from error
        return dumps(found, ensure_ascii=False)


def tool(operation: Operation[Any], scope: str) -> Callable[[F], F]:
    """Mark a method as the tool of an operation."""

    def mark(method: F) -> F:
        method.tool = Tool(operation, scope)  # type: ignore[attr-defined]
        return method

    return mark


def tools_of(kind: type[Tools]) -> dict[str, Tool]:
    """Return the tools of a class by name."""
    return {name: member.tool for name, member in vars(kind).items() if hasattr(member, "tool")}
