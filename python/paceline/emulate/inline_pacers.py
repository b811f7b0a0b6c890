"""Link pacers as programs of their own: `paceline-pace` between two devices, in the path of each paced link.

The links' program writes what reaches a paced link to the one device and reads from the other what the pacer lets go.
Both devices of all pacers are in one namespace, which holds nothing else.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from types import TracebackType
from typing import Any, Self

from paceline.emulate.choices import Choices
from paceline.emulate.layout import Layout
from paceline.emulate.namespace import Namespace
from paceline.emulate.programs import die_with_parent, end, find
from paceline.errors import RunError
from paceline.scenario.resolved_network import Link

#: Bytes of an Ethernet header, which the simulator does not count.
_ETHERNET = 14
_READY_S = 60.0
_PATIENCE_S = 20.0
_PACKETS = 100_000
_READY = b"ready"


class InlinePacers:
    """The pacers of a run: a context that ends them.

    Attributes:
        devices: by link, descriptors of the device before its pacer and of the one after.
    """

    def __init__(self, layout: Layout, choices: Choices) -> None:
        self.devices: dict[int, tuple[int, int]] = {}
        self._layout = layout
        self._spin_us = choices.spin_us
        self._namespace: Namespace | None = None
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            for number in self._layout.paced_links:
                self._start(number)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def wait_until_ready(self) -> None:
        """Until each forwards. Raises `RunError` with what one said that does not."""
        until = time.monotonic() + _READY_S
        for number, process in self._running.items():
            assert process.stderr is not None
            said = b""
            while _READY not in said:
                ready, _, _ = select.select([process.stderr], [], [], max(0.0, until - time.monotonic()))
                piece = os.read(process.stderr.fileno(), 4096) if ready else b""
                if not piece:
                    words = " ".join(said.decode(errors="replace").split()) or "does not answer"
                    raise RunError(f"paceline-pace on {self._name(number)}: {words}")
                said += piece

    def check(self) -> None:
        """Raises `RunError` where one has ended."""
        for number, process in self._running.items():
            if process.poll() is not None:
                raise RunError(f"paceline-pace on {self._name(number)}: ended with status {process.returncode}")

    def finish(self) -> dict[int, dict[str, Any]]:
        """Ends them in order: what each reports, by link."""
        reports = {}
        for process in self._running.values():
            process.terminate()
        for number, process in self._running.items():
            try:
                said, _ = process.communicate(timeout=_PATIENCE_S)
                reports[number] = json.loads(said)
            except (subprocess.TimeoutExpired, ValueError):
                raise RunError(f"paceline-pace on {self._name(number)}: ended without a report") from None
        return reports

    def _start(self, number: int) -> None:
        link = self._layout.network.links[number]
        if self._namespace is None:
            self._namespace = Namespace()
        names = (f"before{number}", f"after{number}")
        descriptors = []
        for name in names:
            descriptors.append(self._namespace.open_device(name, ethernet=True))
        self.devices[number] = (descriptors[0], descriptors[1])
        largest = max(stack.mtu for stack in self._layout.stacks)
        for name in names:
            self._namespace.set_up(name, mtu=largest)
        program = find("paceline-pace")
        with self._namespace.inside():
            self._running[number] = subprocess.Popen(  # noqa: S603 (a program of the package's own)
                [*program, "--in", names[0], "--out", names[1], *arguments(link, self._spin_us)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def _name(self, number: int) -> str:
        return self._layout.network.links[number].name

    def _close(self) -> None:
        for process in self._running.values():
            end(process)
        for pair in self.devices.values():
            for descriptor in pair:
                os.close(descriptor)
        self._running, self.devices = {}, {}
        if self._namespace:
            self._namespace.close()


def arguments(link: Link, spin_us: int) -> list[str]:
    """The options of `paceline-pace` for a link's pacer."""
    assert link.pacer is not None
    words = ["--method", link.pacer.method, "--line-rate", f"{round(link.rate_bps)} bit/s"]
    for name, value in link.pacer.parameters.items():
        words += [f"--{name.replace('_', '-')}", value]
    if link.pacer.bytes is not None:
        buffer = f"{link.pacer.bytes} B"
    else:
        buffer = f"{_PACKETS if link.pacer.packets is None else link.pacer.packets} packets"
    return [
        *words,
        "--buffer",
        buffer,
        "--uncounted",
        str(_ETHERNET),
        "--spin",
        f"{spin_us} us",
        "--no-bypass",
        "--json",
    ]
