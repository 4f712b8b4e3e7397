"""A small OpenID Connect provider for tests, where one person is already signed in.

It implements the code flow with PKCE and signs with RS256. `claims` describes the person.
"""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import LazySettings

from cognireview.environment import Environment
from cognireview.setting_values import Secret

CLIENT, SECRET = "cognireview", "a secret of tests"


@cache
def _key() -> rsa.RSAPrivateKey:
    """Return the key of all providers: a new one takes 0.1 s."""
    return rsa.generate_private_key(65537, 2048)


@dataclass
class Provider:
    """The provider's answers. `refuses` is an error code to return instead of an authorization code."""

    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=lambda: {"sub": "4711", "preferred_username": "ana"})
    refuses: str = ""
    key: rsa.RSAPrivateKey = field(default_factory=_key)
    signing_key: rsa.RSAPrivateKey | None = None
    challenges: dict[str, str] = field(default_factory=dict)

    def configuration(self) -> dict[str, Any]:
        names = {"authorization_endpoint": "authorize", "token_endpoint": "token"}
        names |= {"userinfo_endpoint": "userinfo", "jwks_uri": "keys"}
        urls = {name: f"{self.issuer}/{path}" for name, path in names.items()}
        return {
            "issuer": self.issuer,
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            **urls,
        }

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [public | {"kid": "one", "alg": "RS256", "use": "sig"}]}

    def authorize(self, asked: dict[str, str]) -> str:
        """Return the address to which the browser is redirected."""
        if self.refuses:
            answer = {"error": self.refuses}
        else:
            answer = {"code": f"code-{len(self.challenges)}"}
            self.challenges[answer["code"]] = asked["code_challenge"]
        return f"{asked['redirect_uri']}?{urlencode(answer | {'state': asked['state']})}"

    def token(self, asked: dict[str, str]) -> dict[str, Any]:
        assert (asked["client_id"], asked["client_secret"]) == (CLIENT, SECRET)
        digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
        assert self.challenges.pop(asked["code"]) == base64.urlsafe_b64encode(digest).decode().rstrip("=")
        now = int(time.time())
        told = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 60, "sub": self.claims["sub"]}
        signed = jwt.encode(told, self.signing_key or self.key, "RS256", headers={"kid": "one"})
        return {"access_token": "an access token", "token_type": "Bearer", "id_token": signed}


@contextmanager
def running() -> Iterator[Provider]:
    """Run the provider for the length of the block."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(_flat(parts.query)))
                self.end_headers()
                return
            answers = {
                "/.well-known/openid-configuration": provider.configuration(),
                "/keys": provider.keys(),
                "/userinfo": provider.claims,
            }
            self._answer(answers[parts.path])

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            self._answer(provider.token(_flat(self.rfile.read(length).decode())))

        def _answer(self, value: dict[str, Any]) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Suppress the request log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def configured(settings: LazySettings) -> Iterator[Provider]:
    """Run a provider that the site uses: the group `judges` reviews, `heads` leads."""
    with running() as provider:
        environment = Environment(
            oidc_issuer=provider.issuer,
            oidc_client_id=CLIENT,
            oidc_client_secret=Secret(SECRET),
            oidc_name="the university",
            oidc_roles="judges=reviewer, heads=lead",
        )
        ours: dict[str, Any] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": ours | {"APPS": environment.oidc_apps}}
        settings.OIDC_ISSUER, settings.OIDC_NAME = environment.oidc_issuer, environment.oidc_name
        settings.OIDC_ROLES = environment.roles_of_groups
        yield provider


def _flat(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query).items()}
