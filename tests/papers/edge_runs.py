"""Made-up runs of the edge paper's set-ups: throughput and goodput by method and buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from synthetic import Numbers

#: Throughput in Mbit/s from a method's label and a buffer in KB.
Curve = Callable[[str, int], float]


def settings_of(settings: Mapping[str, str]) -> tuple[str, int]:
    """Method and buffer of a run."""
    return settings["pacing"], int(settings["network.core.buffer"].split()[0])


def numbers(curve: Curve, **more: Callable[[str, int], Mapping[str, Any]]) -> Numbers:
    """Goodput of a thousand flows goes with throughput; seeds differ by what a paired difference cancels, almost."""

    def of(settings: Mapping[str, str], seed: int) -> dict[str, Any]:
        method, size = settings_of(settings)
        mbps = curve(method, size) + 0.01 * seed + 0.001 * (-1) ** seed * (len(method) % 3)
        found = {
            "links.core.throughput_bps": mbps * 1e6,
            "links.core.utilisation": mbps / 100,
            "links.core.loss_ratio": 0.1,
            "flows.goodput_mean_bps": mbps * 1e3,
        }
        for one in more.values():
            found |= one(method, size)
        return found

    return of
