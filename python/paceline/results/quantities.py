"""Units of results: of a number by the end of its name, and of a swept setting by what its labels say."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence

from paceline import _core
from paceline.errors import InputError
from paceline.scenario.paths import split_path

#: Dimensions of a scenario's quantities by the core's names for them, and the unit of what it returns.
_KINDS = (("rate", "bps", 1.0), ("time", "s", 1e-9), ("size", "bytes", 1.0))
#: What is not a quantity of the core by itself: it counts packets, or is a share of something.
_COUNT = re.compile(r"^\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*(%|packets?|BDP|)\s*$")
_COUNTS = {"": ("number", 1.0), "%": ("share", 1e-2), "BDP": ("BDP", 1.0)}

#: Lists of a scenario whose entries have names.
_ENTRIES = (("network", "links"), ("link",), ("traffic",))

#: Unit by the end of a number's name; a share, a count or an index has the unit 1, as UCUM writes it.
_ENDS = {"bps": "bit/s", "s": "s", "ns": "ns", "us": "us", "bytes": "B", "packets": "packets", "drops": "packets"}
_ONES = frozenset({"utilisation", "loss_ratio", "jain", "steal"})
#: What a setting's number counts, by its dimension: the end of its column's name, and its unit.
_SETTINGS = {"bps": "bit/s", "s": "s", "bytes": "B", "packets": "packets", "BDP": "BDP", "share": "1", "number": "1"}


def quantity(text: str) -> tuple[str, float] | None:
    """Dimension and value of `5 KB`, `10 ms`, `0.3`; `None` where the text is something else."""
    if found := _COUNT.match(text):
        dimension, unit = _COUNTS.get(found[2], ("packets", 1.0))
        return dimension, float(found[1].replace("_", "")) * unit
    for kind, dimension, unit in _KINDS:
        with contextlib.suppress(_core.InputError):
            return dimension, _core.quantity(kind, text) * unit
    return None


def numeric(labels: Sequence[str | None]) -> tuple[str, str, list[float | None]] | None:
    """Dimension, unit and values of a setting's labels; ``None`` where one is no number, or their units differ."""
    parsed = {text: quantity(text) for text in dict.fromkeys(labels) if text is not None}
    found = {text: one for text, one in parsed.items() if one is not None}
    dimensions = {dimension for dimension, _ in found.values()}
    if len(found) < len(parsed) or len(dimensions) != 1:
        return None
    dimension = dimensions.pop()
    return dimension, _SETTINGS[dimension], [None if text is None else found[text][1] for text in labels]


def values_name(path: str, dimension: str) -> str:
    """The column of a setting's numbers: ``values.network.core.buffer_bytes``; without an end where it has no unit."""
    return f"values.{path}" if dimension == "number" else f"values.{path}_{dimension}"


def unit_of(column: str) -> str | None:
    """The unit of a number by its path or its column's name; ``None`` where it has none, as text."""
    name = column.rpartition(".")[2]
    if column.startswith("settings."):
        return None
    if column.startswith("values."):
        return next((unit for end, unit in _SETTINGS.items() if name.endswith(f"_{end}")), "1")
    if column.startswith("window_s."):
        return "s"
    if name in _ONES:
        return "1"
    if column == "bytes":  # of series.parquet
        return "B"
    return _ENDS.get(name.rpartition("_")[2]) if "_" in name else None


def path_words(path: str) -> str:
    """`network.core.buffer` as an axis title: `Core buffer`. A name that is no plain word stays as it is written."""
    text = path_phrase(path)
    first = text.split(" ")[0]
    return text[:1].upper() + text[1:] if first.isalpha() else text


def path_phrase(path: str) -> str:
    """What was swept, within a sentence: `core buffer`, `TCP variant`; of `network.links.uplink_2.buffer` the name."""
    keys: tuple[str, ...] = tuple(path.split("."))
    with contextlib.suppress(InputError):  # no path of a scenario, then; columns may be anybody's
        keys = split_path(path)
    words: list[str] = []
    for depth, key in enumerate(keys):
        before = keys[:depth]
        if before in _ENTRIES and not key.isdigit():
            words.append(key)
        elif before in (("network", "links"), ("link",)) or (before == ("traffic",) and key != "0"):
            words.append(f"{before[-1].removesuffix('s')} {key}")
        elif key != "0" and keys[: depth + 1] not in (("network",), *_ENTRIES):
            words.append("TCP" if key == "tcp" else key.replace("_", " ").replace("-", " "))
    return " ".join(words)


def method_words(label: str) -> str:
    """`edge 10 ms` as a reader would say it: `edge pacing 10 ms`."""
    first, _, rest = label.partition(" ")
    words = {
        "none": "unpaced",
        "host": "host pacing",
        "edge": "edge pacing",
        "qlbp": "QLBP",
        "port": "port pacing",
        "token-bucket": "token bucket",
    }.get(first)
    return f"{words} {rest}".strip() if words else label
