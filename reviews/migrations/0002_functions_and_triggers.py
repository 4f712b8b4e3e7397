"""The functions and triggers, frozen as they were: reviews/database/sql has the current ones."""

from pathlib import Path
from typing import ClassVar

from django.db import migrations

_SQL = Path(__file__).with_suffix(".sql")


class Migration(migrations.Migration):
    dependencies: ClassVar = [("reviews", "0001_initial")]
    operations: ClassVar = [migrations.RunSQL(_SQL.read_text(), migrations.RunSQL.noop)]
