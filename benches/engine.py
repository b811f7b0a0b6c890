"""CPU time per packet delivered over the core, from a thousand flows to a million, beside ns-2 and ns-3.

    python benches/engine.py                    five runs of each, interleaved (ten minutes, most of it the peers')
    python benches/engine.py --quick            one short run of each (two minutes)
    python benches/engine.py --write-docs       and puts the table into docs/performance.md
    python benches/engine.py --from FILE --write-docs      the same from what --json FILE wrote

One core, no probes, every hop simulated. `ns a packet` is the CPU time of a whole process without its set-up (runs.py
says how), the median of the runs, with the least and the greatest; `memory` is its peak. The columns of the peers say
how many times as much they take for the same network, in the same invocation, unpaced: ns-2 and ns-3 have no pacing of
these kinds. Nanoseconds are of the machine: targets were set on one where ns-2 takes 4,200 ns for a packet of the first
network. Where set-up takes four times what a run does, the difference says nothing, and the time is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import speed  # noqa: E402
from cases import CASES, DEMO, LIKE_NS3, MANY, Case, Settings, Times  # noqa: E402
from runs import ROOT, measure, scenario  # noqa: E402
from tables import markdown, put_between, text_table  # noqa: E402

Rows = dict[str, list[dict[str, Any]]]


def say(what: str) -> None:
    """A line of progress."""
    print(what, file=sys.stderr, flush=True)


def of_case(case: Case, settings: Settings, seed: int) -> dict[str, Any]:
    """One run of a case."""
    cost = measure(case.file, settings, seed)
    return {
        "ns": cost.ns_a_packet,
        "engine_ns": cost.engine_s / cost.packets * 1e9,
        "cpu_s": cost.cpu_s,
        "setup_s": cost.setup_s,
        "packets": cost.packets,
        "memory": cost.memory,
        "setup_memory": cost.setup_memory,
        "method": cost.method,
    }


def of_ns2(network: speed.Network, times: Times) -> dict[str, Any]:
    """One run of ns-2."""
    return of_peer(speed.ns2(network, times.duration, times.warmup))


def of_ns3(program: Path, network: speed.Network, times: Times) -> dict[str, Any]:
    """One run of ns-3."""
    return of_peer(speed.ns3(program, network, times.duration, times.warmup))


def of_peer(peer: speed.Peer) -> dict[str, Any]:
    """One run of a peer."""
    return {"ns": peer.ns_a_packet, "packets": peer.packets, "simulated_s": peer.simulated_s, "result": peer.result}


Work = tuple[str, str, Callable[[], dict[str, Any]]]


def work_on(case: Case, turn: int, quick: bool, ns3: Path | None) -> list[Work]:
    """What one turn runs for a case: who, what it is kept under, and how."""
    if turn and not case.repeated:
        return []
    work: list[Work] = [("paceline", case.name, partial(of_case, case, case.all_settings(quick), 1 + turn))]
    if (case.ns2 or case.ns3) and not (case.slow_peers and (turn or quick)):
        network = speed.Network.of(scenario(case.file, case.settings))
        if case.ns2 and speed.has_ns2():
            times = Times(case.ns2.duration / 2, case.ns2.warmup / 2) if quick else case.ns2
            work.append(("ns-2", case.network, partial(of_ns2, network, times)))
            if case.slow_peers:
                settings = {**case.all_settings(quick), **times.settings}
                work.append(("paceline", case.start, partial(of_case, case, settings, 1)))
        if case.ns3 and ns3:
            work.append(("ns-3", case.network, partial(of_ns3, ns3, network, case.ns3)))
    return work


def run_all(cases: list[Case], repeats: int, quick: bool, ns3: Path | None) -> dict[str, Rows]:
    """Every case and every peer, again and again: what the machine does meanwhile meets all alike."""
    found: dict[str, Rows] = {"paceline": {}, "ns-2": {}, "ns-3": {}}
    for turn in range(repeats):
        work = [one for case in cases for one in work_on(case, turn, quick, ns3)]
        for number, (who, name, do) in enumerate(work, start=1):
            run = do()
            found[who].setdefault(name, []).append(run)
            say(f"turn {turn + 1} of {repeats}, run {number} of {len(work)}: {who}, {name}: {run['ns']:.0f} ns")
    return found


def agreement(found: dict[str, Rows]) -> list[str]:
    """How many packets a second cross the core in the peers, and here with their settings over the same seconds."""
    said = []
    case = CASES[0]
    for peer, settings in (("ns-2", case.settings), ("ns-3", {**case.settings, **LIKE_NS3})):
        runs = found[peer].get(case.network)
        if not runs:
            continue
        theirs = statistics.mean(
            run["result"].get("packets_per_s", run["packets"] / run["simulated_s"]) for run in runs
        )
        whole = runs[0]["simulated_s"]
        times = Times(whole, 0) if peer == "ns-2" else case.ns3
        assert times is not None
        result = measure(DEMO, {"probes": {}, **settings, **times.settings}).result
        core = result["links"]["core"]
        ours = core["throughput_bps"] / 8 / (1040 if peer == "ns-2" else 1042)
        if peer == "ns-3":  # ns-2's statistics leave a warm-up out, its packets do not
            lost = statistics.mean(run["result"]["loss_ratio"] for run in runs)
            losses = f"; {lost:.1%} are lost there, {core['loss_ratio']:.1%} here"
        else:
            losses = ""
        span = f"{times.warmup:g} s to {times.duration:g} s"
        said.append(
            f"{peer} sends {theirs:,.0f} packets a second over the core of the 1000 flows from {span}, "
            f"Paceline with its settings {ours:,.0f} ({theirs / ours - 1:+.1%}){losses}."
        )
    return said


def threads(repeats: int, quick: bool) -> dict[str, Any] | None:
    """Wall time of a large run on one thread over that on two, interleaved; `None` where --threads is unknown."""
    command = [sys.executable, "-m", "paceline", "run"]
    if "--threads" not in subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout:
        return None
    times = Times(2, 1) if quick else Times(20, 12)
    settings = {"network.access.per_edge": "10000", "probes": "{}", "sweep": "{}", **times.settings}
    command += [str(MANY), "--json", "--jobs", "1", "--seeds", "1"]
    for path, value in settings.items():
        command += ["--set", f"{path}={value}"]
    pairs = []
    for turn in range(repeats):
        pair = []
        for count in ("1", "2"):
            done = subprocess.run([*command, "--threads", count], capture_output=True, text=True, check=True)
            pair.append(json.loads(done.stdout)[0]["engine"]["wall_s"])
        say(f"pair {turn + 1} of {repeats}: {pair[0]:.2f} s on one thread, {pair[1]:.2f} s on two")
        pairs.append(pair)
    return {"pairs_s": pairs, "best": max(one / two for one, two in pairs)}


def bytes_a_flow(found: dict[str, Rows]) -> dict[str, float] | None:
    """Peak memory that a flow adds between the two largest networks: laid out and ready, and at work."""
    sizes = {100_000: "100,000 flows, 10 Gbit/s", 1_000_000: "1,000,000 flows, 10 Gbit/s"}
    if not all(name in found["paceline"] for name in sizes.values()):
        return None
    low, high = (found["paceline"][name][0] for name in sizes.values())
    more = 1_000_000 - 100_000
    return {key: (high[key] - low[key]) / more for key in ("setup_memory", "memory")}


def machine() -> str:
    """What it ran on."""
    model = "unknown processor"
    info = Path("/proc/cpuinfo")
    if info.exists():
        said = [line.partition(":") for line in info.read_text().splitlines()]
        values = {key.strip(): value.strip() for key, _, value in reversed(said)}
        model = values.get("model name", model)
        # Clouds hide the model behind the maker's name.
        family = values.get("cpu family")
        model = f"{model} (family {family})" if family else model
    return f"{model}, {os.cpu_count()} cores"


def row(case: Case, found: dict[str, Rows]) -> list[str]:
    """A line of the table."""
    runs = found["paceline"][case.name]
    target = f"{case.target_ns:.0f}" if case.target_ns else "–"
    most = f"{max(run['memory'] for run in runs) / 1e6:,.0f}"
    memory = f"{most} of {case.memory / 1e6:,.0f}" if case.memory else most
    costs = [run["ns"] for run in runs if run["cpu_s"] > run["setup_s"] / 4]
    if not costs:
        return [case.name, "–", "–", "–", target, memory, "–", "–"]
    median = statistics.median(costs)
    spread = f"{min(costs):.0f} to {max(costs):.0f}" if len(costs) > 1 else "one run"
    ratios = []
    beside = statistics.median(run["ns"] for run in found["paceline"].get(case.start, runs))
    for peer in ("ns-2", "ns-3"):
        theirs = [run["ns"] for run in found[peer].get(case.network, [])]
        ratios.append(f"{statistics.median(theirs) / beside:,.0f}" if theirs else "–")
    first = [run["ns"] for run in found["paceline"].get(CASES[0].name, [])]
    of_first = f"{median / statistics.median(first):.2f}" if first else "–"
    return [case.name, f"{median:.0f}", spread, of_first, target, memory, *ratios]


HEAD = ["network", "ns a packet", "least to most", "of the first", "target", "memory, MB", "ns-2, times", "ns-3, times"]


def where(kept: dict[str, Any]) -> str:
    """The machine, and what the numbers are of."""
    runs = "one short run of each" if kept["quick"] else f"medians of {kept['repeats']} runs of full length"
    return f"On {kept['machine']}; {runs}."


def notes(kept: dict[str, Any]) -> list[str]:
    """What stands under the table."""
    found = kept["runs"]
    lines = [where(kept)]
    for peer in ("ns-2", "ns-3"):
        for network, runs in found[peer].items():
            cost = statistics.median(run["ns"] for run in runs)
            lines.append(f"{peer} takes {cost:,.0f} ns a packet on the network of {network}.")
    for case in (case for case in CASES if case.slow_peers and case.start in found["paceline"]):
        cost = statistics.median(run["ns"] for run in found["paceline"][case.start])
        lines.append(f"Paceline takes {cost:,.0f} ns a packet with {case.start}; the ratio is of these.")
    lines += kept["agreement"]
    if kept["bytes_a_flow"]:
        each = kept["bytes_a_flow"]
        lines.append(
            f"A flow adds {each['memory']:,.0f} B to the peak between 100,000 and 1,000,000 of them; "
            f"{each['setup_memory']:,.0f} B before anything happens: its hosts, links and their names are in it."
        )
    if kept["threads"]:
        lines.append(
            f"Two threads are {kept['threads']['best']:.2f} times as fast as one with 100,000 flows (best pair)."
        )
    return lines


def write_docs(kept: dict[str, Any]) -> None:
    """The table of docs/performance.md."""
    names = {case.name: case for case in CASES}
    rows = [row(names[name], kept["runs"]) for name in names if name in kept["runs"]["paceline"]]
    below = "\n".join(f"- {line}" for line in notes(kept))
    put_between(ROOT / "docs" / "performance.md", "bench", f"{markdown(HEAD, rows)}\n\n{below}\n")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short run of each")
    parser.add_argument("--repeats", type=int, help="runs of each (5, or 1 with --quick)")
    parser.add_argument("--only", action="append", metavar="TEXT", help="cases with this in their name (repeatable)")
    parser.add_argument("--no-peers", action="store_true", help="without ns-2 and ns-3")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all that was measured there")
    parser.add_argument("--from", dest="earlier", metavar="FILE", type=Path, help="run nothing; take what --json wrote")
    parser.add_argument("--write-docs", action="store_true", help="rewrite the table in docs/performance.md")
    wanted = parser.parse_args()

    cases = [case for case in CASES if not wanted.only or any(text in case.name for text in wanted.only)]
    if not cases:
        sys.exit(f"no case has {wanted.only} in its name; they are: {'; '.join(case.name for case in CASES)}")
    if wanted.earlier:
        kept = json.loads(wanted.earlier.read_text())
    else:
        repeats = wanted.repeats or (1 if wanted.quick else 5)
        with tempfile.TemporaryDirectory() as folder:
            ns3 = None if wanted.no_peers else speed.compiled_ns3(Path(folder))
            if wanted.no_peers:
                cases = [replace(case, ns2=None, ns3=None) for case in cases]
            found = run_all(cases, repeats, wanted.quick, ns3)
        kept = {
            "machine": machine(),
            "quick": wanted.quick,
            "repeats": repeats,
            "runs": found,
            "agreement": agreement(found),
            "bytes_a_flow": bytes_a_flow(found),
            "threads": None if wanted.only else threads(repeats, wanted.quick),
        }
        if not wanted.no_peers:
            missing = [peer for peer, here in (("ns-2", speed.has_ns2()), ("ns-3", ns3 is not None)) if not here]
            for peer in missing:
                say(f"{peer} is not installed, so there is no ratio to it: on Debian or Ubuntu, {speed.INSTALL[peer]}")
        if not wanted.only and kept["threads"] is None:
            say("paceline run has no --threads, so two threads are not compared with one")
        if wanted.json:
            wanted.json.parent.mkdir(parents=True, exist_ok=True)
            wanted.json.write_text(json.dumps(kept, indent=1) + "\n")
    names = {case.name: case for case in CASES}
    print(text_table(HEAD, [row(names[name], kept["runs"]) for name in names if name in kept["runs"]["paceline"]]))
    print("\n".join(notes(kept)))
    if wanted.write_docs:
        write_docs(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
