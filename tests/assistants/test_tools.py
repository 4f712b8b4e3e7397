"""Tools of the MCP server: named and limited like the operations of the API, with the same answers."""

import json
import re
from typing import Any

import anyio
import pytest
from mcp import Client
from pytest_django.live_server_helper import LiveServer

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
        return read_only(tools), [*map(answer, results)]

    def request(self, path: str) -> Any:
        async def ask() -> Any:
            async with AsyncClient(self._url, self._token) as site:
                return await site.request("GET", path)

        return anyio.run(ask)


def read_only(tools: list[Any]) -> dict[str, bool]:
    """Return whether each tool only reads."""
    return {one.name: bool(one.annotations and one.annotations.read_only_hint) for one in tools}


def answer(result: Any) -> Any:
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
