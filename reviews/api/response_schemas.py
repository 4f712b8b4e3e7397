"""Derive the schemas of responses, and of bodies with the same members, from `cognireview.types`."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache, reduce
from itertools import pairwise
from operator import or_
from threading import RLock
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from ninja import Field, Schema
from pydantic import create_model

from cognireview.types import audit, files, records, runs
from reviews.api.values import (
    DecidedScores,
    MappingMembersOut,
    RowScores,
    RubricMembersOut,
    RubricScale,
    Score,
)

# Members with a narrower schema than their Python type.
_NARROWED: dict[tuple[type, str], Any] = {
    (audit.AuditEvent, "at"): Annotated[str, Field(json_schema_extra={"format": "date-time"})],
    (files.Mapping, "mapping"): MappingMembersOut,
    (records.Criterion, "scale"): RubricScale,
    (records.Criterion, "scores"): list[Score],
    (records.Decision, "corrected_scores"): DecidedScores | None,
    (records.RecordRow, "human_scores"): RowScores | None,
    (records.RecordRow, "judge_scores"): RowScores | None,
    (runs.Rubric, "rubric"): RubricMembersOut,
}


class _Response(Schema):
    """The base of responses, which derives their OpenAPI schema once for all operations that share it."""

    @classmethod
    def model_json_schema(cls, *_: Any, **options: Any) -> dict[str, Any]:
        return _json_schema(cls, **options)


@cache
def _json_schema(kind: type[_Response], **options: Any) -> dict[str, Any]:
    return super(_Response, kind).model_json_schema(**options)


# Each dataclass has one schema, also if two requests need it first at the same time.
_lock = RLock()


def response_schema(kind: Any) -> type[Schema]:
    """Return the schema of a response, as ninja expects it: its only member is the response."""
    with _lock:
        return _response_schema(kind)


@cache
def _response_schema(kind: Any) -> type[Schema]:
    return create_model("NinjaResponseSchema", __base__=_Response, response=(schema_of(kind), ...))


def schema_of(kind: Any) -> Any:
    """Return a type with a schema in place of each dataclass."""
    if isinstance(kind, type) and is_dataclass(kind):
        return _schema_of(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if not arguments or origin is Literal:
        return kind
    found = tuple(schema_of(one) for one in arguments)
    return reduce(or_, found) if origin is UnionType else origin[found]


def has_members_of(kind: type) -> Callable[[type[Schema]], Any]:
    """Return a decorator that adds the members of a dataclass to the schema of a body, all required."""

    def add(body: type[Schema]) -> type[Schema]:
        return create_model(body.__name__, __base__=body, __doc__=body.__doc__, **_members_of(kind))

    return add


@cache
def _schema_of(kind: Any) -> type[Schema]:
    """Return the schema of a dataclass. Its docstrings are the descriptions; every member is required."""
    return create_model(kind.__name__, __base__=Schema, __doc__=kind.__doc__, **_members_of(kind))


def _members_of(kind: Any) -> dict[str, Any]:
    hints, described = get_type_hints(kind), dict(_descriptions(kind))
    narrowed = {name: one for (base, name), one in _NARROWED.items() if issubclass(kind, base)}
    return {
        # `import_` is named like a word that Python reserves.
        one.name.removesuffix("_"): (
            narrowed.get(one.name) or schema_of(hints[one.name]),
            Field(description=described.get(one.name)),
        )
        for one in fields(kind)
    }


def _descriptions(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the names of members with the docstrings that follow them, those of base classes first."""
    for one in filter(is_dataclass, reversed(kind.__mro__)):
        yield from _described_in(one.__module__).get(one.__name__, {}).items()


@cache
def _described_in(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of the members of each class of a module."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    # The tree takes much more memory than the texts.
    return {one.name: dict(_described(one)) for one in tree.body if isinstance(one, ast.ClassDef)}


def _described(kind: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for before, after in pairwise(kind.body):
        match before, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())
