"""Keyword arguments to the options that all languages share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    from ._types import Config

NAMES = {
    "auto_restart": "autoRestart",
    "base_dir": "baseDir",
    "cache_dir": "cacheDir",
    "client_info": "clientInfo",
    "default_inherit_env": "defaultInheritEnv",
    "environment": "environment",
    "expand": "expand",
    "guardian": "guardian",
    "limits": "limits",
    "live_tool_list": "liveToolList",
    "replay_repeatable_calls": "replayRepeatableCalls",
    "resident": "resident",
    "secret_commands": "secretCommands",
    "wait": "wait",
}


def request(config: Config, options: dict[str, Any]) -> tuple[str, bool, str]:
    """A load as the native half takes it: the path or the JSON text, which of the two, and the options."""
    given: dict[str, Any] = {}
    for name, value in options.items():
        if name not in NAMES:
            raise TypeError(f"there is no option {name!r}; there are: {', '.join(sorted(NAMES))}")
        if value is not None:
            given[NAMES[name]] = os.fspath(value) if name in ("base_dir", "cache_dir") else value
    if "defaultInheritEnv" in given:
        given["defaultInheritEnv"] = list(given["defaultInheritEnv"])
    text = _native.to_json(given)
    if isinstance(config, (str, os.PathLike)):
        return os.fspath(config), True, text
    return _native.to_json(config), False, text


def milliseconds(seconds: float | None) -> int | None:
    """Python counts in seconds, the core in milliseconds."""
    if seconds is None:
        return None
    if not seconds >= 0:
        raise ValueError("a timeout must not be negative")
    # For ever is longer than any limit of the core.
    return min(round(seconds * 1000), 2**63 - 1) if seconds != float("inf") else 2**63 - 1
