"""A run with an export."""

import pytest

from reviews.exports import jobs, output
from reviews.models import Export, Run, User
from tests.support.lines import file_of, import_data, line

EXPORTED = file_of(line("e-1"), line("e-2"))


@pytest.fixture
def algebra(db: None) -> Run:
    """Return the run "algebra" with two imported records."""
    return import_data(file_of(line("e-1"), b"no record", line("e-2")), run="algebra").target_run


@pytest.fixture
def export(algebra: Run, max: User) -> Export:
    """Return a finished export of all its lines."""
    export = jobs.enqueue(options=output.ExportOptions(algebra), actor=max)
    jobs.build(export_id=export.pk)
    export.refresh_from_db()
    return export
