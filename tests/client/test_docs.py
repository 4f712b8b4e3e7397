"""The examples of docs/client.md and of the comparison run as one program, with the documented output."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from cognireview.client import Client
from cognireview.client.dual_methods import Area
from cognireview.environment import BASE_DIR
from reviews.accounts import api_tokens
from reviews.models import User
from tests.support.lines import file_of, line
from tests.support.programs import finish

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

PAGE = (BASE_DIR / "docs" / "client.md").read_text()
COMPARISON = (BASE_DIR / "docs" / "sdk-comparison.md").read_text()
BLOCK = r"^```python\n(.*?)^```"
BLOCKS = re.findall(BLOCK, PAGE, re.DOTALL | re.MULTILINE)
TOOLS = ["CogniReview", "Label Studio", "Argilla", "Langfuse"]
HAS_PANDAS = importlib.util.find_spec("pandas") is not None


def compared() -> dict[str, dict[str, str]]:
    """Return the code of each tool by job."""
    jobs = re.split(r"^## ", COMPARISON, flags=re.MULTILINE)[1:]
    pattern = rf"({'|'.join(TOOLS)}):\n\n{BLOCK}"
    return {job.partition("\n")[0]: dict(re.findall(pattern, job, re.DOTALL | re.MULTILINE)) for job in jobs}


def format_files(folder: Path) -> None:
    """Break the lines of all files in a folder as the formatter does."""
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--isolated", "--no-cache"]
    subprocess.run([*command, "--line-length=110", folder], check=True)


def lines_of(file: Path) -> int:
    """Return the number of lines of code in a formatted file."""
    lines = map(str.strip, file.read_text().splitlines())
    return sum(not line.startswith("#") for line in lines if line)


def test_table_counts_the_lines_of_the_code_and_no_other_tool_needs_fewer(tmp_path: Path) -> None:
    rows = re.findall(r"^\| (\w.*?) \| (\d) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    files = {
        job: {tool: tmp_path / f"{number}_{tool.replace(' ', '_')}.py" for tool in code}
        for number, (job, code) in enumerate(compared().items())
    }
    for job, code in compared().items():
        for tool, text in code.items():
            files[job][tool].write_text(text)
    format_files(tmp_path)
    counted = {
        job: [str(lines_of(its[tool])) if tool in its else "not offered" for tool in TOOLS]
        for job, its in files.items()
    }
    assert {job: found for job, *found in rows} == counted
    for ours, *others in counted.values():
        assert all(other == "not offered" or int(other) >= int(ours) for other in others)


def test_areas_are_documented_with_their_methods() -> None:
    client = Client("http://review.test", "cr_x")
    areas = {f"client.{name}": area for name, area in vars(client).items() if isinstance(area, Area)}
    areas |= {f"run.{name}": area for name, area in vars(client.run("a")).items() if isinstance(area, Area)}
    written = {
        area: set(re.findall(r"`(\w+)`", names))
        for area, names in re.findall(r"^\| `((?:client|run)\.\w+)` \| (.*) \|$", PAGE, re.MULTILINE)
    }
    areas = {name: area for name, area in areas.items() if name != "client._transport"}
    assert written == {
        name: {method for method in dir(area) if not method.startswith("_")} - {"name"}
        for name, area in areas.items()
    }


@pytest.mark.exhaustive
def test_examples_print_what_the_page_says(live_server: LiveServer, max: User, tmp_path: Path) -> None:
    data = file_of(*(line(f"eval_{number}") for number in (1, 2, 3)), line(...))
    (tmp_path / "evaluations.jsonl").write_bytes(data)
    ours = [code["CogniReview"] for code in compared().values()]
    program = "\n".join(block for block in BLOCKS + ours if HAS_PANDAS or "pandas" not in block)
    (tmp_path / "examples.py").write_text(program)
    token = api_tokens.create(person=max, scopes=[*api_tokens.SCOPES], actor=None).text
    variables = {"COGNIREVIEW_URL": live_server.url, "COGNIREVIEW_TOKEN": token, "PYTHONPATH": str(BASE_DIR)}
    done = finish([sys.executable, "examples.py"], variables, tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == re.findall(r"# -> (.*)", program)
    assert done.returncode == 0
