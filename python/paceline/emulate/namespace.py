"""Network namespaces without names, and devices in them.

A namespace lasts as long as a process holds a descriptor of it, and the devices in it no longer: nothing is left behind
however the processes end. A process is in one namespace at a time for what it makes anew; what it has open stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from paceline.errors import RunError

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_SET_DEVICE = 0x400454CA  # TUNSETIFF
_TUN, _TAP, _NO_HEADER = 0x0001, 0x0002, 0x1000  # IFF_TUN, IFF_TAP, IFF_NO_PI
#: Packets that a device holds for its reader; what finds it full is lost, and counted by the kernel.
_DEVICE_QUEUE = 10_000
_HERE = "/proc/thread-self/ns/net"


class Namespace:
    """One network namespace, new and empty. Close it, or end the process."""

    def __init__(self) -> None:
        """Raises `RunError` where the kernel refuses."""
        before = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _call("unshare", _NEW_NETWORK)
            try:
                self.descriptor = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
            finally:
                _call("setns", before, _NEW_NETWORK)
        finally:
            os.close(before)

    def close(self) -> None:
        """Lets go of it; it is gone when nobody else holds it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """What this thread opens, it opens in the namespace."""
        before = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _call("setns", self.descriptor, _NEW_NETWORK)
            yield
        finally:
            _call("setns", before, _NEW_NETWORK)
            os.close(before)

    def set_parameters(self, parameters: Mapping[str, str]) -> None:
        """Sysctls below net.ipv4, of this namespace alone. Raises `RunError` for one that the kernel does not have."""
        with self.inside():
            for path in Path("/proc/sys/net/ipv6/conf").glob("*/disable_ipv6"):
                path.write_text("1")
            for name, value in parameters.items():
                try:
                    (Path("/proc/sys/net/ipv4") / name).write_text(value)
                except OSError as error:
                    raise RunError(f"net.ipv4.{name} = {value}: {error.strerror or error}") from None

    def open_device(self, name: str, *, ethernet: bool = False) -> int:
        """A new device's descriptor: what is written to it the kernel receives, and the other way round.

        The device is gone when the descriptor is closed.
        """
        import fcntl  # which Windows has not, where this module is loaded too

        with self.inside():
            descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            kind = (_TAP if ethernet else _TUN) | _NO_HEADER
            try:
                fcntl.ioctl(descriptor, _SET_DEVICE, struct.pack("16sH22x", name.encode(), kind))
            except OSError as error:
                os.close(descriptor)
                raise RunError(f"a device of /dev/net/tun: {error.strerror or error}") from None
        return descriptor

    def set_up(
        self,
        device: str,
        *,
        mtu: int,
        addresses: Iterable[str] = (),
        segments: int | None = None,
        metrics: Mapping[str, int] | None = None,
    ) -> None:
        """Switches a device on.

        Args:
            device: its name.
            mtu: largest IP packet, bytes.
            addresses: of the hosts behind it.
            segments: most TCP segments that the stack hands over at once (``gso_max_segs``); the kernel's unless given.
            metrics: of the route that leads everything to the device; no route unless given.
        """
        from pyroute2 import IPRoute

        with self.inside(), IPRoute() as routes:
            index = routes.link_lookup(ifname=device)[0]
            limits = {} if segments is None else {"gso_max_segs": segments}
            routes.link("set", index=index, mtu=mtu, txqlen=_DEVICE_QUEUE, state="up", **limits)
            for address in addresses:
                routes.addr("add", index=index, address=address, prefixlen=32)
            if metrics is not None:
                routes.route("add", dst="0.0.0.0/0", oif=index, scope="link", metrics=dict(metrics))

    def lost_by(self, device: str) -> int:
        """Packets that the kernel could not hand to the device's reader."""
        from pyroute2 import IPRoute

        with self.inside(), IPRoute() as routes:
            link: Any = routes.link("get", ifname=device)[0]
            counters = link.get_attr("IFLA_STATS64")
        return int(counters["tx_dropped"]) + int(counters["rx_dropped"])


def _call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise RunError(f"{name}: {os.strerror(ctypes.get_errno())}")
