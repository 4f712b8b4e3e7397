"""Import, review and export of one record."""

from pathlib import Path

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from reviews.exports.verify_export import compare
from reviews.exports.verify_receipt import ComparedFile
from reviews.models import Evaluation, User
from reviews.records.schema import HUMAN_FIELDS
from tests.browser.conftest import log_in
from tests.support import samples
from tests.support.lines import import_data

pytestmark = pytest.mark.django_db(transaction=True)

# Every day, other tests import and export the public sample as it is.
GENERATED, _public = samples.SAMPLES
PUBLIC = pytest.param(*_public.values, id=_public.id, marks=[*_public.marks, pytest.mark.exhaustive])


@pytest.fixture
def original(db: None, sample: bytes, tmp_path: Path) -> Path:
    """A sample file, imported into the run `sample`."""
    path = tmp_path / "original.jsonl"
    path.write_bytes(sample)
    import_data(sample, run="sample")
    return path


@pytest.mark.parametrize("sample", [GENERATED, PUBLIC], indirect=True)
def test_import_review_and_export_change_only_the_reviewed_line(
    page: Page, live_server: LiveServer, ana: User, original: Path
) -> None:
    log_in(page, live_server.url, ana)
    page.get_by_role("button", name="Start reviewing").first.click()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert Evaluation.objects.get(claimed_by=ana).task_id == "5491"

    page.keyboard.press("2")
    page.keyboard.press("p")
    third = page.get_by_role("group", name="accuracy of intermediate results")
    third.get_by_role("radio", name="Partial").click()
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    page.keyboard.type("The second step is only sketched.")
    first = page.get_by_role("heading", level=1).inner_text()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).not_to_have_text(first)
    expect(page.get_by_role("status")).to_contain_text("submitted")

    exported = original.with_name("exported.jsonl")
    call_command("export_run", "sample", output=str(exported))
    result = compare([ComparedFile(original).lines], ComparedFile(exported).lines())
    assert (result.identical, result.changed) == (74, 1)
    assert result.changed_keys == list(HUMAN_FIELDS)
    assert result.holds
