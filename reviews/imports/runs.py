"""The run that a file goes into, and how the lines of its files are read."""

from django.db import transaction

from reviews.audit import events
from reviews.models import RUN_NAME_LENGTH, Import, Run, User
from reviews.records import mapping
from reviews.records.mapping import FieldMapping
from reviews.storage.errors import ImportRefused


@transaction.atomic
def get_or_create_run(name: str, *, mapping: FieldMapping | None = None, actor: User | None) -> Run:
    """The run of that name, made if there is none; its lines are read by the mapping, if one is given.

    Raises `ImportRefused` for an invalid name, and for a mapping that differs from that of the run's records.
    """
    run, _created = Run.objects.get_or_create(name=clean_run_name(name))
    if mapping is None or run.mapping == mapping.as_json():
        return run
    # Whoever brings a file in meanwhile has the row, and is waited for.
    run = Run.objects.select_for_update().get(pk=run.pk)
    if run.evaluations.exists() or run.imports.filter(state__in=Import.UNFINISHED).exists():
        reason = f"The run {run.name!r} holds records that were read in another way. Name another run."
        raise ImportRefused(reason, "mapping")
    run.mapping = mapping.as_json()
    run.save(update_fields=["mapping"])
    events.record("map run", actor=actor, run=run, mapping=run.mapping)
    return run


def run_mapping(run: Run) -> FieldMapping | None:
    """How the lines of a run are read; None where they are records as they stand."""
    return mapping.mapping_from_json(run.mapping) if run.mapping else None


def clean_run_name(name: str) -> str:
    """A name without the spaces around it. Raises `ImportRefused` for a name that is none."""
    name = name.strip()
    if not name:
        raise ImportRefused("The run needs a name.", "run")
    if len(name) > RUN_NAME_LENGTH or not name.isprintable():
        raise ImportRefused(
            f"A run's name has at most {RUN_NAME_LENGTH} characters, all of them printable.", "run"
        )
    return name
