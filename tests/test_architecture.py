"""Rules that code and templates keep everywhere."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.template.loader import get_template
from django.urls import get_resolver

from cognireview.environment import BASE_DIR
from reviews.models import Run, User

TEMPLATES = BASE_DIR / "templates"
LONGEST_MODULE = 400
LONGEST_FUNCTION = 50


def name_of(path: Path) -> str:
    """Return a module's name below `reviews`, such as `views.runs.run_page`."""
    return ".".join(path.relative_to(BASE_DIR / "reviews").with_suffix("").parts).removesuffix(".__init__")


# Without migrations, which Django writes, and `apps`, which must not import models at its top.
MODULES = {
    name_of(path): path
    for path in sorted((BASE_DIR / "reviews").rglob("*.py"))
    if path.stat().st_size and "migrations" not in path.parts and path.name != "apps.py"
}
IMPORTABLE = {*MODULES, "reviews"}

# The one place that says which runs a person may see, and the functions that ask it.
CHECKS_OF_RUNS = {"visible_to", "in_visible_runs", "is_visible_to", "load_in_run", "load_run", "get_run"}
# Modules whose pages are for admins, who see every run.
ADMINS_ONLY = {
    "api.site",
    "views.files.task_context",
    "views.site.operations",
    "views.site.webhooks",
}
# Functions that need no check, and why.
LOOKED_UP_LATER = {
    "views.dashboard.tables.runs": "counts for runs that are in the list",
    "views.files.uploads.import_file": "imports without a run, for admins",
    "views.files.uploads.upload_mapping": "own uploads",
    "views.runs.mappings.mappings": "for admins",
    "views.files.uploads.upload": "own uploads",
    "api.uploads._find": "own uploads",
    "views.shortcuts.check_not_deleted": "deleted runs, whose names stay hidden",
    "views.review.drafts._renewed": "of a loaded record",
}

SQL_FILES = sorted((BASE_DIR / "reviews").rglob("*.sql"))
CLAIM = {"claimed_by_id", "claimed_until"}
# Tokens that may follow `of` where it is a variable or an argument.
MAY_BIND_OF = re.compile(r"\bof\s*(?:[=,:)\]]|in\b)")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(path)))


def place(node: ast.AST, path: Path) -> str:
    return f"{path.relative_to(BASE_DIR)}:{getattr(node, 'lineno', 0)}"


def imported(node: ast.AST) -> set[str]:
    """Return the names of the modules of `reviews` that a statement imports."""
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        module = "reviews" if node.level else node.module or ""
        names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
    return {name.removeprefix("reviews.") for name in names} & IMPORTABLE if names else set()


def calls(path: Path, functions: set[str]) -> Iterator[ast.Call]:
    """Yield the calls of functions or methods of these names in a module."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in functions:
                yield node


def texts(path: Path) -> Iterator[tuple[ast.AST, str]]:
    """Yield the strings of a module. Expressions in an f-string are replaced by {}."""
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node, "".join(map(str, parts))


def names(node: ast.AST) -> set[str]:
    """Return the names of variables, functions and attributes in a statement."""
    found = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
    return found | {child.attr for child in ast.walk(node) if isinstance(child, ast.Attribute)}


def looked_up(node: ast.AST) -> set[str]:
    """Return the models that a statement looks up: `X.objects` without `none`, or `get_object_or_404(X)`."""
    found = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Attribute):
            manager = child.value
            if manager.attr == "objects" and isinstance(manager.value, ast.Name) and child.attr != "none":
                found.add(manager.value.id)
        if isinstance(child, ast.Call) and getattr(child.func, "id", "") == "get_object_or_404":
            found |= {child.args[0].id} if isinstance(child.args[0], ast.Name) else set()
    return found


@cache
def models_of_a_run() -> set[str]:
    """Return the names of the models that have a run, directly or by foreign keys."""
    of_a_run: set[Any] = {Run}
    models = [model for model in apps.get_app_config("reviews").get_models() if model is not User]
    for _ in models:
        of_a_run |= {
            model for model in models if {field.related_model for field in model._meta.fields} & of_a_run
        }
    return {model.__name__ for model in of_a_run}


def is_named_of(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == "of" and not isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.arg) and node.arg == "of"


def writes(path: Path) -> list[ast.FunctionDef]:
    """Return the public functions with an `actor`, or that record an event, perhaps by private functions."""
    functions = {node.name: node for node in tree(path).body if isinstance(node, ast.FunctionDef)}
    names_in = {name: names(function) for name, function in functions.items()}
    recording = {name for name, found in names_in.items() if {"events", "record"} <= found}
    while (
        more := {
            name
            for name, found in names_in.items()
            if found & {one for one in recording if one.startswith("_")}
        }
        - recording
    ):
        recording |= more
    return [
        function
        for name, function in functions.items()
        if not name.startswith("_")
        and (
            name in recording or "actor" in {one.arg for one in function.args.args + function.args.kwonlyargs}
        )
    ]


def computes_a_day(call: ast.Call, method: ast.Attribute) -> bool:
    """Return whether it is the current day, or the start of a day: `now().date()`, `replace(hour=0)`."""
    if method.attr == "date":
        return isinstance(method.value, ast.Call) and ast.unparse(method.value.func).endswith("now")
    if method.attr == "replace":
        return any(keyword.arg == "hour" for keyword in call.keywords)
    return ast.unparse(method.value) != "days"


@cache
def updates_of_evaluation() -> list[tuple[str, str, set[str]]]:
    """Return the package, the place and the updated columns of each SQL statement that updates evaluation."""
    statements = [
        *(
            (module.partition(".")[0], place(node, path), text)
            for module, path in MODULES.items()
            for node, text in texts(path)
        ),
        *((path.parent.name, str(path), path.read_text()) for path in SQL_FILES),
    ]
    return [(package, where, updated_columns(text)) for package, where, text in statements]


def updated_columns(statement: str) -> set[str]:
    """Return the words after SET in updates of evaluation, with {} for expressions in an f-string."""
    updates = re.findall(
        r"\bUPDATE\s+evaluation\b[\s\w]*?\bSET\b(.*?)(?:\bFROM\b|\bWHERE\b|\bRETURNING\b|;|$)",
        statement,
        re.IGNORECASE | re.DOTALL,
    )
    return {word for update in updates for word in re.findall(r"\w+|{}", update)}


class TestModules:
    @pytest.mark.slow
    def test_modules_import_each_other_at_the_top_and_by_full_name(self) -> None:
        statements = [
            (node, path)
            for path in MODULES.values()
            for node in nodes(path)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        hidden = [place(node, path) for node, path in statements if node.col_offset and imported(node)]
        relative = [place(node, path) for node, path in statements if getattr(node, "level", 0)]
        assert hidden == relative == []

    def test_support_of_tests_imports_no_tests(self) -> None:
        imports = re.compile(r"^(?:from|import) tests(?!\.support\b).*", re.MULTILINE)
        paths = (BASE_DIR / "tests" / "support").glob("*.py")
        assert {path.name: found for path in paths if (found := imports.findall(path.read_text()))} == {}

    def test_module_has_at_most_400_lines(self) -> None:
        paths = [*MODULES.values(), *(BASE_DIR / "cognireview").rglob("*.py")]
        lines = {str(path.relative_to(BASE_DIR)): len(path.read_text().splitlines()) for path in paths}
        assert {name: count for name, count in lines.items() if count > LONGEST_MODULE} == {}

    def test_function_has_at_most_50_lines(self) -> None:
        lines = {
            place(node, path): (node.end_lineno or 0) - node.lineno + 1
            for path in MODULES.values()
            for top in tree(path).body
            for node in (top.body if isinstance(top, ast.ClassDef) else [top])
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert {where: count for where, count in lines.items() if count > LONGEST_FUNCTION} == {}

    def test_public_classes_of_a_package_have_different_names(self) -> None:
        places = Counter(
            (str(path.parent.relative_to(BASE_DIR)), node.name)
            for path in MODULES.values()
            if path.parent.name != "commands"  # Django looks for `Command` in each
            for node in tree(path).body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        )
        assert [place for place, classes in places.items() if classes > 1] == []

    def test_modules_of_a_package_differ_by_more_than_a_plural(self) -> None:
        packages = [
            path for top in ("cognireview", "reviews", "tests") for path in (BASE_DIR / top).rglob("*")
        ]
        names = Counter(
            (str(path.parent.relative_to(BASE_DIR)), re.sub(r"(?:ie)?s\b", "", path.stem.replace("_", " ")))
            for path in packages
            if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists())
        )
        assert [name for name, modules in names.items() if modules > 1] == []

    @pytest.mark.slow
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
            for node in nodes(path)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in columns
        ]
        updated = [
            place(call, path)
            for path in others
            for call in calls(path, {"update"})
            if any(keyword.arg in columns for keyword in call.keywords)
        ]
        in_sql = [
            where
            for package, where, updated in updates_of_evaluation()
            if package not in packages and updated & columns
        ]
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

    @pytest.mark.slow
    def test_pages_and_api_look_up_rows_of_runs_that_the_person_may_see(self) -> None:
        unchecked = {
            f"{module}.{function.name}"
            for module, path in MODULES.items()
            if module.partition(".")[0] in {"views", "api"} and module not in ADMINS_ONLY
            for function in nodes(path)
            if isinstance(function, ast.FunctionDef | ast.ClassDef)
            if looked_up(function) & models_of_a_run() and not names(function) & CHECKS_OF_RUNS
        }
        assert unchecked == set(LOOKED_UP_LATER)

    @pytest.mark.slow
    def test_html_is_trusted_in_rendering_only(self) -> None:
        others = [path for module, path in MODULES.items() if module != "evidence.rendering"]
        trusting = {"mark_safe", "SafeString", "SafeText", "html_safe", "__html__"}
        named = [
            place(node, path)
            for path in others
            for node in nodes(path)
            if (isinstance(node, ast.FunctionDef) and node.name in trusting)
            or (
                isinstance(node, ast.ImportFrom)
                and (trusting - {"SafeString"}) & {alias.name for alias in node.names}
            )
        ]
        assert named == [place(call, path) for path in others for call in calls(path, trusting)] == []

    @pytest.mark.slow
    def test_variables_have_names_of_their_own(self) -> None:
        """`of` names nothing that a reader could look for. Only texts that may bind it are parsed."""
        paths = [
            path for top in ("cognireview", "reviews", "tests") for path in (BASE_DIR / top).rglob("*.py")
        ]
        suspects = [path for path in paths if MAY_BIND_OF.search(path.read_text())]
        unnamed = [place(node, path) for path in suspects for node in nodes(path) if is_named_of(node)]
        assert unnamed == []

    @pytest.mark.slow
    def test_public_writes_take_keyword_arguments_only(self) -> None:
        positional = {
            f"{module}.{function.name}"
            for module, path in MODULES.items()
            if module.partition(".")[0] not in {"views", "api", "management", "tasks"}
            for function in writes(path)
            if function.args.args or function.args.posonlyargs
        }
        assert positional == {"audit.events.record"}  # its first argument is the action

    def test_days_and_midnight_are_computed_in_one_module(self) -> None:
        elsewhere = [
            place(call, path)
            for module, path in MODULES.items()
            if module != "days"
            for call in calls(path, {"combine", "date", "today", "localdate", "replace"})
            if isinstance(call.func, ast.Attribute) and computes_a_day(call, call.func)
        ]
        assert elsewhere == []

    def test_modules_name_existing_urls(self) -> None:
        named = {
            (place(call, path), call.args[0].value)
            for path in MODULES.values()
            for call in calls(path, {"redirect", "reverse", "reverse_lazy", "resolve_url"})
            if call.args and isinstance(call.args[0], ast.Constant)
        }
        assert {(where, name) for where, name in named if name not in url_names()} == set()


def url_names() -> set[str]:
    return {name for name in get_resolver().reverse_dict if isinstance(name, str)}


class InlineCode(HTMLParser):
    """Collects markup that a Content-Security-Policy without 'unsafe-inline' blocks, or that runs code."""

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


@cache
def sources() -> dict[str, str]:
    """Return the source of each template by its name."""
    return {str(path.relative_to(TEMPLATES)): path.read_text() for path in sorted(TEMPLATES.rglob("*.html"))}


def test_templates_compile() -> None:
    for name in sources():
        get_template(name)


def test_templates_include_and_extend_existing_templates() -> None:
    named = {
        (name, re.sub("#.*", "", other))
        for name, source in sources().items()
        for other in re.findall(r"{%\s*(?:include|extends)\s+\"([^\"]+)\"", source)
    }
    assert {(name, other) for name, other in named if other not in sources()} == set()


def test_templates_have_no_inline_script_or_style() -> None:
    html = {
        name: re.sub(r"{%.*?%}|{{.*?}}|{#.*?#}", "", source, flags=re.DOTALL)
        for name, source in sources().items()
    }
    found = {name: InlineCode(text).forbidden for name, text in html.items()}
    assert {name: forbidden for name, forbidden in found.items() if forbidden} == {}


def test_templates_leave_escaping_on() -> None:
    unescaped = r"\|\s*safe(?:seq)?\b|{%\s*autoescape\s+off|{%\s*filter\s+safe"
    assert [name for name, source in sources().items() if re.search(unescaped, source)] == []


def test_templates_link_to_existing_urls() -> None:
    quoted = {f"{quote}{name}{quote}" for name in url_names() for quote in "'\""}
    named = {name: set(re.findall(r"{%\s*url\s+(\S+)", source)) for name, source in sources().items()}
    assert {name: found - quoted for name, found in named.items() if found - quoted} == {}


def test_patterns_repeat_no_group_possessively() -> None:
    """Python before 3.11.5 matches `(?:...)*+` wrongly; `repeated` gives an equal pattern."""
    wrong = re.compile(r"(?<!\\)\)[*+?]\+")
    assert not [name for name, path in MODULES.items() if wrong.search(path.read_text("utf-8"))]
