"""The paths of records. A record is identified by its run and its evaluation_id.

A run's name has no slash, but an id may contain any character. So that a path has one meaning, GET takes all
that follows `/evaluations/` as the id. Other methods take the last segment as the operation.
"""

from django.urls import register_converter
from django.urls.converters import StringConverter


class EvaluationIdConverter(StringConverter):
    """Match any text, including slashes and line breaks."""

    regex = r"[\s\S]+"


register_converter(EvaluationIdConverter, "evaluation_id")

RECORDS = "/runs/{run}/evaluations"
EVALUATION_ID = "{evaluation_id:evaluation_id}"
RECORD = f"{RECORDS}/{EVALUATION_ID}"
