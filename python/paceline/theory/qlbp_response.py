"""How fast QLBP follows a change of its input: the response constant, eq. (3), and the answer to a step.

While the queue is below Q_max the pacer is a linear system, d mu/dt = alpha (lambda - mu), with alpha = (mu_max -
mu_min) / Q_max.

Source: Y. Cai, T. Wolf, W. Gong, IEEE JSAC 29(5), 2011, section III-B1, eq. (2), (3), Fig. 6.
"""

from __future__ import annotations

import numpy as np

from paceline.errors import InputError
from paceline.theory.quantities import Amount, Numbers, answer, number, rate, size, time


def response_constant(mu_min: Amount, mu_max: Amount, q_max: Amount) -> Numbers:
    """alpha = (mu_max - mu_min) / Q_max, per second. The larger, the sooner the output follows."""
    slowest, fastest = rate(mu_min, "mu_min", least=0), rate(mu_max, "mu_max", above=0)
    if np.any(slowest >= fastest):
        raise InputError(
            f"mu_min: {np.max(slowest):g} bit/s is not below mu_max; write a rate below {np.min(fastest):g}"
        )
    return answer((fastest - slowest) / (8 * size(q_max, "q_max", above=0)))


def step_response(after: Amount, source: Amount, mu_min: Amount, mu_max: Amount, q_max: Amount) -> Numbers:
    """Output rate, bit/s, `after` a source of constant rate begins at an empty pacer: r - (r - mu_min) e^(-alpha t).

    `source` from mu_min to mu_max: a slower one is let through as it comes, a faster one is beyond the linear range.
    """
    slowest, fastest = rate(mu_min, "mu_min", least=0), rate(mu_max, "mu_max", above=0)
    alpha = response_constant(mu_min, mu_max, q_max)
    load = rate(source, "source", least=float(np.max(slowest)), most=float(np.min(fastest)))
    return answer(load - (load - slowest) * np.exp(-alpha * time(after, "after", least=0)))


def settling_time(share: Amount, mu_min: Amount, mu_max: Amount, q_max: Amount) -> Numbers:
    """Seconds until the output is within `share`, in (0, 1), of a step: ln(1 / share) / alpha."""
    within = number(share, "share", above=0, below=1)
    return answer(-np.log(within) / response_constant(mu_min, mu_max, q_max))
