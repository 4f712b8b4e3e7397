"""Programs that send requests to the API with a token."""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import orjson
from django.test import Client
from django.utils import timezone

from reviews.accounts import api_tokens
from reviews.accounts.encryption import hash_token
from reviews.models import ApiToken, Evaluation, User

ALL = tuple(api_tokens.SCOPES)
JSON = "application/json"


class Program:
    """A client with a token."""

    def __init__(self, text: str = "") -> None:
        headers = {"Authorization": f"Bearer {text}"} if text else {}
        self._client = Client(headers=headers)
        self.text = text

    def ask(self, method: str, path: str, body: Any = None, *, kind: str = JSON, **headers: str) -> Any:
        """Send a request to a path below /api/v1. Bodies other than bytes are sent as JSON."""
        data = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        address = f"/api/v1/{path}"
        return self._client.generic(method, address, data, content_type=kind, headers=named)

    def get(self, path: str) -> Any:
        return self.ask("GET", path)


def path_of(record: Evaluation, operation: str = "") -> str:
    """Return the path of a record, or of an operation on it."""
    path = f"runs/{quote(record.run.name, safe='')}/evaluations/{quote(record.evaluation_id, safe='')}"
    return f"{path}/{operation}" if operation else path


def program_of(person: User, *scopes: str) -> Program:
    """Return a program with a token of these scopes, or of all scopes that the person's role allows."""
    if not scopes:
        able = {
            "reviewer": ("review", "read", "tokens"),
            "lead": ("export", "configure", "review", "read", "tokens"),
            "admin": ALL,
        }
        scopes = able[person.groups.get().name]
    return Program(_token_text(person, scopes))


def _token_text(person: User, scopes: Sequence[str]) -> str:
    """Create a token that was just used, in one statement, and return its text."""
    now = timezone.now()
    text = f"cr_{secrets.token_urlsafe(32)}"
    ApiToken.objects.create(
        person=person,
        prefix=text[:11],
        token_hash=hash_token(text),
        scopes=[scope for scope in ALL if scope in scopes],
        expires_at=now + timedelta(days=7),
        last_used_at=now,
    )
    return text
