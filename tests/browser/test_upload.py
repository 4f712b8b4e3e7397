"""Chunked uploads: lost connections, pause, resume, cancel."""

import hashlib
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from reviews.models import Import, Upload, User
from tests.browser.conftest import start_session
from tests.browser.screen import wait_for
from tests.support import judge_files
from tests.support.lines import file_of, line

PIECE = 256 * 1024
SCRIPT = settings.BASE_DIR / "static" / "upload.js"
# Constants of the script, and those of these tests: a file of two chunks, and attempts that soon follow.
CHANGES = {"16 * 1024 * 1024": str(PIECE), "[0, 1000, 3000,": "[0, 100, 300,"}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def page(page: Page, request: pytest.FixtureRequest) -> Page:
    """A page with small chunks, except in the test of their size."""
    if request.function is test_upload_sends_chunks_of_16_mebibytes:
        return page
    script = SCRIPT.read_text()
    for constant, changed in CHANGES.items():
        assert constant in script
        script = script.replace(constant, changed)
    page.route("**/upload.js", lambda route: route.fulfill(body=script, content_type="text/javascript"))
    return page


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file slightly larger than one chunk."""
    return larger_than(PIECE, tmp_path_factory.mktemp("large"))


def larger_than(size: int, folder: Path) -> Path:
    path, text = folder / "algebra.jsonl", "word " * 1_000
    lines = (line(f"eval_{number}", raw_judge_output=text) for number in range(1 + size // len(text)))
    path.write_bytes(file_of(*lines))
    assert size < path.stat().st_size < 2 * size
    return path


class Cable:
    """Counts the chunks sent. While cut, only the first chunk goes through."""

    def __init__(self, page: Page, *, cuts: int) -> None:
        self.offsets: list[int] = []
        self.cuts = cuts
        page.route("**/uploads/*/", self.carry)

    def carry(self, route: Route) -> None:
        if route.request.method == "PATCH":
            self.offsets.append(int(route.request.headers["upload-offset"]))
            if self.offsets[-1] and self.cuts:
                self.cuts -= 1
                route.abort("connectionreset")
                return
        route.continue_()


def choose(page: Page, url: str, file: Path) -> None:
    page.goto(f"{url}/import/")
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Import", exact=True).click()


def expect_import_of(page: Page, file: Path) -> None:
    wait_for(page, "h1", f"Import of {file.name}")
    upload = Import.objects.get()
    assert (upload.size, upload.sha256) == (
        file.stat().st_size,
        hashlib.sha256(file.read_bytes()).hexdigest(),
    )


def test_upload_resumes_after_a_lost_connection(
    page: Page, live_server: LiveServer, max: User, large: Path
) -> None:
    start_session(page, live_server.url, max)
    cable = Cable(page, cuts=2)
    choose(page, live_server.url, large)
    expect_import_of(page, large)
    assert cable.offsets == [0, PIECE, PIECE, PIECE]


@pytest.mark.exhaustive
def test_upload_sends_chunks_of_16_mebibytes(
    page: Page, live_server: LiveServer, max: User, tmp_path: Path
) -> None:
    file = larger_than(16 * 1024**2, tmp_path)
    start_session(page, live_server.url, max)
    cable = Cable(page, cuts=0)
    choose(page, live_server.url, file)
    expect_import_of(page, file)
    assert cable.offsets == [0, 16 * 1024**2]


@pytest.mark.exhaustive
def test_upload_resumes_when_the_file_is_chosen_again(
    page: Page, live_server: LiveServer, max: User, large: Path
) -> None:
    start_session(page, live_server.url, max)
    cable = Cable(page, cuts=1000)
    choose(page, live_server.url, large)
    page.get_by_role("button", name="Pause").wait_for()
    while not Upload.objects.filter(offset=PIECE).exists():
        page.wait_for_timeout(50)
    page.goto(f"{live_server.url}/password/")
    cable.cuts = 0
    cable.offsets.clear()
    choose(page, live_server.url, large)
    expect_import_of(page, large)
    assert cable.offsets == [PIECE]


def test_upload_can_be_cancelled_paused_and_resumed(
    page: Page, live_server: LiveServer, max: User, large: Path
) -> None:
    start_session(page, live_server.url, max)
    cable = Cable(page, cuts=1000)
    choose(page, live_server.url, large)
    while not Upload.objects.filter(offset=PIECE).exists():
        page.wait_for_timeout(50)
    page.get_by_role("button", name="Cancel upload").click()
    expect(page.get_by_text("Upload cancelled.")).to_be_visible()
    assert not Upload.objects.exists()
    choose(page, live_server.url, large)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused")).to_be_visible()
    cable.cuts = 0
    page.get_by_role("button", name="Resume").click()
    expect_import_of(page, large)


@pytest.mark.exhaustive
def test_refused_file_shows_the_reason_and_one_of_a_known_tool_waits_for_confirmation(
    page: Page, live_server: LiveServer, max: User, tmp_path: Path
) -> None:
    wide, known = tmp_path / "wide.jsonl", tmp_path / "gpt-4_single.jsonl"
    wide.write_bytes("{}".encode("utf-16"))
    known.write_bytes(judge_files.mt_bench_lines())
    start_session(page, live_server.url, max)
    choose(page, live_server.url, wide)
    expect(page.get_by_text("The file is UTF-16.")).to_be_visible()
    expect(page.get_by_label("File", exact=True)).to_be_visible()
    choose(page, live_server.url, known)
    expect(page.get_by_text("Nothing is imported yet.")).to_be_visible()
    expect(page.get_by_role("cell", name="Rating: 6.5")).to_be_visible()
    assert not Import.objects.exists()
    page.get_by_role("button", name="Import with this mapping").click()
    expect_import_of(page, known)
