"""Hostile parameters and their names."""

PROBE = "zqprobe"
LOOKUPS = (
    "password__startswith",
    "claimed_by__password__startswith",
    "assigned_to__password__regex",
    "review__reviewer__password",
    "model_id__contains",
    "model__contains",
    "pk__in",
    "_connector",
    "_negated",
    "run__settings",
)
