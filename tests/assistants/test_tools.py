"""Tools of the MCP server: named and limited like the operations of the API, with the same answers."""

import json
import re
import subprocess
import sys
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from pytest_django.live_server_helper import LiveServer

from cognireview.assistants import server
from cognireview.assistants.server import KINDS, build
from cognireview.assistants.tools import ReadingTools, ReviewingTools, tools_of
from cognireview.client import AsyncClient
from cognireview.environment import BASE_DIR
from reviews.accounts import api_tokens
from reviews.api.urls import api
from reviews.models import Run, User
from tests.support.lines import file_of, import_data, line

RECORD = {"run": "nightly", "evaluation_id": "a"}


def test_tool_has_the_name_and_the_scope_of_its_operation() -> None:
    paths = api.get_openapi_schema()["paths"]
    found = {name: tool for kind in KINDS for name, tool in tools_of(kind).items()}
    assert {"list_records", "submit_review"} <= found.keys()
    for name, tool in found.items():
        entry = paths[f"/api/v1{tool.operation.path}"][tool.operation.method.lower()]
        assert (entry["operationId"], entry["x-scope"]) == (name, tool.scope)


def test_document_names_the_tools_of_each_scope() -> None:
    document = (BASE_DIR / "docs" / "assistants.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", document, re.MULTILINE))
    written = {scope: set(re.findall(r"`(\w+)`", names)) for scope, names in rows.items()}
    assert written == {"read": {*tools_of(ReadingTools)}, "review": {*tools_of(ReviewingTools)}}


class Assistant:
    """An assistant with the token of a person."""

    def __init__(self, live_server: LiveServer, person: User, *scopes: str) -> None:
        self._url = live_server.url
        self._token = api_tokens.create(person=person, scopes=scopes, actor=None).text

    def use(self, *calls: tuple[str, dict[str, Any]]) -> tuple[dict[str, bool], list[Any]]:
        """Return the tools, with whether they only read, and the JSON or the error of each call."""
        return anyio.run(self._use, calls)

    async def _use(self, calls: tuple[tuple[str, dict[str, Any]], ...]) -> Any:
        async with AsyncClient(self._url, self._token) as site:
            token = await site.tokens.own()
            async with Client(build(site, token.scopes)) as client:
                tools = (await client.list_tools()).tools
                results = [await client.call_tool(name, given) for name, given in calls]
        return _read_only(tools), [*map(_answer, results)]

    def request(self, path: str) -> Any:
        async def ask() -> Any:
            async with AsyncClient(self._url, self._token) as site:
                return await site.request("GET", path)

        return anyio.run(ask)


def _read_only(tools: list[Any]) -> dict[str, bool]:
    """Return whether each tool only reads."""
    return {one.name: bool(one.annotations and one.annotations.read_only_hint) for one in tools}


def _answer(result: Any) -> Any:
    [content] = result.content
    return content.text if result.is_error else json.loads(content.text)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_assistant_reads_what_its_token_may_read(live_server: LiveServer, ana: User) -> None:
    import_data(file_of(line("a"), line("b")), run="nightly")
    Run.objects.update(blind_share=1)
    assistant = Assistant(live_server, ana, "read")
    tools, answers = assistant.use(
        ("read_record", RECORD),
        ("list_records", {"run": "nightly", "filters": {"status": ["waiting", "done"]}}),
        ("get_judge_report", {"run": "nightly"}),
        ("list_records", {"run": "nightly", "filters": {"colour": "red"}}),
        ("read_record", {"run": "nightly"}),
        ("list_records", {"run": "nightly", "filter": {}}),
        ("claim_next_record", {"run": "nightly"}),
    )
    assert tools == dict.fromkeys(tools_of(ReadingTools), True)
    record, listed, forbidden, unknown, incomplete, mistyped, refused = answers
    assert record["is_blind"]
    assert record == assistant.request("/runs/nightly/evaluations/a")
    assert listed["total"] == 2
    assert "403" in forbidden
    assert "colour: Unknown parameter." in unknown
    assert "evaluation_id" in incomplete
    assert mistyped == "list_records has no parameter filter. Its parameters: run, filters, sort, after."
    assert "Unknown tool" in refused


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_assistant_with_the_scope_review_decides(live_server: LiveServer, ana: User) -> None:
    import_data(file_of(line("a")), run="nightly")
    tools, answers = Assistant(live_server, ana, "read", "review").use(
        ("submit_review", RECORD | {"scores": {"Clarity": "Perhaps"}}),
        ("claim_next_record", {"run": "nightly"}),
        ("submit_review", RECORD | {"scores": {"Clarity": "No"}, "comments": "Unclear."}),
        ("claim_next_record", {"run": "nightly"}),
    )
    assert {name for name, only_reads in tools.items() if only_reads} == {
        *tools_of(ReadingTools),
        "get_last_action",
    }
    refused, claimed, saved, rest = answers
    assert "corrected_scores.Clarity.score" in refused
    assert (claimed["evaluation_id"], saved["decision"]["comments"], rest) == ("a", "Unclear.", None)


async def use_process(
    url: str, token: str, *calls: tuple[str, dict[str, Any]]
) -> tuple[str, dict[str, bool], list[Any]]:
    """Start the server as assistants do, and return its name, its tools and the answer to each call."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cognireview", "mcp"],
        env={"COGNIREVIEW_URL": url, "COGNIREVIEW_TOKEN": token},
        cwd=BASE_DIR,
    )
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        results = [await client.call_tool(name, given) for name, given in calls]
        assert client.server_info
        return client.server_info.name, _read_only(tools), [*map(_answer, results)]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_process_serves_the_tools_of_its_token_over_standard_input_and_output(
    live_server: LiveServer, ana: User
) -> None:
    import_data(
        file_of(line("a", raw_judge_output={"raw_content": "Ünïcode \u2028 and more"})), run="nightly"
    )
    decision = RECORD | {"scores": {"Clarity": "No"}}
    claim: tuple[str, dict[str, Any]] = ("claim_next_record", {"run": "nightly"})
    token = api_tokens.create(person=ana, scopes=["read", "review"], actor=None).text
    name, tools, (listed, record, claimed, saved, rest) = anyio.run(
        use_process,
        live_server.url,
        token,
        ("list_runs", {}),
        ("read_record", RECORD),
        claim,
        ("submit_review", decision),
        claim,
    )
    assert (name, [one["name"] for one in listed]) == ("cognireview", ["nightly"])
    assert not tools["submit_review"]
    assert record["evaluation_id"] == claimed["evaluation_id"] == "a"
    assert (saved["outcome"], rest) == ("current", None)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_program_offers_the_tools_of_its_token(
    live_server: LiveServer, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the scope review, there is no tool that changes something."""
    offered: list[str] = []

    async def note(site: server.Server) -> None:
        offered.extend(tool.name for tool in await site.list_tools())

    monkeypatch.setattr(server.Server, "run_stdio_async", note)
    monkeypatch.setenv("COGNIREVIEW_URL", live_server.url)
    token = api_tokens.create(person=ana, scopes=["read"], actor=None).text
    monkeypatch.setenv("COGNIREVIEW_TOKEN", token)
    assert server.main([]) == 0
    assert {*offered} == {*tools_of(ReadingTools)}


def test_program_without_a_token_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COGNIREVIEW_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("COGNIREVIEW_TOKEN", raising=False)
    assert server.main([]) == 2
    assert capsys.readouterr() == ("", "Set COGNIREVIEW_TOKEN, or pass url and token.\n")


@pytest.mark.exhaustive
@pytest.mark.django_db(transaction=True)
def test_process_starts_without_the_packages_of_the_site_and_ends_without_the_scope_read(
    live_server: LiveServer, max: User
) -> None:
    program = """
import sys
for name in ("django", "ninja", "orjson", "psycopg", "reviews"):
    sys.modules[name] = None
sys.argv = ["cognireview", "mcp"]
from cognireview.__main__ import main
main()
"""
    token = api_tokens.create(person=max, scopes=["export"], actor=None).text
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=BASE_DIR,
        env={"COGNIREVIEW_URL": live_server.url, "COGNIREVIEW_TOKEN": token},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("403 Not allowed")
