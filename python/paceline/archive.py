"""One finished run as bytes: a zip of ``run.json`` and a Parquet file of each kind in `TABLES`.

The same run gives the same bytes, wherever it ran; zip's checksums tell an archive that was damaged.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, cast

from paceline.tables import columns_table

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow

    from paceline._core import Columns

#: The kinds of tables that a run yields, each ``<kind>.parquet``.
TABLES = ("flows", "series", "instruments")
#: The time in an entry of a zip, always this one: the same run gives the same file.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, NotImplementedError)


def pack(run: Mapping[str, Any], tables: Mapping[str, Columns]) -> bytes:
    """A run without its settings (those are the sweep's), and its tables."""
    parts = {"run.json": json.dumps(dict(run), allow_nan=False).encode()}
    parts |= {f"{kind}.parquet": _parquet(columns_table(tables[kind])) for kind in TABLES}
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
    return sink.getvalue()


def unpack_run(file: Path | IO[bytes]) -> dict[str, Any] | None:
    """The run in an archive, or ``None`` where it is damaged. Raises `OSError`."""
    try:
        with zipfile.ZipFile(file) as archive:
            if archive.testzip() is None and {f"{kind}.parquet" for kind in TABLES} <= set(archive.namelist()):
                run = json.loads(archive.read("run.json"))
                if isinstance(run, dict) and "flows" in run:
                    return run
    except _DAMAGE:
        pass
    return None


def unpack_table(file: Path | IO[bytes], name: str) -> pyarrow.Table:
    """A table of an archive: `name` is one of `TABLES`. Raises `OSError`."""
    import pyarrow.parquet as pq

    with zipfile.ZipFile(file) as archive:
        return pq.read_table(io.BytesIO(archive.read(f"{name}.parquet")))


class PackedColumns(Mapping[str, Any]):
    """A table of an archive as the core gives it, arrays and lists of text, read when it is first looked at.

    So a sweep's tables need not all be in memory.
    """

    def __init__(self, file: Path | bytes, name: str) -> None:
        self._file = file
        self._name = name
        self._loaded: dict[str, Any] | None = None

    def __getitem__(self, column: str) -> Any:
        return self._columns()[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns())

    def __len__(self) -> int:
        return len(self._columns())

    def _columns(self) -> dict[str, Any]:
        if self._loaded is None:
            file = io.BytesIO(self._file) if isinstance(self._file, bytes) else self._file
            table = unpack_table(file, self._name)
            self._loaded = {
                field.name: column.to_pylist() if _is_text(field.type) else column.to_numpy()
                for field, column in zip(table.schema, table.columns, strict=True)
            }
        return self._loaded


def packed_columns(file: Path | bytes) -> dict[str, Columns]:
    """Every table of an archive, each read when it is first looked at."""
    return {name: cast("Columns", PackedColumns(file, name)) for name in TABLES}


def _is_text(kind: pyarrow.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind) or pa.types.is_string(kind))


def _parquet(table: pyarrow.Table) -> bytes:
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()
