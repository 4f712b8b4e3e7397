"""The rules of the house that the code could break without a test of its own noticing."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.template.loader import get_template
from django.urls import get_resolver

from cognireview.environment import BASE_DIR

TEMPLATES = BASE_DIR / "templates"
LONGEST_MODULE = 400
WRITERS = {
    "reveals",
    "audit",
    "blind",
    "context_import",
    "bulk",
    "copying",
    "drafts",
    "escalation",
    "exports",
    "retention",
    "facets",
    "import_job",
    "importer",
    "key_rotation",
    "kept_sums",
    "links",
    "measuring",
    "merge",
    "opinion_counts",
    "opinions",
    "overturning",
    "people",
    "permissions",
    "preferences",
    "queue",
    "receiving",
    "repair",
    "review_version",
    "saved_views",
    "rubric",
    "sampling",
    "second_factors",
    "sessions",
    "source",
    "spot_checks",
    "strata",
    "tokens",
    "updating",
    "uploads",
    "webhooks",
    "workflow",
}
WRITING = {"save", "create", "bulk_create", "get_or_create", "update_or_create", "bulk_update", "delete"}


def name_of(path: Path) -> str:
    """`views.queue` for `reviews/views/runs/run_page.py`."""
    return ".".join(path.relative_to(BASE_DIR / "reviews").with_suffix("").parts).removesuffix(".__init__")


# Left out: migrations are as Django writes them, empty `__init__`, `apps` may import no model at its top.
MODULES = {
    name_of(path): path
    for path in sorted((BASE_DIR / "reviews").rglob("*.py"))
    if path.stat().st_size and "migrations" not in path.parts and path.name != "apps.py"
}


def folders_of(module: str) -> list[str]:
    """`management.commands` and `management` for `management.commands.up`."""
    return [module.rsplit(".", count)[0] for count in range(1, module.count(".") + 1)]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def place(node: ast.AST, path: Path) -> str:
    return f"{path.relative_to(BASE_DIR)}:{getattr(node, 'lineno', 0)}"


def imported(node: ast.AST) -> set[str]:
    """What a statement imports from `reviews`: names of modules."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        module = "reviews" if node.level else node.module or ""
        names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return {name.removeprefix("reviews.") for name in names} & {*MODULES, "reviews"}


def calls(path: Path, functions: set[str]) -> Iterator[ast.Call]:
    """The calls of functions or methods of these names in a module."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in functions:
                yield node


def is_ours(call: ast.Call) -> bool:
    """Whether it calls a function of one of our modules, as `drafts.save()` does."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id in MODULES


class TestTheMapOfTheCode:
    """The README lists the modules of `reviews/` low to high; a folder stands for the modules in it."""

    @pytest.fixture
    def entries(self) -> list[str]:
        readme = (BASE_DIR / "README.md").read_text()
        section = readme.partition("## Map of the code")[2]
        fenced = re.search(r"```text\nreviews/\n(.*?)```", section, re.DOTALL)
        assert fenced, "README.md has no fenced list that starts with reviews/ under 'Map of the code'"
        names = re.findall(r"^  ([\w/]+?)(?:\.py|/)?  ", fenced[1], re.MULTILINE)
        return [name.replace("/", ".") for name in names]

    def rank(self, module: str, entries: list[str]) -> int:
        """The line of the map that a module stands in, or else its folder; -1 if there is none."""
        return next((entries.index(name) for name in (module, *folders_of(module)) if name in entries), -1)

    def test_names_every_module_and_nothing_else(self, entries: list[str]) -> None:
        known = {*MODULES, *(folder for module in MODULES for folder in folders_of(module))}
        assert [module for module in MODULES if self.rank(module, entries) < 0] == []
        assert [entry for entry in entries if entry not in known] == []
        assert len(entries) == len(set(entries))

    def test_is_the_order_of_imports(self, entries: list[str]) -> None:
        upward = [
            f"{place(node, path)}: {module} imports {name}"
            for module, path in MODULES.items()
            for node in ast.walk(tree(path))
            for name in imported(node) - {"reviews"}
            if self.rank(name, entries) >= self.rank(module, entries)
        ]
        assert upward == []

    def test_has_no_django_above_the_models(self, entries: list[str]) -> None:
        plain = entries[: entries.index("models.people")]
        assert {"splice", "record", "salvage", "verdict", "verification"} <= set(plain)
        program = (
            f"import sys, {', '.join('reviews.' + name for name in plain)}; sys.exit('django' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", program], cwd=BASE_DIR, check=False).returncode == 0


class TestModules:
    def test_import_each_other_at_the_top_and_by_full_name(self) -> None:
        hidden = [
            place(statement, path)
            for path in MODULES.values()
            for function in ast.walk(tree(path))
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for statement in ast.walk(function)
            if imported(statement)
        ]
        relative = [
            place(node, path)
            for path in MODULES.values()
            for node in ast.walk(tree(path))
            if isinstance(node, ast.ImportFrom) and node.level
        ]
        assert hidden == relative == []

    def test_can_be_read_in_one_go(self) -> None:
        paths = [*MODULES.values(), *(BASE_DIR / "cognireview").glob("*.py")]
        lines = {str(path.relative_to(BASE_DIR)): len(path.read_text().splitlines()) for path in paths}
        assert {name: count for name, count in lines.items() if count > LONGEST_MODULE} == {}

    def test_that_write_are_those_whose_events_are_tested(self) -> None:
        others = [path for module, path in MODULES.items() if module not in WRITERS]
        written = [place(call, path) for path in others for call in calls(path, WRITING) if not is_ours(call)]
        assert written == []

    def test_other_than_workflow_leave_the_status_alone(self) -> None:
        others = [path for module, path in MODULES.items() if module != "workflow"]
        assigned = [
            place(node, path)
            for path in others
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if node.attr == "human_review_status"
        ]
        updated = [
            place(call, path)
            for path in others
            for call in calls(path, {"update"})
            if any(keyword.arg == "human_review_status" for keyword in call.keywords)
        ]
        assert assigned == updated == []

    def test_other_than_rendering_trust_no_html(self) -> None:
        others = [path for module, path in MODULES.items() if module != "rendering"]
        trusting = {"mark_safe", "SafeString", "SafeText", "html_safe", "__html__"}
        named = [
            place(node, path)
            for path in others
            for node in ast.walk(tree(path))
            if (isinstance(node, ast.FunctionDef) and node.name in trusting)
            or (
                isinstance(node, ast.ImportFrom)
                and (trusting - {"SafeString"}) & {alias.name for alias in node.names}
            )
        ]
        assert named == [place(call, path) for path in others for call in calls(path, trusting)] == []

    def test_name_addresses_that_exist(self) -> None:
        named = {
            (place(call, path), call.args[0].value)
            for path in MODULES.values()
            for call in calls(path, {"redirect", "reverse", "reverse_lazy", "resolve_url"})
            if call.args and isinstance(call.args[0], ast.Constant)
        }
        assert {(where, name) for where, name in named if name not in url_names()} == set()


def url_names() -> set[str]:
    return {name for name in get_resolver().reverse_dict if isinstance(name, str)}


class Page(HTMLParser):
    """Collects what a Content-Security-Policy without 'unsafe-inline' would stop, and what evaluates code."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forbidden: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "style" or (tag == "script" and "src" not in dict(attrs)):
            self.forbidden.append(f"<{tag}>")
        for name, value in attrs:
            runs_code = (value or "").strip().lower().startswith(("javascript:", "js:"))
            if name == "style" or name.startswith(("on", "hx-on", "data-hx-on")) or runs_code:
                self.forbidden.append(f"<{tag} {name}>")


@pytest.mark.parametrize(
    "name", sorted(str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html"))
)
class TestTemplate:
    def test_compiles(self, name: str) -> None:
        get_template(name)

    def test_has_no_inline_script_or_style(self, name: str) -> None:
        source = (TEMPLATES / name).read_text()
        html = re.sub(r"{%.*?%}|{{.*?}}|{#.*?#}", "", source, flags=re.DOTALL)
        assert Page(html).forbidden == []

    def test_leaves_escaping_on(self, name: str) -> None:
        source = (TEMPLATES / name).read_text()
        assert re.findall(r"\|\s*safe(?:seq)?\b|{%\s*autoescape\s+off|{%\s*filter\s+safe", source) == []

    def test_links_to_addresses_that_exist(self, name: str) -> None:
        source = (TEMPLATES / name).read_text()
        named = re.findall(r"{%\s*url\s+(\S+)", source)
        assert {
            quoted for quoted in named if quoted.strip("'\"") not in url_names() or quoted[0] not in "'\""
        } == set()
