"""Find or create the run of an import, and its field mapping."""

from django.db import transaction

from reviews.audit import events
from reviews.models import RUN_NAME_LENGTH, Import, Run, User
from reviews.records import mapping
from reviews.records.mapping import FieldMapping
from reviews.rubric.run_rubric import declare_rubric
from reviews.storage.errors import ImportRefused


@transaction.atomic
def get_or_create_run(*, name: str, mapping: FieldMapping | None = None, actor: User | None) -> Run:
    """Return the run of that name, created if necessary. A given mapping becomes the run's mapping.

    Raises `ImportRefused` for an invalid name, and for a mapping that differs from that of the run's records.
    """
    run = find_run(name)
    if run and (mapping is None or run.mapping == mapping.as_json()):
        return run
    if mapping:
        _check_unfinished(name, mapping)
    run, _created = Run.objects.get_or_create(name=name)
    if mapping is None:
        return run
    # Waits for a concurrent import, which has locked the row.
    run = Run.objects.select_for_update().get(pk=run.pk)
    if run.evaluations.exists() or run.imports.filter(state__in=Import.UNFINISHED).exists():
        reason = (
            f"The run {run.name!r} has records that were read with another mapping. Choose another run, or "
            "read its files again with this mapping: manage.py reread_run, or Mapping in the run's settings."
        )
        raise ImportRefused(reason, "mapping")
    run.mapping = mapping.as_json()
    run.save(update_fields=["mapping"])
    events.record("map run", actor=actor, run=run, mapping=run.mapping)
    if mapping.rubric and not run.is_rubric_declared:
        return declare_rubric(run_id=run.pk, actor=actor, rubric=mapping.rubric)
    return run


def _check_unfinished(name: str, mapping: FieldMapping) -> None:
    """Raise `ImportRefused` if a file is being imported into a new run of that name with another mapping.

    Called before the name is inserted, because the insert waits for a job that creates the run.
    """
    into_new_run = Import.objects.filter(run=None, run_name=name, state__in=Import.UNFINISHED)
    if into_new_run.exclude(mapping=mapping.as_json()).exists():
        raise ImportRefused(
            f"A file is being imported into the run {name!r} without this mapping.", "mapping"
        )


def find_run(name: str) -> Run | None:
    """Return the run of that name, if there is one, to import into.

    Raises `ImportRefused` for an invalid name, and for an archived run.
    """
    check_run_name(name)
    run = Run.objects.filter(name=name).first()
    if run:
        check_open(run)
    return run


def check_open(run: Run) -> None:
    """Raise `ImportRefused` if the run is archived or is being deleted."""
    if run.deletion_requested_at:
        raise ImportRefused(f"The run {run.name!r} is being deleted. Try again in a moment.", "run")
    if run.archived_at:
        reason = f"The run {run.name!r} is archived. Unarchive it first, or choose another name."
        raise ImportRefused(reason, "run")


def run_mapping(run: Run) -> FieldMapping | None:
    """Return the mapping for the run's lines, or None if they are records already."""
    return mapping.mapping_from_json(run.mapping) if run.mapping else None


def check_run_name(name: str) -> None:
    """Raise `ImportRefused` for an invalid name.

    Spaces around a name are refused, not removed: the address of the API that created the run would not find
    it.
    """
    if not name.strip():
        raise ImportRefused("Enter a name for the run.", "run")
    if len(name) > RUN_NAME_LENGTH or not name.isprintable():
        raise ImportRefused(f"A run's name has at most {RUN_NAME_LENGTH} printable characters.", "run")
    if "/" in name or name in {".", ".."}:
        reason = "A run's name is part of addresses: it contains no slash (/), and is not “.” or “..”."
        raise ImportRefused(reason, "run")
    if name != name.strip():
        raise ImportRefused("A run's name does not begin or end with a space.", "run")
