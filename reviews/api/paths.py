"""The paths of records. A record is identified by its run and its evaluation_id.

A run's name has no slash, but an id may contain any character. So that a path has one meaning, GET takes all
that follows `/evaluations/` as the id. Other methods take the last segment as the operation.
"""

import re

from django.urls import register_converter
from django.urls.converters import StringConverter


class EvaluationIdConverter(StringConverter):
    """Match any text, including slashes and line breaks."""

    regex = r"[\s\S]+"


register_converter(EvaluationIdConverter, "evaluation_id")

_CONVERTERS = {"evaluation_id": "evaluation_id", "upload_id": "uuid"}


def django_path(path: str, *, takes_any_run: bool = False) -> str:
    """Return the path of an operation with Django's converters. Other ids than those named are integers."""
    if takes_any_run:
        path = path.replace("{run}", "{path:run}")
    return re.sub(r"{(\w+_id)}", lambda found: f"{{{_CONVERTERS.get(found[1], 'int')}:{found[1]}}}", path)
