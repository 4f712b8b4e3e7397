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
    "exports.stored_files",
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
    "queue.claim_length",
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
    "search.indexing",
    "search.saved_views",
    "search.strata",
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


SQL_FILES = sorted((BASE_DIR / "reviews").rglob("*.sql"))
CLAIM = {"claimed_by_id", "claimed_until"}


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


def texts(path: Path) -> Iterator[tuple[ast.AST, str]]:
    """The strings of a module. Expressions in an f-string are replaced by {}."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node, "".join(map(str, parts))


def updated_columns(statement: str) -> set[str]:
    """Return the words after SET in updates of evaluation, with {} for expressions in an f-string."""
    updates = re.findall(
        r"\bUPDATE\s+evaluation\b[\s\w]*?\bSET\b(.*?)(?:\bFROM\b|\bWHERE\b|\bRETURNING\b|;|$)",
        statement,
        re.IGNORECASE | re.DOTALL,
    )
    return {word for update in updates for word in re.findall(r"\w+|{}", update)}


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

    @pytest.mark.parametrize(
        ("packages", "columns"),
        [
            ({"review"}, {"human_review_status"}),
            ({"queue"}, {"claimed_by", "claimed_by_id", "claimed_until", "claim_is_prefetched"}),
            ({"review", "queue"}, {"{}"}),
        ],
        ids=["status", "claim", "unknown"],
    )
    def test_columns_are_written_by_their_package_only(self, packages: set[str], columns: set[str]) -> None:
        others = [path for module, path in MODULES.items() if module.partition(".")[0] not in packages]
        assigned = [
            place(node, path)
            for path in others
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in columns
        ]
        updated = [
            place(call, path)
            for path in others
            for call in calls(path, {"update"})
            if any(keyword.arg in columns for keyword in call.keywords)
        ]
        statements = [
            *((place(node, path), text) for path in others for node, text in texts(path)),
            *((str(path), path.read_text()) for path in SQL_FILES if path.parent.name not in packages),
        ]
        in_sql = [where for where, text in statements if updated_columns(text) & columns]
        assert assigned == updated == in_sql == []

    @pytest.mark.parametrize(
        ("statement", "columns"),
        [
            ("UPDATE evaluation SET priority = 1 WHERE is_sampled", {"priority"}),
            ("update evaluation e\nset claimed_by_id = NULL,\n claimed_until = NULL", CLAIM),
            ("UPDATE evaluation SET (claimed_by_id, claimed_until) = (SELECT 1, now())", CLAIM),
            ("UPDATE evaluation SET {} FROM review WHERE claimed_by_id IS NULL", {"{}"}),
            ("UPDATE run SET claimed_by_id = 1; SELECT claimed_by_id FROM evaluation", set()),
        ],
    )
    def test_updated_columns_are_found_in_sql(self, statement: str, columns: set[str]) -> None:
        assert updated_columns(statement) & {*CLAIM, "priority", "{}"} == columns

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
