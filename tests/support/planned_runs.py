"""A run whose blind reviews are planned."""

from reviews.models import Run
from tests.support.lines import file_of, import_data, line

CALM = {"needs_human_review": False, "review_reasons": [], "human_review_status": "Not Required"}
JUDGED_PASS = {"structured_model_response": {"response": "42"}, "aggregated_score": "Pass"}
SIZES = {"flagged": 60, "unflagged": 140}


def import_planned_run() -> None:
    """Import "evaluations", whose records the judge passes."""
    flagged = (line(f"f{n}", task_id=f"{n}", **JUDGED_PASS) for n in range(SIZES["flagged"]))
    others = (line(f"u{n}", task_id=f"{n + 100}", **JUDGED_PASS, **CALM) for n in range(SIZES["unflagged"]))
    Run.objects.create(name="evaluations", blind_share=0.2)
    import_data(file_of(*flagged, *others))
