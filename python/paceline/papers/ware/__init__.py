"""Ware, Mukerjee, Seshan, Sherry: what BBR gets beside CUBIC and Reno."""

from paceline.papers.claim import Paper

PAPER = Paper(
    name="ware",
    title="Modeling BBR's Interactions with Loss-Based Congestion Control",
    authors="Ranysha Ware, Matthew K. Mukerjee, Srinivasan Seshan, Justine Sherry",
    published="ACM Internet Measurement Conference (IMC), 2019",
    about="What does a flow of BBR v1 get beside flows that heed losses? About 40 % of a link with a deep buffer, "
    "whether one other flow shares it or sixteen: BBR probes until it is limited not by its rate but by its cap on "
    "what is in flight, two bandwidth-delay products as it estimates them.",
    beside=True,
)
