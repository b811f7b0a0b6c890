"""Writes THIRD-PARTY-LICENSES.txt: the texts of every crate that is compiled in, and of the studio's JavaScript.

``python packaging/licenses.py``, after a change to Cargo.lock or of `studio_vendor.py`; `tests/test_packaging.py` says
when. Of a choice of licences it takes the one that names who holds the rights (MIT before Apache-2.0, whose text is in
LICENSE).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "THIRD-PARTY-LICENSES.txt"
#: Which file, where there are several; all of them where none is of these.
_FIRST = ("LICENSE-MIT", "LICENSE-MIT.md")
_NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE")
_HEAD = """\
Paceline (Apache-2.0, see LICENSE) is compiled together with the crates below, and with Rust's standard library
(MIT OR Apache-2.0, https://www.rust-lang.org/policies/licenses). The page of `paceline studio` comes with the
JavaScript at the end, from npm.
"""
_SCRIPTS = ROOT / "python" / "paceline" / "studio" / "static" / "vendor" / "packages.json"


def packages() -> list[dict[str, Any]]:
    """What the compiled module is made of, the workspace's own crates aside, in the order of names."""
    command = [
        "cargo",
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ]
    found = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    by_id = {one["id"]: one for one in found["packages"]}
    nodes = {one["id"]: one for one in found["resolve"]["nodes"]}
    waiting = [one["id"] for one in found["packages"] if one["name"] == "paceline-py"]
    seen = set()
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += [d["pkg"] for d in nodes[one]["deps"] if any(kind["kind"] is None for kind in d["dep_kinds"])]
    foreign = [by_id[one] for one in seen if by_id[one]["source"]]
    return sorted(foreign, key=lambda one: (one["name"], one["version"]))


def scripts() -> list[dict[str, Any]]:
    """The page's packages, in the order in which `studio_vendor.py` has them, each with the `text` of its licence."""
    found: list[dict[str, Any]] = json.loads(_SCRIPTS.read_text(encoding="utf-8"))
    return found


def heading(package: dict[str, Any]) -> str:
    """What the part of a crate or a script begins with."""
    return f"{package['name']} {package['version']}: {package['license']}"


def texts(package: dict[str, Any]) -> Iterator[str]:
    """Its licence and that of C sources within it, or who holds the rights and where it says so."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(_NAMES))
    within = sorted(path for path in folder.rglob("LICENSE") if path.parent != folder)
    chosen = [path for path in files if path.name in _FIRST] or files
    yield from dict.fromkeys(path.read_text(encoding="utf-8").strip() for path in chosen + within)
    if not files:
        yield f"By {', '.join(package['authors']) or 'its authors'}; {package['repository']}"


def main() -> None:
    parts = [_HEAD]
    for package in packages():
        parts.append("\n\n".join([f"{'-' * 80}\n{heading(package)}", *texts(package)]) + "\n")
    for script in scripts():
        parts.append("\n\n".join([f"{'-' * 80}\n{heading(script)}", script["text"]]) + "\n")
    TARGET.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
