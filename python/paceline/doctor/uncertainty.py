"""The variance of a forecast by chance: where it is large, the doctor gives no number."""

from __future__ import annotations

import numpy as np

from paceline.doctor.model import Model, Sent
from paceline.doctor.transfer_times import Array, Ways
from paceline.scenario.resolved_network import Flow

#: From this deviation on, relative to the mean, a factor of three is no promise.
UNSURE = 0.35
#: Where losses are more than this, flows of one kind differ by as much as they have.
_UNFAIR = 0.01


def relative_variance(model: Model, sent: Sent, ways: Ways, others: Array) -> Array:
    """Variance over the mean's square of what each flow sends while statistics are taken."""
    window = model.network.duration_s - model.network.warmup_s
    messages = sent.count * np.clip(window / np.maximum(sent.lasts, 1e-9), 0.0, 1.0)
    cycle = sent.each + model.sources.pause + others
    drawn = [variation(flow, window, *row) for flow, *row in zip(model.network.flows, messages, cycle, strict=True)]
    return np.array(drawn) + _variance_of_contention(model, sent, ways, window)


def variation(flow: Flow, window: float, messages: float, cycle: float) -> float:
    """The same of one flow in so many seconds, by what it draws: it says `messages`, each so long after the last."""
    if flow.bursts is not None:
        on, off = flow.bursts.on, flow.bursts.off
        length = on.mean() + off.mean()
        cycles = max(window / length, 1e-9)
        share = on.mean() / length
        most = (1 - share) / max(share, 1e-9)  # of one look at it
        if cycles < 1 and not (on.random or off.random):
            return most * (1 - cycles)
        return min(most, (1 - share) ** 2 * (on.variation(cycles) + off.variation(cycles)) / cycles)
    dialogue = flow.dialogue
    if dialogue is None or dialogue.kind == "cvec":
        return 0.0
    size = dialogue.size.variation(messages)
    pause = dialogue.pause.variation(messages) * (dialogue.pause.mean(max(messages, 2.0)) / max(cycle, 1e-9)) ** 2
    return (size + pause) / max(messages, 0.1)


def _variance_of_contention(model: Model, sent: Sent, ways: Ways, window: float) -> Array:
    """The same for what does not hang on draws: who gets how much of a full link, who waits in a timeout, who takes
    reordering for loss, or follows a rate that varies."""
    sources = model.sources
    lossy = ways.loss > _UNFAIR
    timeout = np.maximum(sources.senders.least_timeout, ways.trip)
    stalls = (lossy | (sent.burst_lost > 0)) & (window < 5 * timeout)
    of_tcp = np.where(stalls | model.unforeseen, 1.0, 0.0) + np.where(lossy, 0.5, 0.0)
    return np.asarray(np.where(sources.tcp, of_tcp, 0.0))
