"""The score that MDN's HTTP Observatory would give an answer of ours, computed without asking it.

The rules are those of its public scoring table ("Tests and scoring" in MDN's documentation of it): everybody
begins with 100, each of ten tests takes points or gives some, and what is given counts only where what was
taken leaves 90 or more. Left out are the points for HSTS that browsers know of beforehand, and what a nonce
does beside 'strict-dynamic', which no policy of ours has.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from http.cookies import Morsel
from urllib.parse import urlsplit

BASELINE = 100
# Below it no points are given.
LEAST_FOR_EXTRA_CREDIT = 90
# They say half a year and take a little less.
HALF_A_YEAR = 15_552_000

_BROAD = {"*", "http:", "https:", "ftp:", "http://*", "https://*", "http://*.*", "https://*.*"}
_INLINE = {"'unsafe-inline'", "data:"}
_HASHED = ("'nonce-", "'sha256-", "'sha384-", "'sha512-")
_PRIVATE_REFERRERS = {"no-referrer", "same-origin", "strict-origin", "strict-origin-when-cross-origin"}
_UNSAFE_REFERRERS = {"origin", "origin-when-cross-origin", "unsafe-url", "no-referrer-when-downgrade"}


@dataclass(frozen=True)
class Answer:
    """An answer over https, and where the same address leads over plain http (empty: nowhere)."""

    url: str
    headers: Mapping[str, str]
    cookies: Iterable["Morsel[str]"] = ()
    body: str = ""
    redirects_to: str = ""

    def header(self, name: str) -> str:
        return self.headers.get(name, "").strip().lower()

    @property
    def policy(self) -> dict[str, set[str]]:
        """The content security policy: directive -> its sources."""
        found: dict[str, set[str]] = {}
        for directive in filter(str.strip, self.header("Content-Security-Policy").split(";")):
            name, *sources = directive.split()
            found.setdefault(name, set(sources))
        return found


def content_security_policy(answer: Answer) -> int:
    policy = answer.policy
    if not policy:
        return -25
    whole = policy.get("default-src", {"*"})
    script, style, objects = (policy.get(name, whole) for name in ("script-src", "style-src", "object-src"))
    script, style = _without_ignored(script), _without_ignored(style)
    passive = policy.get("img-src", whole) | policy.get("media-src", whole)
    of_others = (found for name, found in policy.items() if name not in {"img-src", "media-src"})
    active = set[str]().union(*of_others)
    rules = [
        (bool(script & (_BROAD | _INLINE) or objects & _BROAD), -20),
        (_is_insecure(active), -20),
        ("'unsafe-eval'" in script | style, -10),
        (_is_insecure(passive), -10),
        (bool(style & (_BROAD | _INLINE)), 0),
        (whole == {"'none'"}, 10),
    ]
    return next((points for applies, points in rules if applies), 5)


def _without_ignored(sources: set[str]) -> set[str]:
    """Beside a hash or a nonce browsers do not follow 'unsafe-inline'."""
    hashed = any(source.startswith(_HASHED) for source in sources)
    return sources - {"'unsafe-inline'"} if hashed else sources


def _is_insecure(sources: set[str]) -> bool:
    return any(source.startswith(("http:", "ftp:")) for source in sources)


def cookies(answer: Answer) -> int:
    each = [_cookie(one, has_hsts=strict_transport_security(answer) >= 0) for one in answer.cookies]
    return min(each, default=0)


def _cookie(cookie: "Morsel[str]", *, has_hsts: bool) -> int:
    name, same_site = cookie.key.lower(), cookie["samesite"].lower()
    is_session = "sess" in name or "login" in name
    rules = [
        (is_session and not cookie["secure"] and not has_hsts, -40),
        (is_session and not cookie["httponly"], -30),
        ("csrf" in name and not same_site, -20),
        (same_site not in {"", "lax", "strict", "none"}, -20),
        (same_site == "none" and not cookie["secure"], -20),
        (not cookie["secure"] and not has_hsts, -20),
        (is_session and not cookie["secure"], -10),
        (not cookie["secure"], -5),
        (bool(same_site), 5),
    ]
    return next((points for applies, points in rules if applies), 0)


def cross_origin_resource_sharing(answer: Answer) -> int:
    reflects = answer.header("Access-Control-Allow-Origin") not in {"", "*"}
    with_credentials = answer.header("Access-Control-Allow-Credentials") == "true"
    return -50 if reflects and with_credentials else 0


def redirection(answer: Answer) -> int:
    to, here = urlsplit(answer.redirects_to), urlsplit(answer.url)
    if to.scheme != "https":
        return -20
    return 0 if to.hostname == here.hostname else -5


def referrer_policy(answer: Answer) -> int:
    # Of several the last one that is known holds.
    named = [name.strip() for name in answer.header("Referrer-Policy").split(",") if name.strip()]
    known = [name for name in named if name in _PRIVATE_REFERRERS | _UNSAFE_REFERRERS]
    if not named:
        return 0
    return 5 if known and known[-1] in _PRIVATE_REFERRERS else -5


def strict_transport_security(answer: Answer) -> int:
    age = re.search(r"(?:^|;)\s*max-age=(\d+)", answer.header("Strict-Transport-Security"))
    if not age or "," in answer.header("Strict-Transport-Security"):
        return -20
    return 0 if int(age[1]) >= HALF_A_YEAR else -10


class _Scripts(HTMLParser):
    """The scripts that a page loads: where from, and whether by their hash."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, bool]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "script" and attributes.get("src"):
            self.found.append((str(attributes["src"]), bool(attributes.get("integrity"))))


def subresource_integrity(answer: Answer) -> int:
    if not answer.header("Content-Type").startswith(("text/html", "application/xhtml+xml")):
        return 0
    each = [_script(src, hashed, answer) for src, hashed in _Scripts(answer.body).found]
    worst = min(each, default=0)
    return worst if worst < 0 else max(each, default=0)


def _script(src: str, hashed: bool, answer: Answer) -> int:
    to, here = urlsplit(src), urlsplit(answer.url)
    is_ours = not to.netloc or (bool(to.scheme) and to.hostname == here.hostname)
    if is_ours:
        return 5 if hashed and to.scheme in {"", "https"} else 0
    if to.scheme == "https":
        return 5 if hashed else -5
    return -20 if hashed else -50


def x_content_type_options(answer: Answer) -> int:
    return 0 if answer.header("X-Content-Type-Options") == "nosniff" else -5


def x_frame_options(answer: Answer) -> int:
    if "frame-ancestors" in answer.policy:
        return 5
    return 0 if answer.header("X-Frame-Options") in {"deny", "sameorigin"} else -20


def cross_origin_resource_policy(answer: Answer) -> int:
    points = {"same-origin": 10, "same-site": 10, "cross-origin": 0, "": 0}
    return points.get(answer.header("Cross-Origin-Resource-Policy"), -5)


TESTS: tuple[Callable[[Answer], int], ...] = (
    content_security_policy,
    cookies,
    cross_origin_resource_sharing,
    redirection,
    referrer_policy,
    strict_transport_security,
    subresource_integrity,
    x_content_type_options,
    x_frame_options,
    cross_origin_resource_policy,
)


def points(answer: Answer) -> dict[str, int]:
    """What each test takes or gives, by its name."""
    return {test.__name__: test(answer) for test in TESTS}


def score(answer: Answer) -> int:
    found = points(answer).values()
    without_credit = BASELINE + sum(one for one in found if one < 0)
    with_credit = BASELINE + sum(found)
    return max(0, with_credit if without_credit >= LEAST_FOR_EXTRA_CREDIT else without_credit)
