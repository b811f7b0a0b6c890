"""What readers ask, answered from verdicts: a page a question, before the pages a paper.

A sentence of an answer has its numbers from the verdict of one claim, and is left out where that claim was not run, or
where its numbers do not say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paceline.gallery.entries import Entry
from paceline.gallery.sentences import number
from paceline.report.formatting import plain

#: A claim's own numbers by name.
Ours = Mapping[str, Any]


@dataclass(frozen=True)
class Sentence:
    """Part of an answer.

    Attributes:
        claim: whose numbers it tells.
        told: the sentence from these; empty where they do not say so. Raises `KeyError` where one is missing.
    """

    claim: str
    told: Callable[[Ours], str]


@dataclass(frozen=True)
class Question:
    """A page of the gallery.

    Attributes:
        name: of the page.
        title: the question.
        sentences: the answer.
        claims: by what about them is asked, the evidence: ids of claims.
    """

    name: str
    title: str
    sentences: Sequence[Sentence]
    claims: Mapping[str, Sequence[str]]

    def answer(self, shown: Mapping[str, Entry]) -> Iterator[tuple[str, Entry]]:
        """Each sentence that holds, and whose it is."""
        for sentence in self.sentences:
            entry = shown[sentence.claim]
            if entry.record is None:
                continue
            try:
                text = sentence.told(entry.record.verdict.ours)
            except (KeyError, TypeError):
                continue  # numbers that a quick look leaves out, or that no run reached
            if text:
                yield text, entry

    def evidence(self, shown: Mapping[str, Entry]) -> Mapping[str, Sequence[Entry]]:
        """Claims by what about them is asked."""
        return {heading: [shown[name] for name in names] for heading, names in self.claims.items()}


def _percent(share: float) -> str:
    return f"{plain(100 * abs(share), 0)} %"


def _edge_gains(ours: Ours) -> str:
    edge, none, host = ours["edge_kbps"], ours["unpaced_kbps"], ours["host_kbps"]
    told = (
        f"Over a core buffer of 5 KB, which is four packets, a thousand Reno flows get {plain(edge, 0)} kbit/s each if "
        f"their edges pace, {plain(host, 0)} if their hosts do and {plain(none, 0)} unpaced."
    )
    return told if edge > max(none, host) else ""


def _qlbp_gains(ours: Ours) -> str:
    paced, none = ours["Q_max 160, 5 packets"], ours["unpaced, 5 packets"]
    told = f"Queue-length based pacing raises the use of a link with 5 packets of buffer from {_percent(none)} to "
    return f"{told}{_percent(paced)}." if paced > none else ""


def _few_large_windows(ours: Ours) -> str:
    points = [ours[f"poi_{size}kb"] for size in (64, 128, 256)]
    told = "In a data centre it costs where flows are many for the buffer: unpaced ones fill the link better from {} "
    return (told + "flows on with 64 KB of buffer, from {} with 128 KB and from {} with 256 KB.").format(
        *(plain(one, 0) for one in points)
    )


def _beside_unpaced(ours: Ours) -> str:
    few = ours["10% paced"]
    told = (
        "Over a quarter of a BDP of buffer hosts that pace get less than those beside them that do not: "
        f"{_percent(few)} less where one in ten paces."
    )
    return told if few < 0 else ""


def _early_adopters(ours: Ours) -> str:
    slow, fast = ours["Reno, slow access, 5 KB"], ours["Reno, fast access, 5 KB"]
    cubic = ours["CUBIC, slow access, 5 KB"], ours["CUBIC, fast access, 5 KB"]
    told = (
        "Over 5 KB that depends on TCP and on the access links. Where three of ten hosts pace by a window a round "
        "trip, "
        f"these get {_percent(slow)} less than the others with Reno behind slow links and {_percent(fast)} more "
        "behind fast "
        f"ones; with CUBIC they get {_percent(cubic[0])} and {_percent(cubic[1])} less."
    )
    return told if slow < 0 < fast and max(cubic) < 0 else ""


def _today(ours: Ours) -> str:
    edge, qlbp, large = (str(ours[name]) for name in ("edge gains", "QLBP gains", "gone when large"))
    if not (edge.startswith("holds") and large.startswith("holds")):
        return ""
    return (
        f"Today's CUBIC gains from pacing at the edge too, in {_counted(edge)} settings of small buffers, and by QLBP "
        f"in {_counted(qlbp)}; over 500 packets nothing is left to gain."
    )


def _bbr(ours: Ours) -> str:
    edge, fair, short = (str(ours[name]) for name in ("edge gains", "fair", "short flows"))
    if not (fair.startswith("does not hold") and short.startswith("does not hold")):
        return ""
    return (
        f"Leave BBR v1 alone, which paces itself: behind edge pacers it gains in {_counted(edge)} settings of small "
        f"buffers, but its flows' shares stay equal in {_counted(fair)} and short flows finish sooner in "
        f"{_counted(short)}."
    )


def _counted(answer: str) -> str:
    """``4 of 6`` of ``in part, 4 of 6``."""
    return answer.partition(", ")[2]


def _packets_needed(ours: Ours) -> str:
    found = [ours[name] for name in ("slow_access", "half_fast", "all_fast")]
    # Seeds may need different whole numbers of packets.
    slow, half, fast = (number(one) + ("" if float(one).is_integer() else ", the mean of runs,") for one in found)
    return (
        f"For 90 % of a core link {slow} packets do where access links are slow and space the packets, {half} where "
        f"half of them are fast, {fast} where all are."
    )


def _buffer_for_goodput(ours: Ours) -> str:
    none, host, edge = ours["unpaced_kb"], ours["host_kb"], ours["edge_kb"]
    told = (
        f"A thousand Reno flows get nine tenths of their share from {plain(none, 0)} KB unpaced, from {plain(host, 0)} "
        f"KB paced at the hosts and from {plain(edge, 1)} KB paced at the edge."
    )
    return told if edge < host < none else ""


def _square_root(ours: Ours) -> str:
    least = min(value for name, value in ours.items() if name.startswith("CUBIC"))
    told = f"BDP / √n is enough for n flows of CUBIC: it gives {_percent(least)} or more of what a whole BDP does."
    return told if least > 0.98 else ""


def _host_needs_more(ours: Ours) -> str:
    more = ours["exact, 100 flows, packets more"]
    told = f"A hundred flows that pace by exactly a window a round trip need {plain(more, 0)} packets more than unpaced"
    return f"{told} ones, for 98 % of the link." if more > 0 else ""


def _edges_need_more(ours: Ours) -> str:
    power = ours["exponent"]
    told = "The buffer that edge pacing needs grows with the number of edges, to the power of "
    return f"{told}{plain(power, 2)}." if power > 0 else ""


def _first_adopters(ours: Ours) -> str:
    host, edge = ours["host, 5 KB"], ours["edge, 5 KB"]
    told = (
        f"Begin at the edge: over 5 KB, where three of ten edges pace, their flows get {_percent(edge)} more than the "
        f"others; where three of ten hosts pace, as the paper's patch does, these get {_percent(host)} less."
    )
    return told if edge > 0 > host else ""


def _few_flows(ours: Ours) -> str:
    lead = ours["throughput: host − edge 10 ms at 15 KB, Mbit/s"]
    told = f"With 100 flows pace at the hosts: over 15 KB these carry {plain(lead, 0)} Mbit/s more than edges."
    return told if lead > 0 else ""


def _port(ours: Ours) -> str:
    few, many = ours["16 flows"], ours["100 flows"]
    told = (
        f"A port that paces all its packets at the sum of its flows' rates still has {_percent(few)} of the unpaced "
        f"loss with 16 flows, and {_percent(many)} with 100."
    )
    return told if few < many < 1 else ""


def _capped_port(ours: Ours) -> str:
    used, lost = ours["utilisation, 100 flows"], ours["loss, 100 flows, %"]
    told = (
        f"Capped at its share of the bottleneck such a port loses {number(lost)} % of its packets with 100 flows, and"
    )
    return f"{told} uses {_percent(used)} of the link." if lost < 0.01 and used > 0.9 else ""


def _edges_spread(ours: Ours) -> str:
    few, many = ours["gain, 10 edges, Mbit/s"], ours["gain, 50 edges, Mbit/s"]
    told = f"Not at many edges: over 5 KB ten that pace gain {plain(few, 1)} Mbit/s, fifty {plain(many, 1)}."
    return told if few > many else ""


def _delay_saturates(ours: Ours) -> str:
    ten, most = ours["5 KB, d = 10 ms, Mbit/s"], ours["5 KB, d = 50 ms, Mbit/s"]
    none = ours["5 KB, d = 0 ms, Mbit/s"]
    share = (ten - none) / (most - none)
    return f"At the edge up to 10 ms of delay: over 5 KB this bound gains {_percent(share)} of what one of 50 ms does."


def _steady_bound(ours: Ours) -> str:
    longest = ours["150 KB, 300 Mbit/s"]
    return (
        f"QLBP delays a steady source by its longest queue over its highest rate at most: {plain(longest, 0)} ms for "
        "150 KB and 300 Mbit/s."
    )


def _delivery(ours: Ours) -> str:
    none, paced = ours["99th percentile, s, unpaced"], ours["99th percentile, s, Q_max 160"]
    told = (
        "Where losses are many it saves delay: by QLBP the 99th percentile of the time until a packet is delivered, "
        f"retransmissions included, falls from {plain(1e3 * none, 0)} to {plain(1e3 * paced, 0)} ms."
    )
    return told if paced < none else ""


def _short(ours: Ours) -> str:
    found = [value for value in ours.values() if isinstance(value, int | float)]
    told = f"Short transfers of hosts that pace take up to {_percent(max(found))} longer over a quarter of a BDP."
    return told if max(found) > 0 else ""


def _one_call(ours: Ours) -> str:
    none, paced = ours["unpaced_fct_ms"], ours["paced_fct_ms"]
    told = f"A call of 1 MB on an empty path takes {plain(paced, 0)} ms paced and {plain(none, 0)} unpaced."
    return told if paced > none else ""


def _work(ours: Ours) -> str:
    most = max(value for name, value in ours.items() if name.startswith("compared"))
    held = max(value for name, value in ours.items() if name.startswith("held"))
    told = f"A packet costs a pacer at the edge {plain(most, 1)} comparisons in the mean at most, with up to "
    told += f"{plain(held, 0)} packets held."
    return told if most < 2 else ""


QUESTIONS = (
    Question(
        "should-i-pace",
        "Should I pace?",
        (
            Sentence("edge-fig3-goodput", _edge_gains),
            Sentence("qlbp-fig18", _qlbp_gains),
            Sentence("dc-poi", _few_large_windows),
            Sentence("aggarwal-mixed", _beside_unpaced),
            Sentence("finding-early-adopters", _early_adopters),
            Sentence("today-cubic", _today),
            Sentence("today-bbr", _bbr),
        ),
        {
            "Where buffers are small": (
                "edge-fig3-goodput",
                "edge-fig3-region",
                "edge-fig5-fast-access",
                "edge-fig7-variants",
                "zhao-fig3",
                "qlbp-fig18",
                "dc-fairness",
            ),
            "Where it costs": (
                "dc-poi",
                "dc-setups",
                "finding-inflection",
                "dc-base-over",
                "dc-fig7",
                "cs244-many-flows",
                "aggarwal-often",
            ),
            "Beside hosts that do not pace": (
                "edge-fig13-early-adopters",
                "edge-critical-mass",
                "finding-early-adopters",
                "aggarwal-mixed",
            ),
            "With the TCPs of today": ("today-cubic", "today-bbr", "today-bbr3", "today-dctcp", "today-prague"),
        },
    ),
    Question(
        "how-small",
        "How small can the buffer be?",
        (
            Sentence("zhao-fig2", _packets_needed),
            Sentence("edge-fig5-buffer-for-90kbps", _buffer_for_goodput),
            Sentence("spang-sqrt-n", _square_root),
            Sentence("finding-buffer-near-100", _host_needs_more),
            Sentence("finding-edges", _edges_need_more),
        ),
        {
            "Packets and kilobytes": (
                "zhao-fig2",
                "zhao-share",
                "edge-fig5-buffer-for-90kbps",
                "edge-empty-buffer",
                "edge-fig3-loss",
            ),
            "With the number of flows": (
                "spang-sqrt-n",
                "spang-one-flow",
                "cs244-buffer-sizing",
                "finding-buffer-near-100",
                "edge-poisson",
            ),
            "With the number of edges": ("finding-edges",),
            "For traffic that is not TCP": ("vishwanath-anomaly",),
        },
    ),
    Question(
        "where",
        "Where do I pace?",
        (
            Sentence("edge-fig13-early-adopters", _first_adopters),
            Sentence("edge-fig4-100-flows", _few_flows),
            Sentence("finding-edges", _edges_spread),
            Sentence("dc-port-pacing", _port),
            Sentence("finding-port-cap", _capped_port),
        ),
        {
            "At hosts or at edges": (
                "edge-fig3-region",
                "edge-fig5-region",
                "edge-fig4-100-flows",
                "edge-fig8-non-bottleneck",
                "edge-fig12-partial",
            ),
            "At how many edges": ("finding-edges", "edge-any-edges", "edge-fig13-early-adopters"),
            "How smooth it is there": ("edge-optimality", "edge-burstiness"),
            "In routers, by the queue": (
                "qlbp-fig15",
                "qlbp-in-a-row",
                "qlbp-fig16",
                "qlbp-fig18",
                "finding-rule-of-thumb",
            ),
            "At a port": ("dc-port-pacing", "finding-port-cap", "dc-fig8-clustering"),
        },
    ),
    Question(
        "what-it-costs",
        "What does it cost?",
        (
            Sentence("edge-fig10-delay", _delay_saturates),
            Sentence("qlbp-theorem1", _steady_bound),
            Sentence("qlbp-fig19", _delivery),
            Sentence("aggarwal-short", _short),
            Sentence("dc-base-under", _one_call),
            Sentence("edge-cost", _work),
        ),
        {
            "Delay": (
                "edge-fig9-analysis",
                "edge-fig10-delay",
                "edge-fig11-delays",
                "finding-closed-loop",
                "qlbp-theorem1",
                "qlbp-rule",
            ),
            "The time of short transfers": ("edge-fig6-short-flows", "aggarwal-short", "dc-base-under", "qlbp-fig19"),
            "Work for the pacer": ("edge-cost", "qlbp-cost"),
            "Shares": ("cs244-many-flows", "dc-fig9-sync", "aggarwal-some"),
        },
    ),
)
