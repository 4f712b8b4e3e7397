"""Retries, idempotency keys, broken connections and downloads, with and without asyncio."""

import base64
import hashlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import httpx2
import pytest
import zstandard

from cognireview.client import (
    AsyncClient,
    Client,
    CogniReviewError,
    Conflict,
    Invalid,
    Retries,
    ServerError,
    UnexpectedResponse,
    Unreachable,
)
from cognireview.client.areas import jobs, run_files
from cognireview.client.areas.jobs import Export
from cognireview.client.backends import Asynchronous, Blocking
from cognireview.client.decoding import decode
from cognireview.types.files import ExportDetails, ImportDetails

URL, TOKEN = "http://review.test", "cr_x"
RUN = {
    "name": "nightly",
    "created_at": "2026-01-31T12:00:00Z",
    **dict.fromkeys(("total", "waiting", "claimed", "escalated", "done", "not_required", "sampled"), 1),
    "archived_at": None,
    "is_restricted": False,
}
ACTION = {
    "event": 5,
    "action": "skip",
    "at": "2026-01-31T12:00:00Z",
    "evaluation_id": "a",
    "decision_version": None,
}
IMPORT = {
    "id": 7,
    "run": "a",
    "file_name": "a.jsonl",
    "state": "queued",
    "strict": False,
    "error": "",
    "size": 1,
    "sha256": "",
    "created_at": "2026-01-31T12:00:00Z",
    "finished_at": None,
    "counts": {},
    "of_other_judge": 0,
    "bytes_done": None,
    "bytes_to_do": None,
    "seconds_left": None,
}
JSONL = {"Content-Type": "application/x-ndjson"}
PROBLEM = {"Content-Type": "application/problem+json"}
UNAVAILABLE: dict[str, Any] = {"status_code": 503, "headers": PROBLEM | {"Retry-After": "7"}, "json": {}}
FOUND: dict[str, Any] = {"status_code": 200, "json": RUN}
BROKEN, UNSENT = httpx2.ReadError("reset"), httpx2.ConnectError("refused")
Answers = list[dict[str, Any] | Exception]
Call = Callable[[Any], Any]


class Torn(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body whose connection breaks after these bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self._content
        raise httpx2.ReadError("reset")

    async def __aiter__(self) -> Any:
        for block in self:
            yield block


class Conversation:
    """A client of either kind that gets prepared answers; notes its requests and its pauses."""

    def __init__(self, *, is_async: bool) -> None:
        self.is_async = is_async
        self.requests: list[httpx2.Request] = []
        self.bodies: list[bytes] = []
        self.pauses: list[float] = []

    def hold(self, answers: Answers, call: Call, **options: Any) -> Any:
        """Call with a client, and return the result, or the list of what an iterator yields."""
        left = iter(answers)

        def respond(request: httpx2.Request) -> httpx2.Response:
            self.requests.append(request)
            self.bodies.append(request.content)
            answer = next(left)
            if isinstance(answer, Exception):
                raise answer
            return httpx2.Response(**answer)

        async def respond_async(request: httpx2.Request) -> httpx2.Response:
            await request.aread()
            return respond(request)

        def respond_sync(request: httpx2.Request) -> httpx2.Response:
            request.read()
            return respond(request)

        async def ask() -> Any:
            transport = httpx2.MockTransport(respond_async)
            http = httpx2.AsyncClient(transport=transport)
            async with AsyncClient(URL, TOKEN, http=http, **options) as client:
                found = call(client)
                return [one async for one in found] if inspect.isasyncgen(found) else await found

        if self.is_async:
            return anyio.run(ask)
        with Client(
            URL, TOKEN, http=httpx2.Client(transport=httpx2.MockTransport(respond_sync)), **options
        ) as client:
            found = call(client)
            return list(found) if inspect.isgenerator(found) else found

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("Idempotency-Key") for request in self.requests]


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def conversation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Conversation:
    held = Conversation(is_async=request.param)

    async def pause(_backend: object, seconds: float) -> None:
        held.pauses.append(seconds)

    for backend in (Blocking, Asynchronous):
        monkeypatch.setattr(backend, "sleep", pause)
    return held


def test_request_has_token_and_address(conversation: Conversation) -> None:
    found = conversation.hold([FOUND], lambda client: client.run("a/b c").details())
    [request] = conversation.requests
    assert found.name == "nightly"
    assert str(request.url) == "http://review.test/api/v1/runs/a%2Fb%20c"
    assert request.headers["Authorization"] == "Bearer cr_x"
    assert conversation.keys == [None]


def test_unavailable_server_is_asked_again_after_the_time_it_says(conversation: Conversation) -> None:
    conversation.hold([UNAVAILABLE, UNAVAILABLE, FOUND], lambda client: client.run("a").details())
    assert len(conversation.requests) == 3
    assert conversation.pauses == [7, 7]


def test_retries_end(conversation: Conversation) -> None:
    with pytest.raises(ServerError) as found:
        conversation.hold([UNAVAILABLE] * 3, lambda client: client.runs(), retries=Retries(times=2))
    assert found.value.status == 503
    assert len(conversation.requests) == 3


def test_repeated_request_has_the_same_key(conversation: Conversation) -> None:
    saved = {"outcome": "current", "status": "done", "version": 2}
    decision = {"version": 1, "reviewer": "ana", "submitted_at": "2026-01-31T12:00:00Z", "verdict": None}
    decision |= {"corrected_scores": {}, "comments": None, "causes": {}}
    answers: Answers = [BROKEN, UNAVAILABLE, {"status_code": 200, "json": saved | {"decision": decision}}]
    conversation.hold(answers, lambda client: client.run("a").decide("1", {"Clarity": "No"}))
    assert len({*conversation.keys}) == 1
    assert conversation.keys[0]
    assert len({*conversation.bodies}) == 1


def test_own_key_is_sent(conversation: Conversation) -> None:
    refused = {"status_code": 422, "headers": PROBLEM, "json": {"errors": []}}
    with pytest.raises(Invalid):
        conversation.hold([refused], lambda client: client.run("a").decide("1", {}, key="mine"))
    assert conversation.keys == ["mine"]


def test_pauses_between_polls_grow_with_the_time_waited(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: sum(conversation.pauses)))
    answers: Answers = [{"status_code": 200, "json": IMPORT}] * 110
    answers.append({"status_code": 200, "json": IMPORT | {"state": "done"}})
    waiting = decode(ImportDetails, IMPORT)
    done = conversation.hold(answers, lambda client: jobs.Import(client._transport, waiting).wait())
    assert done.state == "done"
    pauses = conversation.pauses
    assert pauses[:20] == [0.1] * 20
    assert pauses[30] == pytest.approx(sum(pauses[:30]) / 20)
    assert pauses[-1] == 5


def test_operation_is_repeated_with_its_key_until_it_has_a_response(conversation: Conversation) -> None:
    in_use = {"status_code": 409, "headers": PROBLEM, "json": {"type": "/idempotency-key-in-use/"}}
    refused = {"status_code": 409, "headers": PROBLEM, "json": {"detail": "Nothing to undo."}}
    found = {"status_code": 200, "json": ACTION}
    with pytest.raises(Conflict, match=r"Nothing to undo\."):
        conversation.hold([found, BROKEN, UNSENT, in_use, refused], lambda client: client.run("a").undo())
    assert [request.method for request in conversation.requests] == ["GET", *["POST"] * 4]
    assert {*conversation.bodies[1:]} == {b'{"event": 5}'}
    assert len({*conversation.keys[1:]}) == 1


def test_broken_upload_is_sent_again_from_its_start(conversation: Conversation, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"x" * 600_000)
    seen: list[tuple[int, int | None]] = []
    sent = conversation.hold(
        [BROKEN, {"status_code": 202, "json": IMPORT}],
        lambda client: client.run("a").import_file(
            tmp_path / "a.jsonl", strict=True, progress=lambda done, total: seen.append((done, total))
        ),
    )
    assert sent.id == 7
    assert conversation.bodies == [b"x" * 600_000] * 2
    assert conversation.requests[1].headers["Content-Length"] == "600000"
    assert "file_name=a.jsonl&strict=true" in str(conversation.requests[1].url)
    assert seen[-1] == (600_000, 600_000)


def test_broken_upload_of_a_large_file_continues_where_it_stopped(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run_files, "RESUMABLE_BYTES", 8)
    (tmp_path / "a.jsonl").write_bytes(b"0123456789")
    seen: list[int] = []
    found = conversation.hold(
        [
            {"status_code": 201, "headers": {"Location": "/api/v1/uploads/u1"}},
            BROKEN,
            {"status_code": 200, "headers": {"Upload-Offset": "4"}},
            {"status_code": 204},
            {"status_code": 200, "json": {"offset": 10, "size": 10, "import_id": 7}},
            {"status_code": 200, "json": IMPORT},
        ],
        lambda client: client.run("a").import_file(
            tmp_path / "a.jsonl", progress=lambda done, _: seen.append(done)
        ),
    )
    assert found.id == 7
    assert [request.method for request in conversation.requests] == [
        *("POST", "PATCH", "HEAD", "PATCH", "GET", "GET")
    ]
    assert conversation.requests[0].headers["Upload-Metadata"] == (
        "filename YS5qc29ubA==,run YQ==,strict ZmFsc2U="
    )
    assert (conversation.bodies[1], conversation.bodies[3]) == (b"0123456789", b"456789")
    assert conversation.requests[3].headers["Upload-Offset"] == "4"
    assert seen[-1] == 10
    assert [bool(key) for key in conversation.keys] == [True, False, False, False, False, False]


def test_upload_without_progress_ends(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run_files, "RESUMABLE_BYTES", 8)
    (tmp_path / "a.jsonl").write_bytes(b"0123456789")
    begun = {"status_code": 201, "headers": {"Location": "/api/v1/uploads/u1"}}
    none = {"status_code": 200, "headers": {"Upload-Offset": "0"}}
    with pytest.raises(Unreachable):
        conversation.hold(
            [begun, BROKEN, none, BROKEN, none],
            lambda client: client.run("a").import_file(tmp_path / "a.jsonl"),
            retries=Retries(times=1),
        )


def test_broken_download_starts_again_and_leaves_one_file(conversation: Conversation, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    answers: Answers = [
        {"status_code": 200, "stream": Torn(b'{"a": 1}\n{"b"')},
        {"status_code": 200, "content": b"{}\n"},
    ]
    found = conversation.hold(answers, lambda client: client.run("a").export_to(target, only="reviewed"))
    assert (found.path, found.size, target.read_bytes()) == (target, 3, b"{}\n")
    assert [*tmp_path.iterdir()] == [target]
    assert "only=reviewed" in str(conversation.requests[0].url)


def test_export_is_received_compressed(conversation: Conversation, tmp_path: Path) -> None:
    content = b'{"a": 1}\n' * 1_000
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    encoded = JSONL | {"Content-Encoding": "zstd", "Unencoded-Digest": f"sha-256=:{digest}:"}
    # Whole frames one after the other, as the server stores them.
    frames = zstandard.compress(content[:4_500]) + zstandard.compress(content[4_500:])
    answer = {"status_code": 200, "headers": encoded, "content": frames}
    found = conversation.hold([answer], lambda client: client.run("a").export_to(tmp_path / "out.jsonl"))
    assert (found.size, (tmp_path / "out.jsonl").read_bytes()) == (len(content), content)
    assert conversation.hold([answer], lambda client: client.run("a").exported()) == [{"a": 1}] * 1_000
    # The server compresses nothing for a client that names several codings.
    assert [request.headers["Accept-Encoding"] for request in conversation.requests] == ["zstd", "zstd"]


def test_damaged_compressed_export_is_rejected(conversation: Conversation, tmp_path: Path) -> None:
    digest = base64.b64encode(hashlib.sha256(b"[]").digest()).decode()
    encoded = JSONL | {"Content-Encoding": "zstd", "Unencoded-Digest": f"sha-256=:{digest}:"}
    answer = {"status_code": 200, "headers": encoded, "content": zstandard.compress(b"{}")}
    with pytest.raises(UnexpectedResponse, match="is damaged"):
        conversation.hold([answer], lambda client: client.run("a").export_to(tmp_path / "out.jsonl"))
    assert not [*tmp_path.iterdir()]


ETAG = {"ETag": '"one"', "Accept-Ranges": "bytes"}


def torn(content: bytes, size: int, status: int = 200) -> dict[str, Any]:
    """Return an answer whose connection breaks after these bytes of a larger body."""
    headers = ETAG | {"Content-Length": str(size)}
    return {"status_code": status, "headers": headers, "stream": Torn(content)}


def exported(target: Path, **options: Any) -> Call:
    details = dict.fromkeys(("import_id", "finished_at", "bytes_read", "bytes_to_read"))
    details |= dict.fromkeys(("run", "error", "only", "format", "compression", "created_by", "sha256"), "")
    details |= dict.fromkeys(("id", "size", "lines", "lines_changed", "lines_left_out"), 1)
    details |= dict.fromkeys(("with_rejected", "is_being_cancelled"), False)
    found = decode(ExportDetails, details | {"state": "done", "created_at": RUN["created_at"]})
    return lambda client: Export(client._transport, found).download_to(target, **options)


def test_broken_download_of_an_export_continues_where_it_stopped(
    conversation: Conversation, tmp_path: Path
) -> None:
    target, seen = tmp_path / "out.jsonl", []
    digest = base64.b64encode(hashlib.sha256(b"0123456789").digest()).decode()
    rest = {"Content-Length": "3", "Repr-Digest": f"sha-256=:{digest}:"}
    answers: Answers = [
        torn(b"0123", 10),
        torn(b"456", 6, status=206),
        {"status_code": 206, "headers": ETAG | rest, "content": b"789"},
    ]
    call = exported(target, progress=lambda done, size: seen.append((done, size)))
    found = conversation.hold(answers, call, retries=Retries(times=1))
    assert (found.size, target.read_bytes()) == (10, b"0123456789")
    assert [request.headers.get("Range") for request in conversation.requests] == [
        *(None, "bytes=4-", "bytes=7-")
    ]
    assert [request.headers.get("If-Range") for request in conversation.requests] == [
        *(None, '"one"', '"one"')
    ]
    assert seen == [(4, 10), (7, 10), (10, 10)]


def test_download_of_another_file_begins_again(conversation: Conversation, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    changed = {"status_code": 200, "headers": ETAG | {"ETag": '"two"'}, "content": b"abcdef"}
    conversation.hold([torn(b"0123", 10), changed], exported(target))
    assert target.read_bytes() == b"abcdef"


def test_download_without_progress_ends(conversation: Conversation, tmp_path: Path) -> None:
    with pytest.raises(Unreachable):
        conversation.hold(
            [torn(b"0123", 10), torn(b"", 6, status=206), torn(b"", 6, status=206)],
            exported(tmp_path / "out.jsonl"),
            retries=Retries(times=1),
        )


def test_download_that_always_breaks_is_an_error(conversation: Conversation, tmp_path: Path) -> None:
    answers: Answers = [{"status_code": 200, "stream": Torn(b'{"a": 1}\n{"b"')}] * 2
    with pytest.raises(Unreachable, match="no complete response"):
        conversation.hold(
            answers,
            lambda client: client.run("a").export_to(tmp_path / "out"),
            retries=Retries(times=1),
        )
    assert [*tmp_path.iterdir()] == []


def test_broken_lines_end_with_an_error(conversation: Conversation) -> None:
    torn = {"status_code": 200, "headers": JSONL, "stream": Torn(b'{"a": 1}\n{"b"')}
    with pytest.raises(Unreachable):
        conversation.hold([torn], lambda client: client.run("a").exported())


def test_export_of_a_document_is_not_read_as_lines(conversation: Conversation) -> None:
    document = {"status_code": 200, "json": {"results": []}}
    with pytest.raises(UnexpectedResponse, match=r"application/json\. Download it instead"):
        conversation.hold([document], lambda client: client.run("a").exported())


def test_scores_of_lines_of_another_tool_are_an_error(conversation: Conversation) -> None:
    lines = {"status_code": 200, "headers": JSONL, "content": b'{"id": "1"}\n'}
    with pytest.raises(CogniReviewError, match="another tool"):
        conversation.hold([lines], lambda client: client.run("a").scores())


EVENT = dict.fromkeys(("actor", "address", "run", "import", "evaluation")) | {
    "at": "2026-11-23T14:05:00.000000Z",
    **dict.fromkeys(("actor_name", "action", "run_name", "record"), ""),
    "detail": {},
}


def test_pages_follow_each_other(conversation: Conversation) -> None:
    pages: Answers = [
        {"status_code": 200, "headers": link, "json": {"events": [EVENT | {"id": number}], "next": "c"}}
        for number, link in ((1, {"Link": '</api/v1/audit/events?person=a+b&after=c1>; rel="next"'}), (2, {}))
    ]
    found = conversation.hold(pages, lambda client: client.audit.events(person="a b"))
    assert [event.id for event in found] == [1, 2]
    assert [request.url.query for request in conversation.requests] == [
        b"limit=200&person=a+b",
        b"person=a+b&after=c1",
    ]


def test_redirect_is_named_and_not_followed(conversation: Conversation) -> None:
    answer = {"status_code": 301, "headers": {"Location": "https://review.test/api/v1/runs"}}
    with pytest.raises(UnexpectedResponse, match=r"redirects to https://review\.test"):
        conversation.hold([answer], lambda client: client.runs())
    assert len(conversation.requests) == 1


def test_response_that_is_not_json_is_an_error(conversation: Conversation) -> None:
    answer = {"status_code": 200, "content": b"<html>Sign in</html>"}
    with pytest.raises(UnexpectedResponse, match="Sign in"):
        conversation.hold([answer], lambda client: client.runs())
