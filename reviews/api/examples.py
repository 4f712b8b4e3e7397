"""Examples of request bodies and of the main responses, for the OpenAPI schema."""

from typing import Any

_AT = "2026-11-23T14:05:00Z"
_SCORES = {
    "Correctness": {"score": "No", "justification": "The sum is 42, not 41."},
    "Clarity": {"score": "Yes", "justification": "Every step is explained."},
}
_DECISION = {"corrected_scores": _SCORES, "causes": {"Correctness": "misread"}, "version": 3}
_MADE = {
    "version": 1,
    "reviewer": "ana",
    "submitted_at": _AT,
    "corrected_scores": _SCORES,
    "comments": None,
    "causes": {"Correctness": "misread"},
    "verdict": "Fail",
}
_BODIES: dict[str, dict[str, Any]] = {
    "ClaimIn": {"filters": {"status": "waiting", "model": ["o1", "o3"]}},
    "ClaimRecordIn": {"take_over": True},
    "BlindIn": {"scores": {"Correctness": "No", "Clarity": "Yes"}, "version": 3},
    "DecisionIn": _DECISION,
    "CorrectIn": {**_DECISION, "reason": "The sum is wrong."},
    "EscalationIn": {"kind": "question", "note": "Does a missing unit count as an error?"},
    "ReopenIn": {"reason": "The reference answer was wrong."},
    "RestoreIn": {"restored": 1, "reason": "Version 2 was meant for another record."},
    "DraftIn": {"revision": 2, "entries": [{"criterion": "Clarity", "score": "Yes"}], "comments": ""},
    "UndoIn": {"event": 1041},
    "BulkChangeIn": {
        "kind": "split",
        "shares": [{"person": "ana"}, {"person": "bo", "number": 40}],
        "filters": {"model": ["o1"]},
    },
    "ResolveConflictsIn": {"keep": "ours", "conflicts": [{"id": 12, "version": 2}]},
    "DrawIn": {"reviewer": "ana", "count": 10, "run": "nightly"},
    "AgreeIn": {"note": "Well spotted."},
    "QueueSettings": {"claim_minutes": 30, "due_on": "2026-12-01"},
    "SamplingIn": {
        "accuracy_target": 0.9,
        "blind_share": 0.1,
        "sample_share": 0.05,
        "overlap_share": 0.1,
        "overlap": 2,
        "spot_check_share": 0.05,
        "seen": "5f1c",
    },
    "ViewIn": {"name": "Disputed", "filters": {"verdict": ["Fail"]}, "is_shared": True},
    "ResolveIn": {"outcome": "returned", "answer": "Yes, it counts as an error."},
    "MembersIn": {"members": ["ana", "lea"]},
    "ExportIn": {"only": "reviewed", "format": "jsonl", "compression": "gzip"},
    "RoleIn": {"role": "lead"},
    "InvitationsIn": {
        "people": [{"name": "Ana Smith", "email": "ana@example.org", "role": "reviewer"}],
    },
    "TokenIn": {"name": "Nightly import", "scopes": ["import", "read"], "days": 30},
    "WebhookIn": {"url": "https://hooks.example.org/reviews", "run": "nightly", "events": ["run.reviewed"]},
    "RubricIn": {
        "scale": {"kind": "values", "values": ["Yes", "Partial", "No"], "pass_from": "Yes"},
        "criteria": [{"name": "Correctness", "description": "The final answer equals the reference."}],
    },
    "NameIn": {"name": "algebra-2026"},
    "FreezeIn": {"name": "algebra-2026", "model": "o1"},
    "PlanIn": {"target": 0.05, "aim": "run"},
    "GuidelineIn": {"text": "A missing unit counts as an error.", "seen": 2},
    "RunChange": {"name": "nightly-2"},
    "NewRunIn": {"run": "nightly, second judge"},
}
_RESPONSES: dict[str, dict[str, Any]] = {
    "RunOut": {
        "name": "nightly",
        "created_at": _AT,
        "total": 75,
        "waiting": 40,
        "claimed": 2,
        "escalated": 1,
        "done": 20,
        "not_required": 12,
        "sampled": 5,
        "archived_at": None,
        "is_restricted": False,
    },
    "ImportOut": {
        "id": 7,
        "run": "nightly",
        "file_name": "evaluations.jsonl",
        "state": "done",
        "strict": False,
        "error": "",
        "size": 184_320,
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "created_at": _AT,
        "finished_at": _AT,
        "counts": {"added": 75, "rejected": 1},
        "of_other_judge": 0,
        "bytes_done": 184_320,
        "bytes_to_do": 184_320,
        "seconds_left": None,
    },
    "EvaluationOut": {
        "evaluation_id": "e-17",
        "run": "nightly",
        "task_id": "sum-41",
        "model_id": "o1",
        "judge_llm_model": "judge-2",
        "judge_prompt_template_path": "prompts/sums.txt",
        "status": "done",
        "judge_verdict": "Pass",
        "human_verdict": "Fail",
        "version": 4,
        "created_at": _AT,
        "claimed_by": None,
        "claimed_until": None,
        "assigned_to": None,
        "due_on": None,
        "is_escalated": False,
        "is_outdated": False,
        "reviewer": "ana",
        "reviewed_at": _AT,
    },
    "DecisionOut": _MADE,
    "SavedOut": {"outcome": "current", "status": "done", "version": 4, "decision": _MADE},
    "Problem": {
        "type": "/api/problems/invalid-request/",
        "title": "Invalid request",
        "status": 422,
        "detail": "Nothing was saved: the decision has errors.",
        "errors": [
            {
                "field": "corrected_scores.Clarity.score",
                "reason": "Choose one of these scores: Yes, Partial, No.",
            }
        ],
    },
}
# Name of a component of the OpenAPI schema -> example.
EXAMPLES = _BODIES | _RESPONSES
