"""Methods that are written once: blocking, or coroutines, with the types of either."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import assert_type

import anyio
import httpx2
import pytest

from cognireview.client import AsyncClient, AsyncImport, Client, Import, Retries
from cognireview.client.areas.run import Run as RunOf
from cognireview.types.records import Record, RecordRow
from cognireview.types.runs import RunDetails

URL, TOKEN = "http://review.test", "cr_x"


def blocking_types(client: Client) -> None:
    """Let mypy check the types of a blocking client."""
    run = client.run("nightly")
    assert_type(client.runs(), Iterator[RunDetails])
    assert_type(run.claim(status="waiting"), Record | None)
    assert_type(run.records(model=["o1", "o2"]), Iterator[RecordRow])
    assert_type(run.import_file("a.jsonl", strict=True), Import)
    assert_type([one.wait().sha256 for one in run.exports()], list[str])
    run.claim(1)  # type: ignore[call-arg]
    run.import_file("a.jsonl", stric=True)  # type: ignore[call-arg]
    run.start_export(file_format="xml")  # type: ignore[arg-type]


async def asynchronous_types(client: AsyncClient) -> None:
    """Let mypy check the types of an asynchronous client."""
    run = client.run("nightly")
    assert_type(client.runs(), AsyncIterator[RunDetails])
    assert_type(await run.claim(status="waiting"), Record | None)
    assert_type(run.records(model=["o1", "o2"]), AsyncIterator[RecordRow])
    assert_type(await run.import_file("a.jsonl", strict=True), AsyncImport)
    assert_type([(await one.wait()).sha256 async for one in run.exports()], list[str])
    await run.import_file("a.jsonl", stric=True)  # type: ignore[call-arg]


def test_type_checks_are_functions_of_their_kind() -> None:
    # mypy checks their bodies: a line that is an error for users is one here, and so is an unused ignore.
    assert inspect.iscoroutinefunction(asynchronous_types)
    assert not inspect.iscoroutinefunction(blocking_types)


def test_method_has_the_signature_and_the_description_of_its_function() -> None:
    with Client(URL, TOKEN) as client:
        decide = client.run("nightly").decide
        assert [*inspect.signature(decide).parameters][:2] == ["evaluation_id", "scores"]
        assert (inspect.getdoc(decide) or "").startswith("Submit a decision")
    assert inspect.getdoc(RunOf.decide) == inspect.getdoc(decide)


class Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """Lines without an end, until they are closed."""

    is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield b'{"a": 1}\n'

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for block in self:
            yield block

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


def answer(body: Body) -> Callable[[httpx2.Request], httpx2.Response]:
    headers = {"Content-Type": "application/x-ndjson"}
    return lambda _request: httpx2.Response(200, headers=headers, stream=body)


def test_iterator_that_is_left_early_closes_its_response() -> None:
    body = Body()
    http = httpx2.Client(transport=httpx2.MockTransport(answer(body)))
    with Client(URL, TOKEN, http=http) as client:
        lines = client.run("nightly").exported()
        assert next(lines) == {"a": 1}
        assert not body.is_closed
        lines.close()  # type: ignore[attr-defined]
        assert body.is_closed


def test_asynchronous_iterator_that_is_left_early_closes_its_response() -> None:
    body = Body()

    async def read() -> None:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer(body)))
        async with AsyncClient(URL, TOKEN, http=http) as client:
            lines = client.run("nightly").exported()
            assert await anext(lines) == {"a": 1}
            await lines.aclose()  # type: ignore[attr-defined]

    anyio.run(read)
    assert body.is_closed


def test_blocking_client_works_within_an_event_loop() -> None:
    async def read() -> list[dict[str, int]]:
        lines = b'{"a": 1}\n{"a": 2}\n'
        headers = {"Content-Type": "application/x-ndjson"}
        transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=headers, content=lines))
        with Client(URL, TOKEN, http=httpx2.Client(transport=transport)) as client:
            return list(client.run("nightly").exported())

    assert anyio.run(read) == [{"a": 1}, {"a": 2}]


def test_blocking_client_waits_between_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    answers = iter([httpx2.Response(503, headers={"Retry-After": "7"}), httpx2.Response(200, json=[])])
    http = httpx2.Client(transport=httpx2.MockTransport(lambda _: next(answers)))
    with Client(URL, TOKEN, http=http, retries=Retries(times=1)) as client:
        assert [*client.runs()] == []
    assert pauses == [7]
