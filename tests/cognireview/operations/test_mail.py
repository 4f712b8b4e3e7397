"""Mail that cannot be sent: the reason is a sentence, and a server that fails is asked once."""

import socket
import ssl
from collections.abc import Iterator
from smtplib import (
    SMTPAuthenticationError,
    SMTPConnectError,
    SMTPDataError,
    SMTPRecipientsRefused,
    SMTPServerDisconnected,
)

import pytest
from django.core import mail
from django.core.mail.backends.smtp import EmailBackend
from pytest_django import Settings

from cognireview.operations.mail import MailServer

_PYTHON = ("Error", "Errno", "(", "b'", "[")


@pytest.fixture
def silent(settings: Settings) -> Iterator[socket.socket]:
    """Listen where the mail server should be, and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = listener.getsockname()
        settings.EMAIL_TIMEOUT = 0.05
        yield listener


@pytest.mark.slow
def test_server_that_hangs_is_asked_once(silent: socket.socket) -> None:
    with MailServer() as server:
        reasons = {server.send("Subject", "Text", f"{name}@example.org") for name in ("ana", "bo", "cy")}
    assert reasons == {"The mail server did not answer in time."}
    silent.settimeout(0.05)
    silent.accept()[0].close()
    with pytest.raises(TimeoutError):
        silent.accept()


@pytest.mark.parametrize(
    "error",
    [
        SMTPAuthenticationError(535, b"5.7.8 Error: authentication failed"),
        SMTPConnectError(421, b"too many connections"),
        SMTPServerDisconnected("Connection unexpectedly closed"),
        ConnectionRefusedError(111, "Connection refused"),
        socket.gaierror(-2, "Name or service not known"),
        ssl.SSLCertVerificationError("certificate verify failed: self-signed certificate (_ssl.c:992)"),
        ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"),
        OSError(101, "Network is unreachable"),
        ValueError("EMAIL_USE_TLS"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_server_that_cannot_be_used_has_a_sentence_as_the_reason(
    error: Exception, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_backend: EmailBackend) -> None:
        raise error

    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    monkeypatch.setattr(EmailBackend, "open", fail)
    with MailServer() as server:
        reason = server.send("Subject", "Text", "ana@example.org")
    assert reason == server.failure
    assert reason.endswith(".")
    assert not [text for text in _PYTHON if text in reason]


@pytest.mark.parametrize(
    "error",
    [
        SMTPRecipientsRefused({"bo@example.org": (550, b"no such mailbox")}),
        SMTPDataError(554, b"looks like spam"),
        UnicodeEncodeError("ascii", "b\xf6", 1, 2, "ordinal not in range"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_refused_message_does_not_stop_the_others(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    send = mail.EmailMessage.send

    def refuse_first(message: mail.EmailMessage) -> int:
        if message.to == ["bo@example.org"]:
            raise error
        return send(message)

    monkeypatch.setattr(mail.EmailMessage, "send", refuse_first)
    with MailServer() as server:
        refused = server.send("Subject", "Text", "bo@example.org")
        assert server.send("Subject", "Text", "cy@example.org") == ""
    assert refused.endswith(".")
    assert not [text for text in _PYTHON if text in refused]
    assert [sent.to for sent in mail.outbox] == [["cy@example.org"]]
