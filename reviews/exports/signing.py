"""Sign receipts with an Ed25519 key that is not in the database: it is derived from the site's secret key."""

import hashlib
from collections.abc import Iterable, Iterator

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils.crypto import salted_hmac

from reviews.exports.receipt import END, SIGNATURE, signed_message


def sign_receipt(receipt: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a receipt's blocks with a signature over all bytes before it."""
    content, last = hashlib.sha256(), b""
    for block in receipt:
        content.update(last)
        yield last
        last = block
    last = last.removesuffix(END)
    content.update(last)
    signature = _key().sign(signed_message(content.digest()))
    entry = {"public_key": public_key(), "ed25519": signature.hex()}
    yield last + SIGNATURE + orjson.dumps(entry) + END


def public_key() -> str:
    """Return the key that checks this site's signatures, as 64 hexadecimal digits."""
    return _key().public_key().public_bytes_raw().hex()


def _key() -> Ed25519PrivateKey:
    seed = salted_hmac("cognireview.receipts", "ed25519", algorithm="sha256").digest()
    return Ed25519PrivateKey.from_private_bytes(seed)
