"""Draws the picture of docs/theory.md: `python -m paceline.theory.pictures [OUTPUT]`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from paceline._palette import COLOURS
from paceline.theory import edge_delay, finite_queues, on_off, qlbp_response


def draw(path: Path) -> None:
    """Four panels: the edge paper's eq. (4), QLBP's step response, Theorem 2, finite queues."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "paceline", "font.size": 9.5}):
        figure = Figure(figsize=(9.6, 6.4), layout="constrained")
        # a white card reads on light pages and on dark ones
        figure.patch.set_facecolor("white")
        panels = list(figure.subplots(2, 2).ravel())
        for panel, content in zip(panels, (_edge, _response, _covariance, _queues), strict=True):
            content(panel)
            panel.spines[["top", "right"]].set_visible(False)
            panel.grid(axis="y", color="#e6eaee", linewidth=0.8)
            panel.legend(frameon=False, fontsize="small")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


def _edge(ax: Any) -> None:
    delays = np.linspace(0, 0.1, 101)
    for slot, load in enumerate((0.85, 0.9, 0.91, 0.93, 0.97)):
        curve = edge_delay.throughput_measure(load, delays)
        ax.plot(delays * 1e3, curve / curve[0], color=COLOURS[slot], label=f"load {load:g}")
    ax.set_title("Edge pacing: eq. (4) over its value at d = 0", loc="left", fontsize="medium")
    ax.set_xlabel("delay d, ms")


def _response(ax: Any) -> None:
    times = np.linspace(0, 0.4, 201)
    for slot, q_max in enumerate(("25 KB", "100 KB"), 1):
        alpha = qlbp_response.response_constant("2 Mbit/s", "10 Mbit/s", q_max)
        curve = qlbp_response.step_response(times, "9 Mbit/s", "2 Mbit/s", "10 Mbit/s", q_max)
        ax.plot(times * 1e3, curve / 1e6, color=COLOURS[slot], label=f"Q_max {q_max}, alpha {alpha:g}/s")
    ax.set_title("QLBP: output after a source of 9 Mbit/s begins, Mbit/s", loc="left", fontsize="medium")
    ax.set_xlabel("time, ms")
    ax.set_ylim(bottom=0)


def _covariance(ax: Any) -> None:
    lags = np.linspace(0, 0.4, 201)
    source = ("2 Mbit/s", "100 ms", "200 ms")
    variance = on_off.covariance(0.0, *source)
    ax.plot(lags * 1e3, on_off.covariance(lags, *source) / variance, color=COLOURS[0], label="source")
    for slot, alpha in enumerate((45.0, 15.0, 5.0), 1):
        curve = on_off.paced_covariance(lags, *source, alpha) / variance
        ax.plot(lags * 1e3, curve, color=COLOURS[slot], label=f"behind QLBP, alpha {alpha:g}/s")
    ax.set_title("ON-OFF source: auto-covariance over its variance", loc="left", fontsize="medium")
    ax.set_xlabel("lag, ms")


def _queues(ax: Any) -> None:
    places = range(1, 31)
    for slot, load in enumerate((0.8, 0.9, 1.0), 1):
        poisson = [finite_queues.md1k_loss(load, k) for k in places]
        exponential = [finite_queues.mm1k_loss(load, k) for k in places]
        ax.plot(places, poisson, color=COLOURS[slot], label=f"M/D/1/K, load {load:g}")
        ax.plot(places, exponential, color=COLOURS[slot], linestyle=":", label=f"M/M/1/K, load {load:g}")
    ax.set_yscale("log")
    ax.set_ylim(1e-6, 1)
    ax.set_title("Loss of Poisson arrivals", loc="left", fontsize="medium")
    ax.set_xlabel("K, packets, the one on the wire included")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", type=Path, default=Path("docs/images/theory.svg"))
    path = parser.parse_args().output
    draw(path)
    print(path)


if __name__ == "__main__":
    main()
