"""A run's packet events in a file: CSV, Parquet or pcap, by its name.

CSV and Parquet hold a row an event before the run's end, with the columns of `COLUMNS`, in an order that does not ask
which engine ran: by time; within an instant what hosts receive, what they send, what happens at links, each by place.

A pcap is what tcpdump sees at the sending hosts, all of them in one file: each data packet as its sender lets it go
(``send``), each acknowledgement as it arrives (``receive``). Time has nanoseconds and begins at 1970. A flow is a
conversation of its own: flow f goes from 10.0.0.0 + 1 + f, port 10000 + f mod 50000, to 10.128.0.0 + 1 + f, port 5001;
in TCP, or in UDP if it has no window. Lengths are those on the wire, from the IP header on, 40 B at least; headers
alone are kept. Sequence numbers count from 1, after a SYN or without one, in steps of the flow's payload.
"""

from __future__ import annotations

import contextlib
import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from paceline.arguments import file_name
from paceline.atomic import replacing
from paceline.errors import InputError, StoreError
from paceline.pcap import Conversations

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
}
EVENTS = ("send", "enqueue", "drop", "dequeue", "receive")
KINDS = ("data", "ack")
SUFFIXES = (".csv", ".parquet", ".pcap")


class Trace(ABC):
    """Takes chunks of events from the core and writes them."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._places: list[str] = []

    def __call__(self, chunk: Mapping[str, Any]) -> None:
        """One chunk: columns of equal length; the first has the names of places too. Raises `StoreError`."""
        if "places" in chunk:
            self._places = list(chunk["places"])
        try:
            self._write(chunk)
        except OSError as error:
            raise StoreError(f"the trace cannot be written: {error.strerror or error}") from None

    @abstractmethod
    def _write(self, chunk: Mapping[str, Any]) -> None: ...

    def close(self) -> None:  # noqa: B027 (not every format has an end)
        """Writes what a file of this format ends with."""


class _Table(Trace):
    """Events as rows."""

    def _batch(self, chunk: Mapping[str, Any], dictionary: bool) -> pyarrow.RecordBatch:
        import numpy as np
        import pyarrow as pa

        names = {"event": EVENTS, "place": self._places, "kind": KINDS}
        columns = []
        for name, kind in COLUMNS.items():
            values = np.asarray(chunk[name])
            if name in names:
                words = pa.array(names[name], pa.string())
                column = pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int32)), words)
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

    def _write(self, chunk: Mapping[str, Any]) -> None:
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

    def _write(self, chunk: Mapping[str, Any]) -> None:
        self._parquet.write_batch(self._batch(chunk, dictionary=True))

    def close(self) -> None:
        self._parquet.close()


class _Pcap(Trace):
    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        # Magic with nanoseconds, version 2.4, time zone, accuracy, longest record, Ethernet.
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        self._conversations = Conversations()

    def _write(self, chunk: Mapping[str, Any]) -> None:
        self._file.write(self._conversations.records(chunk))


@contextlib.contextmanager
def tracing(path: str | os.PathLike[str]) -> Iterator[Trace]:
    """A trace that is at `path` when the block has ended well, and nowhere if it has not.

    Raises `InputError` for another suffix than `SUFFIXES`, `StoreError` where the file cannot be written.
    """
    path = check_name(path, "trace")
    try:
        with replacing(path) as file:
            trace = _open(path.suffix.lower(), file)
            yield trace
            trace.close()
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from None


def _open(suffix: str, file: IO[bytes]) -> Trace:
    if suffix == ".csv":
        return _Csv(file)
    return _Parquet(file) if suffix == ".parquet" else _Pcap(file)


def check_name(given: Any, name: str) -> Path:
    """The path that a trace is to be at. Raises `InputError` where it does not say which format."""
    path = file_name(given, name, "one-flow.pcap")
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: the name must end in .csv, .parquet or .pcap, and so say the format", name)
    return path
