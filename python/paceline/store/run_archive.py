"""One finished run as bytes: a zip of ``about.json``, ``run.json`` and a Parquet file of each kind in `TABLES`.

The same run gives the same bytes, wherever it ran; zip's checksums tell an archive that was damaged. ``about.json``
holds the key, the seed and the core: an archive that lies under another's name is not taken for it. Nothing in an
archive is believed before it is checked, and nothing is compressed by zip, so that what is read is no larger than the
file.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast

from paceline import _core
from paceline.files.regular_files import read_bounded
from paceline.results.tables import columns_table

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow

    from paceline._core import Columns

#: The kinds of tables that a run yields, each ``<kind>.parquet``.
TABLES = ("flows", "series", "instruments")
#: What an archive has, in this order, and nothing else.
_PARTS = ("about.json", "run.json", *(f"{kind}.parquet" for kind in TABLES))
#: The time in an entry of a zip, always this one: the same run gives the same file.
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: A larger file is no archive.
MOST_BYTES = 4 << 30
#: A table's values may take so many times the bytes of its archive, or `_SMALL_BYTES`: tables of queues come to 20.
_MOST_TIMES = 1000
_SMALL_BYTES = 256 << 20


def pack(key: str, run: Mapping[str, Any], tables: Mapping[str, Columns]) -> bytes:
    """A run without its settings (those are the sweep's), and its tables, under its key."""
    about = {"key": key, "seed": run["seed"], "core": _core.fingerprint()}
    parts = [json.dumps(about).encode(), json.dumps(dict(run), allow_nan=False).encode()]
    parts += [_parquet(columns_table(tables[kind])) for kind in TABLES]
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, data in zip(_PARTS, parts, strict=True):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
    return sink.getvalue()


def unpack_run(file: Path | bytes, key: str, seed: int) -> dict[str, Any] | None:
    """The run in an archive, or ``None`` where it is damaged, or not that of this key and seed. Raises `OSError`."""
    data = _content(file)
    try:
        with _opened(data) as archive:
            if archive.testzip() is not None:
                return None
            about = _object(archive.read("about.json"))
            run = _object(archive.read("run.json"))
            if about != {"key": key, "seed": seed, "core": _core.fingerprint()} or run["seed"] != seed:
                return None
            for kind in TABLES:
                _check_size(archive.read(f"{kind}.parquet"), len(data))
        return run if _is_run(run) else None
    except MemoryError:
        raise
    except Exception:  # whatever zipfile, json and pyarrow make of a foreign file
        return None


def unpack_table(file: Path | bytes, name: str) -> pyarrow.Table:
    """A table of an archive: `name` is one of `TABLES`. Raises `OSError`, `ValueError` where it is damaged."""
    import pyarrow.parquet as pq

    data = _content(file)
    try:
        with _opened(data) as archive:
            table = archive.read(f"{name}.parquet")
        _check_size(table, len(data))
        return pq.read_table(io.BytesIO(table))
    except Exception as error:  # whatever zipfile, zlib and pyarrow make of a foreign file, EOFError too
        if type(error) in (ValueError, MemoryError):
            raise
        raise ValueError(f"damaged: {' '.join(str(error).split())[:80]}") from None


def _content(file: Path | bytes) -> bytes:
    return file if isinstance(file, bytes) else read_bounded(file, MOST_BYTES)


def _opened(data: bytes) -> zipfile.ZipFile:
    """The archive, if it is laid out as `pack` does it. Raises what zipfile raises, `ValueError`."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    entries = archive.infolist()
    plain = all(one.compress_type == zipfile.ZIP_STORED and one.compress_size == one.file_size for one in entries)
    if tuple(one.filename for one in entries) != _PARTS or not plain:
        raise ValueError("not laid out as an archive of a run")
    if sum(one.file_size for one in entries) > len(data):
        raise ValueError("entries that overlap")
    return archive


def _object(text: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    found = json.loads(text, parse_constant=refuse)
    if not isinstance(found, dict):
        raise TypeError("not an object")
    return found


def _check_size(parquet: bytes, archive_bytes: int) -> None:
    """That a table is not blown up: its values are 8 bytes or fewer, or codes of text."""
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(io.BytesIO(parquet))
    if 8 * metadata.num_rows * metadata.num_columns > max(_SMALL_BYTES, _MOST_TIMES * archive_bytes):
        raise ValueError("a table that is larger than its archive explains")


def _is_run(run: Mapping[str, Any]) -> bool:
    """Whether this is an object of the contract, as far as anybody relies on it."""
    window = run["window_s"]
    groups = [*run["links"].values(), *(one for one in (run["groups"] or {}).values() if one is not None), run["flows"]]
    return (
        isinstance(window, list)
        and len(window) == 2
        and all(_is_number(value) for value in window)
        and all(value is None or _is_number(value) for group in groups for value in group.values())
        and isinstance(run["engine"]["kind"], str)
        and all(not isinstance(value, dict) for value in run["engine"].values())
        and _is_number(run["engine"].get("cpu_s") or 0.0)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


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
            table = unpack_table(self._file, self._name)
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
