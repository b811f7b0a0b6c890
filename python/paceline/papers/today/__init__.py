"""What the five papers concluded, asked again of the TCPs, hosts and queues of today."""

from paceline.papers.claim import Paper

PAPER = Paper(
    name="today",
    title="What still holds: the five papers' conclusions under today's hosts",
    authors="Paceline's own question",
    published="After Habibi Gharakheili et al., Zhao et al., Cai et al., Ghobadi and Ganjali, and CS244",
    about="The papers ran Reno, packet by packet. Hosts of today run CUBIC, BBR, DCTCP and Prague and send trains of "
    "segments; queues mark, and schedule flows. One network, every pacing method, 5 to 500 packets of buffer: which "
    "of the conclusions hold for which TCP?",
    beside=True,
    heads="Asked: does this hold?",
    theirs="who concluded it",
)
