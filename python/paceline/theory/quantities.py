"""What the formulas take and give: text with a unit, as in a scenario, or numbers in SI units; arrays of either.

`"100 Mbit/s"` is read by the parser of scenarios. A bare number is in bit/s, seconds or bytes. Where a number is of
packets, or has no unit, the formula says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paceline import _core
from paceline.errors import InputError

#: A quantity: text with a unit, a number in SI units, or a list or an array of them.
Amount: TypeAlias = str | float | Sequence[str] | Sequence[float] | NDArray[Any]
#: What a formula gives: a float for numbers, an array where one was given; as NumPy's own functions.
Numbers: TypeAlias = Any

_SCALE = {"rate": 1.0, "time": 1e-9, "size": 1.0}
_EXAMPLES = {"rate": '"5 Mbit/s", or a number of bit/s', "time": '"10 ms", or a number of seconds'}
_EXAMPLES["size"] = '"5 KB", or a number of bytes'


def rate(value: Amount, name: str, **domain: float) -> NDArray[np.float64]:
    """Rates in bit/s; see `number` for the domain. Raises `InputError`."""
    return _quantity("rate", value, name, domain)


def time(value: Amount, name: str, **domain: float) -> NDArray[np.float64]:
    """Times in seconds; see `number` for the domain. Raises `InputError`."""
    return _quantity("time", value, name, domain)


def size(value: Amount, name: str, **domain: float) -> NDArray[np.float64]:
    """Sizes in bytes; see `number` for the domain. Raises `InputError`."""
    return _quantity("size", value, name, domain)


def number(
    value: Amount,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> NDArray[np.float64]:
    """Plain numbers inside a domain: greater than `above`, not below `least`, less than `below`, not beyond `most`.

    Raises `InputError`, which names the argument, the value that is outside and the domain.
    """
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: {value!r} is not a number; write one without a unit") from None
    outside = ~np.isfinite(values)
    outside |= False if above is None else values <= above
    outside |= False if least is None else values < least
    outside |= False if below is None else values >= below
    outside |= False if most is None else values > most
    if outside.any():
        first = float(np.ravel(values)[np.ravel(outside).argmax()])
        raise InputError(f"{name}: {first:g} is outside its domain; write {_domain(above, least, below, most)}")
    return values


def answer(values: NDArray[np.float64] | np.float64 | float) -> Numbers:
    """A float for what has no axes, else the array."""
    return float(values) if np.ndim(values) == 0 else values


def whole(value: float, name: str, least: int) -> int:
    """A whole number, `least` or more. Raises `InputError`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name}: {value!r} is outside its domain; write a whole number, {least} or more")
    return int(value)


def _quantity(
    kind: Literal["rate", "time", "size"], value: Amount, name: str, domain: dict[str, float]
) -> NDArray[np.float64]:
    if isinstance(value, str):
        value = _parsed(kind, value, name)
    elif not isinstance(value, np.ndarray) and np.iterable(value):
        value = [_parsed(kind, one, name) if isinstance(one, str) else one for one in value]
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: {value!r} is not a {kind}; write {_EXAMPLES[kind]}") from None
    return number(values, name, **domain)


def _parsed(kind: str, text: str, name: str) -> float:
    try:
        return _core.quantity(kind, text) * _SCALE[kind]
    except _core.InputError as error:
        raise InputError(f"{name}: {error}") from None


def _domain(above: float | None, least: float | None, below: float | None, most: float | None) -> str:
    parts = []
    if above is not None:
        parts.append(f"above {above:g}")
    if least is not None:
        parts.append(f"at least {least:g}")
    if below is not None:
        parts.append(f"below {below:g}")
    if most is not None:
        parts.append(f"at most {most:g}")
    return "a number " + " and ".join(parts) if parts else "a finite number"
