"""A claim a TCP of today: which of the five papers' conclusions hold for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from paceline._statistics import Interval
from paceline.papers import criteria, drawing
from paceline.papers.claim import Claim, Evidence, Length, Picture, Runs, Verdict
from paceline.papers.today import network, why
from paceline.papers.today.network import ALL_MBPS, COMPLETION, GOODPUT, METHODS, OFFLOADS, TCPS, at, fairness, sizes
from paceline.papers.today.questions import ANSWERS, QUESTIONS, answers, asked, word
from paceline.results import Results
from paceline.scenario import Scenario

#: What is told of each queue beside: path, divisor and unit.
TOLD = ((GOODPUT, ALL_MBPS, "goodput of all flows, Mbit/s"), (COMPLETION, 1e-3, "completion of 100 KB, ms"))

#: What a picture says of each way in which hosts send.
WORDS = {"packets": "one by one", "trains": "trains"}


def sweeps(variant: str, length: Length) -> Mapping[str, Scenario]:
    """Buffers and queues, and in full length the experiments."""
    found = dict(network.sweeps(variant, length))
    return found if length.quick else {**found, **why.sweeps(variant, length)}


def check(variant: str, runs: Runs) -> Verdict:
    """Every criterion of every question; queues beside and experiments inform."""
    found = answers(variant, runs)
    evidence = [row for rows in found.values() for row in rows]
    outcome = criteria.judge(evidence)
    ours = {name: f"{word(rows)}, {sum(bool(row.ok) for row in rows)} of {len(rows)}" for name, rows in found.items()}
    theirs = {name: QUESTIONS[name].source for name in found}
    evidence += [row for name in runs if name not in (*OFFLOADS, *why.NAMES) for row in beside(name, runs[name])]
    evidence += why.rows(variant, runs)
    return Verdict(outcome, ours, theirs, note(variant, found, runs), evidence)


def note(variant: str, found: Mapping[str, Sequence[Evidence]], runs: Runs) -> str:
    """What holds, and why what does not."""
    told = []
    for outcome in ANSWERS.values():
        said = [_within(QUESTIONS[name].says) for name, rows in found.items() if word(rows) == outcome]
        if said:
            told.append(f"{outcome}: {', '.join(said)}")
    answer = "; ".join(told)
    return f"{answer[:1].upper()}{answer[1:]}. {why.sentence(variant, runs)}".strip()


def _within(sentence: str) -> str:
    """It as part of another: without its end, and without its capital unless that is of a name."""
    text = sentence.removesuffix(".")
    return text if text[:2].isupper() else text[0].lower() + text[1:]


def beside(name: str, results: Results) -> list[Evidence]:
    """Goodput, fairness and completion over another queue; they inform."""
    rows = []
    for method, runs in by_method(results).items():
        for path, divisor, words in TOLD:
            value = criteria.mean(runs, path, divisor)
            rows.append(criteria.inform(f"{words}, {method}, {name}", value, "beside drop-tail"))
        rows.append(criteria.inform(f"Jain's index, {method}, {name}", fairness(runs), "beside drop-tail"))
    return rows


def by_method(results: Results) -> dict[str, Results]:
    """Runs of a sweep of one buffer by method, those that were run."""
    there = {run.settings[network.PACING] for run in results}
    return {name: at(results, name) for name in METHODS if network.LABELS[name] in there}


def methods_in(results: Results) -> list[str]:
    """Methods that a sweep has."""
    there = {run.settings[network.PACING] for run in results}
    return [name for name in METHODS if network.LABELS[name] in there]


def draw(variant: str, runs: Runs) -> Sequence[Picture]:
    """Goodput, fairness and completion against the buffer; without offloads above, with them below."""
    there = [name for name in OFFLOADS if name in runs]
    figure, axes = drawing.axes(3 * len(there), columns=3)
    for row, name in enumerate(there):
        results = runs[name]
        buffers = sizes(results)
        for slot, method in enumerate(METHODS):
            if method not in methods_in(results):
                continue
            some = [at(results, method, size) for size in buffers]
            for column, values in enumerate(statistics(some)):
                drawing.curve(axes[3 * row + column], buffers, values, method, slot)
        for column, words in enumerate(
            ("goodput of all flows, Mbit/s", "Jain's index, long flows", "time for 100 KB, ms")
        ):
            ax = axes[3 * row + column]
            drawing.logarithmic(ax, "x", buffers)
            ax.set_ylabel(words)
            ax.set_xlabel(f"buffer, packets; hosts send {WORDS[name]}")
            if column == 1:
                ax.set_ylim(0, 1.05)  # an index of 1 is the most that there is
            else:
                drawing.from_zero(ax)
        drawing.legend(axes[3 * row], loc="lower right")
    caption = (
        f"{TCPS[variant]} on twenty hosts over 500 Mbit/s, sending packets one by one or in trains: means over seeds "
        "with 95 % intervals, by pacing."
    )
    return [drawing.picture(figure, f"today-{variant}", caption)]


def statistics(some: Sequence[Results]) -> tuple[list[Interval], list[Interval], list[Interval]]:
    """Goodput, Jain's index, and completion, of each setting."""
    return (
        [criteria.mean(one, GOODPUT, ALL_MBPS) for one in some],
        [fairness(one) for one in some],
        [criteria.mean(one, COMPLETION, 1e-3) for one in some],
    )


def claim(variant: str) -> Claim:
    """That of one TCP."""
    run: Callable[[Length], Mapping[str, Scenario]] = partial(sweeps, variant)
    return Claim(
        id=f"today-{variant}",
        paper="today",
        where=TCPS[variant],
        kind="order",
        question=f"Which of the five papers' conclusions hold for {TCPS[variant]}?",
        says=" ".join(one.says for one in asked(variant).values()),
        printed={},
        assumptions=network.ASSUMPTIONS,
        sweeps=run,
        check=partial(check, variant),
        draw=partial(draw, variant),
    )


CLAIMS = tuple(claim(variant) for variant in TCPS)
