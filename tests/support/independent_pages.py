"""Pages of records with independent reviews."""

SCORES = {
    "clarity": {"score": "Yes", "justification": "The judge found it clear."},
    "depth": {"score": "No", "justification": "The judge found it shallow."},
}
SECRET = "Only ana thinks that it is deep."
DEEP = SCORES | {"depth": {"score": "Yes", "justification": SECRET}}
