"""The review form while the judge's scores are hidden."""

from typing import Any

from reviews.review.forms.fields import Fields, encode_fields
from reviews.review.forms.review import ReviewForm


class BlindForm(ReviewForm):
    """The criteria of a record without the judge's scores and texts."""

    is_blind = True
    judged_verdict = ""
    source_title = read_title = "Your scores"

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `blind_scoring.lock_in` from a valid form."""
        return {
            "version": self.cleaned_data["version"],
            "scores": {name: entry["score"] for name, entry in self.decision["scores"].items()},
            "fields": self.fields_after_reveal,
            "active_ms": self.cleaned_data["active_ms"],
        }

    @property
    def fields_after_reveal(self) -> Fields:
        """The fields of the review form once the judge's scores are shown.

        An empty comment becomes that of the decision in the file.
        """
        return encode_fields([row.as_fields for row in self.rows], self.comment or self.sheet.comments)
