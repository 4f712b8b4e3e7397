"""What the documents say is so: settings, commands and their options, links, the states of a record."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from cognireview.environment import BASE_DIR, Environment, variable_name
from reviews.records.status import ALL_STATUSES, TRANSITIONS

README = (BASE_DIR / "README.md").read_text()
DOCUMENTS = sorted([*BASE_DIR.glob("*.md"), *(BASE_DIR / "docs").rglob("*.md")])


def settings_table() -> str:
    """The table the README has to hold."""
    rows = ["| Variable | Default | Meaning |", "|---|---|---|"]
    for name, field in Environment.model_fields.items():
        default = "" if field.default is None else str(field.default)
        spelled = default.lower() if isinstance(field.default, bool) else default
        rows.append(
            f"| `{variable_name(name)}` | {f'`{spelled}`' if spelled else ''} | {field.description} |"
        )
    return re.sub(r"  +", " ", "\n".join(rows)) + "\n"


def section(title: str) -> str:
    """The README's part under a heading."""
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


class TestSettings:
    def test_stand_in_the_readme_with_default_and_meaning(self) -> None:
        table = "".join(
            line for line in section("Settings").splitlines(keepends=True) if line.startswith("|")
        )
        assert table == settings_table(), f"The table under 'Settings' has to be:\n\n{settings_table()}"

    def test_have_a_meaning_each(self) -> None:
        assert [name for name, field in Environment.model_fields.items() if not field.description] == []

    def test_stand_in_the_example_file(self) -> None:
        example = (BASE_DIR / ".env.example").read_text()
        named = re.findall(r"^#? ?([A-Z_]+)=", example, re.MULTILINE)
        ours = {variable_name(field) for field in Environment.model_fields}
        compose = (BASE_DIR / "docker-compose.yml").read_text()
        assert len(named) == len(set(named))
        assert ours <= set(named)
        assert {name for name in set(named) - ours if f"${{{name}" not in compose} == set()


class TestStates:
    """The diagram in the README is `TRANSITIONS`."""

    def test_are_the_words_of_the_record(self) -> None:
        begin = re.findall(r"^ *\[\*\] --> (.+?)$", README, re.MULTILINE)
        assert begin == list(ALL_STATUSES)

    def test_change_as_in_the_workflow(self) -> None:
        arrows = re.findall(r"^ *(\w.*?) --> (.+?): (.+?)$", README, re.MULTILINE)
        assert {(action, before): after for before, after, action in arrows} == TRANSITIONS


def command(name: str) -> BaseCommand:
    app = get_commands()[name]
    return app if isinstance(app, BaseCommand) else load_command_class(app, name)


def commands_in(document: Path) -> Iterator[tuple[str, list[str]]]:
    """Each `manage.py NAME` of a document and the options it is given there."""
    for name, rest in re.findall(r"manage\.py ([a-z]\w*)([^`#&|;\n]*)", document.read_text()):
        yield name, re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(BASE_DIR)))
class TestDocument:
    def test_names_commands_that_exist_with_options_they_take(self, document: Path) -> None:
        for name, options in commands_in(document):
            assert name in get_commands()
            parser = command(name).create_parser("manage.py", name)
            assert [option for option in options if option not in parser._option_string_actions] == []

    def test_links_to_files_that_exist(self, document: Path) -> None:
        links = re.findall(r"\]\(([^)#\s]+)", document.read_text())
        files = [link for link in links if not re.match(r"[a-z]+:", link)]
        assert [link for link in files if not (document.parent / link).exists()] == []


class TestTheRecipes:
    """docs/recipes.md leads to each file of docs/recipes, and what it shows of one is the file."""

    PAGE = (BASE_DIR / "docs" / "recipes.md").read_text()
    FILES: ClassVar = {path.name: path for path in (BASE_DIR / "docs" / "recipes").glob("*.*")}

    def test_lead_to_every_file(self) -> None:
        assert {*re.findall(r"\]\(recipes/([\w.]+)\)", self.PAGE)} == {*self.FILES}

    def test_show_the_files_as_they_are(self) -> None:
        shown = re.findall(
            r"^\[recipes/([\w.]+)\]\(recipes/\1\):\n\n```\w+\n(.*?)```$", self.PAGE, re.DOTALL | re.MULTILINE
        )
        assert {"pipeline.yml", "with_pandas.py"} <= {name for name, _ in shown}
        assert {name for name, text in shown if text != self.FILES[name].read_text()} == set()


def test_the_readme_names_every_command_of_ours() -> None:
    ours = {name for name, app in get_commands().items() if app == "reviews"}
    assert ours <= {name for name, _ in commands_in(BASE_DIR / "README.md")}
