"""One run on the kernel: namespaces, devices, programs; all of it is gone afterwards."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.emulate.choices import Choices
from paceline.emulate.inline_pacers import InlinePacers
from paceline.emulate.layout import Layout, traffic_plan, wires_plan
from paceline.emulate.namespace import Namespace
from paceline.emulate.programs import Program
from paceline.errors import RunError

_DEVICE = "hosts"
#: From the command to start to time zero.
_LEAD_NS = 50_000_000
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Found:
    """What the programs found, and how the machine did meanwhile.

    Attributes:
        wires: report of `paceline-wires`.
        traffic: report of `paceline-traffic`.
        pacers: report of each `paceline-pace`, by link.
        lost_outside: packets that the kernel could not hand to the links' program: no link dropped them.
        steal: share of all processors' time that the hypervisor gave to others.
        wall_s: from time zero to the reports.
    """

    wires: dict[str, Any]
    traffic: dict[str, Any]
    pacers: dict[int, dict[str, Any]]
    lost_outside: int
    steal: float
    wall_s: float


def run(layout: Layout, choices: Choices, seed: int, watch: Callable[[float], None] | None = None) -> Found:
    """Runs it in real time. Raises `RunError`; `KeyboardInterrupt` passes through, and leaves nothing either."""
    with contextlib.ExitStack() as held:
        namespaces, devices = _hosts(layout, held)
        pacers = held.enter_context(InlinePacers(layout, choices))
        wires = Program(
            "paceline-wires",
            wires_plan(layout, devices, pacers.devices, choices.spin_us, seed),
            [fd for pair in [*devices, *pacers.devices.values()] for fd in pair],
        )
        held.callback(wires.close)
        descriptors = [(callers.descriptor, listeners.descriptor) for callers, listeners in namespaces]
        plan = traffic_plan(layout, descriptors, seed)
        traffic = Program("paceline-traffic", plan, [fd for pair in descriptors for fd in pair])
        held.callback(traffic.close)
        wires.wait_until_ready()
        traffic.wait_until_ready()
        pacers.wait_until_ready()
        before = _processor_times()
        start = time.monotonic_ns() + _LEAD_NS
        wires.start(start)
        traffic.start(start)
        end = start * 1e-9 + layout.network.duration_s
        while (rest := end - time.monotonic()) > _POLL_S:
            time.sleep(_POLL_S)
            for running in (wires, traffic, pacers):
                running.check()
            if watch:
                watch(1 - rest / layout.network.duration_s)
        on_wires, on_traffic = wires.found(end), traffic.found(end)
        wall = time.monotonic() - start * 1e-9
        after = _processor_times()
        lost = sum(namespace.lost_by(_DEVICE) for pair in namespaces for namespace in pair)
        return Found(on_wires, on_traffic, pacers.finish(), lost, _steal(before, after), wall)


def _hosts(
    layout: Layout, held: contextlib.ExitStack
) -> tuple[list[tuple[Namespace, Namespace]], list[tuple[int, int]]]:
    """A pair of namespaces a stack, with a device and the addresses of those that connect, and those that listen."""
    import os

    namespaces, devices = [], []
    for number, stack in enumerate(layout.stacks):
        of_stack = [one for one in layout.conversations if one.stack == number]
        pair, descriptors = [], []
        for addresses in (
            dict.fromkeys(one.caller for one in of_stack),
            dict.fromkeys(one.listener for one in of_stack),
        ):
            namespace = Namespace()
            held.callback(namespace.close)
            namespace.set_parameters(dict(stack.parameters))
            descriptor = namespace.open_device(_DEVICE)
            held.callback(os.close, descriptor)
            namespace.set_up(
                _DEVICE, mtu=stack.mtu, addresses=addresses, segments=stack.segments, metrics=dict(stack.metrics)
            )
            pair.append(namespace)
            descriptors.append(descriptor)
        namespaces.append((pair[0], pair[1]))
        devices.append((descriptors[0], descriptors[1]))
    return namespaces, devices


def _processor_times() -> list[int]:
    """Of all processors together, in ticks: user, nice, system, idle, iowait, irq, softirq, steal."""
    first = Path("/proc/stat").read_text().split("\n", 1)[0]
    return [int(field) for field in first.split()[1:9]]


def _steal(before: list[int], after: list[int]) -> float:
    spent = [now - then for then, now in zip(before, after, strict=True)]
    if sum(spent) <= 0:
        raise RunError("/proc/stat: no time has passed")
    return spent[7] / sum(spent)
