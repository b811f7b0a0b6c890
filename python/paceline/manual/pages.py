"""The pages of docs/, which come with the package, as HTML files that link to each other."""

from __future__ import annotations

import html
import importlib
import inspect
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markdown_it import MarkdownIt
from markdown_it.token import Token

_FOLDER = "docs"
#: A line of the navigation in mkdocs.yml: the title in front of a page or of a section, and the page.
_ENTRY = re.compile(r'^ *- (?:"?([^":]+)"?:)? ?([\w/-]+\.md)?$')
#: What mkdocstrings puts the documentation of an object in the place of.
_OBJECT = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A line of the navigation: a section where it has no page."""

    title: str
    page: str | None


def names() -> list[str]:
    """Every page, as ``howto/install``."""
    return sorted(name.removesuffix(".md") for name, _ in _files() if name.endswith(".md"))


def write(folder: Path) -> Path:
    """Writes all pages and pictures into a folder, and returns the first page. Raises `OSError`."""
    navigation = list(_navigation())
    template = jinja2.Environment(autoescape=True).from_string(
        (resources.files(__package__) / "page.html").read_text(encoding="utf-8")
    )
    for name, file in _files():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith(".md"):
            with file.open("rb") as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            continue
        up = "../" * name.count("/")
        title, body = _rendered(file.read_text(encoding="utf-8"))
        said = template.render(title=title, body=body, up=up, here=name, navigation=navigation, html_of=_html_of)
        target.with_suffix(".html").write_text(said, encoding="utf-8")
    return folder / "index.html"


def cache_folder(version: str) -> Path:
    """Where pages are kept for this user."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "paceline" / f"docs-{version}"


def _files() -> Iterator[tuple[str, Any]]:
    def within(folder: Any, before: str) -> Iterator[tuple[str, Any]]:
        for entry in sorted(folder.iterdir(), key=lambda one: one.name):
            name = before + entry.name
            if entry.is_dir():
                yield from within(entry, f"{name}/")
            elif not name.endswith(".yml"):
                yield name, entry

    return within(resources.files(__package__) / _FOLDER, "")


def _navigation() -> Iterator[Entry]:
    text = (resources.files(__package__) / _FOLDER / "mkdocs.yml").read_text(encoding="utf-8")
    for line in text.partition("\nnav:\n")[2].splitlines():
        found = _ENTRY.match(line)
        if found:
            title, page = found.groups()
            yield Entry(title or "Overview", page)


def _rendered(text: str) -> tuple[str, str]:
    """Title and HTML of a page."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(_OBJECT.sub(lambda found: _documented(found[1]), text))
    title = "Paceline"
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            said = _plain(tokens[number + 1])
            token.attrSet("id", re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", said).strip().lower()))
            if token.tag == "h1":
                title = said
        for child in token.children or ():
            href = child.attrGet("href") if child.type == "link_open" else None
            if isinstance(href, str):
                child.attrSet("href", _html_of(href))
    return title, str(parser.renderer.render(tokens, parser.options, {}))


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or ())


def _html_of(href: str) -> str:
    """A link to a page as one to its file."""
    path, sharp, anchor = href.partition("#")
    if re.match(r"[a-z]+:", path) or not path.endswith(".md"):
        return href
    return path.removesuffix(".md") + ".html" + sharp + anchor


def _documented(name: str) -> str:
    """What an object's docstring says, as Markdown."""
    value, called = _found(name), name.removeprefix("paceline.")
    try:
        signature = str(inspect.signature(value)) if callable(value) else ""
    except ValueError:
        signature = ""
    parts = [f"### {called}", _pre(called.rpartition(".")[2] + signature) if signature else ""]
    parts.append(_pre(inspect.getdoc(value)))
    if inspect.isclass(value) or inspect.ismodule(value):
        for member, one in vars(value).items():
            plain = one.fget if isinstance(one, property) else getattr(one, "__func__", one)
            own = not member.startswith("_") and inspect.isfunction(plain)
            if own and (not inspect.ismodule(value) or plain.__module__ == value.__name__):
                parts += [f"#### {member}", _pre(inspect.getdoc(plain))]
    return "\n\n".join(part for part in parts if part)


def _pre(text: str | None) -> str:
    """A docstring as it is; no blank line ends its block."""
    lines = html.escape(text or "").split("\n")
    return '<pre class="object">' + "\n".join(line or "&#8203;" for line in lines) + "</pre>"


def _found(name: str) -> Any:
    """The object of this name: the longest part of it that is a module, and what that has."""
    module = name
    rest: list[str] = []
    while True:
        try:
            value: Any = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
    for part in rest:
        value = getattr(value, part)
    return value
