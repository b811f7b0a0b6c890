"""Which tests run one after the other, where tests run on several processes (pytest-xdist)."""

from __future__ import annotations

from pathlib import PurePosixPath

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

#: Files whose tests take the machine's network, or its time.
ALONE = ("test_pace_", "test_emulate_live", "test_kernel_", "test_qlbp_on_", "test_dask", "test_bounds")


class ByFile(LoadFileScheduling):  # type: ignore[misc]
    """Those of a file, and those of `ALONE`.

    By names and not by pytest-xdist's marks (`loadgroup`), which pytest 9.2 keeps from having an effect.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "alone" if PurePosixPath(file).name.startswith(ALONE) else str(file)
