"""Promises of SECURITY.md about the code, and the tests of each promise (docs/security.md)."""

import ast
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import (
    TOTP,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from django.conf import LazySettings
from django.test import Client

from cognireview.environment import BASE_DIR, FIELDS
from cognireview.operations.secret_key import read_or_create
from reviews.accounts import api_tokens
from reviews.imports import jobs, uploads
from reviews.models import Evaluation, Import, ImportLine, Upload, User
from tests.support.lines import file_of, import_data, line
from tests.test_architecture import MODULES, calls, nodes, place, tree

SECURITY = (BASE_DIR / "SECURITY.md").read_text()
SECURITY_TESTS = (BASE_DIR / "docs" / "security.md").read_text()

PROGRAMS = [*MODULES.values(), *sorted((BASE_DIR / "cognireview").rglob("*.py"))]
# Modules that reach out of the process, with the reason. Review a new one before you add it here.
REACH_OUT = {
    "cognireview/client/backends.py": "the client, which the server never imports",
    "cognireview/client/client.py": "the client, which the server never imports",
    "cognireview/client/transport.py": "the client, which the server never imports",
    "cognireview/operations/backup.py": "runs pg_dump and pg_restore",
    "cognireview/postgres/embedded.py": "runs PostgreSQL",
    "cognireview/operations/mail.py": "sends mail through the configured server",
    "cognireview/postgres/server_account.py": "creates the operating system account of the server",
    "cognireview/processes/child_process.py": "forks the web server and the worker",
    "cognireview/processes/idle_memory.py": "asks the C library to return memory",
    "cognireview/processes/listening.py": "checks whether an address is free",
    "cognireview/processes/supervisor.py": "keeps web server and worker running, and probes readiness",
    "cognireview/processes/up.py": "looks up the addresses of localhost",
    "cognireview/processes/web_server.py": "runs the web processes",
    "reviews/imports/parser_pool.py": "parses in separate processes, which exchange pickles",
    "reviews/imports/parsing.py": "is the program of these processes",
    "reviews/accounts/openid_connect.py": "sends requests to the configured provider",
    "reviews/webhooks/sender.py": "sends messages to hosts that the operator allows",
    "reviews/webhooks/allowlist.py": "resolves their names",
}
REACHING = re.compile(
    r"(requests|urllib3|httpx2?|aiohttp|socket|smtplib|ftplib|http\.client|urllib\.request|xmlrpc|subprocess|pickle"
    r"|marshal|shelve|ctypes|code|codeop|runpy|multiprocessing|webbrowser)(\.|$)"
)
# Commands read and write files that the operator named; next_record reads its SQL, the demo its texts, the
# style guide our tokens, and shipped_mappings its mappings. `exports.documents` opens files of an archive in
# memory, and `imports.parser_pool` pipes.
OPEN_FILES = (
    "management.",
    "imports.parser_pool",
    "exports.documents",
    "exports.verify_receipt",
    "imports.shipped_mappings",
    "queue.next_record",
    "demo.",
    "views.judge.report",
    "views.site.styleguide",
)
# Programs that import modules by names that they compute, and which.
IMPORT_BY_NAME = {"cognireview/processes/child_process.py": "the middlewares in our settings"}
# Modules that pass column names to the ORM in a dict. Each builds the names itself.
NAME_COLUMNS = {
    "accounts.one_time_links": "the columns of a link",
    "accounts.permissions": "the attributes of loaded permissions and roles",
    "api.lookup": "the annotations that an operation names",
    "dashboard.selection": "the fields of a selection",
    "exports.jobs": "the fields of ExportOptions",
    "exports.line_plan": "the human_* columns",
    "inbox.kinds": "the column with the run of a kind",
    "imports.jobs": "the columns of a job's progress",
    "judge.scope": "the fields of a scope",
    "models.evaluations": "the column of an index",
    "queue.claim_columns": "the columns of a claim",
    "review.blind_scoring": "the place of a line",
    "review.independent_reviews": "the columns of a disagreement",
    "review.undo": "the record of an audit event",
    "search.density": "place_0, place_1, ...",
    "search.filters": "the columns of FILTERS",
    "search.listing": "place_0, place_1, ...",
    "search.strata": "the columns of its own FILTERS",
    "storage.integrity": "the columns of an import's sums",
}
TAKE_NAMES = {"filter", "exclude", "get", "Q", "annotate", "alias", "update", "create", "aggregate"}
SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bcr_[0-9a-f]{8}_[\w-]{43}\b"
    r"|SECRET_KEY\s*=\s*[\"'][^\"'$]{20,}"
)


def relative(path: Path) -> str:
    return str(path.relative_to(BASE_DIR))


class TestCode:
    @pytest.mark.slow
    def test_only_known_modules_reach_out_of_the_process(self) -> None:
        found = set()
        for path in PROGRAMS:
            for node in nodes(path):
                named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    named = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
                found |= {relative(path) for name in named if REACHING.match(name)}
        assert found == set(REACH_OUT)

    def test_only_known_modules_open_files(self) -> None:
        opening = {"open", "read_bytes", "read_text", "write_bytes", "write_text", "listdir", "fdopen"}
        others = [path for module, path in MODULES.items() if not module.startswith(OPEN_FILES)]
        assert [place(call, path) for path in others for call in calls(path, opening)] == []

    @pytest.mark.slow
    def test_no_module_runs_text_as_code(self) -> None:
        running = {"eval", "exec", "__import__", "system", "popen", "literal_eval"}
        found = [place(call, path) for path in PROGRAMS for call in calls(path, running)]
        shells = [
            place(call, path)
            for path in PROGRAMS
            for call in calls(path, {"run", "Popen", "call", "check_output"})
            if any(keyword.arg == "shell" for keyword in call.keywords)
        ]
        imported = {
            relative(path)
            for path in PROGRAMS
            for call in calls(path, {"import_module", "import_string"})
            if not isinstance(call.args[0], ast.Constant)
        }
        assert found == shells == []
        assert imported == set(IMPORT_BY_NAME)

    def test_only_known_modules_pass_column_names_in_a_dict(self) -> None:
        """Keys of a record or a request never become a look-up, an alias or `_connector`."""
        found = {
            module
            for module, path in MODULES.items()
            for call in calls(path, TAKE_NAMES)
            if any(keyword.arg is None for keyword in call.keywords)
        }
        assert found == set(NAME_COLUMNS)

    @pytest.mark.slow
    def test_repository_contains_no_secret(self) -> None:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=BASE_DIR, check=True, capture_output=True)
        files = [BASE_DIR / name.decode() for name in listed.stdout.split(b"\0") if name]
        checked = [path for path in files if path.is_file() and not relative(path).startswith("tests/")]
        texts = {relative(path): path.read_text(errors="replace") for path in checked}
        assert {"cognireview/settings.py", ".env.example", "docker-compose.yml"} <= set(texts)
        assert [name for name, text in texts.items() if SECRETS.search(text)] == []
        assert SECRETS.search("SECRET_KEY = 'django-insecure-0123456789'")


class TestNewInstallation:
    def test_each_installation_creates_another_secret_key(self, tmp_path: Path) -> None:
        assert read_or_create(tmp_path / "one") != read_or_create(tmp_path / "another")

    def test_debug_pages_and_proxy_trust_are_off_by_default(self) -> None:
        assert FIELDS["debug"].default is False
        assert FIELDS["trust_proxy"].default is False
        assert FIELDS["secret_key"].default is None

    @pytest.mark.django_db
    def test_new_installation_has_no_account(self) -> None:
        assert not User.objects.exists()


@pytest.mark.django_db
class TestSecondFactor:
    def test_second_factor_secret_is_encrypted_in_the_database(self, ana: User) -> None:
        secret = generate_totp_secret()
        TOTP.activate(ana, secret)
        assert secret not in json.dumps(Authenticator.objects.get().data)

    def test_second_factor_accepts_no_code_under_another_key(self, ana: User, settings: LazySettings) -> None:
        secret = generate_totp_secret()
        TOTP.activate(ana, secret)
        code = f"{hotp_value(secret, next(iter(yield_hotp_counters_from_time()))):06}"
        settings.SECRET_KEY = "another key " * 8
        assert not Authenticator.objects.get().wrap().validate_code(code)


def import_by_form(data: bytes, max: User) -> None:
    upload = jobs.enqueue_import(
        run_name="evaluations", file_name="a.jsonl", blocks=[data], strict=False, actor=max
    )
    jobs.import_upload(import_id=upload.pk)


def import_in_parts(data: bytes, max: User) -> None:
    begun = uploads.begin(
        file_name="a.jsonl", run_name="evaluations", strict=False, size=len(data), actor=max
    )
    for start in range(0, len(data), 100):
        uploads.append(Upload.objects.get(pk=begun.pk), offset=start, data=data[start : start + 100])
    jobs.import_upload(import_id=Import.objects.get().pk)


def import_by_api(data: bytes, max: User) -> None:
    token = api_tokens.create(person=max, scopes=["import"], actor=None).text
    program = Client(headers={"Authorization": f"Bearer {token}"})
    sent = program.post("/api/v1/runs/evaluations/imports", data, content_type="application/x-ndjson")
    assert sent.status_code == 202
    jobs.import_upload(import_id=Import.objects.get().pk)


def import_as_array(data: bytes, max: User) -> None:
    import_data(b"[%b]" % data.strip().replace(b"\n", b","))


IMPORT_PATHS: dict[str, Callable[[bytes, User], object]] = {
    "command": lambda data, _: import_data(data),
    "form": import_by_form,
    "upload in parts": import_in_parts,
    "API": import_by_api,
    "array": import_as_array,
}


@pytest.mark.django_db
@pytest.mark.parametrize("path", IMPORT_PATHS)
@pytest.mark.slow
def test_every_import_path_rejects_the_same_lines(path: str, max: User) -> None:
    """COPY bypasses the validation of models, so the parser has to reject invalid lines on every path."""
    bad = [
        line("eval_2", aggregated_score="fine"),
        line("eval_3", created_at="infinity"),
        line("x" * 600),
        line("eval_4", parsed_rubric_scores=[]),
        line("eval_5", x=rb'"\ud800"'),
    ]
    IMPORT_PATHS[path](file_of(line("eval_1"), *bad), max)
    assert [record.evaluation_id for record in Evaluation.objects.all()] == ["eval_1"]
    rejected = ImportLine.objects.filter(outcome=ImportLine.Outcome.REJECTED).order_by("line")
    assert list(rejected.values_list("line", "field")) == [
        (2, "aggregated_score"),
        (3, "created_at"),
        (4, "evaluation_id"),
        (5, "parsed_rubric_scores"),
        (6, ""),
    ]


def rows(title: str) -> dict[str, list[str]]:
    """Map the promise or incident in each row of a docs/security.md table to its tests."""
    section = SECURITY_TESTS.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (.+?) \| (.+) \|$", section, re.MULTILINE)
    return {name: re.findall(r"`(\S+?)`", tests) for name, tests in found if "`" in tests}


def names_in(path: Path) -> Iterator[str]:
    """Yield the names in a test file as pytest writes them: functions, classes, and `Class::method`."""
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}::{one.name}" for one in node.body if isinstance(one, ast.FunctionDef))


class TestPromises:
    TITLES = ("Promises", "Vulnerabilities of other programs", "Attacks", "Unusual input")

    def test_every_promise_has_tests(self) -> None:
        section = SECURITY.partition("\n## What the program promises\n")[2].partition("\n## ")[0]
        promised = re.findall(r"^- \*\*(.+?)\.?\*\*", section, re.MULTILINE)
        assert len(promised) > 12
        assert list(rows("Promises")) == promised

    @pytest.mark.parametrize("title", TITLES)
    def test_named_tests_exist(self, title: str) -> None:
        named = [test for tests in rows(title).values() for test in tests]
        assert len(rows(title)) > 6
        assert [test for test in named if not self.is_there(test)] == []

    def is_there(self, test: str) -> bool:
        name, _, inside = test.partition("::")
        path = BASE_DIR / "tests" / name
        return path.is_file() and (not inside or inside in set(names_in(path)))

    def test_missing_test_is_found(self) -> None:
        assert self.is_there("test_security.py::TestPromises")
        assert not self.is_there("test_security.py::TestMissing")
        assert not self.is_there("test_missing.py")
