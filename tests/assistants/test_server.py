"""The MCP server as a program: over standard input and output, with the tools of its token."""

import subprocess
import sys
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from pytest_django.live_server_helper import LiveServer

from cognireview.assistants import server
from cognireview.assistants.tools import ReadingTools, tools_of
from cognireview.environment import BASE_DIR
from reviews.accounts import api_tokens
from reviews.models import User
from tests.assistants.test_tools import RECORD, answer, read_only
from tests.support.lines import file_of, import_data, line


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
        return client.server_info.name, read_only(tools), [*map(answer, results)]


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
