"""Files that were cut at any byte, and have grown since."""

from contextlib import suppress

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from reviews.storage.errors import ImportRefused
from tests.support.lines import export_data, file_of, import_data, line

pytestmark = pytest.mark.django_db


@pytest.mark.slow
@examples(max_examples=5, deadline=None)
@given(
    lines=st.lists(
        st.sampled_from([b"", b"\r", b"no record"])
        | st.integers(1, 6).map(lambda number: line(f"eval_{number}")),
        min_size=1,
        max_size=8,
    ),
    size=st.integers(1, 8000),
)
def test_grown_file_has_the_same_records_as_one_import(lines: list[bytes], size: int) -> None:
    data = file_of(*lines, line("eval_0"))
    with transaction.atomic():
        import_data(data, run="at once")
        at_once = export_data(run="at once")
        transaction.set_rollback(True)
    with transaction.atomic():
        with suppress(ImportRefused), transaction.atomic():
            import_data(data[:size], run="grown")
        import_data(data, run="grown")
        grown = export_data(run="grown")
        transaction.set_rollback(True)
    assert grown == at_once
