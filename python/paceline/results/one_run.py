"""One run, and its numbers by their paths."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from paceline.results.numbers import Engine, FlowStats, LinkStats

if TYPE_CHECKING:
    import pyarrow

    from paceline._core import Columns

_T = TypeVar("_T")
#: Of names that are not close to a wrong one, so many are said.
_MOST_SAID = 12


class _Named(dict[str, _T]):
    """By name, where a wrong name says which there are."""

    __slots__ = ()

    def __missing__(self, key: str) -> NoReturn:
        raise KeyError(unknown(str(key), "name", list(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One run.

    Attributes:
        settings: what was swept, by path, as labels.
        seed: of this run.
        window_s: start and end of the statistics, simulated seconds.
        links: by name; large networks leave their access links out.
        flows: all flows.
        groups: ``paced`` and ``unpaced``, where a share of the flows is paced.
        engine: time spent, and on what.
        core: name of the link that the network is about, or ``None`` where that is not known.
        per_flow: columns with a row a flow, or ``None`` where they were not kept.
        series: columns ``link``, ``kind``, ``time_ns``, ``flow``, ``bytes``, or ``None``.
        instruments: what the scenario's instruments found, a row a point of a curve (see `instrument`), or ``None``.

    Examples:
        >>> result = pl.run(pl.Scenario.load("scenarios/one-flow.toml").set("pacing", "none"))
        >>> result.window_s, list(result.links)
        ((5.0, 30.0), ['access', 'bottleneck', 'access.reverse', 'bottleneck.reverse'])
        >>> {name: len(column) for name, column in result.per_flow.items()}["goodput_bps"]
        1
    """

    settings: Mapping[str, str]
    seed: int
    window_s: tuple[float, float]
    links: Mapping[str, LinkStats]
    flows: FlowStats
    groups: Mapping[str, FlowStats]
    engine: Engine
    core: str | None = None
    per_flow: Columns | None = field(default=None, repr=False)
    series: Columns | None = field(default=None, repr=False)
    instruments: Columns | None = field(default=None, repr=False)
    _dict: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_dict(
        cls,
        run: Mapping[str, Any],
        per_flow: Columns | None = None,
        series: Columns | None = None,
        core: str | None = None,
        instruments: Columns | None = None,
    ) -> Self:
        """From one object of the JSON contract.

        Args:
            run: as `to_dict` has it.
            per_flow: columns with a row a flow.
            series: columns of what was sampled over time.
            core: name of the link that the network is about.
            instruments: columns with a row a point of a curve.

        Examples:
            >>> result = pl.run(pl.Scenario.load("scenarios/one-flow.toml").set("pacing", "none"))
            >>> pl.Result.from_dict(result.to_dict()).flows == result.flows
            True
        """
        return cls(
            settings=_Named(run["settings"]),
            seed=run["seed"],
            window_s=(run["window_s"][0], run["window_s"][1]),
            links=_Named({name: LinkStats.from_dict(link) for name, link in run["links"].items()}),
            flows=FlowStats.from_dict(run["flows"]),
            groups=_Named({name: FlowStats.from_dict(group) for name, group in (run.get("groups") or {}).items()}),
            engine=Engine.from_dict(run["engine"]),
            core=core,
            per_flow=per_flow,
            series=series,
            instruments=instruments,
            _dict=run,
        )

    def number(self, path: str) -> float | None:
        """One number by its path; ``None`` where the run has none.

        Args:
            path: as ``links.core.throughput_bps`` or ``flows.jain``.

        Raises:
            KeyError: the contract has no such number.

        Examples:
            >>> pl.run(pl.Scenario.load("scenarios/one-flow.toml").set("pacing", "none")).number("flows.jain")
            1.0
        """
        return number(self._dict, path)

    def to_dict(self) -> dict[str, Any]:
        """The object of the JSON contract, as `paceline run --json` prints it.

        Examples:
            >>> list(pl.run(pl.Scenario.load("scenarios/one-flow.toml").set("pacing", "none")).to_dict())
            ['settings', 'seed', 'window_s', 'links', 'flows', 'groups', 'engine']
        """
        copied: dict[str, Any] = json.loads(json.dumps(self._dict))
        return copied

    def instrument(self, name: str) -> pyarrow.Table:
        """What one instrument found: ``link``, ``flow``, ``next``, ``x``, ``y``, ``count``, ``x_unit``, ``y_unit``.

        Names are ``cwnd``, ``ssthresh``, ``srtt``, ``rate_variation``, ``auto_covariance``, ``succession``,
        ``burst_size``, ``drop_event_flows``, ``drop_event_packets``, ``drops``, ``delay``, ``arrival_delay``,
        ``sojourn``, ``fct``, ``jain``, ``carried`` and ``delivered``.

        Args:
            name: of an instrument that the scenario's ``[probes]`` switch on.

        Returns:
            A row a point of a curve; ``x_unit`` and ``y_unit`` say in which units.

        Raises:
            KeyError: the run has none of that name; the message has those that it has.

        Examples:
            >>> scenario = pl.Scenario.load("scenarios/one-flow.toml").set("pacing", "none")
            >>> result = pl.run(scenario.set("probes", {"window": {"flows": [0]}}))
            >>> result.instrument("cwnd").column_names
            ['link', 'flow', 'next', 'x', 'y', 'count', 'x_unit', 'y_unit']
        """
        from paceline.results.instruments import of_run

        return of_run(self, name)

    def _repr_html_(self) -> str:
        from paceline.results.results import Results

        return Results([self])._repr_html_()


def number(run: Mapping[str, Any], path: str) -> float | None:
    """One number of a run by its path; link names may hold dots. Raises `KeyError`, which says what there is."""
    if not isinstance(path, str):
        raise KeyError(f"{path!r} is no number's path; write one, as flows.jain")
    head, _, rest = path.partition(".")
    try:
        if head in ("links", "groups"):
            name, _, key = rest.rpartition(".")
            entry = run[head].get(name)
            if entry is None and not any(key in other for other in run[head].values()):
                raise KeyError(path)
            value = None if entry is None else entry[key]
        else:
            value = run[head][rest] if rest else run[head]
        return value if value is None else float(value)
    except (KeyError, TypeError, ValueError):
        raise KeyError(unknown(path, "number of a run", numbers_of(run))) from None


def numbers_of(run: Mapping[str, Any]) -> list[str]:
    """The paths of everything in a run that is a number."""
    from paceline.results.tables import flatten

    return [path for path, value in flatten(run).items() if not isinstance(value, str) and path[:9] != "settings."]


def unknown(key: str, what: str, there: Sequence[str]) -> str:
    """``flows.jian: no such number of a run; did you mean flows.jain?``, or what there is."""
    near = [name for name in there if key.lower() in name] or difflib.get_close_matches(key, there, n=1, cutoff=0.75)
    if near:
        return f"{key}: no such {what}; did you mean {' or '.join(near[:3])}?"
    some = ", ".join(there[:_MOST_SAID]) + (f" and {len(there) - _MOST_SAID} more" if len(there) > _MOST_SAID else "")
    return f"{key}: no such {what}; there is {some or 'none'}"
