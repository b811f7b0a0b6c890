"""What a run comes to: packets sent, the load and the losses of each link, by a fixed point.

*Idea.* Each link has a price: first its queue's delay, up to a full buffer, then a loss ratio. Flows that see higher
prices send less: TCP by its windows, sources that think because their transfers take longer. The price of a link is the
least at which what it lets through is no more than its rate (F. Kelly, A. Maulloo, D. Tan, 1998; T. Bu, D. Towsley,
"Fixed point approximations for TCP behavior in an AQM network", 2001). Sources without feedback do not give way; what
they offer above the rate is lost.

*Where it breaks.* All is means: bursts lose more in small buffers than a price says, and where one draw or one on-time
decides a run nothing can be said (`doubt.py`). Queues that signal congestion before they are full have another price:
of their links nothing is said either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.doctor import small_buffers, tcp_windows
from paceline.doctor.model import Model
from paceline.doctor.transfer_times import Array, Ways
from paceline.doctor.uncertainty import UNSURE, relative_variance
from paceline.scenario.resolved_network import Network

#: Halvings of each link's price, sweep by sweep: half of what a sweep finds is forgotten by the next.
_HALVINGS = (8,) * 8 + (14,) * 8
#: Prices go from 0 to 1: below this they are queues, above losses.
_QUEUES = 0.3
_LEAST_LOSS, _MOST_LOSS = 1e-6, 0.98
#: Sweeps end where one changes nothing by more than this, absolutely or relatively.
_SETTLED = 1e-4
#: Rounds in which overload before a link is taken off what it is offered.
_OVERLOADS_IN_A_ROW = 8


@dataclass(frozen=True, slots=True)
class Forecast:
    """Means over a run of one setting.

    Attributes:
        sent: data packets that each flow sends in the whole run, SYNs and retransmissions among them.
        load_bps: for each link, what leaves it while statistics are taken, data and acknowledgements.
        arrived: for each link, packets that reach it in the whole run, data and acknowledgements.
        lost: of these.
        core_packets: data packets that leave the core.
        doubt: for each link, standard deviation of its load from run to run over the mean, by what sources draw.
        doubt_of_all: the same of all that is sent.
    """

    sent: Array
    load_bps: Array
    arrived: Array
    lost: Array
    core_packets: float
    doubt: Array
    doubt_of_all: float

    def knows(self, link: int) -> bool:
        """Whether the load and the losses of a link can be foreseen to a factor of three."""
        return bool(self.doubt[link] <= UNSURE)

    @property
    def knows_all(self) -> bool:
        """The same of all that is sent."""
        return self.doubt_of_all <= UNSURE


def forecast(network: Network, kinds: Sequence[str]) -> Forecast:
    """The fixed point of a network; `kinds` are those of its traffic tables."""
    with np.errstate(all="ignore"):  # what is infinite is meant
        return _Search(Model(network, kinds)).forecast()


class _Search:
    """Prices, and what follows from them, sweep after sweep."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.price = np.zeros(model.links)
        self.others = np.zeros(model.flows)
        self.first_heard = np.zeros(model.flows)
        self.active = np.ones(model.flows)
        self.sent = np.zeros(model.flows)
        self.count = np.ones(model.flows)
        self.spare = model.capacity.copy()
        self.mixed = np.zeros(model.links)
        self.in_step = small_buffers.in_step(model)
        self.span = np.full(model.links, max(1e-9, float(model.network.duration_s)))

    def forecast(self) -> Forecast:
        for halvings in _HALVINGS:
            before = self.price, self.mixed, self.others, self.sent
            self._sweep(halvings)
            if all(map(_alike, before, (self.price, self.mixed, self.others, self.sent))):
                break
        return self._result()

    def _parts(self, price: Array) -> tuple[Array, Array]:
        """A price as queueing delay and loss ratio."""
        full, places = self.model.full_wait, self.model.places
        limited = np.isfinite(places)
        wait = np.where(limited, full * np.minimum(price / _QUEUES, 1.0), 1e-6 * (full / 1e-6) ** price - 1e-6)
        over = np.clip((price - _QUEUES) / (1 - _QUEUES), 0.0, 1.0)
        loss = np.where(limited & (price > _QUEUES), _LEAST_LOSS * (_MOST_LOSS / _LEAST_LOSS) ** over, 0.0)
        return wait, np.maximum(loss, self.mixed)

    def _sweep(self, halvings: int) -> None:
        model, hops = self.model, self.model.hops
        sources = model.sources
        wait, loss = self._parts(self.price)
        passes = np.log1p(-loss)[hops.link] * ~hops.back + np.log1p(-np.minimum(model.forced, 0.98)) * ~hops.back
        queues = np.bincount(hops.flow, wait[hops.link], minlength=model.flows)
        survives = np.bincount(hops.flow, passes, minlength=model.flows)
        self.ways = self._ways(model.trip + queues, 1 - np.exp(survives))
        every = np.arange(model.flows)
        self.heard = self.first_heard
        self.flow = model.rates(every, self.ways, self.others, self.heard)
        self.sent, each, self.count = self.flow.packets, self.flow.each, self.flow.count
        turns = sources.other != every
        answers = sources.other < every
        self.first_heard = np.where(answers, self.flow.opened[sources.other], 0.0)
        self.others = np.where(turns, (each + sources.pause)[sources.other], 0.0)
        alive = np.maximum(self.flow.lasts, 1e-9)
        self.active = np.where(
            np.isinf(sources.packets) | ~sources.tcp, 1.0, np.minimum(1.0, self.count * each / alive)
        )
        arrivals = self._arrivals(self.sent, loss)
        self.span = self._span(arrivals, alive)
        drains = self._drains(arrivals)
        offered = self._offered(hops.link, arrivals, np.maximum(alive[hops.flow], drains))
        self.mixed = np.maximum(
            np.sqrt(self.mixed * small_buffers.mixed(model, self.active, offered) + 1e-14), self.in_step
        )
        self._set_spare(offered)
        # each hop as if its link alone could change its price
        crowded = np.unique(hops.link[(offered > model.capacity)[hops.link] | (self.price > 0)[hops.link]])
        if len(crowded) == 0:
            return
        on = np.isin(hops.link, crowded)
        flow, link = hops.flow[on], hops.link[on]
        rest_trip = self.ways.trip[flow] - wait[link]
        rest_loss = 1 - (1 - self.ways.loss[flow]) / np.where(hops.back[on], 1.0, 1 - loss[link])
        unit = np.where(self.sent > 0, 1 / np.maximum(self.sent, 1e-12), 0.0)[flow] * arrivals[on]
        low, high = np.zeros(model.links), np.ones(model.links)
        others, heard = self.others[flow], self.first_heard[flow]
        for _ in range(halvings):
            middle = (low + high) / 2
            now_wait, now_loss = self._parts(middle)
            loss_here = np.where(hops.back[on], 0.0, now_loss[link])
            ways = self._at(flow, rest_trip + now_wait[link], 1 - (1 - np.clip(rest_loss, 0, 0.98)) * (1 - loss_here))
            now = model.rates(flow, ways, others, heard)
            lasts = np.maximum(np.maximum(now.lasts, drains[on]), 1e-9)
            through = self._offered(link, now.packets * unit, lasts) * (1 - now_loss)
            over = through > model.capacity
            low, high = np.where(over, middle, low), np.where(over, high, middle)
        found = np.where(high < 1e-4, 0.0, high)
        self.price = np.where(np.isin(np.arange(model.links), crowded), (self.price + found) / 2, self.price)

    def _arrivals(self, sent: Array, loss: Array) -> Array:
        """Bits that reach each hop in the whole run: what links before it neither lose nor keep waiting."""
        model, hops = self.model, self.model.hops
        sources = model.sources
        size = np.where(hops.back, sources.ack_bytes[hops.flow], sources.bytes[hops.flow])
        given = 8 * size * sent[hops.flow]
        passes = (1 - np.where(hops.back, 0.0, loss[hops.link])) * (1 - model.forced)
        thin = passes
        for _ in range(_OVERLOADS_IN_A_ROW):
            through = np.ones(len(given))
            for here in model.places_on_ways:
                through[here] = through[here - 1] * thin[here - 1]
            ends = through[model.last_forward] * thin[model.last_forward]
            through = np.where(hops.back, through * ends[hops.flow], through)
            offered = np.bincount(hops.link, given * through, minlength=model.links)
            fits = np.minimum(1.0, model.most_bits / np.maximum(offered, 1e-9))
            thin, before = np.minimum(passes, fits[hops.link]), thin
            if np.all(np.abs(thin - before) <= 1e-3 * before):
                break
        self.through, self.thin = through, thin
        return np.asarray(given * through)

    def _drains(self, bits: Array) -> Array:
        """For each hop, how long queues without limit before it send what sources without feedback gave them."""
        model, hops = self.model, self.model.hops
        deaf = ~model.sources.tcp[hops.flow]
        given = np.bincount(hops.link, bits * deaf, minlength=model.links)
        lasts = np.where(np.isfinite(model.places), 0.0, given / model.capacity)
        drains = np.zeros(len(bits))
        for here in model.places_on_ways:
            drains[here] = np.maximum(drains[here - 1], lasts[hops.link[here - 1]])
        return np.asarray(np.where(deaf, np.minimum(drains, model.network.duration_s), 0.0))

    def _span(self, bits: Array, alive: Array) -> Array:
        """How long each link has what it has to send: as flows last on average, and as far as they start apart."""
        model, hops = self.model, self.model.hops
        weight = np.maximum(np.bincount(hops.link, bits, minlength=model.links), 1e-9)

        def mean(values: Array) -> Array:
            return np.asarray(np.bincount(hops.link, bits * values[hops.flow], minlength=model.links) / weight)

        start = model.sources.start
        spread = np.sqrt(np.maximum(mean(start**2) - mean(start) ** 2, 0.0) * 12)
        return np.asarray(np.clip(mean(alive) + spread, 1e-9, model.network.duration_s))

    def _offered(self, link: npt.NDArray[np.int64], bits: Array, alive: Array) -> Array:
        """Bits a second for each link, of flows that last so long."""
        return np.asarray(
            np.bincount(link, bits / np.maximum(alive, self.span[link]), minlength=self.model.links), dtype=float
        )

    def _set_spare(self, offered: Array) -> None:
        """What one flow may have of a link while it sends: what is left, or an even share."""
        model, hops = self.model, self.model.hops
        active = np.bincount(hops.link[~hops.back], self.active[hops.flow[~hops.back]], minlength=model.links)
        shared = np.maximum(model.capacity - offered, model.capacity / np.maximum(active, 1.0))
        self.spare = np.where(self.price > 0, model.capacity, shared)

    def _ways(self, trip: Array, loss: Array) -> Ways:
        model, hops = self.model, self.model.hops
        bytes_on = np.where(hops.back, model.sources.ack_bytes[hops.flow], model.sources.bytes[hops.flow])
        rate = self.spare[hops.link] / (8 * np.maximum(bytes_on, 1e-9))
        most = np.full(model.flows, np.inf)
        np.minimum.at(most, hops.flow, rate)
        overflow = np.full(model.flows, np.inf)
        room = model.places + 1
        pipe = model.capacity[hops.link] * trip[hops.flow] / 8 / model.largest[hops.link]
        ahead = self._ahead()
        excess = np.clip(1 - model.capacity[hops.link] / ahead, 0.0, 0.5)
        with np.errstate(divide="ignore"):
            first = np.minimum(room[hops.link] / excess, pipe + room[hops.link])
        first = np.where(hops.back | (excess <= 0), np.inf, first)
        np.minimum.at(overflow, hops.flow, first)
        behind = np.clip(1 - model.capacity[hops.link] / ahead, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            fits = np.where(hops.back | (behind <= 0), np.inf, 1 + model.places[hops.link] / behind)
        self.fits = np.minimum(fits, first)
        burst = np.full(model.flows, np.inf)
        np.minimum.at(burst, hops.flow, fits)
        return Ways(trip, loss, most, burst, np.maximum(overflow, 1.0))

    def _ahead(self) -> Array:
        """The rate at which a flow's own packets come to each hop at the most: the slowest link before it."""
        hops, capacity = self.model.hops, self.model.capacity
        ahead = np.full(len(hops.flow), 1e18)
        for here in self.model.places_on_ways:
            ahead[here] = np.minimum(ahead[here - 1], capacity[hops.link[here - 1]])
        return ahead

    def _at(self, flow: npt.NDArray[np.int64], trip: Array, loss: Array) -> Ways:
        full = self.ways
        return Ways(trip, loss, full.most_rate[flow], full.burst[flow], full.overflow[flow])

    def _result(self) -> Forecast:
        model, hops = self.model, self.model.hops
        sources, network = model.sources, model.network
        _, loss = self._parts(self.price)
        arrivals = self._arrivals(self.sent, loss)
        opening = np.where(sources.tcp, sources.senders.opens * np.where(sources.fresh, self.count, 1.0), 0.0)
        packets = np.where(hops.back, (self.sent * sources.acks)[hops.flow], self.sent[hops.flow]) + opening[hops.flow]
        packets = packets * self.through
        syn = 8 * opening * np.where(sources.tcp, model.syn_bytes, 0.0)
        arrived = np.bincount(hops.link, packets, minlength=model.links).astype(float)
        hop_loss = np.where(hops.back, 0.0, loss[hops.link])
        hop_loss = 1 - (1 - hop_loss) * (1 - model.forced)
        lost = np.bincount(hops.link, packets * hop_loss, minlength=model.links).astype(float)
        lost -= np.minimum(np.where(np.isfinite(model.places), model.places, 0.0), lost / 2)
        lost = np.minimum(lost + self._burst_lost(), 0.98 * arrived).astype(float)
        window = network.duration_s - network.warmup_s
        inside = np.clip(1 - model.early(self.flow, self.heard) / np.maximum(self.sent, 1e-9), 0.0, 1.0)
        carried = np.bincount(
            hops.link, (arrivals + syn[hops.flow] * self.through) * self.thin * inside[hops.flow], minlength=model.links
        )
        load = np.minimum(carried / max(window, 1e-9), model.capacity)
        on_core = (hops.link == network.core) & ~hops.back
        core = float((packets * self.thin)[on_core].sum())
        doubt = relative_variance(model, self.flow, self.ways, self.others)
        here = arrivals * inside[hops.flow]
        spread = np.sqrt(np.bincount(hops.link, here**2 * doubt[hops.flow], minlength=model.links))
        total = np.maximum(np.bincount(hops.link, here, minlength=model.links), 1e-9)
        # what is full is full, whoever fills it
        of_links = np.where(self.price > 0, 0.0, spread / total)
        # what an active queue drops is none of what this knows
        of_links[[link.buffer.signals_early for link in network.links]] = np.inf
        whole = self.sent * sources.bytes
        of_all = float(np.sqrt((whole**2 * doubt).sum()) / max(whole.sum(), 1e-9))
        # prices of losses say nothing of who heeds none
        by_rate = np.array([tcp_windows.is_by_rate(flow.tcp) for flow in network.flows])
        if by_rate.any():
            of_links[hops.link[by_rate[hops.flow]]] = of_all = np.inf
        return Forecast(self.sent + opening, load, arrived, lost, core, of_links, of_all)

    def _burst_lost(self) -> Array:
        """For each link, packets that flows' own bursts lose there: at the hop that takes the least of them."""
        model, hops = self.model, self.model.hops
        lost = np.zeros(model.links)
        tightest: dict[int, int] = {}
        for row in map(int, np.flatnonzero(~hops.back & (self.flow.burst_lost > 0)[hops.flow])):
            flow = int(hops.flow[row])
            if flow not in tightest or self.fits[row] < self.fits[tightest[flow]]:
                tightest[flow] = row
        for flow, row in tightest.items():
            lost[int(hops.link[row])] += self.flow.burst_lost[flow]
        return lost


def _alike(before: Array, now: Array) -> bool:
    """Whether two sweeps came to the same."""
    return bool(np.all(np.abs(now - before) <= _SETTLED * np.maximum(np.abs(now), 1.0)))
