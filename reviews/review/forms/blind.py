"""The review form while the judge's scores are hidden: the criteria, and nothing of what it said of them."""

from typing import Any

from reviews.review.drafts import Fields
from reviews.review.forms.criterion import earlier_comments
from reviews.review.forms.review import ReviewForm
from reviews.rubric.proposals import Proposal


class BlindForm(ReviewForm):
    """The rows of a record with blank scores. Valid, its `decision` is what `blind.commit` takes."""

    is_blind = True

    def _shown(self, found: list[Proposal]) -> list[Proposal]:
        self._texts = {proposal.criterion: proposal.justification for proposal in found}
        options = self.rubric.choices()
        return [Proposal(proposal.criterion, None, "", "rubric", {}, options) for proposal in found]

    @property
    def decision(self) -> dict[str, Any]:
        return {
            "version": self.cleaned_data["version"],
            "scores": {row.cleaned_data["name"]: row.current_score for row in self.kept},
            "fields": self.fields_beside_the_judges,
            "active_ms": self.cleaned_data["active_ms"],
        }

    @property
    def fields_beside_the_judges(self) -> Fields:
        """Return the fields of the review form after the reveal.

        Where the reviewer wrote nothing, it has the judge's texts and the comment of a decision in the file.
        """
        fields = [["comments", self.comment or earlier_comments(self.evaluation)]]
        for row in self.rows:
            name = row.proposal.criterion if row.proposal else row.typed_name
            text = row.text if row.text.strip() else self._texts.get(name, "")
            for field, value in (("name", name), ("score", row.value), ("justification", text)):
                fields.append([f"{row.prefix}-{field}", value])
            if row.is_removed:
                fields.append([f"{row.prefix}-removed", "yes"])
        return fields

    @property
    def judged_verdict(self) -> str:
        return ""

    @property
    def source_title(self) -> str:
        return "Your scores"
