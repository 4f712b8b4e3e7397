"""Any request to an operation gets a valid response or a 4xx problem.

Complements `test_schema` with methods and bodies of other operations, and existing criteria, scores, filters.
"""

import re
from collections import defaultdict
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from reviews.api.problem_types import TYPES
from reviews.models import User
from reviews.search.filters import FILTERS
from reviews.search.sort_orders import SORTS
from tests.api.access import ACCESS
from tests.support.api_requests import Program, program_of
from tests.support.factories import SCORES, EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db

texts = st.text(st.characters(codec="utf-8"), max_size=20)
names = st.sampled_from([*FILTERS, "run", "sort", "after", "only", "strict", "file_name", "require"]) | texts
words = (
    st.sampled_from(
        ["one", "done", "Pass", "true", "2026-11-21", "[1, 2]", "-1", "0", "miss_rate <= 1", *SORTS]
    )
    | texts
)
values = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | texts
json_values = st.recursive(
    values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
criteria = st.sampled_from([*SCORES]) | texts
entries = st.none() | st.fixed_dictionaries(
    {"score": st.sampled_from(["Yes", "No"]) | json_values}, optional={"justification": texts | st.none()}
)
bodies = st.one_of(
    st.fixed_dictionaries(
        {"corrected_scores": st.dictionaries(criteria, entries, max_size=3)},
        optional={
            "comments": texts,
            "causes": st.dictionaries(criteria, texts, max_size=2),
            "version": st.integers(-(2**63), 2**64 - 1),
        },
    ),
    st.fixed_dictionaries({"scores": st.dictionaries(criteria, json_values, max_size=3)}),
    st.fixed_dictionaries(
        {"run": st.just("one"), "filters": st.dictionaries(names, words | st.lists(words), max_size=3)}
    ),
    json_values,
).map(lambda value: orjson.dumps(value, default=str))
kinds = st.sampled_from(["application/json", "application/x-ndjson", "text/plain", "", "multipart/form-data"])


# Name in a path -> its values.
_KEYS: defaultdict[str, st.SearchStrategy[Any]] = defaultdict(
    lambda: st.integers(0, 10**40) | texts,
    run=st.just("one") | texts,
    evaluation_id=st.sampled_from(["blind", "shown"]) | texts,
)
_NAME = re.compile(r"{(\w+)}")


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    method, path = draw(st.sampled_from([*ACCESS])).split(" /")
    place = _NAME.sub(lambda name: quote(str(draw(_KEYS[name[1]])), safe=""), path)
    query = draw(st.lists(st.tuples(names, words), max_size=4))
    asked = "&".join(f"{quote(name)}={quote(value)}" for name, value in query)
    key = draw(st.text(st.characters(min_codepoint=33, max_codepoint=255), max_size=30))
    return {
        "method": draw(st.just(method) | st.sampled_from(["GET", "POST", "PUT", "DELETE"])),
        "path": f"{place}?{asked}",
        "body": draw(bodies | st.binary(max_size=50)),
        "kind": draw(kinds),
        "Idempotency_Key": key,
    }


@pytest.fixture
def program(max: User) -> Program:
    for key, share in (("blind", 1.0), ("shown", 0.0)):
        run = RunFactory.create(name="one" if key == "shown" else key, blind_share=share)
        answer = {"final_answer": "2"}
        EvaluationFactory.create(run=run, evaluation_id=key, structured_model_response=answer)
    return program_of(max)


@pytest.mark.slow
@pytest.mark.parametrize("number", [20, pytest.param(200, marks=pytest.mark.exhaustive)])
def test_no_request_causes_a_server_error(number: int, program: Program) -> None:
    statuses = set()

    def plain(path: str) -> dict[str, Any]:
        return {"method": "GET", "path": path, "body": b"", "kind": "", "Idempotency_Key": "1"}

    @examples(max_examples=number)
    @example(plain("runs/one"))
    @example(plain("runs/no-such-run"))
    @example(plain("uploads/0") | {"method": "HEAD", "Idempotency_Key": ""})
    @example(plain("runs/one/evaluations?sort=no-such-order"))
    @example(plain(f"runs/one?{'a=1&' * 4_000}"))
    @given(requests())
    def ask(request: dict[str, Any]) -> None:
        answer = program.ask(**request)
        statuses.add(answer.status_code)
        assert answer.status_code < 500
        if answer.status_code < 400:
            answer.getvalue()
            return
        assert answer["Content-Type"] == "application/problem+json"
        if request["method"] == "HEAD":
            assert answer.content == b""
        else:
            problem = answer.json()
            assert problem["status"] == answer.status_code
            assert problem["type"] in {kind.uri for kind in TYPES.values()}

    ask()
    assert {200, 404, 422} <= statuses
