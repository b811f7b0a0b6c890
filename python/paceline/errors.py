"""What can go wrong, as few kinds as a caller tells apart."""

from __future__ import annotations

from collections.abc import Sequence


class PacelineError(Exception):
    """Everything that Paceline raises on purpose; its text is one line."""


class InputError(PacelineError, ValueError):
    """The scenario, or how it was asked to run, is wrong; nothing has run.

    Attributes:
        message: one line that begins with the path of the key, where there is one.
        source: the file or the option that it stands in, or ``None``.
        line: of that file, from 1, where it is known.
        others: what else is wrong; notes of this one, so that a traceback shows them.
    """

    def __init__(self, message: str, source: str | None = None, *, line: int | None = None) -> None:
        self.message = " ".join(message.split())
        self.source = source
        self.line = line
        self.others: tuple[InputError, ...] = ()
        where = "" if line is None else f" (line {line})"
        super().__init__((self.message if source is None else f"{source}: {self.message}") + where)

    @classmethod
    def together(cls, errors: Sequence[InputError]) -> InputError:
        """The first of them, with the others; in the order of the file, as far as lines are known."""
        first, *others = sorted(errors, key=lambda error: error.line or 0)
        first.others = tuple(others)
        for other in others:
            first.add_note(str(other))
        return first


class RunError(PacelineError, RuntimeError):
    """A run started and failed."""


class StoreError(PacelineError):
    """Results could not be written or read: a full disk, a directory without permission."""


class StaleStoreError(StoreError):
    """A directory holds runs of another core version; nothing has run."""
