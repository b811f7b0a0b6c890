"""Finished runs on disk, each in one file named by what it is the result of.

``DIR/store/<key>.zip`` holds ``run.json`` and a Parquet file of each kind in `TABLES` of one run. It is written under
another name, flushed to the disk and renamed, so a file of that name is whole; zip's checksums tell one that was
damaged later. The tables in ``DIR`` are put together from these files, by the same way of writing.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from paceline.errors import StoreError
from paceline.tables import columns_table, runs_table, with_constants

if TYPE_CHECKING:
    import pyarrow

    from paceline._core import Columns
    from paceline.scenario import Point, Scenario

#: The kinds of tables that a run yields, each ``<kind>.parquet``.
TABLES = ("flows", "series", "instruments")
#: The time in an entry of a zip, always this one: the same run gives the same file.
_EPOCH = (1980, 1, 1, 0, 0, 0)


class Store:
    """The results in one directory. Processes may share it; what one finishes, the others find."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        """Makes the directory, and clears away what a process of this machine left half-written.

        Raises `StoreError` where the directory cannot be made or written.
        """
        self.directory = Path(directory)
        self._store = self.directory / "store"
        with _as_store_error(self.directory):
            self._store.mkdir(parents=True, exist_ok=True)
            for folder in (self.directory, self._store):
                for leftover in folder.glob(".*.partial"):
                    if not _is_being_written(leftover):
                        leftover.unlink(missing_ok=True)

    def put(self, key: str, run: Mapping[str, Any], tables: Mapping[str, Columns]) -> None:
        """Keeps a finished run, without its settings: those are the sweep's. Raises `StoreError`."""
        parts = {"run.json": json.dumps(dict(run), allow_nan=False).encode()}
        parts |= {f"{kind}.parquet": _parquet(columns_table(tables[kind])) for kind in TABLES}
        with self._replacing(self._store / f"{key}.zip") as file, zipfile.ZipFile(file, "w") as archive:
            for name, data in parts.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)

    def get(self, key: str, damaged: Callable[[Path], None] | None = None) -> dict[str, Any] | None:
        """The run kept under this key, or ``None``. A damaged file counts as none, after `damaged` heard of it."""
        path = self._store / f"{key}.zip"
        try:
            with zipfile.ZipFile(path) as archive:
                if archive.testzip() is None and {f"{kind}.parquet" for kind in TABLES} <= set(archive.namelist()):
                    run = json.loads(archive.read("run.json"))
                    if isinstance(run, dict) and "flows" in run:
                        return run
        except FileNotFoundError:
            return None
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, NotImplementedError):
            pass
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}") from None
        if damaged:
            damaged(path)
        return None

    def table(self, key: str, name: str) -> pyarrow.Table:
        """A table of a run that is there: `name` is one of `TABLES`."""
        import pyarrow.parquet as pq

        path = self._store / f"{key}.zip"
        with _as_store_error(path), zipfile.ZipFile(path) as archive:
            return pq.read_table(io.BytesIO(archive.read(f"{name}.parquet")))

    def columns(self, key: str, name: str) -> Columns:
        """As `table`, as the core gives it: arrays, and lists of text. Read from the disk when first looked at."""
        return cast("Columns", _StoredColumns(self, key, name))

    def write_scenario(self, scenario: Scenario) -> None:
        """``scenario.toml``: the scenario as run, changes of the command line included; paths of files are absolute."""
        with self._replacing(self.directory / "scenario.toml") as file:
            file.write(scenario.placed().to_toml().encode())

    def consolidate(self, points: Sequence[Point], runs: Sequence[Mapping[str, Any]]) -> None:
        """``runs.parquet``, and one file for each of `TABLES`, of these runs, which all are in the store.

        Rows of the latter name their run by ``run`` (the row in ``runs.parquet``), ``settings.*`` and ``seed``.
        """
        import pyarrow.parquet as pq

        with self._replacing(self.directory / "runs.parquet") as file:
            pq.write_table(runs_table(runs), file)
        for name in TABLES:
            with self._replacing(self.directory / f"{name}.parquet") as file:
                writer = None
                for number, point in enumerate(points):
                    constants = {"run": number} | {f"settings.{k}": v for k, v in point.settings.items()}
                    table = with_constants(self.table(point.key, name), constants | {"seed": point.seed})
                    if writer is None:
                        writer = pq.ParquetWriter(file, table.schema, compression="zstd")
                    writer.write_table(table.cast(writer.schema))
                if writer is not None:
                    writer.close()

    @contextlib.contextmanager
    def _replacing(self, path: Path) -> Iterator[IO[bytes]]:
        with _as_store_error(path), replacing(path) as file:
            yield file


class _StoredColumns(Mapping[str, Any]):
    """A table of the store that is read when it is first looked at: a sweep's tables need not all be in memory."""

    def __init__(self, store: Store, key: str, name: str) -> None:
        self._where = (store, key, name)
        self._loaded: dict[str, Any] | None = None

    def __getitem__(self, column: str) -> Any:
        return self._columns()[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns())

    def __len__(self) -> int:
        return len(self._columns())

    def _columns(self) -> dict[str, Any]:
        if self._loaded is None:
            store, key, name = self._where
            table = store.table(key, name)
            self._loaded = {
                column: table.column(column).to_pylist() if is_text else table.column(column).to_numpy()
                for column, is_text in ((field.name, _is_text(field.type)) for field in table.schema)
            }
        return self._loaded


def _is_text(kind: pyarrow.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind) or pa.types.is_string(kind))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when all went well, whole and on the disk; else it is gone."""
    partial = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    with contextlib.suppress(OSError):  # a file system that cannot flush a directory
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror or error}") from None


def _is_being_written(path: Path) -> bool:
    host, _, process = path.name.removesuffix(".partial").rpartition(".")
    if not host.endswith("." + socket.gethostname()):
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):
        return True
    return int(process) != os.getpid()


def _parquet(table: pyarrow.Table) -> bytes:
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()
