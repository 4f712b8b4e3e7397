"""Two web servers with addresses of their own, behind HAProxy with TLS and the documented configuration."""

import base64
import os
import socket
import ssl
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

import pytest
import requests
from requests.adapters import HTTPAdapter

from cognireview.environment import BASE_DIR
from reviews.models import AuditEvent, Import, Run
from tests.growth.programs import Browser, Program, scored
from tests.support import servers
from tests.support.processes import running
from tests.support.servers import HAPROXY, Place, Server
from tests.support.waiting import eventually, free_port

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(
        not (HAPROXY or os.environ.get("CI")), reason="no HAProxy here (apt-get install haproxy)"
    ),
]

CONFIGURATION = BASE_DIR / "docs" / "deployment" / "haproxy.cfg"
RECORDS = 20
RATE = 6
_UNFINISHED = 80
# Bytes.
_LONG = 100_000
TUS = {"Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"}


class Site(NamedTuple):
    """The proxy, and the web servers behind it."""

    proxy: Server
    web: list[Server]


class _From(HTTPAdapter):
    """Sends requests from another address of this machine."""

    def __init__(self, address: str) -> None:
        self._address = address
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, source_address=(self._address, 0), **options)


@pytest.fixture
def certificate(folder: Path) -> Path:
    """A certificate of localhost with its key."""
    file, name = folder / "site.pem", "/CN=localhost"
    extension = ["-addext", "subjectAltName=DNS:localhost"]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "1",
        "-subj",
        name,
        *extension,
    ]
    subprocess.run([*command, "-keyout", file, "-out", folder / "crt"], check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + (folder / "crt").read_bytes())
    return file


@pytest.fixture
def site(database: Place, folder: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(folder / "crt"))
    port = free_port()
    settings = {
        "COGNIREVIEW_PUBLIC_URL": f"https://localhost:{port}",
        "COGNIREVIEW_TRUST_PROXY": "true",
        "COGNIREVIEW_API_RATE_PER_ADDRESS": str(RATE),
        "COGNIREVIEW_WEB_WORKERS": "1",
        "COGNIREVIEW_BLIND_SHARE": "0",
        "COGNIREVIEW_DRAIN_SECONDS": "3",
    }
    with ExitStack() as stack, ThreadPoolExecutor(3) as pool:
        starting = [
            pool.submit(stack.enter_context, server)
            for server in (
                *(servers.web(database.url, folder, f"web{n}", f"127.0.0.{n}", **settings) for n in (2, 3)),
                servers.worker(database.url, folder, **settings),
            )
        ]
        *web, _worker = [future.result() for future in starting]
        text = CONFIGURATION.read_text().replace(":443", f"localhost:{port}")
        text = text.replace("/etc/haproxy/cognireview.pem", str(certificate))
        for number, server in enumerate(web, start=1):
            text = text.replace(f"web{number}.example.org:8000", server.url.removeprefix("http://"))
        (folder / "haproxy.cfg").write_text(text)
        command: list[str | Path] = [str(HAPROXY), "-db", "-f", folder / "haproxy.cfg"]
        proxy = Server(
            stack.enter_context(running(command, folder / "haproxy.log")), f"https://localhost:{port}"
        )
        assert eventually(lambda: _is_ready(proxy)), proxy.process.output()
        yield Site(proxy, web)


def _is_ready(proxy: Server) -> bool:
    try:
        return requests.get(f"{proxy.url}/readyz", timeout=5).status_code == 200
    except requests.RequestException:
        return False


def test_two_web_servers_work_behind_a_proxy_with_tls(site: Site) -> None:
    proxy = site.proxy
    lead, reviewer = Program("lea", "lead", "export"), Program("ana", "reviewer", "review")
    max_ = Browser(Program("max", "admin", "import").person)
    max_.session.mount("https://", _From("127.0.0.5"))
    # The proxy removes an address that a client claims to have.
    max_.session.headers.update({"X-Forwarded-For": "203.0.113.9", "Referer": f"{proxy.url}/"})
    max_.log_in(proxy)
    assert max_.get(proxy, "/account/").url == f"{proxy.url}/account/"
    assert all(cookie.secure for cookie in max_.session.cookies)
    [file] = scored(1, RECORDS)
    uploaded = _upload(max_, proxy, file)
    assert eventually(lambda: Import.objects.get().state == Import.State.DONE), uploaded
    assert len(reviewer.review_all("proxied", proxy)) == RECORDS
    page = max_.export(proxy, Run.objects.get())
    assert max_.download(proxy, page) == lead.ask(proxy, "GET", "runs/proxied/export").content != file
    addresses = AuditEvent.objects.filter(actor_name="max", address__isnull=False)
    assert set(addresses.values_list("address", flat=True)) == {"127.0.0.5"}
    assert requests.get(f"{proxy.url}/metrics", timeout=30).status_code == 403
    for server in site.web:
        assert "/api/v1/" in server.process.output()
    _check_unfinished_requests(proxy)
    _check_rates(proxy)
    _check_stop(site, max_)


def _upload(browser: Browser, proxy: Server, file: bytes) -> str:
    """Upload a file in three parts, each over a new connection, and return the address of the upload."""
    names = {"filename": "proxied.jsonl", "run": "proxied"}
    described = ",".join(f"{name} {base64.b64encode(text.encode()).decode()}" for name, text in names.items())
    page = browser.get(proxy, "/imports/new/").text
    token = {"X-CSRFToken": page.partition('"X-CSRFToken": "')[2].partition('"')[0]}
    headers = TUS | token | {"Upload-Length": str(len(file)), "Upload-Metadata": described}
    made = browser.session.post(f"{proxy.url}/uploads/", headers=headers, timeout=30)
    assert made.status_code == 201, made.text
    address = made.headers["Location"]
    third = len(file) // 3
    for begin in (0, third, 2 * third):
        part = file[begin : begin + third] if begin < 2 * third else file[begin:]
        sent = TUS | token | {"Upload-Offset": str(begin), "Connection": "close"}
        done = browser.session.patch(urljoin(proxy.url, address), part, headers=sent, timeout=30)
        assert done.status_code == 204, done.text
    return str(address)


def _check_unfinished_requests(proxy: Server) -> None:
    """Begin more requests than the web servers have threads, and never send their bodies."""
    place = proxy.url.removeprefix("https://")
    host, _, port = place.partition(":")
    form = f"POST /login/ HTTP/1.1\r\nHost: {place}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    short = f"{form}Content-Length: 9\r\n\r\nlogin"
    # Larger than the buffer of the proxy, which passes it on.
    long = f"{form}Content-Length: {2 * _LONG}\r\n\r\n{'x' * _LONG}"
    kind = ssl.create_default_context(cafile=os.environ["REQUESTS_CA_BUNDLE"])
    with ExitStack() as stack:
        for begun in [short, long] * (_UNFINISHED // 2):
            plain = stack.enter_context(socket.create_connection((host, int(port)), timeout=30))
            secure = stack.enter_context(kind.wrap_socket(plain, server_hostname=host))
            secure.sendall(begun.encode())
        # The proxy gives up on them after 10 seconds, and on long ones after 60.
        assert requests.get(f"{proxy.url}/login/", timeout=8).status_code == 200


def _check_rates(proxy: Server) -> None:
    """Send more requests without a token than an address may send; another address may still send some."""
    statuses = {}
    for address in ("127.0.0.7", "127.0.0.8"):
        client = requests.Session()
        client.mount("https://", _From(address))
        # Both web servers count for themselves.
        count = 2 * RATE + 4 if address.endswith("7") else 1
        statuses[address] = {
            client.get(f"{proxy.url}/api/v1/runs", timeout=30).status_code for _ in range(count)
        }
    assert statuses == {"127.0.0.7": {401, 429}, "127.0.0.8": {401}}


def _check_stop(site: Site, browser: Browser) -> None:
    """Stop a web server. Not one request fails, and the session continues on the other one."""
    stopped = site.web[0].process
    stopped.popen.terminate()
    answers = set()
    while stopped.is_running:
        answers.add(browser.get(site.proxy, "/account/").status_code)
    assert answers == {200}
    assert browser.get(site.proxy, "/account/").status_code == 200
