"""How much of a result hangs on who goes first where a packet arrives at a queue as another leaves it.

Links count `tied_packets`, which came with a departure that decided their fate, and `tied_drops`, those of them that
were dropped. Where they are a small part of the drops, no result hangs on the order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

#: Of the drops of a link; more is said.
SHARE = 0.02
_COLUMN = re.compile(r"links\.(.+)\.tied_packets")


def sentence(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """What hung on ties in these runs (rows of ``runs.parquet``), and what to do; ``None`` where little did."""
    rows = list(rows)
    links = dict.fromkeys(found[1] for row in rows for name in row if (found := _COLUMN.fullmatch(name)))
    said = []
    for link in links:
        tied, tied_drops, drops = (
            sum(row.get(f"links.{link}.{name}") or 0 for row in rows)
            for name in ("tied_packets", "tied_drops", "dropped_packets")
        )
        taken = tied - tied_drops
        if drops and tied_drops > SHARE * drops:
            said.append(f"{100 * tied_drops / drops:.1f} % of the drops at {link}")
        elif taken > SHARE * max(drops, 1):
            said.append(f"the admission of {taken} packets at {link}, which dropped {drops},")
    if not said:
        return None
    others = len(said) - 1
    more = f" and at {others} more link{'s' * (others > 1)}" if others else ""
    return (
        f"{said[0]}{more} fell on a tie: an arrival and a departure of one instant, whose order decided. Run "
        'with --sweep network.ties=random,departure,arrival: what differs hangs on it; "random", the default, draws it'
    )
