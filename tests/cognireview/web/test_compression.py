"""Compressed pages, and the bytes that a browser with an empty cache loads for a record."""

import gzip
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from whitenoise.compress import Compressor

from cognireview.web.compression import PageCompressionMiddleware
from reviews.models import Evaluation, User
from reviews.queue import claims
from tests.support.factories import EvaluationFactory

pytestmark = pytest.mark.django_db

GZIP = {"Accept-Encoding": "gzip, br"}
#: Bytes of the page with its scripts and styles, compressed, without the fonts of KaTeX and without headers.
FIRST_LOAD = 150_000
#: Requests of scripts, styles and icons.
FILES = 32
_LOADED = re.compile(r'(?:href|src)="/static/([^"]+\.(?:css|js|svg))"')
_IMPORTED = re.compile(r"""^import\b[^;]*?["'](\.[^"']+)["'];$""", re.MULTILINE)


def loaded_files(page: str) -> set[str]:
    """Return the static files that a page loads, with those that its modules import."""
    found, waiting = set[str](), set(_LOADED.findall(page))
    while waiting:
        name = waiting.pop()
        found.add(name)
        if name.endswith(".js") and "vendor" not in name:
            folder = Path(name).parent
            targets = _IMPORTED.findall(content(name).decode())
            near = {(settings.BASE_DIR / folder / target).resolve() for target in targets}
            waiting |= {path.relative_to(settings.BASE_DIR).as_posix() for path in near} - found
    return found


def content(name: str) -> bytes:
    path = finders.find(name)
    assert path, name
    return Path(path).read_bytes()


@pytest.mark.slow
def test_first_load_of_a_record_stays_within_its_bytes(client: Client, ana: User) -> None:
    record: Evaluation = EvaluationFactory.create()
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    client.force_login(ana)
    address = reverse("evaluation", args=[record.pk])
    response = client.get(address, headers=GZIP)
    assert response["Content-Encoding"] == "gzip"
    plain = client.get(address)
    assert "Content-Encoding" not in plain
    assert len(response.content) < len(plain.content) / 3
    files = loaded_files(plain.content.decode())
    # As the storage compresses them.
    total = len(response.content) + sum(len(Compressor.compress_brotli(content(name))) for name in files)
    assert total <= FIRST_LOAD, total
    assert len(files) <= FILES, sorted(files)


def test_compressed_page_equals_the_page_and_has_a_random_length() -> None:
    page = b"<p>Record</p>" * 100
    middleware, request = PageCompressionMiddleware(lambda _: HttpResponse()), RequestFactory().get("/")
    request.META["HTTP_ACCEPT_ENCODING"] = GZIP["Accept-Encoding"]
    lengths = set()
    for _ in range(30):
        response = HttpResponse(page)
        middleware.process_response(request, response)
        assert gzip.decompress(response.content) == page
        assert response["Content-Length"] == str(len(response.content))
        assert response["Vary"] == "Accept-Encoding"
        lengths.add(len(response.content))
    assert len(lengths) > 1


def test_files_are_not_compressed_while_they_are_sent(as_max: Client) -> None:
    run = EvaluationFactory.create().run
    sent = as_max.get(reverse("judge-decisions-csv", args=[run.pk]), headers=GZIP)
    assert (sent.status_code, "Content-Encoding" in sent) == (200, False)
