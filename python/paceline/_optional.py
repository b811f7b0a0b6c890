"""Packages that an installation may lack: who needs one is told how to get it."""

from __future__ import annotations

import importlib
from typing import Any

#: By the package that is imported: the extra that brings it.
EXTRAS = {
    "matplotlib": "plot",
    "pandas": "frames",
    "polars": "frames",
    "xarray": "frames",
    "distributed": "dask",
    "anywidget": "notebook",
    "starlette": "notebook",
}


def needed(package: str, by: str) -> Any:
    """The package, imported. Raises `ModuleNotFoundError`, which says how to install it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        remedy = f'pip install "paceline[{EXTRAS[package]}]"'
        raise ModuleNotFoundError(f"{by} needs {package}, which is not installed; {remedy}", name=package) from None
