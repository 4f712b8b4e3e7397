"""Order of a run's files: by commit, even if a worker's clock goes back."""

import datetime as dt
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from reviews.database.statements import execute
from reviews.exports import verify_receipt
from reviews.exports.verify_export import compare
from reviews.history import timeline
from reviews.imports import jobs
from reviews.models import Import, Run, User
from reviews.records.schema import Limits
from tests.support.factories import ImportFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.receipts import exported
from tests.support.work import decide

pytestmark = pytest.mark.django_db

FIRST, SECOND = file_of(line("eval_a"), line("eval_b")), file_of(line("eval_c"))
# Begins like the first file.
GROWN = file_of(line("eval_a"), line("eval_b"), line("eval_d"))


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Shift the clock of this worker by so many seconds."""
    true = timezone.now

    def set_(seconds: int) -> None:
        monkeypatch.setattr(timezone, "now", lambda: true() + dt.timedelta(seconds=seconds))

    return set_


@pytest.fixture
def run(set_clock: Callable[[int], None]) -> Run:
    """Import two files. Between them the clock goes back by an hour."""
    run = import_data(FIRST).target_run
    set_clock(-3600)
    import_data(SECOND)
    first, second = Import.objects.order_by("pk")
    assert first.finished_at
    assert second.finished_at
    assert first.finished_at > second.finished_at
    return run


@pytest.mark.slow
def test_clock_that_steps_back_leaves_the_order_of_an_export(run: Run) -> None:
    assert [kept.sequence for kept in run.files] == [1, 2]
    assert export_data() == FIRST + SECOND


def test_clock_that_is_set_in_the_table_leaves_the_order_of_an_export(run: Run) -> None:
    for kept in run.files:
        Import.objects.filter(pk=kept.pk).update(finished_at=timezone.now() - dt.timedelta(days=kept.pk))
    assert export_data() == FIRST + SECOND


@pytest.mark.slow
def test_export_of_files_with_clocks_in_reverse_is_verified(run: Run, ana: User) -> None:
    [record] = run.evaluations.filter(evaluation_id="eval_c")
    decide(record, ana)
    originals = [partial(BytesIO, data) for data in (FIRST, SECOND)]
    found = compare(originals, BytesIO(export_data()), Limits())
    assert found.problems == []


@pytest.mark.slow
def test_file_that_grew_repeats_the_file_it_began_with(run: Run, set_clock: Callable[[int], None]) -> None:
    set_clock(-7200)
    assert import_data(GROWN).repeated_lines == 2
    assert export_data() == FIRST + SECOND + file_of(line("eval_d"))


@pytest.mark.slow
def test_receipt_names_the_files_in_the_order_of_the_export(run: Run, tmp_path: Path) -> None:
    data, receipt = exported()
    assert [each["import_id"] for each in receipt["inputs"]] == [*run.files.values_list("pk", flat=True)]
    paths = [tmp_path / name for name in ("first", "second", "out")]
    for path, content in zip(paths, (FIRST, SECOND, data), strict=True):
        path.write_bytes(content)
    *originals, out = paths
    assert verify_receipt.verify_files(receipt, originals, out, Limits()).problems == []


@pytest.mark.slow
def test_upload_that_is_imported_last_comes_last(ana: User, max: User) -> None:
    early = jobs.enqueue_import(
        run_name="evaluations", file_name="a.jsonl", blocks=[FIRST], strict=False, actor=max
    )
    import_data(SECOND)
    jobs.import_upload(import_id=early.pk)
    early.refresh_from_db()
    assert early.sequence == 2
    assert export_data() == SECOND + FIRST


def test_only_finished_imports_have_a_place() -> None:
    run = Run.objects.create(name="places")
    states = [Import.State.DONE, Import.State.FAILED, Import.State.QUEUED, Import.State.DONE]
    made = [ImportFactory.create(run=run, state=state) for state in states]
    for one in made:
        one.refresh_from_db()
    assert [one.sequence for one in made] == [1, None, None, 2]
    other = ImportFactory.create()
    other.refresh_from_db()
    assert other.sequence == 1


@pytest.mark.slow
def test_place_of_a_finished_import_never_changes(run: Run) -> None:
    first = run.files[0]
    Import.objects.filter(pk=first.pk).update(sequence=7)
    first.sequence = None
    first.save()
    first.refresh_from_db()
    assert first.sequence == 1


def test_two_imports_cannot_have_one_place(run: Run) -> None:
    execute("ALTER TABLE import DISABLE TRIGGER import_is_numbered")
    with pytest.raises(IntegrityError), transaction.atomic():
        Import.objects.filter(run=run).update(sequence=1)


@pytest.mark.slow
def test_history_of_a_record_keeps_the_order_of_its_files(
    run: Run, set_clock: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for hours, score in ((-2, "Fail"), (-3, "Partial")):
        set_clock(hours * 3600)
        import_data(file_of(line("eval_a", aggregated_score=score)))
    record = run.evaluations.get(evaluation_id="eval_a")
    monkeypatch.setattr(timeline, "PAGE_SIZE", 2)
    found, after = [], ""
    for _ in range(2):
        page = timeline.load_page(record, after=after)
        found += [entry.source.sequence for entry in page.rows if entry.source]
        after = page.next_after
    assert (found, after) == ([4, 3, 1], "")
