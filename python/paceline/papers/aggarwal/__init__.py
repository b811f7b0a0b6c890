"""Aggarwal, Savage, Anderson: what TCP pacing does, from what is public of it."""

from paceline.papers.claim import Paper

PAPER = Paper(
    name="aggarwal",
    title="Understanding the Performance of TCP Pacing",
    authors="Amit Aggarwal, Stefan Savage, Thomas Anderson",
    published="IEEE INFOCOM, 2000",
    about="Does it help TCP to spread a window over the round trip? In some situations, the abstract says, with better "
    "fairness, throughput and loss; but often throughput is worse, because losses synchronise and congestion is told "
    "late. Only the abstract counts as printed here. What other papers say that it found is told as second-hand.",
    beside=True,
)
