"""The compiled module: the simulator behind the package. Private; use what `paceline` exports."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

from numpy.typing import NDArray

Columns = dict[str, NDArray[Any] | list[str] | list[str | None]]

class InputError(ValueError):
    """One line, the path of the key first, without a file name."""

class RunError(RuntimeError):
    """A run that failed, or that was cancelled."""

def version() -> str:
    """Version of the core; ends in `-debug` where it was built without optimisation."""

def fingerprint() -> str:
    """Which core a result is of, ``0.1.0+9f2c…``: the version, and a hash of the simulator's sources as built."""

def check(scenario_json: str) -> tuple[int, int, str, int]:
    """Validates one scenario, routes included: bytes of memory and events that a run may take at most, what takes most
    of the memory, and the number of flows. Raises `InputError`, a line for each fault.
    """

def line_of(text: str, keys: list[str]) -> int | None:
    """The line of a TOML text, from 1, where a path of keys stands; of the last key on the way that is there."""

def describe(scenario_json: str, seed: int) -> str:
    """The network as drawn for this seed, JSON: for pictures of it. Raises `InputError`."""

def inspect(scenario_json: str, seed: int) -> str:
    """The network resolved for this seed, every link and flow of it, JSON: to reason about. Raises `InputError`."""

def quantity(kind: str, text: str) -> float:
    """A quantity in bit/s, nanoseconds or bytes, for kind `rate`, `time` or `size`. Raises `InputError`."""

def pacers() -> str:
    """The pacing methods of links with their parameters, as a Markdown table."""

def queues() -> str:
    """The queue disciplines with their parameters, as a Markdown table."""

def scenario_schema() -> str:
    """A JSON Schema (draft 7) of scenarios, made from the keys that the reader takes; `[sweep]` may be any table."""

def tcp_options() -> str:
    """TCP's profiles with the value, unit, source and meaning of every option, JSON."""

def pace(name: str, arguments: Sequence[str], prints: bool) -> tuple[int, str | None]:
    """Runs the inline pacer, called `name`, until a signal ends it: the exit code; and its summary, JSON,
    where that is to be shown and it does not print it itself. Or `RunError`."""

def pace_flags() -> str:
    """The flags of the inline pacer, JSON: name, value, help, each_way, and the method whose parameter it is."""

@final
class Control:
    """Shared with a running simulation; any thread may use it."""

    def __init__(self) -> None: ...
    def cancel(self) -> None:
        """Makes the run end soon, with `RunError`."""
    @property
    def fraction(self) -> float:
        """Simulated time that has passed, 0 to 1."""
    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""

@final
class Run:
    """One finished run."""

    def summary(self) -> str:
        """JSON of one run, without `settings`."""
    def flows(self) -> Columns:
        """One row a flow."""
    def series(self) -> Columns:
        """`link`, `kind` (`queue` or `departure`), `time_ns`, `flow`, `bytes`."""
    def instruments(self) -> Columns:
        """`instrument`, `link`, `flow`, `next`, `x`, `y`, `count`, `x_unit`, `y_unit`: a row a point of a curve."""

def run(
    scenario_json: str,
    seed: int,
    control: Control | None = None,
    trace: Callable[[Any], None] | None = None,
    engine: str = "auto",
    threads: int = 1,
    trace_as: str | PathLike[str] | None = None,
) -> Run:
    """Simulates one scenario under one seed, the GIL released. Raises `InputError`, `RunError`.

    `engine` is ``"auto"``, ``"reference"`` or ``"windowed"``: the results are the same bytes, on any number
    of `threads` too.

    `trace` is called from the same thread with columns of packet events: `time_ns`, `event` (0 send, 1 enqueue,
    2 drop, 3 dequeue, 4 receive), `place`, `flow`, `kind` (0 data, 1 ack), `seq`, `bytes`, `cwnd`; the first call
    also has `places`, the names that `place` counts. What it raises ends the run and comes out of here.
    """

def emulation(program: str) -> None:
    """Is one of the emulation's programs, ``"paceline-wires"`` or ``"paceline-traffic"``, to its end: for a process
    that is nothing else. Raises `RunError`, and `InputError` where there is no such program.
    """

def shaper(text: str) -> str:
    """A pacer for a capture as it is understood, JSON: `name`, `method`, `parameters`, `link_bps`, `buffer`,
    `pacer_buffer`; the last three null where they are not given. Raises `InputError`.
    """

def is_capture_name(name: str | PathLike[str]) -> bool:
    """Whether a name ends in `.pcap` or `.pcapng`, with `.gz` or `.zst` after that or without."""

def connections(path: str | PathLike[str] | None, control: Control | None = None) -> str:
    """The TCP connections of a capture, JSON, the GIL released; standard input where `path` is `None`.

    Raises `InputError` where the capture is wrong, `RunError` where it was cancelled.
    """

def analyse(
    path: str | PathLike[str] | None,
    by_flow: bool,
    top: int,
    burst_gap_ns: int,
    pacers: Sequence[str],
    write: str | PathLike[str] | None = None,
    write_as: str | PathLike[str] | None = None,
    control: Control | None = None,
) -> str:
    """Analyses a capture, JSON, the GIL released; standard input where `path` is `None`.

    `write` gets what the first pacer lets go, in the form that the name `write_as` says. Raises `InputError` where the
    capture is wrong, `RunError` where `write` fails or it was cancelled.
    """
