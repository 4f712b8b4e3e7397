"""What lists are filtered and searched by where a column of the evaluation does not do: see `facets`."""

from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.lookups import Lookup

from reviews.models.evaluations import Evaluation
from reviews.models.runs import Import, Run


class WordsField(models.TextField):  # type: ignore[type-arg]  # Django's takes none at run time
    """A tsvector. Its one lookup, `have`, takes what `words.query` makes."""

    def db_type(self, connection: Any) -> str:
        return "tsvector"


@WordsField.register_lookup
class Have(Lookup):
    """Whether words match a query."""

    lookup_name = "have"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        words, words_parameters = self.process_lhs(compiler, connection)
        return f"{words} @@ %s::tsquery", (*words_parameters, self.rhs)


class RunFacet(models.Model):
    """A value of a filter that occurs in a run, to choose from; it stays when its last record changes."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=20, help_text="Of the filter.")
    value = models.TextField()
    title = models.TextField(help_text="What people read, where it is not the value.")

    class Meta:
        db_table = "run_facet"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "name", "value"], name="run_facet_is_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.value}"


class EvaluationFacets(models.Model):
    """The facets of one record, each as `facets.key` makes it. The rows are narrow: all are read quickly."""

    evaluation = models.OneToOneField(Evaluation, models.CASCADE, primary_key=True, related_name="facets")
    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    keys = ArrayField(models.BigIntegerField())

    class Meta:
        db_table = "evaluation_facets"
        indexes: ClassVar = [GinIndex(fields=["keys"], name="evaluation_facets_keys")]

    def __str__(self) -> str:
        return f"facets of {self.evaluation_id}"


class EvaluationWords(models.Model):
    """The words of one record. Apart from its facets, because they are long."""

    evaluation = models.OneToOneField(Evaluation, models.CASCADE, primary_key=True, related_name="words")
    words = WordsField()

    class Meta:
        db_table = "evaluation_words"
        indexes: ClassVar = [GinIndex(fields=["words"], name="evaluation_words_words")]

    def __str__(self) -> str:
        return f"words of {self.evaluation_id}"


class Uncovered(models.Model):
    """An import whose records do not all have their facets and words yet. The row goes when they have."""

    source = models.OneToOneField(Import, models.CASCADE, primary_key=True, related_name="+")
    line = models.BigIntegerField(default=0, help_text="The last line that is done.")
    evaluations = models.BigIntegerField(help_text="How many records are left.")

    class Meta:
        db_table = "uncovered"

    def __str__(self) -> str:
        return f"{self.evaluations} records of {self.source}"
