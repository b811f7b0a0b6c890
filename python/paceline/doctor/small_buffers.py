"""Losses in small buffers that no mean load tells: of sources in step, and where several flows meet."""

from __future__ import annotations

import numpy as np

from paceline.doctor.model import Model
from paceline.doctor.transfer_times import Array

#: Packets that TCP's come in together; of Poisson arrivals, half a packet makes M/M/1/K lose as M/D/1/K does.
_TCP, _SINGLE = 1.5, 0.5


def in_step(model: Model) -> Array:
    """Losses of constant-rate sources that start together: each burst of theirs comes at once, for ever."""
    network = model.network
    groups: dict[tuple[int, float, float], int] = {}
    for flow in network.flows:
        if model.kinds[flow.traffic] == "cbr":
            for link in flow.forward:
                key = (link, flow.start_s, flow.rate_bps or 0.0)
                groups[key] = groups.get(key, 0) + 1
    lost = np.zeros(model.links)
    for (link, _, _), together in groups.items():
        behind = max(0.0, 1 - model.capacity[link] / model.fed[link])
        over = np.ceil(max(0.0, (together - 1) * behind - model.places[link])) / together
        lost[link] = max(lost[link], over)
    return lost


def mixed(model: Model, active: Array, offered: Array) -> Array:
    """Losses where several flows meet in a small buffer, by the M/M/1/K queue: K bursts of a packet and a half of
    TCP, or twice as many single packets."""
    hops = model.hops
    data = ~hops.back
    alike = np.bincount(hops.link[data], active[hops.flow[data]], minlength=model.links)
    burst = np.where(model.sources.tcp, _TCP, _SINGLE)
    mean = np.bincount(hops.link[data], (active * burst)[hops.flow[data]], minlength=model.links)
    room = np.minimum((model.places + 1) / np.maximum(mean / np.maximum(alike, 1e-9), 0.1), 1e6)
    behind = np.clip(1 - model.capacity / model.fed, 1e-9, 1.0)  # what comes no faster than it leaves cannot wait
    room = np.minimum(room / behind, 1e6)
    load = np.clip(offered / model.capacity, 1e-9, 0.999)
    lost = (1 - load) * load**room / (1 - load ** (room + 1))
    return np.where((alike > 1.2) & np.isfinite(model.places), lost, 0.0)
