"""What a caller may choose beside the scenario."""

from __future__ import annotations

from dataclasses import dataclass

#: Where link pacers run.
PACERS = ("inline", "built-in")


@dataclass(frozen=True, slots=True)
class Choices:
    """What is not the scenario's to say.

    Attributes:
        congestion_control: the kernel's name of the congestion control of every flow, in the place of the one that the
            scenario's variant stands for; the simulator has no `bbr`, the kernel has.
        pacers: ``"inline"``: each link pacer is a `paceline-pace` between two devices; ``"built-in"``: the same code in
            the program that holds the links.
        spin_us: the links' program looks at the clock for so long before something is due, in place of sleeping: less
            lateness, more CPU time.
    """

    congestion_control: str | None = None
    pacers: str = "inline"
    spin_us: int = 0
