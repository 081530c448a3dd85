"""The fake server, and what is left of a process."""

from __future__ import annotations

import os
import pathlib
import time
from typing import Any, Callable

import pytest

LOOP = "mcp-resident-io"


@pytest.fixture(scope="session")
def fake() -> Callable[..., dict[str, Any]]:
    """Makes the configuration of one fake named ``s``, with further keys of its entry."""
    program = os.environ["MCP_RESIDENT_FIXTURES"]

    def config(script: str = "{}", **keys: Any) -> dict[str, Any]:
        entry = {"command": program, "args": ["fake", "--script", script], **keys}
        return {"mcpServers": {"s": entry}}

    return config


def io_threads() -> int:
    """How many threads of the library this process has."""
    names = (task / "comm" for task in pathlib.Path("/proc/self/task").iterdir())
    found = 0
    for name in names:
        try:
            found += name.read_text().strip() == LOOP
        except OSError:
            pass  # It has just ended.
    return found


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def gone() -> bool:
    """Waits for the I/O thread's last return, which comes right after the outcome of the last close."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if io_threads() == 0:
            return True
        os.sched_yield()
    return False
