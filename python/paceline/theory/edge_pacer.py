"""What the delay-bounded edge pacer promises.

It serves along the lowest rate that meets every deadline known so far, a packet's being its arrival + d. So nothing
waits longer than d. Of traffic that a bucket of σ bytes and rate r would let through unchanged it holds no more than
σ + r d, since whatever arrived more than d ago has left; and it lets go at no more than that over d, r + σ/d, the slope
to the newest deadline, which is d away; each older deadline was the newest once. Rates are the fluid's: packets, which
leave whole, are up to one ahead of it.

Sources: delay bound and smoothness, V. Sivaraman, H. ElGindy, D. Moreland, D. Ostry, IEEE/ACM Transactions on
Networking 17(4), 2009. The bound on the rate is the argument above.
"""

from __future__ import annotations

from paceline.theory.quantities import Amount, Numbers, answer, rate, size, time


def delay_bound(delay: Amount) -> Numbers:
    """The longest that a packet is held, seconds: d. What waits for the link after its release comes on top."""
    return answer(time(delay, "delay", least=0))


def backlog_bound(burst: Amount, sustained: Amount, delay: Amount) -> Numbers:
    """Bytes held at most, of traffic within σ = `burst` bytes and r = `sustained` bit/s: σ + r d."""
    held = rate(sustained, "sustained", least=0) * time(delay, "delay", least=0) / 8
    return answer(size(burst, "burst", least=0) + held)


def rate_bound(burst: Amount, sustained: Amount, delay: Amount) -> Numbers:
    """The highest rate of release, bit/s, of traffic within σ = `burst` bytes and r = `sustained` bit/s: r + σ/d."""
    spread = size(burst, "burst", least=0) * 8 / time(delay, "delay", above=0)
    return answer(rate(sustained, "sustained", least=0) + spread)
