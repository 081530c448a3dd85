"""Cancelling from elsewhere than the task or thread that waits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import _native


class CancelToken:
    """Cancels whatever it is given to: loads, starts, restarts, calls. Works from any thread.

    A cancelled call still has a result, with ``kind`` ``cancelled``; the others raise :class:`CancelledError`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancelled = False
        self._running: dict[int, _native.Queue] = {}

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Cancels what runs with it, and what is started with it later."""
        with self._lock:
            self._cancelled = True
            running = list(self._running.items())
        for operation, queue in running:
            queue.cancel(operation)

    def begin(self, queue: _native.Queue, operation: int) -> None:
        """An operation starts that this may cancel."""
        with self._lock:
            self._running[operation] = queue
            cancelled = self._cancelled
        if cancelled:
            queue.cancel(operation)

    def end(self, operation: int) -> None:
        """An operation has ended."""
        with self._lock:
            self._running.pop(operation, None)
