"""Shell completion of values: files, directories, interfaces, words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, which the shell knows."""
    return [CompletionItem(incomplete, type="file")]


def directories(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Directories, which the shell knows."""
    return [CompletionItem(incomplete, type="dir")]


def interfaces(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Network interfaces of this machine."""
    try:
        names: Sequence[str] = sorted(os.listdir("/sys/class/net"))  # noqa: PTH208
    except OSError:
        names = ()
    return _beginning(incomplete, names)


def words(known: Iterable[str] | Callable[[], Iterable[str]]) -> Complete:
    """One of a few words."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _beginning(incomplete, known() if callable(known) else known)

    return complete


def _beginning(incomplete: str, known: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(word) for word in known if word.startswith(incomplete)]
