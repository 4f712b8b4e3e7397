"""A generator that holds a transaction never ends another one, wherever and whenever it is collected."""

import ast
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections, transaction

from cognireview.environment import BASE_DIR
from reviews.exports import jobs, jsonl
from reviews.exports.output import ExportOptions
from reviews.imports import importer
from reviews.imports import jobs as import_jobs
from reviews.models import Evaluation, Import, ImportLine, Run, User
from tests.support.lines import file_of, import_data, line

# Four of these are more than a piece of a file.
LONG = "long " * 60_000
DATA = file_of(*(line(f"eval_{number}", verification_message=LONG) for number in range(12)))


class Stopped(Exception):
    """The consumer of a generator stops early."""


@pytest.fixture
def elsewhere() -> Iterator[ThreadPoolExecutor]:
    """Another thread, with a connection of its own."""
    with ThreadPoolExecutor(1) as thread:
        yield thread
        thread.submit(connections.close_all).result()


@pytest.fixture
def abandoned(elsewhere: ThreadPoolExecutor) -> Iterator[bytes]:
    """An export that was begun in another thread and is in the middle of its transaction."""
    import_data(DATA)
    blocks = jsonl.export_lines(Run.objects.get())
    elsewhere.submit(next, blocks).result()
    return blocks


@pytest.mark.django_db(transaction=True)
class TestAbandonedGenerator:
    @pytest.mark.slow
    def test_closed_generator_keeps_the_transaction_of_another_thread(
        self, abandoned: Iterator[bytes]
    ) -> None:
        with transaction.atomic():
            with transaction.atomic():
                Run.objects.create(name="kept")
                abandoned.close()  # type: ignore[attr-defined]
                assert connection.in_atomic_block
            Run.objects.create(name="kept too")
        assert Run.objects.filter(name__startswith="kept").count() == 2

    @pytest.mark.slow
    def test_closed_generator_loses_no_line_of_an_import(self, max: User, abandoned: Iterator[bytes]) -> None:
        upload = import_jobs.enqueue_import(
            run_name="other",
            file_name="a.jsonl",
            blocks=[DATA.replace(b"eval_", b"new_")],
            strict=False,
            actor=max,
        )

        def progress(_bytes: int, counts: dict[str, int]) -> None:
            if counts["new"]:
                abandoned.close()  # type: ignore[attr-defined]

        import_jobs.import_upload(import_id=upload.pk, progress=progress)
        upload.refresh_from_db()
        assert (upload.state, upload.new) == (Import.State.DONE, 12)
        assert Evaluation.objects.filter(first_import=upload).count() == 12

    @pytest.mark.slow
    def test_closed_generator_ends_its_transaction(
        self, abandoned: Iterator[bytes], elsewhere: ThreadPoolExecutor
    ) -> None:
        abandoned.close()  # type: ignore[attr-defined]
        assert not elsewhere.submit(lambda: connection.in_atomic_block).result()
        assert elsewhere.submit(Run.objects.count).result() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_export_of_a_stopped_job_ends_its_transaction(max: User) -> None:
    import_data(DATA)
    export = jobs.enqueue(options=ExportOptions(Run.objects.get()), actor=max)

    def stop() -> None:
        raise Stopped

    # As long as the error is kept, so are the frames behind it.
    with pytest.raises(Stopped) as kept:
        jobs.build(export_id=export.pk, check_in=stop)
    assert not connection.in_atomic_block
    assert kept.value.__traceback__


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("model", [ImportLine, Evaluation])
def test_import_that_lost_rows_fails_completely(model: type[ImportLine | Evaluation], max: User) -> None:
    import_data(file_of(line("eval_1")))
    data = file_of(line("eval_1"), line("eval_2"))
    upload = import_jobs.enqueue_import(
        run_name="evaluations", file_name="a.jsonl", blocks=[data], strict=False, actor=max
    )

    def lose(_bytes: int, _counts: dict[str, int]) -> None:
        place = "source" if model is ImportLine else "first_import"
        model.objects.filter(**{place: upload}).delete()

    with pytest.raises(importer.Incomplete, match="wrote"):
        import_jobs.import_upload(import_id=upload.pk, progress=lose)
    upload.refresh_from_db()
    assert (upload.state, Evaluation.objects.count()) == (Import.State.QUEUED, 1)


def generators_in_atomic(source: str) -> list[str]:
    """The names of generators that yield inside of Django's own `atomic`."""
    found: list[str] = []
    if "atomic(" not in source or "yield" not in source:
        return found
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or "contextmanager" in map(
            ast.unparse, function.decorator_list
        ):
            continue
        for block in ast.walk(function):
            is_atomic = isinstance(block, ast.With) and any(
                "atomic(" in ast.unparse(item) for item in block.items
            )
            if is_atomic and any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(block)):
                found.append(function.name)
    return found


@pytest.mark.slow
def test_generators_use_no_other_kind_of_transaction() -> None:
    files = [path for folder in ("reviews", "cognireview") for path in (BASE_DIR / folder).rglob("*.py")]
    assert {path.name: found for path in files if (found := generators_in_atomic(path.read_text()))} == {}
    assert generators_in_atomic("def lines():\n with transaction.atomic():\n  yield 1") == ["lines"]
