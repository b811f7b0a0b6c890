"""A scenario's TCP in the kernel's words: parameters of a network namespace, metrics of a route, options of a socket.

What the kernel cannot be told becomes a warning, a line that begins with the key's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from paceline.emulate.choices import Choices
from paceline.errors import InputError
from paceline.scenario.resolved_network import Tcp

#: Bytes of a segment's headers without and with timestamps (IP 20, TCP 20, timestamps 12), and of an acknowledgement.
PLAIN_HEADER, TIMESTAMPED_HEADER = 40, 52
#: The kernel's buffers may grow to this, bytes: no window of these networks fills it.
_BUFFER = 64 * 1024 * 1024
#: Ports that connections come from; listeners' are below.
CALLER_PORTS = (40_000, 65_000)
#: The scenario's variant: the kernel's congestion control, whether it has SACK, and what is not the same.
_VARIANTS: dict[str, tuple[str, bool, str]] = {
    "reno": ("reno", False, "without SACK the kernel repairs as NewReno does"),
    "newreno": ("reno", False, ""),
    "rfc6675": ("reno", True, ""),
    "sack1": ("reno", True, "the kernel's recovery is RACK's, not ns-2's Sack1"),
    "fack": ("reno", True, "the kernel's recovery is RACK's, not FACK"),
    "bic": ("bic", True, ""),
    "cubic": ("cubic", True, ""),
    "bbr": ("bbr", True, ""),
}
#: Options that are honoured, if with the limits that are warned of.
_HONOURED = {
    "profile", "variant", "payload", "header", "ack", "syn", "max_window", "initial_window", "initial_ssthresh",
    "delayed_ack", "timestamps", "duplicate_threshold", "min_rto", "max_rto", "idle_restart", "timestamps_end_back_off",
    "sack_header", "gso",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stack:
    """What holds for a network namespace: TCP's parameters, the route's metrics, the device's limits."""

    parameters: tuple[tuple[str, str], ...]
    metrics: tuple[tuple[str, int], ...]
    mtu: int
    segments: int | None


@dataclass(frozen=True, slots=True)
class KernelTcp:
    """A flow's TCP.

    Attributes:
        stack: of its namespaces.
        congestion_control: the kernel's name.
        paced: TCP spaces its packets.
        window_bytes: no more is offered as receiver's window.
        payload_bytes: of a full segment.
        header_bytes: of a segment, and the length of an acknowledgement without SACK blocks.
    """

    stack: Stack
    congestion_control: str
    paced: bool
    window_bytes: int
    payload_bytes: int
    header_bytes: int


def translate(place: str, written: Iterable[str], tcp: Tcp, choices: Choices, warn: Callable[[str], None]) -> KernelTcp:
    """The kernel's form of one traffic's TCP.

    Args:
        place: of its table, for messages.
        written: the options that the scenario gives.
        tcp: as the core understood it.
        choices: the caller's.
        warn: hears of what cannot be honoured.

    Raises `InputError` where the kernel has nothing of the kind.
    """
    control, sack = _congestion_control(place, tcp.variant, choices, warn)
    for key in written:
        if key not in _HONOURED:
            warn(f"{place}.{key}: not honoured, the kernel has its own way")
    header = TIMESTAMPED_HEADER if tcp.timestamps else PLAIN_HEADER
    wanted = tcp.data_bytes - tcp.payload_bytes
    if wanted != header:
        warn(f"{place}.header: the kernel's is {header} B, not {wanted} B")
    if tcp.ack_bytes != header:
        warn(f"{place}.ack: the kernel's is {header} B, not {tcp.ack_bytes} B")
    ratios, segments = _pacing(place, tcp, warn)
    parameters = {
        "ip_local_port_range": f"{CALLER_PORTS[0]} {CALLER_PORTS[1]}",
        "tcp_congestion_control": "reno",  # a socket that begins as bbr stays paced; each flow says its own
        "tcp_no_metrics_save": "1",  # what one connection learned is not for the next
        "tcp_rmem": f"4096 131072 {_BUFFER}",
        "tcp_wmem": f"4096 65536 {_BUFFER}",
        "tcp_timestamps": str(int(tcp.timestamps)),
        "tcp_sack": str(int(sack)),
        "tcp_reordering": str(tcp.duplicate_threshold),
        "tcp_slow_start_after_idle": str(int(tcp.idle_restart != "keep")),
        "tcp_pacing_ss_ratio": str(ratios[0]),
        "tcp_pacing_ca_ratio": str(ratios[1]),
    }
    if tcp.idle_restart not in ("keep", "decay"):
        warn(f'{place}.idle_restart: the kernel knows "keep" and "decay"; it decays')
    if tcp.max_rto_s != 120.0:
        if _has("tcp_rto_max_ms") and 1.0 <= tcp.max_rto_s <= 120.0:
            parameters["tcp_rto_max_ms"] = str(round(tcp.max_rto_s * 1e3))
        else:
            warn(f"{place}.max_rto: the kernel's is 120 s")
    if tcp.initial_rto_s != 1.0:
        warn(f"{place}.initial_rto: the kernel's is 1 s, not {tcp.initial_rto_s:g} s")
    metrics = {
        "initcwnd": tcp.initial_window,
        "rto_min": round(tcp.min_rto_s * 1e3),
    }
    if tcp.delayed_ack_s == 0.0:
        metrics["quickack"] = 1
    elif tcp.delayed_ack_s != 0.04:
        warn(f"{place}.delayed_ack: the kernel's is 40 ms at first, and adapts")
    if tcp.initial_ssthresh < tcp.max_window:
        metrics |= {"ssthresh": tcp.initial_ssthresh, "lock": 1 << 6}  # RTAX_SSTHRESH
    stack = Stack(tuple(parameters.items()), tuple(metrics.items()), tcp.payload_bytes + header, segments)
    window = tcp.max_window * tcp.payload_bytes
    return KernelTcp(stack, control, tcp.rule is not None, window, tcp.payload_bytes, header)


def _congestion_control(place: str, variant: str, choices: Choices, warn: Callable[[str], None]) -> tuple[str, bool]:
    if variant not in _VARIANTS:
        raise InputError(f'{place}.variant: the kernel has no "{variant}"; write "newreno", "sack", "cubic" or "bbr"')
    control, sack, difference = _VARIANTS[variant]
    if choices.congestion_control:
        control = choices.congestion_control
    elif difference:
        warn(f"{place}.variant: {difference}")
    if control not in (known := available()):
        where = "--congestion-control" if choices.congestion_control else f"{place}.variant"
        load = f"load tcp_{control}, if there is such a module, or choose {', '.join(known)}"
        raise InputError(f'{where}: the kernel has no "{control}"; {load}')
    return control, sack


def _pacing(place: str, tcp: Tcp, warn: Callable[[str], None]) -> tuple[tuple[int, int], int | None]:
    """Ratios in slow start and after, percent, and how many segments TCP may hand over at once."""
    if tcp.variant == "bbr":
        return (200, 120), tcp.gso_packets  # it has a rate of its own, and trains as the kernel sizes them
    if tcp.rule is None:
        return (200, 120), tcp.gso_packets or 1
    if tcp.jitter:
        warn("pacing.jitter: not honoured, the kernel's gaps have none")
    slow_start, after = {"linux": (200, 120), "wei": (200, 100), "ideal": (100, 100), "prague": (200, 100)}[tcp.rule]
    if tcp.rule == "wei":
        warn(f"{place}: Wei's pacing rule is approached by the kernel's: 200 % of the rate in slow start, 100 % after")
    if tcp.rule == "prague":
        warn("pacing.rule: of Prague's the kernel has the rate; its bursts of 0.25 ms are single packets")
    ratios = (round(slow_start * tcp.gain), round(after * tcp.gain))
    if not all(1 <= ratio <= 1000 for ratio in ratios):
        raise InputError(
            f"pacing.gain: {tcp.gain:g} is beyond the kernel's, whose ratios go to 1000 %; write 5 or less"
        )
    # Linux lets about 1 ms of packets go at once; the other rules space each.
    return ratios, tcp.gso_packets or (None if tcp.rule == "linux" else 1)


def available() -> list[str]:
    """The congestion controls that the kernel has now."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def _has(parameter: str) -> bool:
    return (Path("/proc/sys/net/ipv4") / parameter).exists()
