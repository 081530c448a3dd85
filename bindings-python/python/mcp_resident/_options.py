"""Keyword arguments to the options that all languages share. Which there are is the core's business."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    from ._types import Config, Options, ProjectTrust, ServerOptions


def request(config: Config, options: Options) -> tuple[str, bool, str]:
    """A load as the native half takes it: the path or the JSON text, which of the two, and the options."""
    given = {_camel_case(name): _plain(value) for name, value in options.items()}
    return *configuration(config), _native.to_json(given)


def session(
    base_dir: str | os.PathLike[str],
    project_trust: ProjectTrust,
    user_config: str | os.PathLike[str] | None,
    project_config: str | os.PathLike[str] | None,
    exposure: str | None,
    exchange_wait: float | None,
    options: ServerOptions,
) -> str:
    """The options of a session as the native half takes them."""
    own = {
        "baseDir": os.fspath(base_dir),
        "projectTrust": _trust(project_trust),
        "userConfig": _plain(user_config),
        "projectConfig": _plain(project_config),
        "exposure": exposure,
        "exchangeWaitMs": None if exchange_wait is None else math.ceil(exchange_wait * 1000),
    }
    given = {_camel_case(name): _plain(value) for name, value in options.items()}
    return _native.to_json({**given, **own})


def trust(choice: ProjectTrust) -> str:
    """A choice of what is trusted, as the native half takes it."""
    return _native.to_json(_trust(choice))


def _trust(choice: ProjectTrust) -> str | list[str]:
    return choice if isinstance(choice, str) else list(choice)


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
