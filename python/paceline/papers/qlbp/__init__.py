"""Cai, Wolf, Gong: pacing by the length of a queue."""

from paceline.papers.claim import Paper

PAPER = Paper(
    name="qlbp",
    title="Delaying Transmissions in Data Communication Networks to Improve Transport-Layer Performance",
    authors="Yan Cai, Tilman Wolf, Weibo Gong",
    published="IEEE Journal on Selected Areas in Communications 29(5), 916-927, 2011",
    about="A node that delays packets now and then, at a rate that grows with its queue, makes traffic smoother. "
    "Bounds for its delay and its covariances are derived, and ns-2 shows what TCP gains where buffers are small.",
)
