"""Keeps the tools of MCP servers usable for an agent that runs for days.

This is the face for asyncio; :mod:`mcp_resident.sync` is the same for threads.
"""

from ._cancel import CancelToken
from ._errors import (
    CancelledError,
    ClosedError,
    ConfigError,
    ConnectError,
    DisabledError,
    DroppedError,
    ForkedError,
    InternalError,
    McpError,
    NeedsAuthError,
    ProtocolError,
    SpawnError,
    TimedOutError,
    UnknownServerError,
)
from ._native import ToolResult, __version__
from ._session import Exchange, Session, open_session
from ._source import McpSource, Tool, list_mcp_tools, load_mcp
from ._types import Answer, AutoRestart, CallContext, Event, Reloaded, Request, State, Status, UntrustedServer

__all__ = [
    "Answer",
    "AutoRestart",
    "CallContext",
    "CancelToken",
    "CancelledError",
    "ClosedError",
    "ConfigError",
    "ConnectError",
    "DisabledError",
    "DroppedError",
    "Event",
    "Exchange",
    "ForkedError",
    "InternalError",
    "McpError",
    "McpSource",
    "NeedsAuthError",
    "ProtocolError",
    "Reloaded",
    "Request",
    "Session",
    "SpawnError",
    "State",
    "Status",
    "TimedOutError",
    "Tool",
    "ToolResult",
    "UnknownServerError",
    "UntrustedServer",
    "__version__",
    "list_mcp_tools",
    "load_mcp",
    "open_session",
]
