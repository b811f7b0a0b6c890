"""The runs of a sweep."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

from paceline._optional import needed
from paceline._statistics import Interval, interval
from paceline.errors import InputError
from paceline.results import repeated_runs, ties
from paceline.results.one_run import Result, number, unknown

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    import xarray


class Results(Sequence[Result]):
    """The runs of a sweep, in its order: every combination of settings, seeds innermost.

    Examples:
        >>> results = pl.sweep("scenarios/one-flow.toml", seeds=2)
        >>> len(results), results[0].seed, results.bottleneck
        (4, 1, 'bottleneck')
    """

    __slots__ = ("_about", "_runs")

    def __init__(self, runs: Sequence[Result], about: Mapping[str, str] | None = None) -> None:
        self._runs = list(runs)
        self._about = dict(about or {})

    @classmethod
    def load(cls, place: str | os.PathLike[str]) -> Results:
        """The runs that `paceline run --out` or `sweep` has left in a directory; nothing is run.

        They may be of another version. Tables of flows, series and instruments are read as they are asked for.

        Args:
            place: the directory, or its ``runs.parquet``.

        Raises:
            InputError: there are no runs.

        Examples:
            >>> kept = pl.sweep("scenarios/one-flow.toml", out="results/one-flow")
            >>> loaded = pl.Results.load("results/one-flow")
            >>> loaded[1].settings, loaded[1].flows == kept[1].flows
            ({'pacing': 'host'}, True)
        """
        from paceline._arguments import directory
        from paceline.results import loading

        file, table = loading.read_runs(directory(place, None, "results/mine"))
        core = loading.core_of(file.parent)
        runs = [
            Result.from_dict(run, core=core, **loading.columns_of(file, number))
            for number, run in enumerate(loading.runs_of(table))
        ]
        return cls(runs, loading.about(table))

    @property
    def about(self) -> Mapping[str, str]:
        """What the files say that `load` has read: ``version``, ``core``, ``title``, ``scenario_sha256``.

        The last is that of ``scenario.toml`` beside them. Empty for runs that were made here, or by an earlier version.

        Examples:
            >>> kept = pl.sweep("scenarios/one-flow.toml", out="results/one-flow")
            >>> pl.Results.load("results/one-flow").about["version"] == pl.__version__
            True
        """
        return self._about

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._runs)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Result: ...

    @overload
    def __getitem__(self, index: slice) -> Results: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Result | Results:
        if isinstance(index, slice):
            return Results(self._runs[index], self._about)
        try:
            return self._runs[index]
        except IndexError:
            raise IndexError(f"{index}: there are {len(self)} runs, from 0 to {len(self) - 1}") from None
        except TypeError:
            remedy = 'runs are numbered; select some as results.where({"pacing": "host"})'
            raise TypeError(f"{index!r} is no number of a run; {remedy}") from None

    def where(self, settings: Mapping[str, str]) -> Results:
        """The runs under these settings.

        Args:
            settings: labels by path, as in ``Result.settings``.

        Raises:
            KeyError: nothing is swept by such a path; the message has those that are.

        Examples:
            >>> len(pl.sweep("scenarios/one-flow.toml", seeds=2).where({"pacing": "host"}))
            2
        """
        swept = dict.fromkeys(path for run in self for path in run.settings)
        for path in settings if self._runs else ():
            if path not in swept:
                raise KeyError(unknown(path, "swept path", list(swept)))
        return Results([run for run in self if settings.items() <= run.settings.items()], self._about)

    def by_settings(self) -> list[tuple[Mapping[str, str], Results]]:
        """The runs of each combination of settings, which differ by seed.

        Examples:
            >>> [(settings, len(runs)) for settings, runs in pl.sweep("scenarios/one-flow.toml", seeds=2).by_settings()]
            [({'pacing': 'none'}, 2), ({'pacing': 'host'}, 2)]
        """
        groups: dict[tuple[tuple[str, str], ...], list[Result]] = {}
        for run in self:
            groups.setdefault(tuple(run.settings.items()), []).append(run)
        return [(dict(key), Results(runs, self._about)) for key, runs in groups.items()]

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

    def to_arrow(self, table: Literal["runs", "links"] = "runs") -> pyarrow.Table:
        """One row a run, as in ``runs.parquet``: ``settings.*``, ``values.*``, ``seed``, and every number by its path.

        ``values.*`` are the settings that are numbers of one unit, in base units, which end the name:
        ``values.network.core.buffer_bytes``. Each field's metadata has its ``unit``.

        Args:
            table: ``"links"`` has a row a run and link: ``link``, then its numbers, as ``throughput_bps``.

        Examples:
            >>> results = pl.sweep("scenarios/one-flow.toml")
            >>> table = results.to_arrow()
            >>> table.num_rows, table["settings.pacing"].to_pylist()
            (2, ['none', 'host'])
            >>> results.to_arrow("links").column_names[:5]
            ['run', 'settings.pacing', 'seed', 'link', 'throughput_bps']
        """
        from paceline.results import frames

        return frames.arrow(self, table)

    def to_pandas(self, table: Literal["runs", "links"] = "runs") -> pandas.DataFrame:
        """As `to_arrow`; needs pandas, which is not installed with Paceline.

        Args:
            table: as of `to_arrow`.

        Raises:
            ModuleNotFoundError: pandas is not installed.

        Examples:
            >>> frame = pl.sweep("scenarios/one-flow.toml").to_pandas()  # doctest: +SKIP
            >>> frame.groupby("settings.pacing")["flows.goodput_mean_bps"].mean()  # doctest: +SKIP
        """
        needed("pandas", "to_pandas")
        frame: pandas.DataFrame = self.to_arrow(table).to_pandas()
        return frame

    def to_polars(self, table: Literal["runs", "links"] = "runs") -> polars.DataFrame:
        """As `to_arrow`; needs Polars, which is not installed with Paceline.

        Args:
            table: as of `to_arrow`.

        Raises:
            ModuleNotFoundError: Polars is not installed.

        Examples:
            >>> results = pl.sweep("scenarios/one-flow.toml")
            >>> frame = results.to_polars("links")  # doctest: +SKIP
            >>> frame.filter(frame["link"] == "bottleneck")["loss_ratio"]  # doctest: +SKIP
        """
        from paceline.results import frames

        return frames.to_polars(self, table)

    def to_xarray(self) -> xarray.Dataset:
        """Every number over the swept settings and the seed; needs xarray, which is not installed with Paceline.

        A setting's coordinate is in base units where its labels are numbers of one unit, else its labels. Coordinates
        and numbers have their unit as the attribute ``units``. Not a number stands where there is no run.

        Raises:
            ModuleNotFoundError: xarray is not installed.
            InputError: a setting has a run of one seed twice.

        Examples:
            >>> over = {"network.links.bottleneck.buffer": ["5 KB", "20 KB"]}
            >>> results = pl.sweep("scenarios/one-flow.toml", over)
            >>> data = results.to_xarray()  # doctest: +SKIP
            >>> data["flows.jain"].sel({"network.links.bottleneck.buffer": 5000.0})  # doctest: +SKIP
        """
        from paceline.results import frames

        return frames.to_xarray(self)

    def to_text(self, form: Literal["csv", "markdown", "latex"]) -> str:
        """A table for a spreadsheet or a paper.

        Args:
            form: ``"markdown"`` and ``"latex"`` (with the package booktabs) are the table of means with 95 % intervals
                that `paceline run` prints, ``"csv"`` has a row a run and every number in base units, as `to_arrow`.

        Raises:
            InputError: there is no such form.

        Examples:
            >>> pl.sweep("scenarios/one-flow.toml").to_text("markdown")[:8]
            '| pacing'
        """
        from paceline._arguments import one_of
        from paceline.results.text_formats import FORMATS, text_of

        return text_of(self, one_of(form, "form", "form of a table", FORMATS))

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
