"""Bas, Pontoriero: pacing and buffer sizing rerun with Linux."""

from paceline.papers.claim import Paper

PAPER = Paper(
    name="cs244",
    title="TCP Pacing and Buffer Sizing",
    authors="Antonin Bas, Diego Pontoriero",
    published="Stanford CS244 course project, 2013",
    about="Two older studies rerun with Linux in an emulated network: whether paced flows synchronise and lose "
    "throughput (Aggarwal, Savage, Anderson, 2000), and how much buffer n flows need (Appenzeller, Keslassy, "
    "McKeown, 2004).",
)
