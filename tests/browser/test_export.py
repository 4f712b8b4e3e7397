"""An export in a browser, from the form to the download."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.exports import jobs, verify_receipt
from reviews.models import Evaluation, Export, User
from reviews.records.schema import Limits
from tests.browser.conftest import start_session
from tests.support.lines import file_of, import_data, line
from tests.support.threads import together
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)

FILE = file_of(line("eval_a"), line("eval_b"))


def build() -> None:
    """Run the export job in another thread."""
    together(lambda: jobs.build(export_id=Export.objects.get().pk))


def save(page: Page, name: str, path: Path) -> Path:
    """Click a link and save the download."""
    with page.expect_download() as started:
        page.get_by_role("link", name=name).click()
    started.value.save_as(path)
    return path


def test_export_is_built_and_downloaded_with_its_receipt(
    page: Page, live_server: LiveServer, lea: User, ana: User, tmp_path: Path
) -> None:
    run = import_data(FILE, run="algebra").target_run
    decide(Evaluation.objects.get(evaluation_id="eval_b"), ana)
    start_session(page, live_server.url, lea)
    page.goto(f"{live_server.url}/runs/{run.pk}/")
    page.get_by_role("link", name="Export options").click()
    page.get_by_label("Compression").select_option("gzip")
    page.get_by_role("button", name="Build file").click()
    expect(page.get_by_role("heading", name="Building file")).to_be_visible()

    build()
    expect(page.get_by_role("heading", name="Your file is ready")).to_be_visible()

    original = tmp_path / "original.jsonl"
    original.write_bytes(FILE)
    exported = save(page, "Download", tmp_path / "algebra.jsonl.gz")
    receipt = verify_receipt.read_receipt(save(page, "Receipt", tmp_path / "receipt.json"))
    result = verify_receipt.verify_files(receipt, [original], exported, Limits())
    assert (result.problems, result.identical, result.changed) == ([], 1, 1)


@pytest.mark.exhaustive
def test_export_page_does_not_scroll_sideways(page: Page, live_server: LiveServer, lea: User) -> None:
    run = import_data(FILE, run="a" * 200).target_run
    start_session(page, live_server.url, lea)
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{live_server.url}/runs/{run.pk}/export/")
        assert page.evaluate("document.documentElement.scrollWidth") == width
    page.get_by_role("button", name="Build file").click()
    build()
    expect(page.get_by_role("heading", name="Your file is ready")).to_be_visible()
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 320
