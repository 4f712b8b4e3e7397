"""The functions and triggers of reviews/database/sql, except those that 0001 needs.

The first release replaces the files by a copy of them here, and a later change gets a migration of its own.
"""

from pathlib import Path
from typing import ClassVar

from django.db import migrations

from reviews import database

_FILES = sorted(Path(database.__path__[0], "sql").glob("*.sql"))
_OF_0001 = {"has_answer", "share_position"}


class Migration(migrations.Migration):
    dependencies: ClassVar = [("reviews", "0001_initial")]
    operations: ClassVar = [
        migrations.RunSQL(path.read_text(), migrations.RunSQL.noop)
        for path in _FILES
        if path.stem not in _OF_0001
    ]
