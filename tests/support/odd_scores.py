"""Records with odd scores from a file."""

from typing import Any

from reviews.models import Evaluation
from tests.support.decided_files import BY_CARLA, JUDGED
from tests.support.lines import file_of, import_data, line

LONG = "x" * 150_000
ODD: dict[str, Any] = {
    "no object": {"Clarity": "No", "Rigour": 3, "Style": True},
    "no score": {"Clarity": {"justification": "Why?"}, "Rigour": None, "Style": {}},
    "a score that is none of the run's": {"Clarity": {"score": "Perhaps", "justification": "Hm."}},
    "scores of other types": {"Clarity": {"score": ["No"]}, "Rigour": {"score": {"a": 1}}, "Style": [1, [2]]},
    "a justification that is no text": {"Clarity": {"score": "No", "justification": {"a": ["b"]}}},
    "names that no form would take": {
        "": {"score": "No"},
        " a\nb ": {"score": "No"},
        "n" * 600: {"score": "No"},
    },
    "names that differ by spaces": {"Clarity": {"score": "No"}, " Clarity ": {"score": "Yes"}},
    "long texts": {"Clarity": {"score": "No", "justification": LONG}},
    "very large numbers": {"Clarity": {"score": 10**30}, "Rigour": {"score": 1e300}},
    "characters that break things": {"Clarity": {"score": "N\0o", "justification": "<script>\u2028\r\n"}},
    "markup": {"<b>x</b>": {"score": "<i>No</i>", "justification": "</textarea>"}},
    "words that the form uses": {"Clarity": {"score": "as judged"}, "Rigour": {"score": "as in the file"}},
    "nothing": {},
}


def odd_records(**human: Any) -> tuple[bytes, dict[str, Evaluation]]:
    """Import a record for each of the odd scores. Return the file and the records."""
    values = {"parsed_rubric_scores": JUDGED, **BY_CARLA, **human}
    file = file_of(
        *(
            line(name, **values | {"task_id": name, "response_id": name, "human_corrected_scores": scores})
            for name, scores in ODD.items()
        )
    )
    import_data(file)
    return file, {record.evaluation_id: record for record in Evaluation.objects.select_related("run")}
