"""Builds scenarios of the common networks in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paceline.scenario import DEFAULT_SEED, Scenario

Table = Mapping[str, Any]


def dumbbell(
    *,
    core: Table,
    access: Table | Sequence[Table],
    edge: Table | None = None,
    tcp: Table | None = None,
    traffic: Sequence[Table] | None = None,
    pacing: str | Table = "none",
    duration: str = "60 s",
    warmup: str = "10 s",
    seed: int = DEFAULT_SEED,
    title: str | None = None,
    **network: Any,
) -> Scenario:
    """Hosts left and right of one core link, with edge links between where `edge` is given.

    Quantities are text with units (``"100 Mbit/s"``, ``"10 ms"``, ``"5 KB"``), as in a scenario file, and may be
    ranges (``"5 ms .. 15 ms"``), drawn once a link.

    Args:
        core: ``rate``, ``delay``, ``buffer`` (unlimited if left out).
        access: ``rate``, ``delay``, and ``hosts``, or ``per_edge`` where there are edges; or several such groups.
        edge: ``count``, ``rate``, ``delay``.
        tcp: settings of one unlimited transfer a pair of hosts; not together with `traffic`.
        traffic: the ``[[traffic]]`` tables, for anything else.
        pacing: a method, ``"edge 10 ms"``, or its table: ``{"method": "edge", "delay": "10 ms"}``.
        duration: simulated time.
        warmup: when statistics start.
        seed: of the first run.
        title: for tables and reports.
        **network: further keys of ``[network]``, as ``receivers`` or ``counts``.

    Raises:
        InputError: where a value is not one that a scenario can hold. What the network has to say against it comes
            when it is checked or run.
    """
    links: dict[str, Any] = {"template": "dumbbell", "core": core, "access": access}
    if edge is not None:
        links["edge"] = edge
    return _scenario(links | network, tcp, traffic, pacing, duration, warmup, seed, title)


def path(
    links: Sequence[Table],
    *,
    tcp: Table | None = None,
    traffic: Sequence[Table] | None = None,
    pacing: str | Table = "none",
    duration: str = "60 s",
    warmup: str = "10 s",
    seed: int = DEFAULT_SEED,
    title: str | None = None,
    **network: Any,
) -> Scenario:
    """One host, `links` in a row (``name``, ``rate``, ``delay``, ``buffer``), another host; the rest as `dumbbell`."""
    return _scenario(
        {"template": "path", "links": links} | network, tcp, traffic, pacing, duration, warmup, seed, title
    )


def _scenario(
    network: Table,
    tcp: Table | None,
    traffic: Sequence[Table] | None,
    pacing: str | Table,
    duration: str,
    warmup: str,
    seed: int,
    title: str | None,
) -> Scenario:
    if tcp is not None and traffic is not None:
        raise TypeError("give tcp or traffic, not both: each traffic table has its own tcp")
    bulk: dict[str, Any] = {"name": "bulk", "kind": "bulk"}
    if tcp is not None:
        bulk["tcp"] = tcp
    document: dict[str, Any] = {} if title is None else {"title": title}
    document |= {"duration": duration, "warmup": warmup, "seed": seed, "network": network}
    document["traffic"] = [bulk] if traffic is None else traffic
    document["pacing"] = pacing
    return Scenario(document)
