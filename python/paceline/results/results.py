"""Results: one run, and the runs of a sweep."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from paceline._statistics import Interval, interval
from paceline.errors import InputError
from paceline.results import repeated_runs, ties

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from paceline._core import Columns


class _Record:
    """Builds a frozen dataclass from an object of the JSON contract; keys of later versions are left aside."""

    __slots__ = ()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        known = {item.name for item in dataclasses.fields(cls)}  # type: ignore[arg-type]
        return cls(**{key: value for key, value in values.items() if key in known})


@dataclass(frozen=True, slots=True)
class LinkStats(_Record):
    """A link over the window of the statistics. Rates in bit/s on the wire; ``None`` where nothing was there to count.

    ``arrived_packets`` and ``dropped_packets`` count at the link's buffer, before it was paced. ``tied_packets`` came
    with a departure, so that who went first decided their fate; ``tied_drops`` are those of them that were dropped.
    """

    throughput_bps: float | None = None
    utilisation: float | None = None
    arrived_packets: int | None = None
    dropped_packets: int | None = None
    loss_ratio: float | None = None
    tied_packets: int | None = None
    tied_drops: int | None = None
    queue_mean_bytes: float | None = None
    queue_p99_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class FlowStats(_Record):
    """All flows, or a group of them, over the window. Goodput is payload delivered in order, once, in bit/s."""

    count: int | None = None
    goodput_mean_bps: float | None = None
    goodput_p05_bps: float | None = None
    goodput_active_bps: float | None = None
    jain: float | None = None
    retransmits: int | None = None
    timeouts: int | None = None
    window_cuts: int | None = None
    transfers: int | None = None
    fct_mean_s: float | None = None
    fct_p99_s: float | None = None
    fct_data_mean_s: float | None = None
    fct_data_p99_s: float | None = None
    delay_mean_s: float | None = None
    delay_p99_s: float | None = None
    network_delay_mean_s: float | None = None


@dataclass(frozen=True, slots=True)
class Engine(_Record):
    """About the run, not of it: never part of a comparison. `core_packets` counts over the whole run.

    Of a run on the kernel also whether it counts (`valid`), how late packets were, and the share of the processors'
    time that the hypervisor took (`steal`). `cpu_s` of a run on several `threads` is the whole process's.
    """

    kind: str = "simulation"
    method: str | None = None
    threads: int | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    core_packets: int | None = None
    valid: bool | None = None
    lateness_p99_us: float | None = None
    steal: float | None = None


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
        """From one object of the JSON contract."""
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
        """One number by its path, as ``links.core.throughput_bps`` or ``flows.jain``; ``None`` where the run has none.

        Raises `KeyError` where the contract has none.
        """
        return number(self._dict, path)

    def to_dict(self) -> dict[str, Any]:
        """The object of the JSON contract, as `paceline run --json` prints it."""
        copied: dict[str, Any] = json.loads(json.dumps(self._dict))
        return copied

    def instrument(self, name: str) -> pyarrow.Table:
        """What one instrument found: ``link``, ``flow``, ``next``, ``x``, ``y``, ``count``, ``x_unit``, ``y_unit``.

        Names are ``cwnd``, ``ssthresh``, ``srtt``, ``rate_variation``, ``auto_covariance``, ``succession``,
        ``burst_size``, ``drop_event_flows``, ``drop_event_packets``, ``delay``, ``fct``, ``jain``, ``carried`` and
        ``delivered``. Raises `KeyError` where the run has none of that name, and names those that it has.
        """
        from paceline.results.instruments import of_run

        return of_run(self, name)

    def _repr_html_(self) -> str:
        return Results([self])._repr_html_()


class Results(Sequence[Result]):
    """The runs of a sweep, in its order: every combination of settings, seeds innermost."""

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
        """The runs under these settings: ``where({"pacing": "edge 10 ms"})``."""
        return Results([run for run in self if settings.items() <= run.settings.items()])

    def by_settings(self) -> list[tuple[Mapping[str, str], Results]]:
        """The runs of each combination of settings, which differ by seed."""
        groups: dict[tuple[tuple[str, str], ...], list[Result]] = {}
        for run in self:
            groups.setdefault(tuple(run.settings.items()), []).append(run)
        return [(dict(key), Results(runs)) for key, runs in groups.items()]

    def interval(self, path: str) -> Interval | None:
        """Mean and 95 % interval over the seeds of one setting of a number, as ``flows.jain``.

        ``None`` where no run has it; without an interval where all seeds gave the same run (see `repeats`). Raises
        `KeyError` where the contract has no such number, `InputError` where these are runs of several settings.
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
        """Whether these runs of several seeds are one run again and again: all alike in every number."""
        return repeated_runs.same([run._dict for run in self])

    @property
    def repetition(self) -> str | None:
        """A sentence about the settings whose seeds all gave the same run; ``None`` where there is no such setting."""
        groups = self.by_settings()
        repeated = [settings for settings, runs in groups if runs.repeats]
        return repeated_runs.sentence(repeated, len(groups), max((len(runs) for _, runs in groups), default=0))

    @property
    def tied(self) -> str | None:
        """A sentence where much hung on who goes first, an arrival or a departure of one instant; else ``None``."""
        links = ({f"links.{n}.{k}": v for n, one in run._dict["links"].items() for k, v in one.items()} for run in self)
        return ties.sentence(links)

    def instrument(self, name: str, *, mean: bool = False) -> pyarrow.Table:
        """What one instrument found in every run; ``run``, ``settings.*`` and ``seed`` stand in front.

        With `mean`, its curves are averaged over the seeds of each setting where they have the same ``x``: ``y`` is
        the mean, ``half`` the half width of its 95 % interval (Student t; null for one seed), ``seeds`` their number.
        Distributions, whose ``x`` differ, are averaged as shares at the places of all of them.

        Raises `KeyError` where no run has an instrument of that name.
        """
        from paceline.results.instruments import means_of, of_runs

        return means_of(self, name) if mean else of_runs(self, name)

    @property
    def bottleneck(self) -> str | None:
        """The link that the table is about, the same for every setting: the network's core."""
        known = next((run.core for run in self if run.core is not None), "core")
        return known if any(known in run.links for run in self) else None

    def to_dicts(self) -> list[dict[str, Any]]:
        """The array of the JSON contract."""
        return [run.to_dict() for run in self]

    def to_arrow(self) -> pyarrow.Table:
        """One row a run, as in ``runs.parquet``: ``settings.*``, ``seed``, and every number by its path."""
        from paceline.results.tables import runs_table

        return runs_table([run._dict for run in self])

    def to_pandas(self) -> pandas.DataFrame:
        """As `to_arrow`; needs pandas, which is not installed with Paceline."""
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
