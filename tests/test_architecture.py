"""The rules of the house that the code could break without a test of its own noticing."""

import ast
import re
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
    "accounts.api_tokens",
    "accounts.one_time_links",
    "accounts.people",
    "accounts.permissions",
    "accounts.preferences",
    "accounts.second_factors",
    "accounts.sessions",
    "audit.events",
    "audit.reveals",
    "dashboard.bulk_changes",
    "dashboard.spot_checks",
    "exports.jobs",
    "imports.bulk_insert",
    "imports.bulk_update",
    "imports.importer",
    "imports.jobs",
    "imports.reconcile",
    "imports.runs",
    "imports.task_context",
    "imports.uploads",
    "judge.measurement_settings",
    "maintenance.key_rotation",
    "maintenance.repair",
    "maintenance.retention",
    "queue.claim_columns",
    "queue.claims",
    "review.blind_scoring",
    "review.decisions",
    "review.drafts",
    "review.escalations",
    "review.agreement_counts",
    "review.independent_reviews",
    "review.overturns",
    "review.versions",
    "rubric.definition",
    "sampling.draws",
    "sampling.strata",
    "search.indexing",
    "search.saved_views",
    "storage.integrity",
    "storage.source_files",
    "webhooks.deliveries",
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
    return isinstance(owner, ast.Name) and owner.id in {name.rpartition(".")[2] for name in MODULES}


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
        paths = [*MODULES.values(), *(BASE_DIR / "cognireview").rglob("*.py")]
        lines = {str(path.relative_to(BASE_DIR)): len(path.read_text().splitlines()) for path in paths}
        assert {name: count for name, count in lines.items() if count > LONGEST_MODULE} == {}

    def test_that_write_are_those_whose_events_are_tested(self) -> None:
        others = [path for module, path in MODULES.items() if module not in WRITERS]
        written = [place(call, path) for path in others for call in calls(path, WRITING) if not is_ours(call)]
        assert written == []

    def test_other_than_workflow_leave_the_status_alone(self) -> None:
        others = [path for module, path in MODULES.items() if module != "review.decisions"]
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
        others = [path for module, path in MODULES.items() if module != "evidence.rendering"]
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
