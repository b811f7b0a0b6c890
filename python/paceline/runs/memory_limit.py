"""No more runs side by side than there is memory for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from paceline.scenario.run_estimate import allowed_bytes

_POLL_S = 0.2


class Room:
    """Memory for runs side by side: one waits until what others take leaves room for it, or none is running."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken = 0

    @contextlib.contextmanager
    def taking(self, count: int, is_cancelled: Callable[[], bool]) -> Iterator[None]:
        """Waits for so many bytes, or until it is cancelled, and holds them."""
        with self._changed:
            # what others take may be part of what is not free any more, or not yet
            while self._taken and self._taken + count > allowed_bytes() and not is_cancelled():
                self._changed.wait(_POLL_S)
            self._taken += count
        try:
            yield
        finally:
            with self._changed:
                self._taken -= count
                self._changed.notify_all()


#: Of this process.
ROOM = Room()
