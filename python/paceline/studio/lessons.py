"""Twelve guided experiments, from why bursts lose to when pacing loses.

Each is a state of the studio with three sentences: what is there, what comes of it, and why. What comes of it is
stated a second time as `Outcome`, which `tests/test_studio_lessons.py` holds against runs of the lesson's own state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a lesson says comes of it.

    Attributes:
        figure: one of `findings.SHOWN`, or ``group`` for the goodput of paced and unpaced flows in one world.
        says: of paced against unpaced, seed by seed: ``higher`` or ``lower``, by an interval without zero; ``alike``,
            no mean differs by more than `bound` of it; or of both worlds: ``at least`` or ``at most`` `bound`.
        bound: a share, or in the figure's unit.
    """

    figure: str
    says: Literal["higher", "lower", "alike", "at least", "at most"]
    bound: float = 0.0


@dataclass(frozen=True, slots=True)
class Lesson:
    """One experiment."""

    key: str
    title: str
    sentences: tuple[str, str, str]
    document: dict[str, Any]
    outcomes: tuple[Outcome, ...]

    def shown(self) -> dict[str, Any]:
        """As the page has it."""
        return {"key": self.key, "title": self.title, "sentences": self.sentences, "document": self.document}


_RENO = {"variant": "reno", "profile": "rfc"}
_CUBIC = {"variant": "cubic", "profile": "linux"}


def _state(
    title: str,
    pacing: Any,
    *,
    buffer: str = "5 packets",
    access: str = "50 Mbit/s",
    tcp: dict[str, Any] = _RENO,
    core: dict[str, Any] | None = None,
    traffic: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Twenty flows of four edges over a core of 20 Mbit/s."""
    bulk = {"name": "bulk", "kind": "bulk", "tcp": tcp, "start": "0 s .. 2 s"}
    return {
        "title": title,
        "duration": "20 s",
        "warmup": "5 s",
        "network": {
            "template": "dumbbell",
            "core": {"rate": "20 Mbit/s", "delay": "20 ms", "buffer": buffer} | (core or {}),
            "edge": {"count": 4, "rate": "100 Mbit/s", "delay": "1 ms .. 5 ms"},
            "access": {"per_edge": 5, "rate": access, "delay": "1 ms .. 3 ms"},
        },
        "traffic": [traffic or bulk],
        "pacing": pacing,
    }


_EDGE = {"method": "edge", "delay": "10 ms"}
_HOST = {"method": "host"}


def _lesson(
    key: str, title: str, sentences: tuple[str, str, str], pacing: Any, *outcomes: Outcome, **changes: Any
) -> Lesson:
    return Lesson(key, title, sentences, _state(title, pacing, **changes), outcomes)


LESSONS: tuple[Lesson, ...] = (
    _lesson(
        "bursts",
        "Why bursts lose",
        (
            "Twenty Reno flows share a core whose buffer holds five packets.",
            "Unpaced, the core is often idle although packets are lost all the time; with pacing at the edges it "
            "carries far more, and loses fewer.",
            "A window leaves a fast access link as a burst, and a burst that is longer than the buffer overflows it "
            "however little is sent on average.",
        ),
        _EDGE,
        Outcome("throughput", "higher"),
        Outcome("loss", "lower"),
    ),
    _lesson(
        "hosts",
        "Pacing in the hosts",
        (
            "The same network, paced where the packets come from: each sender spreads its window over the round trip.",
            "Throughput rises and loss falls, as with pacing at the edges.",
            "What matters to a small buffer is that packets arrive spaced out, not who has spaced them.",
        ),
        _HOST,
        Outcome("throughput", "higher"),
        Outcome("loss", "lower"),
    ),
    _lesson(
        "large-buffer",
        "A large buffer hides bursts",
        (
            "Now the buffer holds a hundred packets, and the edges pace as before.",
            "The core is busy all the time in both worlds, so that pacing changes its throughput by less than two in a "
            "hundred.",
            "Bursts are absorbed and wait instead of being lost; move the buffer's slider down to see where that ends.",
        ),
        _EDGE,
        Outcome("throughput", "alike", 0.02),
        Outcome("utilisation", "at least", 0.97),
        buffer="100 packets",
    ),
    _lesson(
        "too-little-delay",
        "Too little delay does nothing",
        (
            "The edges may hold a packet for a tenth of a millisecond, less than the core takes to send one.",
            "Nothing changes: both worlds are the same run, packet for packet.",
            "An edge pacer spreads packets over its delay bound, so the bound must cover several packets' times at the "
            "core; raise it and watch the loss fall.",
        ),
        {"method": "edge", "delay": "0.1 ms"},
        Outcome("throughput", "alike", 0.0),
        Outcome("loss", "alike", 0.0),
    ),
    _lesson(
        "slow-access",
        "Slow access links pace already",
        (
            "Each host is now behind a link of 2 Mbit/s, a tenth of the core's rate.",
            "Even unpaced, the core is more than nine tenths busy with a buffer of five packets; edge pacing on top of "
            "that costs some throughput.",
            "A slow link puts a gap behind every packet, so that no burst of a flow reaches the core.",
        ),
        _EDGE,
        Outcome("throughput", "lower"),
        Outcome("utilisation", "at least", 0.85),
        access="2 Mbit/s",
    ),
    _lesson(
        "cubic",
        "CUBIC, as hosts send today",
        (
            "The flows run CUBIC with Linux's settings in the place of Reno.",
            "It fills the pipe better than Reno does and loses more; pacing at the edges still gives the core much "
            "more to carry, with fewer losses.",
            "A better growth of windows does not change that they leave as bursts.",
        ),
        _EDGE,
        Outcome("throughput", "higher"),
        Outcome("loss", "lower"),
        tcp=_CUBIC,
    ),
    _lesson(
        "bbr",
        "BBR paces by itself",
        (
            "The flows run BBR, and the hosts are told to pace.",
            "Nothing changes, for BBR is paced in any case, at the rate that it measures; the core is nearly full with "
            "five packets of buffer.",
            "It pays for that in losses, which are far above those of Reno: BBR does not slow down for them.",
        ),
        _HOST,
        Outcome("throughput", "alike", 0.0),
        Outcome("utilisation", "at least", 0.95),
        Outcome("loss", "at least", 0.1),
        tcp={"variant": "bbr", "profile": "linux"},
    ),
    _lesson(
        "short-transfers",
        "Short transfers finish sooner",
        (
            "Sixty users fetch files of 50 KB with a second of thought between two, over a buffer of ten packets.",
            "With pacing in the hosts the mean completion time is shorter, and fewer packets are lost.",
            "A file of this size is slow start from end to end, and slow start sends its bursts at twice the rate that "
            "the acknowledgements come in.",
        ),
        _HOST,
        Outcome("fct_mean", "lower"),
        Outcome("loss", "lower"),
        buffer="10 packets",
        traffic={
            "name": "files",
            "kind": "closed-loop",
            "size": "50 KB",
            "think": {"exponential": "1 s"},
            "count": 3,
            "tcp": {"profile": "linux"},
        },
    ),
    _lesson(
        "codel",
        "A queue discipline keeps queues short",
        (
            "The buffer holds two hundred packets, and CoDel drops before it is full.",
            "The queue stays below a third of the buffer on average in both worlds, and throughput is the same; host "
            "pacing shortens the queue a little more.",
            "CoDel answers a standing queue, pacing a burst: they solve different problems, and go together.",
        ),
        _HOST,
        Outcome("throughput", "alike", 0.01),
        Outcome("queue_mean", "at most", 100e3),
        Outcome("queue_mean", "lower"),
        buffer="200 packets",
        tcp=_CUBIC,
        core={"queue": "codel"},
    ),
    _lesson(
        "policer",
        "A policer has no buffer at all",
        (
            "A policer lets 20 Mbit/s pass a core of 100 Mbit/s, with ten packets of burst.",
            "Paced hosts get more of that rate through, and fewer of their packets are dropped.",
            "A policer drops what comes too fast at once, so that a burst meets it as it meets an empty buffer: the "
            "lesson of small buffers holds wherever a contract is enforced.",
        ),
        _HOST,
        Outcome("throughput", "higher"),
        Outcome("loss", "lower"),
        buffer="200 packets",
        tcp=_CUBIC,
        core={"rate": "100 Mbit/s", "police": {"rate": "20 Mbit/s", "burst": "15 KB"}},
    ),
    _lesson(
        "half-paced",
        "Who paces gains first",
        (
            "Two of the four edges pace, over a buffer of five packets, and the other two do not.",
            "The core carries more than with no pacing at all, and in the paced world the flows behind the edges that "
            "pace get more than the others.",
            "Spaced packets find room between bursts, while a burst is longer than what the buffer has left; so nobody "
            "need wait for everybody to begin.",
        ),
        {"method": "edge", "delay": "10 ms", "share": 0.5},
        Outcome("throughput", "higher"),
        Outcome("group", "higher"),
    ),
    _lesson(
        "pacing-loses",
        "When pacing loses",
        (
            "Everything is as in the second lesson, except for a buffer of fifty packets in the place of five.",
            "Now host pacing has the lower throughput.",
            "Spaced packets fill a buffer evenly until it overflows for nearly all flows at once, so that they halve "
            "together and leave the core idle; bursts hit few flows at a time.",
        ),
        _HOST,
        Outcome("throughput", "lower"),
        buffer="50 packets",
    ),
)
