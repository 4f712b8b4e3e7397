"""Notify people and webhooks of events in the audit log, in the order in which events were sealed.

No package has to know about notifications. The position in the log advances in the transaction that creates
the notifications, so each event is notified once, even if a worker dies.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Q
from django.urls import reverse

from cognireview.operations import mail
from reviews.accounts.permissions import people_in
from reviews.audit.log import chain_head
from reviews.models import AuditEvent, Escalation, Evaluation, Notification, NotifiedEvents, Run, User
from reviews.notifications.event_types import EVENTS, When, choice, due_at
from reviews.webhooks import deliveries

# Seals per transaction.
_BATCH = 2_000
_LONGEST_QUOTE = 300
_ANSWERED = {
    Escalation.Outcome.RETURNED: "answered your question about",
    Escalation.Outcome.DECIDED: "decided your question by a review of",
    Escalation.Outcome.CLOSED: "closed without scores",
    Escalation.Outcome.UPHELD: "kept the decision on",
}


class Occurrence(NamedTuple):
    """Something of which people and webhooks are notified, or webhooks only (without people)."""

    event: str
    people: Iterable[User]
    text: str
    path: str
    #: More values for webhooks.
    data: dict[str, Any]


def notify_of_next_events() -> bool:
    """Notify of the next events of the audit log. Return whether there may be more."""
    with transaction.atomic():
        NotifiedEvents.objects.get_or_create(pk=1)
        done = NotifiedEvents.objects.select_for_update().get(pk=1)
        last = min(chain_head().position, done.position + _BATCH)
        if last == done.position:
            return False
        # Otherwise the worker would import all pages for the links to them.
        if mail.is_set_up() or deliveries.has_webhooks():
            _notify_of_seals(done.position, last)
        done.position = last
        done.save(update_fields=["position"])
    return True


def _notify_of_seals(after: int, last: int) -> None:
    sealed = AuditEvent.objects.filter(
        seal__position__gt=after, seal__position__lte=last, action__in=_OCCURRENCES
    )
    for event in sealed.select_related("run", "actor", "evaluation", "source").order_by("seal__position"):
        _notify(event)


def _notify(event: AuditEvent) -> None:
    # The keys of a deleted run stay in the log.
    run = Run.objects.filter(pk=event.run_id, deletion_requested_at=None).first() if event.run_id else None
    if event.run_id and run is None:
        return
    for one in _OCCURRENCES[event.action](event, run):
        if mail.is_set_up():
            Notification.objects.bulk_create(
                Notification(
                    person=person,
                    event=one.event,
                    run=run,
                    text=one.text,
                    path=one.path,
                    due_at=due_at(choice(person, one.event)),
                )
                for person in one.people
                if person.email and choice(person, one.event) != When.OFF
            )
        data = {"run": run.name if run else None, "text": one.text, "path": one.path} | one.data
        if one.event != deliveries.REVIEWED:
            deliveries.enqueue_event(one.event, run, data)


def _concerned(event: AuditEvent, run: Run | None, name: str) -> Iterable[User]:
    """Return the people whom an event concerns by their role and who may see the run, except the actor."""
    codename = EVENTS[name].permission
    people = people_in(run) if run else User.objects.filter(is_active=True)
    may = Q(groups__permissions__codename=codename) | Q(is_superuser=True)
    # `pk__in`: a second condition on groups would join them again.
    return people.filter(pk__in=User.objects.filter(may).values("pk")).exclude(pk=event.actor_id or 0)


def _record_of(event: AuditEvent) -> Evaluation | None:
    """Return the record of an event, unless it was deleted."""
    return Evaluation.objects.filter(pk=event.evaluation_id or 0).first()


def _path(record: Evaluation) -> str:
    return reverse("evaluation", args=[record.pk])


def _quote(text: str) -> str:
    text = " ".join(text.split())
    return f": “{text[:_LONGEST_QUOTE]}{'…' if len(text) > _LONGEST_QUOTE else ''}”" if text else "."


def _actor(event: AuditEvent) -> str:
    return event.actor.name if event.actor else event.actor_name or "CogniReview"


def _raised(event: AuditEvent, run: Run | None) -> Iterable[Occurrence]:
    record = _record_of(event)
    if record is None:
        return
    does = "has a question about" if event.detail.get("kind") == "question" else "can't judge"
    note = str(event.detail.get("note", ""))
    text = f"{_actor(event)} {does} {record.title} in {event.run_name}{_quote(note)}"
    people = _concerned(event, run, "escalation.opened")
    yield Occurrence("escalation.opened", people, text, _path(record), {"record": event.record})


def _answered(event: AuditEvent, run: Run | None) -> Iterable[Occurrence]:
    """Yield the answer to the escalation that an event ended."""
    ended = Escalation.objects.filter(pk=event.detail.get("escalation"), outcome__in=_ANSWERED)
    ended = ended.exclude(kind=Escalation.Kind.DISAGREEMENT).select_related("raised_by", "evaluation")
    one = ended.first()
    if one is None or run is None or one.raised_by_id == event.actor_id:
        return
    text = f"{_actor(event)} {_ANSWERED[Escalation.Outcome(one.outcome)]} {one.evaluation.title}"
    asker = people_in(run).filter(pk=one.raised_by_id)
    data = {"record": event.record, "raised_by": one.raised_by.username}
    yield Occurrence("escalation.answered", asker, text + _quote(one.answer), _path(one.evaluation), data)


def _decided(event: AuditEvent, _run: Run | None) -> Iterable[Occurrence]:
    version = event.detail.get("version")  # none if a conflict was resolved for the decision made here
    if version and event.evaluation_id:
        text = f"{_actor(event)} decided {event.record} in {event.run_name}."
        path = reverse("evaluation", args=[event.evaluation_id])
        data = {"record": event.record, "version": version, "decided_by": event.actor_name}
        yield Occurrence("record.decided", (), text, path, data)


def _decided_with_answer(event: AuditEvent, run: Run | None) -> Iterable[Occurrence]:
    """Yield a new current decision, and the answer to the escalation that it ended."""
    yield from _decided(event, run)
    yield from _answered(event, run)


def _disagreed(event: AuditEvent, run: Run | None) -> Iterable[Occurrence]:
    record = _record_of(event)
    if record is None:
        return
    text = f"Reviewers disagree on {record.title} in {event.run_name}."
    people = _concerned(event, run, "disagreement.found")
    yield Occurrence("disagreement.found", people, text, _path(record), {"record": event.record})


def _assigned(event: AuditEvent, run: Run | None) -> Iterable[Occurrence]:
    """Yield the part of each person to whom a bulk action assigned records."""
    given = event.detail.get("given") or {event.detail.get("assigned_to"): event.detail.get("evaluations")}
    for name, count in given.items():
        if run is None or not name or not count:
            continue
        people = people_in(run).filter(username=name).exclude(pk=event.actor_id or 0)
        text = f"{_actor(event)} assigned {_records(count)} of {run.name} to you."
        path = reverse("review", args=[run.pk])
        yield Occurrence("records.assigned", people, text, path, {"assigned_to": name, "records": count})


def _due(event: AuditEvent, run: Run | None) -> Iterable[Occurrence]:
    if run is None:
        return
    name, count, day = (event.detail[key] for key in ("username", "records", "due_on"))
    people, path = people_in(run).filter(username=name), reverse("review", args=[run.pk])
    text = f"{_records(count)} of {run.name} assigned to you {'is' if count == 1 else 'are'} due on {day}."
    data = {"assigned_to": name, "records": count, "due_on": day}
    yield Occurrence("records.due", people, text, path, data)


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _imported(event: AuditEvent, run: Run | None) -> Iterable[Occurrence]:
    if run is None or event.source is None:
        return
    path = reverse("import", args=[event.source.pk])
    counts = event.detail.get("counts", {})
    data = {"import_id": event.source.pk, "file_name": event.source.file_name, "counts": counts}
    yield Occurrence("import.finished", (), f"A file was imported into {run.name}.", path, data)
    conflicts = int(counts.get("conflicts", 0))
    if conflicts:
        decisions = "1 decision" if conflicts == 1 else f"{conflicts:,} decisions"
        text = f"A file imported into {run.name} conflicts with {decisions}."
        people, path = _concerned(event, run, "conflicts.found"), reverse("conflicts", args=[run.pk])
        yield Occurrence("conflicts.found", people, text, path, {"conflicts": conflicts})
    # Later files extend the rubric, which waits already.
    if run.is_rubric_proposed and event.source.sequence == 1:
        text = f"The rubric of {run.name} was inferred from its file. Confirm it or change it."
        people, path = _concerned(event, run, "rubric.inferred"), reverse("run-settings", args=[run.pk])
        yield Occurrence("rubric.inferred", people, text, path, {})


def _failed(event: AuditEvent, run: Run | None) -> Iterable[Occurrence]:
    """Yield a failed import or export, for its owner and for admins."""
    is_import = event.action == "import failed"
    what = f"The import into {event.run_name}" if is_import else f"An export of {event.run_name}"
    key = event.source_id if is_import else event.detail.get("export")
    path = reverse("import" if is_import else "export-page", args=[key])
    everyone = people_in(run) if run else User.objects.filter(is_active=True)
    is_admin = Q(groups__permissions__codename="import_file") | Q(is_superuser=True)
    admins = User.objects.filter(is_admin).values("pk")
    people = everyone.filter(Q(pk__in=admins) | Q(pk=event.actor_id or 0))
    error = str(event.detail.get("error", ""))
    data = {"import_id" if is_import else "export_id": key, "error": error}
    name = "import.failed" if is_import else "export.failed"
    yield Occurrence(name, people, f"{what} failed{_quote(error)}", path, data)


def _exported(event: AuditEvent, _run: Run | None) -> Iterable[Occurrence]:
    """Yield an export that a job has built. One that was sent as it was built has no page."""
    key = event.detail.get("export")
    if key:
        path, text = reverse("export-page", args=[key]), f"An export of {event.run_name} is ready."
        data = {"export_id": key, "sha256": event.detail.get("sha256")}
        yield Occurrence("export.ready", (), text, path, data)


def _reviewed(event: AuditEvent, run: Run | None) -> Iterable[Occurrence]:
    if run is not None:
        people, path = _concerned(event, run, "run.reviewed"), reverse("run", args=[run.pk])
        yield Occurrence("run.reviewed", people, f"{run.name} is reviewed: nothing is left.", path, {})


def _planned(event: AuditEvent, run: Run | None) -> Iterable[Occurrence]:
    if run is not None:
        people, path = _concerned(event, run, "plan.reviewed"), reverse("judge-plan", args=[run.pk])
        text = f"The planned records of {run.name} are reviewed. Plan the next ones, or end the plan."
        target = event.detail.get("target")
        yield Occurrence("plan.reviewed", people, text, path, {"target": target})


_OCCURRENCES: dict[str, Callable[[AuditEvent, Run | None], Iterable[Occurrence]]] = {
    "escalate": _raised,
    "resolve escalation": _answered,
    **dict.fromkeys(("submit", "adjudicate", "resolve", "revise"), _decided_with_answer),
    **dict.fromkeys(("restore", "close", "resolve conflict"), _decided),
    "disagreement": _disagreed,
    "bulk assign": _assigned,
    "bulk split": _assigned,
    "records due": _due,
    "import": _imported,
    "import failed": _failed,
    "export": _exported,
    "export failed": _failed,
    "run reviewed": _reviewed,
    "plan reviewed": _planned,
}
