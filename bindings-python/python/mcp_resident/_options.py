"""Keyword arguments to the options that all languages share. Which there are is the core's business."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    from ._types import Config, Options


def request(config: Config, options: Options) -> tuple[str, bool, str]:
    """A load as the native half takes it: the path or the JSON text, which of the two, and the options."""
    given = {_camel_case(name): _plain(value) for name, value in options.items()}
    return *configuration(config), _native.to_json(given)


def configuration(config: Config) -> tuple[str, bool]:
    """The path or the JSON text, and which of the two."""
    if isinstance(config, (str, os.PathLike)):
        return os.fspath(config), True
    return _native.to_json(config), False


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _plain(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value
