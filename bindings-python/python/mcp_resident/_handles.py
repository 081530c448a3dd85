"""What sources and tools are for asyncio and for threads alike: everything that nobody has to wait for."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from . import _native

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._types import Event, Observer, State, StateObserver, Status, ToolsObserver


class ToolHandle:
    """What is known of a tool."""

    __slots__ = ("__weakref__", "_native", "_owner", "_schemas")

    def __init__(self, native: _native.Tool, owner: object) -> None:
        self._native = native
        # Who has only tools still has their source: it is not collected, which would close it.
        self._owner = owner
        self._schemas: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The name for a model: at most 64 characters of ``[A-Za-z0-9_-]``, unique in its source."""
        return self._native.name

    @property
    def description(self) -> str:
        """What the tool does, in the server's words."""
        return self._native.description

    @property
    def title(self) -> str | None:
        """The tool's title for people."""
        return self._native.title

    @property
    def source(self) -> str:
        """Always ``mcp``."""
        return "mcp"

    @property
    def server(self) -> str:
        """The server's name in the configuration."""
        return self._native.server

    @property
    def server_tool(self) -> str:
        """The tool's own name on its server."""
        return self._native.server_tool

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema of arguments for a model: the server's, as a closed object."""
        schema: dict[str, Any] = self._schema("input")
        return schema

    @property
    def server_schema(self) -> Any:
        """The schema of arguments as the server gave it."""
        return self._schema("server")

    @property
    def output_schema(self) -> Any:
        """The schema of ``structured_content``, when the server gave one."""
        return self._schema("output")

    @property
    def annotations(self) -> Any:
        """The server's hints about the tool. They are claims of the server, not facts."""
        return self._schema("annotations")

    def schema_json(self, which: str = "input") -> str | None:
        """The text of a schema, its numbers as the server wrote them: ``input``, ``server``, ``output``, ``annotations``."""
        return self._native.schema_json(which)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    def _schema(self, which: str) -> Any:
        if which not in self._schemas:
            self._schemas[which] = self._native.schema(which)
        return self._schemas[which]


ToolType = TypeVar("ToolType", bound=ToolHandle)


class SourceHandle(Generic[ToolType]):
    """What is known of a source at once, and who observes it."""

    _tool_type: ClassVar[type[Any]]

    def __init__(self, native: _native.Source) -> None:
        self._native = native
        self._lock = threading.Lock()
        self._tools: weakref.WeakValueDictionary[int, ToolType] = weakref.WeakValueDictionary()

    @property
    def tools(self) -> list[ToolType]:
        """The tools of all servers, as they are now."""
        return [self._tool(native) for native in self._native.tools()]

    def tool(self, name: str) -> ToolType | None:
        """The tool that a model knows by this name."""
        native = self._native.tool(name)
        return None if native is None else self._tool(native)

    @property
    def status(self) -> dict[str, Status]:
        """How the newest attempt of each server ended."""
        return self._native.status()

    @property
    def servers(self) -> list[str]:
        """The names of all servers, in the order of the configuration."""
        return self._native.servers()

    @property
    def problems(self) -> list[dict[str, Any]]:
        """What is wrong in the configuration: ``origin``, ``line``, ``server``, ``field``, ``reason``, ``message``."""
        return self._native.problems()

    def state(self, server: str) -> State:
        """A server's state."""
        return self._native.state(server)

    def info(self, server: str) -> dict[str, Any]:
        """What is known of a server: ``state``, ``status``, ``generation``, ``restarts``, ``processId``, ``lastError``."""
        return self._native.info(server)

    def events(self, after: int = 0) -> list[Event]:
        """The newest events after a ``sequence``, oldest first; 0 gives all that are kept."""
        return self._native.events(after)

    def owner_of(self, name: str) -> tuple[str, str] | None:
        """The server, and the tool's own name on it, behind a name for models."""
        return self._native.owner_of(name)

    def name_of(self, server: str, tool: str) -> str | None:
        """The name for models of a server's tool."""
        return self._native.name_of(server, tool)

    def on_state_change(self, observer: StateObserver) -> Callable[[], None]:
        """Calls ``observer(server, state)`` at each change, in order. Returns what ends that.

        For asyncio on the thread of the loop that runs now, in ``sync`` on a thread of this source.
        """
        return self._observe("states", lambda event: observer(event["server"], event["to"]))

    def on_tools_change(self, observer: ToolsObserver) -> Callable[[], None]:
        """Calls ``observer(server)`` when its part of the list changed. Returns what ends that."""
        return self._observe("tools", lambda event: observer(event["server"]))

    def on_event(self, observer: Observer) -> Callable[[], None]:
        """Calls ``observer(event)`` at each event. Returns what ends that."""
        return self._observe("events", observer)

    def __repr__(self) -> str:
        return f"McpSource({self.status!r})"

    def _observe(self, interest: str, observer: Observer) -> Callable[[], None]:
        raise NotImplementedError

    def _tool(self, native: _native.Tool) -> ToolType:
        with self._lock:
            known = self._tools.get(native.id)
            if known is None:
                known = self._tools[native.id] = self._tool_type(native, self)
            return known


class ExchangeHandle(Generic[ToolType]):
    """What an exchange has pinned."""

    __slots__ = ("_native", "_source", "tools")

    tools: list[ToolType]
    """The tools to declare to the model, in an order that changes as little as it can."""

    def __init__(self, native: _native.Exchange, source: SourceHandle[ToolType]) -> None:
        self._native = native
        self._source = source
        self.tools = [source._tool(tool) for tool in native.tools()]

    def tool(self, name: str) -> ToolType | None:
        """A tool by its name for models, hidden and deferred ones included."""
        native = self._native.tool(name)
        return None if native is None else self._source._tool(native)
