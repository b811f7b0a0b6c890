"""Vishwanath, Sivaraman, Rouskas: real-time traffic and TCP in very small buffers, from its abstract."""

from paceline.papers.claim import Paper

PAPER = Paper(
    name="vishwanath",
    title="Anomalous Loss Performance for Mixed Real-Time and TCP Traffic in Routers With Very Small Buffers",
    authors="Arun Vishwanath, Vijay Sivaraman, George N. Rouskas",
    published="IEEE/ACM Transactions on Networking 19(4), 2011",
    about="What does TCP do to real-time traffic that shares a very small buffer with it? In a range of buffers, the "
    "abstract says, real-time traffic loses more as the buffer grows, because TCP takes more of it. Only the abstract "
    "counts as printed here; the network is that of the same authors' other papers.",
    beside=True,
)
