"""Front-end packages, static files and the wheel."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.contrib.staticfiles import finders

from cognireview import environment
from cognireview.environment import BASE_DIR
from cognireview.web import static_files
from reviews.imports.shipped_mappings import BY_NAME

SETTINGS = "cognireview.settings"


class TestFrontEndPackages:
    def test_packages_are_locked_by_hash_without_download_addresses(self) -> None:
        packages = json.loads((BASE_DIR / "package-lock.json").read_text())["packages"]
        fetched = {name: package for name, package in packages.items() if name}
        assert {"node_modules/katex", "node_modules/tus-js-client"} <= set(fetched)
        assert all(package["integrity"].startswith("sha512-") for package in fetched.values())
        assert not any("resolved" in package for package in fetched.values())

    def test_packages_are_where_pages_load_them(self) -> None:
        assert static_files.missing_packages() == []
        for name in ("katex/katex.min.js", "katex/katex.min.css", "tus-js-client/tus.min.js"):
            assert finders.find(f"vendor/{name}")

    def test_packages_refer_to_existing_files_only(self) -> None:
        vendor = BASE_DIR / "static" / "vendor"
        css = (vendor / "katex" / "katex.min.css").read_text()
        fonts = set(re.findall(r"url\(([^)]+)\)", css))
        assert fonts
        assert {font for font in fonts if not (vendor / "katex" / font).exists()} == set()
        assert [path for path in vendor.rglob("*.min.js") if "sourceMappingURL" in path.read_text()] == []

    def test_packages_are_not_in_git(self) -> None:
        assert {"/static/vendor/", "/tests/vendor/", "/node_modules/"} <= set(
            (BASE_DIR / ".gitignore").read_text().split()
        )


class TestStaticFiles:
    @pytest.fixture
    def static_root(self, tmp_path: Path, settings: Any) -> Path:
        settings.STATIC_ROOT = tmp_path / "static"
        return tmp_path / "static"

    def test_unchanged_files_are_not_collected_again(self, static_root: Path) -> None:
        reported: list[str] = []
        static_files.collect(reported.append)
        (static_root / "css/tokens.css").unlink()
        static_files.collect(reported.append)
        assert not (static_root / "css/tokens.css").exists()
        assert reported == ["Collecting static files..."]

    def test_files_are_collected_again_after_a_change(
        self, static_root: Path, settings: Any, tmp_path: Path
    ) -> None:
        static_files.collect()
        (tmp_path / "more").mkdir()
        (tmp_path / "more" / "new.css").touch()
        settings.STATICFILES_DIRS = [*settings.STATICFILES_DIRS, tmp_path / "more"]
        static_files.collect()
        assert (static_root / "new.css").exists()

    def test_unused_files_are_not_collected(self, static_root: Path) -> None:
        static_files.collect()
        assert (static_root / "django_htmx" / "htmx-2.min.js").exists()
        assert not list(static_root.glob("django_htmx/htmx-4*"))
        assert not (static_root / "django_htmx" / "ext").exists()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as `uv build --wheel` does."""
    uv = os.environ.get("UV") or shutil.which("uv")
    assert uv, "uv builds the package, so the tests need it."
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", folder, BASE_DIR], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the wheel as an installer does, and return the folder."""
    folder = tmp_path_factory.mktemp("site-packages")
    with ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


def ask(installed: Path, program: str, cwd: Path, **variables: str) -> list[str]:
    """Run a program against the installed package in the given folder and return its output lines."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("COGNIREVIEW_")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=cwd,
        env={**ours, **variables, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def files_below(folder: str) -> set[str]:
    """Return the files of a folder, relative to the checkout."""
    return {
        str(path.relative_to(BASE_DIR))
        for path in (BASE_DIR / folder).rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


@pytest.mark.exhaustive
class TestWheel:
    def test_wheel_contains_templates_and_static_files_including_npm_packages(self, installed: Path) -> None:
        package = installed / "cognireview"
        found = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
        wanted = files_below("templates") | files_below("static") | {"package.json"}
        assert {"static/vendor/katex/katex.min.js", "templates/base.html"} <= wanted
        assert wanted - found == set()

    def test_wheel_contains_the_code_without_tests(self, installed: Path) -> None:
        top = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}
        assert top == {"cognireview", "reviews"}
        assert [path for path in installed.rglob("*") if path.name in {"tests", "conftest.py", ".env"}] == []
        modules = {str(path.relative_to(BASE_DIR)) for path in (BASE_DIR / "reviews").rglob("*.py")}
        assert modules <= {str(path.relative_to(installed)) for path in installed.rglob("*.py")}

    def test_wheel_contains_the_shipped_mappings(self, installed: Path, tmp_path: Path) -> None:
        program = (
            "from reviews.imports.shipped_mappings import SHIPPED; "
            "print(*(shipped.name for shipped in SHIPPED if shipped.read().fields), sep='\\n')"
        )
        assert ask(installed, program, tmp_path) == list(BY_NAME)

    def test_wheel_contains_the_client_and_its_types(self, installed: Path) -> None:
        found = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}
        modules = {str(path.relative_to(BASE_DIR)) for path in (BASE_DIR / "cognireview").rglob("*.py")}
        assert "cognireview/client/areas/run.py" in modules
        assert modules | {"cognireview/py.typed"} <= found

    def test_wheel_installs_the_command(self, installed: Path) -> None:
        scripts = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["scripts"]
        assert scripts == {"cognireview": "cognireview.__main__:main"}
        (points,) = installed.glob("*.dist-info/entry_points.txt")
        assert points.read_text().strip() == "[console_scripts]\ncognireview = cognireview.__main__:main"

    def test_installed_program_finds_its_files_in_the_package_and_data_in_the_current_folder(
        self, installed: Path, tmp_path: Path
    ) -> None:
        (tmp_path / ".env").write_text("COGNIREVIEW_WEB_WORKERS=2\n")
        program = """
            from django.conf import settings
            from cognireview import environment
            from cognireview.web import static_files
from reviews.imports.shipped_mappings import BY_NAME
            import django
            django.setup()
            from django.template.loader import get_template
            print(get_template("base.html").origin.name, settings.STATICFILES_DIRS[0], settings.DATA_DIR)
            print(settings.ENVIRONMENT.web_workers, environment.PROGRAM, static_files.missing_packages())
        """
        lines = ask(
            installed,
            "\n".join(map(str.strip, program.splitlines())),
            tmp_path,
            DJANGO_SETTINGS_MODULE=SETTINGS,
        )
        package = installed / "cognireview"
        assert lines == [
            f"{package / 'templates' / 'base.html'} {package / 'static'} {tmp_path / 'var'}",
            "2 cognireview []",
        ]

    def test_installed_program_keeps_data_in_the_configured_folder(
        self, installed: Path, tmp_path: Path
    ) -> None:
        program = "from cognireview import settings; print(settings.DATA_DIR)"
        assert ask(installed, program, tmp_path, COGNIREVIEW_DATA_DIR="data") == [str(tmp_path / "data")]


class TestCheckout:
    def test_checkout_has_its_files_and_data_next_to_the_package(self) -> None:
        assert not environment.IS_INSTALLED
        assert environment.FILES_DIR == environment.BASE_DIR == Path(__file__).resolve().parent.parent
        assert environment.PROGRAM == "manage.py"
        assert (environment.BASE_DIR / environment.PROGRAM).exists()
