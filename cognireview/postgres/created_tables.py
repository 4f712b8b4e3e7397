"""Create the tables of an app in one step of its first migration."""

from collections.abc import Sequence

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddConstraint, AddField, AddIndex, CreateModel, RunSQL
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

# A table is created with everything that these add to its model.
_PARTS = (AddConstraint, AddField, AddIndex)


class CreateTables(Operation):
    """Operations that create tables, with the SQL that the tables need.

    One by one, each operation would make Django build the classes of nearly all models again.
    """

    reversible = False

    def __init__(self, operations: Sequence[Operation]) -> None:
        for one in operations:
            if not isinstance(one, (CreateModel, RunSQL, *_PARTS)):
                raise TypeError(f"{one.describe()}: only tables are created here.")
        self.operations = operations

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        vars(state).pop("apps", None)
        for one in self.operations:
            one.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for one in self.operations:
            if not isinstance(one, _PARTS):
                one.database_forwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Create {sum(isinstance(one, CreateModel) for one in self.operations)} tables"
