"""Finished runs on disk, each in one file named by what it is the result of; many processes may write at once.

``DIR/store/<key>.zip`` is one run (see `run_archive`), there whole or not at all (see `atomic_writes`). A process that
does a run leases it (see `leases`), so that all on one sweep share it out; ``core-version`` names the core of the runs.
The tables in ``DIR`` are put together from these files, and take their places together.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from paceline import _core
from paceline.errors import StaleStoreError, StoreError
from paceline.files.atomic_writes import AtomicFiles, clear_leftovers, exclusive, marker, replacing
from paceline.files.regular_files import read_bounded
from paceline.results.tables import about_now, described_schema, runs_table, with_constants
from paceline.store.directory_owner import owner_text
from paceline.store.leases import Leases
from paceline.store.run_archive import TABLES, pack, packed_columns, unpack_run, unpack_table

if TYPE_CHECKING:
    import pyarrow

    from paceline._core import Columns
    from paceline.scenario import Point, Scenario

__all__ = ["TABLES", "Store"]


class Store:
    """The results in one directory. Processes may share it; what one finishes, the others find."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        """Makes the directory, and clears away what a process that has died left half-written.

        Raises `StoreError` where the directory cannot be made or written, `StaleStoreError` where it holds runs of
        another core.
        """
        self.directory = Path(directory)
        self._store = self.directory / "store"
        with _as_store_error(self.directory):
            self._store.mkdir(parents=True, exist_ok=True)
            for folder in (self.directory, self._store):
                clear_leftovers(folder)
            self._check_version()
            self.leases = Leases(self._store / ".leases")
            places = {name: self.directory / name for name in ("scenario.toml", "runs.parquet")}
            places |= {f"{name}.parquet": self.directory / f"{name}.parquet" for name in TABLES}
            self._tables = AtomicFiles(self._store / "tables", places | {"scenario": self._store / "scenario"})
            if (self._store / "tables").exists():  # whose writer is at work still, or has died
                with exclusive(self._store / ".tables", wait=False) as ours:
                    if ours:
                        self._tables.finish()

    def has(self, key: str) -> bool:
        """Whether a run is there; `get` says whether it is whole."""
        return self._path(key).exists()

    def put(self, key: str, run: Mapping[str, Any], tables: Mapping[str, Columns]) -> None:
        """Keeps a finished run, without its settings: those are the sweep's. Raises `StoreError`."""
        self.put_packed(key, pack(key, run, tables))

    def put_packed(self, key: str, packed: bytes) -> None:
        """Keeps a finished run that is packed already. Raises `StoreError`."""
        with self._replacing(self._path(key)) as file:
            file.write(packed)

    def get(self, key: str, seed: int, damaged: Callable[[Path], None] | None = None) -> dict[str, Any] | None:
        """The run of this seed kept under this key, or ``None``.

        A damaged file, or one that holds another run, counts as none, after `damaged` heard of it.
        """
        path = self._path(key)
        try:
            run = unpack_run(path, key, seed)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ELOOP, errno.EFBIG):
                raise StoreError(f"{path}: {error.strerror or error}") from None
            run = None  # no regular file, or one too large
        if run is None and damaged:
            damaged(path)
        return run

    def table(self, key: str, name: str) -> pyarrow.Table:
        """A table of a run that is there: `name` is one of `TABLES`."""
        path = self._path(key)
        with _as_store_error(path):
            try:
                return unpack_table(path, name)
            except ValueError as error:
                raise StoreError(f"{path}: {error}; delete it, and run again") from None

    def columns(self, key: str) -> dict[str, Columns]:
        """The tables of a run that is there, as the core gives them, each read when it is first looked at."""
        return packed_columns(self._path(key))

    def check_room(self) -> None:
        """That files can be made beside the store. Raises `StoreError`."""
        with _as_store_error(self.directory), marker(self.directory):
            pass

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Others wait before they write tables or a report here: what lies beside the store is of one command."""
        with _as_store_error(self._store), exclusive(self._store / ".tables"):
            yield

    def consolidate(self, scenario: Scenario, points: Sequence[Point], runs: Sequence[Mapping[str, Any]]) -> None:
        """``runs.parquet``, one file for each of `TABLES`, of these runs, which all are in the store, and the scenario.

        Rows of `TABLES` name their run by ``run`` (the row in ``runs.parquet``), ``settings.*`` and ``seed``.
        ``scenario.toml`` is the scenario as run, changes of the command line included; paths of files are absolute; the
        tables' metadata has its SHA-256, its title, the version of Paceline and units. All
        take their places together, so that tables and scenario are of one sweep, even after a command that was
        interrupted or killed. Call it `exclusive`.
        """
        import pyarrow.parquet as pq

        with _as_store_error(self.directory), self._tables.replacing() as opened:
            text = scenario.placed().to_toml().encode()
            about = dict(about_now(None)) | {
                "title": scenario.title,
                "scenario_sha256": hashlib.sha256(text).hexdigest(),
            }
            with opened("scenario.toml") as file:
                file.write(text)
            with opened("scenario") as file:
                file.write(owner_text(scenario))
            with opened("runs.parquet") as file:
                pq.write_table(runs_table(runs, about), file)
            for name in TABLES:
                with opened(f"{name}.parquet") as file:
                    self._write_rows(file, name, points, about)

    def _write_rows(self, file: IO[bytes], name: str, points: Sequence[Point], about: Mapping[str, str]) -> None:
        """A table of all runs, one after the other. Raises `OSError`, `StoreError`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        writer = None
        try:
            for number, point in enumerate(points):
                constants = {"run": number} | {f"settings.{k}": v for k, v in point.settings.items()}
                table = with_constants(self.table(point.key, name), constants | {"seed": point.seed})
                if writer is None:
                    writer = pq.ParquetWriter(file, described_schema(table.schema, about), compression="zstd")
                try:
                    table = table.cast(writer.schema)
                except (ValueError, KeyError, pa.ArrowException) as error:
                    why = " ".join(str(error).split())[:80]
                    raise StoreError(f"{self._path(point.key)}: damaged: {why}; delete it, and run again") from None
                writer.write_table(table)
            if writer is not None:
                writer.close()
        except BaseException:
            if writer is not None:
                with contextlib.suppress(Exception):  # else it would try as it is forgotten, and complain
                    writer.close()
            raise

    @contextlib.contextmanager
    def mark(self) -> Iterator[Path]:
        """An empty file in the store for a while, by which another process can tell that it sees the same one."""
        with _as_store_error(self._store), marker(self._store) as path:
            yield path

    def _path(self, key: str) -> Path:
        return self._store / f"{key}.zip"

    def _check_version(self) -> None:
        path = self._store / "core-version"
        ours = _core.version()
        try:
            theirs = read_bounded(path, 1000).decode(errors="replace").strip()
        except FileNotFoundError:
            with replacing(path) as file:
                file.write(f"{ours}\n".encode())
            return
        if theirs != ours:
            theirs = theirs or "(unknown)"
            remedy = f"name another directory, or delete {self._store} to run them again"
            raise StaleStoreError(f"{self.directory}: holds runs of core {theirs}, and this is {ours}; {remedy}")

    @contextlib.contextmanager
    def _replacing(self, path: Path) -> Iterator[IO[bytes]]:
        with _as_store_error(path), replacing(path) as file:
            yield file


@contextlib.contextmanager
def _as_store_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror or error}") from None
