"""Habibi Gharakheili, Vishwanath, Sivaraman: edge against host pacing."""

from paceline.papers.claim import Paper

PAPER = Paper(
    name="edge-vs-host",
    title="Edge versus Host Pacing of TCP Traffic in Small Buffer Networks",
    authors="Hassan Habibi Gharakheili, Arun Vishwanath, Vijay Sivaraman",
    published="IFIP Networking, 2013",
    about="Where should TCP be paced before a core link with a few packets of buffer: at the hosts, or by the edge "
    "routers that feed the core? A thousand flows in ns-2 say: at the edges, by a pacer that smooths as far as a "
    "bounded delay allows. With few flows hosts do better; with large buffers it makes no difference.",
)
