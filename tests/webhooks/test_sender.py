"""Sending of a message to a real server on this machine."""

import datetime as dt
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import LazySettings

from reviews.webhooks import sender
from reviews.webhooks.sender import DeliveryResult
from tests.support.receiver import Receiver

SECRET = sender.new_secret()


def send(url: str) -> DeliveryResult:
    return sender.send_message(
        url, message_id="msg_1", timestamp=1614265330, body=b'{"a": 1}', signed_with=[SECRET]
    )


def test_signature_follows_standard_webhooks() -> None:
    """The example of the Standard Webhooks libraries."""
    made = sender.signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_message_is_sent_verbatim(there: Receiver) -> None:
    assert send(there.url) == DeliveryResult(204, "No Content")
    [received] = there.received
    assert (received.path, received.body) == ("/hook?to=team", b'{"a": 1}')
    assert received.headers["host"] == there.host
    assert received.headers["content-type"] == "application/json"
    assert received.headers["webhook-id"] == "msg_1"
    assert received.headers["webhook-timestamp"] == "1614265330"
    assert received.headers["webhook-signature"] == sender.signature(
        SECRET, "msg_1", 1614265330, received.body
    )


@pytest.mark.parametrize(
    ("status", "is_taken"), [(200, True), (299, True), (400, False), (410, False), (500, False), (999, False)]
)
def test_status_tells_whether_a_message_was_delivered(status: int, is_taken: bool, there: Receiver) -> None:
    there.statuses = [status]
    assert (send(there.url).status, send(there.url).is_taken) == (status, is_taken)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_not_followed(status: int, there: Receiver) -> None:
    there.statuses, there.headers = [status], {"Location": f"http://{there.host}/elsewhere"}
    assert send(there.url) == DeliveryResult(status, "Redirects are not followed.")
    assert [received.path for received in there.received] == ["/hook?to=team"]


def test_unlisted_host_is_not_resolved(
    there: Receiver, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    monkeypatch.delattr(socket, "getaddrinfo")
    answer = send(there.url)
    assert (answer.status, answer.is_taken) == (None, False)
    assert "is not in COGNIREVIEW_WEBHOOK_HOSTS" in answer.reason
    assert there.received == []


def test_connection_uses_the_checked_address(there: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that changes its address is resolved only once."""
    asked = []
    look_up = socket.getaddrinfo

    def once(host: str, *rest: object, **options: object) -> object:
        asked.append(host)
        return look_up(host, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", once)
    assert send(there.url).is_taken
    assert asked.count("localhost") == 1
    # Connecting also calls getaddrinfo, with the address.
    assert set(asked) <= {"localhost", "127.0.0.1", "::1"}


def test_refused_connection_is_reported(there: Receiver, settings: LazySettings) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        settings.WEBHOOK_HOSTS = [f"127.0.0.1:{taken.getsockname()[1]}"]
        answer = send(f"http://{settings.WEBHOOK_HOSTS[0]}/")
    assert answer == DeliveryResult(None, "Connection refused.")


def hang_up(connection: socket.socket) -> None:
    """Shut down our side and read the rest: unread bytes would reset the connection."""
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(10_000):
        pass


@contextmanager
def saying(*parts: bytes, pause: float = 0) -> Iterator[int]:
    """Start a server that answers one connection with these bytes, and return its port."""

    def serve() -> None:
        connection, _address = listening.accept()
        with connection:
            try:
                for part in parts:
                    connection.sendall(part)
                    time.sleep(pause)
                hang_up(connection)
            except OSError:
                pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


@pytest.mark.slow
def test_endless_response_is_abandoned(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "MOST_SECONDS", 0.3)
    with saying(b"HTTP/1.1 200 OK\r\nX: ", *[b"y"] * 1_200, pause=0.05) as port:
        settings.WEBHOOK_HOSTS = [f"127.0.0.1:{port}"]
        assert send(f"http://127.0.0.1:{port}/") == DeliveryResult(None, "No response in time.")


@pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH_9\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\0" * 100_000])
def test_invalid_response_is_reported(said: bytes, settings: LazySettings) -> None:
    with saying(said) as port:
        settings.WEBHOOK_HOSTS = [f"127.0.0.1:{port}"]
        answer = send(f"http://127.0.0.1:{port}/")
    assert answer == DeliveryResult(None, "The connection was interrupted or the response was invalid.")


class TestTls:
    @pytest.fixture
    def certificate(self, tmp_path: Path) -> Path:
        """Create a self-signed certificate and its key for localhost."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - dt.timedelta(1)).not_valid_after(now + dt.timedelta(1))
        names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
        made = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
        path = tmp_path / "localhost.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
        return path

    @pytest.fixture
    def secure(self, there: Receiver, certificate: Path) -> Iterator[int]:
        """Start a TLS server that answers one request with 200, and return its port."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)

        def serve() -> None:
            try:
                connection, _address = listening.accept()
                with context.wrap_socket(connection, server_side=True) as secured:
                    secured.recv(10_000)
                    secured.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    hang_up(secured)
            except OSError:
                pass

        with socket.create_server(("127.0.0.1", 0)) as listening:
            thread = threading.Thread(target=serve)
            thread.start()
            yield listening.getsockname()[1]
            thread.join()

    def test_certificate_for_the_name_is_accepted(
        self, secure: int, certificate: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.WEBHOOK_HOSTS = [f"localhost:{secure}"]
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert send(f"https://localhost:{secure}/") == DeliveryResult(200, "OK")

    def test_certificate_for_another_name_is_refused(
        self, secure: int, certificate: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.WEBHOOK_HOSTS = [f"127.0.0.1:{secure}"]
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        answer = send(f"https://127.0.0.1:{secure}/")
        assert answer.status is None
        assert answer.reason.startswith("The certificate is not trusted: ")

    def test_untrusted_certificate_is_refused(self, secure: int, settings: LazySettings) -> None:
        settings.WEBHOOK_HOSTS = [f"localhost:{secure}"]
        assert "self-signed certificate" in send(f"https://localhost:{secure}/").reason

    def test_plain_text_is_refused_as_tls(self, settings: LazySettings) -> None:
        with saying(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
            settings.WEBHOOK_HOSTS = [f"localhost:{port}"]
            assert send(f"https://localhost:{port}/") == DeliveryResult(None, "The TLS handshake failed.")
