"""Table III, section IV-E: utilisation and packet delay without pacing, and with Q_max of 40 and 160.

The table does not say which buffer it belongs to. Of Fig. 18's, its unpaced 47.57 % lies near 20 packets.

Its last row says which round trip the paper ran. With Q_max 160 nothing is lost, so that by Little's law
utilisation · rate = 40 · 32 packets · 1040 B / round trip: 98.48 % are 108.1 ms, of which the way forth has 60.8 and
the way back, which has no pacer, 47.3. Both ways have the same links; so propagation is about 47.5 ms one way, and the
pacer holds 13 ms, as QLBP's equilibrium has it at 25 Mbit/s. Stated delays give 51 ms: 20 + 20 + 5.5 + 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paceline._palette import COLOURS
from paceline._statistics import Interval, interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.qlbp.dumbbell import ASSUMPTIONS, SHORTER, UTILISATION, at, method, over_buffers
from paceline.results import Results
from paceline.scenario import Scenario

METHODS = ("none", "qlbp-40", "qlbp-160")
WORDS = {"none": "unpaced", "qlbp-40": "Q_max 40", "qlbp-160": "Q_max 160"}
PACKETS = 20
PRINTED: Mapping[str, Sequence[float]] = {
    "utilisation": [0.4757, 0.7633, 0.9848],
    "mean_delay_ms": [56.9, 51.9, 60.8],
    "min_delay_ms": [50.8, 46.3, 55.2],
    "max_delay_ms": [63.4, 57.5, 66.5],
}
DELAY = "flows.delay_mean_s"
NETWORK_DELAY = "flows.network_delay_mean_s"
MS = 1e-3
#: What is varied: the receivers' delay, and the buffer.
WHY = "why-receivers-"
WHY_BUFFER = "why-buffer-"
OTHER_BUFFERS = (15, 25)


def sweeps(length: Length) -> Mapping[str, Scenario]:
    """Three methods at 20 packets; with the receivers nearer; and at other buffers. Fig. 18 runs most of it too."""
    found = {name: over_buffers(method(name), (PACKETS,), length) for name in METHODS}
    for name in METHODS:
        nearer = method(name, SHORTER).set("probes.delay", {"until": "arrival", "by": "flow"})
        found[WHY + name] = over_buffers(nearer, (PACKETS,), length, full=3)
    for name in METHODS[:2]:
        found[WHY_BUFFER + name] = over_buffers(method(name), OTHER_BUFFERS, length, full=3)
    return found


def check(runs: Runs) -> Verdict:
    """Each number of the table."""
    evidence: list[Evidence] = []
    ours: dict[str, list[float]] = {name: [] for name in PRINTED}
    for row, name in enumerate(METHODS):
        found = numbers(at(runs[name], PACKETS))
        for key, value in found.items():
            unit = "ms" if key.endswith("ms") else ""
            evidence.append(criteria.within(f"{key}, {WORDS[name]}", value, PRINTED[key][row], unit))
            ours[key].append(round(value.mean, 4 if key == "utilisation" else 2))
    outcome = criteria.judge(evidence)
    words = "All twelve numbers are as printed." if outcome == "reproduced" else note(runs)
    return Verdict(
        outcome, ours, {"pacing": [WORDS[name] for name in METHODS], **PRINTED}, words, evidence + explained(runs)
    )


def numbers(results: Results) -> dict[str, Interval]:
    """Utilisation; mean delay of packets; least and greatest mean delay of a flow, ms."""
    least, greatest = extremes(results)
    return {
        "utilisation": criteria.mean(results, UTILISATION),
        "mean_delay_ms": criteria.mean(results, DELAY, MS),
        "min_delay_ms": least,
        "max_delay_ms": greatest,
    }


def extremes(results: Results) -> tuple[Interval, Interval]:
    """The least and the greatest mean delay of a flow, ms, over the seeds."""
    flows = []
    for run in results:
        assert run.per_flow is not None
        flows.append(np.asarray(run.per_flow["delay_mean_s"], float) / MS)
    least, greatest = (interval(float(pick(one)) for one in flows) for pick in (np.nanmin, np.nanmax))
    assert least is not None
    assert greatest is not None
    return least, greatest


def arrivals(results: Results) -> dict[str, Interval]:
    """Mean delay of packets from first transmission to their own first arrival; least and greatest of a flow, ms."""
    found: dict[str, list[float]] = {"mean_delay_ms": [], "min_delay_ms": [], "max_delay_ms": []}
    for run in results:
        table = run.instrument("arrival_delay")
        flows, x, counts = (np.asarray(table[name]) for name in ("flow", "x", "count"))
        sums, packets = [], []
        for flow in dict.fromkeys(flows.tolist()):
            mine = flows == flow
            each = np.diff(counts[mine].astype(float), prepend=0.0)
            sums.append(float((x[mine].astype(float) * each).sum()) / MS)
            packets.append(float(each.sum()))
        means = np.array(sums) / np.array(packets)
        found["mean_delay_ms"].append(sum(sums) / sum(packets))
        found["min_delay_ms"].append(float(means.min()))
        found["max_delay_ms"].append(float(means.max()))
    told = {key: interval(values) for key, values in found.items()}
    return {key: one for key, one in told.items() if one is not None}


def explained(runs: Runs) -> list[Evidence]:
    """The table with the receivers nearer, by both measures of delay, and at other buffers."""
    rows = []
    for row, name in enumerate(METHODS):
        results = at(runs[WHY + name], PACKETS)
        for key, value in numbers(results).items():
            unit = "ms" if key.endswith("ms") else ""
            counted = criteria.within("", value, PRINTED[key][row], unit)
            words = f"{counted.criterion}: {'yes' if counted.ok else 'no'}"
            rows.append(criteria.inform(f"{key}, {WORDS[name]}, receivers nearer", value, words))
        for key, value in arrivals(results).items():
            counted = criteria.within("", value, PRINTED[key][row], "ms")
            words = f"{counted.criterion}: {'yes' if counted.ok else 'no'}"
            what = f"{key}, {WORDS[name]}, receivers nearer, to a packet's own first arrival"
            rows.append(criteria.inform(what, value, words))
        for prefix, place in (("", ""), (WHY, ", receivers nearer")):
            last = criteria.mean(at(runs[prefix + name], PACKETS), NETWORK_DELAY, MS)
            words = f"delay from the last transmission, ms, {WORDS[name]}{place}"
            rows.append(criteria.inform(words, last, "a lower bound of the way to a packet's first arrival"))
    for name in METHODS[:2]:
        for size in OTHER_BUFFERS:
            value = criteria.mean(at(runs[WHY_BUFFER + name], size), UTILISATION)
            rows.append(criteria.inform(f"utilisation at {size} packets, {WORDS[name]}", value, "another buffer"))
    return rows


def note(runs: Runs) -> str:
    """What decides each difference, from the runs."""
    stated, nearer = (
        [criteria.mean(at(runs[prefix + name], PACKETS), UTILISATION).mean for name in METHODS] for prefix in ("", WHY)
    )
    last, ordered = (
        [criteria.mean(at(runs[WHY + name], PACKETS), path, MS).mean for name in METHODS]
        for path in (NETWORK_DELAY, DELAY)
    )
    own = [arrivals(at(runs[WHY + name], PACKETS))["mean_delay_ms"].mean for name in METHODS]
    met = sum(
        criteria.within("", value, PRINTED[key][row]).ok is True
        for row, name in enumerate(METHODS)
        for key, value in (numbers(at(runs[WHY + name], PACKETS)) | arrivals(at(runs[WHY + name], PACKETS))).items()
    )
    return (
        "The round trip decides. In the table's last row nothing is lost, so that 98.48 % by 40 windows of 32 packets "
        "is a round trip of 108.1 ms (Little's law), and 60.8 ms forth leave 47.3 ms of propagation back; the stated "
        f"delays have 51. With those, utilisation is {_list(stated)}; with links to the receivers of 1 to 3 instead of "
        f"1 to 10 ms, which is 47.5 ms, {_list(nearer)}, and the delay with Q_max 160 {ordered[2]:.1f} ms: the row "
        "that did not fit. Least and greatest are those of flows: of packets, the greatest would be several timeouts. "
        "What is left is what a retransmitted packet's delay is: from its first transmission until it is delivered in "
        f"order, as measured here, the three are {_list(ordered, 1)} ms (printed "
        f"{_list(PRINTED['mean_delay_ms'], 1)}); to its own first arrival, which does not count the wait for an "
        f"earlier packet's retransmission, {_list(own, 1)} ms; from its last transmission {_list(last, 1)} ms. By the "
        f"second of these, with the receivers nearer, {met} of the twelve numbers are met."
    )


def _list(values: Sequence[float], digits: int = 3) -> str:
    return " / ".join(f"{value:.{digits}f}" for value in values)


def draw(runs: Runs) -> Sequence[Picture]:
    """Utilisation and delay beside the printed ones."""
    figure, (left, right) = drawing.axes(2)
    for slot, (prefix, words) in enumerate((("", "delays as stated"), (WHY, "receivers at 1 to 3 ms"))):
        found = [numbers(at(runs[prefix + name], PACKETS)) for name in METHODS]
        places = [row + 0.15 * (2 * slot - 1) for row in range(len(METHODS))]
        for ax, key, scale in ((left, "utilisation", 0.01), (right, "mean_delay_ms", 1.0)):
            values = [Interval(one[key].mean / scale, (one[key].half or 0) / scale, one[key].count) for one in found]
            drawing.curve(ax, places, values, words, slot, linestyle="none")
        ends = [(one["min_delay_ms"].mean, one["max_delay_ms"].mean) for one in found]
        right.vlines(places, *zip(*ends, strict=True), color=COLOURS[slot], linewidth=1, alpha=0.6)
    under = (-17, -27)  # beside a cross stand our marks
    for row in range(len(METHODS)):
        drawing.printed(
            left, row, 100 * PRINTED["utilisation"][row], f"{100 * PRINTED['utilisation'][row]:.2f} %", offset=under
        )
        drawing.printed(right, row, PRINTED["mean_delay_ms"][row], f"{PRINTED['mean_delay_ms'][row]} ms", offset=under)
    for ax in (left, right):
        ax.set_xticks(range(len(METHODS)), [WORDS[name] for name in METHODS])
        drawing.from_zero(ax)
    left.set_ylabel("utilisation of the core, %")
    right.set_ylabel("delay of a packet, ms")
    drawing.legend(left, loc="lower right")
    caption = (
        "Buffer of 20 packets: means over seeds with 95 % intervals; thin lines go from the least to the greatest mean "
        "delay of a flow. Crosses are the paper's Table III."
    )
    return [drawing.picture(figure, "table3", caption)]


CLAIM = Claim(
    id="qlbp-table3",
    paper="qlbp",
    where="Table III",
    kind="number",
    says="Unpaced the link is 47.57 % utilised at 56.9 ms of delay; a Q_max of 40 gives 76.33 % at 51.9 ms, one of 160 "
    "98.48 % at 60.8 ms, with least and greatest delays 5 to 6 ms to either side.",
    printed={"pacing": [WORDS[name] for name in METHODS], **PRINTED},
    assumptions=(
        *ASSUMPTIONS,
        Assumption(
            "Which buffer the table belongs to.",
            "20 packets.",
            "Of Fig. 18's buffers it is the one at which the first two rows are met (why-buffer has 15 and 25).",
        ),
        Assumption(
            "What a delay is, and of what the least and the greatest are.",
            "From a packet's first transmission to its delivery in order; of the mean delays of the 40 flows.",
            "The text speaks of the transport layer, retransmissions included. A single packet's greatest delay would "
            "be that of several timeouts, over a second.",
        ),
    ),
    sweeps=sweeps,
    check=check,
    draw=draw,
)
