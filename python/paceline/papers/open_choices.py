"""What claims beside the five papers, and findings, leave open, and `deciding` makes otherwise, one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from paceline.papers.aggarwal import told
from paceline.papers.deciding import Experiment
from paceline.papers.findings import inflection, same_instant
from paceline.papers.free_choices import CHOICES, Choice, access, judged, links, paths, tcp
from paceline.papers.spang import one_flow
from paceline.papers.spang.network import BUFFER
from paceline.papers.today import network as today

_Document = dict[str, Any]


def _swept(key: str, values: Sequence[Any]) -> Choice:
    """Runs these values alone of what is swept."""

    def change(document: _Document) -> None:
        if key in document.get("sweep", {}):
            document["sweep"][key] = list(values)

    return Choice(f"{key} of {len(values)}", change)


def _also(*choices: Choice) -> Choice:
    """One after another."""

    def change(document: _Document) -> None:
        for one in choices:
            one.change(document)

    return Choice(", ".join(one.name for one in choices), change)


def _of(title: str, choice: Choice) -> Choice:
    """The choice in scenarios of this title alone."""

    def change(document: _Document) -> None:
        if document["title"] == title:
            choice.change(document)

    return Choice(choice.name, change)


def _is_main(sweep: str) -> bool:
    """Not an experiment of the claim's own."""
    return not sweep.startswith("why-")


def _thumb(name: str, **keys: Any) -> Choice:
    """Other parameters of the rule of thumb that is judged."""

    def change(document: _Document) -> None:
        if document["pacing"] == {"method": "qlbp", "load": 0.25, "max_delay": "10 ms", "at": "edge-*"}:
            document["pacing"] |= keys

    return Choice(name, change)


def _bounded(window: str) -> Choice:
    """Another window of the flows that are small beside one large."""

    def change(document: _Document) -> None:
        for traffic in document["traffic"]:
            if traffic["name"] in ("small", "beside"):
                traffic["tcp"]["max_window"] = window

    return Choice(f"windows of {window.split()[0]} beside the large one", change)


def _marks(name: str, share: float) -> Choice:
    """Marks above another share of BDP / √n."""

    def change(document: _Document) -> None:
        queue = document["network"]["core"].get("queue")
        if isinstance(queue, dict):
            packets = max(round(share * int(queue["thresh"].split()[0])), 1)
            queue |= {"thresh": f"{packets} packets", "maxthresh": f"{packets + 1} packets"}

    return Choice(name, change)


def _rule(document: _Document) -> None:
    """Hosts pace by Linux's rule."""
    for method in document["sweep"]["pacing"]:
        if method["method"] == "host":
            method["rule"] = "linux"


def _codel(document: _Document) -> None:
    """The queue that marks is CoDel's."""
    if "queue" in document["network"]["core"]:
        document["network"]["core"]["queue"] = {"discipline": "codel"}


#: Of what is marked in the queue, so much beyond a threshold (today).
_STEP = today.STEP | {"thresh": "3 packets", "maxthresh": "4 packets"}
_TODAY = (
    paths("40 s", {"duration": "40 s", "warmup": "20 s"}),
    paths("round trips of 64 to 76 ms", {"network.core.delay": "30 ms"}),
    paths("five flows", {"network.access.per_edge": 1}),
    tcp("CUBIC", variant="cubic"),
    paths("marks above 3 packets", {"network.core.queue": _STEP}),
)
_SHORT_TODAY = _swept(today.BUFFER, [today.label(size) for size in (10, 20, 500)])
_ONE_FLOW = ("0.1", "0.25", "0.3", "0.35", "0.4", "0.45", "0.8", "0.9", "1", "1.1", "2")
_SAME = "Who goes first of an arrival and a departure"

EXPERIMENTS: Sequence[Experiment] = (
    Experiment(
        "aggarwal-short",
        (
            tcp("NewReno", variant="newreno"),
            tcp("SACK", variant="sack1"),
            tcp("first window 4", initial_window="4 packets"),
            tcp("first window 10", initial_window="10 packets"),
            tcp("delayed acknowledgements", delayed_ack="100 ms"),
            paths("a buffer of a BDP", {"network.core.buffer": "1250 packets"}),
            paths("a buffer of 31", {"network.core.buffer": "31 packets"}),
            paths("10 users", {"network.access.hosts": 10}),
            paths("round trips of 20 ms", {"network.core.delay": "5 ms", "network.access.delay": "2.5 ms"}),
            paths("connections kept", {"traffic.users.connection": "kept"}),
            Choice("Linux's rule", _rule, partial(told.check_short, paced="host linux")),
        ),
        quick=False,
    ),
    *(
        Experiment(
            f"today-{variant}",
            _TODAY,
            quick=False,
            short=_SHORT_TODAY,
            keeps=lambda name: name == "packets",
        )
        for variant in today.MARKED
    ),
    Experiment(
        "spang-exceptions",
        (
            _bounded("2 packets"),
            _bounded("20 packets"),
            _marks("marks above half of it", 0.5),
            _marks("marks above a quarter", 0.25),
            Choice("CoDel marks", _codel),
            paths("round trips of 82 to 118 ms", {"network.access.delay": "1 ms .. 10 ms"}),
            paths("hosts pace", {"pacing": {"method": "host"}}),
            paths("60 s", {"duration": "60 s", "warmup": "24 s"}),
        ),
        quick=False,
        keeps=lambda name: name.split("-")[1] in ("25", "100", "400"),
    ),
    Experiment(
        "spang-one-flow",
        (
            judged("99.99 % is full", partial(one_flow.check, full=0.9999)),
            judged("99.5 % is full", partial(one_flow.check, full=0.995)),
            paths("100 Mbit/s", {"network.core.rate": "100 Mbit/s"}),
            paths("round trips of 14 to 22 ms", {"network.core.delay": "5 ms"}),
            tcp("acknowledges at once", delayed_ack=False),
            paths("hosts pace", {"pacing": {"method": "host"}}),
        ),
        quick=False,
        short=_also(
            paths("90 s", {"duration": "90 s", "warmup": "30 s"}),
            _swept(BUFFER, [f"{part} BDP" for part in _ONE_FLOW]),
        ),
    ),
    Experiment(
        "finding-inflection",
        (
            judged("any lead", partial(inflection.check, least=0.0)),
            judged("a lead of 5 % at least", partial(inflection.check, least=0.05)),
        ),
    ),
    Experiment(
        "finding-rule-of-thumb",
        (
            _thumb("bound of 20 ms", max_delay="20 ms"),
            _thumb("bound of 40 ms", max_delay="40 ms"),
            _thumb("load of 0.15", load=0.15),
            _thumb("load of 0.5", load=0.5),
            tcp("SACK", variant="sack1"),
            links("receivers at 1 to 3 ms", "receiver-", delay="1 ms .. 3 ms"),
        ),
    ),
    Experiment(
        "finding-same-instant",
        tuple(
            _of(_SAME, one)
            for one in (
                paths("flows start together", {"traffic.bulk.start": "0 s"}),
                paths("a buffer of 10", {"network.core.buffer": "10 packets"}),
                paths("round trips of 60 to 64 ms", {"network.access.delay": "5 ms .. 6 ms"}),
                tcp("SACK", variant="sack1"),
                tcp("windows to 20", max_window="20 packets"),
                tcp("delayed acknowledgements", delayed_ack="100 ms"),
            )
        ),
        short=_swept("network.access.hosts", same_instant.FLOWS[:3]),
    ),
)
#: Of the data-centre paper, claims on orders, which have no place in its table of printed numbers.
EXPERIMENTS = (
    *EXPERIMENTS,
    Experiment("dc-timeouts", CHOICES["datacentre"]),
    # NewReno is one of its set-ups, and Linux of today an experiment of its own
    Experiment(
        "dc-setups",
        (
            access("hosts in step", rate="1 Gbit/s"),
            tcp("windows to 10,000", max_window="10000 packets"),
            tcp("first window 3", initial_window="3 packets"),
        ),
        short=paths("8 s", {"duration": "8 s", "warmup": "3 s"}),
        keeps=_is_main,
    ),
)
BY_CLAIM: Mapping[str, Experiment] = {one.claim: one for one in EXPERIMENTS}
