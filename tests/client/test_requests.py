"""Settings, addresses, bodies, retries, decoding and errors of the client, without a server."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from cognireview.client import errors
from cognireview.client.decoding import decode
from cognireview.client.errors import CogniReviewError, InvalidSettings, UnexpectedResponse, problem_of
from cognireview.client.received_file import ReceivedFile
from cognireview.client.requests import (
    Lines,
    Retries,
    address_of,
    as_lines,
    definition,
    filters_of,
    is_temporary,
    scores_of,
    seconds_to_wait,
)
from cognireview.client.transport import read_settings
from cognireview.types import operations
from cognireview.types.files import ContextException, Reread
from reviews.api.problem_types import TYPES

NOW = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)


class TestSettings:
    @pytest.mark.parametrize(
        "url",
        ["https://review.example.org", "https://review.example.org/", "https://review.example.org/api/v1/"],
    )
    def test_address_has_the_prefix_once(self, url: str) -> None:
        assert read_settings(url, "cr_x").address == "https://review.example.org/api/v1"

    def test_settings_come_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_URL", "http://[::1]:8000/team")
        monkeypatch.setenv("COGNIREVIEW_TOKEN", " cr_x\n")
        found = read_settings(None, None)
        assert (found.address, found.token) == ("http://[::1]:8000/team/api/v1", "cr_x")
        assert "cr_x" not in repr(found)

    @pytest.mark.parametrize(
        ("url", "token", "named"),
        [
            ("", "cr_x", "COGNIREVIEW_URL"),
            ("http://a", "", "COGNIREVIEW_TOKEN"),
            ("", "", "COGNIREVIEW_URL and COGNIREVIEW_TOKEN"),
            ("review.example.org", "cr_x", "COGNIREVIEW_URL"),
            ("http://a:port", "cr_x", "COGNIREVIEW_URL"),
            ("http://max:secret@a", "cr_x", "COGNIREVIEW_URL"),
            ("http://a?b=c", "cr_x", "COGNIREVIEW_URL"),
            ("http://a", "cr_é", "COGNIREVIEW_TOKEN"),
            ("http://a", "cr_x\r\nHost: b", "COGNIREVIEW_TOKEN"),
        ],
    )
    def test_invalid_setting_is_named(self, url: str, token: str, named: str) -> None:
        with pytest.raises(InvalidSettings, match=named):
            read_settings(url, token)


class TestAddress:
    def test_path_and_query_are_encoded(self) -> None:
        query = {"model": ["o1", "a b"], "sort": None, "q": "ä&=", "after": ""}
        path = {"run": "a? b & c%2F", "evaluation_id": "x/y"}
        found = address_of(operations.RECORD, path, query)
        assert found == "/runs/a%3F%20b%20%26%20c%252F/evaluations/x%2Fy?model=o1&model=a+b&q=%C3%A4%26%3D"

    def test_booleans_and_dates_are_spelled_as_the_api_does(self) -> None:
        query = {"archived": False, "since": dt.date(2026, 1, 31), "zero": 0}
        assert address_of(operations.RUNS, {}, query) == "/runs?archived=false&since=2026-01-31&zero=0"

    @pytest.mark.parametrize("name", ["", ".", ".."])
    def test_name_that_changes_the_path_is_refused(self, name: str) -> None:
        with pytest.raises(CogniReviewError, match="cannot be part of an address"):
            address_of(operations.RUN, {"run": name}, {})

    def test_wrong_parts_of_a_path_are_refused(self) -> None:
        with pytest.raises(ValueError, match="needs"):
            address_of(operations.RUN, {"name": "a"}, {})

    def test_filters_have_hyphens(self) -> None:
        assert filters_of({"claimed_by": "ana", "model": ["o1"]}) == {"claimed-by": "ana", "model": ["o1"]}


class TestBodies:
    def test_score_without_justification_becomes_an_object(self) -> None:
        given = {"Clarity": "No", "Depth": {"score": 3, "justification": "Deep."}, "Tone": None}
        assert scores_of(given) == {
            "Clarity": {"score": "No"},
            "Depth": {"score": 3, "justification": "Deep."},
            "Tone": None,
        }

    def test_definition_is_toml_or_json(self, tmp_path: Path) -> None:
        (tmp_path / "rubric.toml").write_bytes(b"[a]")
        for given in ("[a]", tmp_path / "rubric.toml"):
            assert definition(given).kind == "application/toml"
            assert definition(given).content == b"[a]"
        assert json.loads(definition({"name": "promptfoo"}).content) == {"name": "promptfoo"}

    def test_only_a_line_feed_ends_a_line(self) -> None:
        lines = Lines()
        text = '{"a": "\u2028\x85"}\n\n{"b": 1}'.encode()
        found = [value for at in range(len(text)) for value in lines.split(text[at : at + 1])]
        assert found + lines.rest() == [{"a": "\u2028\x85"}, {"b": 1}]
        assert Lines().rest() == []


class TestRetries:
    def test_pauses_double_up_to_the_longest(self) -> None:
        retries = Retries(first_pause=1, longest_pause=4)
        for attempt, longest in enumerate([1, 2, 4, 4]):
            assert longest / 2 <= retries.pause(attempt) <= longest

    def test_retry_after_is_a_lower_bound_with_a_limit(self) -> None:
        retries = Retries(first_pause=1, longest_pause=4)
        assert retries.pause(0, 9) == 9
        assert retries.pause(0, 10**9) == 16

    @pytest.mark.parametrize(
        ("header", "seconds"),
        [
            (None, None),
            ("5", 5),
            ("Sat, 31 Jan 2026 12:00:30 GMT", 30),
            ("Sat, 31 Jan 2026 11:00:00 GMT", 0),
            ("soon", None),
            ("-1", None),
        ],
    )
    def test_retry_after_is_a_number_or_a_time(self, header: str | None, seconds: float | None) -> None:
        assert seconds_to_wait(header, NOW) == seconds

    @pytest.mark.parametrize(
        ("operation", "status", "headers", "expected"),
        [
            (operations.APPEND, 429, {}, True),
            (operations.APPEND, 503, {"retry-after": "1"}, True),
            (operations.RUN, 503, {"content-type": errors.PROBLEM}, False),
            (operations.UNDO, 502, {"content-type": "text/html"}, True),
            (operations.APPEND, 502, {"content-type": "text/html"}, False),
            (operations.CREATE_IMPORT, 504, {}, True),
            (operations.RUN, 500, {}, False),
            (operations.RUN, 404, {}, False),
        ],
    )
    def test_temporary_failure(self, operation: Any, status: int, headers: Any, expected: bool) -> None:
        assert is_temporary(operation, errors.Problem(status, {}), headers) is expected

    def test_request_waits_for_its_own_earlier_attempt(self) -> None:
        for kind, expected in (("idempotency-key-in-use", True), ("conflict", False)):
            problem = errors.Problem(409, {"type": TYPES[kind].uri})
            headers = {"content-type": errors.PROBLEM}
            assert is_temporary(operations.UNDO, problem, headers) is expected


class TestDecoding:
    def test_unknown_members_are_ignored(self) -> None:
        given = {"place": 1, "field": "a", "reason": "b", "new": {}}
        assert decode(ContextException, given) == ContextException(1, "a", "b")

    @pytest.mark.parametrize(
        ("kind", "value", "sentence"),
        [
            (Reread, {"records": 1}, "response.new_records is missing"),
            (list[int], [1, True], r"response\[1\] is bool, and not int"),
            (dict[str, int], {"a": "1"}, "response.a is str, and not int"),
            (dt.datetime, "today", "response is not a time"),
            (ContextException, [], "response is list, and not dict"),
            (str | None, 1, "response is int, and not str"),
        ],
    )
    def test_wrong_value_is_named_by_its_place(self, kind: Any, value: Any, sentence: str) -> None:
        with pytest.raises(UnexpectedResponse, match=sentence):
            decode(kind, value)


class TestProblems:
    def test_problem_has_the_members_of_the_response(self) -> None:
        members = {
            "type": "https://review.example.org/problems/conflict",
            "title": "Conflict",
            "status": 409,
            "detail": "Somebody was first.",
            "errors": [{"field": "version", "reason": "is old"}],
            "who": "ana",
        }
        found = problem_of(409, f"{errors.PROBLEM}; charset=utf-8", json.dumps(members).encode())
        assert isinstance(found, errors.Conflict)
        assert (found.type, found.title, found.detail) == (members["type"], "Conflict", "Somebody was first.")
        assert found.errors == (errors.FieldError("version", "is old"),)
        assert found.more == {"who": "ana"}
        assert str(found) == "409 Conflict: Somebody was first. (version: is old)"

    @pytest.mark.parametrize("status", [401, 403, 404, 409, 418, 422, 429, 500, 503])
    def test_each_status_has_its_class(self, status: int) -> None:
        found = problem_of(status, errors.PROBLEM, b"{}")
        assert found.status == status
        assert (type(found) is errors.Problem) == (status == 418)

    @pytest.mark.parametrize("body", [b"<html>Bad gateway</html>", b"", b"\xff[", b"[]", b'{"errors": [1]}'])
    def test_response_of_a_proxy_is_an_error_too(self, body: bytes) -> None:
        for kind in ("text/html", errors.PROBLEM):
            assert isinstance(problem_of(502, kind, body), errors.ServerError)

    @pytest.mark.parametrize(("kind", "found"), errors._CLASSES_OF_KINDS.items())
    def test_type_of_a_problem_chooses_a_subclass(self, kind: str, found: type[errors.Problem]) -> None:
        known = TYPES[kind]
        problem = problem_of(known.status, errors.PROBLEM, json.dumps({"type": known.uri}).encode())
        assert (type(problem), problem.kind) == (found, kind)
        assert issubclass(found, errors._CLASSES[known.status])


class TestReceivedFile:
    def test_file_replaces_the_older_one_when_complete(self, tmp_path: Path) -> None:
        target, seen = tmp_path / "out.jsonl", []
        target.write_bytes(b"old")
        with ReceivedFile(target, lambda done, total: seen.append((done, total))) as file:
            file.begin(200, {"content-length": "3"})
            file.write(b"ne")
            assert target.read_bytes() == b"old"
            file.write(b"w")
            found = file.finish()
        assert (target.read_bytes(), found.size) == (b"new", 3)
        assert seen == [(2, 3), (3, 3)]
        assert [*tmp_path.iterdir()] == [target]

    @pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
    def test_interrupted_file_leaves_nothing(self, tmp_path: Path, error: type[BaseException]) -> None:
        def receive() -> None:
            with ReceivedFile(tmp_path / "out.jsonl", None) as file:
                file.write(b"half")
                raise error

        with pytest.raises(error):
            receive()
        assert [*tmp_path.iterdir()] == []

    def test_file_with_another_digest_is_refused(self, tmp_path: Path) -> None:
        def receive(data: bytes) -> None:
            digest = "sha-256=:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"  # of b"abc"
            with ReceivedFile(tmp_path / "out.jsonl", None) as file:
                file.begin(200, {"repr-digest": f"md5=:eA==:, {digest}"})
                file.write(data)
                file.finish()

        with pytest.raises(UnexpectedResponse, match="damaged"):
            receive(b"abd")
        assert [*tmp_path.iterdir()] == []
        receive(b"abc")
        assert (tmp_path / "out.jsonl").read_bytes() == b"abc"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1}, "\ud800"])
def test_record_that_is_not_json_is_named_by_its_number(value: object) -> None:
    with pytest.raises(CogniReviewError, match="Record 2 of those to import: This cannot be sent as JSON: "):
        as_lines([{"evaluation_id": "a"}, {"evaluation_id": "b", "score": value}])
