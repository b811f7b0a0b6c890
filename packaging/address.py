"""Writes where the project is kept into what a package index and a citation show. ``python packaging/address.py URL``

An index resolves no relative link, so the README's picture, the documentation and the list of changes need the whole
address; until the project has one, none is written. It is written into pyproject.toml (project URLs), CITATION.cff and
packaging/index.md, and a second time in the place of the first. ``--files`` says where single files are read, which is
GitHub's way unless given (GitLab's is ``URL/-/raw/v0.1.0``).
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parent.parent
#: What the index shows, as the README's picture.
_PICTURE = re.compile(r"^!\[(?P<alt>[^\]]*)\]\((?P<file>[^):]+)\)$", re.MULTILINE)


def main(arguments: list[str] | None = None) -> None:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="the repository, as https://example.org/someone/paceline")
    parser.add_argument("--files", help="where its files are read; URL/raw/vVERSION unless given")
    given = parser.parse_args(arguments)
    url = given.url.rstrip("/")
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    files = (given.files or f"{url}/raw/v{version}").rstrip("/")
    for one in (url, files):
        if urlsplit(one).scheme != "https" or not urlsplit(one).netloc:
            print(f"{one!r} is no address: write all of it, as https://example.org/someone/paceline", file=sys.stderr)
            sys.exit(2)
    write(ROOT, url, files)


def write(root: Path, url: str, files: str) -> None:
    """Into the three files below `root`: `url` is the repository, and a file of it is read at `files`/its path."""
    urls = {
        "Homepage": url,
        "Repository": url,
        "Documentation": f"{files}/docs/index.md",
        "Changelog": f"{files}/CHANGELOG.md",
    }
    table = "[project.urls]\n" + "".join(f'{name} = "{address}"\n' for name, address in urls.items()) + "\n"
    _edit(
        root / "pyproject.toml",
        lambda text: _in_place(text, r"\[project\.urls\]\n(?:\w+ = .*\n)+\n", table, "[project.scripts]"),
    )
    lines = f"repository-code: {url}\nurl: {url}\n"
    _edit(root / "CITATION.cff", lambda text: _in_place(text, r"repository-code: .*\nurl: .*\n", lines, "authors:"))
    found = _PICTURE.search((root / "README.md").read_text(encoding="utf-8"))
    if found is None:
        sys.exit("README.md: no picture of the form ![words](file) on a line of its own")
    picture = f"![{found['alt']}]({files}/{found['file']})\n\n"
    _edit(
        root / "packaging" / "index.md", lambda text: _in_place(text, r"!\[[^\]]*\]\(https:[^)]*\)\n\n", picture, "```")
    )


def _edit(file: Path, change: Callable[[str], str]) -> None:
    file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")


def _in_place(text: str, old: str, new: str, before: str) -> str:
    """`text` with `new` for what the pattern `old` finds, or else before the first line that begins with `before`."""
    if re.search(old, text):
        return re.sub(old, lambda _: new, text, count=1)
    head, found, tail = text.partition(f"\n{before}")
    if not found:
        sys.exit(f"no line begins with {before}")
    return f"{head}\n{new}{before}{tail}"


if __name__ == "__main__":
    main()
