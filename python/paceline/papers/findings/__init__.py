"""Questions that none of the papers answers, put to the simulator: hypothesis and statistic written before the run.

A finding is a claim of ours (`paceline.papers.claim`): it asks a ``question``, ``says`` its hypothesis, and its verdict
says whether that came out. What was seen before the hypothesis was written is told in its first assumption; run it
under fresh seeds with ``paceline reproduce findings --first-seed 1001``.
"""

from paceline.papers.claim import Assumption, Paper

PAPER = Paper(
    name="findings",
    title="What the papers do not say",
    authors="Paceline",
    published="This repository",
    about="Questions that the papers raise and leave open, each with a hypothesis and a statistic written before the "
    "run that judges it, and an answer that says how far it holds.",
    beside=True,
    heads="Hypothesis",
    theirs="said before",
)


def seen(what: str) -> Assumption:
    """What was known when a hypothesis was written, of runs under the same first seeds."""
    return Assumption(
        "What had been seen when the hypothesis was written.",
        what,
        "A hypothesis from a first look is judged by longer runs, and by fresh seeds "
        "(paceline reproduce --first-seed).",
    )
