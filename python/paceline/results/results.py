"""Results: one run, and the runs of a sweep."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from paceline._statistics import Interval, interval
from paceline.errors import InputError
from paceline.results import repeated_runs, ties
from paceline.results.numbers import Engine, FlowStats, LinkStats

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from paceline._core import Columns


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
            settings=run["settings"],
            seed=run["seed"],
            window_s=(run["window_s"][0], run["window_s"][1]),
            links={name: LinkStats.from_dict(link) for name, link in run["links"].items()},
            flows=FlowStats.from_dict(run["flows"]),
            groups={name: FlowStats.from_dict(group) for name, group in (run.get("groups") or {}).items()},
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
        ``burst_size``, ``drop_event_flows``, ``drop_event_packets``, ``delay``, ``sojourn``, ``fct``, ``jain``,
        ``carried`` and ``delivered``.

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
        return Results([self])._repr_html_()


class Results(Sequence[Result]):
    """The runs of a sweep, in its order: every combination of settings, seeds innermost.

    Examples:
        >>> results = pl.sweep("scenarios/one-flow.toml", seeds=2)
        >>> len(results), results[0].seed, results.bottleneck
        (4, 1, 'bottleneck')
    """

    __slots__ = ("_runs",)

    def __init__(self, runs: Sequence[Result]) -> None:
        self._runs = list(runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._runs)

    def __getitem__(self, index: Any) -> Any:
        picked = self._runs[index]
        return Results(picked) if isinstance(picked, list) else picked

    def where(self, settings: Mapping[str, str]) -> Results:
        """The runs under these settings.

        Args:
            settings: labels by path, as in ``Result.settings``.

        Examples:
            >>> len(pl.sweep("scenarios/one-flow.toml", seeds=2).where({"pacing": "host"}))
            2
        """
        return Results([run for run in self if settings.items() <= run.settings.items()])

    def by_settings(self) -> list[tuple[Mapping[str, str], Results]]:
        """The runs of each combination of settings, which differ by seed.

        Examples:
            >>> [(settings, len(runs)) for settings, runs in pl.sweep("scenarios/one-flow.toml", seeds=2).by_settings()]
            [({'pacing': 'none'}, 2), ({'pacing': 'host'}, 2)]
        """
        groups: dict[tuple[tuple[str, str], ...], list[Result]] = {}
        for run in self:
            groups.setdefault(tuple(run.settings.items()), []).append(run)
        return [(dict(key), Results(runs)) for key, runs in groups.items()]

    def interval(self, path: str) -> Interval | None:
        """Mean and 95 % interval of a number over the seeds of one setting.

        Args:
            path: of the number, as ``flows.jain``.

        Returns:
            ``None`` where no run has it; without an interval where all seeds gave the same run (see `repeats`).

        Raises:
            KeyError: the contract has no such number.
            InputError: these are runs of several settings.

        Examples:
            >>> scenario = pl.dumbbell(
            ...     core={"rate": "10 Mbit/s", "delay": "10 ms", "buffer": "10 KB"},
            ...     access={"hosts": 4, "rate": "20 Mbit/s", "delay": "1 ms .. 5 ms"},
            ...     duration="5 s",
            ...     warmup="1 s",
            ... )
            >>> pl.sweep(scenario, seeds=3).interval("links.core.utilisation").count
            3
        """
        found = interval(number(run._dict, path) for run in self)
        self._refuse_to_pool()
        return Interval(found.mean, None, 1) if found and self.repeats else found

    def _refuse_to_pool(self) -> None:
        """A mean over settings is the mean of nothing, and its interval tells of the sweep, not of chance."""
        settings = [settings for settings, _ in self.by_settings()]
        if len(settings) < 2:
            return
        varied = {path: None for one in settings for path in one if any(o.get(path) != one[path] for o in settings)}
        chosen = ", ".join(f"{json.dumps(p)}: {json.dumps(settings[0].get(p), ensure_ascii=False)}" for p in varied)
        raise InputError(
            f"interval: these runs are of {len(settings)} settings, which differ in {' and '.join(varied)}; "
            f"select one, as results.where({{{chosen}}}), or go through results.by_settings()"
        )

    @property
    def repeats(self) -> bool:
        """Whether these runs of several seeds are one run again and again: all alike in every number.

        Examples:
            >>> pl.sweep(pl.Scenario.load("scenarios/one-flow.toml").set("pacing", "none"), seeds=2).repeats
            True
        """
        return repeated_runs.same([run._dict for run in self])

    @property
    def repetition(self) -> str | None:
        """A sentence about the settings whose seeds all gave the same run; ``None`` where there is no such setting.

        Examples:
            >>> pl.sweep(pl.Scenario.load("scenarios/one-flow.toml").set("pacing", "none"), seeds=2).repetition
            'both seeds gave the same run: nothing that is drawn makes a difference, ...'
        """
        groups = self.by_settings()
        repeated = [settings for settings, runs in groups if runs.repeats]
        return repeated_runs.sentence(repeated, len(groups), max((len(runs) for _, runs in groups), default=0))

    @property
    def tied(self) -> str | None:
        """A sentence where much hung on who goes first, an arrival or a departure of one instant; else ``None``.

        Examples:
            >>> print(pl.sweep("scenarios/one-flow.toml").tied)
            None
        """
        links = ({f"links.{n}.{k}": v for n, one in run._dict["links"].items() for k, v in one.items()} for run in self)
        return ties.sentence(links)

    def instrument(self, name: str, *, mean: bool = False) -> pyarrow.Table:
        """What one instrument found in every run; ``run``, ``settings.*`` and ``seed`` stand in front.

        With `mean`, its curves are averaged over the seeds of each setting where they have the same ``x``: ``y`` is
        the mean, ``half`` the half width of its 95 % interval (Student t; null for one seed), ``seeds`` their number.
        Distributions, whose ``x`` differ, are averaged as shares at the places of all of them.

        Args:
            name: as of `Result.instrument`.
            mean: average over the seeds of each setting.

        Raises:
            KeyError: no run has an instrument of that name.

        Examples:
            >>> scenario = pl.Scenario.load("scenarios/one-flow.toml").set("probes", {"window": {"flows": [0]}})
            >>> pl.sweep(scenario).instrument("cwnd").column_names[:3]
            ['run', 'settings.pacing', 'seed']
        """
        from paceline.results.instruments import means_of, of_runs

        return means_of(self, name) if mean else of_runs(self, name)

    @property
    def bottleneck(self) -> str | None:
        """The link that the table is about, the same for every setting: the network's core.

        Examples:
            >>> pl.sweep("scenarios/one-flow.toml").bottleneck
            'bottleneck'
        """
        known = next((run.core for run in self if run.core is not None), "core")
        return known if any(known in run.links for run in self) else None

    def to_dicts(self) -> list[dict[str, Any]]:
        """The array of the JSON contract.

        Examples:
            >>> [run["settings"] for run in pl.sweep("scenarios/one-flow.toml").to_dicts()]
            [{'pacing': 'none'}, {'pacing': 'host'}]
        """
        return [run.to_dict() for run in self]

    def to_arrow(self) -> pyarrow.Table:
        """One row a run, as in ``runs.parquet``: ``settings.*``, ``seed``, and every number by its path.

        Examples:
            >>> table = pl.sweep("scenarios/one-flow.toml").to_arrow()
            >>> table.num_rows, table["settings.pacing"].to_pylist()
            (2, ['none', 'host'])
        """
        from paceline.results.tables import runs_table

        return runs_table([run._dict for run in self])

    def to_pandas(self) -> pandas.DataFrame:
        """As `to_arrow`; needs pandas, which is not installed with Paceline.

        Examples:
            >>> frame = pl.sweep("scenarios/one-flow.toml").to_pandas()  # doctest: +SKIP
            >>> frame.groupby("settings.pacing")["flows.goodput_mean_bps"].mean()  # doctest: +SKIP
        """
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def __repr__(self) -> str:
        settings = len(self.by_settings())
        return f"Results({len(self)} runs, {settings} settings)"

    def _repr_html_(self) -> str:
        from paceline.results.tables import summary_rows

        head, rows = summary_rows(self)
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        note = f"<p>{html.escape(said[:1].upper() + said[1:])}.</p>" if (said := self.repetition) else ""
        return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{note}"


def number(run: Mapping[str, Any], path: str) -> float | None:
    """One number of a run by its path; link names may hold dots. Raises `KeyError` where there is none."""
    head, _, rest = path.partition(".")
    if head in ("links", "groups"):
        name, _, key = rest.rpartition(".")
        entry = run[head].get(name)
        value = None if entry is None else entry[key]
    else:
        value = run[head][rest] if rest else run[head]
    return value if value is None else float(value)
