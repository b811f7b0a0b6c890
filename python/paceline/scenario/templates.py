"""Builds scenarios of the common networks in one call."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from paceline.scenario import DEFAULT_SEED, Scenario, shipped_files

Table = Mapping[str, Any]


def template(name: str) -> Scenario:
    """One of the scenarios that come with the package, as ``paceline init`` writes it.

    Args:
        name: as ``paceline init --list`` says it.

    Raises:
        InputError: there is none of this name.

    Returns:
        The scenario, its comments included.

    Examples:
        >>> pl.template("edge-vs-host")
        Scenario('Edge versus host pacing, 1000 flows', 60 runs)
    """
    text = shipped_files.texts()[shipped_files.one(name)]
    return Scenario(tomllib.loads(text), source=f"{name}.toml", text=text)


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

    Returns:
        The scenario: nothing has run, and nothing is checked yet.

    Examples:
        >>> scenario = pl.dumbbell(
        ...     core={"rate": "10 Mbit/s", "delay": "10 ms", "buffer": "10 KB"},
        ...     access={"hosts": 4, "rate": "20 Mbit/s", "delay": "1 ms .. 5 ms"},
        ...     tcp={"variant": "reno", "profile": "ns2"},
        ...     duration="5 s",
        ...     warmup="1 s",
        ... )
        >>> pl.run(scenario).flows.count
        4
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
    """One host, `links` in a row, another host.

    Args:
        links: tables of ``name``, ``rate``, ``delay``, ``buffer`` (unlimited if left out), from the first host on.
        tcp: settings of one unlimited transfer; not together with `traffic`.
        traffic: the ``[[traffic]]`` tables, for anything else.
        pacing: a method, ``"host"``, or its table.
        duration: simulated time.
        warmup: when statistics start.
        seed: of the first run.
        title: for tables and reports.
        **network: further keys of ``[network]``, as ``reverse`` or ``counts``.

    Returns:
        The scenario: nothing has run, and nothing is checked yet.

    Raises:
        InputError: as `dumbbell`.

    Examples:
        >>> access = {"name": "access", "rate": "100 Mbit/s", "delay": "1 ms"}
        >>> core = {"name": "core", "rate": "10 Mbit/s", "delay": "20 ms", "buffer": "0.25 BDP"}
        >>> pl.path([access, core], tcp={"variant": "cubic"}, duration="20 s").title
        'scenario'
    """
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
