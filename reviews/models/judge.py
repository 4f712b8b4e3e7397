"""Tables of the judge's figures: strata, sums over decisions, independent reviews."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from reviews.models.decisions import Review
from reviews.models.evaluations import Evaluation
from reviews.models.people import User
from reviews.models.runs import Import, Run


class Stratum(models.Model):
    """A stratum of a run: records with the same judge, judge prompt, model and flag."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="strata", db_index=False)
    judge_llm_model = models.TextField()
    judge_prompt_template_path = models.TextField()
    model_id = models.TextField(help_text="Empty if the record has no model.")
    is_flagged = models.BooleanField(help_text="`needs_human_review` of the record.")

    class Meta:
        db_table = "stratum"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run", "judge_llm_model", "judge_prompt_template_path", "model_id", "is_flagged"],
                name="stratum_is_unique",
            ),
        ]


class StratumCount(models.Model):
    """Number of records of a stratum with one verdict. `strata.recount` writes it after an import."""

    stratum = models.ForeignKey(Stratum, models.CASCADE, related_name="counts", db_index=False)
    verdict = models.TextField(
        help_text="`aggregated_score`, or the verdict of the extracted scores; empty without a verdict."
    )
    evaluations = models.BigIntegerField()
    answered = models.BigIntegerField(
        db_default=0, help_text="Records among them that include the model's answer."
    )
    clusters = models.BinaryField(
        db_default=b"",
        help_text="The cluster of each record (`records.clusters`) less 32,768, as big-endian 16-bit "
        "integers.",
    )

    class Meta:
        db_table = "stratum_count"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["stratum", "verdict"], name="stratum_count_is_unique"),
        ]


class FacetCount(models.Model):
    """Number of records of a run with one facet. `strata.recount` writes it after an import."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    name = models.TextField(
        help_text="As in `facets.Facet`. The value of a flag reason is the key of its family."
    )
    value = models.TextField()
    evaluations = models.BigIntegerField()

    class Meta:
        db_table = "facet_count"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "name", "value"], name="facet_count_is_unique"),
        ]


class ReasonCount(models.Model):
    """Time of the decisions on decided records with one family of flag reasons, by reviewer."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    reviewer = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    family = models.TextField(help_text="The key of `reason_families.ReasonFamily`.")
    reviews = models.BigIntegerField()
    timed = models.BigIntegerField()
    active_ms = models.BigIntegerField(help_text="Total over the timed reviews.")

    class Meta:
        db_table = "reason_count"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "reviewer", "family"], name="reason_count_is_unique"),
        ]


class CauseMention(models.Model):
    """A cause that the decision of a decided record names for one criterion. Written by triggers."""

    review = models.ForeignKey(Review, models.CASCADE, related_name="+", db_index=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    stratum = models.ForeignKey(Stratum, models.CASCADE, null=True, related_name="+", db_index=False)
    criterion = models.TextField()
    cause = models.TextField(help_text="A key of `Run.causes`.")

    class Meta:
        db_table = "cause_mention"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["review", "criterion"], name="cause_mention_is_unique"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["run", "stratum", "cause", "criterion", "review"], name="cause_mention_examples"
            ),
        ]


class BlindScores(models.Model):
    """The scores that a reviewer locked in before the judge's scores were shown. Append-only."""

    evaluation = models.ForeignKey(Evaluation, models.PROTECT, related_name="blind_scores", db_index=False)
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    source_import = models.ForeignKey(Import, models.PROTECT, related_name="+", db_index=False)
    source_line = models.BigIntegerField(
        help_text="With the import: the evidence that the scores are based on."
    )
    scores = models.JSONField(help_text="Criterion -> score.")
    active_ms = models.IntegerField(null=True, help_text="Until lock-in, as `Review.active_ms`.")

    # The measurement as it was at lock-in.
    stratum = models.ForeignKey(Stratum, models.PROTECT, related_name="+", db_index=False)
    verdict = models.CharField(max_length=10, null=True, help_text="The verdict of these scores.")
    judged = models.JSONField(help_text="Criterion -> the judge's score, parsed or extracted.")
    judged_verdict = models.CharField(max_length=10, null=True)
    is_sampled = models.BooleanField(help_text="`Evaluation.is_sampled`.")
    probability = models.FloatField(
        help_text="The probability with which the record was drawn for review and scored blind, above 0."
    )
    families = ArrayField(models.TextField(), help_text="As `Review.families`.")
    guideline_version = models.IntegerField(null=True, help_text="The version of the guideline.")
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "blind_scores"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["evaluation", "reviewer", "source_import", "source_line"], name="blind_scores_once"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["stratum", "is_sampled"], name="blind_scores_of_stratum")]


class RatingCell(models.Model):
    """The subject and the scores of ratings. Written by triggers (`ratings.sql`).

    Scores are JSON text, cut to 200 characters; verdicts are plain words.
    """

    stratum = models.ForeignKey(Stratum, models.CASCADE, related_name="+", db_index=False)
    criterion = models.TextField(null=True, help_text="None for the verdict of the record.")
    verdict = models.TextField(help_text="The judge's verdict on the record, or empty.")
    is_blind = models.BooleanField(help_text="Whether the human scored before the judge's scores were shown.")
    is_sampled = models.BooleanField(
        help_text="Whether the record is in the random sample of unflagged records."
    )
    judge = models.TextField(null=True, help_text="None or null without a score.")
    human = models.TextField(
        null=True, help_text="The same; in a blind rating, the score that was locked in."
    )

    class Meta:
        db_table = "rating_cell"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["stratum", "criterion", "verdict", "is_blind", "is_sampled", "judge", "human"],
                nulls_distinct=False,
                name="rating_cell_is_unique",
            ),
        ]


class Rating(models.Model):
    """One person's score of a criterion, or their verdict, next to the judge's. Written by triggers.

    A blind rating stays whatever becomes of its record, until a file changes what was rated. An assisted
    rating is that of the current decision of a decided record.
    """

    cell = models.ForeignKey(RatingCell, models.CASCADE, related_name="ratings", db_index=False)
    evaluation = models.ForeignKey(Evaluation, models.CASCADE, related_name="ratings", db_index=False)
    reviewer = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    blind_scores = models.ForeignKey(
        BlindScores,
        models.DO_NOTHING,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        help_text="The source of a blind rating.",
    )
    review = models.ForeignKey(
        Review,
        models.DO_NOTHING,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        help_text="The source of an assisted rating.",
    )
    cluster = models.IntegerField(help_text="The cluster of the record: see `records.clusters`.")
    probability = models.FloatField(help_text="As `BlindScores.probability`; 1 for an assisted rating.")
    raters = models.SmallIntegerField(
        db_default=1, help_text="The number of blind ratings of the record. Each weighs 1 / raters."
    )
    final = models.TextField(
        null=True,
        help_text="What the reviewer of a blind rating submitted after the reveal. None until then; an empty "
        "verdict or the score null if that has none.",
    )
    families = ArrayField(
        models.TextField(), null=True, help_text="As `Review.families`, for the verdict only."
    )
    at = models.DateTimeField()

    class Meta:
        db_table = "rating"
        indexes: ClassVar = [
            # Figures about the judge read this index only.
            models.Index(
                fields=["cell"],
                include=["cluster", "probability", "raters", "reviewer", "at", "evaluation", "final"],
                name="rating_of_cell",
            ),
            # Agreement among reviewers reads this index only.
            models.Index(
                fields=["cell"],
                include=["evaluation", "reviewer", "cluster", "probability", "at"],
                condition=models.Q(raters__gt=1),
                name="rating_of_several",
            ),
            models.Index(fields=["evaluation"], name="rating_of_record"),
        ]


class Reveal(models.Model):
    """The judge's scores were shown to a person who could still review the record. Append-only.

    A later review by this person counts as assisted, unless they had locked in blind scores before. A person
    who was shown the independent reviews of others cannot give one on this record any more.
    """

    class How(models.TextChoices):
        LOCKED_IN = "locked in", "after blind scores were locked in"
        SHOWN = "shown", "on a page or by the API"
        DOWNLOADED = "downloaded", "in a file"
        INDEPENDENT_REVIEWS = "reviews", "with the open independent reviews of others, to decide between them"

    run = models.ForeignKey(Run, models.PROTECT, related_name="+", db_index=False)
    evaluation = models.ForeignKey(
        Evaluation,
        models.PROTECT,
        null=True,
        related_name="reveals",
        db_index=False,
        help_text="None for every record of the run.",
    )
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    how = models.CharField(max_length=10, choices=How)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "reveal"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run", "reviewer", "evaluation", "how"], nulls_distinct=False, name="reveal_once"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["reviewer", "evaluation"],
                condition=models.Q(how="reviews"),
                name="reveal_of_reviews",
            ),
            models.Index(fields=["evaluation"], name="reveal_evaluation"),
        ]


class IndependentReview(models.Model):
    """One of several independent reviews of a record. It is open while others are missing."""

    review = models.OneToOneField(Review, models.PROTECT, related_name="independent_review")
    evaluation = models.ForeignKey(
        Evaluation, models.PROTECT, related_name="independent_reviews", db_index=False
    )
    reviewer = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    is_open = models.BooleanField(default=True, help_text="Whether the record has no decision yet.")

    class Meta:
        db_table = "independent_review"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["evaluation", "reviewer"],
                condition=models.Q(is_open=True),
                name="independent_review_one_open",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["reviewer"], condition=models.Q(is_open=True), name="independent_review_given"
            ),
            models.Index(fields=["evaluation"], name="independent_review_evaluation"),
        ]
