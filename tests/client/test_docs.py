"""The examples of docs/client.md run as one program against the site and print the documented output."""

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from cognireview.environment import BASE_DIR
from reviews.accounts import api_tokens
from reviews.models import User
from tests.support.lines import file_of, line
from tests.support.programs import finish

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

PAGE = (BASE_DIR / "docs" / "client.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
HAS_PANDAS = importlib.util.find_spec("pandas") is not None


def statements(code: str) -> int:
    """Return the number of statements, nested ones included."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(code)))


def test_comparison_counts_our_statements_and_no_other_tool_needs_fewer() -> None:
    rows = [row.split(" | ") for row in re.findall(r"^\| (\w.*\| \d \|.*) \|$", PAGE, re.MULTILINE)]
    assert [int(row[1]) for row in rows] == [statements(code) for code in BLOCKS[-5:]]
    for _job, ours, *others in rows:
        assert all(other == "not offered" or int(other[0]) >= int(ours) for other in others)


def test_examples_print_what_the_page_says(live_server: LiveServer, max: User, tmp_path: Path) -> None:
    data = file_of(*(line(f"eval_{number}") for number in (1, 2, 3)), b'{"task_id": "1"}')
    (tmp_path / "evaluations.jsonl").write_bytes(data)
    program = "\n".join(block for block in BLOCKS if HAS_PANDAS or "pandas" not in block)
    (tmp_path / "examples.py").write_text(program)
    token = api_tokens.create(person=max, scopes=[*api_tokens.SCOPES], actor=None).text
    variables = {"COGNIREVIEW_URL": live_server.url, "COGNIREVIEW_TOKEN": token, "PYTHONPATH": str(BASE_DIR)}
    done = finish([sys.executable, "examples.py"], variables, tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == re.findall(r"# -> (.*)", program)
    assert done.returncode == 0
