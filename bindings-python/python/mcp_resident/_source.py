"""Sources and tools for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from . import _hub, _native, _options
from ._exit import close_at_exit
from ._handles import SourceHandle, ToolHandle

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from types import TracebackType

    from typing_extensions import Unpack

    from ._cancel import CancelToken
    from ._native import ToolResult
    from ._types import (
        CallContext,
        Config,
        Observer,
        Options,
        Progress,
        Reloaded,
        State,
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
            hub.queue, args, None if timeout is None else timeout * 1000, progress is not None
        )
        return cast("ToolResult", await hub.outcome(operation, cancel, progress))


class McpSource(SourceHandle[Tool]):
    """The servers of a configuration, kept usable until :meth:`close`."""

    _tool_type = Tool

    def __init__(self, native: _native.Source, hub: _hub.Hub, load: int) -> None:
        super().__init__(native)
        self._load = load
        self._asking_hub = hub
        self._observing: dict[int, _hub.Hub] = {}

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

    async def reload(self, config: Config | None = None, *, cancel: CancelToken | None = None) -> Reloaded:
        """Takes a new configuration in the place of the one that is there; without one, reads the file again.

        What is started in the same way keeps its connection; this waits for the others as the load did. Raises
        :class:`ConfigError`, and changes nothing, when the configuration as a whole cannot be used (SPEC 2.22).
        """
        hub = _hub.current()
        text, is_path = (None, False) if config is None else _options.configuration(config)
        operation = self._native.reload(hub.queue, text, is_path)
        return cast("Reloaded", await hub.outcome(operation, cancel))

    async def wait_for(self, server: str, states: State | Iterable[State], timeout: float) -> State:
        """Waits until a server is in one of these states, for at most so many seconds."""
        hub = _hub.current()
        wanted = [states] if isinstance(states, str) else list(states)
        operation = self._native.wait_for(hub.queue, server, wanted, timeout * 1000)
        return cast("State", await hub.outcome(operation))

    async def close(self) -> None:
        """Disconnects every server and waits until nothing of them is left. Closing again is harmless."""
        hub = _hub.current()
        await hub.outcome(self._native.close(hub.queue))
        # They have been told of the close.
        for subscription in list(self._observing):
            self._unobserve(subscription)
        self._asking_hub.wait_for.pop(self._load, None)

    async def __aenter__(self) -> McpSource:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _observe(self, interest: str, observer: Observer) -> Callable[[], None]:
        hub = _hub.current()
        subscription = self._native.subscribe(hub.queue, interest)
        # With the source: while it is observed it is not collected, which would close it.
        hub.observers[subscription] = (observer, self)
        self._observing[subscription] = hub
        return lambda: self._unobserve(subscription)

    def _unobserve(self, subscription: int) -> None:
        hub = self._observing.pop(subscription, None)
        if hub is not None:
            hub.observers.pop(subscription, None)
            self._native.unsubscribe(subscription)


class Loading:
    """A load that was asked for: ``await`` gives the source, ``async with`` closes it at the end."""

    def __init__(
        self, config: Config, wait_for: WaitFor | None, cancel: CancelToken | None, options: Options
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
    config: Config, wait_for: WaitFor | None = None, *, cancel: CancelToken | None = None, **options: Unpack[Options]
) -> Loading:
    """Connects every server of a configuration and lists its tools.

    ``config`` is the path of an ``mcp.json`` or its content. A server that cannot be connected is ``failed`` and costs
    the others nothing.

    ``wait_for`` asks a person on behalf of a server: an async function, or one that is called on a thread of its own. It
    takes a :class:`Request` and returns an :class:`Answer`, or a mapping with ``ok``, ``data`` and ``reason``. Only with it
    are servers told that they may ask. ``cancel`` ends the load and leaves nothing of it.

    Options (units in ``limits`` are in the names; see SPEC section 4): ``resident``, ``auto_restart``, ``live_tool_list``,
    ``default_inherit_env``, ``expand``, ``wait``, ``base_dir``, ``environment``, ``secret_commands``, ``limits``,
    ``cache_dir``, ``spill_dir``, ``log_dir``, ``guardian``, ``replay_repeatable_calls``, ``validate_arguments``,
    ``client_info``.

    Raises :class:`ConfigError` when the configuration as a whole cannot be used.

    >>> import asyncio, mcp_resident
    >>> async def main():
    ...     async with mcp_resident.load_mcp({"mcpServers": {}}) as source:
    ...         return source.tools
    >>> asyncio.run(main())
    []
    """
    return Loading(config, wait_for, cancel, options)


async def list_mcp_tools(
    config: Config, wait_for: WaitFor | None = None, **options: Unpack[Options]
) -> list[dict[str, Any]]:
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
