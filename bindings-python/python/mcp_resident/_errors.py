"""Exceptions: one class for each code of SPEC section 5."""

from __future__ import annotations


class McpError(Exception):
    """A failure of loading, starting, restarting, listing or closing.

    A failed *call* is not an exception: it is a result with ``is_error``.
    """

    code: str = "internal"
    """The stable code, the same in every language."""
    server: str | None
    """The server that failed, when it was one."""

    def __init__(self, message: str, server: str | None = None) -> None:
        super().__init__(message)
        self.server = server


class ConfigError(McpError):
    """The configuration cannot be read, or an entry of it cannot be used."""

    code = "config"


class UnknownServerError(McpError):
    """No server of this name is in the configuration."""

    code = "unknown_server"


class DisabledError(McpError):
    """The server is switched off by its configuration."""

    code = "disabled"


class SpawnError(McpError):
    """The program could not be started."""

    code = "spawn"


class ConnectError(McpError):
    """The server could not be reached, or refused the connection."""

    code = "connect"


class NeedsAuthError(McpError):
    """The server asks for credentials that it was not given."""

    code = "needs_auth"


class ProtocolError(McpError):
    """The server broke the protocol."""

    code = "protocol"


class DroppedError(McpError):
    """The connection ended."""

    code = "dropped"


class TimedOutError(McpError):
    """A limit of time ran out."""

    code = "timeout"


class CancelledError(McpError):
    """The caller cancelled."""

    code = "cancelled"


class ClosedError(McpError):
    """The source was closed."""

    code = "closed"


class ForkedError(McpError):
    """The process was forked after it had loaded servers, whose threads it does not have."""

    code = "forked"


class InternalError(McpError):
    """A defect of this library."""

    code = "internal"


CLASSES: dict[str, type[McpError]] = {
    kind.code: kind
    for kind in (
        ConfigError,
        UnknownServerError,
        DisabledError,
        SpawnError,
        ConnectError,
        NeedsAuthError,
        ProtocolError,
        DroppedError,
        TimedOutError,
        CancelledError,
        ClosedError,
        ForkedError,
        InternalError,
    )
}


def from_code(code: str, server: str | None, message: str) -> McpError:
    """The exception for an error of the core; called by the native half."""
    return CLASSES.get(code, McpError)(message, server)
