"""Ghobadi, Ganjali: pacing in data centres."""

from paceline.papers.claim import Paper

PAPER = Paper(
    name="datacentre",
    title="TCP Pacing in Data Center Networks",
    authors="Monia Ghobadi, Yashar Ganjali",
    published="IEEE Hot Interconnects, 2013",
    about="Does pacing help in a data centre? Up to a number of flows, the point of inflection, it does; beyond it "
    "unpaced flows win, because drops hit few of them, while paced flows all share in every burst of drops.",
)
