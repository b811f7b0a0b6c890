"""Links in the package to what it takes along: scenarios, notebooks and documentation. ``python packaging/links.py``.

Each file is a link of its own: a wheel and an sdist have the file in its place; a link to a folder would break them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHIPPED = ROOT / "python" / "paceline" / "scenario" / "shipped"
MANUAL = ROOT / "python" / "paceline" / "manual" / "docs"
#: Of documentation: pages, pictures, what is linked to.
_SUFFIXES = (".md", ".svg", ".png", ".csv", ".json", ".ipynb")


def wanted() -> Iterator[tuple[Path, Path]]:
    """Every link, and the file that it stands for."""
    for file in sorted((ROOT / "scenarios").rglob("*.toml")):
        yield SHIPPED / file.relative_to(ROOT / "scenarios"), file
    docs = ROOT / "docs"
    for file in sorted((docs / "notebooks").glob("*.ipynb")):
        yield SHIPPED / "notebooks" / file.name, file
    for file in sorted(docs.rglob("*")):
        if file.suffix in _SUFFIXES:
            yield MANUAL / file.relative_to(docs), file
    yield MANUAL / "mkdocs.yml", ROOT / "mkdocs.yml"


def main() -> None:
    """Makes those that are missing, and removes those that lead nowhere or are not wanted."""
    links = dict(wanted())
    for old in [*SHIPPED.rglob("*"), *MANUAL.rglob("*")]:
        if old.is_symlink() and old not in links:
            old.unlink()
    for link, file in links.items():
        link.parent.mkdir(parents=True, exist_ok=True)
        target = os.path.relpath(file, link.parent)
        if not link.is_symlink() or os.readlink(link) != target:  # noqa: PTH115
            link.unlink(missing_ok=True)
            link.symlink_to(target)


if __name__ == "__main__":
    main()
