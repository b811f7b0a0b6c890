"""Agreement of simulator and kernel, where a study has both: relative differences first, then the values.

A setting's two runs of one seed have the same draws (rates, delays, starts), so they are compared seed by seed. Runs of
the kernel that are not valid do not count.
"""

from __future__ import annotations

from dataclasses import dataclass

from paceline._statistics import Interval, interval, paired
from paceline.report.conclusions import headline_metric
from paceline.report.formatting import DASH, Scale, plain, scale_for, short, signed_percent
from paceline.report.metrics import BY_KEY, Metric
from paceline.report.study import Setting, Study
from paceline.report.svg import Drawing, number, text_width, ticks

#: The path of the setting that tells the worlds apart (see `emulate.study`), and its two values.
ENGINE = "engine"
SIMULATION, KERNEL = "simulation", "kernel"
#: What is compared: of the kind that the two worlds share, those first that a question is mostly about.
_KEYS = ("throughput", "goodput", "loss", "delay_mean", "queue_mean", "timeouts", "jain", "fct_mean")
#: A picture of more settings would not be read; the table has them all.
_MOST_DRAWN = 24
WIDTH = 350.0


@dataclass(frozen=True)
class Pair:
    """One setting in both worlds; `difference` is the simulator's value over the kernel's, less one."""

    name: str
    simulated: Interval | None
    real: Interval | None
    difference: Interval | None


@dataclass(frozen=True)
class Compared:
    """One metric over all settings."""

    metric: Metric
    pairs: list[Pair]

    @property
    def widest(self) -> Pair | None:
        """The setting in which the worlds differ most; of those that seeds tell apart, where there are any."""
        known = [pair for pair in self.pairs if pair.difference]
        apart = [
            pair for pair in known if pair.difference and (pair.difference.excludes_zero or pair.difference.count < 2)
        ]
        return max(apart or known, key=lambda pair: abs(pair.difference.mean if pair.difference else 0.0), default=None)

    def scale(self) -> Scale:
        values = [e for pair in self.pairs for e in (pair.simulated, pair.real) if e]
        return scale_for(self.metric.kind, [e.mean for e in values], [e.half for e in values])

    def cells(self, pair: Pair) -> list[str]:
        """The relative difference, the kernel's value, the simulator's."""
        scale = self.scale()
        return [signed_percent(pair.difference), scale.estimate(pair.real), scale.estimate(pair.simulated)]


def agreement(study: Study) -> list[Compared]:
    """The metrics that both worlds have; empty where there were not both."""
    worlds: dict[str, dict[tuple[tuple[str, str], ...], Setting]] = {}
    for setting in study.settings:
        rest = tuple((path, text) for path, text in setting.swept.items() if path != ENGINE)
        worlds.setdefault(setting.swept.get(ENGINE, ""), {})[rest] = setting
    if not {SIMULATION, KERNEL} <= worlds.keys():
        return []
    simulated, real = worlds[SIMULATION], worlds[KERNEL]
    both = [(rest, simulated[rest], real[rest]) for rest in simulated if rest in real]
    found = []
    for key in _KEYS:
        metric = BY_KEY[key]
        pairs = [_pair(study, metric, rest, one, other) for rest, one, other in both]
        if any(pair.difference for pair in pairs):
            found.append(Compared(metric, pairs))
    first = headline_metric(study)
    return sorted(found, key=lambda one: one.metric is not first)


def sentences(compared: list[Compared]) -> list[str]:
    """What the comparison comes to, the first metric first."""
    return [said for one in compared[:3] if (said := _sentence(one))]


def _sentence(one: Compared) -> str:
    pair = one.widest
    if pair is None or pair.difference is None:
        return ""
    several = len(one.pairs) > 1
    name, found = one.metric.title.lower(), pair.difference
    shown = signed_percent(found).replace(" ", "\u00a0")
    where = f" ({pair.name})" if several and pair.name else ""
    if found.half is not None and not found.excludes_zero:
        most = " in any setting; at most" if several else ":"
        return f"In {name} the seeds do not tell simulator and kernel apart{most} {shown}{where}."
    size = shown.lstrip("+\N{MINUS SIGN}")
    which = "more" if found.mean > 0 else "less"
    return f"In {name} the simulator has {'at most ' if several else ''}{size} {which} than the kernel{where}."


def picture(one: Compared) -> Drawing:
    """A dot a setting at its relative difference, with its interval, about a line where the two worlds are the same."""
    pairs = one.pairs[:_MOST_DRAWN]
    known = [pair.difference for pair in pairs if pair.difference]
    row, top = 30.0, 34.0
    bottom = top + row * len(pairs)
    said = "; ".join(f"{pair.name or 'the one setting'}: {signed_percent(pair.difference)}" for pair in pairs[:12])
    drawing = Drawing(WIDTH, bottom + 44, f"{one.metric.title}: simulator against kernel", said, "chart")
    drawing.heading(15, one.metric.title, "% from the kernel's")
    # no quantity here is negative: the simulator's is at least 100 % below the kernel's
    low = min([-0.01, *(max(e.low, -1.0) for e in known)])
    high = max([0.01, *(e.high for e in known)])
    levels = [level for level in ticks(100 * low, 100 * high, 4) if level >= -100]
    start, end = levels[0], levels[-1]
    widest = max((text_width(signed_percent(e), 12) for e in known), default=0.0) + 10

    def x_of(percent: float) -> float:
        return 12 + (percent - start) / (end - start) * (WIDTH - 12 - widest)

    for level in levels:
        x = x_of(level)
        drawing.line(x, top, x, bottom, "base" if level == 0 else "grid")
        sign = "+" if level > 0 else ""
        drawing.text(x, bottom + 17, f"{sign}{plain(level, 0 if end - start >= 4 else 1)}", "tick", "middle")
    drawing.text(x_of((start + end) / 2), bottom + 36, "simulator over kernel, less one, %", "axis-title", "middle")
    for index, pair in enumerate(pairs):
        y = top + index * row
        drawing.text(0, y + 10, short(pair.name, 52), "bar-name halo")
        drawing.text(WIDTH, y + 22, signed_percent(pair.difference) if pair.difference else DASH, "bar-value", "end")
        if pair.difference is None:
            continue
        drawing.open_slot(2)
        mean, ends = pair.difference.mean, (max(pair.difference.low, -1.0), pair.difference.high)
        if pair.difference.half:
            left, right = (number(x_of(100 * value)) for value in ends)
            caps = f"M{left} {number(y + 15)}v6M{right} {number(y + 15)}v6"
            drawing.path(f"M{left} {number(y + 18)}H{right}{caps}", "whisker")
        x = x_of(100 * mean)
        drawing.path(f"M{number(x - 3.6)} {number(y + 18)}a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z", "mark")
        drawing.close()
    return drawing


def _pair(study: Study, metric: Metric, rest: tuple[tuple[str, str], ...], simulated: Setting, real: Setting) -> Pair:
    ours = study.by_seed(simulated, metric)
    theirs = {seed: v for seed, v in study.by_seed(real, metric).items() if _valid(real, seed)}
    difference = paired(ours, theirs, relative=True) if all(theirs.values()) else None
    name = ", ".join(study.choice(path, text) for path, text in rest if path in study.swept)
    return Pair(name, study.estimate(simulated, metric), interval(theirs.values()), difference)


def _valid(setting: Setting, seed: int) -> bool:
    return setting.runs[seed].get("engine.valid") is not False
