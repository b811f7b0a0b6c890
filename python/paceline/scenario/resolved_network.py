"""A scenario resolved for one seed by the core: links, flows and pacers with numbers in base units."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paceline import _core
from paceline.scenario.distributions import Bursts, Dialogue, Replay
from paceline.scenario.link_parts import Jitter, Memory, Policer

_NS = 1e-9


@dataclass(frozen=True, slots=True)
class Buffer:
    """What may wait before a wire; no limit where both limits are ``None``.

    Attributes:
        bytes: limit in bytes.
        packets: limit in packets.
        counts: what the limit counts: ``waiting``, ``waiting+service`` or ``ns2``.
        discipline: of the queue, by its name: ``drop-tail``, ``codel``.
        ties: who goes first where a packet arrives as another leaves: ``random``, ``departure``, ``arrival``, ``ns2``.
        signals_early: it marks packets, or drops them before its limit is reached.
        has_classes: it tells packets by their classes.
        memory: that it shares with other links; without a limit of its own its limit is what it holds where it alone
            is congested.
    """

    bytes: int | None
    packets: int | None
    counts: str
    discipline: str
    ties: str = "departure"
    signals_early: bool = False
    has_classes: bool = False
    memory: Memory | None = None

    @property
    def limited(self) -> bool:
        return self.bytes is not None or self.packets is not None

    def places(self, packet_bytes: int) -> int | None:
        """How many packets of this size can wait at once, beside the one on the wire; ``None`` is no limit.

        By `waiting`, k packets fit where k L is at most the limit; by `waiting+service`, (k + 1) L; ns-2 refuses what
        makes the queue reach the limit, so k L stays below it.
        """
        if self.packets is not None:
            return max(0, self.packets - (self.counts != "waiting"))
        if self.bytes is None:
            return None
        if self.counts == "ns2":
            return max(0, -(-self.bytes // packet_bytes) - 1)
        return max(0, self.bytes // packet_bytes - (self.counts == "waiting+service"))


@dataclass(frozen=True, slots=True)
class Pacer:
    """A pacer before a link's buffer.

    Attributes:
        method: its name in a scenario.
        parameters: those in effect, by name, as text.
        bytes: what it may hold; ``None`` is no limit.
        packets: the same in packets.
        rate_bps: in the long run no more leaves; ``None`` where that depends on what arrives.
        burst_bytes: what may leave at once beside that.
        delay_ns: of `edge`, the bound of its delay.
        mu_min_bps: of `qlbp`, its rate at an empty queue.
        mu_max_bps: of `qlbp`, its rate at a queue of `q_max`.
        q_max_bytes: of `qlbp`, where its queue is counted in bytes.
        q_max_packets: of `qlbp`, where it is counted in packets.
    """

    method: str
    parameters: Mapping[str, str]
    bytes: int | None
    packets: int | None
    rate_bps: float | None
    burst_bytes: int | None
    delay_ns: int | None
    mu_min_bps: int | None
    mu_max_bps: int | None
    q_max_bytes: int | None
    q_max_packets: int | None

    @property
    def limited(self) -> bool:
        return self.bytes is not None or self.packets is not None

    def delay_s(self, packet_bytes: int) -> float | None:
        """The longest that it holds a packet of a steady source, seconds; ``None`` without such a bound."""
        if self.delay_ns is not None:
            return self.delay_ns * _NS
        if self.mu_max_bps is None:
            return None
        held = self.q_max_packets * packet_bytes if self.q_max_packets is not None else self.q_max_bytes or 0
        return held * 8 / self.mu_max_bps

    def in_words(self) -> str:
        """As one would write it: ``edge 10 ms``."""
        if self.method == "edge":
            finish = self.parameters["release"] == "finish"
            return f"edge {self.parameters['delay']}" + ", release at the finish" * finish
        return " ".join([self.method, *(f"{key} {value}" for key, value in self.parameters.items())])


@dataclass(frozen=True, slots=True)
class Plan:
    """A link's table in the file, one direction of it.

    Attributes:
        name: of the kind of cable: ``access.l``.
        path: where the table stands: ``network.access``.
        buffer_key: the key of this direction's buffer in it.
        buffer: as written; ``None`` is no limit.
        rate_bps: both ends of the range.
        delay_s: both ends of the range.
    """

    name: str
    path: str
    buffer_key: str
    buffer: str | None
    rate_bps: tuple[float, float]
    delay_s: tuple[float, float]

    @property
    def buffer_path(self) -> str:
        return f"{self.path}.{self.buffer_key}"


@dataclass(frozen=True, slots=True)
class Link:
    """A link in one direction: policer, pacer, buffer, wire, propagation.

    A rate that varies, by ``steps``, ``markov`` or ``trace``, is its mean here.
    """

    name: str
    plan: int
    rate_bps: float
    delay_s: float
    buffer: Buffer
    pacer: Pacer | None
    policer: Policer | None
    jitter: Jitter | None
    varying: str | None
    reported: bool

    @property
    def mean_delay_s(self) -> float:
        """Propagation, and the mean of its jitter."""
        return self.delay_s + (self.jitter.mean_s if self.jitter else 0.0)

    @property
    def reorders(self) -> bool:
        return self.jitter is not None and self.jitter.reorder

    @property
    def is_pacer_limited(self) -> bool:
        """Its pacer passes less than its wire does."""
        return self.pacer is not None and self.pacer.rate_bps is not None and self.pacer.rate_bps < self.rate_bps

    @property
    def is_policed(self) -> bool:
        """Its policer drops before what is behind it is full."""
        return self.policer is not None and self.policer.rate_bps < self._behind_bps

    @property
    def capacity_bps(self) -> float:
        """What it passes in the long run: its rate, or its pacer's or its policer's where that is less."""
        return min(self._behind_bps, self.policer.rate_bps if self.policer else self._behind_bps)

    @property
    def _behind_bps(self) -> float:
        return self.pacer.rate_bps if self.is_pacer_limited and self.pacer and self.pacer.rate_bps else self.rate_bps

    def places(self, packet_bytes: int) -> int | None:
        """How many packets of this size fit at once, beside the one on the wire; of a policed link, into the bucket."""
        if self.is_policed and self.policer:
            return max(0, self.policer.burst_bytes // packet_bytes - 1)
        return self.buffer.places(packet_bytes)


@dataclass(frozen=True, slots=True)
class Lost:
    """A loss that is forced on a link, on one flow or all: by `probability`, or so many `packets` of each flow."""

    link: int
    flow: int | None
    probability: float
    packets: int


@dataclass(frozen=True, slots=True)
class Tcp:
    """Settings of a TCP connection; windows in packets, `rule` is host pacing's or ``None``."""

    variant: str
    data_bytes: int
    payload_bytes: int
    ack_bytes: int
    syn_bytes: int | None
    delayed_ack_s: float
    ack_every: int
    quick_acks: bool
    gso_packets: int | None
    tsq_bytes: int | None
    gro_s: float
    max_window: int
    initial_window: int
    initial_ssthresh: int
    limited_transmit: bool
    min_rto_s: float
    initial_rto_s: float
    max_rto_s: float
    hystart: bool
    idle_restart: str
    timestamps: bool
    duplicate_threshold: int
    draws_phase: bool
    rule: str | None
    gain: float
    jitter: float

    @property
    def acks_a_packet(self) -> float:
        """Acknowledgements for each data packet of a long transfer."""
        return 1 / self.ack_every if self.delayed_ack_s else 1.0


@dataclass(frozen=True, slots=True)
class Traffic:
    """A ``[[traffic]]`` table: where it stands, its name, the profile of its TCP, both ends of the range of starts."""

    path: str
    name: str
    profile: str
    start_s: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow and its links there and back. `rate_bps` is set for one without feedback, `tcp` for one with."""

    name: str
    traffic: int
    source: int
    sink: int
    forward: tuple[int, ...]
    reverse: tuple[int, ...]
    start_s: float
    packet_bytes: int
    paced: bool
    port_paced: bool
    tcp: Tcp | None
    packets: int | None
    rate_bps: float | None
    stop_s: float
    bursts: Bursts | None
    replay: Replay | None
    dialogue: Dialogue | None


@dataclass(frozen=True, slots=True)
class Probe:
    """What is recorded or measured on a link, or of flows that can be named; `kind` is its key in ``[probes]``."""

    kind: str
    link: int | None
    flows: tuple[int, ...]
    every_ns: int | None
    from_ns: int
    to_ns: int


@dataclass(frozen=True, slots=True)
class Deployed:
    """A pacing method at work: on `chosen` (hosts or links) of so many `candidates`."""

    path: str
    method: str
    words: str
    on_hosts: bool
    share: float
    candidates: int
    chosen: tuple[int, ...]
    acks: bool


@dataclass(frozen=True, slots=True)
class Network:
    """All of it. Identifiers are positions in these lists."""

    template: str
    duration_s: float
    warmup_s: float
    core: int
    hosts: list[str]
    plans: list[Plan]
    links: list[Link]
    traffics: list[Traffic]
    flows: list[Flow]
    pacings: list[Deployed]
    drops: list[Lost]
    probes: list[Probe]

    @classmethod
    def resolve(cls, scenario_json: str, seed: int) -> Network:
        """What one run is about. Raises `paceline._core.InputError`."""
        seen: dict[str, Any] = json.loads(_core.inspect(scenario_json, seed))
        buffers: dict[tuple[Any, ...], Buffer] = {}
        pacers: dict[tuple[Any, ...], Pacer] = {}
        tcps = [Tcp(**tcp) for tcp in seen["tcps"]]
        return cls(
            template=seen["template"],
            duration_s=seen["duration_s"],
            warmup_s=seen["warmup_s"],
            core=seen["core"],
            hosts=seen["hosts"],
            plans=[_plan(plan) for plan in seen["plans"]],
            links=[_link(link, buffers, pacers) for link in seen["links"]],
            traffics=[
                Traffic(one["path"], one["name"], one["profile"], (one["start_ns"][0] * _NS, one["start_ns"][1] * _NS))
                for one in seen["traffics"]
            ],
            flows=[_flow(flow, tcps) for flow in seen["flows"]],
            pacings=[Deployed(**one | {"chosen": tuple(one["chosen"])}) for one in seen["pacings"]],
            drops=[Lost(**one) for one in seen["drops"]],
            probes=[Probe(**one | {"flows": tuple(one["flows"])}) for one in seen["probes"]],
        )


def _plan(plan: dict[str, Any]) -> Plan:
    low, high = plan.pop("delay_ns")
    return Plan(**plan | {"rate_bps": tuple(plan["rate_bps"]), "delay_s": (low * _NS, high * _NS)})


def _link(link: dict[str, Any], buffers: dict[tuple[Any, ...], Buffer], pacers: dict[tuple[Any, ...], Pacer]) -> Link:
    own = link["buffer"]
    memory = Memory(**own["memory"]) if own["memory"] else None
    buffer = tuple((own | {"memory": memory}).values())
    if buffer not in buffers:
        buffers[buffer] = Buffer(**own | {"memory": memory})
    pacer = None
    if link["pacer"]:
        key = tuple(link["pacer"].values())
        if key not in pacers:
            pairs = (part.split(" = ", 1) for part in link["pacer"]["parameters"].split(", ") if part)
            pacers[key] = Pacer(**link["pacer"] | {"parameters": dict(pairs)})
        pacer = pacers[key]
    return Link(
        name=link["name"],
        plan=link["plan"],
        rate_bps=link["rate_bps"],
        delay_s=link["delay_ns"] * _NS,
        buffer=buffers[buffer],
        pacer=pacer,
        policer=Policer(**link["policer"]) if link["policer"] else None,
        jitter=_jitter(link["jitter"]) if link["jitter"] else None,
        varying=link["varying"],
        reported=link["reported"],
    )


def _jitter(jitter: dict[str, Any]) -> Jitter:
    return Jitter(jitter["mean_ns"] * _NS, jitter["spread_ns"] * _NS, jitter["shape"], jitter["reorder"])


def _flow(flow: dict[str, Any], tcps: list[Tcp]) -> Flow:
    return Flow(
        name=flow["name"],
        traffic=flow["traffic"],
        source=flow["source"],
        sink=flow["sink"],
        forward=tuple(flow["forward"]),
        reverse=tuple(flow["reverse"]),
        start_s=flow["start_ns"] * _NS,
        packet_bytes=flow["packet_bytes"],
        paced=flow["paced"],
        port_paced=flow["port_paced"],
        tcp=None if flow["tcp"] is None else tcps[flow["tcp"]],
        packets=flow["packets"],
        rate_bps=flow["rate_bps"],
        stop_s=math.inf if flow["stop_ns"] is None else flow["stop_ns"] * _NS,
        bursts=Bursts.of(flow["bursts"]),
        replay=Replay.of(flow["replay"]),
        dialogue=Dialogue.of(flow["speech"]),
    )
