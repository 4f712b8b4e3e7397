"""Thousands of invalid lines, and malformed requests."""

import json
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import close_old_connections, connection
from django.test import Client
from django.urls import reverse

from reviews.database.statements import fetch_value
from reviews.imports import jobs as import_jobs
from reviews.models import Evaluation, Import, User
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, line
from tests.support.pages import filled_in, text

pytestmark = pytest.mark.django_db

FORM = "application/x-www-form-urlencoded"


@pytest.mark.exhaustive
class TestTwentyThousandBadLines:
    """Import them among enough valid lines, so the file counts as a file of records."""

    BAD, GOOD = 20_000, 300

    @pytest.fixture
    def bad(self, max: User) -> Import:
        lines = (b"no record", line(task_id=True), b"[]", line(human_review_status="Done"))
        good = (line(f"good_{n}") for n in range(self.GOOD))
        data = file_of(*good, *(lines[n % 4] for n in range(self.BAD)))
        upload = import_jobs.enqueue_import(
            run_name="bad", file_name="bad.jsonl", blocks=[data], strict=False, actor=max
        )
        import_jobs.import_upload(import_id=upload.pk)
        return upload

    def test_twenty_thousand_invalid_lines_can_be_downloaded(
        self, bad: Import, client: Client, max: User
    ) -> None:
        client.force_login(max)
        page = client.get(reverse("import", args=[bad.pk]))
        assert [group.size for group in page.context["exception_groups"]] == [self.BAD // 4] * 4
        assert "301, 305, 309 and 4,997 more" in text(page)
        listed = b"".join(client.get(reverse("import-exceptions", args=[bad.pk]))).splitlines()
        assert len(listed) == self.BAD
        assert json.loads(listed[-1])["line"] == self.BAD + self.GOOD
        assert b"".join(client.get(reverse("import-rejected", args=[bad.pk]))).count(b"\n") == self.BAD


def many_fields(client: Client, _: Evaluation) -> Any:
    return client.post(reverse("preview"), {f"field-{number}": "" for number in range(3001)})


def another_encoding(client: Client, evaluation: Evaluation) -> Any:
    kind = "application/x-www-form-urlencoded; charset=utf-16"
    return client.generic("POST", reverse("submit", args=[evaluation.pk]), b"comments=x", content_type=kind)


def null_in_a_field(client: Client, evaluation: Evaluation) -> Any:
    client.post(reverse("claim", args=[evaluation.pk]))
    posted = filled_in(client.get(reverse("evaluation", args=[evaluation.pk])))
    response = client.post(reverse("submit", args=[evaluation.pk]), posted | {"comments": "a\0b"})
    assert "Null characters are not allowed." in text(response)
    return response


def senseless_query(client: Client, evaluation: Evaluation) -> Any:
    for after in ("\0", str(10**19), "-1", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1")):
        response = client.get(reverse("run", args=[evaluation.run_id]), {"after": after})
        assert response.context["rows"].count("<tr ") == 1
    return response


def no_such_record(client: Client, _: Evaluation) -> Any:
    return client.get(f"/evaluations/{10**19}/")


def not_offered(client: Client, evaluation: Evaluation) -> Any:
    address = reverse("resolve-conflicts", args=[evaluation.run_id])
    return client.post(address, {"keep": "mine", "all": "on"})


def unknown_filter(client: Client, evaluation: Evaluation) -> Any:
    response = client.get(reverse("run", args=[evaluation.run_id]), {"status": "\0"})
    assert response.context["view"].problems
    return response


def broken_off(client: Client, _: Evaluation) -> Any:
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
    kind = "multipart/form-data; boundary=x"
    response = client.generic("POST", reverse("import-file"), head + file_of(line()), content_type=kind)
    assert "the upload was interrupted" in text(response)
    return response


def cut_off_form(client: Client, evaluation: Evaluation) -> Any:
    place = reverse("save-view", args=[evaluation.run_id])
    body = b"name=Cut&list=verdict%3DPa"
    kinds = {FORM: body, "multipart/form-data; boundary=x": multipart(body)}
    for kind, sent in kinds.items():
        options: Any = {"wsgi.input": BytesIO(sent), "CONTENT_LENGTH": str(len(sent) + 8)}
        response = client.generic("POST", place, sent, content_type=kind, **options)
        assert response.status_code == 400
    assert not evaluation.run.saved_views.exists()
    return response


def multipart(body: bytes) -> bytes:
    return b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\n' + body


def in_chunks(client: Client, evaluation: Evaluation) -> Any:
    place = reverse("save-view", args=[evaluation.run_id])
    # As a server has it: without the length that the test client sets.
    options: Any = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
    return client.generic("POST", place, b"name=Cut&list=", content_type=FORM, **options)


# Rows of the table in docs/file-outcomes.md: a request, and the status of its response.
REQUESTS: dict[str, tuple[Callable[[Client, Evaluation], Any], int]] = {
    "has more than 3,000 form fields": (many_fields, 400),
    "is a form in another encoding than UTF-8": (another_encoding, 400),
    "has U+0000 in a form field": (null_in_a_field, 422),
    "has an invalid cursor (`after=%00`) or page (10^19)": (senseless_query, 200),
    "names a record or a run that does not exist, by any number": (no_such_record, 404),
    "resolves an unknown conflict, or has a choice that was not offered": (not_offered, 400),
    "has an unknown filter or an invalid value of a filter": (unknown_filter, 200),
    "is an upload that is interrupted": (broken_off, 422),
    "is a form whose connection breaks off": (cut_off_form, 400),
    "has a body without a Content-Length (in chunks)": (in_chunks, 411),
}
LOST_CONNECTION = "comes after the database closed its connection"


@pytest.mark.parametrize("request_is", REQUESTS)
def test_malformed_request_is_answered_as_documented(request_is: str, client: Client, max: User) -> None:
    client.force_login(max)
    send, status = REQUESTS[request_is]
    assert send(client, EvaluationFactory.create()).status_code == status


@pytest.mark.django_db(transaction=True)
def test_request_after_a_lost_connection_is_answered(
    client: Client, max: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(max)
    monkeypatch.setattr(connection, "close_at", None)  # reused for many requests, as in the web server's pool
    pid = fetch_value("SELECT pg_backend_pid()")
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    other.close()
    close_old_connections()  # the first event of a request, which the test client omits
    assert client.get(reverse("runs")).status_code == 200


def test_documented_table_has_a_row_for_each_malformed_request() -> None:
    document = (Path(settings.BASE_DIR) / "docs" / "file-outcomes.md").read_text()
    section = document.partition("\n## Requests\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| .+ \|$", section, re.MULTILINE)
    assert rows == ["The request", *REQUESTS, LOST_CONNECTION]
