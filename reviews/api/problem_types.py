"""The types of problems (RFC 9457). Each has a page of the site, whose path is the `type` of its problems."""

from http import HTTPStatus
from typing import NamedTuple

PATH = "/api/problems/"


class ProblemType(NamedTuple):
    """A type of problem, which programs may rely on: neither slug nor status changes."""

    slug: str
    status: int
    title: str
    #: The reason why requests get it.
    meaning: str
    #: The next step of the program.
    remedy: str

    @property
    def uri(self) -> str:
        """The `type` of problems, relative to the site."""
        return f"{PATH}{self.slug}/"


# Status and slug -> title, meaning and remedy. The first type of a status is that of all problems without a
# more specific one.
_TEXTS = {
    (400, "unreadable-body"): (
        "Unreadable request",
        "The body is not JSON, is incomplete, or cannot be read.",
        "Correct the body and send the request again.",
    ),
    (401, "unauthenticated"): (
        "No valid token",
        "The request has no token, or its token is invalid, expired or revoked.",
        "Send a valid token in the header Authorization.",
    ),
    (403, "not-allowed"): (
        "Not allowed",
        "The scopes of the token or the role of its owner do not allow the operation.",
        "Use a token with the scope, of a person with the role.",
    ),
    (404, "not-found"): (
        "Not found",
        "The address is wrong, or the owner of the token may not see what it names.",
        "Check the address. Names and ids in it are percent-encoded.",
    ),
    (405, "method-not-allowed"): (
        "Method not allowed",
        "The address does not support the method.",
        "Use a method from the header Allow.",
    ),
    (409, "conflict"): (
        "Conflict",
        "Somebody else was first, or the state has changed since it was read.",
        "Read the state again, and send a request that fits it. `who` and `since` may name the first person.",
    ),
    (409, "blind-scores-missing"): (
        "Blind scores are missing",
        "The record is reviewed blind, and its reviewer has not locked in scores.",
        "Lock in blind scores, and then decide.",
    ),
    (409, "idempotency-key-in-use"): (
        "Idempotency-Key in use",
        "The first request with this Idempotency-Key is still running.",
        "Wait a moment, and send the request again with the same key.",
    ),
    (411, "length-required"): (
        "Length required",
        "The body was sent without its size, for example in chunks.",
        "Send the header Content-Length.",
    ),
    (412, "precondition-failed"): (
        "Precondition failed",
        "The record does not have the version that If-Match names.",
        "Read the record again, and send its new ETag.",
    ),
    (412, "protocol-version"): (
        "Another version of tus",
        "The header Tus-Resumable of an upload is missing or has an unknown version.",
        "Send `Tus-Resumable: 1.0.0`.",
    ),
    (413, "too-large"): (
        "Too large",
        "The body or file is larger than the site accepts, or the space for unfinished uploads is used up.",
        "Compress the file, split it, or ask an admin for a higher limit.",
    ),
    (415, "unsupported-media-type"): (
        "Unsupported type of body",
        "The operation does not accept the Content-Type or Content-Encoding.",
        "Send one of the types that `detail` names.",
    ),
    (422, "invalid-request"): (
        "Invalid request",
        "A field, a parameter or a filter is invalid, or unknown.",
        "Correct the fields that `errors` names.",
    ),
    (422, "file-refused"): (
        "File refused",
        "The file cannot be imported.",
        "Correct the file or its mapping, and send it again.",
    ),
    (422, "idempotency-key-reused"): (
        "Idempotency-Key used before",
        "The Idempotency-Key belongs to an earlier request with another content.",
        "Send a new key with each new request. Send the same key only to repeat a request.",
    ),
    (422, "query-too-slow"): (
        "Query takes too long",
        "The filters match so many records that the query was stopped.",
        "Add a filter, or remove the sort order.",
    ),
    (429, "too-many-requests"): (
        "Too many requests",
        "The token, or the address without a valid token, has used up its quota of requests.",
        "Wait for the seconds in the header Retry-After, and send the request again.",
    ),
    (429, "too-many-uploads"): (
        "Too many unfinished uploads",
        "One person, or everybody together, has too many unfinished uploads.",
        "Wait until some are finished, and send the request again.",
    ),
    (500, "internal-error"): (
        "Internal error",
        "The server failed. The error was logged with the id of the request.",
        "Send the request again in a moment. If that fails too, tell an admin the id in X-Request-ID.",
    ),
    (503, "unavailable"): (
        "Unavailable",
        "The database does not answer, or the server is starting or stopping.",
        "Send the request again after the seconds in the header Retry-After, or in a moment.",
    ),
    (503, "damaged-file"): (
        "Damaged file",
        "A stored file is damaged. `detail` names its run, import and frame.",
        "Tell an admin, who can repair the file or restore a backup.",
    ),
    (507, "disk-full"): (
        "Disk full",
        "The disk of the server is full. Nothing was saved.",
        "Tell an admin, and send the request again when there is space.",
    ),
}
_ALL = [ProblemType(slug, status, *texts) for (status, slug), texts in _TEXTS.items()]
# Slug -> type.
TYPES = {one.slug: one for one in _ALL}
_BY_STATUS = {one.status: one for one in reversed(_ALL)}


def type_of(status: int, slug: str = "") -> ProblemType:
    """Return the type with a slug, or else the type of all problems with a status."""
    if slug:
        return TYPES[slug]
    general = HTTPStatus.BAD_REQUEST if status < HTTPStatus.INTERNAL_SERVER_ERROR else 500
    return _BY_STATUS.get(status, _BY_STATUS[general])
