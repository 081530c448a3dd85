"""Sources and tools for asyncio."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, cast

from . import _hub, _native, _options
from ._exit import close_at_exit
from ._handles import ToolHandle

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from types import TracebackType

    from ._cancel import CancelToken
    from ._native import ToolResult
    from ._types import (
        CallContext,
        Config,
        Event,
        Observer,
        Progress,
        State,
        StateObserver,
        Status,
        ToolsObserver,
        WaitFor,
    )


class Tool(ToolHandle):
    """One tool of one server, under the name that a model sees.

    It stays usable however often its server is restarted, and is the same object as long as its definition is.
    """

    async def execute(
        self,
        args: Any = None,
        ctx: CallContext | None = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        cancel: CancelToken | None = None,
    ) -> ToolResult:
        """Calls the tool and waits for its result.

        Never raises for what a server did: every failure is a result with ``is_error`` and ``metadata["error"]``.
        Cancelling the task that waits cancels the call.

        ``args`` is a mapping, the JSON text of an object, or nothing. ``timeout`` is how long the server may be silent,
        in seconds; ``progress`` is told of each notification's ``params``, on the loop's thread; ``cancel`` ends the call
        with a result of kind ``cancelled``.
        """
        if ctx is not None:
            timeout = ctx.timeout if timeout is None else timeout
            progress = getattr(ctx, "progress", None) if progress is None else progress
        hub = _hub.current()
        operation = self._native.execute(
            hub.queue, args, _options.milliseconds(timeout), progress is not None
        )
        return cast("ToolResult", await hub.outcome(operation, cancel, progress))


class McpSource:
    """The servers of a configuration, kept usable until :meth:`close`."""

    def __init__(self, native: _native.Source, hub: _hub.Hub, load: int) -> None:
        self._native = native
        self._load = load
        self._asking_hub = hub
        self._tools: weakref.WeakValueDictionary[int, Tool] = weakref.WeakValueDictionary()

    @property
    def tools(self) -> list[Tool]:
        """The tools of all servers, as they are now."""
        return [self._tool(native) for native in self._native.tools()]

    def tool(self, name: str) -> Tool | None:
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

    async def start(self, server: str, *, cancel: CancelToken | None = None) -> None:
        """Connects a server, unless that is done or under way."""
        hub = _hub.current()
        await hub.outcome(self._native.start(hub.queue, server), cancel)

    async def stop(self, server: str) -> None:
        """Disconnects a server and waits until nothing of it is left. Its tools stay listed."""
        hub = _hub.current()
        await hub.outcome(self._native.stop(hub.queue, server))

    async def restart(self, server: str, *, cancel: CancelToken | None = None) -> None:
        """Disconnects a server and connects it again. Calls that run fail at once."""
        hub = _hub.current()
        await hub.outcome(self._native.restart(hub.queue, server), cancel)

    async def refresh(self, server: str | None = None) -> None:
        """Lists a server's tools again, or those of all that are connected."""
        hub = _hub.current()
        await hub.outcome(self._native.refresh(hub.queue, server))

    async def wait_for(self, server: str, states: State | Iterable[State], timeout: float) -> State:
        """Waits until a server is in one of these states, for at most so many seconds."""
        hub = _hub.current()
        wanted = [states] if isinstance(states, str) else list(states)
        limit = _options.milliseconds(timeout) or 0
        operation = self._native.wait_for(hub.queue, server, wanted, limit)
        return cast("State", await hub.outcome(operation))

    def on_state_change(self, observer: StateObserver) -> Callable[[], None]:
        """Calls ``observer(server, state)`` at each change, on this loop's thread. Returns what ends that."""
        return self._observe("states", lambda event: observer(event["server"], event["to"]))

    def on_tools_change(self, observer: ToolsObserver) -> Callable[[], None]:
        """Calls ``observer(server)`` when its part of the list changed. Returns what ends that."""
        return self._observe("tools", lambda event: observer(event["server"]))

    def on_event(self, observer: Observer) -> Callable[[], None]:
        """Calls ``observer(event)`` at each event. Returns what ends that."""
        return self._observe("events", observer)

    async def close(self) -> None:
        """Disconnects every server and waits until nothing of them is left. Closing again is harmless."""
        hub = _hub.current()
        await hub.outcome(self._native.close(hub.queue))
        self._asking_hub.wait_for.pop(self._load, None)

    async def __aenter__(self) -> McpSource:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"McpSource({self.status!r})"

    def _observe(self, interest: str, observer: Observer) -> Callable[[], None]:
        hub = _hub.current()
        subscription = self._native.subscribe(hub.queue, interest)
        # With the source: while it is observed it is not collected, which would close it.
        hub.observers[subscription] = (observer, self)

        def unsubscribe() -> None:
            hub.observers.pop(subscription, None)
            self._native.unsubscribe(subscription)

        return unsubscribe

    def _tool(self, native: _native.Tool) -> Tool:
        known = self._tools.get(native.id)
        if known is None:
            known = self._tools[native.id] = Tool(native, self)
        return known


class Loading:
    """A load that was asked for: ``await`` gives the source, ``async with`` closes it at the end."""

    def __init__(
        self, config: Config, wait_for: WaitFor | None, cancel: CancelToken | None, options: dict[str, Any]
    ) -> None:
        self._request = _options.request(config, options)
        self._wait_for = wait_for
        self._cancel = cancel
        self._source: McpSource | None = None

    def __await__(self) -> Generator[Any, None, McpSource]:
        return self._load().__await__()

    async def __aenter__(self) -> McpSource:
        self._source = await self._load()
        return self._source

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._source is not None:
            await self._source.close()

    async def _load(self) -> McpSource:
        hub = _hub.current()
        close_at_exit()
        operation = hub.queue.load(*self._request, self._wait_for is not None)
        if self._wait_for is not None:
            hub.wait_for[operation] = self._wait_for
        try:
            native = await hub.outcome(operation, self._cancel)
        except BaseException:
            hub.wait_for.pop(operation, None)
            raise
        return McpSource(native, hub, operation)


def load_mcp(
    config: Config, wait_for: WaitFor | None = None, *, cancel: CancelToken | None = None, **options: Any
) -> Loading:
    """Connects every server of a configuration and lists its tools.

    ``config`` is the path of an ``mcp.json`` or its content. A server that cannot be connected is ``failed`` and costs
    the others nothing.

    ``wait_for`` asks a person on behalf of a server: an async function, or one that is called on a thread of its own. It
    takes a :class:`Request` and returns an :class:`Answer`, or a mapping with ``ok``, ``data`` and ``reason``. Only with it
    are servers told that they may ask. ``cancel`` ends the load and leaves nothing of it.

    Options (units in ``limits`` are in the names; see SPEC section 4): ``resident``, ``auto_restart``, ``live_tool_list``,
    ``default_inherit_env``, ``expand``, ``wait``, ``base_dir``, ``environment``, ``secret_commands``, ``limits``,
    ``cache_dir``, ``guardian``, ``replay_repeatable_calls``, ``client_info``.

    Raises :class:`ConfigError` when the configuration as a whole cannot be used.

    >>> import asyncio, mcp_resident
    >>> async def main():
    ...     async with mcp_resident.load_mcp({"mcpServers": {}}) as source:
    ...         return source.tools
    >>> asyncio.run(main())
    []
    """
    return Loading(config, wait_for, cancel, options)


async def list_mcp_tools(config: Config, wait_for: WaitFor | None = None, **options: Any) -> list[dict[str, Any]]:
    """Connects every server that is not disabled, lists its tools under their own names, and disconnects.

    One entry a server: ``server``, ``status``, ``error`` when it failed, and ``tools`` with ``name``, ``description``,
    ``inputSchema`` and ``raw``.
    """
    hub = _hub.current()
    close_at_exit()
    operation = hub.queue.inventory(*_options.request(config, options), wait_for is not None)
    if wait_for is not None:
        hub.wait_for[operation] = wait_for
    try:
        return cast("list[dict[str, Any]]", await hub.outcome(operation))
    finally:
        hub.wait_for.pop(operation, None)
