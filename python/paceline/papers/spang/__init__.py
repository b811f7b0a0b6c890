"""Spang, Arslan, McKeown: how much buffer the TCPs of today need."""

from paceline.papers.claim import Paper

PAPER = Paper(
    name="spang",
    title="Updating the Theory of Buffer Sizing",
    authors="Bruce Spang, Serhat Arslan, Nick McKeown",
    published="IFIP Performance, 2021; arXiv 2109.11693",
    about="A buffer of a bandwidth-delay product, or of that over √n, are rules for Reno. For one flow of CUBIC or BBR "
    "a buffer may be 60 to 75 % smaller; over √n holds for them too, but not where flows are unfair or with some "
    "settings of ECN.",
    beside=True,
)
