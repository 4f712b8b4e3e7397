"""The documents agree with the code: settings, commands and options, links, states, and names of code."""

import ast
import re
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from cognireview.environment import BASE_DIR, FIELDS, variable_name
from cognireview.setting_values import Secret
from cognireview.types.judge import JudgeReport
from reviews.judge.accuracy_figures import FIGURES
from reviews.records.status import ALL_STATUSES, TRANSITIONS
from reviews.search.filters import FILTERS

DOCS = BASE_DIR / "docs"
README = (BASE_DIR / "README.md").read_text()
SETTINGS = (DOCS / "settings.md").read_text()
LIFECYCLE = (DOCS / "lifecycle.md").read_text()
ARCHITECTURE = (BASE_DIR / "ARCHITECTURE.md").read_text()
RECIPES = (DOCS / "recipes.md").read_text()
RECIPE_FILES = {path.name: path for path in (DOCS / "recipes").glob("*.*")}
DOCUMENTS = sorted([*BASE_DIR.glob("*.md"), *DOCS.rglob("*.md")])


def settings_table() -> str:
    """Return the table for docs/settings.md."""
    rows = ["| Variable | Default | Meaning |", "|---|---|---|"]
    for name, field in FIELDS.items():
        default = "" if field.default in (None, Secret("")) else str(field.default)
        default = default.lower() if isinstance(field.default, bool) else default
        shown = f"`{default}`" if default else ""
        rows.append(f"| `{variable_name(name)}` | {shown} | {field.metadata['description']} |")
    return re.sub(r"  +", " ", "\n".join(rows)) + "\n"


def state_diagram() -> str:
    """Return the diagram for docs/lifecycle.md."""
    starts = [f"[*] --> {status}" for status in ALL_STATUSES]
    arrows = [f"{before} --> {after}: {action}" for (action, before), after in TRANSITIONS.items()]
    return "\n    ".join(["stateDiagram-v2", *starts, *arrows]) + "\n"


def test_settings_table_matches_environment() -> None:
    table = "".join(line for line in SETTINGS.splitlines(keepends=True) if line.startswith("|"))
    assert table == settings_table(), f"docs/settings.md needs this table:\n\n{settings_table()}"


def test_judge_document_names_every_part_of_the_report() -> None:
    section = (DOCS / "judge.md").read_text().partition("## The report as JSON")[2].partition("\n## ")[0]
    assert [one.name for one in fields(JudgeReport) if f"`{one.name}`" not in section] == []


def test_judge_document_names_every_metric_of_a_requirement() -> None:
    row = (DOCS / "judge.md").read_text().partition("| judge vs reviewers | ")[2].partition(" |\n")[0]
    assert [name for name in FIGURES if f"`{name}`" not in row] == []


def test_reviewing_document_names_every_filter() -> None:
    table = (
        (DOCS / "reviewing.md").read_text().partition("| Filter | Finds records by |")[2].partition("\n\n")[0]
    )
    named = [
        name
        for cell in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
        for name in re.findall("`(.+?)`", cell)
    ]
    assert sorted(named) == sorted(FILTERS)


def test_every_setting_has_a_description() -> None:
    assert [name for name, field in FIELDS.items() if not field.metadata["description"]] == []


def test_example_env_file_names_every_setting() -> None:
    example = (BASE_DIR / ".env.example").read_text()
    named = re.findall(r"^#? ?([A-Z_]+)=", example, re.MULTILINE)
    ours = {variable_name(field) for field in FIELDS}
    compose = (BASE_DIR / "docker-compose.yml").read_text()
    assert len(named) == len(set(named))
    assert ours <= set(named)
    assert {name for name in set(named) - ours if f"${{{name}" not in compose} == set()


def test_state_diagram_matches_transitions() -> None:
    assert f"```mermaid\n{state_diagram()}```" in LIFECYCLE, (
        f"docs/lifecycle.md needs this diagram:\n\n{state_diagram()}"
    )


def test_lifecycle_explains_every_action() -> None:
    explained = "".join(re.findall(r"^\| ([a-z, ]+) \|", LIFECYCLE, re.MULTILINE))
    assert [action for action, _ in TRANSITIONS if action not in explained] == []


def command(name: str) -> BaseCommand:
    app = get_commands()[name]
    return app if isinstance(app, BaseCommand) else load_command_class(app, name)


def known_options(parser: ArgumentParser) -> set[str]:
    """Return the options of a command and of its actions."""
    actions = [one for one in parser._actions if isinstance(one, _SubParsersAction)]
    below = (known_options(choice) for one in actions for choice in one.choices.values())
    return {*parser._option_string_actions}.union(*below)


def commands_in(document: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each `manage.py NAME` of a document, and the options given to it."""
    for name, rest in re.findall(r"manage\.py ([a-z]\w*)([^`#&|;\n]*)", document.read_text()):
        yield name, re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(BASE_DIR)))
def test_document_names_existing_commands_and_options(document: Path) -> None:
    for name, options in commands_in(document):
        assert name in get_commands()
        known = known_options(command(name).create_parser("manage.py", name))
        assert [option for option in options if option not in known] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(BASE_DIR)))
def test_document_links_to_existing_files(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", document.read_text())
    files = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in files if not (document.parent / link).exists()] == []


def headings_of(document: Path) -> set[str]:
    """Return the anchors of a document: those of its headings, as GitHub forms them, and its own."""
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    plain = [
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    ]
    formed = {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in plain}
    return formed | set(re.findall(r'<a id="([^"]+)"', text))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(BASE_DIR)))
def test_document_links_to_existing_headings(document: Path) -> None:
    links = re.findall(r"\]\(([^):\s]*)#([^)\s]+)\)", document.read_text())
    targets = [(document.parent / file if file else document, anchor) for file, anchor in links]
    assert [
        (file, anchor) for file, anchor in targets if file.suffix == ".md" and anchor not in headings_of(file)
    ] == []


def test_every_document_is_linked_from_the_readme() -> None:
    linked = {(BASE_DIR / link).resolve() for link in re.findall(r"\]\(([^)#\s]+\.md)", README)}
    assert {path.name for path in DOCUMENTS} - {path.name for path in linked} == {"README.md"}


def test_readme_names_every_command() -> None:
    ours = {name for name, app in get_commands().items() if app == "reviews"}
    assert ours <= {name for name, _ in commands_in(BASE_DIR / "README.md")}


def test_every_command_has_a_one_line_description() -> None:
    ours = [name for name, app in get_commands().items() if app == "reviews"]
    assert [name for name in ours if not 10 < len(command(name).help.partition(". ")[0]) < 100] == []


@cache
def names_in(path: Path) -> set[str]:
    """Return the functions, classes, methods (`Class.method`) and variables that a module defines."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


@pytest.mark.slow
@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_document_names_existing_code(document: str) -> None:
    """A reference is `path/file.py:name`, a path below the checkout, or a `_NAME` of such a file."""
    text = (BASE_DIR / document).read_text()
    named = re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|sql|html|js))(?::([\w.]+))?`", text)
    assert len(named) > 10
    missing = [
        f"{path}:{name}"
        for path, name in named
        if not (BASE_DIR / path).exists() or (name and name not in names_in(BASE_DIR / path))
    ]
    assert missing == []
    known = set().union(*(names_in(BASE_DIR / path) for path, _ in named if path.endswith(".py")))
    assert {*re.findall(r"`(_[A-Za-z]\w*)`", text)} - known == set()


def test_architecture_names_every_package() -> None:
    packages = {path.parent.name for path in (BASE_DIR / "reviews").glob("*/__init__.py")}
    listed = set(re.findall(r"^  ([a-z_]+)/ ", ARCHITECTURE, re.MULTILINE))
    assert packages - listed == set()


def test_recipes_page_links_to_every_recipe() -> None:
    assert {*re.findall(r"\]\(recipes/([\w.]+)\)", RECIPES)} == {*RECIPE_FILES}


def test_recipes_page_shows_files_verbatim() -> None:
    shown = re.findall(
        r"^\[recipes/([\w.]+)\]\(recipes/\1\):\n\n```\w+\n(.*?)```$", RECIPES, re.DOTALL | re.MULTILINE
    )
    assert {"pipeline.yml", "with_pandas.py"} <= {name for name, _ in shown}
    assert {name for name, text in shown if text != RECIPE_FILES[name].read_text()} == set()
