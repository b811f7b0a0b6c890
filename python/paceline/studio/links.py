"""A scenario in an address: what stands behind ``#s=`` is its JSON, deflated, in the letters of URLs."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from paceline.errors import InputError

_MARK = "#s="
#: A longer scenario is a slip, or a trap: deflate makes a thousandfold of nothing.
MOST_BYTES = 1 << 20


def is_link(text: str) -> bool:
    """Whether it is an address of a studio's page and no file's name."""
    return text.startswith(("http://", "https://")) and _MARK in text


def encoded(document: dict[str, Any]) -> str:
    """What stands behind the address."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    return _MARK + base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def decoded(link: str) -> dict[str, Any]:
    """The scenario's tables. Raises `InputError` where the link is not whole."""
    _, _, code = link.partition(_MARK)
    try:
        packed = base64.b64decode(code + "=" * (-len(code) % 4), b"-_", validate=True)
        inflate = zlib.decompressobj()
        text = inflate.decompress(packed, MOST_BYTES)
        if inflate.unconsumed_tail or not inflate.eof:
            raise ValueError("cut off, or too long")
        document = json.loads(text)
    except (ValueError, binascii.Error, zlib.error, RecursionError):
        raise InputError("the link is not whole; copy all of it, from http to its end", "FILE") from None
    if not isinstance(document, dict):
        raise InputError("the link holds no scenario; copy one from the studio's page", "FILE")
    return document
