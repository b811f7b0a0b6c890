"""Closed forms: what theory says of pacing and small buffers, with units, sources and domains.

    from paceline import theory

    theory.qlbp.delay_bound("150 KB", "300 Mbit/s")                  # 0.004 s
    theory.inflection.flows("1 Gbit/s", "30 ms", "64 KB")            # 58.6 flows
    theory.finite_queues.md1k_loss([0.7, 0.8, 0.9], 5)               # an array

Quantities are text with a unit, as in a scenario, or numbers in bit/s, seconds and bytes, or arrays of them. What is
outside a formula's domain raises `paceline.InputError`, a `ValueError`, in one line. `docs/theory.md` has the
formulas.
"""

from __future__ import annotations

from paceline.theory import (
    buffer_rules,
    burst_model,
    closed_loop,
    edge_delay,
    edge_pacer,
    empty_buffer,
    exit_curves,
    finite_queues,
    inflection,
    on_off,
    periodic_streams,
    qlbp,
    qlbp_response,
    small_buffer_tcp,
    tcp_throughput,
    variation,
)

__all__ = [
    "buffer_rules",
    "burst_model",
    "closed_loop",
    "edge_delay",
    "edge_pacer",
    "empty_buffer",
    "exit_curves",
    "finite_queues",
    "inflection",
    "on_off",
    "periodic_streams",
    "qlbp",
    "qlbp_response",
    "small_buffer_tcp",
    "tcp_throughput",
    "variation",
]
