"""A successful request to each operation that changes something, with the rows that it needs."""

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from reviews.api.examples import EXAMPLES
from reviews.models import (
    Evaluation,
    FileConflict,
    Import,
    Run,
    StratumCount,
    User,
    WebhookDelivery,
)
from reviews.queue import claims
from reviews.review import escalations
from tests.records.test_mapping import MAPPINGS
from tests.support.api_requests import JSON, path_of, program_of
from tests.support.contexts import task
from tests.support.factories import (
    SCORES,
    EvaluationFactory,
    ExportFactory,
    GoldSetFactory,
    RunFactory,
    UserFactory,
)
from tests.support.gold import CLARITY, rated_records
from tests.support.lines import file_of, import_data, line
from tests.support.population import stratum
from tests.support.rubrics import rubric_data
from tests.support.work import decide

JSONL, TOML = "application/x-ndjson", "application/toml"
YES = {name: {"score": "Yes"} for name in SCORES}
TUS = {
    "Tus-Resumable": "1.0.0",
    "Upload-Length": "9",
    "Upload-Metadata": f"filename {base64.b64encode(b'a.jsonl').decode()}",
}


class World:
    """Rows of each kind. Each method returns the path and perhaps body, type and headers of a request."""

    def __init__(self, max: User) -> None:
        self.max = max
        self.program = program_of(max)
        self.ana = UserFactory.create(username="ana", role="reviewer")
        self.run = RunFactory.create(name="one")
        self.waiting, self.decided, self.skipped, self.asked, self.held = (
            EvaluationFactory.create(run=self.run, parsed_rubric_scores=SCORES) for _ in range(5)
        )
        decide(self.decided, self.ana)
        self.raised = escalations.escalate(
            evaluation_id=self.asked.pk, reviewer=max, kind="question", reason="question", note="Is it 2?"
        )

    def made(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer to a request that must succeed."""
        answer = self.program.ask(method, path, body)
        assert answer.status_code < 300, answer.content
        return answer.json() if answer.content else None


def _record(
    operation: str, body: Any = None, *, state: str = "waiting"
) -> Callable[[World], tuple[Any, ...]]:
    return lambda world: (path_of(getattr(world, state), operation), body)


def _skipped(world: World) -> tuple[Any, ...]:
    world.made("PUT", path_of(world.skipped, "skip"))
    return (path_of(world.skipped, "skip"),)


def _held(world: World) -> tuple[Any, ...]:
    claims.claim(evaluation_id=world.held.pk, reviewer=world.max)
    return (path_of(world.held, "claim"),)


def _blind(world: World) -> tuple[Any, ...]:
    blind = EvaluationFactory.create(
        run=RunFactory.create(name="blind", blind_share=1),
        structured_model_response={"final_answer": "2"},
    )
    claims.claim(evaluation_id=blind.pk, reviewer=world.max)
    return path_of(blind, "blind-scores"), {"scores": dict.fromkeys(SCORES, "Yes")}


def _reviewed_once(world: World) -> tuple[Any, ...]:
    run = RunFactory.create(name="two", overlap=2, overlap_share=1)
    record = EvaluationFactory.create(run=run, parsed_rubric_scores=SCORES)
    sent = {"corrected_scores": YES}
    program_of(world.ana).ask("PUT", path_of(record, "review"), sent, Idempotency_Key="before")
    return (path_of(record, "adjudication"),)


def _draft(world: World) -> tuple[Any, ...]:
    claims.claim(evaluation_id=world.held.pk, reviewer=world.max)
    place = f"runs/one/drafts/{quote(world.held.evaluation_id)}"
    return place, {"revision": 1, "entries": [{"criterion": "Clarity", "score": "Yes"}]}


def _undo(world: World) -> tuple[Any, ...]:
    claims.claim(evaluation_id=world.held.pk, reviewer=world.max)
    world.program.ask(
        "PUT", path_of(world.held, "review"), {"corrected_scores": YES}, Idempotency_Key="before"
    )
    return "runs/one/undo", {}


def _changed(world: World) -> tuple[Any, ...]:
    made = world.made("POST", "runs/one/bulk-changes", {"kind": "assign", "assigned_to": "ana"})
    return (f"bulk-changes/{made['id']}/undo",)


def _conflict(world: World) -> tuple[Any, ...]:
    import_data(file_of(line("a", parsed_rubric_scores=SCORES)), run="files")
    record = Evaluation.objects.get(run__name="files")
    decide(record, world.ana)
    theirs = {
        "human_review_status": "Reviewed",
        "human_reviewer_id": "eva",
        "human_corrected_scores": {name: {"score": "No"} for name in SCORES},
    }
    import_data(file_of(line("a", parsed_rubric_scores=SCORES, **theirs)), run="files")
    conflict = FileConflict.objects.get()
    version = Evaluation.objects.get(pk=record.pk).version
    return "runs/files/conflicts/resolve", {
        "keep": "ours",
        "conflicts": [{"id": conflict.pk, "version": version}],
    }


def _check(operation: str, body: Any = None) -> Callable[[World], tuple[Any, ...]]:
    def drawn(world: World) -> tuple[Any, ...]:
        [check] = world.made("POST", "spot-checks", {"reviewer": "ana", "count": 1})
        return f"spot-checks/{check['id']}/{operation}", body

    return drawn


def _select(world: World) -> tuple[Any, ...]:
    return "runs/one/spot-checks", {"evaluation_ids": [world.decided.evaluation_id]}


def _overlapping(world: World) -> tuple[Any, ...]:
    Run.objects.update(overlap_share=1, overlap=2)
    return "runs/one/known-answers", {"count": 1}


def _known_answers(world: World) -> tuple[Any, ...]:
    path, body = _overlapping(world)
    return (f"known-answers/{world.made('POST', path, body)['id']}/end",)


def _settings(world: World) -> tuple[Any, ...]:
    before = world.made("GET", "runs/one/settings")
    return "runs/one/settings/sampling", before["sampling"] | {"seen": before["fingerprint"]}


def _view(world: World) -> tuple[Any, ...]:
    return (f"runs/one/views/{world.made('POST', 'runs/one/views', EXAMPLES['ViewIn'])['id']}",)


def _answered(world: World) -> tuple[Any, ...]:
    world.made("POST", f"escalations/{world.raised.pk}/resolve", EXAMPLES["ResolveIn"])
    return (f"escalations/{world.raised.pk}/read",)


def _failure(operation: str) -> Callable[[World], tuple[Any, ...]]:
    def failed(_world: World) -> tuple[Any, ...]:
        export = ExportFactory.create(state="failed", error="It broke.")
        return (f"inbox/failures/export-{export.pk}{operation}",)

    return failed


def _export(state: str, path: str) -> Callable[[World], tuple[Any, ...]]:
    return lambda _world: (path.format(ExportFactory.create(state=state).pk),)


def _person(world: World) -> tuple[Any, ...]:
    world.made("POST", "people/ana/deactivate")
    return ("people/ana/reactivate",)


def _invited(operation: str) -> Callable[[World], tuple[Any, ...]]:
    def invited(world: World) -> tuple[Any, ...]:
        [link] = world.made("POST", "invitations", EXAMPLES["InvitationsIn"])
        return (f"invitations/{link['id']}{operation}",)

    return invited


def _token(world: World) -> tuple[Any, ...]:
    return (f"tokens/{world.made('POST', 'tokens', EXAMPLES['TokenIn'])['id']}",)


def _webhook(operation: str) -> Callable[[World], tuple[Any, ...]]:
    def added(world: World) -> tuple[Any, ...]:
        made = world.made("POST", "webhooks", {"url": "https://hooks.example.org/"})
        return (f"webhooks/{made['id']}{operation}",)

    return added


def _delivered(world: World) -> tuple[Any, ...]:
    webhook = world.made("POST", "webhooks", {"url": "https://hooks.example.org/"})["id"]
    sent = world.made("POST", f"webhooks/{webhook}/test")["id"]
    WebhookDelivery.objects.update(state="delivered")
    return (f"webhooks/{webhook}/deliveries/{sent}/resend",)


def _second_secret(world: World) -> tuple[Any, ...]:
    webhook = world.made("POST", "webhooks", {"url": "https://hooks.example.org/"})["id"]
    return (f"webhooks/{webhook}/secrets/{world.made('POST', f'webhooks/{webhook}/secrets')['id']}",)


def _gold(method: str) -> Callable[[World], tuple[Any, ...]]:
    def existing(world: World) -> tuple[Any, ...]:
        GoldSetFactory.create(run=world.run)
        return "gold-sets/gold", EXAMPLES["NameIn"] if method == "PATCH" else None

    return existing


def _rated(world: World) -> tuple[Any, ...]:
    rated_records(RunFactory.create(name="rated", rubric=rubric_data(CLARITY), blind_share=0), world.ana)
    return "runs/rated/gold-sets", {"name": "silver"}


def _gold_file(world: World) -> tuple[Any, ...]:
    world.made("POST", *_rated(world))
    exported = world.program.get("gold-sets/silver")
    return "gold-sets?name=copy", b"".join(exported.streaming_content), JSONL


def _planned(world: World) -> tuple[Any, ...]:
    assert world.max
    stratum(RunFactory.create(name="planned"), {"Pass": 1_000})
    StratumCount.objects.update(answered=1_000)
    return "runs/planned/plan", EXAMPLES["PlanIn"]


def _uploaded(world: World) -> tuple[Any, ...]:
    made = world.program._client.post("/api/v1/uploads", headers=TUS)
    return made["Location"].removeprefix("/api/v1/"), None, JSON, TUS


def _import(state: str, operation: str, body: Any = None) -> Callable[[World], tuple[Any, ...]]:
    def sent(world: World) -> tuple[Any, ...]:
        answer = world.program.ask("POST", "runs/sent/imports", file_of(line("a")), kind=JSONL)
        source = Import.objects.get(pk=answer.json()["id"])
        Import.objects.filter(pk=source.pk).update(state=state, of_other_judge=1)
        return f"imports/{source.pk}/{operation}", body

    return sent


def _at(path: str, body: Any = None, *more: Any) -> Callable[[World], tuple[Any, ...]]:
    return lambda _world: (path, body, *more)


_RECORD = "/runs/{run}/evaluations/{evaluation_id}"
REQUESTS: dict[str, Callable[[World], tuple[Any, ...]]] = {
    "POST /runs/{run}/claims": _at("runs/one/claims", {}),
    f"PUT {_RECORD}/blind-scores": _blind,
    f"POST {_RECORD}/claim": _record("claim", {}),
    f"DELETE {_RECORD}/claim": _held,
    f"PUT {_RECORD}/skip": _record("skip"),
    f"DELETE {_RECORD}/skip": _skipped,
    "DELETE /runs/{run}/skips": lambda world: ("runs/one/skips",) if _skipped(world) else (),
    f"POST {_RECORD}/escalation": _record("escalation", EXAMPLES["EscalationIn"]),
    f"POST {_RECORD}/reopening": _record("reopening", EXAMPLES["ReopenIn"], state="decided"),
    f"POST {_RECORD}/adjudication": _reviewed_once,
    "PUT /runs/{run}/drafts/{evaluation_id}": _draft,
    "DELETE /runs/{run}/drafts/{evaluation_id}": lambda world: (_draft(world)[0],),
    "POST /runs/{run}/undo": _undo,
    "POST /runs/{run}/bulk-changes": _at("runs/one/bulk-changes", {"kind": "assign", "assigned_to": "ana"}),
    "POST /runs/{run}/bulk-changes/preview": _at(
        "runs/one/bulk-changes/preview", {"kind": "assign", "assigned_to": "ana"}
    ),
    "POST /bulk-changes/{change_id}/undo": _changed,
    "POST /runs/{run}/conflicts/resolve": _conflict,
    "POST /runs/{run}/known-answers": _overlapping,
    "POST /known-answers/{check_id}/end": _known_answers,
    "POST /spot-checks": _at("spot-checks", {"reviewer": "ana", "count": 1}),
    "POST /runs/{run}/spot-checks": _select,
    "POST /spot-checks/{check_id}/agree": _check("agree", EXAMPLES["AgreeIn"]),
    "POST /spot-checks/{check_id}/reopen": _check("reopen", EXAMPLES["ReopenBySpotCheckIn"]),
    "PUT /runs/{run}/settings/queue": _at("runs/one/settings/queue", EXAMPLES["QueueIn"]),
    "PUT /runs/{run}/settings/sampling": _settings,
    "POST /runs/{run}/views": _at("runs/one/views", EXAMPLES["ViewIn"]),
    "DELETE /runs/{run}/views/{view_id}": _view,
    "POST /escalations/{escalation_id}/resolve": lambda world: (
        f"escalations/{world.raised.pk}/resolve",
        EXAMPLES["ResolveIn"],
    ),
    "DELETE /escalations/{escalation_id}": lambda world: (f"escalations/{world.raised.pk}",),
    "POST /escalations/{escalation_id}/read": _answered,
    "POST /inbox/failures/{place}/retry": _failure("/retry"),
    "DELETE /inbox/failures/{place}": _failure(""),
    "PUT /runs/{run}/members": _at("runs/one/members", {"members": ["ana"]}),
    "POST /runs/{run}/exports": _at("runs/one/exports", {}),
    "POST /exports/{export_id}/cancel": _export("unfinished", "exports/{}/cancel"),
    "PUT /people/{username}/role": _at("people/ana/role", EXAMPLES["RoleIn"]),
    "POST /people/{username}/deactivate": _at("people/ana/deactivate"),
    "POST /people/{username}/reactivate": _person,
    "POST /invitations": _at("invitations", EXAMPLES["InvitationsIn"]),
    "POST /invitations/{link_id}/renew": _invited("/renew"),
    "DELETE /invitations/{link_id}": _invited(""),
    "POST /tokens": _at("tokens", EXAMPLES["TokenIn"]),
    "DELETE /tokens/{token_id}": _token,
    "POST /webhooks": _at("webhooks", {"url": "https://hooks.example.org/"}),
    "POST /webhooks/{webhook_id}/test": _webhook("/test"),
    "DELETE /webhooks/{webhook_id}": _webhook(""),
    "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/resend": _delivered,
    "POST /webhooks/{webhook_id}/secrets": _webhook("/secrets"),
    "DELETE /webhooks/{webhook_id}/secrets/{secret_id}": _second_secret,
    "POST /jobs/{kind}/{job_id}/retry": _export("failed", "jobs/export/{}/retry"),
    "POST /jobs/{kind}/{job_id}/cancel": _export("unfinished", "jobs/export/{}/cancel"),
    "POST /gold-sets": _gold_file,
    "PATCH /gold-sets/{name}": _gold("PATCH"),
    "DELETE /gold-sets/{name}": _gold("DELETE"),
    "POST /runs/{run}/gold-sets": _rated,
    "PUT /runs/{run}/plan": _planned,
    "DELETE /runs/{run}/plan": _at("runs/one/plan"),
    "PUT /runs/{run}/rubric": _at("runs/one/rubric", b'[[criteria]]\nname = "Clarity"\n', TOML),
    "PUT /runs/{run}/guideline": _at("runs/one/guideline", {"text": "Be fair."}),
    "PATCH /runs/{run}": _at("runs/one", EXAMPLES["RunChange"]),
    "DELETE /runs/{run}": _at("runs/one?confirmation=one"),
    "POST /runs/{run}/context": _at("runs/one/context", file_of(json.dumps(task()).encode()), JSONL),
    "POST /context": _at("context", file_of(json.dumps(task()).encode()), JSONL),
    "POST /audit/chain/check": _at("audit/chain/check"),
    "POST /uploads": _at("uploads", None, JSON, TUS),
    "DELETE /uploads/{upload_id}": _uploaded,
    "POST /runs/{run}/imports": _at("runs/sent/imports", file_of(line("a")), JSONL),
    "PUT /runs/{run}/mapping": _at("runs/mapped/mapping", (MAPPINGS / "mt-bench.toml").read_bytes(), TOML),
    "POST /imports/{import_id}/cancel": _import("queued", "cancel"),
    "POST /imports/{import_id}/retry": _import("failed", "retry"),
    "POST /imports/{import_id}/new-run": _import("failed", "new-run", EXAMPLES["NewRunIn"]),
}
