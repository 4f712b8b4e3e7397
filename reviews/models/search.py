"""Index tables for filters and search (`reviews/search/indexing.py`)."""

from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.lookups import Lookup

from reviews.models.evaluations import Evaluation
from reviews.models.runs import Import, Run


class WordsField(models.TextField):  # type: ignore[type-arg]  # Django's takes none at run time
    """A tsvector column. Its lookups take a query made by `terms`."""

    def db_type(self, connection: Any) -> str:
        return "tsvector"


@WordsField.register_lookup
class Have(Lookup):
    """Match words against a query."""

    lookup_name = "have"
    prepare_rhs = False
    form = "{words} @@ %s::tsquery"

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        words, words_parameters = self.process_lhs(compiler, connection)
        return self.form.format(words=words), (*words_parameters, self.rhs)


@WordsField.register_lookup
class HaveByReading(Have):
    """Match words against a query without their index, which is slower for words of most records."""

    lookup_name = "have_by_reading"
    form = "ts_match_vq({words}, %s::tsquery)"


class RunFacet(models.Model):
    """A value that a filter of a run offers. It stays when the last record with this value changes."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=20, help_text="Name of the filter.")
    value = models.TextField()
    title = models.TextField(help_text="Label, if it differs from the value.")

    class Meta:
        db_table = "run_facet"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "name", "value"], name="run_facet_is_unique"),
        ]


class EvaluationFacets(models.Model):
    """The facets of one record, as hashed keys, and what comparisons read. Narrow rows scan fast."""

    # Without a constraint, which would check each row of an import. An import writes the record before its
    # entries, and the deletion of a record deletes them first.
    evaluation = models.OneToOneField(
        Evaluation, models.CASCADE, primary_key=True, related_name="facets", db_constraint=False
    )
    # That of the record.
    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    keys = ArrayField(models.BigIntegerField())
    verdict_order = models.SmallIntegerField(
        db_default=3, help_text="The judge's verdict: 0 Fail, 1 Partial, 2 Pass, 3 none."
    )
    is_flagged = models.BooleanField(db_default=False, help_text="`Evaluation.needs_human_review`.")
    response = models.BigIntegerField(
        null=True, help_text="The same for all records of one response: see `response_key.sql`."
    )
    pair = models.BigIntegerField(
        null=True,
        help_text="The same for both orders of two responses, but for the last bit: see `pair_key`.",
    )
    cluster = models.IntegerField(
        db_default=0, help_text="The cluster of the record: see `records.clusters`."
    )

    class Meta:
        db_table = "evaluation_facets"
        indexes: ClassVar = [
            GinIndex(fields=["keys"], name="evaluation_facets_keys"),
            models.Index("run", "verdict_order", "evaluation", name="evaluation_facets_verdict"),
            # Comparisons of judges read this index only.
            models.Index(
                fields=["run", "response"],
                include=["evaluation", "verdict_order", "is_flagged", "cluster"],
                name="evaluation_facets_response",
            ),
            models.Index(
                fields=["run", "pair"], condition=models.Q(pair__isnull=False), name="evaluation_facets_pair"
            ),
        ]


class EvaluationWords(models.Model):
    """The searchable words of one record, in a table of their own because they are long."""

    # Without a constraint, as that of the facets.
    evaluation = models.OneToOneField(
        Evaluation, models.CASCADE, primary_key=True, related_name="words", db_constraint=False
    )
    words = WordsField()

    class Meta:
        db_table = "evaluation_words"
        indexes: ClassVar = [GinIndex(fields=["words"], name="evaluation_words_words")]


class UnindexedImport(models.Model):
    """An import that is not fully indexed yet. The row is deleted when it is."""

    source = models.OneToOneField(Import, models.CASCADE, primary_key=True, related_name="+")
    line = models.BigIntegerField(default=0, help_text="The last indexed line.")
    evaluations = models.BigIntegerField(help_text="Number of records left to index.")

    class Meta:
        db_table = "unindexed_import"
