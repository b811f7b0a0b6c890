"""A run's packet events in a file: CSV, Parquet or a capture, by its name.

CSV and Parquet hold a row an event before the run's end, with the columns of `COLUMNS`, in an order that does not ask
which engine ran: by time; within an instant what hosts receive, what they send, what happens at links, each by place.

A capture (``.pcap`` or ``.pcapng``, ``.gz`` or ``.zst`` after that) is what tcpdump sees at the sending hosts, all of
them in one file: each data packet as its sender lets it go (``send``), each acknowledgement as it arrives
(``receive``). Time has nanoseconds and begins at 1970. Host h has the address 10.0.0.1 + h. Each connection of a flow
has a port of its own, from 32768 on, to port 5001. Packets of flows without a window are UDP.

- Sequence numbers count bytes: 0 is the SYN, data begin at 1. A FIN goes with the last packet of a connection whose
  application has no more; that of a message has PSH.
- Options are those of the flow's settings: SACK blocks, timestamps in microseconds, and segment size, window scale and
  whether SACK is permitted with the SYN. Windows are ``max_window``.
- Added, as TCP cannot be without them: what acknowledges the SYN's answer; the receiver's FIN, and what acknowledges
  that; and a handshake that takes no time where the flow has no SYN.
- A packet is as long as it is simulated, or as its headers ask for, if that is more (ns-2's SYN, and its SACK blocks).
  Headers alone are kept.
- Two flows that answer each other (RPC) are two connections.

tshark calls a retransmission that follows new data closely "out of order", and one of a single byte "keep-alive": it
does not know on which side the capture is. With these its retransmissions are those of the run.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from paceline import _core
from paceline._arguments import CAPTURE_NAMES, file_name
from paceline.errors import InputError, StoreError
from paceline.files.atomic_writes import replacing

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import csv

#: The columns of a trace, in order, with Arrow's names of their types.
COLUMNS = {
    "time_ns": "uint64",
    "event": "string",
    "place": "string",
    "flow": "uint32",
    "kind": "string",
    "seq": "int64",
    "bytes": "uint32",
    "cwnd": "float64",
    "cause": "string",
}
EVENTS = ("send", "enqueue", "drop", "dequeue", "receive", "mark")
KINDS = ("data", "ack")
#: Why a packet was dropped or marked.
CAUSES = ("overflow", "early", "forced", "policer", "pacer", "memory")
_NO_CAUSE = 255
TABLES = (".csv", ".parquet")


class Trace(ABC):
    """Takes chunks of events from the core and writes them."""

    #: The name that says the form of a capture; `None` where rows are wanted.
    capture: Path | None = None

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __call__(self, chunk: Any) -> None:
        """One chunk, as `paceline._core.run` hands it over. Raises `StoreError`."""
        try:
            self._write(chunk)
        except OSError as error:
            raise StoreError(f"the trace cannot be written: {error.strerror or error}") from None

    @abstractmethod
    def _write(self, chunk: Any) -> None: ...

    def close(self) -> None:  # noqa: B027 (not every format has an end)
        """Writes what a file of this format ends with."""


class _Table(Trace):
    """Events as rows. A chunk is columns of equal length; the first has the names of places too."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self._places: list[str] = []

    def _write(self, chunk: Mapping[str, Any]) -> None:
        if "places" in chunk:
            self._places = list(chunk["places"])
        self._write_rows(chunk)

    @abstractmethod
    def _write_rows(self, chunk: Mapping[str, Any]) -> None: ...

    def _batch(self, chunk: Mapping[str, Any], dictionary: bool) -> pyarrow.RecordBatch:
        import numpy as np
        import pyarrow as pa

        names = {"event": EVENTS, "place": self._places, "kind": KINDS, "cause": CAUSES}
        columns = []
        for name, kind in COLUMNS.items():
            values = np.asarray(chunk[name])
            if name in names:
                words = pa.array(names[name], pa.string())
                places = pa.array(values.astype(np.int32), mask=values == _NO_CAUSE if name == "cause" else None)
                column = pa.DictionaryArray.from_arrays(places, words)
                columns.append(column if dictionary else column.cast(pa.string()))
            elif name == "cwnd":
                columns.append(pa.array(values, pa.float64(), from_pandas=True))
            else:
                columns.append(pa.array(values, kind))
        return pa.record_batch(columns, names=list(COLUMNS))


class _Csv(_Table):
    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        self._csv: csv.CSVWriter | None = None
        file.write((",".join(COLUMNS) + "\n").encode())

    def _write_rows(self, chunk: Mapping[str, Any]) -> None:
        if self._csv is None:
            self._csv = self._writer()
        self._csv.write_batch(self._batch(chunk, dictionary=False))

    def close(self) -> None:
        if self._csv is not None:
            self._csv.close()

    def _writer(self) -> csv.CSVWriter:
        import pyarrow as pa
        from pyarrow import csv

        plain = not any(letter in place for place in self._places for letter in ',"\r\n')
        options = csv.WriteOptions(include_header=False, quoting_style="none" if plain else "needed")
        return csv.CSVWriter(self._file, pa.schema(list(COLUMNS.items())), write_options=options)


class _Parquet(_Table):
    def __init__(self, file: IO[bytes]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        super().__init__(file)
        text = pa.dictionary(pa.int32(), pa.string())
        schema = pa.schema([(name, text if kind == "string" else kind) for name, kind in COLUMNS.items()])
        self._parquet = pq.ParquetWriter(file, schema, compression="zstd")

    def _write_rows(self, chunk: Mapping[str, Any]) -> None:
        self._parquet.write_batch(self._batch(chunk, dictionary=True))

    def close(self) -> None:
        self._parquet.close()


class _Capture(Trace):
    """Events as packets. A chunk is the file's next bytes."""

    def __init__(self, file: IO[bytes], name: Path) -> None:
        super().__init__(file)
        self.capture = name

    def _write(self, chunk: bytes) -> None:
        self._file.write(chunk)


@contextlib.contextmanager
def tracing(path: str | os.PathLike[str]) -> Iterator[Trace]:
    """A trace that is at `path` when the block has ended well, and nowhere if it has not.

    Raises `InputError` for a name that does not say the format, `StoreError` where the file cannot be written.
    """
    path = check_name(path, "trace")
    try:
        with replacing(path) as file:
            trace = _open(path, file)
            try:
                yield trace
                trace.close()
            except BaseException:
                with contextlib.suppress(Exception):  # else its writer would try as it is forgotten, and complain
                    trace.close()
                raise
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from None


def _open(path: Path, file: IO[bytes]) -> Trace:
    if path.suffix.lower() == ".csv":
        return _Csv(file)
    return _Parquet(file) if path.suffix.lower() == ".parquet" else _Capture(file, path)


def check_name(given: Any, name: str) -> Path:
    """The path that a trace is to be at. Raises `InputError` where it does not say which format."""
    path = file_name(given, name, "one-flow.pcap")
    if path.suffix.lower() not in TABLES and not _core.is_capture_name(path):
        names = f"{', '.join(TABLES)}, {CAPTURE_NAMES}"
        raise InputError(f"{path}: the name must end in {names}, and so say the format", name)
    return path
