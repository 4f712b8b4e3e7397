"""Methods that are written once, as coroutines, and block if their client does."""

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from cognireview.client.backends import Asynchronous, Backend, Blocking
from cognireview.client.transport import Transport
from cognireview.types.operations import Operation

#: How the client waits.
B = TypeVar("B", bound=Backend)
P = ParamSpec("P")
T = TypeVar("T")


class Area(Generic[B]):
    """A part of the site with its methods."""

    def __init__(self, transport: Transport[B]) -> None:
        self._transport = transport

    async def _rows(
        self, operation: Operation[list[T]], query: dict[str, Any] | None = None, **path: object
    ) -> AsyncIterator[T]:
        """Yield the rows of all pages of a list."""
        async for page in self._transport.pages(operation, query, **path):
            for row in page:
                yield row


class _Method(Generic[P, T]):
    """A descriptor for a function that returns a coroutine or an asynchronous iterator."""

    def __init__(self, function: Callable[..., Any], blocking: Callable[..., Any]) -> None:
        self._function = function
        self._blocking = functools.wraps(function)(blocking)
        self.__doc__ = function.__doc__

    def __get__(self, area: Any, owner: Any) -> Any:
        if area is None:
            return self._function
        is_blocking = area._transport.backend.is_blocking  # noqa: SLF001 (part of each area)
        return MethodType(self._blocking if is_blocking else self._function, area)


class call(_Method[P, T]):  # noqa: N801 (a decorator)
    """A method that returns a value: at once for a blocking client, or else a coroutine."""

    def __init__(self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> None:
        super().__init__(function, lambda *given, **named: _complete(function(*given, **named)))

    @overload
    def __get__(self, area: None, owner: Any) -> Callable[..., Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, area: Area[Blocking], owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, area: Area[Asynchronous], owner: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, area: Any, owner: Any) -> Any:
        return super().__get__(area, owner)


class stream(_Method[P, T]):  # noqa: N801 (a decorator)
    """A method that yields values."""

    def __init__(self, function: Callable[Concatenate[Any, P], AsyncIterator[T]]) -> None:
        super().__init__(function, lambda *given, **named: _iterate(function(*given, **named)))

    @overload
    def __get__(self, area: None, owner: Any) -> Callable[..., AsyncIterator[T]]: ...
    @overload
    def __get__(self, area: Area[Blocking], owner: Any) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, area: Area[Asynchronous], owner: Any) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, area: Any, owner: Any) -> Any:
        return super().__get__(area, owner)


def _complete(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, and return its value."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise AssertionError("A blocking client has suspended.")


def _iterate(values: Any) -> Iterator[Any]:
    try:
        while True:
            try:
                value = _complete(values.__anext__())
            except StopAsyncIteration:
                return
            yield value
    finally:
        _complete(values.aclose())


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
