"""Scripts are modules; in production their imports name hashed files."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.staticfiles.storage import staticfiles_storage

from cognireview import settings as production
from cognireview.web import static_files

OWN_SCRIPTS = sorted(
    path for path in (django_settings.BASE_DIR / "static").rglob("*.js") if "vendor" not in path.parts
)
IMPORT = re.compile(r"""^import\b[^;]*?["'](\.[^"']+)["'];$""", re.MULTILINE)


@pytest.fixture
def collected(tmp_path: Path, settings: Any) -> Path:
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STORAGES = django_settings.STORAGES | {"staticfiles": production.STORAGES["staticfiles"]}
    settings.WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ["css", "html", "js", "json", "map", "svg", "txt", "woff2"]
    static_files.collect()
    return tmp_path / "static"


@pytest.mark.slow
def test_imports_name_hashed_files(collected: Path) -> None:
    for script in OWN_SCRIPTS:
        name = script.relative_to(django_settings.BASE_DIR / "static").as_posix()
        hashed = collected / staticfiles_storage.url(name).removeprefix(django_settings.STATIC_URL)
        targets = IMPORT.findall(hashed.read_text())
        assert len(targets) == len(IMPORT.findall(script.read_text()))
        for target in targets:
            assert re.search(r"\.[0-9a-f]{12}\.js$", target), (name, target)
            assert (hashed.parent / target).exists(), (name, target)


@pytest.mark.parametrize("script", OWN_SCRIPTS, ids=lambda path: path.name)
def test_scripts_share_no_globals(script: Path) -> None:
    source = script.read_text()
    assert not re.search(r"\bwindow\.\w+ = |\bglobalThis\b|\(function \(\)", source)
    vendored = {"htmx", "katex", "tus"}
    browser = {"addEventListener", "close", "location", "matchMedia", "scrollTo", "PublicKeyCredential"}
    assert set(re.findall(r"\bwindow\.(\w+)", source)) <= vendored | browser
