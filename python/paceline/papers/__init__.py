"""Every figure and table of five papers, and claims on today's hosts beside, rerun and judged: `paceline reproduce`.

One file a figure or table, in a folder a paper; it lists itself by its ``CLAIM`` or ``CLAIMS`` (see `catalogue`).
`claim` says what a claim is, `criteria` when it counts as reproduced, `drawing` how its pictures look, `verdicts` keeps
what came of it. Claims judge finished runs; `paceline.cli.claim_runs` runs them.
"""

from __future__ import annotations

from paceline.papers.catalogue import claims, papers, select
from paceline.papers.claim import Assumption, Claim, Evidence, Length, Paper, Picture, Runs, Verdict

__all__ = [
    "Assumption",
    "Claim",
    "Evidence",
    "Length",
    "Paper",
    "Picture",
    "Runs",
    "Verdict",
    "claims",
    "papers",
    "select",
]
