"""How much buffer, which pacing, where: an answer for one network, by simulation.

    print(pl.advise({"rate": "10 Gbit/s", "rtt": "5 ms .. 80 ms", "flows": 2000}))

`question` and `reading` say what is asked; `candidates` what theory proposes; `search` finds the best in few runs;
`answer` states it from fresh ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from paceline.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

    from paceline.advise.advice import Advice

__all__ = ["advise"]


def advise(
    question: Mapping[str, Any] | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    executor: Executor | Client | None = None,
    changes: bool = False,
    verify: bool = False,
) -> Advice:
    """Answers how much buffer a bottleneck needs, and which pacing, where, with which parameters.

    Args:
        question: its tables, or its TOML file: ``rate``, ``rtt`` and ``flows`` at least (docs/advise.md).
        out: a directory for runs, shared with `paceline.sweep`: what it has is not run again.
        jobs: runs at a time; as many as keep the processors busy by default.
        executor: what to run on instead of threads here, as for `paceline.sweep`.
        changes: whether to look how the answer bears other flows, round trips and TCPs, in the time that is left.
        verify: whether to run the advised setting and the runner-up on this machine's kernel too, in real time.

    Raises:
        InputError: the question is wrong, or leaves nothing open; nothing has run.
        RunError: a run failed.
        StoreError: `out` cannot be written.
        Interrupted: Ctrl-C.

    Returns:
        The answer: its sentence first; as text the report that the command prints.

    Examples:
        >>> asked = {"rate": "10 Mbit/s", "rtt": "10 ms .. 30 ms", "flows": 10, "buffer": ["5 packets", "20 packets"]}
        >>> advice = pl.advise(asked | {"pacing": "none", "bounds": ["utilisation >= 90 %"]})
        >>> "packets" in advice.sentence
        True
    """
    from paceline import _arguments
    from paceline.advise.asking import answer, on_kernel
    from paceline.advise.reading import load_question, read_question
    from paceline.terminal.progress import notebook

    if jobs is not None:
        _arguments.jobs(jobs)
    if isinstance(question, Mapping):
        asked = read_question(question)
    elif isinstance(question, (str, os.PathLike)):
        asked = load_question(question)
    else:
        raise InputError(f"{_arguments.quoted(question)} is no question; give its tables, or the name of its file")
    store = None
    if out is not None:
        from paceline.store import Store

        store = Store(_arguments.directory(out, "out", "results/mine"))
        store.check_room()
    with notebook("looking for the best", "runs") as watch:
        advice = answer(asked, store=store, jobs=jobs, executor=executor, watch=watch, with_changes=changes)
    if verify:
        with notebook("running both on the kernel", "runs") as watch:
            advice = on_kernel(advice, store=store, watch=watch)
    return advice
