"""Max-min fair shares: what each flow would get if links divided their rates evenly among those that want more.

*Idea.* All flows' rates rise together. When a link is full, the flows over it stay at the rate reached, and so does
one that has what it demands; the others go on rising (progressive filling: Bertsekas and Gallager, *Data Networks*,
2nd ed., section 6.5.2). A flow may use a link more lightly than at its rate, as acknowledgements do.

*Where it breaks.* TCP is not max-min fair: flows with shorter round trips get more. It says where the bottlenecks are
and what a flow has on average, not what each one gets.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

#: A link and how much of it a bit of the flow takes.
Use = tuple[int, float]
#: Levels nearer than this, relatively, are one.
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Shares:
    """For each flow its rate, bit/s, and the link that limits it (``None``: its own demand does)."""

    rate_bps: list[float]
    limit: list[int | None]


def max_min(capacity_bps: Sequence[float], uses: Sequence[Sequence[Use]], demand_bps: Sequence[float]) -> Shares:
    """Progressive filling, in O(uses · log) by a heap of the levels at which links fill up and demands are met."""
    left = [max(0.0, capacity) for capacity in capacity_bps]
    weight = [0.0] * len(left)
    on: list[list[int]] = [[] for _ in left]
    for flow, links in enumerate(uses):
        for link, use in links:
            weight[link] += use
            on[link].append(flow)
    rate = [math.nan] * len(uses)
    limit: list[int | None] = [None] * len(uses)
    # (level, flow or -1, link): a demand that is met goes before a link that fills at the same level
    heap = [(level, flow, -1) for flow, level in enumerate(demand_bps) if level < math.inf]
    heap += [(left[link] / weight[link], len(uses), link) for link in range(len(left)) if weight[link] > 0]
    heapq.heapify(heap)
    while heap:
        level, flow, link = heapq.heappop(heap)
        if link < 0:
            stays = [flow] if math.isnan(rate[flow]) else []
        else:
            if weight[link] <= _SAME * len(on[link]):
                continue
            now = left[link] / weight[link]
            if now > level * (1 + _SAME):
                heapq.heappush(heap, (now, len(uses), link))
                continue
            stays = [flow for flow in on[link] if math.isnan(rate[flow])]
        for flow in stays:
            rate[flow] = level
            limit[flow] = None if link < 0 else link
            for other, use in uses[flow]:
                left[other] = max(0.0, left[other] - use * level)
                weight[other] = max(0.0, weight[other] - use)
    return Shares([math.inf if math.isnan(one) else one for one in rate], limit)
