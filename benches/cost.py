"""How the cost of a packet grows: with the number of flows, with the round-trip time, with the number of hops.

    python benches/cost.py            medians of three runs a point (ten minutes)
    python benches/cost.py --quick    one short run of fewer points (a minute)
    python benches/cost.py --redraw   draws the pictures again from cost.csv

It writes cost.csv and cost-*.svg into docs/images, or into --out DIR. Cost is CPU time after set-up (runs.py) for each
packet delivered over the core, on one core of the machine.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runs import ROOT, run

OUT = ROOT / "docs" / "images"
TCP = {"variant": "reno", "profile": "ns2", "payload": "1000 B", "header": "40 B", "ack": "40 B"}
#: A data packet on the wire, bits.
BITS = 8 * 1040
#: So short that nothing happens: what such a run takes is set-up.
INSTANT = {"duration": "1 us", "warmup": "0 s"}


@dataclass(frozen=True)
class Point:
    """One run: the picture and the line it is a point of, where, under which engine, and its scenario.

    `per_hop` divides by packets and hops, not by packets over the core.
    """

    picture: str
    line: str
    x: float
    engine: str
    scenario: dict[str, Any]
    per_hop: bool = False


def scenario(network: dict[str, Any], duration: float, start: float, window: int = 1000) -> dict[str, Any]:
    """Unpaced Reno flows, one for each pair of hosts, without probes."""
    return {
        "duration": f"{duration:g} s",
        "network": {"counts": "ns2", **network},
        "traffic": [
            {"kind": "bulk", "start": f"0 s .. {start:g} s", "tcp": {**TCP, "max_window": f"{window} packets"}},
        ],
        "pacing": {"method": "none"},
        "probes": {},
    }


def with_flows(quick: bool) -> list[Point]:
    """The demo's network, its rates and buffer in proportion to the flows: each flow sees the same."""
    counts = (
        [100, 1000, 10_000, 100_000] if quick else [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
    )
    points = []
    for flows in counts:
        rate = f"{flows // 10} Mbit/s"
        network = {
            "template": "dumbbell",
            "core": {"rate": rate, "delay": "100 ms", "buffer": f"{max(5000, 5 * flows)} B"},
            "edge": {"count": 10, "rate": rate, "delay": "5 ms .. 15 ms"},
            "access": {"per_edge": flows // 10, "rate": "8 Mbit/s .. 12 Mbit/s", "delay": "1 ms .. 5 ms"},
        }
        packets = 1e6 if quick else 8e6
        duration = min(max(packets / (flows * 1e5 / BITS), 4 if quick else 14), 400)
        points.append(
            Point(
                "flows",
                "1000 B packets, 5 hops a way",
                flows,
                "auto",
                scenario(network, duration, min(10, duration / 2)),
            )
        )
    return points


def with_round_trips(quick: bool) -> list[Point]:
    """Twenty flows over one bottleneck, under each engine: epochs of the batched one are as long as a round trip."""
    times = [1, 10, 100] if quick else [1, 2, 5, 10, 20, 50, 100, 240]
    points = []
    for name, rate in (("100 Mbit/s", 1e8), ("1 Gbit/s", 1e9), ("10 Gbit/s", 1e10)):
        for ms in times:
            network = {
                "template": "dumbbell",
                "core": {"rate": f"{rate:.0f} bit/s", "delay": f"{300 * ms} us", "buffer": "200 packets"},
                "access": {"hosts": 20, "rate": f"{rate:.0f} bit/s", "delay": f"{50 * ms} us .. {150 * ms} us"},
            }
            duration = (1.5e6 if quick else 6e6) / (rate / BITS) + 20 * ms / 1e3
            window = int(1.5 * (rate * ms / 1e3 / BITS + 200) / 20)  # half as much again as a flow's share
            what = scenario(network, duration, ms / 1e3, window)
            points += [
                Point("round-trips", f"{name}, {engine}", ms, engine, what) for engine in ("windowed", "reference")
            ]
    return points


def with_hops(quick: bool) -> list[Point]:
    """A hundred flows over a row of links with small buffers; and the same with cross traffic at each of them."""
    points = []
    for hops in (1, 2, 4, 8, 16) if not quick else (1, 4, 16):
        link = {"rate": "100 Mbit/s", "delay": "5 ms", "buffer": "20 packets"}
        access = {"hosts": 100, "rate": "8 Mbit/s .. 12 Mbit/s", "delay": "1 ms .. 5 ms"}
        row = {"template": "tandem", "hops": hops, "link": link, "access": access}
        lot = {**row, "template": "parking-lot", "access": {**access, "hosts": 50}, "cross": {**access, "hosts": 50}}
        duration = 30 if quick else 200
        points.append(Point("hops", "in a row", hops, "auto", scenario(row, duration, 1)))
        points.append(
            Point("hops", "with cross traffic, a packet and hop", hops, "auto", scenario(lot, duration, 1), True)
        )
    return points


def cost(point: Point, repeats: int) -> float:
    """CPU ns, the median of runs."""
    found = []
    for seed in range(1, repeats + 1):
        setup = run({**point.scenario, **INSTANT}, seed)
        full = run(point.scenario, seed, point.engine)
        packets = full.result["engine"]["core_packets"]
        if point.per_hop:
            span = full.result["window_s"][1] - full.result["window_s"][0]
            hops = [
                link for name, link in full.result["links"].items() if name.startswith("hop.") and "reverse" not in name
            ]
            packets = sum(link["throughput_bps"] for link in hops) * span / BITS
        found.append((full.cpu_s - setup.cpu_s) / float(packets) * 1e9)
    return float(statistics.median(found))


Row = dict[str, str]


def measured(points: list[Point], repeats: int) -> list[Row]:
    """A row a point."""
    rows = []
    for number, point in enumerate(points, start=1):
        ns = cost(point, repeats)
        print(
            f"{number} of {len(points)}: {point.picture}, {point.line}, {point.x:g}: {ns:.0f} ns",
            file=sys.stderr,
            flush=True,
        )
        rows.append({"picture": point.picture, "line": point.line, "x": f"{point.x:g}", "ns": f"{ns:.1f}"})
    return rows


#: By picture: its title, and what its x axis is.
PICTURES = {
    "flows": ("Cost of a packet against flows", "flows"),
    "round-trips": ("Cost of a packet against the round-trip time, 20 flows", "propagation round trip, ms"),
    "hops": ("Cost of a packet against hops, 100 flows", "links with small buffers that a packet passes"),
}


def draw(rows: list[Row], folder: Path) -> None:
    """A picture for each of `PICTURES`."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
    from paceline import plot

    for name, (title, label) in PICTURES.items():
        mine = [row for row in rows if row["picture"] == name]
        lines = list(dict.fromkeys(row["line"] for row in mine))
        with mpl.rc_context({"svg.hashsalt": "paceline", "font.size": 10.5}):
            figure = Figure(figsize=(7.2, 3.6), layout="constrained")
            figure.patch.set_facecolor("white")  # reads on light pages and on dark ones
            ax = figure.subplots()
            for line in lines:
                xs = [float(row["x"]) for row in mine if row["line"] == line]
                ys = [float(row["ns"]) for row in mine if row["line"] == line]
                network, _, engine = line.rpartition(", ")
                same = list(dict.fromkeys(one.rpartition(", ")[0] for one in lines))
                slot = same.index(network) if name == "round-trips" else lines.index(line)
                style = "--" if engine == "reference" else "-"
                ax.plot(xs, ys, style, marker="o", markersize=4, color=plot.COLOURS[slot], label=line)
            ax.set_xscale("log")
            ticks = sorted({float(row["x"]) for row in mine})
            if name == "flows":
                ticks = [tick for tick in ticks if f"{tick:.0f}".startswith("1")]
            ax.xaxis.set_major_locator(FixedLocator(ticks))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_ylim(0, ax.get_ylim()[1] * (1.3 if len(lines) > 3 else 1))  # room for the legend
            ax.set_xlabel(label)
            ax.set_ylabel("CPU ns a packet")
            ax.set_title(title, loc="left", fontsize="medium")
            ax.grid(axis="y", alpha=0.3)
            ax.spines[["top", "right"]].set_visible(False)
            if len(lines) > 1:
                ax.legend(frameon=False, fontsize="small", ncols=2 if len(lines) > 3 else 1)
            figure.savefig(folder / f"cost-{name}.svg", metadata={"Date": None})


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short run of fewer points")
    parser.add_argument(
        "--out", type=Path, default=OUT, metavar="DIR", help="where pictures and cost.csv go (docs/images)"
    )
    parser.add_argument("--only", choices=PICTURES, help="one of the pictures; the others stay")
    parser.add_argument("--redraw", action="store_true", help="run nothing, draw what cost.csv says")
    wanted = parser.parse_args()
    wanted.out.mkdir(parents=True, exist_ok=True)
    table = wanted.out / "cost.csv"
    rows: list[Row] = []
    if table.exists():
        with table.open(newline="") as file:
            rows = list(csv.DictReader(file))
    if not wanted.redraw:
        points = [*with_flows(wanted.quick), *with_round_trips(wanted.quick), *with_hops(wanted.quick)]
        points = [point for point in points if wanted.only in (None, point.picture)]
        new = measured(points, 1 if wanted.quick else 3)
        rows = [row for row in rows if wanted.only not in (None, row["picture"])] + new
        with table.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=["picture", "line", "x", "ns"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    draw(rows, wanted.out)
    print(f"{wanted.out}/cost-*.svg and {table}")


if __name__ == "__main__":
    main()
