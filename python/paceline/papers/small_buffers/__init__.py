"""Zhao, Vishwanath, Sivaraman: fast access links before very small buffers."""

from paceline.papers.claim import Paper

PAPER = Paper(
    name="small-buffers",
    title="Performance of High-Speed TCP Applications in Networks with Very Small Buffers",
    authors="Ben Zhao, Arun Vishwanath, Vijay Sivaraman",
    published="IEEE Advanced Networks and Telecommunication Systems (ANTS), 2007",
    about="Very small buffers are said to suffice because slow access links spread each flow's packets. What if access "
    "links are fast? Then more buffer is needed for the same throughput, unless hosts pace.",
)
