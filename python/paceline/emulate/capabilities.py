"""Whether this process may make what an emulation needs."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from paceline.errors import InputError

#: Bits of `CapEff` in /proc/self/status (include/uapi/linux/capability.h).
_NEEDED = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
_TUN = Path("/dev/net/tun")


def require(command: str = "paceline emulate …") -> None:
    """Raises `InputError`, one line with what is missing and how to grant it to a command."""
    require_linux()
    missing = missing_capabilities()
    if missing:
        grant = f"run it as root (sudo), or without root as `unshare --user --map-root-user --net {command}`"
        raise InputError(f"emulate: needs {' and '.join(missing)} to make network namespaces; {grant}")
    if not os.access(_TUN, os.R_OK | os.W_OK):
        grant = "load the module by `modprobe tun`, or start the container with --device /dev/net/tun"
        raise InputError(f"emulate: {_TUN} cannot be opened, and devices are made there; {grant}")


def require_linux() -> None:
    """Raises `InputError` on any other system."""
    if platform.system() != "Linux":
        raise InputError("emulate: needs Linux, whose TCP it runs; `paceline run` simulates the same anywhere")


def missing_capabilities() -> list[str]:
    """Names of the capabilities that this process would need and does not have."""
    held = 0
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            held = int(line.split()[1], 16)
    return [name for name, bit in _NEEDED.items() if not held >> bit & 1]
