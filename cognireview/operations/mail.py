"""Send mail through the mail server of the site, as the settings describe it."""

import socket
import ssl
from contextlib import suppress
from smtplib import (
    SMTPAuthenticationError,
    SMTPException,
    SMTPNotSupportedError,
    SMTPRecipientsRefused,
    SMTPResponseException,
    SMTPSenderRefused,
    SMTPServerDisconnected,
)
from typing import Self

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

# The first match applies. Texts of the server are left out: they may quote the message.
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (SMTPRecipientsRefused, "The mail server refused the address."),
    (SMTPAuthenticationError, "The mail server refused the name or password in COGNIREVIEW_MAIL_URL."),
    (SMTPSenderRefused, "The mail server refused the sender (COGNIREVIEW_MAIL_FROM)."),
    (
        SMTPNotSupportedError,
        "The mail server does not support the login or encryption of COGNIREVIEW_MAIL_URL.",
    ),
    (SMTPServerDisconnected, "The mail server closed the connection."),
    (SMTPException, "The mail server refused the message."),
    (ssl.SSLCertVerificationError, "The certificate of the mail server is not trusted."),
    (ssl.SSLError, "The mail server does not answer with TLS as COGNIREVIEW_MAIL_URL says."),
    (socket.gaierror, "The host name in COGNIREVIEW_MAIL_URL could not be resolved."),
    (TimeoutError, "The mail server did not answer in time."),
    (ConnectionRefusedError, "The mail server refused the connection."),
    (OSError, "The mail server could not be reached."),
    (Exception, "No e-mail can be sent to this address."),
)


def is_set_up() -> bool:
    """Return whether the site has a mail server. Without one, Django would drop every mail silently."""
    return bool(settings.SENDS_MAIL)


class MailServer:
    """A connection for several messages. A server that fails is not asked again, because it may hang."""

    def __init__(self) -> None:
        self._connection = get_connection()
        #: Why the server takes no messages, in a sentence; empty while it does.
        self.failure = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._connection.close()

    def send(self, subject: str, text: str, address: str) -> str:
        """Send a message. Return why it was not sent, in a sentence, or an empty string."""
        if self.failure:
            return self.failure
        message = EmailMessage(subject, text, None, [address], connection=self._connection)
        try:
            self._connection.open()
        except (OSError, ValueError) as error:
            self.failure = _reason(error)
            return self.failure
        try:
            message.send()
        except (OSError, ValueError) as error:
            # A refusal concerns one message.
            if isinstance(error, SMTPServerDisconnected) or not isinstance(error, SMTPException | ValueError):
                self.failure = _reason(error)
            return _reason(error)
        return ""


def _reason(error: Exception) -> str:
    if isinstance(error, SMTPServerDisconnected) and isinstance(error.__context__, OSError):
        error = error.__context__
    reason = next(sentence for kind, sentence in _REASONS if isinstance(error, kind))
    # The code says more to those who run the server.
    code = error.smtp_code if isinstance(error, SMTPResponseException) else None
    return f"{reason.rstrip('.')}: code {code}." if code else reason
