"""Signatures in the form of Standard Webhooks 1.0: a receiver checks them with any of its stock libraries."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable


def signature_headers(keys: Iterable[bytes], message_id: str, timestamp_s: int, body: bytes) -> dict[str, str]:
    """The three headers for one try.

    Args:
        keys: each signs; two while a receiver moves from one secret to the next.
        message_id: the same on every try.
        timestamp_s: epoch seconds of this try; receivers refuse one that is five minutes off.
        body: exactly the bytes that are sent.

    Raises:
        ValueError: the id holds a full stop, which separates the signed parts, so that two messages could look alike.
    """
    if not message_id or "." in message_id:
        raise ValueError("the id of a signed message must not be empty or hold a full stop")
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    marks = [base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": " ".join(f"v1,{mark}" for mark in marks),
    }
