"""Tables and picture of the page "What still holds", from the runs of each TCP: `paceline.cli.what_still_holds`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Runs
from paceline.papers.today.network import (
    ALL_MBPS,
    COMPLETION,
    GOODPUT,
    METHODS,
    OFFLOADS,
    QUEUES,
    SELF_PACED,
    SMALL,
    TCPS,
    UTILISATION,
    at,
    enough,
    fairness,
    fairness_difference,
    methods_of,
    of_queues,
    queues_of,
    sizes,
)
from paceline.papers.today.questions import QUESTIONS, answers, relative, word
from paceline.papers.today.why import FAST
from paceline.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What the page calls methods.
NAMES = {"none": "unpaced", "host": "hosts", "edge": "edge", "qlbp": "QLBP"}
#: The small buffer of the tables, packets, and the sweep that is shown where one must do: as today's hosts send.
AT, SHOWN = 10, "trains"
TARGETS = (0.9, 0.98)
NOTHING = "–"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def value(found: Interval, digits: int = 0) -> str:
    """``432 ± 2``; the mean alone where there is no interval."""
    half = "" if found.half is None else f" ± {found.half:.{digits}f}"
    return f"{found.mean:.{digits}f}{half}"


def percent(found: Interval) -> str:
    """``+215 %``, with its interval where that reaches 0."""
    text = f"{found.mean:+.0f} %".replace("-", "−")
    return text if found.excludes_zero else f"{text} (± {found.half or 0:.0f})"


def plain_answers(runs: Mapping[str, Runs]) -> str:
    """A row a TCP: whether to pace, where, and how much buffer, by fixed rules (below)."""
    rows = []
    for variant, some in runs.items():
        results = some[SHOWN]
        rows.append([TCPS[variant], should_pace(variant, results), where(variant, results), room(variant, results)])
    return table(["", "should I pace?", "where?", "how much buffer?"], rows)


def should_pace(variant: str, results: Results) -> str:
    """Yes where the best way adds 5 % or more over all small buffers, or only below the size from which it does not."""
    gains = {size: best(variant, results, size) for size in SMALL}
    told = ", ".join(f"{percent(gain)} at {size}" for size, (_, gain) in gains.items())
    worth = [size for size, (_, gain) in gains.items() if gain.low > 100 * criteria.RELATIVE]
    if not worth:
        return f"no: at best {told} packets"
    always = max(worth) == max(SMALL)
    return f"{'yes' if always else f'only over {max(worth)} packets or fewer'}: at best {told} packets"


def best(variant: str, results: Results, packets: int) -> tuple[str, Interval]:
    """The way of pacing that gains most over none, and its gain in percent."""
    gains = {name: relative(results, name, "none", packets) for name in methods_of(variant) if name != "none"}
    return max(gains.items(), key=lambda item: item[1].mean)


def where(variant: str, results: Results) -> str:
    """At hosts from the size on at which edges add less than 5 % to it; edges not at all where shares come apart."""
    lost = fairness_difference(at(results, "none", AT), at(results, "edge", AT))
    if lost.low > criteria.PROBABILITY:
        before, after = (fairness(at(results, method, AT)).mean for method in ("none", "edge"))
        itself = "it paces itself; " if variant in SELF_PACED else "at hosts; "
        return f"{itself}not at edges: Jain's index falls from {before:.2f} to {after:.2f} over {AT} packets"
    if variant in SELF_PACED:
        return "it paces itself; edges beside"
    more = {size: relative(results, "edge", "host", size) for size in SMALL}
    edges = [size for size, gain in more.items() if gain.low > 100 * criteria.RELATIVE]
    if not edges:
        return "at hosts: edges add nothing"
    told = ", ".join(f"{percent(more[size])} at {size}" for size in edges)
    above = [size for size in SMALL if size > max(edges)]
    hosts = f"; at hosts as well from {above[0]} on" if above else ""
    return f"at the edge or by QLBP over {max(edges)} packets or fewer (edges beside hosts: {told}){hosts}"


def room(variant: str, results: Results) -> str:
    """The least buffer that was run for 90 % of the link, unpaced and paced."""
    need = {method: enough(results, method, TARGETS[0]) for method in methods_of(variant)}
    told = ", ".join(f"{NAMES[method]} {'more than 500' if size is None else size}" for method, size in need.items())
    return f"for 90 % of the link, packets: {told}"


def conclusions(runs: Mapping[str, Runs]) -> str:
    """A row a conclusion, a column a TCP: whether it holds, and how many criteria do."""
    found = {variant: answers(variant, some) for variant, some in runs.items()}
    rows = []
    for name, question in QUESTIONS.items():
        cells = []
        for variant in runs:
            judged = found[variant].get(name)
            met = f"{sum(bool(row.ok) for row in judged)} of {len(judged)}" if judged else ""
            cells.append(f"{word(judged)}, {met}" if judged else NOTHING)
        rows.append([f"{question.says} ({question.source})", *cells])
    return table(["the papers", *(TCPS[variant] for variant in runs)], rows)


def small_buffer(runs: Mapping[str, Runs]) -> str:
    """Goodput over `AT` packets, and what each method gains there, as trains."""

    def cell(results: Results, method: str) -> str:
        goodput = value(criteria.mean(at(results, method, AT), GOODPUT, ALL_MBPS))
        return goodput if method == "none" else f"{goodput} ({percent(relative(results, method, 'none', AT))})"

    return by_method("goodput of all, Mbit/s", runs, "paces itself", cell)


def buffers(runs: Mapping[str, Runs]) -> str:
    """The least buffer that was run for 90 and for 98 % of the link, as trains."""

    def cell(results: Results, method: str) -> str:
        found = [enough(results, method, target) for target in TARGETS]
        return " / ".join("> 500" if size is None else str(size) for size in found)

    return by_method("packets for 90 / 98 %", runs, "as unpaced", cell)


def shares(runs: Mapping[str, Runs]) -> str:
    """Jain's index of the long flows and completion of 100 KB over `AT` packets, as trains."""

    def cell(results: Results, method: str) -> str:
        there = at(results, method, AT)
        return f"{fairness(there).mean:.2f}; {criteria.mean(there, COMPLETION, 1e-3).mean:.0f} ms"

    return by_method("Jain's index; 100 KB", runs, "as unpaced", cell)


def by_method(head: str, runs: Mapping[str, Runs], absent: str, cell: Callable[[Results, str], str]) -> str:
    """A row a TCP, a column a method: what `cell` says, or `absent` where the TCP paces itself."""
    rows = [
        [TCPS[variant], *(cell(some[SHOWN], one) if one in methods_of(variant) else absent for one in METHODS)]
        for variant, some in runs.items()
    ]
    return table([head, *(NAMES[method] for method in METHODS)], rows)


def trains(runs: Mapping[str, Runs]) -> str:
    """What trains change: gains without them and with, at each small buffer; and CUBIC's with faster flows."""
    rows = []
    for variant, some in runs.items():
        for method in ("host", "edge"):
            if method in methods_of(variant):
                cells = [
                    " / ".join(percent(relative(some[name], method, "none", size)) for name in OFFLOADS)
                    for size in SMALL
                ]
                rows.append([f"{TCPS[variant]}, {NAMES[method]}", *cells])
    fast = runs.get("cubic")
    if fast is not None and FAST[0] in fast:
        for method in ("host", "edge"):
            gains = [percent(relative(fast[name], method, "none", AT)) for name in FAST]
            cells = [" / ".join(gains) if size == AT else "" for size in SMALL]
            rows.append([f"CUBIC, five flows of 100 Mbit/s, {NAMES[method]}", *cells])
    return table(["gain, one by one / in trains", *(f"{size} packets" for size in SMALL)], rows)


def queues(runs: Mapping[str, Runs]) -> str:
    """Utilisation, fairness and completion over queues that signal or schedule, as trains."""
    rows = []
    for variant, some in runs.items():
        for name in queues_of(variant):
            row = [f"{TCPS[variant]}, {QUEUES[name]}"]
            for method in ("none", "host", "edge"):
                if method not in of_queues(variant):
                    row.append("as unpaced")
                    continue
                there = at(some[name], method)
                used = 100 * criteria.mean(there, UTILISATION).mean
                done = criteria.mean(there, COMPLETION, 1e-3).mean
                row.append(f"{used:.1f} %; {fairness(there).mean:.2f}; {done:.0f} ms")
            rows.append(row)
    return table(["link used; Jain's index; 100 KB", "unpaced", "hosts", "edge"], rows)


def cost(runs: Mapping[str, Runs]) -> str:
    """How many runs the page is of."""
    count = sum(len(results) for some in runs.values() for results in some.values())
    return f"Made of {count} runs; intervals are 95 % over five seeds, differences are taken seed by seed."


#: Parts of the page by their marks.
PARTS = {
    "answers": plain_answers,
    "conclusions": conclusions,
    "small-buffer": small_buffer,
    "buffers": buffers,
    "shares": shares,
    "trains": trains,
    "queues": queues,
    "cost": cost,
}


def draw(runs: Mapping[str, Runs]) -> Figure:
    """A column a TCP: goodput above and fairness below, against the buffer, by pacing; as trains, on a white card."""
    figure, axes = drawing.axes(2 * len(runs), (3.0 * len(runs), 5.4), columns=len(runs))
    figure.patch.set_facecolor("white")
    for column, (variant, some) in enumerate(runs.items()):
        results: Results = some[SHOWN]
        over = sizes(results)
        above, below = axes[column], axes[len(runs) + column]
        for slot, method in enumerate(METHODS):
            if method not in methods_of(variant):
                continue
            there = [at(results, method, size) for size in over]
            goodput = [criteria.mean(one, GOODPUT, ALL_MBPS) for one in there]
            drawing.curve(above, over, goodput, NAMES[method], slot)
            drawing.curve(below, over, [fairness(one) for one in there], NAMES[method], slot)
        above.set_title(TCPS[variant], loc="left", fontsize="medium")
        for ax, most in ((above, 520), (below, 1.05)):
            drawing.logarithmic(ax, "x", over)
            ax.set_ylim(0, most)
            ax.grid(axis="y", color="#d8dde3", linewidth=0.8)
        below.set_xlabel("buffer, packets")
    axes[0].set_ylabel("goodput of all flows, Mbit/s")
    axes[len(runs)].set_ylabel("Jain's index, long flows")
    drawing.legend(axes[0], loc="lower right")
    return figure
