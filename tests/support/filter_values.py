"""A valid value of each filter of records that has no options."""

FILTER_VALUES = {
    "q": "proof",
    "task": "task",
    "model": "o1",
    "judge": "judge",
    "template": "prompt.txt",
    "score": "Clarity=No",
    "reason": "sampled",
    "decided-by": "bo",
    "assigned-to": "nobody",
    "due": "none",
    "claimed-by": "bo",
    "created-from": "2025-01-01",
    "created-until": "2030-01-01",
    "reviewed-from": "2025-01-01",
    "reviewed-until": "2030-01-01",
    "updated-since": "2025-01-01T00:00:00Z",
}
