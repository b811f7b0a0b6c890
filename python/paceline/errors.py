"""What can go wrong, as few kinds as a caller tells apart."""

from __future__ import annotations

from collections.abc import Sequence


class PacelineError(Exception):
    """Everything that Paceline raises on purpose; its text is one line.

    Examples:
        >>> try:
        ...     pl.Scenario.load("nowhere.toml")
        ... except pl.PacelineError as error:
        ...     print(type(error).__name__)
        InputError
    """


class InputError(PacelineError, ValueError):
    """The scenario, or how it was asked to run, is wrong; nothing has run.

    Attributes:
        message: one line that begins with the path of the key, where there is one.
        source: the file or the option that it stands in, or ``None``.
        line: of that file, from 1, where it is known.
        others: what else is wrong; notes of this one, so that a traceback shows them.

    Examples:
        >>> try:
        ...     pl.Scenario.load("scenarios/one-flow.toml").set("duration", "30").check()
        ... except pl.InputError as error:
        ...     print(error.message)
        duration: "30" has no unit; write for example "30 s"
    """

    def __init__(self, message: str, source: str | None = None, *, line: int | None = None) -> None:
        self.message = " ".join(message.split())
        self.source = source
        self.line = line
        self.others: tuple[InputError, ...] = ()
        where = "" if line is None else f" (line {line})"
        named = "" if source is None else source.replace("\n", "\\n") + ": "
        super().__init__(named + self.message + where)

    @classmethod
    def together(cls, errors: Sequence[InputError]) -> InputError:
        """The first of them, with the others; in the order of the file, as far as lines are known.

        Args:
            errors: one at least.

        Examples:
            >>> one, two = pl.InputError("seed: 1.5 is no seed", line=7), pl.InputError("title: must be text", line=2)
            >>> first = pl.InputError.together([one, two])
            >>> first.message, len(first.others)
            ('title: must be text', 1)
        """
        first, *others = sorted(errors, key=lambda error: error.line or 0)
        first.others = tuple(others)
        for other in others:
            first.add_note(str(other))
        return first


class RunError(PacelineError, RuntimeError):
    """A run started and failed.

    Examples:
        >>> def goodput_bps(scenario: pl.Scenario) -> float | None:
        ...     try:
        ...         return pl.run(scenario).flows.goodput_mean_bps
        ...     except pl.RunError as error:
        ...         print(error)  # one line: which run, and why
        ...         return None
        >>> goodput_bps(pl.Scenario.load("scenarios/one-flow.toml").set("pacing", "none")) > 0
        True
    """


class StoreError(PacelineError):
    """Results could not be written or read: a full disk, a directory without permission.

    Examples:
        >>> try:
        ...     pl.sweep("scenarios/one-flow.toml", out="/dev/null/results")
        ... except pl.StoreError as error:
        ...     print("no room for results")
        no room for results
    """


class StaleStoreError(StoreError):
    """A directory holds runs of another core version; nothing has run.

    Examples:
        >>> issubclass(pl.StaleStoreError, pl.StoreError)
        True
    """
