"""The script that reports and the gallery share, and the policy by which a page runs this script and no other.

A page says all that it has to say without it; with it, values are read, planes zoomed, lines hidden and tables sorted.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from markupsafe import Markup

_FILES = ("scales.js", "plots.js", "picture.js", "tables.js")


@cache
def text() -> Markup:
    """What stands between `<script>` and `</script>`."""
    folder = Path(__file__).parent / "script"
    parts = [(folder / name).read_text(encoding="utf-8") for name in _FILES]
    return Markup("\n(() => {\n" + "\n".join(parts) + "})();\n")  # noqa: S704 - our own, not input


@cache
def source() -> str:
    """The script by its SHA-256, as a Content-Security-Policy names it (W3C CSP Level 3, section 2.3.1)."""
    digest = hashlib.sha256(str(text()).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def policy(images: str = "data:") -> str:
    """The page's Content-Security-Policy: our style sheet, our script, nothing from anywhere else."""
    return f"default-src 'none'; script-src {source()}; style-src 'unsafe-inline'; img-src {images}"
