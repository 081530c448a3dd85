"""The end of the interpreter: servers of a program that forgot to close them end with it."""

import atexit

from . import _native

LIMIT_MS = 7_000
"""A little more than the limit of a whole close."""

_registered = False


def close_at_exit() -> None:
    """Called by every load; only the first one registers."""
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_native.shut_down, LIMIT_MS)
